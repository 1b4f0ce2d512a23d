//! Arguments against a grammar, as `getopt_long` reads them: clusters, attached values, abbreviated long options, `--`.

use std::borrow::Cow;

use countersign_plan::tool::Effect;

use crate::catalogue::{Arity, Entry, FLAG, Opt, Role, Slot, Tag};
use crate::machine::Word;

/// The most options that are said not to be in the catalogue.
const MAX_UNLISTED: usize = 8;

/// Arguments by what they are.
#[derive(Debug, Default)]
pub(crate) struct Parsed<'e> {
    /// Values of options and operands, each with its role.
    pub(crate) values: Vec<(Role, Word)>,
    /// Tags of the options that were given.
    pub(crate) tags: Vec<&'e Tag>,
    /// Operands, before roles are given to them.
    pub(crate) operands: Vec<Word>,
    /// The program and arguments after the operands of a wrapper.
    pub(crate) command: Vec<Word>,
    /// Options that the grammar does not list, with the gravest effect that they may have.
    pub(crate) unlisted: Vec<(String, Effect)>,
    /// The words that name the subcommand.
    pub(crate) path: Vec<String>,
}

/// The grammar of a program together with those of the subcommands that were named.
#[derive(Debug, Clone)]
pub(crate) struct Grammar<'e> {
    levels: Vec<&'e Entry>,
}

impl<'e> Grammar<'e> {
    pub(crate) fn new(entry: &'e Entry) -> Self {
        Self { levels: vec![entry] }
    }

    pub(crate) fn last(&self) -> Option<&'e Entry> {
        self.levels.last().copied()
    }

    /// Tags of the program and of its subcommands. Those of a program that has operands of its own are for those alone.
    pub(crate) fn tags(&self) -> impl Iterator<Item = &'e Tag> {
        let last = self.levels.len().saturating_sub(1);
        let held = self.levels.iter().enumerate().filter(move |(i, level)| *i == last || level.slots.is_empty());
        held.flat_map(|(_, level)| &level.tags)
    }

    fn lenient(&self) -> bool {
        self.levels.iter().any(|level| level.lenient)
    }

    fn single_dash(&self) -> bool {
        self.levels.iter().any(|level| level.single_dash)
    }

    fn exact(&self, name: &str) -> Option<&'e Opt> {
        self.levels.iter().rev().find_map(|level| {
            let family = || level.families.iter().any(|start| name.starts_with(start)).then_some(&FLAG);
            level.options.get(name).or_else(family)
        })
    }

    /// A long option by its name or by the beginning of it.
    fn long(&self, name: &str) -> Option<&'e Opt> {
        self.exact(name).or_else(|| {
            if name.len() < 4 || !name.starts_with("--") {
                return None;
            }
            let mut found =
                self.levels.iter().flat_map(|level| level.options.iter()).filter(|(full, _)| full.starts_with(name));
            let first = found.next().map(|(_, opt)| opt);
            // Among several the one with consequences counts.
            found.fold(first, |best, (_, opt)| if opt.tags.is_empty() { best } else { Some(opt) })
        })
    }
}

impl Parsed<'_> {
    /// Whether a program with subcommands is only asked how it is used, or which version it is.
    pub(crate) fn asks_for_help(&self) -> bool {
        let first = || self.path.first().map(String::as_str);
        let alone = self.path.len() + self.operands.len() == 1;
        self.command.is_empty()
            && (first() == Some("help")
                // `aws SERVICE help`
                || (self.operands.is_empty() && self.path.last().is_some_and(|word| word == "help"))
                || (alone && first() == Some("version"))
                || (first().is_some() && self.unlisted.iter().any(|(name, _)| name == "--help")))
    }
}

/// Reads arguments; `None` where the program needs a subcommand and none that is known was given.
pub(crate) fn read<'e>(entry: &'e Entry, args: &[Word]) -> Result<(Grammar<'e>, Parsed<'e>), String> {
    let mut grammar = Grammar::new(entry);
    let mut args = Cow::Borrowed(args);
    let mut path = Vec::new();
    let mut before = Parsed::default();
    while let Some(level) = grammar.last().filter(|level| !level.subcommands.is_empty()) {
        let places = leading(&grammar, &args, level.depth());
        let words: Vec<&str> = places.iter().map_while(|i| args.get(*i).and_then(Word::constant)).collect();
        let Some((next, taken)) = level.subcommand(&words) else {
            return match words.first() {
                Some(&"help") => {
                    path.push("help".to_owned());
                    Ok((grammar.clone(), Parsed { path, ..before }))
                }
                _ if level.slots.is_empty() && args.iter().any(|arg| arg.constant() == Some("--help")) => {
                    path.push("help".to_owned());
                    Ok((grammar.clone(), Parsed { path, ..before }))
                }
                Some(_) if !level.slots.is_empty() => Ok((grammar.clone(), operands(&grammar, &args, path, before))),
                Some(word) => Err(format!("the subcommand `{word}` is not in the catalogue")),
                // A pattern stands for files: the program's own operands.
                None if !level.slots.is_empty()
                    && places
                        .first()
                        .and_then(|i| args.get(*i))
                        .is_some_and(|word| word.is_pattern() && !word.has_hole()) =>
                {
                    Ok((grammar.clone(), operands(&grammar, &args, path, before)))
                }
                None if places.is_empty() => Ok((grammar.clone(), operands(&grammar, &args, path, before))),
                None => Err("the subcommand is known only when the command runs".to_owned()),
            };
        };
        path.extend(words.iter().take(taken).map(|word| (*word).to_owned()));
        // Options before a subcommand are the program's own.
        let first = places.first().copied().unwrap_or(0);
        let head: Vec<Word> = args.to_mut().drain(..first).collect();
        before = operands(&grammar, &head, Vec::new(), before);
        let gone: Vec<usize> = places.into_iter().take(taken).map(|place| place - first).collect();
        let mut index = 0;
        args.to_mut().retain(|_| {
            index += 1;
            !gone.contains(&(index - 1))
        });
        grammar.levels.push(next);
    }
    let parsed = operands(&grammar, &args, path, before);
    Ok((grammar, parsed))
}

/// Where the first operands stand.
fn leading(grammar: &Grammar<'_>, args: &[Word], most: usize) -> Vec<usize> {
    let mut out = Vec::new();
    let mut i = 0;
    while let Some(arg) = args.get(i) {
        let text = arg.spelled();
        if text == "--" || out.len() >= most {
            break;
        }
        if text.starts_with('-') && text.len() > 1 {
            let takes = !text.contains('=')
                && grammar
                    .long(&text)
                    .or_else(|| last_of_cluster(grammar, &text))
                    .is_some_and(|o| o.value.is_some() && !o.attached);
            i += usize::from(takes);
        } else {
            out.push(i);
        }
        i += 1;
    }
    out
}

/// The option at the end of a cluster, whose value is the next argument.
fn last_of_cluster<'e>(grammar: &Grammar<'e>, text: &str) -> Option<&'e Opt> {
    if text.starts_with("--") || text.chars().count() != 2 {
        return None;
    }
    grammar.exact(text)
}

fn operands<'e>(grammar: &Grammar<'e>, args: &[Word], path: Vec<String>, before: Parsed<'e>) -> Parsed<'e> {
    let mut out = Parsed { path, ..before };
    // A wrapper's options end where its command begins.
    let slots = grammar.last().map_or(&[][..], |entry| entry.slots.as_slice());
    let before_command =
        slots.iter().position(|slot| matches!(slot.role, Role::Argv | Role::RemoteArgv | Role::Script(_)));
    let mut i = 0;
    let mut ended = false;
    while let Some(arg) = args.get(i) {
        i += 1;
        let text = arg.spelled();
        if !ended && text == "--" {
            ended = true;
            out.tags.extend(grammar.exact("--").into_iter().flat_map(|opt| &opt.tags));
            continue;
        }
        if !ended
            && text.len() > 1
            && (text.starts_with('-')
                || (text.starts_with('+') && (grammar.exact(&text).or(grammar.exact("+"))).is_some()))
        {
            i += one(grammar, arg, &text, args.get(i), &mut out);
            continue;
        }
        out.operands.push(arg.clone());
        if grammar.last().is_some_and(|entry| entry.ends) && before_command == Some(out.operands.len()) {
            out.command = args.iter().skip(i).cloned().collect();
            break;
        }
        let other_operands = out.tags.iter().any(|tag| matches!(tag, Tag::As(_)));
        if !other_operands && before_command.is_some_and(|n| out.operands.len() > n) {
            out.command = out.operands.pop().into_iter().chain(args.iter().skip(i).cloned()).collect();
            break;
        }
    }
    out
}

/// Reads one option; how many further arguments it takes.
fn one<'e>(grammar: &Grammar<'e>, arg: &Word, text: &str, next: Option<&Word>, out: &mut Parsed<'e>) -> usize {
    if let (Some(rest), Some(opt), None) = (text.strip_prefix('+'), grammar.exact("+"), grammar.exact(text)) {
        // A line to begin at, or what to look for first, is no command.
        if !(rest.starts_with('/') || matches!(rest, "F" | "G") || rest.bytes().all(|b| b.is_ascii_digit())) {
            out.tags.extend(&opt.tags);
        }
        return 0;
    }
    if text.starts_with("--") || grammar.single_dash() {
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) if grammar.exact(text).is_none() => (name.shown(), Some(value)),
            Some(_) | None => (text.to_owned(), None),
        };
        return match grammar.long(&name) {
            Some(opt) => take(opt, value, next, out),
            None => {
                // `java -javaagent:x.jar`, `javac -Xplugin:x`.
                if let Some((head, value)) = arg.split_once(':')
                    && let Some(opt) = grammar.exact(&head.shown()).filter(|opt| opt.value.is_some())
                {
                    return take(opt, Some(value), next, out);
                }
                // Java's `-Dname=value`, and clusters of programs that read both ways.
                if grammar.single_dash() && cluster(grammar, arg, next, out).is_some() {
                    return 0;
                }
                unlisted(grammar, name, out);
                0
            }
        };
    }
    match cluster(grammar, arg, next, out) {
        Some(used) => used,
        None => {
            unlisted(grammar, text.to_owned(), out);
            0
        }
    }
}

/// A cluster of short options: `-rf`, `-xvzf FILE`, `-ofile`.
fn cluster<'e>(grammar: &Grammar<'e>, arg: &Word, next: Option<&Word>, out: &mut Parsed<'e>) -> Option<usize> {
    let known = arg.prefix();
    if let Some(opt) = grammar.exact(&known) {
        return Some(take(opt, None, next, out));
    }
    let mut at = 1;
    let mut any = false;
    let mut number = None;
    for c in known.chars().skip(1) {
        at += c.len_utf8();
        // `-l012ne`, `-CSDe`: the number of an option is over with its digits, as are perl's letters for what is UTF-8.
        if number.is_some_and(|of| c.is_ascii_digit() || (of == 'C' && "IOEioASDLa".contains(c))) {
            continue;
        }
        number = None;
        match grammar.exact(&format!("-{c}")) {
            Some(opt) if opt.value == Some(Role::Digits) => {
                (any, number) = (true, Some(c));
                out.tags.extend(&opt.tags);
            }
            Some(opt) if opt.value.is_some() => {
                let rest = arg.skip(at).filter(|rest| !rest.is_empty());
                let rest = match rest {
                    Some(rest) if rest.prefix().starts_with('=') && opt.attached => rest.skip(1),
                    rest => rest,
                };
                return Some(take(opt, rest, next, out));
            }
            Some(opt) => {
                any = true;
                // What begins like a plea for help need not be one: `gs -helpme -o …`.
                let quiet = |tag: &&Tag| grammar.single_dash() && matches!(tag, Tag::Inert | Tag::DryRun);
                out.tags.extend(opt.tags.iter().filter(|tag| !quiet(tag)));
            }
            None => {
                if grammar.single_dash() && !any {
                    return None;
                }
                unlisted(grammar, format!("-{c}"), out);
            }
        }
    }
    Some(0)
}

fn take<'e>(opt: &'e Opt, value: Option<Word>, next: Option<&Word>, out: &mut Parsed<'e>) -> usize {
    out.tags.extend(&opt.tags);
    match (opt.value, value) {
        (Some(role), Some(value)) => {
            out.values.push((role, value));
            0
        }
        (Some(role), None) if !opt.attached => {
            if let Some(next) = next {
                out.values.push((role, next.clone()));
            }
            1
        }
        (Some(_) | None, _) => 0,
    }
}

fn unlisted(grammar: &Grammar<'_>, name: String, out: &mut Parsed<'_>) {
    let effect = match told(&name) {
        _ if name == "--help" => Some(Effect::None),
        told if grammar.lenient() => told,
        _ => Some(Effect::Execute),
    };
    if let Some(effect) = effect
        && out.unlisted.len() < MAX_UNLISTED
        && !out.unlisted.iter().any(|(known, _)| *known == name)
    {
        out.unlisted.push((name, effect));
    }
}

/// What an option says of itself: the effect that its name speaks of, if any.
fn told(name: &str) -> Option<Effect> {
    let bare = name.trim_start_matches('-');
    if !name.starts_with('-') || bare.len() < 4 || bare.starts_with("no-") {
        return None;
    }
    let lower = bare.to_ascii_lowercase();
    let first = lower.split(['-', '_', '.']).next().unwrap_or(&lower);
    if matches!(first, "delete" | "drop" | "purge" | "destroy" | "reset" | "wipe") {
        return Some(Effect::Delete);
    }
    let last = lower.rsplit(['-', '_', '.']).next().unwrap_or(&lower);
    Some(match last {
        "exec" | "execute" | "command" | "cmd" | "eval" | "hook" | "preload" | "pager" | "editor" | "preprocessor"
        | "askpass" | "program" | "rsh" => Effect::Execute,
        "output" | "outfile" | "outdir" | "out" => Effect::Update,
        "delete" | "remove" | "purge" | "wipe" | "erase" => Effect::Delete,
        "upload" | "send" => Effect::Send,
        _ => return None,
    })
}

/// Gives each operand its role; operands beyond the grammar are left out of the result.
pub(crate) fn assign(slots: &[Slot], operands: &[Word]) -> (Vec<(Role, Word)>, usize) {
    let one = |slot: &&Slot| matches!(slot.arity, Arity::One);
    let flexible = slots.iter().position(|slot| matches!(slot.arity, Arity::Any | Arity::Some));
    let mut out = Vec::new();
    let Some(at) = flexible else {
        // Optional operands take what the required ones leave.
        let mut spare = operands.len().saturating_sub(slots.iter().filter(one).count());
        let mut words = operands.iter();
        for slot in slots {
            if slot.arity == Arity::Optional {
                if spare == 0 {
                    continue;
                }
                spare -= 1;
            }
            match words.next() {
                Some(word) => out.push((slot.role, word.clone())),
                None => break,
            }
        }
        return (out, words.len());
    };
    let after = slots.iter().skip(at + 1).filter(one).count();
    // Of several the last is what `read* write?` writes.
    let optional = slots.iter().skip(at + 1).filter(|slot| slot.arity == Arity::Optional).count();
    let optional = optional.min(operands.len().saturating_sub(at + after + 1));
    let middle_end = operands.len().saturating_sub(after + optional);
    let mut words = operands.iter().enumerate().peekable();
    for slot in slots.iter().take(at) {
        if let Some((_, word)) = words.next() {
            out.push((slot.role, word.clone()));
        }
    }
    let Some(many) = slots.get(at) else { return (out, 0) };
    while let Some((_, word)) = words.next_if(|(i, _)| *i < middle_end) {
        out.push((many.role, word.clone()));
    }
    let mut spare = optional;
    for slot in slots.iter().skip(at + 1) {
        if slot.arity == Arity::Optional && spare == 0 {
            continue;
        }
        spare = spare.saturating_sub(usize::from(slot.arity == Arity::Optional));
        if let Some((_, word)) = words.next() {
            out.push((slot.role, word.clone()));
        }
    }
    (out, 0)
}
