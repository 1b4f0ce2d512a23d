//! What a program takes along beside what it is told: other sources of the folder that one lies in, every key of a store.

use countersign_plan::tool::{Effect, TargetKind};

use crate::file::scratch::only_computes;
use crate::inspection::FindingKind;
use crate::machine::{Machine, Stream, Word};

/// Clients of Redis.
const STORES: &[&str] = &["redis-cli", "valkey-cli", "iredis", "keydb-cli"];

impl Machine<'_> {
    /// `java -jar FILE …`: what stands behind the archive is said to the program in it (java(1)), which has a catalogue of its own or
    /// speaks to the addresses that it is given.
    pub(super) fn archive_of_java(&mut self, rest: &[Word], stdin: &Stream) -> Option<Stream> {
        let at = rest.iter().position(|word| word.constant() == Some("-jar"))?;
        let own = rest.get(..at + 2).filter(|own| own.len() < rest.len())?;
        let said = rest.get(at + 2..).unwrap_or(&[]);
        let archive = own.last().and_then(Word::constant).unwrap_or("");
        let out = self.apply(crate::catalogue::entry("java")?, own, stdin);
        if let Some(known) = crate::catalogue::entry(archive.rsplit('/').next().unwrap_or(archive)) {
            return Some(self.apply(known, said, stdin));
        }
        for address in said.iter().filter(|word| word.shown().contains("://")) {
            self.touch_host(address);
        }
        Some(out)
    }

    /// `java FOLDER/A.java` compiles whatever other source of the folder A names (JEP 458). A folder that the line made holds what the line
    /// wrote there; of another one nobody knows.
    pub(super) fn sources_beside(&mut self, file: &Word) {
        if self.by != "java" || !file.prefix().ends_with(".java") {
            return;
        }
        let [path] = self.paths(file).try_into().unwrap_or_else(|_| [String::new()]);
        let Some((folder, _)) = path.rsplit_once('/') else { return };
        // `mkdir -p` makes nothing where the folder is there already (mkdir(1)).
        let with_all_above = |program: &crate::inspection::Program| {
            let flag = |word: &str| {
                word.starts_with("--p") || (word.starts_with('-') && !word.starts_with("--") && word.contains('p'))
            };
            program.name.ends_with("mkdir") && program.args.iter().flatten().any(|word| flag(word))
        };
        let of_file = |touch: &&crate::inspection::Touch| touch.kind == TargetKind::File && touch.effect > Effect::Read;
        let mut touches = self.out.touches.iter().filter(of_file);
        let made = touches.clone().any(|touch| touch.effect == Effect::Create && touch.name == folder);
        // What is unpacked, copied or linked there, and not written by the line.
        let filled = touches.any(|touch| {
            (touch.name == folder && touch.effect == Effect::Update)
                || (crate::path::is_below(&touch.name, folder)
                    && !self
                        .files
                        .get(&touch.name)
                        .is_some_and(|file| file.text.is_some() || (!touch.recursive && touch.name.ends_with(".java"))))
        });
        if !made || filled || self.out.programs.iter().any(with_all_above) {
            self.touch_path(Effect::Execute, &Word::text(folder), true);
            return;
        }
        let beside = |name: &str| name.ends_with(".java") && name != path && crate::path::is_below(name, folder);
        let opaque: Vec<String> = self
            .files
            .iter()
            .filter(|(name, written)| {
                let known = written.text.as_deref().filter(|_| !written.remote && !written.decoded);
                beside(name) && !known.is_some_and(|text| only_computes("java", text))
            })
            .map(|(name, _)| name.clone())
            .collect();
        for name in opaque {
            self.touch_path(Effect::Execute, &Word::text(name), false);
        }
        self.runs_written(&beside);
    }

    /// What a client of Redis is told for every key there is, and whom the server is to follow (redis-cli(1), "--scan"; Redis, "REPLICAOF").
    pub(super) fn judge_keys(&mut self, base: &str, rest: &[Word]) {
        if !STORES.contains(&base) {
            return;
        }
        let words: Vec<String> = rest.iter().map(|word| word.shown().to_ascii_lowercase()).collect();
        let after = |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1));
        let scans = words.iter().any(|word| word == "--scan");
        let pattern = if scans { after("--pattern") } else { after("keys") };
        if (scans || pattern.is_some()) && pattern.is_none_or(|pattern| pattern.chars().all(|c| matches!(c, '*' | '?')))
        {
            self.every_key = true;
        }
        let removes = words.iter().any(|word| matches!(word.as_str(), "del" | "unlink"));
        // Names that the store itself told.
        let given = |from: &String| from.strip_prefix('$').is_some_and(|name| self.scope.variable(name).is_none());
        let told = |word: &Word| word.has_hole() && !self.origin_of(word).sources.iter().any(given);
        if removes && self.every_key && rest.iter().any(told) {
            self.find(FindingKind::DestroysDatabase, format!("`{base}` removes every key that there is"));
        }
        let leader = after("replicaof").or_else(|| after("slaveof")).filter(|host| *host != "no");
        if let Some(leader) = leader.cloned() {
            self.touch_host(&Word::text(leader));
            self.find(
                FindingKind::DestroysDatabase,
                format!("`{base}` has the server take over what another one holds"),
            );
        }
    }
}
