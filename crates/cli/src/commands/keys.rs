//! `keys`: the approver's own key, enrolment, and the gate's key with its pin.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use countersign_plan::approval::{Approver, Enrolment, Retirement};
use countersign_plan::document::{self, Bounds};
use countersign_plan::id::Principal;
use countersign_plan::key::PublicKey;
use countersign_wire::operator::{Status, to_monitor};
use serde_json::{Value, json};

use crate::anchor::trust_anchor;
use crate::args::{Keys, Signer};
use crate::client::{Operator, Start};
use crate::commands::key;
use crate::document as file;
use crate::failure::{Exit, Failure};
use crate::key::SealedKey;
use crate::out::Out;
use crate::passphrase::Source;
use crate::paths::{self, Paths};
use crate::render::line::{Line, Tone, count};
use crate::sign;

pub(super) fn keys(what: Keys, out: &Out) -> Result<Exit, Failure> {
    let paths = Paths::of_environment()?;
    match what {
        Keys::Init { principal, groups, signer } => init(&paths, principal, groups, &signer, out),
        Keys::Enroll { public, signer } => enroll(&paths, public.as_deref(), &signer, out),
        Keys::Show => show(&paths, out),
        Keys::Retire { public, signer } => retire(&paths, public, &signer, out),
        Keys::Rotate => rotate(&paths, out),
    }
}

fn init(
    paths: &Paths,
    principal: Option<Principal>,
    groups: Vec<String>,
    signer: &Signer,
    out: &Out,
) -> Result<Exit, Failure> {
    let principal = principal.map_or_else(own_principal, Ok)?;
    let path = match &signer.key {
        Some(path) => path.clone(),
        None => {
            paths::private_folder(&paths.config)?;
            paths.approver_key()
        }
    };
    let public = public_path(&path);
    if public == path {
        let message = format!("{}: the public half would stand in the same file", path.display());
        return Err(Failure::usage(message).fix("give the key another ending, such as .key"));
    }
    // Before anybody types: nothing that is there is replaced.
    if let Some(taken) = [&path, &public].into_iter().find(|path| path.exists()) {
        return Err(crate::key::KeyFileError::Exists(taken.clone()).into());
    }
    let passphrase = Source::of(signer.passphrase_fd).choose()?;
    let sealed = SealedKey::generate(principal, groups, &passphrase)?;
    sealed.write(&path)?;
    let approver = sealed.approver();
    write_public(&public, &format!("{}\n", serde_json::to_string_pretty(&approver)?))?;
    out.value(&json!({"key": path.to_string_lossy(), "public": public.to_string_lossy(), "approver": approver}))?;
    out.lines(&[
        Line::at(0).tone(Tone::Good, "made").plain(format!("  {}  {}", approver.principal, approver.key)),
        Line::field(1, "key", format!("{} (sealed; keep the passphrase, nobody can restore it)", path.display())),
        Line::field(1, "public", format!("{} (give this to the person who enrols you)", public.display())),
        Line::field(1, "next", "countersign keys enroll"),
    ])?;
    Ok(Exit::Done)
}

fn own_principal() -> Result<Principal, Failure> {
    let name = format!("uid:{}", rustix::process::geteuid().as_raw());
    name.parse().map_err(|error: countersign_plan::id::NameError| Failure::internal(error.to_string()))
}

fn public_path(key: &Path) -> PathBuf {
    key.with_extension("pub")
}

fn write_public(path: &Path, text: &str) -> Result<(), Failure> {
    let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o644).open(path);
    opened.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| Failure::file(path, &error))
}

fn enroll(paths: &Paths, public: Option<&Path>, signer: &Signer, out: &Out) -> Result<Exit, Failure> {
    let approver = match public {
        Some(path) => read_public(path)?,
        None => key(signer, paths)?.approver(),
    };
    let mut operator = Operator::connect(paths, Start::IfNeeded)?;
    let before = operator.status()?;
    let envelope =
        if before.approvers.is_empty() { Vec::new() } else { sign_enrolment(paths, signer, &approver, &before)? };
    let asked = to_monitor::Enroll { approver: serde_json::to_vec(&approver)?, envelope };
    let _: Value = operator.ask(to_monitor::Kind::Enroll(asked))?;
    out.value(&json!({"enrolled": approver}))?;
    let first = if before.approvers.is_empty() { " as the first approver" } else { "" };
    out.lines(&[Line::at(0)
        .tone(Tone::Good, "enrolled")
        .plain(format!("  {}{first}  {}", approver.principal, approver.key))])?;
    pin(paths, &before.gate_key, out)?;
    Ok(Exit::Done)
}

fn sign_enrolment(paths: &Paths, signer: &Signer, approver: &Approver, status: &Status) -> Result<Vec<u8>, Failure> {
    let sealed = key(signer, paths)?;
    let own = sealed.approver();
    if !status.approvers.iter().any(|enrolled| enrolled.key == own.key) {
        let who: Vec<String> = status.approvers.iter().map(|enrolled| enrolled.principal.to_string()).collect();
        let message = format!("the key of {} is not enrolled, so that it can enrol nobody", own.principal);
        let fix = format!("one of {} enrols you: `countersign keys enroll {}`", who.join(", "), "approver.pub");
        return Err(Failure::refused("key.not_enrolled", message).fix(fix));
    }
    let prompt = format!(
        "To let {} ({}, groups: {}) approve, type the passphrase of {}: ",
        countersign_plan::text::escape(approver.principal.as_str()),
        approver.key,
        countersign_plan::text::escape(&approver.groups.join(", ")),
        own.principal
    );
    let unlocked = sign::must_unlock(&sealed, Source::of(signer.passphrase_fd), &prompt)?;
    let (signed_at, nonce) = sign::stamp()?;
    let principal = unlocked.principal().clone();
    let enrolment = Enrolment { approver: approver.clone(), principal, signed_at, nonce };
    Ok(unlocked.sign(&enrolment)?.to_json())
}

fn read_public(path: &Path) -> Result<Approver, Failure> {
    let bounds = Bounds { bytes: 64 << 10, depth: 4, values: 256 };
    let bytes = file::read(path, bounds.bytes)?;
    Ok(document::typed(document::from_json(&bytes, bounds)?)?)
}

fn show(paths: &Paths, out: &Out) -> Result<Exit, Failure> {
    let status = Operator::connect(paths, Start::IfNeeded)?.status()?;
    let pinned = pin(paths, &status.gate_key, out)?;
    out.value(&json!({"gate_key": status.gate_key, "pinned": pinned, "approvers": status.approvers}))?;
    let mut lines = vec![
        Line::field(0, "gate key", &status.gate_key),
        Line::field(0, "pinned", format!("{pinned}  ({})", paths.gate_key().display())),
    ];
    lines.extend(status.approvers.iter().map(|approver| {
        Line::field(0, "approver", format!("{}  {}  {}", approver.principal, approver.key, approver.groups.join(", ")))
    }));
    out.lines(&lines)?;
    Ok(Exit::Done)
}

fn retire(paths: &Paths, public: PublicKey, signer: &Signer, out: &Out) -> Result<Exit, Failure> {
    let mut operator = Operator::connect(paths, Start::IfNeeded)?;
    let status = operator.status()?;
    let Some(approver) = status.approvers.iter().find(|approver| approver.key == public) else {
        let message = format!("the key {public} is not enrolled, so that it approves nothing anyway");
        return Err(Failure::usage(message).fix("`countersign keys show` names the keys that are"));
    };
    let sealed = key(signer, paths)?;
    let prompt = format!(
        "To let the key {public} of {} approve nothing any more, type the passphrase of {}: ",
        countersign_plan::text::escape(approver.principal.as_str()),
        sealed.approver().principal
    );
    let unlocked = sign::must_unlock(&sealed, Source::of(signer.passphrase_fd), &prompt)?;
    let (signed_at, nonce) = sign::stamp()?;
    let retirement = Retirement { key: public, principal: unlocked.principal().clone(), signed_at, nonce };
    let envelope = unlocked.sign(&retirement)?.to_json();
    let retired: Value = operator.ask(to_monitor::Kind::Retire(to_monitor::Retire { envelope }))?;
    out.value(&retired)?;
    let cases = retired.get("cases").and_then(Value::as_array).map_or(0, Vec::len);
    out.lines(&[
        Line::at(0).tone(Tone::Good, "retired").plain(format!("  {}  {public}", approver.principal)),
        Line::of(1, format!("its approvals count no longer in {} that waited", count(cases, "case"))),
    ])?;
    Ok(Exit::Done)
}

fn rotate(paths: &Paths, out: &Out) -> Result<Exit, Failure> {
    let rotated: Value =
        Operator::connect(paths, Start::IfNeeded)?.ask(to_monitor::Kind::Rotate(to_monitor::Rotate {}))?;
    out.value(&rotated)?;
    let now = rotated.get("gate_key").and_then(Value::as_str).unwrap_or("another key");
    out.lines(&[
        Line::at(0).tone(Tone::Good, "rotated").plain(format!("  the gate signs with {now} from now on")),
        Line::of(1, "permits of the old key are dead; `audit verify` follows the chain from the key that is pinned"),
    ])?;
    Ok(Exit::Done)
}

/// Keeps the gate's key when it is first seen. A different one later is said, and the pin stays: the chain of keys in the
/// ledger leads from the pinned key to its successors, and to nobody else's.
fn pin(paths: &Paths, gate_key: &str, out: &Out) -> Result<String, Failure> {
    let key = trust_anchor(gate_key)?;
    let path = paths.gate_key();
    match fs::read_to_string(&path) {
        Ok(pinned) if pinned.trim() == key.to_string() => {}
        Ok(pinned) => out.note(&[
            Line::at(0).tone(Tone::Warn, "note: ").plain("the gate signs with another key than the one that is pinned here"),
            Line::field(1, "pinned", pinned.trim()),
            Line::field(1, "now", key.to_string()),
            Line::of(1, "after `keys rotate` that is expected, and `countersign audit verify` proves it; else ask who changed it"),
        ]),
        Err(_) => {
            paths::private_folder(&paths.config)?;
            write_public(&path, &format!("{key}\n"))?;
            out.note(&[Line::of(0, format!("pinned the gate's key at {}", path.display()))]);
        }
    }
    fs::read_to_string(&path).map(|pinned| pinned.trim().to_owned()).map_err(|error| Failure::file(&path, &error))
}
