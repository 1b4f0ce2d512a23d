//! Tasks of Ansible as the lines that a shell would be given for them (docs.ansible.com, "ansible.builtin", "Playbooks", "Lookups").

use std::collections::BTreeMap;

use countersign_plan::document::{self, Bounds};
use serde_json::Value;

use crate::bounded::Bounded as _;

/// The most tasks of a playbook, and of lookups in a text.
const MAX_TASKS: usize = 256;

/// The deepest nesting of plays, blocks and tasks.
const MAX_DEPTH: usize = 16;

/// Words of a playbook that make it one.
const TELLING: &[&str] = &["hosts:", "tasks:", "ansible.", "handlers:", "become:", "gather_facts:"];

/// Modules that only look.
const LOOKING: &[&str] = &["ping", "setup", "debug", "gather_facts", "stat", "assert", "fail", "wait_for_connection"];

/// What a module is given: names and values, and the text that is none of them.
#[derive(Debug, Default)]
pub(crate) struct Given {
    named: BTreeMap<String, String>,
    free: String,
}

impl Given {
    /// `name=value` between words that are free.
    pub(crate) fn of_text(text: &str) -> Self {
        let mut out = Self { free: text.trim().to_owned(), ..Self::default() };
        for word in words(text) {
            if let Some((name, value)) = word.split_once('=').filter(|(name, _)| is_name(name)) {
                out.named.insert(name.to_owned(), value.to_owned());
            }
        }
        out
    }

    fn of_value(value: &Value) -> Self {
        match value {
            Value::Object(members) => {
                let text = |value: &Value| match value {
                    Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(" "),
                    other => plain(other),
                };
                let named: BTreeMap<String, String> =
                    members.iter().map(|(name, value)| (name.clone(), text(value))).collect();
                let free = ["cmd", "argv", "_raw_params"].iter().find_map(|name| named.get(*name)).cloned();
                Self { free: free.unwrap_or_default(), named }
            }
            other => Self::of_text(&plain(other)),
        }
    }

    pub(crate) fn value(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.named.get(*name)).map(String::as_str)
    }

    fn says(&self, name: &str, values: &[&str]) -> bool {
        self.value(&[name]).is_some_and(|value| values.contains(&value.to_ascii_lowercase().as_str()))
    }
}

/// The module's own name: `ansible.builtin.shell`, `community.general.ufw`.
pub(crate) fn module(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Whether a module only looks.
pub(crate) fn only_looks(name: &str) -> bool {
    LOOKING.contains(&module(name))
}

/// The line that does what a module does; nothing where it is not known what that is.
pub(crate) fn line(name: &str, given: &Given) -> Option<String> {
    let value = |names: &[&str]| given.value(names).map(quoted);
    let own = value(&["name", "user", "pkg"]).unwrap_or_default();
    let absent = given.says("state", &["absent", "removed"]);
    Some(match module(name) {
        name if LOOKING.contains(&name) => "true".to_owned(),
        "shell" | "command" | "raw" | "win_shell" | "win_command" | "script" if !given.free.is_empty() => {
            given.free.clone()
        }
        "service" | "systemd" | "systemd_service" | "sysvinit" if !own.is_empty() => {
            let verb = match given.value(&["state"]) {
                Some("stopped") => "stop",
                Some("restarted" | "reloaded") => "restart",
                _ if given.says("masked", &["true", "yes"]) => "mask",
                _ if given.says("enabled", &["false", "no"]) => "disable",
                Some("started") => "start",
                _ => "enable",
            };
            format!("systemctl {verb} {own}")
        }
        "user" if absent => format!("userdel {own}"),
        "user" => {
            let root = given.says("uid", &["0"]) && given.says("non_unique", &["true", "yes"]);
            let groups = value(&["groups"]).map(|groups| format!(" -G {groups}")).unwrap_or_default();
            format!("useradd{}{groups} {own}", if root { " -o -u 0" } else { "" })
        }
        "authorized_key" if !absent => {
            format!("echo {} >> ~/.ssh/authorized_keys", value(&["key"])?)
        }
        "file" if absent => format!("rm -rf {}", value(&["path", "dest", "name"])?),
        "file" => format!("touch {}", value(&["path", "dest", "name"])?),
        "copy" | "template" => {
            let to = value(&["dest"])?;
            match (value(&["content"]), value(&["src"])) {
                (Some(content), _) => format!("printf %s {content} > {to}"),
                (None, Some(from)) => format!("cp {from} {to}"),
                (None, None) => return None,
            }
        }
        "lineinfile" | "blockinfile" if !absent => {
            format!("echo {} >> {}", value(&["line", "block"])?, value(&["path", "dest"])?)
        }
        "get_url" => format!("curl -o {} {}", value(&["dest"])?, value(&["url"])?),
        "cron" if !absent => format!("echo '* * * * * '{} | crontab -", value(&["job"])?),
        "apt" | "yum" | "dnf" | "package" | "apk" if !own.is_empty() => {
            let (program, by) = match module(name) {
                "yum" | "dnf" => ("dnf", "-y"),
                "apk" => ("apk", ""),
                _ => ("apt-get", "-y"),
            };
            format!("{program} {} {by} {own}", if absent { "remove" } else { "install" })
        }
        "pip" if !own.is_empty() => format!("pip {} {own}", if absent { "uninstall -y" } else { "install" }),
        "reboot" => "reboot".to_owned(),
        "ufw" if given.says("state", &["disabled", "reset"]) => "ufw disable".to_owned(),
        "selinux" if given.says("state", &["disabled", "permissive"]) => "setenforce 0".to_owned(),
        "iptables" if given.says("flush", &["true", "yes"]) => "iptables -F".to_owned(),
        _ => return None,
    })
}

/// The lines of a playbook or a list of tasks, where a text is one.
pub(crate) fn lines(text: &str) -> Vec<String> {
    if !TELLING.iter().any(|word| text.contains(word)) && !text.trim_start().starts_with("- name:") {
        return Vec::new();
    }
    let mut out: Vec<String> = piped(text);
    if let Ok(document) = document::from_yaml(unmarked(text).as_bytes(), Bounds::CONFIG) {
        tasks(&document, &mut out, 0);
    }
    out.into_iter().map(|line| filled(&line)).collect()
}

/// Commands that a lookup runs on this machine: `lookup('pipe', 'COMMAND')`.
pub(crate) fn piped(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for call in ["lookup(", "query(", "q("] {
        for after in text.split(call).skip(1).at_most(MAX_TASKS) {
            let after = after.trim_start_matches(|c: char| c.is_whitespace() || c == '\\');
            let Some(quote) = after.chars().next().filter(|c| matches!(c, '\'' | '"')) else { continue };
            let mut texts = after.split(quote).skip(1).step_by(2);
            let pipe = texts.next().is_some_and(|name| module(name.trim_end_matches('\\')) == "pipe");
            out.extend(texts.next().filter(|_| pipe).map(|line| line.trim_end_matches('\\').to_owned()));
        }
    }
    out
}

/// The text without anchors and tags, which the reader refuses: `- &name`, `key: !unsafe value` (YAML 1.2, "Node Properties").
fn unmarked(text: &str) -> String {
    let word =
        |line: &str, at: usize| line.get(at..).and_then(|rest| rest.find(' ')).map_or(line.len(), |end| at + end);
    let plain = |line: &str| {
        let found = ["- &", ": &", "- !", ": !"].iter().find_map(|mark| Some(line.find(mark)? + 2));
        found.map_or_else(
            || line.to_owned(),
            |at| format!("{}{}", line.get(..at).unwrap_or(""), line.get(word(line, at)..).unwrap_or("").trim_start()),
        )
    };
    // A task that is nothing but an anchor goes on in the next line.
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}

fn tasks(value: &Value, out: &mut Vec<String>, depth: usize) {
    if !(crate::bounded::has_room(depth, MAX_DEPTH) && crate::bounded::has_room(out.len(), MAX_TASKS)) {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| tasks(item, out, depth + 1)),
        Value::Object(members) => {
            for (name, value) in members {
                match name.as_str() {
                    "tasks" | "pre_tasks" | "post_tasks" | "handlers" | "block" | "rescue" | "always" => {
                        tasks(value, out, depth + 1);
                    }
                    "action" | "local_action" => {
                        let text = plain(value);
                        let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((&text, ""));
                        out.extend(line(name, &Given::of_text(rest)));
                    }
                    // The play's own words are no tasks.
                    "hosts" | "name" | "when" | "vars" | "register" | "tags" | "become" | "environment" => {}
                    module => {
                        let mut given = Given::of_value(value);
                        if let Some(more) = members.get("args") {
                            let more = Given::of_value(more);
                            given.named.extend(more.named);
                            given.free = if given.free.is_empty() { more.free } else { given.free };
                        }
                        out.extend(line(module, &given));
                    }
                }
            }
        }
        _ => {}
    }
}

/// A line with a variable in the place of each expression that is filled in later.
fn filled(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("{{") {
        let (expression, after) = after.split_once("}}").unwrap_or((after, ""));
        let name: String = expression.trim().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        out.push_str(before);
        out.push_str(&format!("${{{}}}", if name.is_empty() { "EXPRESSION" } else { &name }));
        rest = after;
    }
    out.push_str(rest);
    out
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

/// A value as one word; what is filled in later is left open.
pub(super) fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '~' | ',' | ' ' | ':' | '@');
    if value.contains("{{") || (!value.contains(' ') && value.chars().all(plain)) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\'', r"'\''"))
}

/// Words with what stands between quotes in one piece.
fn words(text: &str) -> Vec<String> {
    let (mut out, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in text.chars() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (c, None) if c.is_whitespace() => out.push(std::mem::take(&mut word)),
            (c, _) => word.push(c),
        }
    }
    out.push(word);
    out.retain(|word| !word.is_empty());
    out
}
