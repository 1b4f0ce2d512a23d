//! Functions in recipes of BitBake: read as what they are, lines of a shell or Python (BitBake User Manual, "Functions").

use countersign_plan::inspection::{Context, Inspection};

use super::settings::{MAX_TEXTS, grave};
use crate::code::Language;

/// Folders that BitBake sets for each recipe (Yocto Project Reference Manual, "Variables Glossary").
const FOLDERS: &[&str] = &[
    "WORKDIR",
    "S",
    "B",
    "D",
    "T",
    "TMPDIR",
    "PKGD",
    "PKGDEST",
    "DEPLOYDIR",
    "DEPLOY_DIR_IMAGE",
    "IMAGE_ROOTFS",
    "SYSROOT_DESTDIR",
    "UNPACKDIR",
];

/// What the functions of a recipe do: lines of a shell, or Python where the word stands before their name.
pub(super) fn of_recipe(out: &mut Inspection, text: &str, context: &Context) {
    let mut body: Option<(bool, Vec<&str>)> = None;
    let set: Vec<String> = FOLDERS.iter().map(|name| format!("{name}={}/tmp/work/{name}", context.cwd)).collect();
    let set = set.join("\n");
    let mut taken = 0;
    for line in text.lines() {
        if let Some((python, lines)) = body.as_mut() {
            if line.trim_end() != "}" {
                lines.push(line);
                continue;
            }
            let inner = if *python {
                crate::code::code(Language::Python, &dedented(lines), context)
            } else {
                crate::shell::shell(&format!("{set}\n{}", lines.join("\n")), context)
            };
            grave(out, inner);
            body = None;
            taken += 1;
            if taken >= MAX_TEXTS {
                break;
            }
        } else if let Some(head) = line.trim_end().strip_suffix('{') {
            let head = head.trim_end();
            let begins = head.ends_with(')') && head.contains('(') && !line.starts_with([' ', '\t', '#']);
            body = begins.then(|| (head.split(['(', ' ']).any(|word| word == "python"), Vec::new()));
        }
    }
}

/// Lines without what all of them begin with.
fn dedented(lines: &[&str]) -> String {
    let full = || lines.iter().filter(|line| !line.trim().is_empty());
    let indent = full().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    lines.iter().map(|line| line.get(indent..).unwrap_or("")).collect::<Vec<_>>().join("\n")
}
