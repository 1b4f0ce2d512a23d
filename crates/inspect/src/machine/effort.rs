//! What a line spends: enough to tell a loop that fills, floods or multiplies from one that waits for something.

use countersign_plan::tool::Effect;

use super::{Machine, Stream};
use crate::inspection::FindingKind;

/// So many programs at once are a flood of what they do.
const AT_ONCE: u32 = 50;

/// So many are one whatever they do: no machine has as many cores.
const MORE_THAN_CORES: u32 = 1000;

/// Counts of what was done up to now; only differences say something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Effort {
    /// Files that were written.
    pub(crate) writes: u32,
    /// Writes of which each takes more room: at the end of a file, or under another name each time.
    pub(crate) fresh: u32,
    /// Contacts with other machines.
    pub(crate) contacts: u32,
    /// Programs that were started and not waited for.
    pub(crate) starts: u32,
    /// Values that grow by themselves.
    pub(crate) grows: u32,
    /// Whatever lets time pass or leaves: a pause, a line that is waited for, an exit.
    pub(crate) pauses: u32,
    /// How many limits of time hold now.
    pub(crate) limits: u32,
}

/// Programs that wait for something before they end.
const WAITING: &[&str] = &[
    "sleep",
    "usleep",
    "nanosleep",
    "inotifywait",
    "fswatch",
    "entr",
    "wait",
    "flock",
    "nc",
    "ncat",
    "socat",
    "select",
    "tail",
    "dialog",
    "whiptail",
    "fzf",
    "read",
    "break",
    "exit",
    "return",
    "exec",
    "suspend",
    "journalctl",
];

impl Effort {
    /// Counts a touch of a file.
    pub(crate) fn touched(&mut self, effect: Effect, name: &str, many: bool) {
        if matches!(effect, Effect::Create | Effect::Update) && !name.starts_with("/dev/") {
            self.writes += 1;
            self.fresh += u32::from(many);
        }
    }

    /// Counts a program or builtin that waits.
    pub(crate) fn started(&mut self, name: &str) {
        self.pauses += u32::from(WAITING.contains(&name));
    }

    /// What was done after `before`.
    pub(crate) const fn since(self, before: Self) -> Self {
        Self {
            writes: self.writes - before.writes,
            fresh: self.fresh - before.fresh,
            contacts: self.contacts - before.contacts,
            starts: self.starts - before.starts,
            grows: self.grows - before.grows,
            pauses: self.pauses - before.pauses,
            limits: self.limits,
        }
    }

    /// Whether nothing holds it back.
    const fn is_unbounded(self) -> bool {
        self.pauses == 0 && self.limits == 0
    }
}

impl Machine<'_> {
    /// A loop that nothing ends.
    pub(crate) fn judge_endless(&mut self, did: Effort) {
        if !did.is_unbounded() {
            return;
        }
        let what = match did {
            Effort { starts: 1.., .. } => "starts programs and waits for none",
            Effort { contacts: 1.., .. } => "sends requests without a pause",
            Effort { writes: 1.., .. } => "writes without a pause",
            Effort { grows: 1.., .. } => "makes a value grow",
            _ => return,
        };
        self.find(FindingKind::ForkBomb, format!("a loop without end {what}"));
    }

    /// A loop that goes on as long as its condition can write: until nothing is left to write to.
    pub(crate) fn judge_until_full(&mut self, condition: Effort, whole: Effort) {
        if condition.fresh > 0 && whole.is_unbounded() {
            self.find(FindingKind::ForkBomb, "a loop ends only when its condition can write no more");
        }
    }

    /// Very many rounds, or very many at once.
    pub(crate) fn judge_many(&mut self, did: Effort) {
        if did.is_unbounded() && did.contacts > 0 {
            self.find(FindingKind::ForkBomb, "very many requests are sent at once");
        } else if did.is_unbounded() && did.starts > 0 {
            self.find(FindingKind::ForkBomb, "very many programs are started at once");
        }
    }

    /// Programs that are started for what comes in, so many at once; 0 is as many as there are.
    pub(crate) fn judge_at_once(&mut self, at_once: u32, did: Effort, input: &Stream) {
        let by = self.by.clone();
        if at_once == 0 || at_once >= AT_ONCE {
            self.judge_many(did);
            if input.endless && self.effort.limits == 0 {
                self.find(FindingKind::ForkBomb, format!("`{by}` starts as many programs as it can, without end"));
            }
        }
        if at_once >= MORE_THAN_CORES {
            self.find(FindingKind::ForkBomb, format!("`{by}` starts {at_once} programs at once"));
        }
        if input.endless {
            self.judge_endless(did);
        }
    }

    /// A size that no ordinary file has.
    pub(crate) fn judge_size(&mut self, bytes: u64) {
        if bytes >= HUGE {
            self.find(FindingKind::ForkBomb, format!("`{}` writes {bytes} bytes", self.by));
        }
    }
}

/// 32 GiB: more than is written for a test.
const HUGE: u64 = 32 << 30;

/// `10`, `4k`, `1G`, `2TiB`: a size as the GNU programs take it (coreutils manual, "Block size").
pub(crate) fn size(text: &str) -> Option<u64> {
    let text = text.trim_start_matches(['+', '<', '>', '~']);
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let power = match unit.bytes().next().map(|b| b.to_ascii_lowercase()) {
        None | Some(b'c' | b'w') => 0,
        Some(b'b') => return number.checked_mul(512),
        Some(b'k') => 10,
        Some(b'm') => 20,
        Some(b'g') => 30,
        Some(b't') => 40,
        Some(b'p') => 50,
        Some(_) => return None,
    };
    number.checked_mul(1 << power)
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_read_with_their_units() {
        for (text, bytes) in
            [("10", 10), ("4k", 4096), ("1G", 1 << 30), ("2TiB", 2 << 40), ("3b", 1536), ("+5M", 5 << 20)]
        {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        assert_eq!(size("x"), None);
        assert_eq!(size("99999999999999999999"), None);
    }
}
