//! What a manifest declares about a part of a result.

use countersign_plan::pointer::Pointer;
use countersign_plan::tool::{Capacity, OutputLabel, Secrecy, Trust};

use super::label::{Label, Level, Readers};
use crate::deployment::Deployment;

/// A declared label: a fixed part, and what it takes over from elsewhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declared {
    /// The fixed part.
    pub(crate) base: Label,
    /// As trusted as what was read.
    pub(crate) trust_of_target: bool,
    /// As secret as what was read.
    pub(crate) secrecy_of_target: bool,
    /// As secret as the arguments.
    pub(crate) secrecy_of_args: bool,
    /// How much it can express, where that is declared.
    pub(crate) capacity: Option<Capacity>,
}

impl Declared {
    /// The label of the part `at`: that of the deepest field that covers it, else all that it may hold.
    pub(crate) fn of(output: &OutputLabel, at: &Pointer, deployment: &Deployment) -> Self {
        let deepest = output.fields.iter().filter(|f| f.at.covers(at)).max_by_key(|f| f.at.segments().len());
        match deepest {
            Some(field) => Self::one(field.trust, field.secrecy, field.capacity, deployment),
            None => {
                let root = Self::one(output.trust, output.secrecy, None, deployment);
                output
                    .fields
                    .iter()
                    .filter(|field| at.covers(&field.at))
                    .fold(root, |all, field| all.join(Self::one(field.trust, field.secrecy, None, deployment)))
            }
        }
    }

    fn one(trust: Trust, secrecy: Secrecy, capacity: Option<Capacity>, deployment: &Deployment) -> Self {
        Self {
            base: Label {
                level: Level::declared(trust).unwrap_or(Level::System),
                readers: Readers::declared(secrecy, deployment).unwrap_or(Readers::ANYONE),
            },
            trust_of_target: trust == Trust::Target,
            secrecy_of_target: secrecy == Secrecy::Target,
            secrecy_of_args: secrecy == Secrecy::Args,
            capacity,
        }
    }

    fn join(self, other: Self) -> Self {
        Self {
            base: self.base.join(other.base),
            trust_of_target: self.trust_of_target || other.trust_of_target,
            secrecy_of_target: self.secrecy_of_target || other.secrecy_of_target,
            secrecy_of_args: self.secrecy_of_args || other.secrecy_of_args,
            capacity: None,
        }
    }

    /// The label, where the targets and the arguments have these.
    pub(crate) fn filled(self, target: Label, args: Readers) -> Label {
        let mut label = self.base;
        if self.trust_of_target {
            label.level = label.level.min(target.level);
        }
        if self.secrecy_of_target {
            label.readers = label.readers.meet(target.readers);
        }
        if self.secrecy_of_args {
            label.readers = label.readers.meet(args);
        }
        label
    }
}
