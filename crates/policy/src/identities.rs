//! Who somebody is: mail addresses, channels and accounts in one form, and lists of them (FORMATS §4, "Mail").

use std::collections::HashSet;

use countersign_plan::text::{self, HiddenText};

use crate::hosts::Host;
use crate::paths::fold;

/// Why a text names nobody in one way only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// It hides or imitates.
    #[error(transparent)]
    Hidden(#[from] HiddenText),
    /// Not one address, or one that mail systems read differently.
    #[error("`{0}` is no address that can be read in one way only")]
    Ambiguous(String),
}

/// The addresses in a recipient field, each alone and case-folded: `Ann <ann@x.example>, bob@x.example` are two.
///
/// # Errors
/// Anything that is no list of plain addresses: comments, quoted local parts, routes, groups.
pub fn addresses(field: &str) -> Result<Vec<String>, IdentityError> {
    text::check_name(field)?;
    let ambiguous = || IdentityError::Ambiguous(text::escape(field));
    let mut out = Vec::new();
    for part in field.split([',', ';']).map(str::trim).filter(|part| !part.is_empty()) {
        let address = match part.split_once('<') {
            None => part,
            Some((name, rest)) => {
                let address = rest.strip_suffix('>').ok_or_else(ambiguous)?;
                // A display name that is itself an address shows somebody else.
                if name.contains(['@', '<', '>', '(', ')', '\\']) {
                    return Err(ambiguous());
                }
                address.trim()
            }
        };
        out.push(address_of(address).ok_or_else(ambiguous)?);
    }
    if out.is_empty() { Err(ambiguous()) } else { Ok(out) }
}

/// A channel, account or other name: trimmed of nothing, case-folded.
///
/// # Errors
/// A name that is empty, or hides or imitates.
pub fn name(text: &str) -> Result<String, IdentityError> {
    text::check_name(text)?;
    if text.is_empty() || text.trim() != text {
        return Err(IdentityError::Ambiguous(text::escape(text)));
    }
    Ok(fold(text).into_owned())
}

fn address_of(text: &str) -> Option<String> {
    let (local, domain) = text.split_once('@')?;
    let plain = |c: char| c.is_alphanumeric() || "!#$%&'*+/=?^_`{|}~.-".contains(c);
    if local.is_empty() || !local.chars().all(plain) || domain.contains('@') {
        return None;
    }
    match Host::parse(domain).ok()? {
        Host::Name(domain) => Some(format!("{}@{domain}", fold(local))),
        Host::V4(_) | Host::V6(_) => None,
    }
}

/// A list of identities: exact ones, and `*@domain`.
#[derive(Debug, Clone, Default)]
pub struct IdentitySet {
    exact: HashSet<String>,
    domains: HashSet<String>,
}

impl IdentitySet {
    /// Compiles a list.
    ///
    /// # Errors
    /// The first entry that cannot be read, or a wildcard other than `*@domain`.
    pub fn compile<'p>(entries: impl IntoIterator<Item = &'p str>) -> Result<Self, IdentityError> {
        let mut set = Self::default();
        for entry in entries {
            let ambiguous = || IdentityError::Ambiguous(text::escape(entry));
            if let Some(domain) = entry.strip_prefix("*@") {
                match Host::parse(domain) {
                    Ok(Host::Name(domain)) if !domain.contains('*') => set.domains.insert(domain),
                    _ => return Err(ambiguous()),
                };
            } else if entry.contains('*') {
                return Err(ambiguous());
            } else if entry.contains('@') {
                set.exact.insert(address_of(entry).ok_or_else(ambiguous)?);
            } else {
                set.exact.insert(name(entry)?);
            }
        }
        Ok(set)
    }

    /// Whether the list holds this identity, which is in the form of [`addresses`] or [`name`].
    #[must_use]
    pub fn contains(&self, identity: &str) -> bool {
        self.exact.contains(identity)
            || identity.rsplit_once('@').is_some_and(|(_, domain)| self.domains.contains(domain))
    }
}

#[cfg(test)]
mod tests {
    use super::{IdentitySet, addresses, name};

    #[test]
    fn an_address_stands_alone_and_folded() {
        assert_eq!(addresses("Ann <Ann@X.example>; bob@x.EXAMPLE").unwrap(), ["ann@x.example", "bob@x.example"]);
        for wrong in [
            "",
            "ann",
            "ann@",
            "@x.example",
            "a@b@x.example",
            "\"a@evil\"@x.example",
            "ceo@x.example <eve@evil.example>",
            "a@[10.0.0.1]",
            "a@10.0.0.1",
            "ann@x.example (was bob@x.example)",
            "ann@x.example>",
            "p\u{0430}ul@x.example",
            "ann@x.example\nbcc: eve@evil.example",
        ] {
            assert!(addresses(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_list_knows_domains_channels_and_accounts() {
        let set = IdentitySet::compile(["*@company.com", "#Finance", "ap@partner.example", "DE89370400440532013000"]);
        let set = set.unwrap();
        assert!(set.contains(&addresses("Eve@Company.COM").unwrap()[0]));
        assert!(!set.contains(&addresses("eve@sub.company.com").unwrap()[0]));
        assert!(!set.contains(&addresses("eve@company.com.evil.example").unwrap()[0]));
        assert!(set.contains(&name("#finance").unwrap()));
        assert!(set.contains(&name("de89370400440532013000").unwrap()));
        assert!(!set.contains("#fin"));
        for wrong in ["*", "*@*", "a*@x.example", "*@10.0.0.1"] {
            assert!(IdentitySet::compile([wrong]).is_err(), "{wrong}");
        }
    }
}
