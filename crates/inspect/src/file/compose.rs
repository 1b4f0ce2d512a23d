//! Compositions of containers: the lines that their services run beside `command`, and what of this machine they are given (Compose file
//! reference, "healthcheck", "volumes"; kubectl's reference, "apply").

use countersign_plan::document::{self, Bounds};
use serde_json::{Map, Value};

use super::playbook::quoted;
use crate::bounded::Bounded as _;
use crate::inspection::FindingKind;
use crate::machine::{Machine, Word};

/// The most services of a composition, and of things that one says.
const MAX_SERVICES: usize = 64;

/// The clock of the machine, which many a service is shown.
const CLOCK: &[&str] = &["/etc/localtime", "/etc/timezone"];

/// The services of a composition; none of any other document.
fn services(text: &str) -> Vec<Map<String, Value>> {
    let Ok(document) = document::from_yaml(without_anchors(text).as_bytes(), Bounds::CONFIG) else { return Vec::new() };
    let Some(services) = document.get("services").and_then(Value::as_object) else { return Vec::new() };
    services.values().filter_map(Value::as_object).cloned().at_most(MAX_SERVICES).collect()
}

/// The text without the names of parts that stand elsewhere too, which the reader refuses: `x: &a`, `<<: *a` (YAML 1.2, 7.1).
pub(super) fn without_anchors(text: &str) -> String {
    let own = |line: &&str| !line.trim_start().starts_with("<<:");
    let bare = |line: &str| {
        let named = [": &", "- &", ": *"].iter().filter_map(|mark| line.find(mark)).min();
        let Some((before, named)) = named.and_then(|at| line.split_at_checked(at + 2)) else { return line.to_owned() };
        format!("{before}{}", named.split_once(' ').map_or("", |(_, rest)| rest))
    };
    text.lines().filter(own).map(bare).collect::<Vec<_>>().join("\n")
}

/// The lines that the services run: checks of their health, commands behind their entry, hooks.
pub(super) fn lines(text: &str) -> Vec<String> {
    services(text).iter().flat_map(of_service).collect()
}

fn of_service(service: &Map<String, Value>) -> Vec<String> {
    let mut out = Vec::new();
    out.extend(service.get("healthcheck").and_then(|check| check.get("test")).and_then(checked));
    let [entry, command] = ["entrypoint", "command"].map(|key| service.get(key).map(words).unwrap_or_default());
    out.push([entry, command].concat().join(" "));
    let hooks = ["post_start", "pre_stop"].iter().filter_map(|key| service.get(*key)?.as_array()).flatten();
    out.extend(hooks.filter_map(|hook| Some(words(hook.get("command")?).join(" "))));
    out.iter().map(|line| line.replace("$$", "$")).filter(|line| !line.is_empty()).collect()
}

/// The line of a check: `["CMD-SHELL", LINE]`, `["CMD", WORD…]`, or a text.
fn checked(test: &Value) -> Option<String> {
    match test.as_array().map(Vec::as_slice) {
        Some([kind, line]) if kind == "CMD-SHELL" => line.as_str().map(str::to_owned),
        Some([kind, rest @ ..]) if kind == "CMD" => Some(words(&Value::Array(rest.to_vec())).join(" ")),
        Some(_) => None,
        None => test.as_str().map(str::to_owned),
    }
}

/// A text as it is; the words of a list in quotes.
fn words(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(quoted).at_most(MAX_SERVICES).collect(),
        _ => Vec::new(),
    }
}

/// What of this machine a service is given by its whole name, as `docker run -v` is: `SOURCE:TARGET`, `type=bind,source=SOURCE`.
fn binds(service: &Map<String, Value>, home: &str) -> Vec<String> {
    let at_home = |source: &str| match source.strip_prefix("${HOME}").or_else(|| source.strip_prefix("$HOME")) {
        Some(rest) => format!("{home}{rest}"),
        None => source.strip_prefix('~').map_or_else(|| source.to_owned(), |rest| format!("{home}{rest}")),
    };
    let bind = |volume: &Value| match volume {
        Value::String(text) => text.contains(':').then(|| at_home(text)),
        other => {
            let read_only = if other.get("read_only") == Some(&Value::Bool(true)) { ",readonly" } else { "" };
            other.get("source")?.as_str().map(|source| format!("type=bind,source={}{read_only}", at_home(source)))
        }
    };
    let whole = |bind: &String| {
        let source = bind.strip_prefix("type=bind,source=").unwrap_or(bind);
        source.starts_with('/') && !CLOCK.contains(&source.split([':', ',']).next().unwrap_or(source))
    };
    let volumes = service.get("volumes").and_then(Value::as_array).into_iter().flatten();
    volumes.filter_map(bind).filter(whole).at_most(MAX_SERVICES).collect()
}

/// Whether a service has the rights of the machine itself: `privileged: true`, `pid: host`.
fn is_elevated(service: &Map<String, Value>) -> bool {
    let added = service.get("cap_add").and_then(Value::as_array).into_iter().flatten();
    service.get("privileged") == Some(&Value::Bool(true))
        || service.get("pid").is_some_and(|pid| pid == "host")
        || added.into_iter().any(|right| matches!(right.as_str(), Some("ALL" | "SYS_ADMIN" | "SYS_PTRACE")))
}

impl Machine<'_> {
    /// A composition that the line writes: what its services are given of this machine.
    pub(super) fn judge_composition(&mut self, name: &str, text: &str) {
        if !(name.ends_with(".yml") || name.ends_with(".yaml")) || crate::shell::is_deep() {
            return;
        }
        for service in services(text) {
            for bind in binds(&service, &self.context.home.clone()) {
                self.volume(&Word::text(bind));
            }
            if is_elevated(&service) {
                self.find(FindingKind::Elevation, format!("a container of {name} has the rights of this machine"));
            }
        }
    }

    /// A manifest that the line wrote and a cluster is told to run: `kubectl apply -f FILE`.
    pub(super) fn runs_manifests(&mut self, base: &str, rest: &[Word]) {
        const RUNS: &[&str] = &["apply", "create", "replace", "run"];
        let told = rest.iter().any(|word| word.constant().is_some_and(|word| RUNS.contains(&word)));
        if !matches!(base, "kubectl" | "oc" | "kubecolor") || !told || self.files.is_empty() {
            return;
        }
        let value = |(i, word): (usize, &Word)| match word.shown().as_str() {
            "-f" | "--filename" => rest.get(i + 1).cloned(),
            attached => {
                let name = attached.strip_prefix("--filename=").or_else(|| attached.strip_prefix("-f"))?;
                Some(Word::text(name.trim_start_matches('=')))
            }
        };
        let names: Vec<String> = rest.iter().enumerate().filter_map(value).flat_map(|word| self.paths(&word)).collect();
        self.runs_written(&|path: &str| names.iter().any(|name| path == name || crate::path::is_below(path, name)));
    }
}
