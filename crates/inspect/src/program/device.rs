//! Phones and their emulators: what a shell there is given, and stores of keys for what is tried out on them (developer.android.com/tools,
//! "adb"; "simctl help"; keytool(1); plutil(1)).

use countersign_plan::inspection::{Context, Inspection};
use countersign_plan::tool::Effect;

use super::options::Parsed;
use crate::catalogue::{Role, Tag};
use crate::machine::{Machine, Stream, Word};

/// What a shell of a device does with the words behind `adb shell`, which it is given with blanks between them.
pub(super) fn on_device(words: &[String], context: &Context) -> Inspection {
    crate::shell::inspect(context, |machine| {
        machine.on_device = true;
        machine.script(&words.join(" "), &Stream::empty());
    })
}

impl Machine<'_> {
    /// `adb wait-for-device push …`: what comes then is a command like any other.
    pub(super) fn behind_waiting(&mut self, rest: &[Word], stdin: &Stream) -> Option<Stream> {
        let at = rest.iter().position(|word| word.prefix().starts_with("wait-for-"))?;
        let then = [rest.get(..at)?, rest.get(at + 1..)?].concat();
        (at + 1 < rest.len()).then(|| Some(self.apply(crate::catalogue::entry("adb")?, &then, stdin)))?
    }

    /// Whether what runs on a device only shows something of it.
    pub(super) fn looks_at_device(&self, inner: &Inspection) -> bool {
        matches!(self.by.as_str(), "adb" | "simctl")
            && inner.unknowns.is_empty()
            && inner.findings.is_empty()
            && inner.touches.iter().all(|touch| touch.effect.is_harmless())
    }

    /// Whether keys are made in a store that the line itself made, or where what passes lies: they are no record of anybody's.
    pub(super) fn makes_passing_store(&self, parsed: &Parsed<'_>, tags: &[&Tag]) -> bool {
        let makes = tags.iter().all(|tag| !matches!(tag, Tag::Named(effect) if *effect != Effect::Create));
        if self.by != "keytool" || !makes {
            return false;
        }
        let stores: Vec<&Word> =
            parsed.values.iter().filter(|(role, _)| *role == Role::Update).map(|(_, word)| word).collect();
        let passing = |path: &String| {
            let folder = ["/tmp/", "/var/tmp/"].iter().any(|folder| path.starts_with(folder));
            folder || self.made.contains(path) || self.files.contains_key(path)
        };
        !stores.is_empty() && stores.iter().all(|store| !store.has_hole() && self.paths(store).iter().all(passing))
    }

    /// Whether the files that are read are changed where they are: `gawk -i inplace`, `plutil -convert` without a place to write to, and
    /// what `PlistBuddy` is told beside `Print`.
    pub(super) fn changes_in_place(&self, parsed: &Parsed<'_>, tags: &[&Tag], rest: &[Word]) -> bool {
        if self.by == "plutil" {
            let elsewhere = parsed.values.iter().any(|(role, _)| *role == Role::Write);
            let raw = parsed.operands.first().and_then(Word::constant) == Some("raw");
            let extracts = rest.iter().any(|word| word.constant() == Some("-extract"));
            return tags.contains(&&Tag::InPlace) && !elsewhere && !(raw && extracts);
        }
        if self.by == "PlistBuddy" {
            return parsed.values.iter().any(|(_, word)| !word.prefix().starts_with("Print"));
        }
        let inplace = |word: &Word| matches!(word.constant(), Some("inplace" | "-iinplace"));
        tags.contains(&&Tag::InPlace) || (self.by.ends_with("awk") && rest.iter().any(inplace))
    }
}
