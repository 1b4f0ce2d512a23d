//! The tree of a plain text, put together from the first parser's own tokens.
//!
//! The first parser's grammar tries several readings at each word and costs three times as much as its tokens. The tokens of a text
//! that the strict reader understands need none of that: each says by itself what it begins. What is not as plain as that gives
//! no tree here, and goes to the grammar. A test and a fuzz target hold this to the grammar's own trees.

use brush_parser::ast::{
    AndOr, AndOrList, Assignment, AssignmentName, AssignmentValue, BraceGroupCommand, Command, CommandPrefix,
    CommandPrefixOrSuffixItem, CommandSuffix, CompoundCommand, CompoundList, CompoundListItem, DoGroupCommand,
    ElseClause, ForClauseCommand, FunctionBody, FunctionDefinition, IfClauseCommand, IoFileRedirectKind,
    IoFileRedirectTarget, IoHereDocument, IoRedirect, Pipeline, Program, RedirectList, SeparatorOperator,
    SimpleCommand, SubshellCommand, WhileOrUntilClauseCommand, Word,
};
use brush_parser::{ParserOptions, SourceSpan, Token, uncached_tokenize_str};

use super::is_variable;

/// Words that begin or end something where a command may stand.
const RESERVED: &[&str] = &[
    "!", "{", "}", "case", "do", "done", "elif", "else", "esac", "fi", "for", "if", "in", "then", "until", "while",
    "[[", "]]", "function", "select", "coproc", "time",
];

/// The tree of `text`; none where the grammar has to say.
pub(in crate::shell) fn of(text: &str, options: &ParserOptions) -> Option<Program> {
    let tokens = uncached_tokenize_str(text, &options.tokenizer_options()).ok()?;
    let mut tree = Tree { tokens: tokens.into_iter().map(Some).collect(), at: 0 };
    let mut complete_commands = Vec::new();
    tree.newlines();
    while tree.more() {
        complete_commands.push(tree.list(Lines::Apart)?);
        if tree.newlines() == 0 && tree.more() {
            return None;
        }
    }
    Some(Program { complete_commands })
}

/// Whether a list goes on at the next line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lines {
    /// A list is one line: the outermost ones.
    Apart,
    /// As inside of brackets.
    Together,
}

/// A redirection that is not read here.
struct Odd;

struct Tree {
    tokens: Vec<Option<Token>>,
    at: usize,
}

impl Tree {
    fn more(&self) -> bool {
        self.at < self.tokens.len()
    }

    fn ahead(&self, n: usize) -> Option<&Token> {
        self.tokens.get(self.at + n)?.as_ref()
    }

    fn operator(&self, n: usize) -> Option<&str> {
        match self.ahead(n)? {
            Token::Operator(text, _) => Some(text),
            Token::Word(..) => None,
        }
    }

    /// The next word of the grammar, if that is what comes.
    fn reserved(&self) -> Option<&'static str> {
        match self.ahead(0)? {
            Token::Word(text, _) => RESERVED.iter().copied().find(|word| word == text),
            Token::Operator(..) => None,
        }
    }

    fn take(&mut self) -> Option<Token> {
        let token = self.tokens.get_mut(self.at)?.take();
        self.at += 1;
        token
    }

    fn word(&mut self) -> Option<Word> {
        match self.take()? {
            Token::Word(value, loc) => Some(Word { value, loc: Some(loc) }),
            Token::Operator(..) => None,
        }
    }

    fn newlines(&mut self) -> usize {
        let start = self.at;
        while self.operator(0) == Some("\n") {
            self.at += 1;
        }
        self.at - start
    }

    /// The word of the grammar that has to come.
    fn expect(&mut self, word: &str) -> Option<SourceSpan> {
        match self.take()? {
            Token::Word(text, at) if text == word => Some(at),
            Token::Word(..) | Token::Operator(..) => None,
        }
    }

    fn list(&mut self, lines: Lines) -> Option<CompoundList> {
        if lines == Lines::Together {
            self.newlines();
        }
        let mut items = Vec::new();
        loop {
            let and_or = self.and_or()?;
            let (separator, sign) = match self.operator(0) {
                Some("&") => (SeparatorOperator::Async, true),
                Some(";") => (SeparatorOperator::Sequence, true),
                _ => (SeparatorOperator::Sequence, false),
            };
            self.at += usize::from(sign);
            items.push(CompoundListItem(and_or, separator));
            let lines = lines == Lines::Together && self.newlines() > 0;
            if !(sign || lines) || !self.begins() {
                return Some(CompoundList(items));
            }
        }
    }

    /// Whether a command may begin here.
    fn begins(&self) -> bool {
        match self.ahead(0) {
            None => false,
            Some(Token::Operator(text, _)) => text == "(" || text.starts_with(['<', '>']) || text.starts_with("&>"),
            Some(Token::Word(..)) => {
                !matches!(self.reserved(), Some("}" | "do" | "done" | "elif" | "else" | "esac" | "fi" | "then"))
            }
        }
    }

    fn and_or(&mut self) -> Option<AndOrList> {
        let first = self.pipeline()?;
        let mut additional = Vec::new();
        while let Some(sign @ ("&&" | "||")) = self.operator(0) {
            let both = sign == "&&";
            self.at += 1;
            self.newlines();
            let next = self.pipeline()?;
            additional.push(if both { AndOr::And(next) } else { AndOr::Or(next) });
        }
        Some(AndOrList { first, additional })
    }

    fn pipeline(&mut self) -> Option<Pipeline> {
        let mut bang = false;
        while self.reserved() == Some("!") {
            self.at += 1;
            bang = !bang;
        }
        let mut seq = vec![self.command()?];
        while self.operator(0) == Some("|") {
            self.at += 1;
            self.newlines();
            seq.push(self.command()?);
        }
        Some(Pipeline { timed: None, bang, seq })
    }

    fn command(&mut self) -> Option<Command> {
        if self.operator(0) == Some("(") || self.reserved().is_some() {
            let compound = self.compound()?;
            return Some(Command::Compound(compound, listed(self.redirections()?)));
        }
        if self.operator(1) == Some("(") {
            let fname = self.word().filter(|name| !name.value.ends_with('='))?;
            if self.operator(1) != Some(")") {
                return None;
            }
            self.at += 2;
            self.newlines();
            let body = FunctionBody(self.compound()?, listed(self.redirections()?));
            return Some(Command::Function(FunctionDefinition { fname, body }));
        }
        self.simple().map(Command::Simple)
    }

    fn compound(&mut self) -> Option<CompoundCommand> {
        let word = self.reserved();
        let start = match self.take()? {
            Token::Word(_, at) => at,
            // Two brackets may be an expression.
            Token::Operator(sign, start) if sign == "(" && self.operator(0) != Some("(") => {
                let list = self.list(Lines::Together)?;
                let Token::Operator(sign, end) = self.take()? else { return None };
                let command = SubshellCommand { list, loc: within(&start, &end) };
                return (sign == ")").then_some(CompoundCommand::Subshell(command));
            }
            Token::Operator(..) => return None,
        };
        match word? {
            "{" => {
                let list = self.list(Lines::Together)?;
                let loc = within(&start, &self.expect("}")?);
                Some(CompoundCommand::BraceGroup(BraceGroupCommand { list, loc }))
            }
            "if" => {
                let condition = self.list(Lines::Together)?;
                self.expect("then")?;
                let then = self.list(Lines::Together)?;
                let elses = Some(self.elses()?).filter(|elses| !elses.is_empty());
                self.expect("fi")?;
                let loc = within(&start, &start);
                Some(CompoundCommand::IfClause(IfClauseCommand { condition, then, elses, loc }))
            }
            kind @ ("while" | "until") => {
                let condition = self.list(Lines::Together)?;
                let body = self.body()?;
                let loc = within(&start, &body.loc);
                let clause = WhileOrUntilClauseCommand(condition, body, loc);
                let repeats = if kind == "while" { CompoundCommand::WhileClause } else { CompoundCommand::UntilClause };
                Some(repeats(clause))
            }
            "for" => self.for_clause(&start),
            _ => None,
        }
    }

    fn elses(&mut self) -> Option<Vec<ElseClause>> {
        let mut elses = Vec::new();
        while self.reserved() == Some("elif") {
            self.at += 1;
            let condition = self.list(Lines::Together)?;
            self.expect("then")?;
            elses.push(ElseClause { condition: Some(condition), body: self.list(Lines::Together)? });
        }
        if self.reserved() == Some("else") {
            self.at += 1;
            elses.push(ElseClause { condition: None, body: self.list(Lines::Together)? });
        }
        Some(elses)
    }

    fn body(&mut self) -> Option<DoGroupCommand> {
        let start = self.expect("do")?;
        let list = self.list(Lines::Together)?;
        let loc = within(&start, &self.expect("done")?);
        Some(DoGroupCommand { list, loc })
    }

    fn for_clause(&mut self, start: &SourceSpan) -> Option<CompoundCommand> {
        let variable_name = self.word()?.value;
        let mut values = Vec::new();
        if self.reserved() == Some("in") {
            self.at += 1;
            while let Some(Token::Word(..)) = self.ahead(0) {
                values.push(self.word()?);
            }
        }
        let semicolon = self.operator(0) == Some(";");
        self.at += usize::from(semicolon);
        if self.newlines() == 0 && !semicolon {
            return None;
        }
        let body = self.body()?;
        let loc = within(start, &body.loc);
        let values = (!values.is_empty()).then_some(values);
        Some(CompoundCommand::ForClause(ForClauseCommand { variable_name, values, body, loc }))
    }

    fn simple(&mut self) -> Option<SimpleCommand> {
        let mut prefix = Vec::new();
        let word_or_name = loop {
            if let Some(redirect) = self.redirection().ok()? {
                prefix.push(CommandPrefixOrSuffixItem::IoRedirect(redirect));
                continue;
            }
            let Some(Token::Word(text, _)) = self.ahead(0) else { break None };
            if self.reserved().is_some() || self.operator(1) == Some("(") {
                return None;
            }
            if !text.contains('=') {
                break self.word();
            }
            match self.assignment()? {
                item @ CommandPrefixOrSuffixItem::AssignmentWord(..) => prefix.push(item),
                CommandPrefixOrSuffixItem::Word(word) => break Some(word),
                _ => return None,
            }
        };
        let mut suffix = Vec::new();
        while word_or_name.is_some() {
            if let Some(redirect) = self.redirection().ok()? {
                suffix.push(CommandPrefixOrSuffixItem::IoRedirect(redirect));
                continue;
            }
            let Some(Token::Word(text, _)) = self.ahead(0) else { break };
            suffix.push(if text.contains('=') {
                self.assignment()?
            } else {
                CommandPrefixOrSuffixItem::Word(self.word()?)
            });
        }
        if prefix.is_empty() && word_or_name.is_none() {
            return None;
        }
        Some(SimpleCommand {
            prefix: (!prefix.is_empty()).then_some(CommandPrefix(prefix)),
            word_or_name,
            suffix: (!suffix.is_empty()).then_some(CommandSuffix(suffix)),
        })
    }

    /// A word with `=`: an assignment where a name stands before it, a word else.
    fn assignment(&mut self) -> Option<CommandPrefixOrSuffixItem> {
        let word = self.word()?;
        let (name, value) = word.value.split_once('=')?;
        if !is_variable(name.as_bytes()) {
            // An element of an array, perhaps.
            return (!name.contains('[')).then_some(CommandPrefixOrSuffixItem::Word(word));
        }
        let append = name.ends_with('+');
        let assignment = Assignment {
            name: AssignmentName::VariableName(name.trim_end_matches('+').to_owned()),
            value: AssignmentValue::Scalar(Word { value: value.to_owned(), loc: None }),
            append,
            loc: word.loc.clone()?,
        };
        Some(CommandPrefixOrSuffixItem::AssignmentWord(assignment, word))
    }

    fn redirections(&mut self) -> Option<Vec<IoRedirect>> {
        let mut all = Vec::new();
        while let Some(redirect) = self.redirection().ok()? {
            all.push(redirect);
        }
        Some(all)
    }

    /// A redirection, if one comes.
    fn redirection(&mut self) -> Result<Option<IoRedirect>, Odd> {
        let mut number = None;
        if let (Some(Token::Word(text, of)), Some(Token::Operator(sign, to))) = (self.ahead(0), self.ahead(1))
            && of.end.index == to.start.index
            && sign.starts_with(['<', '>'])
            && text.bytes().all(|b| b.is_ascii_digit())
        {
            number = Some(text.parse().map_err(|_| Odd)?);
            self.at += 1;
        }
        let kind = match self.operator(0) {
            Some("<") => IoFileRedirectKind::Read,
            Some(">") => IoFileRedirectKind::Write,
            Some(">>") => IoFileRedirectKind::Append,
            Some("<>") => IoFileRedirectKind::ReadAndWrite,
            Some(">|") => IoFileRedirectKind::Clobber,
            Some("<&") => IoFileRedirectKind::DuplicateInput,
            Some(">&") => IoFileRedirectKind::DuplicateOutput,
            Some(sign @ ("&>" | "&>>")) => {
                let append = sign == "&>>";
                self.at += 1;
                return Ok(Some(IoRedirect::OutputAndError(self.word().ok_or(Odd)?, append)));
            }
            Some("<<<") => {
                self.at += 1;
                return Ok(Some(IoRedirect::HereString(number, self.word().ok_or(Odd)?)));
            }
            Some(sign @ ("<<" | "<<-")) => {
                let remove_tabs = sign == "<<-";
                self.at += 1;
                let here_end = self.word().ok_or(Odd)?;
                let doc = match self.take().ok_or(Odd)? {
                    Token::Word(value, loc) | Token::Operator(value, loc) => Word { value, loc: Some(loc) },
                };
                self.word().ok_or(Odd)?;
                let requires_expansion = !here_end.value.contains(['\'', '"', '\\']);
                let document = IoHereDocument { remove_tabs, requires_expansion, here_end, doc };
                return Ok(Some(IoRedirect::HereDocument(number, document)));
            }
            _ => return if number.is_some() { Err(Odd) } else { Ok(None) },
        };
        self.at += 1;
        let copies = matches!(kind, IoFileRedirectKind::DuplicateInput | IoFileRedirectKind::DuplicateOutput);
        let word = self.word().ok_or(Odd)?;
        let target = if copies { IoFileRedirectTarget::Duplicate(word) } else { IoFileRedirectTarget::Filename(word) };
        Ok(Some(IoRedirect::File(number, kind, target)))
    }
}

/// A list of redirections, where there are any.
fn listed(all: Vec<IoRedirect>) -> Option<RedirectList> {
    (!all.is_empty()).then_some(RedirectList(all))
}

/// From the beginning of one to the end of the other.
fn within(start: &SourceSpan, end: &SourceSpan) -> SourceSpan {
    SourceSpan { start: start.start.clone(), end: end.end.clone() }
}
