//! Code of languages that nothing here reads: what it names all the same.

use countersign_plan::tool::Effect;

use crate::bounded::Bounded as _;
use crate::machine::{Machine, Word};

/// The most texts of a code that are looked at.
const MAX_NAMED: usize = 64;

impl Machine<'_> {
    /// Files and hosts that unread code names in its texts: where it has both, the one may go to the other.
    pub(super) fn named_by_code(&mut self, text: &str) {
        let is_path = |text: &str| text.starts_with("~/") || text.starts_with('/');
        let texts = text.split(['"', '\'', '`']).filter(|text| !text.contains(char::is_whitespace));
        let texts = texts.filter(|text| text.contains("://") || is_path(text)).at_most(MAX_NAMED);
        let (hosts, paths): (Vec<&str>, Vec<&str>) = texts.partition(|text| text.contains("://"));
        if hosts.is_empty() || paths.is_empty() {
            return;
        }
        for path in paths {
            self.touch_path(Effect::Read, &Word::text(path), false);
        }
        for host in hosts {
            self.touch_host(&Word::text(host));
        }
    }
}
