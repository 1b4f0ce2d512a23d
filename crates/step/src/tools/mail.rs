//! Mail and messages by the broker, from the account and to the channels of its configuration.

use std::io::Read as _;

use countersign_plan::confinement::SandboxSpec;
use countersign_wire::egress::{EGRESS_LIMIT, ask, reply};
use serde::Deserialize;
use serde_json::json;

use super::{Outcome, Seen};
use crate::broker::{self, Silent, Term};
use crate::failure::Failure;
use crate::roots::{Roots, Use};
use crate::watcher::Watcher;

/// What all attachments of a mail may hold, in bytes.
const ATTACHED: u64 = (EGRESS_LIMIT - (1 << 20)) as u64;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mail {
    to: String,
    subject: String,
    body: String,
    #[serde(default)]
    attachments: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Message {
    channel: String,
    body: String,
}

/// `send_email`: `/message_id`. Attachments are files that the step may read.
pub(super) fn send(roots: &Roots<'_>, mail: Mail, watcher: &mut dyn Watcher) -> Outcome<Seen> {
    let mut left = ATTACHED;
    let attachments =
        mail.attachments.iter().map(|path| attachment(roots, path, &mut left)).collect::<Outcome<Vec<_>>>()?;
    let mail = ask::Mail { to: vec![mail.to], subject: mail.subject, body: mail.body, attachments };
    sent(roots.spec(), ask::Kind::Mail(mail), watcher)
}

/// `send_message`: `/message_id`.
pub(super) fn post(spec: &SandboxSpec, message: Message, watcher: &mut dyn Watcher) -> Outcome<Seen> {
    sent(spec, ask::Kind::Message(ask::ChannelMessage { channel: message.channel, body: message.body }), watcher)
}

fn attachment(roots: &Roots<'_>, path: &str, left: &mut u64) -> Outcome<ask::Attachment> {
    let place = roots.place(path, Use::Read)?;
    let failed = Failure::to("attach", &place.path);
    let (file, _) = place.open_file().map_err(&failed)?;
    let mut content = Vec::new();
    let read = file.take(left.saturating_add(1)).read_to_end(&mut content).map_err(&failed)?;
    *left = left.checked_sub(u64::try_from(read).unwrap_or(u64::MAX)).ok_or_else(|| {
        Failure::new(format!("{}: the attachments are larger than {ATTACHED} bytes together", place.path.display()))
    })?;
    let name = place.path.file_name().unwrap_or_default();
    Ok(ask::Attachment { name: name.to_string_lossy().into_owned(), content })
}

fn sent(spec: &SandboxSpec, kind: ask::Kind, watcher: &mut dyn Watcher) -> Outcome<Seen> {
    match broker::ask(watcher, kind, Term::of(spec), Silent::Unknown)? {
        reply::Kind::Sent(sent) => Ok(Seen::returned(json!({"message_id": sent.message_id}))),
        _ => Err(broker::stray(Silent::Unknown)),
    }
}

#[cfg(test)]
mod tests;
