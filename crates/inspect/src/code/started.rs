//! What code starts and writes: the words of a program or a line for a shell, and the files that its calls name.

use countersign_plan::tool::Effect;

use super::Seen;
use super::arguments::{argument, constant, texts_given, within};
use super::lex::Token;
use crate::inspection::UnknownKind;
use crate::machine::{Machine, Stream, Word};

impl Machine<'_> {
    /// A constant text that code writes to a file.
    pub(crate) fn judge_text_of(&mut self, path: &str, text: &str) {
        for name in self.paths(&Word::text(path)) {
            self.judge_written(&name, &Stream::constant(text));
        }
    }

    /// A file with command lines that code writes, with what is constant in it.
    pub(super) fn judge_rewritten(&mut self, path: &str, seen: &mut Seen) {
        // So many files of one code are looked into.
        seen.looked_into += 1;
        if seen.looked_into > 8 {
            return;
        }
        let names = self.paths(&Word::text(path));
        if names.iter().any(|name| crate::file::holds_lines(name, &self.context.home)) {
            self.judge_texts(&names, &texts_given(&seen.tokens));
        }
    }

    /// What code puts into files of the project stands in the code, in whatever pieces.
    pub(super) fn judge_planted(&mut self, text: &str, before: usize) {
        let written = |touch: &&crate::inspection::Touch| {
            touch.effect == Effect::Update && touch.kind == countersign_plan::tool::TargetKind::File
        };
        let name =
            self.out.touches.get(before..).and_then(|new| new.iter().find(written)).map(|touch| touch.name.clone());
        if let Some((kind, message)) = name.and_then(|name| crate::file::implanted(&name, text)) {
            self.find(kind, message);
        }
    }

    pub(super) fn file_of(&mut self, effect: Effect, path: Option<String>, name: &str, recursive: bool) {
        match path {
            Some(path) if path.starts_with("~") => {
                let path = path.replacen('~', &self.context.home, 1);
                self.touch_path(effect, &Word::text(path), recursive);
            }
            Some(path) if self.is_given_pattern(&path) => self.touch_path(effect, &Word::pattern(&path), recursive),
            Some(path) => self.touch_path(effect, &Word::text(path), recursive),
            None => self.unknown(UnknownKind::Value, effect, format!("which file `{name}` touches is not constant")),
        }
    }

    /// A command: one string for the shell, or a list of words.
    pub(super) fn runs(&mut self, after: &[Token], name: &str) {
        // `os.spawnvp(os.P_WAIT, "rm", [...])`: how comes first.
        let how = argument(after, 0).is_some_and(|first| matches!(first, [Token::Name(how)] if how.contains("P_")));
        let from = usize::from(how);
        let Some(first) = argument(after, from) else {
            self.unknown(UnknownKind::Value, Effect::Execute, format!("what `{name}` runs is not constant"));
            return;
        };
        // `run(args=[...])`
        let first = match first {
            [Token::Name(key), Token::Mark('='), value @ ..] if key == "args" => value,
            first => first,
        };
        // `system(*words)`, `Deno.run({cmd: [...]})`
        let first = match first {
            [Token::Mark('*'), list @ ..] => list,
            [Token::Mark('{'), ..] => within(first).unwrap_or(first),
            _ => first,
        };
        if matches!(first.first(), Some(Token::Mark('[' | '('))) {
            let words: Option<Vec<Word>> = first
                .iter()
                .filter(|token| !matches!(token, Token::Mark(_)))
                .map(|token| if let Token::Text(text) = token { Some(Word::text(text)) } else { None })
                .collect();
            match words {
                Some(words) => {
                    self.start(words, Stream::unknown());
                }
                None => {
                    self.unknown(UnknownKind::Value, Effect::Execute, format!("what `{name}` runs is not constant"))
                }
            }
            return;
        }
        let all: Vec<Option<String>> = (from..16).map_while(|n| argument(after, n)).map(constant).collect();
        let second = argument(after, from + 1);
        // `new Deno.Command(program, {args: [...]})`
        let second = second.and_then(|tokens| if name.contains("Deno.") { within(tokens) } else { Some(tokens) });
        // What is called once it has ended is no list of words: `exec("make", (error) => …)`.
        let called = |tokens: &[Token]| tokens.windows(2).any(|pair| pair == [Token::Mark('='), Token::Mark('>')]);
        let list = second.filter(|tokens| matches!(tokens.first(), Some(Token::Mark('[' | '('))) && !called(tokens));
        match all.as_slice() {
            // `spawn("rm", ["-rf", "/"])`: the words stand in a list; that of `exec` begins with the program's own name.
            [Some(program), ..] if list.is_some() => {
                let own = name.contains("exec") && name.starts_with("os.") || name.contains("spawnv");
                let words = list.unwrap_or_default().iter().filter(|token| !matches!(token, Token::Mark(_)));
                let words: Vec<Word> = words
                    .skip(usize::from(own))
                    .map(|token| match token {
                        Token::Text(text) => Word::text(text),
                        _ => Word::hole("word"),
                    })
                    .collect();
                self.start(std::iter::once(Word::text(program)).chain(words).collect(), Stream::unknown());
            }
            [Some(line), ..] if all.len() == 1 || !all.iter().skip(1).any(Option::is_some) => {
                self.script(line, &Stream::unknown());
            }
            [Some(_), ..] if all.iter().all(Option::is_some) => {
                let words: Vec<Word> = all.iter().flatten().map(Word::text).collect();
                self.start(words, Stream::unknown());
            }
            [Some(program), ..] => {
                self.start(vec![Word::text(program)], Stream::unknown());
            }
            _ => self.unknown(UnknownKind::Value, Effect::Execute, format!("what `{name}` runs is not constant")),
        }
    }
}
