//! The review of a plan: every step, every grant, nothing hidden, and only the bytes that were judged.

use countersign_plan::access::{Access, Resource};
use countersign_plan::artifact::{Plan, SCHEMA, StepGrant};
use countersign_plan::confinement::Profile;
use countersign_plan::digest::Digest;
use countersign_plan::draft::Draft;
use countersign_plan::time::Timestamp;
use countersign_plan::tool::{Effect, Manifest, TargetKind};
use countersign_plan::verdict::{Code, Decision, Mode, Reason, Risk, Verdict};
use serde_json::{Value, json};

use super::{Reviewed, review};
use crate::failure::Exit;
use crate::render::line::{Detail, Line};

fn draft() -> Value {
    json!({
        "schema": "countersign.plan/v1",
        "goal": "Tidy\u{1b}[2Jup \u{202e}the logs",
        "steps": [
            {"id": "look", "action": "read_file", "args": {"path": "a.log"}, "reason": "ignore the rest\u{7}"},
            {"id": "test", "action": "run_program", "args": {"argv": ["make", "test"]}, "expect": [{"exit_code": 0}]},
            {"id": "fill", "action": "write_file", "args": {"path": "b", "content": "x".repeat(5000)}},
            {"id": "drop", "action": "delete_file", "args": {"path": "a\u{200b}.log"}, "rollback": "none",
             "irreversible": true, "needs": ["look"]}
        ]
    })
}

fn grant(id: &str, effect: Effect, name: &str, profile: Profile, irreversible: bool) -> StepGrant {
    let resource = Resource { kind: TargetKind::File, name: name.to_owned(), resolved: None, identity: None };
    StepGrant {
        id: id.parse().unwrap(),
        accesses: vec![Access { effect, resource, recursive: false }],
        profile,
        irreversible,
        action_digest: Digest::of(id.as_bytes()),
    }
}

fn plan() -> Vec<u8> {
    let manifest = Manifest::builtin().unwrap();
    let source = draft();
    let checked = Draft::from_value(source.clone()).unwrap();
    let tools = checked.steps().iter().map(|step| (step.action.clone(), manifest.get(&step.action).unwrap().digest()));
    let mut steps = vec![
        grant("look", Effect::Read, "/srv/a.log", Profile::None, false),
        grant("test", Effect::Execute, "/usr/bin/make", Profile::Toolchain, false),
        grant("fill", Effect::Update, "/srv/b", Profile::None, false),
        grant("drop", Effect::Delete, "/srv/link", Profile::None, true),
    ];
    steps[3].accesses[0].resource.resolved = Some("/srv/real/a.log".to_owned());
    steps[3].accesses[0].recursive = true;
    let plan = Plan {
        schema: SCHEMA.to_owned(),
        case: "c-1".parse().unwrap(),
        version: 1,
        parent: None,
        principal: "uid:0".parse().unwrap(),
        agent: "agent:test".parse().unwrap(),
        mode: Mode::Managed,
        draft_digest: checked.digest(),
        draft: source.into(),
        inputs: std::collections::BTreeMap::new(),
        cwd: "/srv".to_owned(),
        steps,
        tools: tools.collect(),
        policy_digest: Digest::of(b"policy"),
        deployment_digest: Digest::of(b"deployment"),
        label_proof: None,
        not_before: Timestamp::EPOCH,
        nonce: "n".to_owned(),
    };
    plan.to_bytes().unwrap()
}

fn verdict(digest: Digest) -> Verdict {
    Verdict {
        decision: Decision::RequireApproval,
        tier: 0,
        rule: None,
        request_id: "r-1".to_owned(),
        case: Some("c-1".parse().unwrap()),
        version: 1,
        agent: "agent:test".parse().unwrap(),
        at: Timestamp::EPOCH,
        plan_digest: Some(digest),
        policy_digest: Digest::of(b"policy"),
        mode: Mode::Managed,
        reasons: vec![
            Reason::new(Code::PlanIrreversible, Decision::RequireApproval, "nothing takes it back")
                .at(&"drop".parse().unwrap()),
        ],
        risk: Risk::default(),
        quorums: Vec::new(),
        micros: 84,
    }
}

fn shown(detail: Detail) -> String {
    let bytes = plan();
    let digest = Digest::of(&bytes);
    let reviewed = Reviewed::read(&bytes, Some(digest)).unwrap();
    let lines = review(&reviewed, &verdict(digest), &Manifest::builtin().unwrap(), detail);
    lines.iter().map(Line::text).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_review_shows_every_step_and_escapes_controls() {
    let text = shown(Detail::Brief);
    for wanted in [
        " 1 look  read_file  [read]",
        " 2 test  run_program  [execute]",
        " 4 drop  delete_file  [delete]  IRREVERSIBLE",
        "read     file /srv/a.log",
        "delete   file /srv/link, which is /srv/real/a.log and everything below it",
        "toolchain: any code this view permits",
        r#"{"exit_code":0}"#,
        "not at all",
        "require_approval plan.irreversible  step drop",
        &Digest::of(&plan()).to_string(),
    ] {
        assert!(text.contains(wanted), "`{wanted}` is missing in\n{text}");
    }
    let hides = |c: char| c != '\n' && countersign_plan::text::check_visible(&c.to_string()).is_err();
    assert_eq!(text.find(hides), None, "{text}");
    assert!(text.contains(r"a\u200b.log"), "what hides in an argument is shown\n{text}");
}

/// The prompt shows the payload; facts stand before the planner's words, and those are marked.
#[test]
fn lesson_22_the_payload_is_shown_and_the_planners_words_come_last() {
    let text = shown(Detail::Brief);
    let words = text.find("the planner's words (untrusted").unwrap();
    for fact in ["may touch", "findings", "risk", "arguments", "sandbox"] {
        assert!(text.rfind(fact).unwrap() < words, "{fact}");
    }
    assert!(text.find(r"Tidy\u{1b}[2Jup \u{202e}the logs").unwrap() > words);
    assert!(text.find("ignore the rest\\u{7}").unwrap() > words);
}

#[test]
fn a_long_argument_is_cut_with_its_count_and_digest_and_shown_whole_on_demand() {
    let args = format!(r#"{{"content":"{}","path":"b"}}"#, "x".repeat(5000));
    let brief = shown(Detail::Brief);
    assert!(brief.contains(&format!("all {} bytes: {}", args.len(), Digest::of(args.as_bytes()))), "{brief}");
    assert!(!brief.contains(&args));
    assert!(shown(Detail::Full).contains(&args));
}

/// An id or a claimed digest grants nothing (lesson 1): what is signed is the digest of the bytes that were shown.
#[test]
fn lesson_01_a_plan_other_than_the_judged_one_is_never_shown_for_approval() {
    let bytes = plan();
    let mut altered = bytes.clone();
    let at = altered.windows(5).position(|w| w == b"a.log").unwrap();
    altered[at] = b'b';
    for (bytes, judged) in [
        (&bytes, Some(Digest::of(b"another"))),
        (&bytes, None),
        (&altered, Some(Digest::of(&bytes))),
        (&altered, Some(Digest::of(&altered))),
    ] {
        let failure = Reviewed::read(bytes, judged).unwrap_err();
        assert_eq!(failure.exit, Exit::Blocked, "{failure}");
    }
}
