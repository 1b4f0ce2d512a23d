//! Builtins that set variables to what they read: `read`, `mapfile`, `getopts` (Bash reference manual 4.1, 4.2).

use crate::machine::{Machine, Stream, Variable, Word};

/// The most lines that become elements of an array.
const MAX_LINES: usize = 512;

/// What `read` is told.
#[derive(Default)]
struct Reading {
    names: Vec<String>,
    /// Whether backslashes stay.
    raw: bool,
    /// Whether it takes an end of its own, or less than a line.
    altered: bool,
    /// Whether names that end with a NUL are read one by one.
    by_nul: bool,
    array: bool,
}

impl Machine<'_> {
    pub(super) fn read_builtin(&mut self, rest: &[Word], stdin: &Stream) -> Stream {
        let mut told = Reading::default();
        let mut stdin = stdin.clone();
        let mut words = rest.iter();
        let mut options = true;
        while let Some(word) = words.next() {
            let Some(text) = word.known() else {
                // It may be the name of any variable.
                self.scope.forget();
                continue;
            };
            options &= text.len() > 1 && text.starts_with('-');
            if !options {
                told.names.push(text);
                continue;
            }
            for (at, letter) in text.char_indices().skip(1) {
                match letter {
                    'r' => told.raw = true,
                    's' | 'e' => {}
                    '-' => options = false,
                    'a' | 'd' | 'i' | 'n' | 'N' | 'p' | 't' | 'u' => {
                        let attached = text.get(at + 1..).filter(|value| !value.is_empty()).map(Word::text);
                        let value = attached.or_else(|| words.next().cloned()).unwrap_or_default();
                        match letter {
                            'a' => {
                                told.array = true;
                                told.names.push(value.shown());
                            }
                            'd' if value.is_empty() => told.by_nul = true,
                            'u' => {
                                let held = self.files.get(&format!("/dev/fd/{}", value.shown()));
                                stdin = held.cloned().unwrap_or_default();
                            }
                            'p' | 'i' => {}
                            _ => told.altered = true,
                        }
                        break;
                    }
                    _ => told.altered = true,
                }
            }
        }
        let single = told.names.len() == 1 && !told.array;
        for name in &told.names {
            let value = if single { self.value_read(&told, &stdin) } else { None };
            let value = match value {
                Some(word) => Variable::Scalar(word),
                None if told.array => Variable::any_array(name),
                None => Variable::Unknown,
            };
            self.keeps_origin(name, &value, &stdin);
            self.assign_variable(name, value);
        }
        if told.names.is_empty() {
            self.keeps_origin("REPLY", &Variable::Unknown, &stdin);
            self.scope.set("REPLY", Variable::Unknown);
        }
        Stream::empty()
    }

    /// The one value that is read. Inside a loop each round reads another line: only a single constant line is a value.
    fn value_read(&self, told: &Reading, stdin: &Stream) -> Option<Word> {
        let Some(text) = &stdin.text else {
            return self.one_of(&stdin.listing).filter(|_| !told.altered);
        };
        let mut lines = text.lines();
        let (Some(line), None) = (lines.next(), lines.next()) else { return None };
        // At its ends `IFS` is cut off (POSIX XCU 2.6.5): blanks as they are, another sign once at most.
        let separators = self.separators();
        let line = line.trim_matches(|c: char| c.is_whitespace() && separators.contains(c));
        let signs = line.starts_with(|c| separators.contains(c)) || line.ends_with(|c| separators.contains(c));
        let escaped = !told.raw && line.contains('\\');
        (!told.altered && !told.by_nul && !signs && !escaped).then(|| Word::text(line))
    }

    /// Each line as an element of an array (bash(1), "mapfile").
    pub(super) fn read_lines(&mut self, rest: &[Word], stdin: &Stream) -> Stream {
        let mut words = rest.iter();
        let mut name = "MAPFILE";
        let mut whole = true;
        while let Some(word) = words.next() {
            match word.constant() {
                Some("-t") => {}
                Some(option) if option.starts_with('-') => {
                    whole = false;
                    let callback = if option.starts_with("-C") { option.get(2..) } else { None };
                    let value = callback.filter(|text| !text.is_empty()).map(Word::text);
                    let takes = option.len() == 2 && matches!(option, "-d" | "-n" | "-O" | "-s" | "-u" | "-C" | "-c");
                    let value = value.or_else(|| if takes { words.next().cloned() } else { None });
                    if let Some(code) = value.filter(|_| callback.is_some()) {
                        self.shell_text(&code, &Stream::unknown());
                    }
                }
                Some(given) => name = given,
                None => {
                    whole = false;
                    self.scope.forget();
                }
            }
        }
        let lines = stdin.text.as_deref().filter(|_| whole).map(|text| text.lines().map(Word::text));
        let value = match lines {
            Some(lines) if lines.clone().count() <= MAX_LINES => Variable::Array(lines.collect()),
            Some(_) => Variable::any_array(name),
            None => {
                let names = self.one_of(&stdin.listing).map(|names| Variable::Array(vec![names]));
                names.unwrap_or_else(|| Variable::any_array(name))
            }
        };
        self.keeps_origin(name, &value, stdin);
        self.assign_variable(name, value);
        Stream::empty()
    }

    /// What is read into a variable comes from where the input comes from.
    fn keeps_origin(&mut self, name: &str, value: &Variable, stdin: &Stream) {
        let known = stdin.remote || stdin.decoded || !stdin.sources.is_empty();
        let open = match value {
            Variable::Unknown => true,
            Variable::Array(words) => words.iter().any(Word::is_many),
            Variable::Scalar(_) | Variable::Unset => false,
        };
        if open && known {
            self.origins.insert(name.to_owned(), Stream { listing: Vec::new(), ..stdin.origin() });
        }
    }

    /// `getopts` sets a name, and what belongs to it (POSIX XCU, `getopts`).
    pub(super) fn next_option(&mut self, rest: &[Word]) -> Stream {
        match rest.get(1).map(Word::constant) {
            Some(Some(name)) => self.assign_variable(name, Variable::Unknown),
            Some(None) => self.scope.forget(),
            None => {}
        }
        self.scope.set("OPTARG", Variable::Unknown);
        self.scope.set("OPTIND", Variable::Unknown);
        Stream::unknown()
    }
}
