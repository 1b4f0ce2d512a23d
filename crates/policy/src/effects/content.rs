//! What is written into a file and run, believed or read later: scripts, the commands inside of build files, orders to agents,
//! credentials in the open. It is asked about before it stands there.

use countersign_plan::inspection::{FindingKind, Inspection, Language, Subject};
use countersign_plan::verdict::{Code, Decision};
use serde_json::Value;

use super::Deriving;
use super::arguments::Arg;
use super::inspected::{code_of, script_language};
use crate::deployment::SecrecyLevel;
use crate::paths::Seen;

impl Deriving<'_> {
    /// Looks at `content` for the file `path`.
    pub(super) fn written_text(&mut self) {
        let (Arg::Text(path), Arg::Text(text)) = (self.named("path"), self.named("content")) else { return };
        if let Ok(inspection) = self.scene.facts.inspect(&Subject::Text { text: text.clone() }) {
            for unread in &inspection.unknowns {
                let message = format!("what is written to {path} was not read to its end: {}", unread.message);
                self.found(Code::ExecuteUnanalysed, Decision::RequireApproval, message);
            }
            for finding in &inspection.findings {
                let asks = matches!(finding.kind, FindingKind::Secret | FindingKind::InjectedInstruction);
                if asks || finding.kind == FindingKind::HiddenText {
                    let message = format!("what is written to {path}: {}", finding.message);
                    self.found(code_of(finding.kind), Decision::RequireApproval, message);
                }
            }
        }
        let name = path.rsplit('/').next().unwrap_or(&path);
        let (language, code, whole) = match script_language(&path, &text) {
            Some(language) => (language, text, true),
            None => match embedded(name, &text) {
                Some(lines) => (Language::Shell, lines, false),
                None => return,
            },
        };
        let subject = Subject::Code { language, text: code, context: self.context(&self.place().clone()) };
        if let Ok(inspection) = self.scene.facts.inspect(&subject) {
            self.will_run(&path, &inspection, whole);
        }
    }

    fn will_run(&mut self, path: &str, inspection: &Inspection, whole: bool) {
        for finding in &inspection.findings {
            if finding.kind.decision() == Decision::Block || finding.kind == FindingKind::DownloadAndExecute {
                let message = format!("the script {path} would: {}", finding.message);
                self.found(code_of(finding.kind), Decision::RequireApproval, message);
            }
        }
        for flow in &inspection.flows {
            let secret = match flow.from.as_str() {
                "env" | "secret" => true,
                from => {
                    from.starts_with('/')
                        && self.scene.deployment.secrecy(&Seen::new(from, None)) >= SecrecyLevel::Confidential
                }
            };
            if secret {
                let message = format!("the script {path} would send {} to {}", flow.from, flow.to);
                self.found(Code::FlowClearance, Decision::RequireApproval, message);
            }
        }
        // Within the workspace a script is part of the project, if it is one at all; elsewhere it is there to be run.
        let name = self.place().normalise(path).unwrap_or_default();
        let inside = self.scene.deployment.in_workspace(&Seen::new(&name, None));
        let nothing = inspection.touches.is_empty()
            && !inspection.programs.is_empty()
            && inspection.programs.iter().all(|p| p.knowledge == countersign_plan::inspection::Knowledge::Uncatalogued);
        if let Some(unknown) = inspection.unknowns.first().filter(|_| whole && (!inside || nothing)) {
            let message = format!("the script {path} is not understood: {}", unknown.message);
            self.found(Code::ExecuteUnanalysed, Decision::RequireApproval, message);
        }
    }
}

/// The command lines inside of a file that tools run: package scripts, recipes, image builds, services, workflows.
fn embedded(name: &str, text: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let lines = |pick: &dyn Fn(&str) -> Option<String>| {
        let joined = text.replace("\\\n", " ");
        let lines: Vec<String> = joined.lines().filter_map(pick).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    };
    match lower.as_str() {
        "package.json" | "composer.json" => {
            let document: Value = serde_json::from_str(text).ok()?;
            let scripts = document.get("scripts")?.as_object()?;
            let texts: Vec<&str> = scripts.values().filter_map(Value::as_str).collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        "makefile" | "gnumakefile" => lines(&|line| {
            let recipe = line.strip_prefix('\t')?;
            Some(recipe.trim_start_matches(['@', '-', '+']).replace("$$", "$"))
        }),
        _ if lower.starts_with("dockerfile") || lower.starts_with("containerfile") => {
            lines(&|line| line.trim_start().strip_prefix("RUN ").map(str::to_owned))
        }
        _ if lower.ends_with(".service") => lines(&|line| {
            line.strip_prefix("Exec").and_then(|rest| rest.split_once('=')).map(|(_, line)| line.to_owned())
        }),
        _ if lower.ends_with(".yml") || lower.ends_with(".yaml") => {
            lines(&|line| line.trim_start_matches([' ', '-']).strip_prefix("run: ").map(str::to_owned))
        }
        _ => None,
    }
}
