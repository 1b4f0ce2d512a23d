//! A suite: a folder with a deployment, tools and a policy (`suite.yaml`) and cases (`cases.jsonl`), compiled for deciding.
//!
//! The deployment of a suite is trusted. Files that it names lie in its folder.

use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use countersign_plan::digest::Digest;
use countersign_plan::document::{self, Bounds, DocumentError};
use countersign_plan::id::{NameError, Principal};
use countersign_plan::tool::Manifest;
use countersign_policy::changes::Changes;
use countersign_policy::deployment::{ChangeSource, Deployment, DeploymentDocument, Own};
use countersign_policy::policy::{Policy, PolicyDocument};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::case::Case;
use crate::evaluator::Evaluator;
use crate::facts::Written;

/// The name of this format.
pub const SCHEMA: &str = "countersign.suite/v1";

/// The longest `cases.jsonl`, in bytes.
const CASES: u64 = 256 << 20;

/// The tool that runs a shell line.
const SHELL: &str = "execute_command";

/// Where relative paths and `~` lead when a deployment says nothing.
const NOWHERE: &str = "/home/user";

/// `suite.yaml` as the document writes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteDocument {
    /// `countersign.suite/v1`.
    pub schema: String,
    /// The suite's name.
    pub name: String,
    /// Where the cases come from.
    #[serde(default)]
    pub source: String,
    /// The licence of the cases.
    #[serde(default)]
    pub licence: String,
    /// A deployment (FORMATS §4), inline.
    pub deployment: Value,
    /// Tools beside the built-in ones (FORMATS §3).
    #[serde(default)]
    pub tools: Vec<Value>,
    /// A policy (FORMATS §5); without one the defaults per effect decide.
    #[serde(default)]
    pub policy: Option<Value>,
    /// What the agent did in the past: a file with a list of plans, each with the time and its acts (`habit::history`).
    #[serde(default)]
    pub history: Option<String>,
}

/// A suite that can be decided.
#[derive(Debug)]
pub struct Suite {
    pub(crate) name: String,
    pub(crate) source: String,
    pub(crate) licence: String,
    pub(crate) digest: Digest,
    pub(crate) manifest: Manifest,
    pub(crate) deployment: Deployment,
    pub(crate) policy: Policy,
    pub(crate) changes: Changes,
    pub(crate) requester: Principal,
    pub(crate) facts: Written,
    /// Who is asked where nothing but rules of tier 2 hold a case up; nobody where it was not asked for.
    pub(crate) evaluator: Option<Arc<Evaluator>>,
    pub(crate) cases: Vec<Case>,
    /// What was read and does not take part in deciding.
    pub(crate) notes: Vec<String>,
}

/// A suite that cannot be read. Its cases are then not decided: what they would be judged by is not known.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// A file that cannot be read.
    #[error("{}: {error}", .file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A file over its bound.
    #[error("{}: more than {limit} bytes, which are not read", .file.display())]
    Long {
        /// The file.
        file: PathBuf,
        /// The bound.
        limit: u64,
    },
    /// A document that is not of its format.
    #[error("{}: {what}", .file.display())]
    Document {
        /// The file.
        file: PathBuf,
        /// The place, what is wrong, and how to mend it.
        what: String,
    },
}

impl Suite {
    /// Reads and compiles the suite in `folder`.
    ///
    /// # Errors
    /// The first thing without which no case can be judged.
    pub fn load(folder: &Path) -> Result<Self, SuiteError> {
        let config = Bounds::CONFIG.bytes as u64;
        let main = folder.join("suite.yaml");
        let bytes = read(&main, config)?;
        let wrong = |what: String| SuiteError::Document { file: main.clone(), what };
        let at = |pointer: &'static str| {
            move |error: &dyn std::fmt::Display| SuiteError::Document {
                file: folder.join("suite.yaml"),
                what: format!("{pointer}{error}"),
            }
        };
        let suite = SuiteDocument::read(&bytes).map_err(|error| wrong(error.to_string()))?;
        let document = DeploymentDocument::from_value(suite.deployment)
            .map_err(|error| wrong(error.below("/deployment").to_string()))?;
        let mut parts = vec![Digest::of(&bytes)];
        let mut named = |name: &str| -> Result<(PathBuf, Vec<u8>), SuiteError> {
            let path = beside(folder, name).ok_or_else(|| wrong(format!("`{name}` is no file beside suite.yaml")))?;
            let bytes = read(&path, config)?;
            parts.push(Digest::of(&bytes));
            Ok((path, bytes))
        };

        let mut manifest = Manifest::builtin().map_err(|error| at("")(&error))?;
        manifest.extend(suite.tools).map_err(|error| at("")(&error))?;
        for name in &document.tools {
            let (file, bytes) = named(name)?;
            manifest.load(&bytes).map_err(|error| SuiteError::Document { file, what: error.to_string() })?;
        }
        let changes = match &document.change_requests {
            Some(ChangeSource::File(name)) => {
                let (file, bytes) = named(name)?;
                Changes::read(&bytes).map_err(|error| SuiteError::Document { file, what: error.to_string() })?
            }
            Some(ChangeSource::Http(_)) => return Err(at("/deployment/change_requests: ")(&"a suite asks no service")),
            None => Changes::default(),
        };
        let rules = match (suite.policy, &document.policy) {
            (Some(inline), _) => PolicyDocument::from_value(inline).map_err(|error| at("/policy")(&error))?,
            (None, Some(name)) => {
                let (file, bytes) = named(name)?;
                PolicyDocument::read(&bytes).map_err(|error| SuiteError::Document { file, what: error.to_string() })?
            }
            (None, None) => PolicyDocument::empty(),
        };
        let (mut notes, mut facts) = (Vec::new(), Written::default());
        if let Some(name) = &suite.history {
            let (_, bytes) = named(name)?;
            match document::from_bytes(&bytes, Bounds::CONFIG).and_then(document::typed) {
                Ok(history) => facts.history = history,
                // The form of this file is not part of the suite format: what is of another form is said, and left out.
                Err(error) => {
                    notes.push(format!("`{name}` decides nothing: it is no history that is read here: {error}"))
                }
            }
        }
        let requester = requester(&document).map_err(|error| at("")(&error))?;
        let deployment = Deployment::compile(document, NOWHERE, NOWHERE, &Own::default())
            .map_err(|error| at("/deployment")(&error))?;
        let policy = Policy::compile(&rules, deployment.place()).map_err(|error| at("/policy")(&error))?;

        let lines = read(&folder.join("cases.jsonl"), CASES)?;
        parts.push(Digest::of(&lines));
        let cases = (1..)
            .zip(lines.split(|byte| *byte == b'\n'))
            .filter(|(_, line)| !line.trim_ascii().is_empty())
            .map(|(number, line)| Case::read(line, number))
            .collect();
        let joined: Vec<u8> = parts.iter().flat_map(|part| *part.as_bytes()).collect();
        Ok(Self {
            name: suite.name,
            source: suite.source,
            licence: suite.licence,
            digest: Digest::of(&joined),
            manifest,
            deployment,
            policy,
            changes,
            requester,
            facts,
            evaluator: None,
            cases,
            notes,
        })
    }

    /// Has an evaluator asked where nothing but `verify` rules of tier 2 hold a case up.
    pub fn evaluate_with(&mut self, evaluator: &Arc<Evaluator>) {
        self.evaluator = Some(Arc::clone(evaluator));
    }

    /// Has the texts of every case scored beside the rules.
    #[cfg(feature = "classifier")]
    pub fn doubt(&mut self, doubts: &crate::doubt::Doubts) {
        self.facts.doubts = Some(doubts.clone());
    }

    /// The suite's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether every case is a single shell line.
    pub(crate) fn is_shell(&self) -> bool {
        let shell = |case: &Case| case.matter.as_ref().is_ok_and(|matter| matter.action.as_deref() == Some(SHELL));
        !self.cases.is_empty() && self.cases.iter().all(shell)
    }

    /// The cases, in the order of the file.
    #[must_use]
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }
}

impl SuiteDocument {
    /// Reads `suite.yaml`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its JSON pointer.
    pub fn read(bytes: &[u8]) -> Result<Self, DocumentError> {
        document::of_schema(&document::from_bytes(bytes, Bounds::CONFIG)?, SCHEMA)
    }
}

/// The principal for whom the cases are: the deployment's user, or one whom no list names.
fn requester(document: &DeploymentDocument) -> Result<Principal, NameError> {
    let user = document.identities.as_ref().and_then(|identities| identities.user.as_deref());
    user.and_then(|user| format!("user:{user}").parse().ok()).map_or_else(|| "user:suite".parse(), Ok)
}

/// The file of this name in `folder`, if it is a plain name below it.
fn beside(folder: &Path, name: &str) -> Option<PathBuf> {
    let plain = !name.is_empty() && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    plain.then(|| folder.join(name))
}

fn read(path: &Path, limit: u64) -> Result<Vec<u8>, SuiteError> {
    let wrong = |error| SuiteError::File { file: path.to_owned(), error };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(wrong)?;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(wrong)?;
    if bytes.len() as u64 > limit {
        return Err(SuiteError::Long { file: path.to_owned(), limit });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use countersign_policy::deployment::DeploymentDocument;

    use super::{beside, requester};

    #[test]
    fn a_suite_names_files_in_its_own_folder_only() {
        let folder = Path::new("/s");
        assert_eq!(beside(folder, "changes.yaml").unwrap(), Path::new("/s/changes.yaml"));
        assert_eq!(beside(folder, "a/b.yaml").unwrap(), Path::new("/s/a/b.yaml"));
        for name in ["", "/etc/passwd", "../x", "a/../../x"] {
            assert_eq!(beside(folder, name), None, "{name}");
        }
    }

    #[test]
    fn somebody_asks_even_where_nobody_is_named() {
        assert_eq!(requester(&DeploymentDocument::empty()).unwrap().as_str(), "user:suite");
    }
}
