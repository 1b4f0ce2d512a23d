//! The monitor's own account of what a planner has seen (FLOW rule 6). How secret it is goes with every question to a model,
//! whose clearance the broker compares with it; whose words it is goes with every draft, whose words count for no more. The planner
//! is not asked.

use countersign_plan::access::Access;
use countersign_plan::id::ToolName;
use countersign_plan::observation::{Ending, Observation};
use countersign_plan::tool::{Manifest, Secrecy, TargetKind, Tool};
use countersign_policy::deployment::{Deployment, SecrecyLevel};
use countersign_policy::flow::{Label, Level, Readers, Session, Setting};
use countersign_policy::paths::Seen;
use serde_json::Value;

use super::Reading;

/// How secret a result is: the strictest of what it may hold. `args` is the level of the arguments.
pub(crate) fn of_result(
    tool: Option<&Tool>,
    accesses: &[Access],
    args: SecrecyLevel,
    output: &Value,
    deployment: &Deployment,
) -> SecrecyLevel {
    // Nothing is known of what an unknown tool shows.
    let Some(tool) = tool else { return SecrecyLevel::Restricted };
    let label = &tool.definition().output;
    let declared = std::iter::once(label.secrecy).chain(label.fields.iter().map(|field| field.secrecy));
    let levels = declared.map(|secrecy| match secrecy {
        Secrecy::Public => SecrecyLevel::Public,
        Secrecy::Internal => SecrecyLevel::Internal,
        Secrecy::Confidential => SecrecyLevel::Confidential,
        Secrecy::Restricted => SecrecyLevel::Restricted,
        Secrecy::Args => args,
        Secrecy::Target => of_targets(accesses, output, deployment),
    });
    levels.max().unwrap_or(SecrecyLevel::Restricted)
}

/// The label of what a read with these arguments showed, by the manifest and the deployment alone. What a tool says of its own
/// failure may be anybody's words.
pub(crate) fn label(manifest: &Manifest, deployment: &Deployment, reading: &Reading, seen: &Observation) -> Label {
    let Ok(action) = reading.action.parse::<ToolName>() else { return Label::TOP };
    let mut session = Session::default();
    let setting = Setting { manifest, deployment, planner: Level::Open };
    session.observe(&setting, &action, &Value::Object(reading.args.clone()), &seen.output);
    match seen.ending {
        Ending::Returned => session.seen(),
        Ending::Failed { .. } | Ending::TimedOut | Ending::Killed { .. } | Ending::Violation { .. } => {
            session.seen().join(Label { level: Level::Open, ..Label::BOTTOM })
        }
    }
}

/// The label of words that anybody may have chosen.
pub(crate) fn anybodys(secrecy: SecrecyLevel, deployment: &Deployment) -> Label {
    Label { level: Level::Open, readers: Readers::of(secrecy, deployment) }
}

/// How secret what was read is.
fn of_targets(accesses: &[Access], output: &Value, deployment: &Deployment) -> SecrecyLevel {
    let levels = accesses.iter().filter(|access| access.effect.is_harmless()).map(|access| {
        let resource = &access.resource;
        match resource.kind {
            TargetKind::File | TargetKind::Directory if resource.name.is_empty() => SecrecyLevel::Confidential,
            TargetKind::File | TargetKind::Directory => {
                let own = deployment.secrecy(&Seen::new(&resource.name, resource.resolved.as_deref()));
                if access.recursive { own.max(below(output, deployment)) } else { own }
            }
            TargetKind::Host
            | TargetKind::Url
            | TargetKind::Email
            | TargetKind::Channel
            | TargetKind::Account
            | TargetKind::Database
            | TargetKind::Calendar
            | TargetKind::Memory
            | TargetKind::Process
            | TargetKind::Record
            | TargetKind::Other => SecrecyLevel::Internal,
        }
    });
    levels.max().unwrap_or(SecrecyLevel::Internal)
}

/// Of a search below a folder: each file that it shows counts by its own name (`lesson_10`); what does not say where it comes
/// from may come from anywhere.
fn below(output: &Value, deployment: &Deployment) -> SecrecyLevel {
    let Some(matches) = output.get("matches").and_then(Value::as_array) else { return SecrecyLevel::Confidential };
    let levels = matches.iter().map(|found| match found.get("path").and_then(Value::as_str) {
        Some(path) if path.starts_with('/') => deployment.secrecy(&Seen::new(path, None)),
        Some(_) | None => SecrecyLevel::Confidential,
    });
    levels.max().unwrap_or(SecrecyLevel::Public)
}

#[cfg(test)]
mod tests {
    use countersign_plan::access::{Access, Resource};
    use countersign_plan::tool::{Effect, Manifest, TargetKind, Tool};
    use countersign_policy::deployment::{Deployment, DeploymentDocument, Own, SecrecyLevel};
    use serde_json::{Value, json};

    use super::of_result;

    fn deployment() -> Deployment {
        let document =
            "schema: countersign.deployment/v1\nsecrecy:\n  public: ['README.md']\n  confidential: ['pay/**']\n";
        let document = DeploymentDocument::read(document.as_bytes()).unwrap();
        Deployment::compile(document, "/work", "/home/u", &Own::default()).unwrap()
    }

    fn read(path: &str, recursive: bool) -> Access {
        let resource = Resource { kind: TargetKind::File, name: path.to_owned(), resolved: None, identity: None };
        Access { effect: Effect::Read, resource, recursive }
    }

    fn level(tool: &str, accesses: &[Access], output: &Value) -> SecrecyLevel {
        let manifest = Manifest::builtin().unwrap();
        let tool: Option<&Tool> = manifest.get(&tool.parse().unwrap());
        of_result(tool, accesses, SecrecyLevel::Public, output, &deployment())
    }

    #[test]
    fn what_a_read_shows_is_as_secret_as_the_file() {
        let none = json!({});
        assert_eq!(level("read_file", &[read("/work/README.md", false)], &none), SecrecyLevel::Public);
        assert_eq!(level("read_file", &[read("/work/src/main.rs", false)], &none), SecrecyLevel::Internal);
        assert_eq!(level("read_file", &[read("/work/pay/roll.csv", false)], &none), SecrecyLevel::Confidential);
        assert_eq!(level("read_file", &[read("/work/.env", false)], &none), SecrecyLevel::Restricted);
        assert_eq!(level("read_file", &[read("", false)], &none), SecrecyLevel::Confidential, "an open reference");
        let two = [read("/work/README.md", false), read("/work/pay/roll.csv", false)];
        assert_eq!(level("read_file", &two, &none), SecrecyLevel::Confidential, "the strictest counts");
        assert_eq!(level("no_such_tool", &[], &none), SecrecyLevel::Restricted);
    }

    #[test]
    fn lesson_10_a_search_is_as_secret_as_each_file_that_it_shows() {
        let found = |path: &str| json!({"matches": [{"path": "/work/a.txt"}, {"path": path}]});
        let search = [read("/work", true)];
        assert_eq!(level("search_files", &search, &found("/work/b.txt")), SecrecyLevel::Internal);
        assert_eq!(level("search_files", &search, &found("/work/pay/x")), SecrecyLevel::Confidential);
        assert_eq!(level("search_files", &search, &found("pay/x")), SecrecyLevel::Confidential);
        assert_eq!(level("search_files", &search, &json!({"lines": []})), SecrecyLevel::Confidential);
    }
}
