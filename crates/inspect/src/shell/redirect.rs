//! Redirections, process substitution, and simple commands (Bash reference manual 3.6, 3.5.6, 3.7.1).

use brush_parser::ast::{
    Assignment, AssignmentName, AssignmentValue, CommandPrefixOrSuffixItem, IoFileRedirectKind, IoFileRedirectTarget,
    IoRedirect, ProcessSubstitutionKind, SimpleCommand, SubshellCommand,
};
use countersign_plan::tool::Effect;

use crate::machine::{Machine, Stream, Variable, Word};

/// Where standard output goes.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// Into a file.
    File { path: Word, append: bool },
    /// Into another command.
    Process(Box<SubshellCommand>),
    /// To a coprocess of this name.
    Coprocess(String),
}

/// Programs whose arguments may be assignments.
const DECLARING: &[&str] = &["export", "declare", "local", "readonly", "typeset", "alias"];

impl Machine<'_> {
    /// Standard input and the targets of standard output after some redirections.
    pub(crate) fn redirects<'a>(
        &mut self,
        list: impl Iterator<Item = &'a IoRedirect> + Clone,
        mut stdin: Stream,
    ) -> (Stream, Vec<Target>) {
        let mut targets = Vec::new();
        for redirect in list.clone() {
            match redirect {
                IoRedirect::HereDocument(fd, document) => {
                    let word = if document.requires_expansion {
                        self.here_document(&document.doc.value)
                    } else {
                        Word::text(&document.doc.value)
                    };
                    let strip =
                        |text: &str| text.lines().map(|l| l.trim_start_matches('\t')).collect::<Vec<_>>().join("\n");
                    let text = word.constant().map(|t| if document.remove_tabs { strip(t) } else { t.to_owned() });
                    // What an expansion brings has its origin still.
                    let given = Stream { text, ..self.origin_of(&word) };
                    // `3<<END`: a file by the name of its descriptor; what reads it by `<&3` takes it for its input.
                    self.keep_open(*fd, &given);
                    if matches!(fd, None | Some(0))
                        || fd.is_some_and(|fd| list.clone().any(|other| reads_from(other, fd)))
                    {
                        stdin = given;
                    }
                }
                IoRedirect::HereString(fd, word) => {
                    let word = self.single(&word.value);
                    let given = Stream { text: word.constant().map(|t| format!("{t}\n")), ..self.origin_of(&word) };
                    self.keep_open(*fd, &given);
                    if matches!(fd, None | Some(0)) {
                        stdin = given;
                    }
                }
                IoRedirect::OutputAndError(word, append) => {
                    let path = self.single(&word.value);
                    targets.push(Target::File { path, append: *append });
                }
                IoRedirect::File(fd, kind, target) => self.file(*fd, kind, target, &mut stdin, &mut targets),
            }
        }
        (stdin, targets)
    }

    fn file(
        &mut self,
        fd: Option<i32>,
        kind: &IoFileRedirectKind,
        target: &IoFileRedirectTarget,
        stdin: &mut Stream,
        targets: &mut Vec<Target>,
    ) {
        let standard = matches!(fd, None | Some(0 | 1));
        match (kind, target) {
            (_, IoFileRedirectTarget::Fd(_)) => {}
            (IoFileRedirectKind::Read, IoFileRedirectTarget::Filename(word)) => {
                let path = self.single(&word.value);
                let read = self.read_file(&path);
                self.keep_open(fd, &read);
                if standard {
                    *stdin = read;
                }
            }
            (IoFileRedirectKind::ReadAndWrite, IoFileRedirectTarget::Filename(word)) => {
                let path = self.single(&word.value);
                self.touch_path(Effect::Update, &path, false);
                *stdin = self.read_file(&path);
                stdin.remote |= ["/dev/tcp/", "/dev/udp/"].iter().any(|socket| path.prefix().starts_with(socket));
                self.keep_open(fd, &stdin.clone());
            }
            (
                IoFileRedirectKind::Write | IoFileRedirectKind::Clobber | IoFileRedirectKind::Append,
                IoFileRedirectTarget::Filename(word),
            ) => {
                let path = self.single(&word.value);
                let append = matches!(kind, IoFileRedirectKind::Append);
                if standard {
                    targets.push(Target::File { path, append });
                } else {
                    if let Some(fd @ 3..) = fd {
                        self.standing.open(fd, Target::File { path: path.clone(), append: true });
                    }
                    self.write_file(&path, Stream::unknown(), append);
                }
            }
            (
                IoFileRedirectKind::DuplicateInput | IoFileRedirectKind::DuplicateOutput,
                IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word),
            ) => {
                let path = self.single(&word.value);
                let text = path.shown();
                let is_fd = text == "-" || text.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit());
                if let Some(answers) = self.coprocess(&path) {
                    match kind {
                        IoFileRedirectKind::DuplicateInput => *stdin = answers,
                        _ => targets.extend(path.first_hole().map(|name| Target::Coprocess(name.to_owned()))),
                    }
                } else if is_fd && matches!(kind, IoFileRedirectKind::DuplicateInput) {
                    let kept = self.files.get(&format!("/dev/fd/{}", text.trim_end_matches('-'))).cloned();
                    *stdin = kept.unwrap_or_else(|| stdin.clone());
                } else if is_fd && standard {
                    targets.extend(self.standing.target(text.trim_end_matches('-')).cloned());
                } else if !is_fd {
                    if matches!(kind, IoFileRedirectKind::DuplicateInput) {
                        *stdin = self.read_file(&path);
                    } else {
                        targets.push(Target::File { path, append: false });
                    }
                }
            }
            (_, IoFileRedirectTarget::Duplicate(word)) => {
                self.single(&word.value);
            }
            (_, IoFileRedirectTarget::ProcessSubstitution(ProcessSubstitutionKind::Read, subshell)) => {
                let read = self.subshell(subshell, &Stream::unknown());
                self.keep_open(fd, &read);
                if standard {
                    *stdin = read;
                }
            }
            (_, IoFileRedirectTarget::ProcessSubstitution(ProcessSubstitutionKind::Write, subshell)) => {
                let target = Target::Process(Box::new(subshell.clone()));
                match fd {
                    Some(fd @ 3..) => self.standing.open(fd, target),
                    _ => targets.push(target),
                }
            }
        }
    }

    /// What a descriptor beyond the first three is open for reading.
    fn keep_open(&mut self, fd: Option<i32>, data: &Stream) {
        if let Some(fd @ 3..) = fd {
            self.files.insert(format!("/dev/fd/{fd}"), data.clone());
            self.files.insert(format!("/proc/self/fd/{fd}"), data.clone());
        }
    }

    fn subshell(&mut self, subshell: &SubshellCommand, stdin: &Stream) -> Stream {
        let concurrent = std::mem::replace(&mut self.concurrent, true);
        let out = self.apart(|machine| machine.list(&subshell.list, stdin));
        self.concurrent = concurrent;
        out
    }

    /// Hands standard output to its targets; what is left goes on.
    pub(crate) fn deliver(&mut self, out: Stream, targets: Vec<Target>) -> Stream {
        if targets.is_empty() {
            return out;
        }
        for target in targets {
            match target {
                Target::File { path, append } => {
                    let lost = !append && self.is_input(&path);
                    self.write_file(&path, out.clone(), append);
                    if lost {
                        self.loses_input(&path);
                    }
                }
                Target::Process(subshell) => {
                    self.subshell(&subshell, &out);
                }
                Target::Coprocess(name) => self.tells_coprocess(&name, &out),
            }
        }
        Stream::empty()
    }

    /// `<(…)` and `>(…)` as arguments: a file with what the command writes.
    pub(crate) fn process_substitution(
        &mut self,
        kind: &ProcessSubstitutionKind,
        subshell: &SubshellCommand,
        stdin: &Stream,
    ) -> Word {
        let name = format!("/dev/fd/{}", 63_usize.saturating_sub(self.files.len() % 60));
        match kind {
            ProcessSubstitutionKind::Read => {
                let out = self.subshell(subshell, &Stream::unknown());
                self.files.insert(name.clone(), out);
            }
            ProcessSubstitutionKind::Write => {
                self.subshell(subshell, stdin);
            }
        }
        Word::text(name)
    }

    /// A simple command: assignments, words and redirections, then the program.
    pub(crate) fn simple(&mut self, command: &SimpleCommand, stdin: Stream) -> Stream {
        if !self.spend() {
            return Stream::unknown();
        }
        let prefix = command.prefix.as_ref().map_or(&[][..], |p| p.0.as_slice());
        let suffix = command.suffix.as_ref().map_or(&[][..], |s| s.0.as_slice());
        let mut words = Vec::with_capacity(suffix.len() + 1);
        if let Some(name) = &command.word_or_name {
            self.add_fields(&name.value, &mut words);
        }
        let name = words.first().and_then(Word::constant).unwrap_or("").to_owned();
        let declares = DECLARING.contains(&name.as_str());
        let passing = if name == "tee" { stdin.clone() } else { stdin.origin() };
        for item in suffix {
            self.argument(item, declares, &passing, &mut words);
        }
        let redirects = prefix.iter().chain(suffix).filter_map(|item| match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => Some(redirect),
            CommandPrefixOrSuffixItem::Word(_)
            | CommandPrefixOrSuffixItem::AssignmentWord(..)
            | CommandPrefixOrSuffixItem::ProcessSubstitution(..) => None,
        });
        let by = name.rsplit('/').next().unwrap_or("").to_owned();
        let before = std::mem::replace(&mut self.by, by);
        let (stdin, targets) = self.redirects(redirects, stdin);
        let assignments = prefix.iter().filter_map(|item| match item {
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => Some(assignment),
            CommandPrefixOrSuffixItem::Word(_)
            | CommandPrefixOrSuffixItem::IoRedirect(_)
            | CommandPrefixOrSuffixItem::ProcessSubstitution(..) => None,
        });
        if words.is_empty() {
            let mut any = false;
            for assignment in assignments {
                any = true;
                self.assign(assignment);
            }
            self.by = before;
            // `$(< file)` is what the file holds.
            let reads = prefix.iter().any(|item| {
                matches!(item, CommandPrefixOrSuffixItem::IoRedirect(IoRedirect::File(_, IoFileRedirectKind::Read, _)))
            });
            let out = if reads && !any { stdin } else { Stream::empty() };
            self.emptied_by(&out, &targets);
            return self.deliver(out, targets);
        }
        let mut kept: Vec<(String, Option<Variable>, bool)> = Vec::new();
        for assignment in assignments {
            if let AssignmentName::VariableName(name) = &assignment.name {
                kept.push((name.clone(), self.scope.variable(name).cloned(), self.scope.is_exported(name)));
                self.scope.mark(name, 'x', true);
            }
            self.assign(assignment);
        }
        let redirected =
            prefix.iter().chain(suffix).any(|item| matches!(item, CommandPrefixOrSuffixItem::IoRedirect(_)));
        let connected = self.is_connected(redirected, &targets);
        let outer = std::mem::replace(&mut self.connected, connected);
        let lasts = words.last().and_then(Word::constant) == Some("exec")
            && words.iter().rev().skip(1).all(|word| matches!(word.constant(), Some("command" | "builtin")));
        if lasts {
            self.keep_redirections(prefix.iter().chain(suffix), &stdin, &targets);
        }
        let quoted = command.word_or_name.as_ref().is_none_or(|word| word.value != name);
        let mut redirects = prefix.iter().chain(suffix).filter_map(|item| match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => Some(redirect),
            _ => None,
        });
        // Where one of them fails nothing runs.
        let before_run = redirects.any(may_fail).then(|| self.scope.clone());
        let out = if quoted { self.run(words, stdin) } else { self.run_or_alias(words, stdin) };
        if let Some(before) = before_run {
            self.scope.join(&before);
        }
        self.connected = outer;
        for (name, value, exported) in kept {
            self.scope.put_back(&name, value);
            self.scope.mark(&name, 'x', exported);
        }
        if matches!(name.as_str(), ":" | "true" | "false" | "echo" | "printf" | "cat" | "head" | "tail") {
            self.emptied_by(&out, &targets);
        }
        // What `exec` opens for a command is written to later on.
        let now = targets.into_iter().filter(|target| !lasts || matches!(target, Target::File { .. })).collect();
        let out = self.deliver(if lasts { Stream::empty() } else { out }, now);
        self.by = before;
        out
    }

    /// `> FILE` with nothing to write.
    fn emptied_by(&mut self, out: &Stream, targets: &[Target]) {
        if out.text.as_deref() != Some("") {
            return;
        }
        for target in targets {
            if let Target::File { path, append: false } = target {
                self.empties(path);
            }
        }
    }

    /// Whether the input or output of a command is another machine.
    fn is_connected(&self, redirected: bool, targets: &[Target]) -> bool {
        let to_socket = targets.iter().any(|target| match target {
            Target::File { path, .. } => ["/dev/tcp/", "/dev/udp/"].iter().any(|start| path.shown().starts_with(start)),
            Target::Process(_) | Target::Coprocess(_) => false,
        });
        to_socket || (redirected && self.sockets)
    }

    pub(crate) fn assign(&mut self, assignment: &Assignment) {
        let (AssignmentName::VariableName(name) | AssignmentName::ArrayElementName(name, _)) = &assignment.name;
        let element = matches!(assignment.name, AssignmentName::ArrayElementName(..));
        if let AssignmentName::ArrayElementName(_, index) = &assignment.name {
            self.arithmetic(index);
        }
        let value = match &assignment.value {
            AssignmentValue::Scalar(word) => {
                let new = self.single(&word.value);
                if element { Variable::any_array(name) } else { self.given(name, new, assignment.append) }
            }
            AssignmentValue::Array(items) => {
                let mut values = if assignment.append { self.elements(name) } else { Vec::new() };
                let mut indexed = false;
                for (index, value) in items {
                    indexed |= index.is_some();
                    values.extend(self.fields(&value.value));
                }
                if indexed || element { Variable::any_array(name) } else { Variable::Array(values) }
            }
        };
        self.assign_variable(name, value);
    }

    /// What `name=value` or `name+=value` makes of a variable. Of an array it is the first element (Bash reference manual 6.7).
    pub(crate) fn given(&mut self, name: &str, new: Word, append: bool) -> Variable {
        let new = if append {
            let mut old = self.variable_word(name).unwrap_or_default();
            old.append(&new);
            old
        } else {
            new
        };
        match self.scope.variable(name) {
            Some(Variable::Array(words)) => {
                let one = words.first().is_some_and(|word| !word.is_many() && !word.is_pattern());
                let rest = words.iter().skip(usize::from(one)).cloned();
                Variable::Array(std::iter::once(new).chain(rest).collect())
            }
            Some(Variable::Scalar(_) | Variable::Unset | Variable::Unknown) | None => Variable::Scalar(new),
        }
    }

    /// The elements that a variable has before others are added.
    fn elements(&self, name: &str) -> Vec<Word> {
        match self.scope.variable(name) {
            Some(Variable::Array(words)) => words.clone(),
            Some(Variable::Scalar(word)) => vec![word.clone()],
            Some(Variable::Unset) => Vec::new(),
            Some(Variable::Unknown) => vec![Word::holes(name)],
            None => self.variable_word(name).map_or_else(Vec::new, |_| vec![Word::holes(name)]),
        }
    }
}

/// Whether a redirection takes a descriptor for standard input: `<&3`.
fn reads_from(redirect: &IoRedirect, fd: i32) -> bool {
    let IoRedirect::File(None | Some(0), IoFileRedirectKind::DuplicateInput, target) = redirect else { return false };
    match target {
        IoFileRedirectTarget::Fd(from) => *from == fd,
        IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => word.value == fd.to_string(),
        IoFileRedirectTarget::ProcessSubstitution(..) => false,
    }
}

/// Whether a redirection may fail, so that what it stands at does not run (POSIX XCU 2.8.1).
pub(super) fn may_fail(redirect: &IoRedirect) -> bool {
    let plain =
        |word: &brush_parser::ast::Word| matches!(word.value.as_str(), "/dev/null" | "0" | "1" | "2" | "&1" | "&2");
    match redirect {
        IoRedirect::HereDocument(..) | IoRedirect::HereString(..) => false,
        IoRedirect::OutputAndError(word, _) => !plain(word),
        IoRedirect::File(_, _, target) => match target {
            IoFileRedirectTarget::Fd(fd) => *fd > 2,
            IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => !plain(word),
            IoFileRedirectTarget::ProcessSubstitution(..) => true,
        },
    }
}
