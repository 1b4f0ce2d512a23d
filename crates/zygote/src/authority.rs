//! Whose permits count, which are spent, and what a permit must bind before a step may start. Pure: no process, no file.

use std::collections::BTreeSet;

use countersign_plan::canonical;
use countersign_plan::confinement::SandboxSpec;
use countersign_plan::digest::Digest;
use countersign_plan::document::{self, Bounds, DocumentError};
use countersign_plan::envelope::Envelope;
use countersign_plan::key::{KeyError, PublicKey};
use countersign_plan::permit::{PermitError, Phase, VerifiedPermit};
use countersign_plan::time::Timestamp;
use countersign_wire::step::{ORDER_LIMIT, Order};
use countersign_wire::zygote::rotation_message;
use countersign_wire::zygote::to_zygote::{Boot, SpawnStep};

/// Why no step was started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// The zygote does not know yet whose permits count.
    #[error("no gate key yet: `boot` comes first")]
    NotBooted,
    /// A second `boot` that the old key did not sign.
    #[error("a second `boot` needs the old gate key's signature over the new one: {0}")]
    Rotation(KeyError),
    /// A boot message that is malformed.
    #[error("boot: {0}")]
    Boot(&'static str),
    /// The permit does not hold.
    #[error(transparent)]
    Permit(#[from] PermitError),
    /// Permit, spec or order are malformed.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The permit was used before.
    #[error("permit {0} is spent; a permit starts one child")]
    Spent(String),
    /// The permit waited too long.
    #[error("the permit expired at {0}, and it is {1}")]
    Expired(Timestamp, Timestamp),
    /// The spec is not the permitted one.
    #[error("the sandbox spec is not the permitted one")]
    Spec,
    /// The arguments are not the permitted ones.
    #[error("the arguments are not the permitted ones")]
    Arguments,
    /// The order is about another step, phase or tool.
    #[error("the order is for another step, phase or tool than the permit")]
    Order,
    /// A grant reaches into Countersign's own folders.
    #[error("{0} lies in Countersign's own folders, which no step may see")]
    Own(String),
}

impl Refusal {
    /// Whether somebody tried to act without leave, or something merely went wrong.
    pub(crate) const fn is_violation(&self) -> bool {
        !matches!(self, Self::NotBooted | Self::Boot(_) | Self::Expired(..))
    }
}

/// The zygote's memory of authority.
#[derive(Debug, Default)]
pub(crate) struct Authority {
    gate: Option<PublicKey>,
    epoch: u64,
    own: Vec<String>,
    spent: BTreeSet<String>,
    now: Option<Timestamp>,
}

/// A step that the gate permitted, exactly as it is to be started.
#[derive(Debug)]
pub(crate) struct PermittedStep {
    /// The sandbox.
    pub(crate) spec: SandboxSpec,
    /// Countersign's own folders, to be covered.
    pub(crate) own: Vec<String>,
}

impl Authority {
    /// Takes the first gate key as given, and each later one only from the one before.
    pub(crate) fn boot(&mut self, boot: &Boot) -> Result<(), Refusal> {
        let bytes: [u8; 32] =
            boot.gate_key.as_slice().try_into().map_err(|_| Refusal::Boot("a gate key has 32 bytes"))?;
        let key = PublicKey::from_bytes(&bytes).map_err(|_| Refusal::Boot("not an Ed25519 key"))?;
        if let Some(old) = &self.gate {
            let signature: [u8; 64] =
                boot.signature.as_slice().try_into().map_err(|_| Refusal::Rotation(KeyError::Signature))?;
            old.verify(&rotation_message(&bytes, boot.epoch), &signature).map_err(Refusal::Rotation)?;
        }
        self.gate = Some(key);
        self.epoch = boot.epoch;
        self.own.clone_from(&boot.own);
        Ok(())
    }

    /// Checks a permit against what it binds and spends it. A permit that was looked at is spent, whatever comes of it.
    pub(crate) fn permit(&mut self, command: &SpawnStep, order: &[u8]) -> Result<PermittedStep, Refusal> {
        let gate = self.gate.as_ref().ok_or(Refusal::NotBooted)?;
        let envelope = Envelope::from_json(&command.permit)?;
        let permit = VerifiedPermit::verify(&envelope, gate, self.epoch)?;
        let claims = permit.claims();
        if !self.spent.insert(claims.nonce.clone()) {
            return Err(Refusal::Spent(claims.nonce.clone()));
        }
        // The monitor's time counts, but only forwards.
        let said = Timestamp::from_millis(command.now);
        let now = self.now.map_or(said, |last| last.max(said));
        self.now = Some(now);
        if now >= claims.expires_at {
            return Err(Refusal::Expired(claims.expires_at, now));
        }
        if Digest::of(&command.spec) != claims.spec_digest {
            return Err(Refusal::Spec);
        }
        let bounds = Bounds { bytes: ORDER_LIMIT, depth: 64, values: 1 << 18 };
        let spec: SandboxSpec = document::typed(document::from_json(&command.spec, bounds)?)?;
        let order: Order = document::typed(document::from_json(order, bounds)?)?;
        if order.spec != spec {
            return Err(Refusal::Spec);
        }
        if canonical::digest(&order.args) != claims.args_digest {
            return Err(Refusal::Arguments);
        }
        if order.step != claims.step || order.phase != claims.phase || order.tool != claims.tool {
            return Err(Refusal::Order);
        }
        self.own_folders(&spec, &order).map(|own| PermittedStep { spec, own })
    }

    /// Countersign's own folders that the view must cover. Only two kinds of child may enter one: a snapshot's its own
    /// store, and a memory tool's the memory folder.
    fn own_folders(&self, spec: &SandboxSpec, order: &Order) -> Result<Vec<String>, Refusal> {
        let keeps_state = matches!(order.phase, Phase::Snapshot | Phase::Restore);
        let store = order.snapshot.as_ref().filter(|_| keeps_state).map(|s| s.store.as_str());
        let memory = order.tool.as_str().starts_with("memory_").then_some(spec.cwd.as_str());
        let excepted = |path: &str| [store, memory].into_iter().flatten().any(|root| inside(path, root));
        for grant in spec.read.iter().chain(&spec.write).chain(&spec.run) {
            let own = self.own.iter().any(|own| inside(&grant.path, own));
            if own && !excepted(&grant.path) {
                return Err(Refusal::Own(countersign_plan::text::escape(&grant.path)));
            }
        }
        let entered = |own: &String| [store, memory].into_iter().flatten().any(|root| inside(root, own));
        let exposed = |own: &str| spec.read.iter().chain(&spec.write).chain(&spec.run).any(|g| inside(own, &g.path));
        // A folder that is entered cannot be covered as well; then nothing above it may be granted.
        if let Some(own) = self.own.iter().find(|own| entered(own) && exposed(own)) {
            return Err(Refusal::Own(countersign_plan::text::escape(own)));
        }
        Ok(self.own.iter().filter(|own| exposed(own)).cloned().collect())
    }
}

/// Whether `path` is `root` or lies below it.
fn inside(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || root.ends_with('/'))
}

#[cfg(test)]
mod tests;
