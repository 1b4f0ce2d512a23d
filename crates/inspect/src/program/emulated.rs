//! A machine that is emulated: which of this machine's files it writes, what it starts here, and who may give it orders (qemu(1), "Block device
//! options", "Network options", "Character device options", "Display options").

use countersign_plan::tool::Effect;

use crate::bounded::Bounded as _;
use crate::inspection::{FindingKind, UnknownKind};
use crate::machine::{Machine, Stream, Word};

/// The most words of one command that are looked at.
const MAX_WORDS: usize = 256;

impl Machine<'_> {
    /// Options with their values; either of one dash or of two.
    pub(super) fn ends_of_qemu(&mut self, rest: &[Word]) {
        for pair in rest.windows(2).at_most(MAX_WORDS) {
            let [option, value] = pair else { continue };
            let Some(option) = option.constant().and_then(|option| option.strip_prefix('-')) else { continue };
            let text = value.shown();
            let fields: Vec<(&str, &str)> =
                text.split(',').map(|field| field.split_once('=').unwrap_or((field, ""))).collect();
            match option.strip_prefix('-').unwrap_or(option) {
                "drive" => self.disk_of_qemu(value, &fields),
                "netdev" | "nic" | "net" => self.network_of_qemu(&text, &fields),
                option @ ("monitor" | "qmp" | "serial" | "chardev" | "parallel" | "debugcon") => {
                    self.console_of_qemu(option, &text, &fields);
                }
                // The program in the machine may ask for files of this one (qemu(1), "-semihosting").
                "semihosting-config" if text != "enable=off" => {
                    self.unknown(
                        UnknownKind::Option,
                        Effect::Execute,
                        "what the machine asks of this one is not known",
                    );
                }
                "display" if text.starts_with("vnc") => {
                    let address = text.split_once('=').map_or("", |(_, address)| address);
                    let place = address.split(',').next().unwrap_or(address);
                    match place.strip_prefix("unix:") {
                        Some(path) => self.touch_path(Effect::Update, &Word::text(path), false),
                        None if place == "none" || is_local(place) => {}
                        None => self.opens_port(),
                    }
                }
                _ => {}
            }
        }
    }

    /// `file=PATH` is a file of this machine's; whatever else a drive is made of goes beyond that.
    fn disk_of_qemu(&mut self, value: &Word, fields: &[(&str, &str)]) {
        let Some(text) = value.constant() else {
            self.unknown(
                UnknownKind::Value,
                Effect::Update,
                "which disk a machine writes shows only when the line runs",
            );
            return;
        };
        // Of a key that is given twice the last one counts.
        let field = |name: &str| fields.iter().rev().find(|(own, _)| *own == name).map(|(_, value)| *value);
        let file = field("file").unwrap_or("");
        // A scheme, a name of several parts, a sign that is written twice (qemu(1), "Disk Images").
        if file.contains(':') || text.contains(",,") || fields.iter().any(|(name, _)| name.contains('.')) {
            if file.contains("://") {
                self.touch_host(&Word::text(file));
            }
            self.touch_named(Effect::Admin, &format!("{} -drive {text}", self.by));
            return;
        }
        let kept = [("snapshot", "on"), ("readonly", "on"), ("read-only", "on"), ("media", "cdrom")];
        let kept = kept.iter().any(|(name, value)| field(name) == Some(value));
        self.touch_path(if kept { Effect::Read } else { Effect::Update }, &Word::text(file), false);
    }

    fn console_of_qemu(&mut self, option: &str, text: &str, fields: &[(&str, &str)]) {
        let bare = text.strip_prefix("mon:").unwrap_or(text);
        let (kind, rest) = bare.split_once([':', ',']).unwrap_or((bare, ""));
        let field = |name: &str| fields.iter().find(|(own, _)| *own == name).map(|(_, value)| *value);
        match kind {
            "stdio" | "none" | "null" | "vc" | "pty" | "ringbuf" | "msmouse" | "" => {}
            "file" => {
                let path = field("path").unwrap_or_else(|| rest.split(',').next().unwrap_or(rest));
                self.touch_path(Effect::Update, &Word::text(path), false);
            }
            // A socket takes the place of what lies there.
            "unix" => self.touch_path(Effect::Update, &Word::text(rest.split(',').next().unwrap_or(rest)), false),
            "socket" if field("path").is_some() => {
                self.touch_path(Effect::Update, &Word::text(field("path").unwrap_or_default()), false);
            }
            "socket" if field("host").is_some_and(is_loopback) => {}
            "tcp" | "telnet" | "udp" | "websocket" if is_local(rest) => {}
            "tcp" | "telnet" | "udp" | "websocket" | "socket" => self.opens_port(),
            _ => self.touch_named(Effect::Admin, &format!("{} -{option} {text}", self.by)),
        }
    }

    fn opens_port(&mut self) {
        self.touch_named(Effect::Admin, &format!("a port that `{}` opens to every other machine", self.by));
    }

    fn network_of_qemu(&mut self, text: &str, fields: &[(&str, &str)]) {
        // What a connection of the guest starts here.
        if let Some((_, line)) = text.split_once("-cmd:") {
            self.script(line, &Stream::unknown());
        }
        for (name, value) in fields {
            match *name {
                "script" | "downscript" | "helper" if !matches!(*value, "no" | "") => {
                    self.loads(&Word::text(*value));
                    self.find(FindingKind::LoadsCode, format!("`{}` runs {value} as its {name}", self.by));
                }
                "smb" => self.touch_path(Effect::Update, &Word::text(*value), true),
                "tftp" => self.touch_path(Effect::Read, &Word::text(*value), true),
                "hostfwd" if !value.contains(":127.0.0.1:") => self.opens_port(),
                // Where a connection of the guest goes on.
                "guestfwd" => match value.split_once('-').map(|(_, to)| to) {
                    Some(to) if to.starts_with("tcp:") => self.touch_host(&Word::text(to.trim_start_matches("tcp:"))),
                    Some(to) if to.starts_with("cmd:") => {}
                    _ => self.touch_named(Effect::Admin, &format!("{} {text}", self.by)),
                },
                _ => {}
            }
        }
        if !matches!(fields.first().map_or("", |(name, _)| *name), "user" | "none" | "nic") {
            self.touch_named(Effect::Admin, &format!("{} {text}", self.by));
        }
    }
}

fn is_loopback(host: &str) -> bool {
    matches!(host, "127.0.0.1" | "localhost" | "::1" | "[::1]")
}

/// Whether the host before a port is this machine.
fn is_local(address: &str) -> bool {
    let address = address.split(',').next().unwrap_or(address);
    address.rsplit_once(':').is_some_and(|(host, _)| is_loopback(host))
}
