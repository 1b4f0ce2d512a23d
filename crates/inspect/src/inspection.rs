//! The builder of an inspection: entries once each, bounded, and what is left out said.
//!
//! The result itself is plain data of `countersign-plan`; only what reads hostile text builds one.

pub(crate) use countersign_plan::inspection::{
    Finding, FindingKind, Flow, Inspection, Knowledge, MAX_ENTRIES, Program, Span, Touch, Unknown, UnknownKind,
};
use countersign_plan::text::escape;
use countersign_plan::tool::Effect;

/// The most findings of one kind: what matters is that there are some, and a flood of one kind hides no other.
const MAX_OF_KIND: usize = 8;

/// The most unknown parts of one kind and one effect.
const MAX_UNKNOWN_OF_KIND: usize = 4;

/// How an inspection grows.
pub(crate) trait Build {
    fn touch(&mut self, touch: Touch);
    fn flow(&mut self, flow: Flow);
    fn find(&mut self, kind: FindingKind, span: Option<Span>, message: impl AsRef<str>);
    fn unknown(&mut self, kind: UnknownKind, effect: Effect, span: Option<Span>, message: impl AsRef<str>);
    fn too_much(&mut self, message: &str);
    /// Adds what another inspection found, without its positions: they are about another text.
    fn absorb(&mut self, other: Self);
    fn program(&mut self, program: Program);
}

impl Build for Inspection {
    fn touch(&mut self, touch: Touch) {
        // A full list says so without being searched.
        if self.touches.len() >= MAX_ENTRIES {
            self.too_much("more resources than are listed");
        } else if !self.touches.contains(&touch) {
            self.touches.push(touch);
        }
    }

    fn flow(&mut self, flow: Flow) {
        if self.flows.contains(&flow) {
            return;
        }
        if self.flows.len() >= MAX_ENTRIES {
            self.too_much("more ways of data than are listed");
            return;
        }
        self.flows.push(flow);
    }

    fn find(&mut self, kind: FindingKind, span: Option<Span>, message: impl AsRef<str>) {
        let message = escape(message.as_ref());
        let of_kind = || self.findings.iter().filter(|f| f.kind == kind);
        if of_kind().count() < MAX_OF_KIND && !of_kind().any(|f| f.message == message) {
            self.findings.push(Finding { kind, message, span });
        }
    }

    fn unknown(&mut self, kind: UnknownKind, effect: Effect, span: Option<Span>, message: impl AsRef<str>) {
        let message = escape(message.as_ref());
        let of_kind = || self.unknowns.iter().filter(|u| u.kind == kind && u.effect == effect);
        if of_kind().count() < MAX_UNKNOWN_OF_KIND && !of_kind().any(|u| u.message == message) {
            self.unknowns.push(Unknown { kind, effect, message, span });
        }
    }

    fn too_much(&mut self, message: &str) {
        if self.unknowns.iter().any(|u| u.kind == UnknownKind::TooMuch && u.message == message) {
            return;
        }
        self.unknown(UnknownKind::TooMuch, Effect::Execute, None, message);
    }

    fn absorb(&mut self, other: Self) {
        for program in other.programs {
            self.program(program);
        }
        other.touches.into_iter().for_each(|t| self.touch(t));
        other.flows.into_iter().for_each(|f| self.flow(f));
        other.unknowns.into_iter().for_each(|u| self.unknown(u.kind, u.effect, None, u.message));
        other.findings.into_iter().for_each(|f| self.find(f.kind, None, f.message));
    }

    fn program(&mut self, program: Program) {
        if self.programs.len() >= MAX_ENTRIES {
            self.too_much("more programs than are listed");
        } else if !self.programs.contains(&program) {
            self.programs.push(program);
        }
    }
}
