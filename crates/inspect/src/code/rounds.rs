//! Loops without end in short code, and what they do in each round.

use super::Language;
use super::lex::Token;
use crate::inspection::FindingKind;
use crate::machine::Machine;

/// Calls that start something and do not wait for it.
const STARTS: &[&str] = &[
    "fork",
    "pcntl_fork",
    "spawn",
    "Popen",
    "Thread",
    "Process",
    "exec",
    "execFile",
    "Worker",
    "create_task",
    "posix_spawn",
    "Pool",
];

/// Calls that send something.
const SENDS: &[&str] = &["urlopen", "fetch", "sendto", "send", "sendall", "create_connection", "request"];

/// Calls that take room.
const TAKES_ROOM: &[&str] = &[
    "write",
    "append",
    "extend",
    "writeFileSync",
    "appendFileSync",
    "write_text",
    "write_bytes",
    "push",
    "print",
    "allocUnsafe",
    "alloc",
    "mkdir",
    "makedirs",
    "mkdtemp",
    "mkstemp",
    "bytearray",
    "puts",
    "syswrite",
    "mkdirSync",
    "touch",
];

/// What gives items for ever (Python, "itertools").
const ENDLESS: &[&str] = &["itertools.count", "itertools.cycle"];

/// Words by which a loop ends or lets time pass.
const ENDS: &[&str] = &[
    "break",
    "sleep",
    "exit",
    "return",
    "raise",
    "last",
    "wait",
    "waitpid",
    "join",
    "input",
    "accept",
    "recv",
    "read",
    "readline",
    "select",
    "gets",
    "die",
    "_exit",
    "communicate",
    "get",
    "poll",
    "usleep",
    "setTimeout",
    "throw",
];

impl Machine<'_> {
    /// A loop without end that starts, sends or writes in each round and lets no time pass.
    pub(super) fn judge_rounds(&mut self, language: Language, tokens: &[Token]) {
        let Some(body) = endless(tokens) else { return };
        let names = || {
            body.iter().filter_map(|token| match token {
                Token::Name(name) => Some((name.as_str(), name.rsplit(['.', ':', '>']).next().unwrap_or(name))),
                _ => None,
            })
        };
        if names().any(|(_, last)| ENDS.contains(&last) && last != "get") {
            return;
        }
        let web = |(name, last): (&str, &str)| {
            SENDS.contains(&last)
                || (matches!(last, "get" | "post" | "put") && (name.starts_with("requests.") || name.contains("http")))
        };
        let what = if names().any(|(_, last)| STARTS.contains(&last)) {
            "starts programs and waits for none"
        } else if names().any(web) {
            "sends requests without a pause"
        } else if names().any(|(_, last)| TAKES_ROOM.contains(&last) && last != "print") || appends(language, body) {
            "writes without a pause"
        } else {
            return;
        };
        self.find(FindingKind::ForkBomb, format!("a loop without end in the {} code {what}", language.name()));
    }
}

/// `list << value`, which is how Ruby adds to a list or a text.
fn appends(language: Language, body: &[Token]) -> bool {
    language == Language::Ruby && body.windows(2).any(|pair| pair == [Token::Mark('<'), Token::Mark('<')])
}

/// What follows the head of a loop that nothing ends, or stands before `while 1`.
fn endless(tokens: &[Token]) -> Option<&[Token]> {
    let is = |token: Option<&Token>, name: &str| matches!(token, Some(Token::Name(known)) if known == name);
    for (i, token) in tokens.iter().enumerate() {
        let Token::Name(name) = token else { continue };
        let rest = tokens.get(i + 1..).unwrap_or_default();
        let inner = if rest.first() == Some(&Token::Mark('(')) { rest.get(1..).unwrap_or_default() } else { rest };
        let always = is(inner.first(), "True") || is(inner.first(), "true") || inner.first() == Some(&Token::Number);
        let closes = matches!(inner.get(1), None | Some(Token::Mark(')' | ':' | '{' | ';')) | Some(Token::Name(_)));
        match name.as_str() {
            "while" if always && closes => {
                // Perl's `fork while 1`.
                let before = tokens.get(..i).unwrap_or_default();
                let postfix = inner.len() <= 2 && !before.is_empty();
                return Some(if postfix { before } else { inner.get(1..).unwrap_or_default() });
            }
            // `while fork` and `fork while fork`.
            "while" if matches!(inner.first(), Some(Token::Name(call)) if matches!(call.rsplit(['.', ':']).next(), Some("fork" | "pcntl_fork"))) =>
            {
                return Some(inner);
            }
            // `[f() for _ in iter(int, 1)]`, `for _ in itertools.count():`
            // `[f() for _ in iter(int, 1)]`, of which the call that hands on is left out here; `for _ in itertools.count():`
            "in" if is(rest.first(), "int") && rest.get(1) == Some(&Token::Mark(',')) => return Some(tokens),
            "in" if matches!(rest.first(), Some(Token::Name(call)) if ENDLESS.contains(&call.as_str())) => {
                return Some(tokens);
            }
            "until" if is(inner.first(), "false") => return inner.get(1..),
            "loop" if is(rest.first(), "do") || rest.first() == Some(&Token::Mark('{')) => return Some(rest),
            "for" if matches!(rest, [Token::Mark('('), Token::Mark(';'), Token::Mark(';'), Token::Mark(')'), ..]) => {
                return rest.get(4..);
            }
            _ => {}
        }
    }
    None
}
