//! What Ansible is told for many machines at once, or for this one (ansible(1); docs.ansible.com, "Introduction to ad hoc commands").

use countersign_plan::tool::Effect;

use crate::bounded::Bounded as _;
use crate::file::playbook::{self, Given};
use crate::inspection::UnknownKind;
use crate::machine::{Machine, Stream, Word};

impl Machine<'_> {
    /// `lookup('pipe', …)` in the words of any of Ansible's programs runs on this machine.
    pub(super) fn looked_up_by_ansible(&mut self, rest: &[Word]) {
        let texts = rest.iter().map(Word::shown).filter(|text| text.contains("pipe")).at_most(64);
        for line in texts.flat_map(|text| playbook::piped(&text)).collect::<Vec<_>>() {
            self.script(&line, &Stream::unknown());
        }
    }

    /// `ansible HOSTS -m MODULE -a ARGUMENTS` as the line that does the same there. On this machine alone what only looks and what only
    /// copies is no more than that.
    pub(super) fn ad_hoc(&mut self, rest: &[Word], stdin: &Stream) -> Option<Stream> {
        let value = |names: &[&str; 2]| {
            let [short, long] = names;
            rest.iter().enumerate().find_map(|(i, word)| {
                let text = word.prefix();
                let attached = text.strip_prefix(long).is_some_and(|rest| rest.starts_with('='));
                let joined = !text.starts_with("--") && text.starts_with(short) && text.len() > short.len();
                match (attached, joined) {
                    (true, _) => Some(word.skip(long.len() + 1).and_then(|value| value.known())),
                    (false, true) => Some(word.skip(short.len()).and_then(|value| value.known())),
                    (false, false) if text == *short || text == *long => Some(rest.get(i + 1).and_then(Word::known)),
                    (false, false) => None,
                }
            })
        };
        let module = value(&["-m", "--module-name"]).unwrap_or_else(|| Some("command".to_owned()))?;
        let given = value(&["-a", "--args"]).unwrap_or_else(|| Some(String::new()));
        let local = value(&["-c", "--connection"]).flatten().as_deref() == Some("local")
            && rest.iter().any(|word| matches!(word.constant(), Some("localhost" | "127.0.0.1" | "127.0.0.1,")));
        let arguments = given.as_deref().map(Given::of_text);
        let copies = matches!(playbook::module(&module), "copy" | "template");
        let shows_only = rest.iter().any(|word| matches!(word.constant(), Some("--list-hosts" | "--version" | "-h")));
        // An expression may look up anything: a file, an address, what a program prints (docs.ansible.com, "Lookups").
        let plain = |word: &Word| !(becomes(word) || ["{{", "{%"].iter().any(|open| word.shown().contains(open)));
        if local && (playbook::only_looks(&module) || copies) && rest.iter().all(plain) {
            let arguments = arguments?;
            // The settings and plugins of the project are read as it starts.
            self.touch_path(Effect::Execute, &Word::text("."), true);
            if copies {
                let (from, to) = (arguments.value(&["src"]), arguments.value(&["dest"])?);
                if let Some(from) = from {
                    self.touch_path(Effect::Read, &Word::text(from), false);
                }
                self.written_by_task(to, arguments.value(&["content"]));
            }
            return Some(Stream::unknown());
        }
        if playbook::module(&module) == "script" {
            self.sent_script(given.as_deref().unwrap_or(""));
        }
        let line = arguments.and_then(|given| playbook::line(&module, &given));
        match line {
            _ if shows_only => {}
            Some(line) => drop(self.elsewhere(&[Word::text(line)], &[])),
            None => self.unknown(
                UnknownKind::Option,
                Effect::Execute,
                format!("what the module `{module}` of Ansible does is not analysed"),
            ),
        }
        let entry = crate::catalogue::entry("ansible")?;
        Some(self.catalogued(entry, "ansible", rest, stdin))
    }

    /// A script of this machine that is sent there and run (ansible.builtin.script).
    fn sent_script(&mut self, given: &str) {
        let Some(file) = given.split_whitespace().find(|word| !word.contains('=')).map(Word::text) else { return };
        self.touch_path(Effect::Execute, &file, false);
        for path in self.paths(&file) {
            let texts: Vec<String> = self.held(&file).known().map(str::to_owned).collect();
            texts.iter().for_each(|text| self.absorb_grave(crate::file::file(&path, text, self.context)));
        }
    }

    fn written_by_task(&mut self, to: &str, content: Option<&str>) {
        let data = content.map_or_else(Stream::unknown, Stream::constant);
        self.write_file(&Word::text(to), data, false);
    }
}

/// Whether a word takes the rights of another user.
fn becomes(word: &Word) -> bool {
    matches!(word.constant(), Some("-b" | "--become" | "-K" | "--ask-become-pass"))
        || word.prefix().starts_with("--become")
}
