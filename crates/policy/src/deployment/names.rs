//! Patterns of resources by kind: paths as paths, everything else by its name.

use countersign_plan::text;
use countersign_plan::tool::TargetKind;
use globset::GlobMatcher;

use super::same_kind;
use crate::hosts::{Endpoint, HostSet};
use crate::paths::{Case, PathSet, Place, Seen, fold};

/// A compiled list of `{kind, match}`.
#[derive(Debug)]
pub struct NamePatterns {
    case: Case,
    paths: PathSet,
    hosts: HostSet,
    names: Vec<(u32, TargetKind, GlobMatcher)>,
    shown: Vec<String>,
}

/// Whether resources of this kind are named by paths.
#[must_use]
pub const fn is_path_kind(kind: TargetKind) -> bool {
    matches!(kind, TargetKind::File | TargetKind::Directory)
}

/// Whether resources of this kind are named by hosts.
const fn is_host_kind(kind: TargetKind) -> bool {
    matches!(kind, TargetKind::Host | TargetKind::Url)
}

impl NamePatterns {
    /// Compiles patterns of resources.
    ///
    /// # Errors
    /// The index of the first pattern that does not compile, and why.
    pub(crate) fn compile<'p>(
        case: Case,
        place: &Place,
        patterns: impl IntoIterator<Item = (TargetKind, &'p str)>,
    ) -> Result<Self, (usize, String)> {
        let (mut paths, mut hosts, mut names, mut shown) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (i, (kind, pattern)) in patterns.into_iter().enumerate() {
            let id = u32::try_from(i).unwrap_or(u32::MAX);
            shown.push(pattern.to_owned());
            if is_path_kind(kind) {
                PathSet::compile(case, place, [(id, pattern)]).map_err(|e| (i, e.to_string()))?;
                paths.push((id, pattern));
            } else if is_host_kind(kind) {
                HostSet::compile([(id, pattern)]).map_err(|e| (i, e.to_string()))?;
                hosts.push((id, pattern));
            } else {
                text::check_name(pattern).map_err(|e| (i, e.to_string()))?;
                let spelled = if case == Case::Folded { fold(pattern) } else { pattern.into() };
                let glob = globset::GlobBuilder::new(&spelled).literal_separator(true).backslash_escape(true).build();
                names.push((id, kind, glob.map_err(|e| (i, e.kind().to_string()))?.compile_matcher()));
            }
        }
        let paths = PathSet::compile(case, place, paths).map_err(|e| (0, e.to_string()))?;
        let hosts = HostSet::compile(hosts).map_err(|e| (0, e.to_string()))?;
        Ok(Self { case, paths, hosts, names, shown })
    }

    /// The pattern that hits a path, either of its names where case is folded, both where it is exact.
    #[must_use]
    pub fn path(&self, path: &Seen<'_>) -> Option<&str> {
        if self.case == Case::Exact && !path.inside(&self.paths) {
            return None;
        }
        let mut first = None;
        path.hits(&self.paths, &mut |id| first = Some(first.map_or(id, |f: u32| f.min(id))));
        self.show(first?)
    }

    /// The pattern that hits a host.
    #[must_use]
    pub fn host(&self, endpoint: &Endpoint) -> Option<&str> {
        let mut first = None;
        self.hosts.hits(endpoint, &mut |id| first = Some(id));
        self.show(first?)
    }

    /// The pattern that hits a name of another kind.
    #[must_use]
    pub fn name(&self, kind: TargetKind, name: &str) -> Option<&str> {
        let spelled = if self.case == Case::Folded { fold(name) } else { name.into() };
        let hit = self.names.iter().find(|(_, of, glob)| same_kind(*of, kind) && glob.is_match(spelled.as_ref()));
        self.show(hit?.0)
    }

    /// A pattern that hangs from a folder below `dir`.
    #[must_use]
    pub fn below(&self, dir: &str) -> Option<&str> {
        let id = self.paths.anchored_below(dir).min()?;
        self.show(id)
    }

    fn show(&self, id: u32) -> Option<&str> {
        self.shown.get(id as usize).map(String::as_str)
    }
}
