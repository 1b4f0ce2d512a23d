//! A command for each of many: of what `fd` finds, of what `parallel` is given behind `:::` (fd(1), "--exec"; GNU parallel(1)).

use crate::catalogue::Role;
use crate::machine::{Machine, Stream, Word};

/// The most commands that are followed one by one.
const MAX_COMMANDS: usize = 32;

/// Options of parallel that take a value and say only how many at once, how often or how it is shown.
const VALUED: &[&str] = &["-j", "--jobs", "-P", "--halt", "--delay", "--timeout", "--retries", "--load"];

/// Those that say how many stand in one command.
const COUNTED: &[&str] = &["-n", "-N", "--max-args"];

/// Those by which as many as there is room for do.
const TOGETHER: &[&str] = &["-X", "-m", "--xargs"];

/// Those that take none.
const FLAGS: &[&str] = &[
    "-k",
    "--keep-order",
    "--bar",
    "--eta",
    "--progress",
    "-v",
    "--verbose",
    "-t",
    "--tag",
    "-u",
    "--ungroup",
    "--lb",
    "--line-buffer",
    "--will-cite",
    "--group",
    "--no-notice",
];

impl Machine<'_> {
    /// Runs the command for each, where it is known what each is.
    pub(super) fn for_each_of(&mut self, base: &str, rest: &[Word], stdin: &Stream) -> Option<Stream> {
        match base {
            "fd" | "fdfind" => self.found_by_fd(base, rest, stdin),
            "parallel" => {
                let before = self.effort;
                let out = self.in_parallel(rest).or_else(|| self.in_parallel_from(rest, stdin));
                let did = self.effort.since(before);
                self.judge_at_once(jobs(rest), did, stdin);
                out
            }
            _ => None,
        }
    }

    fn found_by_fd(&mut self, base: &str, rest: &[Word], stdin: &Stream) -> Option<Stream> {
        let exec = |word: &Word| matches!(word.constant(), Some("-x" | "-X" | "--exec" | "--exec-batch"));
        let at = rest.iter().position(exec)?;
        let command = rest.get(at + 1..)?;
        let end = command.iter().position(|word| word.constant() == Some(";")).unwrap_or(command.len());
        let (command, behind) = (command.get(..end)?, command.get(end + 1..).unwrap_or_default());
        command.first()?;
        // Of a command for each of what another one is given for each, nobody counts how often it runs.
        if command.iter().any(exec) {
            return None;
        }
        let looking: Vec<Word> = rest.get(..at)?.iter().chain(behind).cloned().collect();
        let entry = crate::catalogue::entry(base)?;
        // Another folder to look in, or to be in, and what no catalogue has: which files those are is not known.
        let (_, parsed) = super::options::read(entry, &looking).ok()?;
        let elsewhere = parsed.values.iter().any(|(role, _)| matches!(role, Role::Folder | Role::ReadTree));
        if elsewhere || !parsed.unlisted.is_empty() {
            return None;
        }
        let mut found = self.apply(entry, &looking, stdin).listing;
        if found.is_empty() {
            found.push(Word::text(".").all_below());
        }
        (found.len() <= MAX_COMMANDS).then_some(())?;
        let mut out = Stream::unknown();
        for one in &found {
            let words = of_one(command, one);
            out = out.then(self.start(words, Stream::unknown()));
        }
        Some(out.with_text(None))
    }

    fn in_parallel(&mut self, rest: &[Word]) -> Option<Stream> {
        let at = rest.iter().position(|word| word.constant() == Some(":::"))?;
        let (mut own, given) = (rest.get(..at)?, rest.get(at + 1..)?);
        let mut together = false;
        while let [option, more @ ..] = own {
            let text = option.constant()?;
            own = match text {
                _ if FLAGS.contains(&text) => more,
                // Which of them stand together is not followed.
                _ if COUNTED.contains(&text) => return None,
                _ if TOGETHER.contains(&text) => {
                    together = true;
                    more
                }
                _ if VALUED.contains(&text) => more.get(1..)?,
                _ if text.starts_with("-j") || text.starts_with("--jobs=") => more,
                _ if text.starts_with('-') => return None,
                _ => break,
            };
        }
        let command: Vec<&str> = own.iter().map(Word::constant).collect::<Option<_>>()?;
        let plain = !given.iter().any(|word| matches!(word.constant(), Some(":::" | "::::" | ":::+")));
        if command.is_empty() || command.contains(&"parallel") || !plain || given.len() > MAX_COMMANDS {
            return None;
        }
        // A shell reads what is put together.
        let line = command.join(" ");
        if together && line.contains('{') {
            return None;
        }
        let mut out = Stream::unknown();
        let mut all = line.clone();
        for word in given {
            let one = word.known()?;
            // What the shell could read as anything but a name is quoted in ways of its own.
            let plain =
                |c: char| c.is_alphanumeric() || "_-./+,@%=:".contains(c) || (word.is_pattern() && "*?[]".contains(c));
            one.chars().all(plain).then_some(())?;
            let last = one.rsplit('/').next().unwrap_or(&one);
            let stem = |name: &str| name.rsplit_once('.').map_or_else(|| name.to_owned(), |(stem, _)| stem.to_owned());
            let folder = one.rsplit_once('/').map_or(".", |(folder, _)| folder);
            let line = if line.contains('{') {
                let line = first_named(&line);
                let line = line.replace("{}", &one).replace("{.}", &stem(&one)).replace("{//}", folder);
                line.replace("{/.}", &stem(last)).replace("{/}", last).replace("{#}", "1").replace("{%}", "1")
            } else {
                format!("{line} {one}")
            };
            if is_left(&line) {
                return None;
            }
            if together {
                all.push(' ');
                all.push_str(&one);
                continue;
            }
            out = out.then(self.script(&line, &Stream::unknown()));
        }
        if together {
            out = self.script(&all, &Stream::unknown());
        }
        Some(out.with_text(None))
    }

    /// `parallel COMMAND` for each line of its input or of a file, where that lists files (GNU parallel(1), "--arg-file").
    fn in_parallel_from(&mut self, rest: &[Word], stdin: &Stream) -> Option<Stream> {
        let mut own = rest;
        let mut file = None;
        let mut together = false;
        while let [option, more @ ..] = own {
            let text = option.constant()?;
            own = match text {
                "-a" | "--arg-file" => {
                    file = more.first();
                    more.get(1..)?
                }
                "-0" | "--null" => more,
                _ if FLAGS.contains(&text) => more,
                _ if COUNTED.contains(&text) => return None,
                _ if TOGETHER.contains(&text) => {
                    together = true;
                    more
                }
                _ if VALUED.contains(&text) => more.get(1..)?,
                _ if text.starts_with("-j") || text.starts_with("--jobs=") => more,
                _ if text.starts_with('-') => return None,
                _ => break,
            };
        }
        let plain = |word: &Word| {
            !word.has_hole()
                && word.constant().is_some_and(|text| !text.contains([' ', ';', '|', '&', '$', '`', '>', '<', ':']))
        };
        if own.is_empty() || own.iter().any(|word| word.constant() == Some("parallel")) || !own.iter().all(plain) {
            return None;
        }
        let input = match file {
            Some(file) => self.read_file(file),
            None => stdin.clone(),
        };
        let counted = (1..=MAX_COMMANDS).contains(&input.listing.len());
        (counted && input.text.is_none()).then_some(())?;
        let own: Vec<Word> = own.iter().map(|word| Word::text(first_named(&word.shown()))).collect();
        if together {
            let named = own.iter().any(|word| word.shown().contains('{'));
            let words = own.into_iter().chain(input.listing.iter().cloned());
            return (!named).then(|| self.start(words.collect(), Stream::unknown()).with_text(None));
        }
        let mut out = Stream::unknown();
        for one in &input.listing {
            let words = of_one(&own, one);
            if words.iter().any(|word| is_left(&word.shown())) {
                return None;
            }
            out = out.then(self.start(words, Stream::unknown()));
        }
        Some(out.with_text(None))
    }
}

/// How many jobs parallel starts at once; 0 is as many as there are (GNU parallel(1), "--jobs").
fn jobs(rest: &[Word]) -> u32 {
    let own = rest.iter().take_while(|word| !word.prefix().starts_with(":::")).collect::<Vec<_>>();
    let given = own.iter().enumerate().find_map(|(i, word)| {
        let text = word.constant()?;
        if matches!(text, "-j" | "-P" | "--jobs" | "--max-procs") {
            return own.get(i + 1)?.constant()?.parse().ok();
        }
        ["--jobs=", "--max-procs=", "-j", "-P"].iter().find_map(|option| text.strip_prefix(option)?.parse().ok())
    });
    given.unwrap_or(1)
}

/// The words of a command with one file in the place of what stands for it, or behind them.
fn of_one(command: &[Word], one: &Word) -> Vec<Word> {
    let named = command.iter().any(|word| word.shown().contains('{'));
    let (folder, stem, last, short) = parts_of(one);
    let filled = command.iter().map(|word| {
        let word = word.replace("{}", one).replace("{//}", &folder).replace("{/.}", &short);
        word.replace("{.}", &stem).replace("{/}", &last)
    });
    filled.chain((!named).then(|| one.clone())).collect()
}

/// The folder of a file, the file and its name without what comes behind the last dot, and its name. Of a pattern for whole folders each is
/// the pattern, or any name.
fn parts_of(one: &Word) -> (Word, Word, Word, Word) {
    let any = || Word::pattern("*");
    let Some(text) = one.known() else { return (one.clone(), one.clone(), any(), any()) };
    let made = |text: &str| if one.is_pattern() { Word::pattern(text) } else { Word::text(text) };
    let (folder, last) = text.rsplit_once('/').unwrap_or((".", &text));
    if last.contains("**") {
        return (one.clone(), one.clone(), any(), any());
    }
    let short = last.rsplit_once('.').map_or(last, |(short, _)| short);
    let stem = text.get(..text.len() - (last.len() - short.len())).unwrap_or(&text);
    (made(folder), made(stem), made(last), made(short))
}

/// `{1}` and its kin, which are `{}` where there is one source of what is given.
fn first_named(line: &str) -> String {
    ["}", ".}", "/}", "//}", "/.}"]
        .iter()
        .fold(line.to_owned(), |line, end| line.replace(&format!("{{1{end}"), &format!("{{{end}")))
}

/// Whether something in a text still stands for what is given: by a number, a sign or an expression.
fn is_left(line: &str) -> bool {
    line.split('{').skip(1).any(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '}' | '.' | '/' | '+' | '-' | '#' | '%' | '='))
    })
}

/// Letters of `xargs` that stand together, each as an option of its own: `-0I{}` (xargs(1)).
pub(super) fn apart(rest: &[Word]) -> Vec<Word> {
    let mut out: Vec<Word> = Vec::new();
    let mut words = rest.iter();
    for word in words.by_ref() {
        let mut text = word.shown();
        if !text.starts_with('-') || text == "-" {
            let takes = |flag: &Word| super::tasks::has("-n -P -I -J -L -d -a -s -E -R -S", &flag.shown());
            let value = out.last().is_some_and(takes);
            out.push(word.clone());
            if value {
                continue;
            }
            break;
        }
        while let Some(more) =
            text.strip_prefix('-').filter(|more| more.len() > 1 && more.starts_with(['0', 'r', 't', 'p', 'x', 'o']))
        {
            let (letter, rest) = more.split_at(1);
            out.push(Word::text(format!("-{letter}")));
            text = format!("-{rest}");
        }
        out.push(if text == word.shown() { word.clone() } else { Word::text(text) });
    }
    out.extend(words.cloned());
    out
}

/// The most words of an input that are followed one by one.
const MAX_ITEMS: usize = 128;

/// The words that `xargs` makes of its input.
pub(super) fn items(input: &Stream, delimiter: Option<char>, lines: bool) -> Vec<Word> {
    match &input.text {
        Some(text) => {
            let split: Vec<&str> = match delimiter {
                Some(c) => text.split(c).filter(|item| !item.is_empty()).collect(),
                None if lines => text.lines().map(str::trim).filter(|item| !item.is_empty()).collect(),
                None => text.split_whitespace().collect(),
            };
            let word = |item: &&str| {
                let item = item.trim_end_matches('\n');
                let inside = |quote: char| item.strip_prefix(quote)?.strip_suffix(quote);
                let bare = inside('\'').or_else(|| inside('"')).unwrap_or(item);
                // Other quotes and backslashes go away too (xargs(1)).
                match delimiter {
                    Some(_) => Word::text(item),
                    None if bare.contains(['\\', '\'', '"']) => Word::hole("stdin"),
                    None => Word::text(bare),
                }
            };
            let more = (split.len() > MAX_ITEMS).then(|| Word::holes("stdin"));
            split.iter().take(MAX_ITEMS).map(word).chain(more).collect()
        }
        None if !input.listing.is_empty() => input.listing.clone(),
        None => vec![Word::holes("stdin")],
    }
}
