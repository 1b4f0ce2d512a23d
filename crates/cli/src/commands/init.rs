//! `init`: two files that explain themselves for the workspace, and one for the user: what models there are. Nothing existing is
//! overwritten.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;

use serde_json::json;

use crate::document::DEPLOYMENT;
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::paths::{self, Paths};
use crate::render::line::{Line, Tone};

const POLICY: &str = "policy.yaml";
/// What `init` writes.
const FILES: [(&str, &str); 2] =
    [(DEPLOYMENT, include_str!("init/countersign.yaml")), (POLICY, include_str!("init/policy.yaml"))];

/// What models, secrets and servers there are: of the user, not of a workspace.
const BROKER: &str = include_str!("init/broker.yaml");

pub(super) fn init(out: &Out) -> Result<Exit, Failure> {
    let folder = paths::current_folder()?;
    if let Some((name, _)) = FILES.iter().find(|(name, _)| folder.join(name).exists()) {
        let message = format!("{}: exists already; nothing was written", folder.join(name).display());
        return Err(Failure::usage(message).fix("move it away first if you mean to replace it"));
    }
    for (name, text) in FILES {
        let path = folder.join(name);
        let made = OpenOptions::new().write(true).create_new(true).open(&path);
        made.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| Failure::file(&path, &error))?;
    }
    let mut names: Vec<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
    names.extend(broker()?);
    out.value(&json!({"written": names}))?;
    let mut lines: Vec<Line> =
        names.iter().map(|name| Line::at(0).tone(Tone::Good, "wrote").plain(format!("  {name}"))).collect();
    lines.push(Line::of(
        1,
        "they can only tighten until you say `countersign trust countersign.yaml` and `trust policy.yaml`",
    ));
    out.lines(&lines)?;
    Ok(Exit::Done)
}

/// Writes the broker's configuration where the user has none.
fn broker() -> Result<Option<String>, Failure> {
    let paths = Paths::of_environment()?;
    let path = paths.broker();
    if path.exists() {
        return Ok(None);
    }
    paths::private_folder(&paths.config)?;
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    made.and_then(|mut file| file.write_all(BROKER.as_bytes())).map_err(|error| Failure::file(&path, &error))?;
    Ok(Some(path.display().to_string()))
}

#[cfg(test)]
mod tests {
    use countersign_policy::deployment::DeploymentDocument;
    use countersign_policy::policy::PolicyDocument;

    use super::{BROKER, FILES};

    #[test]
    fn what_is_written_is_valid() {
        DeploymentDocument::read(FILES[0].1.as_bytes()).unwrap();
        PolicyDocument::read(FILES[1].1.as_bytes()).unwrap();
    }

    #[test]
    fn the_brokers_template_configures_nothing_until_it_is_edited_and_holds_without_its_comments() {
        let bounds = countersign_plan::document::Bounds::CONFIG;
        let read = |text: &str| countersign_plan::document::from_bytes(text.as_bytes(), bounds).unwrap();
        let plain = serde_json::json!({"schema": "countersign.broker/v1"});
        assert_eq!(read(BROKER), plain);
        let lines = BROKER.lines().map(|line| line.strip_prefix("#: ").unwrap_or(line));
        let edited = read(&lines.collect::<Vec<_>>().join("\n"));
        assert_eq!(edited["secrets"]["openai"]["from"]["env"], "OPENAI_API_KEY");
        assert!(edited["providers"]["local"]["url"].is_string());
    }
}
