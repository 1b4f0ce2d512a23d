//! Code of languages that nothing here reads: what it names all the same.

use countersign_plan::tool::Effect;

use crate::bounded::Bounded as _;
use crate::machine::{Machine, Word};

/// The most texts of a code that are looked at.
const MAX_NAMED: usize = 64;

impl Machine<'_> {
    /// Files and hosts that unread code names in its texts: where it has both, the one may go to the other.
    pub(super) fn named_by_code(&mut self, text: &str) {
        let texts = text.split(['"', '\'', '`']).skip(1).step_by(2);
        let texts: Vec<&str> = texts.filter(|text| !text.contains(char::is_whitespace)).at_most(MAX_NAMED).collect();
        let (hosts, rest): (Vec<&str>, Vec<&str>) = texts.into_iter().partition(|text| text.contains("://"));
        let paths: Vec<&str> =
            rest.into_iter().filter(|text| text.starts_with("~/") || text.starts_with('/')).collect();
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
