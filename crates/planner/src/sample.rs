//! A surface and tasks for the tests: the built-in tools, as the monitor shows them.

use std::sync::LazyLock;

use countersign_plan::tool::Manifest;
use countersign_wire::infer::{Answer, Finish, Outcome, Usage};
use countersign_wire::planner::{Bounds, Surface, SurfaceTool, Task};
use serde_json::{Value, json};

pub(crate) const GOAL: &str = "Archive the report";

pub(crate) const BOUNDS: Bounds = Bounds { inferences: 12, reads: 3, drafts: 3, max_tokens: 2000, context: 0 };

/// With a model that has so many tokens.
pub(crate) const fn within(context: u32) -> Bounds {
    Bounds { context, ..BOUNDS }
}

/// The built-in tools of these groups, loaded; all groups to be had.
pub(crate) fn surface(loaded: &[&str]) -> Surface {
    static BUILTIN: LazyLock<Manifest> = LazyLock::new(|| Manifest::builtin().unwrap());
    let mut surface = Surface::default();
    for tool in BUILTIN.iter() {
        let definition = tool.definition();
        let group = definition.group.clone().unwrap_or_default();
        if !surface.groups.iter().any(|(name, _)| *name == group) {
            surface.groups.push((group.clone(), format!("tools for {group}")));
        }
        if loaded.contains(&group.as_str()) {
            surface.tools.push(SurfaceTool {
                name: definition.name.to_string(),
                description: definition.description.clone(),
                args: definition.args.clone(),
                effect: word(json!(definition.effect)),
                reversibility: word(json!(definition.reversibility)),
                readable: json!(definition.effect) == "read",
                outputs: definition.output.fields.iter().map(|field| field.at.to_string()).collect(),
                secrets: definition
                    .accepts_secret
                    .iter()
                    .map(|at| (at.to_string(), vec!["token".to_owned()]))
                    .collect(),
            });
        }
    }
    surface
}

fn word(value: Value) -> String {
    value.as_str().unwrap().to_owned()
}

pub(crate) fn task(loaded: &[&str], bounds: Bounds) -> Task {
    let inputs = json!({"folder": "/srv/archive"});
    Task::Draft { goal: GOAL.to_owned(), inputs, cwd: "/srv/work".to_owned(), surface: surface(loaded), bounds }
}

pub(crate) fn answer(text: impl Into<String>) -> Outcome {
    let (model, usage) = ("m".to_owned(), Usage::default());
    Outcome::Answer(Answer { text: text.into(), finish: Finish::Stop, model, usage })
}

/// A turn that proposes these steps.
pub(crate) fn propose(steps: Value) -> String {
    json!({"thought": "t", "turn": {"propose": {"plan": {"steps": steps}}}}).to_string()
}

pub(crate) fn good_steps() -> Value {
    json!([
        {"id": "look", "action": "read_file", "args": {"path": "report.csv"}},
        {"id": "keep", "action": "write_file", "args": {"path": "old.csv", "content": {"$from": "look", "at": "/content"}},
         "reason": "keep it", "expect": [{"file": "old.csv", "exists": true}], "rollback": "snapshot", "needs": [],
         "change_request": null},
    ])
}
