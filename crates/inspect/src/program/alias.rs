//! Aliases: a command is read with what its name stands for, and as it is.

use countersign_plan::tool::Effect;

use crate::inspection::UnknownKind;
use crate::machine::{Machine, Stream, Word};

impl Machine<'_> {
    /// Runs a command whose name may be an alias: a shell that is not interactive expands none, unless it goes by POSIX (Bash reference
    /// manual 6.6; XCU 2.3.1).
    pub(crate) fn run_or_alias(&mut self, words: Vec<Word>, stdin: Stream) -> Stream {
        let alias = words.split_first().and_then(|(word, rest)| {
            let name = word.constant()?;
            Some((name.to_owned(), self.scope.alias(name)?.to_owned(), rest.to_vec()))
        });
        let Some((name, alias, rest)) = alias else { return self.run(words, stdin) };
        let before = self.scope.clone();
        let out = self.aliased(&name, &alias, &rest, &stdin);
        let expanded = std::mem::replace(&mut self.scope, before);
        let out = out.or(self.run(words, stdin));
        self.scope.join(&expanded);
        out
    }

    fn aliased(&mut self, name: &str, alias: &str, rest: &[Word], stdin: &Stream) -> Stream {
        let mut text = alias.to_owned();
        for word in rest {
            text.push(' ');
            match word.constant() {
                Some(constant) => {
                    text.push('\'');
                    text.push_str(&constant.replace('\'', r"'\''"));
                    text.push('\'');
                }
                None => {
                    self.unknown(
                        UnknownKind::Value,
                        Effect::Execute,
                        format!("the alias `{name}` gets an unknown argument"),
                    );
                    text.push_str("\"$_\"");
                }
            }
        }
        self.scope.unalias(Some(name));
        let out = self.script(&text, stdin);
        self.scope.set_alias(name, alias);
        out
    }
}
