//! Answers of a model: whatever they are, they are a decision that is open or an error that can be shown, and a plan read from
//! one has the pinned goal.
#![no_main]

use std::collections::BTreeSet;
use std::sync::LazyLock;

use countersign_fuzz::assert_shown;
use countersign_plan::draft::Draft;
use countersign_plan::tool::Manifest;
use countersign_planner::turn::{Offer, Turn, read};
use countersign_wire::planner::{Surface, SurfaceTool};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};

const GOAL: &str = "Archive the report";

static SURFACE: LazyLock<Surface> = LazyLock::new(|| {
    let manifest = Manifest::builtin().expect("the built-in manifest is one");
    let tools = manifest.iter().map(|tool| tool.definition()).map(|tool| SurfaceTool {
        name: tool.name.to_string(),
        description: tool.description.clone(),
        args: tool.args.clone(),
        effect: "update".to_owned(),
        reversibility: "snapshot".to_owned(),
        readable: json!(tool.effect) == "read",
        outputs: Vec::new(),
        secrets: Vec::new(),
    });
    Surface {
        groups: vec![("files".to_owned(), String::new()), ("mail".to_owned(), String::new())],
        tools: tools.collect(),
    }
});

fuzz_target!(|data: &[u8]| {
    let (asked, inputs): (BTreeSet<String>, Map<String, Value>) = (["mail".to_owned()].into(), Map::new());
    let offer = Offer { goal: GOAL, inputs: &inputs, surface: &SURFACE, asked: &asked, reads: 1, drafts: 1 };
    let answer = String::from_utf8_lossy(data);
    match read(&answer, &offer) {
        Ok(Turn::Propose { draft }) => {
            assert_eq!(Draft::read(&draft).expect("what is proposed is a draft").goal(), GOAL);
        }
        Ok(Turn::Read { action, .. }) => {
            assert!(SURFACE.tools.iter().any(|tool| tool.name == action.as_str() && tool.readable));
        }
        Ok(Turn::LoadTools { groups }) => assert_eq!(groups, ["files"]),
        Ok(Turn::Answer { text } | Turn::GiveUp { reason: text }) => assert!(!text.trim().is_empty()),
        Err(error) => assert_shown(&error.to_string(), data),
    }
});
