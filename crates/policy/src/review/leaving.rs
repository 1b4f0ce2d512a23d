//! What commands send away, against the clearance of who receives it (FORMATS §4, "Clearance"): files, the environment, credentials.

use countersign_plan::verdict::{Code, Decision, Reason};

use super::Request;
use super::prepare::Prepared;
use crate::deployment::{SecrecyLevel, Standing};
use crate::effects::{Leaving, Origin};
use crate::paths::Seen;

pub(super) fn check(request: &Request<'_>, prepared: &Prepared<'_>) -> Vec<Reason> {
    let leaving = prepared.derived.leaving.iter();
    leaving.filter_map(|one| beyond_clearance(request, prepared, one)).collect()
}

fn beyond_clearance(request: &Request<'_>, prepared: &Prepared<'_>, leaving: &Leaving) -> Option<Reason> {
    let (what, level) = match &leaving.origin {
        Origin::File { name, resolved } => {
            let level = request.deployment.secrecy(&Seen::new(name, resolved.as_deref()));
            // All of a home folder holds what its keys are.
            let whole = name == request.deployment.home() || matches!(name.as_str(), "/" | "/root" | "/home" | "/etc");
            // A pattern takes at least what it takes where nothing stands for its end.
            let bare = name.trim_end_matches('*');
            let bare = if bare.ends_with('/') { level } else { request.deployment.secrecy(&Seen::new(bare, None)) };
            (name.as_str(), if whole { SecrecyLevel::Restricted } else { level.max(bare) })
        }
        Origin::Environment => ("the whole environment", SecrecyLevel::Restricted),
        Origin::Secret => ("a credential", SecrecyLevel::Restricted),
        Origin::Rows => ("what a database holds", SecrecyLevel::Confidential),
        // A token that a client hands to its own service: whose it is shows only there.
        Origin::Variable | Origin::Unknown => ("something not known yet", SecrecyLevel::Internal),
    };
    // What by its goal must not leave the house is for nobody outside.
    let kept = leaving.standing == Standing::Other && prepared.goal.confines();
    let level = if kept { level.max(SecrecyLevel::Confidential) } else { level };
    let clearance = request.deployment.clearance(leaving.standing);
    if level <= clearance {
        return None;
    }
    let decision = if level >= SecrecyLevel::Confidential { Decision::Block } else { Decision::RequireApproval };
    let message = format!(
        "{what} ({}) would leave for {}, who is cleared for {}",
        level.as_str(),
        leaving.to,
        clearance.as_str()
    );
    Some(Reason::new(Code::FlowClearance, decision, message))
}
