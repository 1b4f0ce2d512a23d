//! Aliases: a command is read with what its name stands for, and as it is.

use countersign_plan::tool::Effect;

use crate::inspection::UnknownKind;
use crate::machine::{Machine, Part, Stream, Word};

impl Machine<'_> {
    /// Runs a command whose name may be an alias: a shell that is not interactive expands none, unless it goes by POSIX (Bash reference
    /// manual 6.6; XCU 2.3.1).
    pub(crate) fn run_or_alias(&mut self, words: Vec<Word>, stdin: Stream) -> Stream {
        let alias = words.split_first().and_then(|(word, rest)| {
            let name = word.constant()?;
            Some((name.to_owned(), self.scope.alias(name)?.to_owned(), rest.to_vec()))
        });
        let Some((name, alias, rest)) = alias else { return self.run(words, stdin) };
        // Where nothing else has the name there is nothing to run without it.
        if !self.is_other_than_alias(&name) {
            return self.aliased(&name, &alias, &rest, &stdin);
        }
        let before = self.scope.clone();
        let out = self.aliased(&name, &alias, &rest, &stdin);
        let expanded = std::mem::replace(&mut self.scope, before);
        let out = out.or(self.run(words, stdin));
        self.scope.join(&expanded);
        out
    }

    fn is_other_than_alias(&self, name: &str) -> bool {
        self.scope.function(name).is_some() || crate::catalogue::entry(name).is_some() || super::special::knows(name)
    }

    fn aliased(&mut self, name: &str, alias: &str, rest: &[Word], stdin: &Stream) -> Stream {
        let mut text = alias.to_owned();
        for word in rest {
            text.push(' ');
            for part in word.parts() {
                match part {
                    Part::Text(part) => {
                        text.push('\'');
                        text.push_str(&part.replace('\'', r"'\''"));
                        text.push('\'');
                    }
                    Part::Glob(sign) => text.push(*sign),
                    Part::Hole { .. } => {
                        let message = format!("the alias `{name}` gets an unknown argument");
                        self.unknown(UnknownKind::Value, Effect::Execute, message);
                        text.push_str("\"$_\"");
                    }
                }
            }
            if word.is_empty() {
                text.push_str("''");
            }
        }
        self.scope.unalias(Some(name));
        let out = self.script(&text, stdin);
        self.scope.set_alias(name, alias);
        out
    }
}
