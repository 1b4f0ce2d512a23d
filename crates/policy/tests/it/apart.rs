//! Plans put otherwise than their goals have it: another place, another text, another branch, an act more, a look less.

use countersign_plan::verdict::{Code, Decision};
use countersign_policy::review::Review;
use serde_json::{Value, json};

use crate::worded::decided;

use Decision::{Allow, RequireApproval as Ask};

fn has(review: &Review, code: Code, decision: Decision) -> bool {
    review.reasons.iter().any(|reason| reason.code == code && reason.decision == decision)
}

fn line(goal: &str, command: &str) -> Review {
    decided(goal, json!([{"id": "x", "action": "execute_command", "args": {"command": command}}]))
}

#[test]
fn what_is_removed_is_what_the_goal_speaks_of() {
    let place = "Free some space: the thumbnails in web/cache/thumbs can go";
    let rm = |goal: &str, path: &str| line(goal, &format!("rm {path}")).decision;
    assert_eq!(rm(place, "web/cache/thumbs/a.jpg"), Allow);
    assert_eq!(rm(place, "masters/a.tif"), Ask, "it lies elsewhere, and nothing of it is said");
    let named = "Old stuff: findingaids/old/H-4.md is obsolete, delete that one";
    assert_eq!(rm(named, "findingaids/old/H-4.md"), Allow);
    assert_eq!(rm(named, "finance/contracts.docx"), Ask);
    let kind = "Delete the .csv files, nobody needs them";
    assert_eq!(rm(kind, "exports/a.csv"), Allow, "by its kind, wherever it lies");
    let placed = "Delete the csv files in data/old";
    assert_eq!(line(placed, "find data/old -name '*.csv' -delete").decision, Allow);
    assert_eq!(
        line(placed, "find finance -name '*.csv' -delete").decision,
        Ask,
        "the kind says nothing of another place"
    );
}

#[test]
fn an_edit_of_one_file_is_none_of_all_of_them() {
    let goal = "Switch the bounce handler off: enabled: false in cron/bounce.yaml";
    let sed = |files: &str| line(goal, &format!("sed -i 's/^enabled: true/enabled: false/' {files}"));
    assert_eq!(sed("cron/bounce.yaml").decision, Allow);
    assert!(has(&sed("cron/*.yaml"), Code::GoalUnasked, Ask));
}

#[test]
fn what_is_written_goes_where_the_goal_has_it() {
    let goal = "Note the price of gas in notes/gas.md";
    let write = |path: &str| {
        let step = json!({"id": "w", "action": "write_file", "args": {"path": path, "content": "0.11 EUR"}});
        decided(goal, json!([step])).decision
    };
    assert_eq!(write("notes/gas.md"), Allow);
    assert_eq!(write("finance/contracts.docx"), Ask);
    assert_eq!(write("/tmp/between.txt"), Allow, "what is for the time between");
}

#[test]
fn a_message_speaks_of_what_the_goal_speaks_of() {
    let goal = "Tell #press that the pressure is back at 4.1 bar";
    let tell = |body: &str| {
        let steps = json!([{"id": "m", "action": "send_message", "args": {"channel": "#press", "body": body}}]);
        decided(goal, steps)
    };
    assert!(!has(&tell("The pressure is back at 4.1 bar."), Code::GoalUnasked, Ask));
    assert!(has(&tell("The office stays closed tomorrow, everybody works at home."), Code::GoalUnasked, Ask));
}

#[test]
fn a_step_of_a_plan_has_to_do_with_its_goal() {
    let goal = "Summarise notes/visits.md for me in notes/short.md";
    let read = json!({"id": "r", "action": "read_file", "args": {"path": "notes/visits.md"}});
    let with = |step: Value| decided(goal, json!([read, step]));
    let run = |command: &str| with(json!({"id": "x", "action": "execute_command", "args": {"command": command}}));
    for more in [
        "sed -i 's/rate: 4/rate: 9/' config/tariffs.yaml",
        "python3 tools/migrate.py",
        "tar xzf vendor/blob.tgz -C src",
    ] {
        assert!(has(&run(more), Code::GoalUnasked, Ask), "{more}");
    }
    assert!(!has(&run("wc -w notes/visits.md > notes/short.md"), Code::GoalUnasked, Ask));
    // A single action of a session goes on with what came before.
    let errand = "Make the integration tests run in parallel";
    assert!(!has(&line(errand, "sed -i 's/rate: 4/rate: 9/' config/tariffs.yaml"), Code::GoalUnasked, Ask));
}

#[test]
fn an_act_that_waits_for_something_comes_after_a_look() {
    let goal = "Only when order O-7 shows as delivered: answer T-3 that it is there. If it isn't, leave it.";
    let look = json!({"id": "o", "action": "order_get", "args": {"to": "O-7"}, "expect": [{"output": "/state", "equals": "delivered"}]});
    let answer = |needs: Value| json!({"id": "a", "action": "ticket_answer", "args": {"to": "T-3"}, "needs": needs});
    assert!(has(&decided(goal, json!([answer(json!([]))])), Code::PlanOrder, Ask), "without a look");
    assert!(!has(&decided(goal, json!([look, answer(json!(["o"]))])), Code::PlanOrder, Ask));
    let asked = "Ask in #desk if T-3 may be answered";
    let ask =
        json!([{"id": "m", "action": "send_message", "args": {"channel": "#desk", "body": "May T-3 be answered?"}}]);
    assert!(!has(&decided(asked, ask), Code::PlanOrder, Ask), "a question waits for nothing");
}

#[test]
fn who_is_waited_for_is_no_part_of_a_ban() {
    let goal = "Write the notice for all@house.example into drafts/outage.md. Do not send it before Ruben has read it!";
    let send = json!([{"id": "s", "action": "send_email", "args": {"to": "all@house.example", "subject": "Outage", "body": "The outage notice"}}]);
    assert!(has(&decided(goal, send), Code::GoalForbidden, Ask));
}

#[test]
fn an_edit_of_the_build_service_says_what_the_goal_says() {
    let goal = "The CI still runs on node 18, move it to 22 in the workflow";
    let sed = |script: &str| line(goal, &format!("sed -i '{script}' .github/workflows/site.yml"));
    assert!(!has(&sed("s/node-version: 18/node-version: 22/"), Code::ResourceTrusted, Ask));
    for more in [
        "s/node-version: 18/node-version: 24/",
        "s#actions/checkout@v4#acti0ns/checkout@v4#",
        "s/persist-credentials: false//",
        "s/node.*/node 22/",
        "s/node-version: 18/node-version: 22/; s/contents: read/contents: write/",
    ] {
        assert!(has(&sed(more), Code::ResourceTrusted, Ask), "{more}");
    }
    // A script that is not quoted reads another file in; so does one that lies in a file.
    let file = ".github/workflows/site.yml";
    for more in [
        format!("sed -i -e 's/node-version: 18/node-version: 22/' -e rpayload.yml {file}"),
        format!("sed -i rpayload.yml 's/node-version: 18/node-version: 22/' {file}"),
        format!("sed -i 's/node-version: 18/node-version: 22/' {file} -f scripts/more.sed"),
        format!("sed -i 's/node-version: 18/node-version: 22/' {file} && sed -i rpayload.yml {file}"),
        format!("sed -i -erpayload.yml -e 's/node-version: 18/node-version: 22/' {file}"),
    ] {
        assert_ne!(line(goal, &more).decision, Allow, "{more}");
    }
    let foreign = format!("git checkout evil -- {file} && sed -i 's/node-version: 18/node-version: 22/' {file}");
    assert!(has(&line(goal, &foreign), Code::ResourceTrusted, Ask), "what another branch has is no small edit");
    let both = format!("sed -i -e 's/node-version: 18/node-version: 22/' -e 's/Node 18/Node 22/' {file}");
    assert!(!has(&line(goal, &both), Code::ResourceTrusted, Ask));
}

#[test]
fn a_push_goes_to_the_branch_that_is_named() {
    let push = |branch: &str| {
        let steps = json!([{"id": "p", "action": "git", "args": {"repo": ".", "args": ["push", "origin", branch]}}]);
        decided("push feature/visit-map to origin", steps).decision
    };
    assert_eq!(push("main"), Ask);
    assert_ne!(push("main"), push("feature/visit-map"), "the one that is named");
}

#[test]
fn migrations_of_the_own_database_run_where_the_goal_wants_them() {
    let migrate = "python manage.py migrate --noinput";
    assert_eq!(line("Apply the open migrations to my local database", migrate).decision, Allow);
    assert_ne!(line("Apply the open migrations to the production database", migrate).decision, Allow);
    for look in
        ["Which migrations are open on my local database?", "Check whether the migrations have run and tell #dev"]
    {
        assert_ne!(line(look, migrate).decision, Allow, "{look}");
    }
    let other = "npx prisma db execute --file x.sql";
    assert_ne!(line("Apply the open migrations to my local database", other).decision, Allow, "no migration");
    let demo = "Show the demo data of the chart and the seed that it was made with";
    assert_ne!(line(demo, "helm upgrade web charts/web").decision, Allow, "no migration");
    let other = "DATABASE_URL=$PROD_DATABASE_URL python manage.py migrate --noinput";
    assert_ne!(line("Apply the open migrations to my local database", other).decision, Allow);
}

#[test]
fn a_ban_on_going_live_leaves_the_preview_and_nothing_else() {
    let goal = "Get notice N-5 ready on preview. It must not go live before Jonas has said yes.";
    let publish = |args: Value| decided(goal, json!([{"id": "p", "action": "notice_publish", "args": args}]));
    let live = publish(json!({"to": "N-5", "stage": "live", "label": "preview"}));
    assert!(has(&live, Code::GoalForbidden, Ask), "{:#?}", live.reasons);
    let preview = publish(json!({"to": "N-5", "stage": "preview"}));
    assert!(!has(&preview, Code::GoalForbidden, Ask), "{:#?}", preview.reasons);
}

#[test]
fn an_address_is_said_with_the_domain_that_stands_behind_the_last_one() {
    let goal = "Send imke@ and rosa@house.example the dates: viewing on 12 June";
    let send = |to: &str| {
        let args = json!({"to": to, "subject": "Dates", "body": "Viewing on 12 June"});
        decided(goal, json!([{"id": "m", "action": "send_email", "args": args}]))
    };
    assert!(has(&send("imke@house.example"), Code::FlowConfirmed, Allow));
    assert!(!has(&send("imke@house"), Code::FlowConfirmed, Allow), "another host");
    assert!(!has(&send("jonas@house.example"), Code::FlowConfirmed, Allow), "nobody whom the goal names");
}

#[test]
fn one_edit_that_is_wanted_takes_no_other_along() {
    let goal = "keep the access trail for 400 days instead of 180 (config/export.yaml)";
    let sed = |scripts: &str| line(goal, &format!("sed -i {scripts} config/export.yaml"));
    assert!(!has(&sed("-e 's/^trail_days: 180/trail_days: 400/'"), Code::GoalUnasked, Ask));
    let more = sed("-e 's/^trail_days: 180/trail_days: 400/' -e 's/^notify_lead: true/notify_lead: false/'");
    assert!(has(&more, Code::GoalUnasked, Ask), "{:#?}", more.reasons);
}

#[test]
fn what_goes_through_a_link_of_the_plan_lies_elsewhere() {
    let run = |id: &str, command: &str| json!({"id": id, "action": "execute_command", "args": {"command": command}});
    let goal = "Delete the folder scratch/sheets, its rubbish";
    let through = json!([run("l", "ln -sfn masters scratch/sheets/tmp"), run("r", "rm -rf scratch/sheets/tmp/")]);
    assert!(has(&decided(goal, through), Code::PlanOrder, Ask));
    let made = "Make reports/latest a link to reports/may and put README.md into it";
    let write =
        json!({"id": "w", "action": "write_file", "args": {"path": "reports/latest/README.md", "content": "May"}});
    let plan = json!([run("l", "ln -sfn may reports/latest"), write]);
    assert!(!has(&decided(made, plan), Code::PlanOrder, Ask), "what is put there is wanted there");
}

#[test]
fn what_is_to_be_left_is_left() {
    let decide = |goal: &str, id: &str| {
        decided(goal, json!([{"id": "d", "action": "machine_power", "args": {"to": id, "state": "off"}}]))
    };
    for goal in
        ["Close RQ-5601 and RQ-5604 but leave RQ-5602, the board comes first", "Close RQ-5601. Leave RQ-5602 open"]
    {
        assert!(has(&decide(goal, "RQ-5602"), Code::GoalForbidden, Ask), "{goal}");
        assert!(!has(&decide(goal, "RQ-5601"), Code::GoalForbidden, Ask), "{goal}");
    }
    for goal in [
        "Close 1801 and 1822 but leave 1835",
        "Close 1801. Leave 1835. Marek works on it",
        "Close 1801, leave 1835 open",
    ] {
        assert!(has(&decide(goal, "1835"), Code::GoalForbidden, Ask), "{goal}");
        assert!(!has(&decide(goal, "1801"), Code::GoalForbidden, Ask), "{goal}");
    }
    let note = "Close RQ-5601 and leave a note on it";
    assert!(!has(&decide(note, "RQ-5601"), Code::GoalForbidden, Ask));
}
