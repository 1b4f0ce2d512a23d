//! Commands that stand in settings under a name which says so: `cluster-generic-submit-cmd:` of Snakemake's profiles, `beforeScript` of Nextflow
//! (snakemake.readthedocs.io, "Profiles"; nextflow.io, "Process directives").

use countersign_plan::document::{self, Bounds};
use serde_json::Value;

use super::compose::without_anchors;
use crate::bounded::Bounded as _;

/// The most commands that are taken out of a file.
const MAX_COMMANDS: usize = 64;

/// Words of Nextflow behind which a text is run by a shell.
const RUN_BY_NEXTFLOW: [&str; 5] = ["beforeScript", "afterScript", "script:", "shell:", "exec:"];

/// Those of a document in YAML.
pub(super) fn of_yaml(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    if let Ok(document) = document::from_yaml(without_anchors(text).as_bytes(), Bounds::CONFIG) {
        gather(&document, &mut out);
    }
    out
}

fn gather(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                match value {
                    Value::String(line) if is_command(key) && crate::bounded::has_room(out.len(), MAX_COMMANDS) => {
                        out.push(line.clone());
                    }
                    _ => gather(value, out),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, out)),
        _ => {}
    }
}

/// Whether a name ends in the word for a command, behind what it is for: `submit-cmd`, `pre_command`.
fn is_command(key: &str) -> bool {
    key.rsplit_once(['-', '_', '.']).is_some_and(|(_, last)| matches!(last, "cmd" | "command" | "hook"))
}

/// Those of a file of Nextflow: what is quoted behind such a word.
pub(super) fn of_nextflow(text: &str) -> Vec<String> {
    let begins = RUN_BY_NEXTFLOW.iter().flat_map(|word| text.match_indices(word).map(|(at, word)| at + word.len()));
    begins.at_most(MAX_COMMANDS).filter_map(|at| quoted(text.get(at..)?)).collect()
}

/// The first quoted text, where only an assignment stands before it.
fn quoted(rest: &str) -> Option<String> {
    let rest = rest.trim_start_matches([' ', '\t', '\n', '=']);
    let mark = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|mark| rest.starts_with(mark))?;
    let (inside, _) = rest.get(mark.len()..)?.split_once(mark)?;
    Some(inside.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{of_nextflow, of_yaml};

    #[test]
    fn commands_are_found_by_their_names() {
        let profile = "jobs: 50\ncluster-generic-submit-cmd: \"sbatch --parsable\"\ncommand-line: x\nsame: &same\n  a: 1\nnested:\n  - {pre_hook: make x}\n";
        assert_eq!(of_yaml(profile), ["sbatch --parsable", "make x"]);
        let config =
            "process {\n  beforeScript = 'module load star'\n  script:\n  \"\"\"\n  STAR --version\n  \"\"\"\n}\n";
        assert_eq!(of_nextflow(config), ["module load star", "\n  STAR --version\n  "]);
        assert!(of_nextflow("script: foo\n'x'").is_empty());
    }
}
