//! What goes by other programs than those that are there to remove: folders, whoever works here, every key of a store.

use countersign_plan::tool::Effect;

use crate::inspection::FindingKind;
use crate::machine::{Machine, Word};

/// The most folders of one command.
const MAX_FOLDERS: usize = 16;

impl Machine<'_> {
    /// Folders that go with all below them: `rclone delete`, `btrfs subvolume delete`, `7z a -sdel` (the programs' manuals).
    pub(super) fn removes_folders(&mut self, base: &str, words: &[String]) {
        let said = |word: &str| words.iter().any(|one| one == word);
        let skip = match base {
            "rclone" if said("delete") || said("purge") => 1,
            "btrfs" if said("delete") => 2,
            _ if base.starts_with("7z") && said("-sdel") => 2,
            _ => return,
        };
        let paths = words.iter().filter(|word| !word.starts_with('-')).skip(skip).filter(|word| !word.contains(':'));
        for path in paths.take(MAX_FOLDERS) {
            self.touch_path(Effect::Delete, &Word::pattern(path), true);
        }
    }

    /// `userdel -r NAME` of whoever works here, or of the administrator (userdel(8), "--remove").
    pub(super) fn removes_user(&mut self, base: &str, words: &[String]) {
        let removes = words.iter().any(|word| {
            word.starts_with("--remove") || (word.starts_with('-') && !word.starts_with("--") && word.contains('r'))
        });
        let own = self.context.home.rsplit('/').next().unwrap_or("").to_owned();
        if removes && words.iter().any(|word| *word == own || word == "root") {
            self.find(FindingKind::DestroysHome, format!("`{base}` removes the home folder with its user"));
        }
    }

    /// Every key of a store: an empty beginning, which all have (etcdctl(1), "--prefix"; Consul, "kv delete -recurse").
    pub(super) fn removes_all_keys(&mut self, base: &str, words: &[String]) {
        let said = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
        let all = said(&["--prefix", "--from-key", "-recurse", "--recurse", "-recurse=true"]);
        if all
            && said(&["del", "delete"])
            && words.last().is_some_and(|key| matches!(key.as_str(), "" | "/" | "--prefix" | "--from-key"))
        {
            self.find(FindingKind::DestroysDatabase, format!("`{base}` removes every key"));
        }
    }
}
