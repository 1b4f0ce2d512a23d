//! What conditions may ask about, put together only when one does.

use std::cell::OnceCell;

use countersign_plan::pointer::Pointer;
use countersign_plan::value::Expr;
use serde_json::{Map, Value, json};

use super::Request;
use super::prepare::Prepared;
use super::totals::Total;
use crate::condition::{Root, Scope};
use crate::effects::{By, Touch};

/// The names of a condition for one step.
pub(super) struct StepScope<'a> {
    request: &'a Request<'a>,
    prepared: &'a Prepared<'a>,
    /// What stands in place of the step's own amount.
    total: Total,
    args: OnceCell<(Value, Vec<Pointer>)>,
    action: OnceCell<Value>,
    target: OnceCell<Value>,
    plan: OnceCell<Value>,
    facts: OnceCell<Value>,
}

impl<'a> StepScope<'a> {
    pub(super) fn new(request: &'a Request<'a>, prepared: &'a Prepared<'a>, total: Total) -> Self {
        let (args, action, target) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Self { request, prepared, total, args, action, target, plan: OnceCell::new(), facts: OnceCell::new() }
    }

    fn args(&self) -> &(Value, Vec<Pointer>) {
        self.args.get_or_init(|| {
            let mut holes = Vec::new();
            let mut value = fill(&self.prepared.args, &Pointer::ROOT, &mut holes);
            match (self.total, &mut value) {
                (Total::Sum(sum), Value::Object(members)) => {
                    members.insert("amount".to_owned(), json!(sum));
                }
                (Total::Open, _) => holes.push(Pointer::from_segments(vec!["amount".to_owned()])),
                (Total::Alone | Total::Sum(_), _) => {}
            }
            (value, holes)
        })
    }

    fn primary(&self) -> Option<&Touch> {
        let kind = self.prepared.tool.map(|tool| tool.definition().target.kind);
        let touches = &self.prepared.derived.touches;
        touches.iter().find(|t| Some(t.kind) == kind && t.by != By::View).or_else(|| touches.first())
    }

    fn target(&self) -> Value {
        let Some(touch) = self.primary() else { return json!({}) };
        let mut target = Map::new();
        target.insert("kind".to_owned(), json!(touch.kind));
        target.insert("name".to_owned(), json!(touch.name));
        if let Some(seen) = touch.seen() {
            target.insert("resolved".to_owned(), json!(touch.resolved.as_ref().unwrap_or(&touch.name)));
            target.insert("secrecy".to_owned(), json!(self.request.deployment.secrecy(&seen)));
            target.insert("in_workspace".to_owned(), json!(self.request.deployment.in_workspace(&seen)));
        }
        if let Some(endpoint) = &touch.endpoint {
            target.insert("host".to_owned(), json!(endpoint.host.to_string()));
            if let Some(port) = endpoint.port {
                target.insert("port".to_owned(), json!(port));
            }
        }
        if let Some(standing) = touch.standing {
            target.insert("standing".to_owned(), json!(standing.as_str()));
        }
        Value::Object(target)
    }

    fn action(&self) -> Value {
        let mut effects: Vec<_> = self.prepared.derived.touches.iter().map(|touch| touch.effect).collect();
        effects.sort_unstable();
        effects.dedup();
        let mut action = Map::new();
        action.insert("name".to_owned(), json!(self.prepared.step.action));
        action.insert("effects".to_owned(), json!(effects));
        if let Some(group) = self.prepared.group() {
            action.insert("group".to_owned(), json!(group));
        }
        if let Some(tool) = self.prepared.tool {
            action.insert("reversibility".to_owned(), json!(tool.definition().reversibility));
        }
        Value::Object(action)
    }
}

impl Scope for StepScope<'_> {
    fn value(&self, root: Root) -> &Value {
        match root {
            Root::Args => &self.args().0,
            Root::Action => self.action.get_or_init(|| self.action()),
            Root::Target => self.target.get_or_init(|| self.target()),
            Root::Plan => self.plan.get_or_init(|| {
                let goal = self.request.pinned_goal.unwrap_or("");
                json!({"goal": goal, "steps": self.request.draft.steps().len(), "mode": self.request.mode})
            }),
            Root::Facts => self.facts.get_or_init(|| {
                let now = self.request.now.as_millis();
                json!({
                    "now": now, "hour": now.rem_euclid(86_400_000) / 3_600_000, "requester": self.request.requester,
                    "recent_actions": self.request.facts.recent_actions(), "irreversible": self.prepared.irreversible,
                })
            }),
        }
    }

    fn is_open(&self, root: Root, at: &Pointer) -> bool {
        match root {
            Root::Args => self.args().1.iter().any(|hole| hole.covers(at) || at.covers(hole)),
            Root::Target => self.primary().is_some_and(Touch::is_open),
            Root::Action | Root::Plan | Root::Facts => false,
        }
    }
}

/// The value of an expression, null where a reference has none; the places of those.
fn fill(expr: &Expr, at: &Pointer, holes: &mut Vec<Pointer>) -> Value {
    match expr {
        Expr::Array(items) => Value::Array(
            items.iter().enumerate().map(|(i, item)| fill(item, &at.child(i.to_string()), holes)).collect(),
        ),
        Expr::Object(members) => {
            Value::Object(members.iter().map(|(k, v)| (k.clone(), fill(v, &at.child(k.clone()), holes))).collect())
        }
        other => other.literal().unwrap_or_else(|| {
            holes.push(at.clone());
            Value::Null
        }),
    }
}
