//! `trust`: an approver's signature over a configuration file at its present content, after what it loosens was shown.

use std::path::{Path, PathBuf};

use countersign_plan::approval::Trust as Record;
use countersign_plan::digest::Digest;
use countersign_plan::document::{Bounds, from_bytes};
use countersign_policy::changes::SCHEMA as CHANGES;
use countersign_policy::deployment::{DeploymentDocument, SCHEMA as DEPLOYMENT};
use countersign_policy::policy::{PolicyDocument, SCHEMA as POLICY};
use countersign_policy::trust_base::{self, Ignored, Layer, Origin};
use countersign_wire::operator::to_monitor;
use serde_json::{Value, json};

use crate::args::Trust;
use crate::client::{Operator, Start};
use crate::commands::{key, text};
use crate::document;
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::passphrase::Source;
use crate::paths::{self, Paths};
use crate::render::line::{Detail, Line, Tone, Visible};
use crate::sign;

/// The format of tool manifests.
const TOOLS: &str = "countersign.tools/v1";

pub(super) fn trust(args: &Trust, out: &Out) -> Result<Exit, Failure> {
    let paths = Paths::of_environment()?;
    let sealed = key(&args.signer, &paths)?;
    let path: PathBuf = args.file.canonicalize().map_err(|error| Failure::file(&args.file, &error))?;
    let bytes = document::read(&path, Bounds::CONFIG.bytes)?;
    let digest = Digest::of(&bytes);
    let lines = shown(&path, &bytes, digest)?;
    if out.json_wanted() {
        out.note(&lines)
    } else {
        out.lines(&lines)?
    }
    let prompt = format!("\nTo trust this file as it is now, type the passphrase of {}: ", sealed.approver().principal);
    let unlocked = sign::must_unlock(&sealed, Source::of(args.signer.passphrase_fd), &prompt)?;
    let (signed_at, nonce) = sign::stamp()?;
    let principal = unlocked.principal().clone();
    let record = Record { path: text(path)?, digest, principal, signed_at, nonce };
    let envelope = unlocked.sign(&record)?.to_json();
    let mut operator = Operator::connect(&paths, Start::IfNeeded)?;
    let _: Value = operator.ask(to_monitor::Kind::Trust(to_monitor::Trust { envelope }))?;
    out.value(&json!({"path": record.path, "digest": digest}))?;
    out.lines(&[Line::at(0).tone(Tone::Good, "trusted").plain(format!("  {} at {digest}", record.path))])?;
    Ok(Exit::Done)
}

/// What the file would loosen, as the trust base says. The bytes that were read here are the bytes whose digest is signed.
fn shown(path: &Path, bytes: &[u8], digest: Digest) -> Result<Vec<Line>, Failure> {
    let value = from_bytes(bytes, Bounds::CONFIG)?;
    let format = value.get("schema").and_then(Value::as_str).unwrap_or_default().to_owned();
    let loosens = match format.as_str() {
        DEPLOYMENT => {
            let folder = path.parent().unwrap_or(path).to_string_lossy().into_owned();
            let home = paths::home().map_or_else(|| folder.clone(), |home| home.to_string_lossy().into_owned());
            let layers = [layer(DeploymentDocument::from_value(value.clone())?, path, digest)];
            trust_base::deployments(&layers, &|_| false, &folder, &home).ignored
        }
        POLICY => {
            trust_base::policies(&[layer(PolicyDocument::from_value(value.clone())?, path, digest)], &|_| false).ignored
        }
        TOOLS | CHANGES => {
            vec![Ignored { file: String::new(), pointer: String::new(), what: "all of it".to_owned() }]
        }
        _ => {
            return Err(Failure::usage(format!("{}: /schema: no configuration of this version", path.display()))
                .fix(format!("trust a {DEPLOYMENT}, {POLICY}, {TOOLS} or {CHANGES} file")));
        }
    };
    let mut lines = vec![
        Line::at(0).tone(Tone::Bold, path.display().to_string()),
        Line::field(1, "format", &format),
        Line::field(1, "digest", digest.to_string()),
    ];
    if loosens.is_empty() {
        lines.push(Line::of(1, "nothing in it loosens; it counts without being trusted"));
    } else {
        lines.push(Line::at(1).tone(Tone::Warn, "counts only once it is trusted:"));
    }
    for left in &loosens {
        lines.push(Line::at(2).tone(Tone::Bold, format!("{} ", left.pointer)).plain(Visible::escaped(&left.what)));
        let said = value.pointer(&left.pointer).unwrap_or(&Value::Null);
        lines.push(Line::at(4).plain(Visible::json(said, Detail::Full)));
    }
    Ok(lines)
}

fn layer<T>(document: T, path: &Path, digest: Digest) -> Layer<T> {
    Layer { document, origin: Origin::Workspace, digest, file: path.display().to_string() }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use countersign_plan::digest::Digest;

    use super::shown;
    use crate::render::line::Line;

    fn text(name: &str, bytes: &[u8]) -> String {
        let lines = shown(Path::new(name), bytes, Digest::of(bytes)).unwrap();
        lines.iter().map(Line::text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_loosens_is_shown_and_what_tightens_is_not_called_loosening() {
        let bytes = b"schema: countersign.deployment/v1\nhosts: {known: [evil.example]}\nsecrecy: {restricted: [a]}\n";
        let shown_text = text("/srv/countersign.yaml", bytes);
        assert!(shown_text.contains("evil.example"), "{shown_text}");
        assert!(!shown_text.contains("secrecy"), "{shown_text}");
        let policy = b"schema: countersign.policy/v1\nallow: [{name: all, action_types: ['*']}]\n";
        assert!(text("/srv/policy.yaml", policy).contains("`all` would allow"));
        let tightens = b"schema: countersign.policy/v1\ndeny: [{name: none, action_types: ['*']}]\n";
        assert!(text("/srv/policy.yaml", tightens).contains("nothing in it loosens"));
        assert!(shown(Path::new("/x"), b"schema: other/v1\n", Digest::of(b"")).is_err());
    }
}
