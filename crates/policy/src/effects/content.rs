//! What is written into a file and run, believed or read later: scripts, the commands inside of build files, orders to agents,
//! credentials in the open. It is asked about before it stands there.

use countersign_plan::inspection::{FindingKind, Inspection, Subject};
use countersign_plan::tool::TargetKind;
use countersign_plan::verdict::{Code, Decision};

use super::Deriving;
use super::arguments::Arg;
use super::inspected::code_of;
use crate::deployment::{SecrecyLevel, Standing};
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
        let place = self.place().clone();
        let file = place.normalise(&path).unwrap_or_else(|_| path.clone());
        if let Ok(inspection) =
            self.scene.facts.inspect(&Subject::File { path: file.clone(), text, context: self.context(&place) })
        {
            self.will_run(&file, &inspection);
        }
    }

    fn will_run(&mut self, path: &str, inspection: &Inspection) {
        // Nobody is left to ask before it runs.
        let seen = Seen::new(path, None);
        let deployment = self.scene.deployment;
        let by_itself = inspection.found(FindingKind::Persistence) || deployment.is_trusted(&seen);
        let outside = |host: &str| self.standing_of(host) == Standing::Other;
        let (mut decisions, outsider) =
            (Vec::new(), inspection.touches.iter().any(|touch| touch.kind == TargetKind::Host && outside(&touch.name)));
        for finding in &inspection.findings {
            if finding.kind.decision() == Decision::Block || finding.kind == FindingKind::DownloadAndExecute {
                // A shell on a socket is for nobody, whoever starts it.
                let grave = finding.kind == FindingKind::ReverseShell
                    || by_itself && (finding.kind != FindingKind::DownloadAndExecute || outsider);
                let message = format!("the script {path} would: {}", finding.message);
                decisions.push((code_of(finding.kind), grave, message));
            } else if finding.kind == FindingKind::InjectedInstruction {
                decisions.push((code_of(finding.kind), false, finding.message.clone()));
            }
        }
        for flow in &inspection.flows {
            let secret = match flow.from.as_str() {
                "env" | "secret" => true,
                from => {
                    from.starts_with('/') && deployment.secrecy(&Seen::new(from, None)) >= SecrecyLevel::Confidential
                }
            };
            if secret {
                let message = format!("the script {path} would send {} to {}", flow.from, flow.to);
                decisions.push((Code::FlowClearance, by_itself && outside(&flow.to), message));
            }
        }
        for (code, grave, message) in decisions {
            self.found(code, if grave { Decision::Block } else { Decision::RequireApproval }, message);
        }
        // Within the workspace a script is part of the project, if it is one at all; elsewhere it is there to be run.
        let inside = deployment.in_workspace(&seen);
        let nothing = inspection.touches.is_empty()
            && !inspection.programs.is_empty()
            && inspection.programs.iter().all(|p| p.knowledge == countersign_plan::inspection::Knowledge::Uncatalogued);
        if let Some(unknown) = inspection.unknowns.first().filter(|_| !inside || nothing) {
            let message = format!("the script {path} is not understood: {}", unknown.message);
            self.found(Code::ExecuteUnanalysed, Decision::RequireApproval, message);
        }
    }
}
