//! Lists of hosts and identities: which entries of an untrusted list say nothing new.

use crate::hosts::{Host, HostPattern};
use crate::identities;

/// Two lists narrowed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Narrowed {
    pub(super) internal: Option<Vec<String>>,
    pub(super) known: Option<Vec<String>>,
    /// Places of entries that nobody trusted lists.
    pub(super) left_out: Vec<String>,
}

/// Narrows the present lists by wanted ones. A wanted entry stays internal if a present internal entry covers it, and known if any
/// present entry does; a list that the layer does not have stays as it is.
pub(super) fn narrow(
    present: (Option<&[String]>, Option<&[String]>),
    wanted: (Option<&[String]>, Option<&[String]>),
    within: fn(&str, &str) -> bool,
) -> Narrowed {
    let (internal, known) = (present.0.unwrap_or_default(), present.1.unwrap_or_default());
    let covers = |lists: &[&[String]], entry: &String| lists.iter().any(|l| l.iter().any(|base| within(entry, base)));
    let mut left_out = Vec::new();
    let mut keep = |pointer: &str, list: &[String], lists: &[&[String]]| {
        let mut kept = Vec::new();
        for (i, entry) in list.iter().enumerate() {
            if covers(lists, entry) {
                kept.push(entry.clone());
            } else {
                left_out.push(format!("{pointer}/{i}"));
            }
        }
        kept
    };
    let new_internal = wanted.0.map(|list| keep("/internal", list, &[internal]));
    let new_known = wanted.1.map(|list| keep("/known", list, &[internal, known]));
    Narrowed {
        internal: Some(new_internal.unwrap_or_else(|| internal.to_vec())),
        known: Some(new_known.unwrap_or_else(|| known.to_vec())),
        left_out,
    }
}

/// Whether every endpoint that `entry` matches, `base` matches as well.
pub(super) fn host_within(entry: &str, base: &str) -> bool {
    let (Ok(inner), Ok(outer)) = (HostPattern::parse(entry), HostPattern::parse(base)) else { return false };
    inner.is_within(&outer)
}

/// Whether every identity that `entry` names, `base` names as well.
pub(super) fn identity_within(entry: &str, base: &str) -> bool {
    let domain = |text: &str| match text.strip_prefix("*@").map(Host::parse) {
        Some(Ok(Host::Name(name))) => Some(name),
        _ => None,
    };
    let one = |text: &str| {
        if text.contains('@') {
            identities::addresses(text).ok().and_then(|mut all| all.pop())
        } else {
            identities::name(text).ok()
        }
    };
    match (domain(entry), domain(base)) {
        (Some(inner), Some(outer)) => inner == outer,
        (None, Some(outer)) => one(entry).is_some_and(|who| who.rsplit_once('@').is_some_and(|(_, at)| at == outer)),
        (Some(_), None) => false,
        (None, None) => one(entry).is_some() && one(entry) == one(base),
    }
}
