//! Scripts that programs are given and something else runs: in base64 or plain for a machine that is to start, among the settings of a
//! container, after what a chart makes (cloud-init, "User data formats"; AWS CLI, "run-instances"; Kubernetes, "Define a Command and
//! Arguments for a Container"; ECS, "Container definition parameters"; helm(1), "--post-renderer"; docker-run(1), "--health-cmd").

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use countersign_plan::document::{self, Bounds};
use countersign_plan::inspection::{Context, Inspection};
use serde_json::Value;

use super::tasks::has;
use crate::bounded::Bounded as _;
use crate::inspection::{Build as _, FindingKind};
use crate::machine::{Machine, Stream, Word};

/// The most texts of one command that are read.
const MAX_TEXTS: usize = 64;

/// The longest text in which scripts are looked for.
const MAX_TEXT: usize = 64 * 1024;

/// Encoders break lines that are at least so long (base64(1), "--wrap"; RFC 7468).
const SHORTEST_LINE: usize = 60;

/// How `#!` and `#cloud-config` begin in base64.
const BEGINNINGS: &[&str] = &["IyE", "I2Nsb3VkLWNvbmZpZ"];

/// Programs that hand on or show what they are given.
const SHOWING: &str = "echo printf cat tee base64 gbase64 basenc base32 openssl xxd grep egrep fgrep rg wc head tail less tr rev fold gzip \
    sha256sum sha1sum md5sum cksum jq python python3 perl ruby node git gh glab";

/// Programs that start machines and containers by settings in JSON.
const STARTING: &str = "kubectl oc k aws gcloud az docker podman nerdctl nomad doctl hcloud ecs-cli copilot linode-cli openstack \
    virt-install cloud-localds multipass lxc incus vultr-cli scw oci ibmcloud";

/// Endings of files with settings in which a script may stand.
const SETTINGS: &[&str] = &[".json", ".yml", ".yaml", ".tf", ".tfvars", ".toml", ".hcl", ".env", ".xml"];

impl Machine<'_> {
    /// Looks at what a program is given.
    pub(super) fn judge_given(&mut self, base: &str, rest: &[Word], stdin: &Stream) {
        if crate::shell::is_deep() {
            return;
        }
        if !has(SHOWING, base) {
            let words = rest.iter().filter_map(Word::constant);
            let begins = |text: &&str| BEGINNINGS.iter().any(|beginning| text.contains(beginning));
            let texts: Vec<String> = words.chain(stdin.known()).filter(begins).map(str::to_owned).collect();
            texts.iter().for_each(|text| self.judge_encoded(text));
        }
        if has(STARTING, base) {
            self.data_of_a_machine(rest);
            self.in_settings(rest);
        }
        if base == "helm" {
            self.after_rendering(rest);
        }
    }

    /// Scripts in base64 that stand in a text.
    fn judge_encoded(&mut self, text: &str) {
        for script in encoded(text) {
            let inner = script_of(&script, self.context);
            self.absorb_grave(inner);
        }
    }

    /// The same in a file with settings that the line writes.
    pub(crate) fn judge_settings(&mut self, name: &str, text: &str) {
        if SETTINGS.iter().any(|ending| name.ends_with(ending)) && !crate::shell::is_deep() {
            self.judge_encoded(text);
        }
    }

    /// `--user-data SCRIPT`, `--user-data file://FILE` and their kin, as they stand or in a file that the line wrote.
    fn data_of_a_machine(&mut self, rest: &[Word]) {
        let mut texts = Vec::new();
        for word in rest.iter().filter_map(Word::constant).at_most(64) {
            let value = word.split_once('=').filter(|(name, _)| name.starts_with('-')).map_or(word, |(_, value)| value);
            match value.strip_prefix("file://").or_else(|| value.strip_prefix("fileb://")) {
                Some(path) => texts.extend(self.held(&Word::text(path)).text),
                None => texts.push(value.to_owned()),
            }
        }
        for text in texts.iter().filter(|text| is_script(text)).at_most(MAX_TEXTS) {
            let inner = script_of(text, self.context);
            self.absorb_grave(inner);
        }
    }

    /// What containers are told to start, in settings that stand in the words.
    fn in_settings(&mut self, rest: &[Word]) {
        let words: Vec<String> = rest.iter().filter_map(|word| word.constant().map(str::to_owned)).collect();
        for word in words
            .iter()
            .filter(|word| word.contains('"') && word.contains('[') && crate::bounded::has_room(word.len(), MAX_TEXT))
        {
            let inner = crate::file::lines_of_settings(word, self.context);
            self.absorb_grave(inner);
            let json = word.find(['{', '[']).and_then(|at| word.get(at..)).unwrap_or(word);
            let mut commands = Vec::new();
            if let Ok(value) = serde_json::from_str::<Value>(json) {
                joined(&value, &mut commands, 0);
            }
            for command in commands.into_iter().at_most(MAX_TEXTS) {
                let inner = crate::shell::argv(&command, self.context);
                self.absorb_grave(inner);
            }
        }
        let mut apart = words.windows(2).filter_map(|pair| match pair {
            [option, line] if option == "--health-cmd" => Some(line.as_str()),
            _ => None,
        });
        let line = words.iter().find_map(|word| word.strip_prefix("--health-cmd=")).or_else(|| apart.next_back());
        if let Some(line) = line {
            let inner = crate::shell::shell(line, self.context);
            // Whom it asks on its own machine is nobody's business.
            if inner.findings.iter().any(|finding| crate::file::is_grave(finding.kind)) {
                self.absorb_grave(inner);
            }
        }
    }

    /// `--post-renderer P --post-renderer-args A …`: runs `P A …` over what the chart makes.
    fn after_rendering(&mut self, rest: &[Word]) {
        let mut command: Vec<Word> = Vec::new();
        let mut arguments = Vec::new();
        for (i, word) in rest.iter().enumerate() {
            let text = word.prefix();
            let (name, attached) = match text.split_once('=') {
                Some((name, _)) => (name.to_owned(), word.skip(name.len() + 1)),
                None => (text, None),
            };
            let value = || attached.clone().or_else(|| rest.get(i + 1).cloned());
            match name.as_str() {
                "--post-renderer" => command.extend(value()),
                "--post-renderer-args" => arguments.extend(value()),
                _ => {}
            }
        }
        if !command.is_empty() {
            self.start(command.into_iter().chain(arguments).collect(), Stream::unknown());
        }
    }
}

/// Whether a text is a script by its first line, or what cloud-init reads.
fn is_script(text: &str) -> bool {
    text.starts_with("#!") || text.starts_with("#cloud-config")
}

/// The scripts that stand in a text in base64.
fn encoded(text: &str) -> Vec<String> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &base64::alphabet::STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true),
    );
    let of_alphabet = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
    if !crate::bounded::has_room(text.len(), MAX_TEXT) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for beginning in BEGINNINGS {
        for (at, _) in text.match_indices(beginning) {
            if text.get(..at).is_some_and(|before| before.ends_with(of_alphabet))
                || !crate::bounded::has_room(out.len(), MAX_TEXTS)
            {
                continue;
            }
            let rest = text.get(at..).unwrap_or("");
            let mut body = String::new();
            // Lines are broken where they are full: what comes after a shorter one is another text.
            for line in rest.lines().map(str::trim) {
                let own: String = line.chars().take_while(|c| of_alphabet(*c)).collect();
                body.push_str(&own);
                if own.len() < line.len() || own.len() < SHORTEST_LINE {
                    break;
                }
            }
            let decoded = LENIENT.decode(&body).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            out.extend(decoded.filter(|text| is_script(text)));
        }
    }
    out
}

/// What such a script would do: commands, and files that it writes.
fn script_of(text: &str, context: &Context) -> Inspection {
    if !text.starts_with("#cloud-config") {
        return crate::file::file("user-data", text, context);
    }
    let mut out = Inspection::default();
    let Ok(document) = document::from_yaml(text.as_bytes(), Bounds::CONFIG) else { return out };
    let lists = ["bootcmd", "runcmd"].into_iter().filter_map(|key| document.get(key)?.as_array());
    for command in lists.flatten().at_most(MAX_TEXTS) {
        match command {
            Value::String(line) => out.absorb(crate::shell::shell(line, context)),
            Value::Array(words) => {
                let words: Vec<String> = words.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                out.absorb(crate::shell::argv(&words, context));
            }
            _ => {}
        }
    }
    let files = document.get("write_files").and_then(Value::as_array);
    for file in files.into_iter().flatten().at_most(MAX_TEXTS) {
        let part = |key: &str| file.get(key).and_then(Value::as_str);
        if let (Some(path), Some(content)) = (part("path"), part("content")) {
            out.absorb(crate::file::file(path, content, context));
        }
    }
    let root = |user: &&Value| user.get("uid").is_some_and(|uid| uid == &Value::from(0) || uid.as_str() == Some("0"));
    if document.get("users").and_then(Value::as_array).into_iter().flatten().any(|user| root(&user)) {
        out.find(FindingKind::OpensToAnybody, None, "a machine is told to make another name for root");
    }
    out
}

/// Commands that two lists of one container give together, where a shell begins them: `command` and `args`, `entryPoint` and `command`.
fn joined(value: &Value, out: &mut Vec<Vec<String>>, depth: u32) {
    if depth > 16 || !crate::bounded::has_room(out.len(), MAX_TEXTS) {
        return;
    }
    let words = |value: Option<&Value>| -> Vec<String> {
        value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    match value {
        Value::Object(members) => {
            for (first, second) in [("command", "args"), ("entryPoint", "command"), ("Entrypoint", "Cmd")] {
                let (mut command, more) = (words(members.get(first)), words(members.get(second)));
                if command.first().is_some_and(|name| super::is_shell(name)) && !more.is_empty() {
                    command.extend(more);
                    out.push(command);
                }
            }
            members.values().for_each(|value| joined(value, out, depth + 1));
        }
        Value::Array(items) => items.iter().for_each(|item| joined(item, out, depth + 1)),
        _ => {}
    }
}
