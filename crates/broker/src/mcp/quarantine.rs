//! Tools whose definition changed: not called again under the pin that they broke, whatever they say they are later, and whoever starts
//! the broker anew. Another pin lets a tool out: a person looked at it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_plan::digest::Digest;
use countersign_plan::egress::McpGrant;
use serde::{Deserialize, Serialize};

use crate::kept;

/// The file, in the broker's own folder.
const FILE: &str = "quarantine.json";

/// The tools in quarantine. Cheap to clone; it outlives configurations.
#[derive(Debug, Clone, Default)]
pub(crate) struct Quarantine(Arc<Mutex<Held>>);

#[derive(Debug, Default)]
struct Held {
    /// None keeps them in memory only.
    folder: Option<PathBuf>,
    tools: Tools,
}

/// By server, by tool: the pin that it broke.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct Tools(BTreeMap<String, BTreeMap<String, Digest>>);

impl Quarantine {
    /// Takes up what was in quarantine before, from the broker's own folder; empty for none. Once; later calls change nothing.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn open(&self, folder: &str) -> Result<(), String> {
        let mut held = self.held();
        if folder.is_empty() || held.folder.is_some() {
            return Ok(());
        }
        let folder = Path::new(folder);
        let kept = kept::read(folder, FILE);
        held.tools = kept.map_err(|error| format!("{}: {error}", folder.join(FILE).display()))?.unwrap_or_default();
        held.folder = Some(folder.to_owned());
        Ok(())
    }

    /// Whether the tool of a grant broke just this pin.
    pub(super) fn holds(&self, grant: &McpGrant) -> bool {
        self.held().tools.0.get(&grant.server).and_then(|tools| tools.get(&grant.tool)) == Some(&grant.definition)
    }

    /// The tool is not what was pinned.
    ///
    /// # Errors
    /// That cannot be written down: it holds until the broker ends.
    pub(super) fn add(&self, grant: &McpGrant) -> Result<(), String> {
        let mut held = self.held();
        held.tools.0.entry(grant.server.clone()).or_default().insert(grant.tool.clone(), grant.definition);
        let Some(folder) = &held.folder else { return Ok(()) };
        kept::write(folder, FILE, &held.tools).map_err(|error| format!("{}: {error}", folder.join(FILE).display()))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use countersign_plan::digest::Digest;
    use countersign_plan::egress::McpGrant;

    use super::{FILE, Quarantine};

    #[test]
    fn a_tool_stays_in_quarantine_after_the_end_of_the_broker_until_it_is_pinned_anew() {
        let folder = tempfile::tempdir().unwrap();
        let open = || {
            let quarantine = Quarantine::default();
            quarantine.open(folder.path().to_str().unwrap()).unwrap();
            quarantine
        };
        let pinned = |definition: &str| McpGrant {
            server: "s".to_owned(),
            tool: "t".to_owned(),
            definition: Digest::of(definition.as_bytes()),
            stdio: false,
        };
        open().add(&pinned("first")).unwrap();
        let later = open();
        assert!(later.holds(&pinned("first")), "it flipped back: it is not what it says");
        assert!(!later.holds(&pinned("second")), "a person looked at it");
        assert!(!later.holds(&McpGrant { tool: "u".to_owned(), ..pinned("first") }));
        std::fs::write(folder.path().join(FILE), "{").unwrap();
        let error = Quarantine::default().open(folder.path().to_str().unwrap()).unwrap_err();
        assert!(error.contains(FILE), "what cannot be read is not taken for none: {error}");
    }
}
