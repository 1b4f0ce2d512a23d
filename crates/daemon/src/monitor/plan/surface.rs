//! Which tools a planner sees: none but a few that read, until it loads groups by name.

use std::collections::{BTreeMap, BTreeSet};

use countersign_plan::draft::{Draft, Rollback};
use countersign_plan::id::{Reference, ToolName};
use countersign_plan::tool::{Driver, Manifest, TargetKind, Tool};
use countersign_policy::deployment::Deployment;
use countersign_policy::hosts::Endpoint;
use countersign_wire::planner::{Surface, SurfaceTool};

/// The group whose reading tools are there from the start.
const FIRST: &str = "files";
/// The group of tools that name none.
const UNGROUPED: &str = "other";
/// The largest surface, in bytes of JSON; one that is larger leaves the model no room.
const LARGEST: usize = 512 << 10;
/// Tools that the description of a group names.
const NAMED: usize = 12;

/// Why tools were not loaded. The planner may go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotLoaded {
    /// No such group.
    #[error("no group `{0}` exists; load one of the list")]
    Unknown(String),
    /// Together they are too many.
    #[error("these tools take {0} bytes to describe, and at most {LARGEST} are shown; load fewer groups")]
    Large(usize),
}

/// The names of the secrets that there are for plans; their values are the broker's alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Secrets<'a> {
    /// Every one that the broker does not keep for itself.
    pub(crate) names: &'a [String],
    /// Which hosts each may go to.
    pub(crate) deployment: &'a Deployment,
}

impl Secrets<'_> {
    /// Each place of the tool that takes a secret, with those that may stand there: what has no host to go to helps nobody, but
    /// where a program is handed the value.
    fn of(&self, tool: &Tool) -> Vec<(String, Vec<String>)> {
        let definition = tool.definition();
        let goes = |name: &&String| {
            let Ok(name) = name.parse::<Reference>() else { return false };
            match &definition.driver {
                Driver::Http(driver) => {
                    Endpoint::of_url(&driver.url).is_ok_and(|host| self.deployment.secret_may_reach(&name, &host))
                }
                Driver::None | Driver::Builtin(_) | Driver::Command(_) | Driver::Mcp(_) => {
                    definition.exposes || !self.deployment.hosts_of_secret(&name).is_empty()
                }
            }
        };
        let names: Vec<String> = self.names.iter().filter(goes).cloned().collect();
        definition.accepts_secret.iter().map(|place| (place.to_string(), names.clone())).collect()
    }
}

/// The groups that a planner loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Loaded(BTreeSet<String>);

impl Loaded {
    /// Loads further groups; all of them, or nothing changes.
    ///
    /// # Errors
    /// An unknown group, or too much at once.
    pub(crate) fn load(
        &mut self,
        groups: &[String],
        manifest: &Manifest,
        secrets: &Secrets<'_>,
    ) -> Result<Surface, NotLoaded> {
        let known: BTreeSet<&str> = manifest.iter().filter(|tool| is_offered(tool)).map(group).collect();
        if let Some(unknown) = groups.iter().find(|name| !known.contains(name.as_str())) {
            return Err(NotLoaded::Unknown(countersign_plan::text::escape(unknown)));
        }
        let mut more = self.clone();
        more.0.extend(groups.iter().cloned());
        let surface = more.surface(manifest, secrets);
        let size = serde_json::to_vec(&surface).map_or(usize::MAX, |bytes| bytes.len());
        if size > LARGEST {
            return Err(NotLoaded::Large(size));
        }
        *self = more;
        Ok(surface)
    }

    /// All that the planner sees now.
    pub(crate) fn surface(&self, manifest: &Manifest, secrets: &Secrets<'_>) -> Surface {
        let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for tool in manifest.iter().filter(|tool| is_offered(tool)) {
            groups.entry(group(tool)).or_default().push(tool.definition().name.as_str());
        }
        let groups = groups.into_iter().map(|(name, tools)| (name.to_owned(), listed(&tools))).collect();
        let tools = manifest.iter().filter(|tool| self.shows(tool)).map(|tool| shown(tool, secrets)).collect();
        Surface { groups, tools }
    }

    /// The tool of that name, if the planner sees it and may read with it now.
    pub(crate) fn readable<'a>(&self, name: &str, manifest: &'a Manifest) -> Option<&'a Tool> {
        let name: ToolName = name.parse().ok()?;
        manifest.get(&name).filter(|tool| self.shows(tool) && is_readable(tool))
    }

    /// A tool that a draft uses, to do or to take back, and that the planner does not see. What is no draft, or what no tool is
    /// called, is the gate's to refuse.
    pub(crate) fn hidden_in(&self, draft: &[u8], manifest: &Manifest) -> Option<ToolName> {
        let draft = Draft::read(draft).ok()?;
        let used = draft.steps().iter().flat_map(|step| {
            let back = match &step.rollback {
                Some(Rollback::Action { action, .. }) => Some(action),
                Some(Rollback::Snapshot | Rollback::None) | None => None,
            };
            [Some(&step.action), back].into_iter().flatten()
        });
        let hidden = |name: &&ToolName| manifest.get(name).is_some_and(|tool| !self.shows(tool));
        used.into_iter().find(hidden).cloned()
    }

    fn shows(&self, tool: &Tool) -> bool {
        is_offered(tool) && (self.0.contains(group(tool)) || (group(tool) == FIRST && is_readable(tool)))
    }
}

fn group(tool: &Tool) -> &str {
    tool.definition().group.as_deref().unwrap_or(UNGROUPED)
}

/// Whether anything here can carry it out.
fn is_offered(tool: &Tool) -> bool {
    tool.definition().driver != Driver::None
}

/// Whether a planner may read with it before it proposes: harmless, and either built in and local, or a tool that the
/// deployment's own manifest brings, whose road leads to one place. Where the planner itself would say where to (a URL), it belongs
/// into a plan.
fn is_readable(tool: &Tool) -> bool {
    let definition = tool.definition();
    let one_place = match definition.driver {
        Driver::Builtin(_) => is_local(definition.target.kind),
        Driver::Http(_) | Driver::Mcp(_) => true,
        Driver::None | Driver::Command(_) => false,
    };
    one_place && definition.effect.is_harmless() && !definition.exposes
}

const fn is_local(kind: TargetKind) -> bool {
    match kind {
        TargetKind::File | TargetKind::Directory | TargetKind::Memory => true,
        TargetKind::Host
        | TargetKind::Url
        | TargetKind::Email
        | TargetKind::Channel
        | TargetKind::Account
        | TargetKind::Database
        | TargetKind::Calendar
        | TargetKind::Process
        | TargetKind::Record
        | TargetKind::Other => false,
    }
}

fn listed(tools: &[&str]) -> String {
    let more = tools.len().saturating_sub(NAMED);
    let named = tools.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}

fn shown(tool: &Tool, secrets: &Secrets<'_>) -> SurfaceTool {
    let definition = tool.definition();
    let reversibility = serde_json::to_value(definition.reversibility).ok();
    SurfaceTool {
        name: definition.name.to_string(),
        description: definition.description.clone(),
        args: definition.args.clone(),
        effect: definition.effect.as_str().to_owned(),
        reversibility: reversibility.as_ref().and_then(|word| word.as_str()).unwrap_or_default().to_owned(),
        readable: is_readable(tool),
        outputs: definition.output.fields.iter().map(|field| field.at.to_string()).collect(),
        secrets: secrets.of(tool),
    }
}

#[cfg(test)]
mod tests {
    use countersign_plan::tool::Manifest;

    use std::sync::LazyLock;

    use countersign_policy::deployment::{Deployment, DeploymentDocument, Own};

    use super::{Loaded, NotLoaded, Secrets};

    static BOUND: LazyLock<Deployment> = LazyLock::new(|| {
        let document = "schema: countersign.deployment/v1\nsecrets: {api: {hosts: [api.example.com]}}\n";
        let document = DeploymentDocument::read(document.as_bytes()).unwrap();
        Deployment::compile(document, "/work", "/home/u", &Own::default()).unwrap()
    });

    fn none() -> Secrets<'static> {
        Secrets { names: &[], deployment: &BOUND }
    }

    fn names(loaded: &Loaded, manifest: &Manifest) -> Vec<String> {
        loaded.surface(manifest, &none()).tools.into_iter().map(|tool| tool.name).collect()
    }

    #[test]
    fn at_the_start_only_tools_that_read_files_are_seen() {
        let manifest = Manifest::builtin().unwrap();
        let loaded = Loaded::default();
        let mut seen = names(&loaded, &manifest);
        seen.sort();
        assert_eq!(seen, ["list_directory", "read_file", "search_files"]);
        assert!(loaded.surface(&manifest, &none()).tools.iter().all(|tool| tool.readable));
        assert!(
            loaded
                .surface(&manifest, &none())
                .groups
                .iter()
                .any(|(name, tools)| name == "mail" && tools == "send_email")
        );
        assert!(loaded.readable("read_file", &manifest).is_some());
        for hidden in ["write_file", "memory_read", "http_request", "no such tool", ""] {
            assert!(loaded.readable(hidden, &manifest).is_none(), "{hidden}");
        }
    }

    #[test]
    fn a_group_is_loaded_whole_and_only_what_reads_this_machine_can_be_read_with() {
        let manifest = Manifest::builtin().unwrap();
        let mut loaded = Loaded::default();
        let all: Vec<String> = loaded.surface(&manifest, &none()).groups.into_iter().map(|(name, _)| name).collect();
        let surface = loaded.load(&all, &manifest, &none()).unwrap();
        assert_eq!(surface.tools.len(), manifest.iter().count());
        let mut readable: Vec<String> =
            surface.tools.into_iter().filter(|tool| tool.readable).map(|tool| tool.name).collect();
        readable.sort();
        assert_eq!(readable, ["list_directory", "memory_read", "read_file", "search_files"]);
        assert!(loaded.readable("http_request", &manifest).is_none(), "what leaves this machine belongs into a plan");
        assert!(loaded.readable("write_file", &manifest).is_none());
    }

    #[test]
    fn the_deployments_own_tools_are_read_with_only_where_they_only_read_at_one_place() {
        let tool = |name: &str, effect: &str, driver: serde_json::Value| {
            let reversibility = if effect == "read" { "pure" } else { "irreversible" };
            serde_json::json!({
                "name": name, "group": "ours", "description": "A tool.", "effect": effect, "reversibility": reversibility,
                "target": {"kind": "other"}, "args": {"type": "object", "additionalProperties": false},
                "output": {"trust": "party", "secrecy": "internal"}, "driver": driver,
            })
        };
        let http = serde_json::json!({"http": {"method": "GET", "url": "https://api.corp.example/v1"}});
        let mut manifest = Manifest::builtin().unwrap();
        let tools = vec![
            tool("look", "read", http.clone()),
            tool("change", "update", http),
            tool("ask", "read", serde_json::json!({"mcp": {"server": "wiki", "tool": "search"}})),
            tool("run", "read", serde_json::json!({"command": {"argv": ["ls"]}})),
        ];
        manifest.extend(tools).unwrap();
        let mut loaded = Loaded::default();
        assert!(loaded.readable("look", &manifest).is_none(), "not loaded");
        loaded.load(&["ours".to_owned()], &manifest, &none()).unwrap();
        let readable = |name: &str| loaded.readable(name, &manifest).is_some();
        assert!(readable("look") && readable("ask"));
        assert!(!readable("change") && !readable("run"));
    }

    #[test]
    fn an_unknown_group_loads_nothing() {
        let manifest = Manifest::builtin().unwrap();
        let mut loaded = Loaded::default();
        let asked = ["mail".to_owned(), "root".to_owned()];
        assert_eq!(loaded.load(&asked, &manifest, &none()), Err(NotLoaded::Unknown("root".to_owned())));
        assert_eq!(loaded, Loaded::default());
    }

    #[test]
    fn a_tool_says_which_secrets_it_takes_and_which_fields_it_answers() {
        let mut manifest = Manifest::builtin().unwrap();
        let tool = serde_json::json!({
            "name": "release", "group": "ours", "description": "Releases.", "effect": "admin", "reversibility": "irreversible",
            "target": {"kind": "other"}, "args": {"type": "object", "properties": {"key": {"type": "string"}}},
            "accepts_secret": ["/key"], "exposes": true, "output": {"trust": "party", "secrecy": "internal"},
            "driver": {"command": {"argv": ["release"], "env": {"KEY": {"arg": "/key"}}}},
        });
        manifest.extend(vec![tool]).unwrap();
        let names = ["api".to_owned(), "unbound".to_owned(), "no name".to_owned()];
        let secrets = Secrets { names: &names, deployment: &BOUND };
        let mut loaded = Loaded::default();
        let surface = loaded.load(&["network".to_owned(), "ours".to_owned()], &manifest, &secrets).unwrap();
        let shown = |name: &str| surface.tools.iter().find(|tool| tool.name == name).unwrap();
        let takes = |at: &str, names: &[&str]| vec![(at.to_owned(), names.iter().map(|n| (*n).to_owned()).collect())];
        assert_eq!(shown("http_request").secrets, takes("/headers/*", &["api"]), "what may go nowhere is not named");
        assert_eq!(shown("http_request").outputs, ["/status"]);
        assert_eq!(shown("release").secrets, takes("/key", &["api", "unbound"]), "a program is handed it here");
        assert!(shown("read_file").secrets.is_empty() && shown("read_file").outputs.is_empty());
    }
    #[test]
    fn a_draft_uses_what_was_loaded_to_do_and_to_take_back() {
        let manifest = Manifest::builtin().unwrap();
        let mut loaded = Loaded::default();
        let hidden = |loaded: &Loaded, steps: &str| {
            let draft = format!("schema: countersign.plan/v1\ngoal: g\nsteps: [{steps}]");
            loaded.hidden_in(draft.as_bytes(), &manifest).map(|name| name.to_string())
        };
        let read = "{id: a, action: read_file, args: {path: a}}";
        let write = "{id: a, action: write_file, args: {path: a, content: x}}";
        let back = "{id: a, action: read_file, args: {path: a}, rollback: {action: delete_file, args: {path: a}}}";
        assert_eq!(hidden(&loaded, read), None, "it is there from the start");
        assert_eq!(hidden(&loaded, write).as_deref(), Some("write_file"));
        assert_eq!(hidden(&loaded, back).as_deref(), Some("delete_file"));
        assert_eq!(
            hidden(&loaded, "{id: a, action: no_such_tool, args: {}}"),
            None,
            "the gate says that none is called so"
        );
        loaded.load(&["files".to_owned()], &manifest, &none()).unwrap();
        assert_eq!((hidden(&loaded, write), hidden(&loaded, back)), (None, None));
    }
}
