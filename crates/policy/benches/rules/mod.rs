//! A thousand rules of the kind that companies write, and actions to decide by them.

use countersign_plan::pointer::Pointer;
use countersign_plan::tool::{Effect, TargetKind};
use countersign_policy::condition::{Root, Scope};
use countersign_policy::paths::{Place, Seen};
use countersign_policy::policy::{Action, AllowRule, DenyRule, Policy, PolicyDocument, Use};
use serde_json::{Value, json};

/// Which thousand rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// By tool and path.
    Paths,
    /// The same, and the rule that hits has a condition.
    OneCondition,
}

/// The tools that the rules are about.
pub(crate) const TOOLS: [&str; 5] = ["read_file", "write_file", "delete_file", "move_file", "copy_file"];

/// 500 rules to deny and 500 to allow: for each of 100 projects and 5 tools a secret folder that is denied and a source folder that
/// is allowed. Projects are numbered by hundreds of five, so that project 500 is one of them.
pub(crate) fn document(shape: Shape) -> PolicyDocument {
    let mut document = PolicyDocument::empty();
    for project in (0..1000).step_by(10) {
        for tool in TOOLS {
            let hit = project == 500 && tool == "write_file" && shape == Shape::OneCondition;
            document.deny.push(DenyRule {
                name: format!("keep-{tool}-{project}"),
                action_types: vec![tool.to_owned()],
                paths: Some(vec![format!("/srv/project-{project}/secret/**")]),
                when: hit.then(|| "size(args.content) < 1000000 && args.amount > 500.0".to_owned()),
                ..DenyRule::default()
            });
            document.allow.push(AllowRule {
                name: format!("work-{tool}-{project}"),
                action_types: vec![tool.to_owned()],
                paths: Some(vec![format!("/srv/project-{project}/src/**")]),
                ..AllowRule::default()
            });
        }
    }
    document
}

/// The compiled policy.
pub(crate) fn policy(shape: Shape) -> Policy {
    let place = Place::new("/srv/project-500", "/home/user").expect("absolute paths");
    Policy::compile(&document(shape), &place).expect("a policy")
}

/// An action on one path.
pub(crate) struct Subject {
    tool: &'static str,
    path: &'static str,
    args: Args,
}

struct Args(Value);

impl Scope for Args {
    fn value(&self, root: Root) -> &Value {
        match root {
            Root::Args => &self.0,
            Root::Action | Root::Target | Root::Plan | Root::Facts => &Value::Null,
        }
    }

    fn is_open(&self, _: Root, _: &Pointer) -> bool {
        false
    }
}

impl Subject {
    pub(crate) fn new(tool: &'static str, path: &'static str) -> Self {
        Self { tool, path, args: Args(json!({"path": path, "content": "a few bytes", "amount": 501})) }
    }

    /// Whether the policy denies it; the whole tier-0 decision by rules, deny, verify and allow.
    pub(crate) fn is_denied(&self, policy: &Policy) -> bool {
        let path = Some(Seen::new(self.path, None));
        let uses = [Use { effect: Effect::Update, kind: TargetKind::File, path, endpoint: None }];
        let action = Action { tool: self.tool, group: Some("files"), uses: &uses };
        let matches = policy.decide(&action, &[&self.args]);
        assert!(matches.diagnostics.is_empty() && (matches.deny.is_empty() == matches.allow.is_some()));
        !matches.deny.is_empty()
    }
}
