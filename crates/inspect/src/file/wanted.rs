//! Of a project's recipes and scripts, those that a command asks for: the targets of a makefile with what they need, the scripts
//! that a package manager runs (GNU make manual, "Rules"; npm documentation, "scripts").

use std::collections::BTreeMap;

use serde_json::Value;

use crate::machine::Word;

/// The part of a project's text that runs for these words; all of it where its form is another one.
pub(super) fn of(base: &str, path: &str, text: &str, rest: &[Word]) -> String {
    let words: Vec<String> = rest.iter().map(Word::shown).filter(|word| !word.starts_with('-')).collect();
    let part = if path.ends_with("akefile") {
        recipes(text, &words)
    } else if path.ends_with("package.json") && base != "composer" {
        scripts(text, &words)
    } else {
        None
    };
    part.unwrap_or_else(|| text.to_owned())
}

/// How often one automatic variable of a line is put in its place.
const MOST: usize = 8;

/// What a target needs, and its recipe.
type Rule<'a> = (Vec<&'a str>, Vec<&'a str>);

/// The rules of a makefile that the targets need.
fn recipes(text: &str, words: &[String]) -> Option<String> {
    let joined = text.replace("\\\n", " ");
    let mut rules: BTreeMap<&str, Rule<'_>> = BTreeMap::new();
    let (mut first, mut open): (Option<&str>, Vec<&str>) = (None, Vec::new());
    for line in joined.lines() {
        if line.starts_with('\t') {
            for target in &open {
                rules.entry(target).or_default().1.push(line);
            }
        } else if let Some((targets, needs)) = line.split_once(':').filter(|(_, rest)| !rest.starts_with('=')) {
            open = targets.split_whitespace().collect();
            let (needs, recipe) = needs.split_once(';').map_or((needs, None), |(needs, line)| (needs, Some(line)));
            first = first.or_else(|| open.iter().find(|target| !target.starts_with('.')).copied());
            for target in &open {
                let rule = rules.entry(target).or_default();
                rule.0.extend(needs.split_whitespace());
                rule.1.extend(recipe);
            }
        } else if !line.trim().is_empty() && !line.starts_with('#') {
            open.clear();
        }
    }
    let mut wanted: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.contains('=')).collect();
    if wanted.is_empty() {
        wanted.extend(first);
    }
    // A pattern or a variable may be any target.
    if rules.keys().any(|target| target.contains(['%', '$'])) || wanted.iter().any(|word| !rules.contains_key(word)) {
        return None;
    }
    let mut runs: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(target) = wanted.get(at).copied() {
        at += 1;
        let Some((needs, lines)) = rules.get(target) else { continue };
        // Automatic variables, as far as they are names (GNU make manual, "Automatic Variables").
        let (first, all) = (needs.first().copied().unwrap_or(""), needs.join(" "));
        // No line names them more often than a person would.
        let named =
            |line: &str| line.replacen("$@", target, MOST).replacen("$<", first, MOST).replacen("$^", &all, MOST);
        runs.push(lines.iter().map(|line| format!("\t{}\n", named(line.trim_start()))).collect());
        let more: Vec<&str> = needs.iter().copied().filter(|need| !wanted.contains(need)).collect();
        wanted.extend(more);
    }
    // What a target needs is made first.
    Some(runs.into_iter().rev().collect())
}

/// The scripts of a package that run for these words.
fn scripts(text: &str, words: &[String]) -> Option<String> {
    const INSTALLS: &[&str] =
        &["install", "i", "add", "ci", "update", "up", "rebuild", "clean-install", "install-test", "it"];
    let document: Value = serde_json::from_str(text).ok()?;
    let scripts = document.get("scripts")?.as_object()?;
    let named = match words.first().map_or("install", String::as_str) {
        "run" | "run-script" => words.get(1)?,
        word if INSTALLS.contains(&word) => "install",
        word => word,
    };
    let also: &[&str] = if named == "install" { &["prepublish", "preprepare", "prepare", "postprepare"] } else { &[] };
    let names = [named.to_owned(), format!("pre{named}"), format!("post{named}")].into_iter();
    let runs: serde_json::Map<String, Value> = names
        .chain(also.iter().map(|name| (*name).to_owned()))
        .filter_map(|name| scripts.get(&name).map(|script| (name, script.clone())))
        .collect();
    Some(serde_json::json!({ "scripts": runs }).to_string())
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::machine::Word;

    fn wanted(base: &str, path: &str, text: &str, words: &str) -> String {
        of(base, path, text, &words.split_whitespace().map(Word::text).collect::<Vec<_>>())
    }

    #[test]
    fn a_target_runs_its_recipe_and_what_it_needs() {
        let text =
            ".PHONY: all\nall: lib\n\tcc main.c\nlib: gen ; ar x\ngen:\n\tpython3 gen.py\nnuke:\n\trm -rf ~/.ssh\n";
        let all = wanted("make", "/w/Makefile", text, "");
        assert!(["cc main.c", "ar x", "gen.py"].iter().all(|part| all.contains(part)) && !all.contains("rm"), "{all}");
        assert!(wanted("make", "/w/Makefile", text, "-j4 nuke").contains("rm -rf"));
        assert!(!wanted("make", "/w/Makefile", text, "gen").contains("rm -rf"));
        // What is not understood is all of it.
        assert_eq!(wanted("make", "/w/Makefile", text, "other"), text);
        let pattern = format!("{text}%.o: %.c\n\tcc $<\n");
        assert_eq!(wanted("make", "/w/Makefile", &pattern, "gen"), pattern);
    }

    #[test]
    fn an_installation_runs_the_scripts_around_it() {
        let text = r#"{"scripts": {"preinstall": "curl x", "build": "vite", "postbuild": "cp a b", "deploy": "scp"}}"#;
        let runs = |words| wanted("npm", "/w/package.json", text, words);
        assert!(runs("ci").contains("curl") && !runs("ci").contains("scp"));
        assert!(runs("run build").contains("cp a b") && !runs("run build").contains("curl"));
        assert_eq!(wanted("npm", "/w/package.json", "{", "ci"), "{");
    }
}
