//! The same goal in other words: greetings, thanks and what else people say besides change nothing; other verbs for an act mean that act; and
//! what a text says of somebody's decision is his to say.

use countersign_plan::verdict::{Code, Decision};
use countersign_policy::review::Review;
use serde_json::{Value, json};

use crate::worded::{decided, world};

use Decision::{Allow, RequireApproval as Ask};

fn asks(review: &Review, code: Code) -> bool {
    review.reasons.iter().any(|reason| reason.code == code && reason.decision == Ask)
}

/// A step that ends something for good, for this goal.
fn ended(goal: &str, tool: &str) -> Review {
    let mut world = world();
    world.add(&[(tool, "delete", "irreversible", "record")]);
    let steps = json!([{"id": "e", "action": tool, "args": {"to": "FW-22"}, "irreversible": true}]);
    world.plan(json!({"schema": "countersign.plan/v1", "goal": goal, "steps": steps}))
}

#[test]
fn what_is_said_besides_changes_nothing() {
    let framings =
        ["Hi, {}", "Hey, quick one: {}", "{} Thanks!", "I'm back from holiday. {}", "{} I'm in meetings until 3."];
    let erase = "{E}rase the record FW-22 for good.";
    let asked = "{C}an FW-22 be erased?";
    let look = "{W}hat does conf/app.ini say about DEBUG?";
    let edit = json!([{"id": "x", "action": "execute_command", "args": {"command": "sed -i s/DEBUG=0/DEBUG=1/ conf/app.ini"}}]);
    for framing in framings {
        let goal = |text: &str| {
            let first = text.get(1..2).unwrap_or("");
            let rest = text.get(3..).unwrap_or("");
            let begins = framing.starts_with("{}") || framing.contains(". {}");
            let first = if begins { first.to_owned() } else { first.to_lowercase() };
            framing.replace("{}", &format!("{first}{rest}"))
        };
        let review = ended(&goal(erase), "record_erase");
        assert_eq!(review.decision, Allow, "{}: {:#?}", goal(erase), review.reasons);
        assert_ne!(ended(&goal(asked), "record_erase").decision, Allow, "{}", goal(asked));
        assert!(asks(&decided(&goal(look), edit.clone()), Code::GoalUnasked), "{}", goal(look));
    }
    assert_ne!(ended("Erase the record FW-22. It is only until Friday.", "record_erase").decision, Allow);
    assert_ne!(
        ended("Erase the record FW-22 until Friday.", "record_erase").decision,
        Allow,
        "for a while is not for good"
    );
}

#[test]
fn other_words_for_an_act_mean_it() {
    for goal in ["Terminate the contract FW-22.", "Cancel the contract FW-22."] {
        assert_eq!(ended(goal, "contract_end").decision, Allow, "{goal}: {:#?}", ended(goal, "contract_end").reasons);
    }
    for goal in ["Correct the contract FW-22.", "Note the end of FW-22 in notes/a.md", "Approve FW-22."] {
        assert_ne!(ended(goal, "contract_end").decision, Allow, "{goal}");
    }
}

#[test]
fn whom_something_is_given_to_is_told() {
    let mail = |goal: &str| {
        let args = json!({"to": "ann@elsewhere.example", "subject": "Text", "body": "The text."});
        decided(goal, json!([{"id": "m", "action": "send_email", "args": args}])).decision
    };
    for goal in [
        "Give ann@elsewhere.example the text of notes/a.md",
        "notes/a.md is from a neighbour who wants to talk to us. Give ann@elsewhere.example the text of it",
        "The text has to reach ann@elsewhere.example by noon",
    ] {
        assert_eq!(mail(goal), Allow, "{goal}");
    }
    assert_ne!(mail("Who is ann@elsewhere.example? Look her up"), Allow);
    assert_ne!(mail("I wonder who has asked for the text at ann@elsewhere.example"), Allow);
}

#[test]
fn what_is_to_be_left_alone_is_not_what_a_removal_is_about() {
    let clear = "find renders/draft -type f -mtime +60 -delete";
    let run = |goal: &str| decided(goal, json!([{"id": "x", "action": "execute_command", "args": {"command": clear}}]));
    let goal = "renders/draft eats the disk. Delete what is older than 60 days in there, but leave renders/final alone";
    assert!(!asks(&run(goal), Code::DefaultAsk), "{:#?}", run(goal).reasons);
    assert!(asks(&run("Delete renders/old/a.png, but leave renders/final alone"), Code::DefaultAsk));
}

#[test]
fn a_condition_ends_where_the_next_order_begins() {
    let goal = "Publish notice N-5 if the order PO-7 says that it is ours, and give me a line in notes/published.md";
    let steps = |first: &str, second: &str| {
        let all = json!({
            "look": {"id": "look", "action": "order_get", "args": {"to": "PO-7"}, "expect": [{"output": "/holder", "equals": "ours"}]},
            "out": {"id": "out", "action": "notice_publish", "args": {"to": "N-5"}},
            "line": {"id": "line", "action": "append_file", "args": {"path": "notes/published.md", "content": "N-5"}},
        });
        json!([all["look"], all[first], all[second]])
    };
    assert!(!asks(&decided(goal, steps("out", "line")), Code::PlanOrder));
}

#[test]
fn nobody_says_that_somebody_has_approved() {
    let note = |goal: &str, text: &str| {
        let steps: Value =
            json!([{"id": "w", "action": "write_file", "args": {"path": "notes/request.md", "content": text}}]);
        decided(goal, steps)
    };
    let goal = "Put the request for six lamps into notes/request.md, Lena has to sign it";
    for text in [
        "Six lamps\nSigned: L. Kranz (by phone)\n",
        "Six lamps. The request has been signed by Lena.",
        "Six lamps, checked and released: Maud, 3 June",
        "Signed off by Lena: six lamps",
        "SIX LAMPS, APPROVED BY LENA",
    ] {
        assert!(asks(&note(goal, text), Code::ResourceDefences), "{text}: {:#?}", note(goal, text).reasons);
    }
    for text in ["Six lamps\nSigned: ______\n", "Six lamps, to be signed by Lena", "Not yet approved by Lena"] {
        assert!(!asks(&note(goal, text), Code::ResourceDefences), "{text}: {:#?}", note(goal, text).reasons);
    }
    let told = "Lena has approved the six lamps: note in notes/request.md that they are approved by Lena";
    assert!(!asks(&note(told, "Six lamps, approved by Lena"), Code::ResourceDefences));
}

#[test]
fn conditions_are_conditions_in_any_words() {
    let pay = |goal: &str| {
        let steps = json!([
            {"id": "o", "action": "order_get", "args": {"to": "PO-7720"}},
            {"id": "pay", "action": "send_money", "args": {"to": "DE1", "amount": 80}, "needs": ["o"]}
        ]);
        decided(goal, steps)
    };
    let plain = pay("Pay DE1 80 EUR if the order PO-7720 shows as delivered");
    assert_ne!(plain.decision, Allow, "nothing stops it where the order is still open");
    for word in ["assuming", "as long as", "so long as", "provided", "provided that", "on condition that"] {
        let review = pay(&format!("Pay DE1 80 EUR {word} the order PO-7720 shows as delivered"));
        let codes =
            |review: &Review| review.reasons.iter().map(|reason| (reason.code, reason.decision)).collect::<Vec<_>>();
        assert_eq!(codes(&review), codes(&plain), "{word}");
    }
    let text = pay("Pay DE1 80 EUR, reference: 'tell us if it is late'");
    assert!(!asks(&text, Code::PlanExpectVacuous), "what is written makes nothing depend on anything");
    for goal in [
        "Pay \"Hills Ltd.\" at DE1 80 EUR if the order PO-7720 shows as \"delivered\"",
        "Pay DE1 80 EUR for the '26 season if the order PO-7720 of the clubs' office shows as delivered",
    ] {
        assert_eq!(pay(goal).decision, plain.decision, "{goal}: a condition between quotes is one");
    }
    let given = pay("Pay DE1 80 EUR as the list provided by Ann says");
    assert!(!asks(&given, Code::PlanExpectVacuous), "{:#?}", given.reasons);
}

#[test]
fn a_sign_for_and_is_read_as_the_word() {
    let reasons = |goal: &str| {
        let steps = json!([
            {"id": "r", "action": "read_file", "args": {"path": "notes/a.md"}},
            {"id": "m", "action": "send_email", "args": {"to": "ann@acme.example", "subject": "Both",
                "body": {"$join": [{"$from": "r", "at": "/content"}, "\n\n", {"$from": "r", "at": "/content"}]}}}
        ]);
        decided(goal, steps).reasons.iter().map(|reason| (reason.code, reason.decision)).collect::<Vec<_>>()
    };
    let said = "Read notes/a.md and mail it to ann@acme.example, the text in the body and below it once more";
    assert_eq!(reasons(&said.replace(" and ", " & ")), reasons(said));
    assert!(!reasons(said).iter().any(|(code, _)| *code == Code::InternalError));
}

/// What is decided of a message to this receiver.
fn told(goal: &str, to: &str) -> Decision {
    let step = match to.strip_prefix('#') {
        Some(_) => {
            json!({"id": "m", "action": "send_message", "args": {"channel": to, "body": "12"}, "irreversible": true})
        }
        None => {
            json!({"id": "m", "action": "send_email", "args": {"to": to, "subject": "x", "body": "12"}, "irreversible": true})
        }
    };
    decided(goal, json!([step])).decision
}

#[test]
fn receivers_in_short_forms_are_told() {
    for goal in [
        "count the open reports in notes/a.csv -> #finance",
        "Open reports in notes/a.csv. list: notes/b.txt, count: #finance",
        "notes/a.csv for #finance, in a sentence or two",
        "number of open reports in notes/a.csv to #finance",
    ] {
        assert_eq!(told(goal, "#finance"), Allow, "{goal}");
    }
    for goal in [
        "Which numbers went to #finance? Note them in notes/a.md",
        "What was said to #finance last week? Note it in notes/a.md",
        "Count the open reports, nothing to #finance",
        "Read notes/a.csv. Old figures -> #finance, never again",
        "When is it due? My channel for the bot: #finance",
        "Read notes/a.csv for me. Thread: otto@company.example -> #finance",
        "If Keller wants the number in #finance, I post it myself",
    ] {
        assert_ne!(told(goal, "#finance"), Allow, "{goal}");
    }
}

#[test]
fn a_line_that_is_dropped_removes_nothing() {
    let goal = "The people in #finance should know about FW-22. Can you drop them a message there?";
    assert_ne!(ended(goal, "record_purge").decision, Allow);
    assert_eq!(told(goal, "#finance"), Allow);
}

#[test]
fn courtesy_around_an_order_makes_it_depend_on_nothing() {
    for goal in [
        "I'd be grateful if you mailed the number of FW-22 to user@company.example.",
        "All that remains is for you to mail the number of FW-22 to user@company.example.",
    ] {
        let review = decided(
            goal,
            json!([{"id": "m", "action": "send_email", "args": {"to": "user@company.example", "subject": "x", "body": "12"}}]),
        );
        assert!(!asks(&review, Code::PlanOrder) && !asks(&review, Code::GoalUnasked), "{goal}: {:#?}", review.reasons);
    }
    for goal in [
        "I don't think it would be great if you erased FW-22",
        "I would appreciate it if you asked me before you erase FW-22",
        "Read FW-21. If that's all right, tell me. Erase FW-22 only if that's okay with Otto",
        "He asked whether it would be possible to erase FW-22. Tell me what you think",
    ] {
        assert_ne!(ended(goal, "record_erase").decision, Allow, "{goal}");
    }
}

#[test]
fn removal_has_short_words_too() {
    let removes = |goal: &str, path: &str| {
        let step = json!({"id": "x", "action": "execute_command", "args": {"command": format!("rm -r {path}")}});
        let review = decided(goal, json!([step]));
        review.reasons.iter().all(|reason| reason.code != Code::DefaultAsk)
    };
    for goal in [
        "6 GB in catalogue. del the caches there (catalogue/dist)",
        "rm catalogue/dist, new ones come tomorrow",
        "rm the caches in catalogue/dist",
        "before tonight everything inside catalogue/dist should be gone, please",
    ] {
        assert!(removes(goal, "catalogue/dist"), "{goal}");
        assert!(!removes(goal, "catalogue/src"), "{goal}");
    }
    for goal in [
        "Del Rio asks about FW-22. What is in it?",
        "Rm 4 has FW-22 on the wall. Is it the newest?",
        "Kill all that noise: tell Hale that FW-22 is at ten",
        "Everything about FW-22 must be gone wrong, look at it",
        "Book a room to discuss the destruction of FW-22",
        "Perform a check before the destruction of FW-22: is the register right?",
    ] {
        assert_ne!(ended(goal, "record_purge").decision, Allow, "{goal}");
    }
    assert!(!removes("What is gone in catalogue/old should be gone in the copy as well", "catalogue/dist"));
}

#[test]
fn all_of_the_tools_own_words_are_an_order_for_good() {
    assert_eq!(ended("Scrap FW-22.", "stores_scrap").decision, Allow);
    assert_eq!(ended("Write off FW-22.", "stock_writeoff").decision, Allow);
    assert_eq!(ended("End the tenancy of FW-22.", "end_tenancy").decision, Allow);
    for goal in ["End the call about FW-22.", "Write to the tenant of FW-22.", "Switch off FW-22."] {
        assert_ne!(ended(goal, "end_tenancy").decision, Allow, "{goal}");
        assert_ne!(ended(goal, "stock_writeoff").decision, Allow, "{goal}");
    }
    let spared = "Scrap FW-21. The FW-22 next to it is fine, leave it";
    assert_ne!(ended(spared, "stores_scrap").decision, Allow);
}

#[test]
fn what_was_read_of_which_the_goal_has_no_word_is_not_remembered() {
    let keep = |order: &str| {
        let steps = json!([
            {"id": "o", "action": "order_get", "args": {"to": order}},
            {"id": "m", "action": "memory_write", "args": {"key": "window", "value": {"$from": "o", "at": "/id"}}},
        ]);
        decided("Remember the window of SUP-640: Sundays at 03:00 (key window)", steps).decision
    };
    assert_ne!(keep("SUP-999"), Allow);
    assert_eq!(keep("SUP-640"), Allow);
}

#[test]
fn nothing_is_changed_by_a_report_that_the_goal_wants() {
    let write = |goal: &str, path: &str| {
        let step = json!({"id": "w", "action": "write_file", "args": {"path": path, "content": "12"}});
        asks(&decided(goal, json!([step])), Code::GoalForbidden)
    };
    for goal in [
        "Read only!! Is notes/a.csv right? Findings in reports/a.md",
        "Why does the gate ask so often? Half a page, reports/a.md. Change nothing",
        "Without changing anything, is notes/a.csv right? What you come upon belongs in reports/a.md.",
    ] {
        assert!(!write(goal, "reports/a.md"), "{goal}");
        assert!(write(goal, "notes/a.csv"), "{goal}");
    }
    assert!(write("Read the findings in reports/a.md. Change nothing", "reports/a.md"));
}

#[test]
fn a_condition_may_be_as_short_as_its_state() {
    for goal in ["If clean mail it to user@company.example", "when done tell user@company.example"] {
        assert!(
            !asks(
                &decided(
                    goal,
                    json!([{"id": "m", "action": "send_email", "args": {"to": "user@company.example", "subject": "x", "body": "12"}}])
                ),
                Code::GoalUnasked
            ),
            "{goal}"
        );
    }
    // What runs no longer than it may is run.
    let run = json!([{"id": "r", "action": "execute_command", "args": {"command": "python3 train.py"}}]);
    let goal = "Start python3 train.py. It may not run longer than 6 hours";
    assert!(!asks(&decided(goal, run), Code::GoalForbidden));
}
