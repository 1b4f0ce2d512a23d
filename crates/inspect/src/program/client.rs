//! Commands of database clients among statements: `\\…` of psql and mysql, `.…` of sqlite3 (their manuals).

use countersign_plan::tool::Effect;

use super::embedded::quoted;
use crate::bounded::Bounded as _;
use crate::inspection::{FindingKind, UnknownKind};
use crate::machine::{Machine, Stream, Word};

/// The most files that the server is told to write.
const MAX_FILES: usize = 32;

/// Whether statements name what a server keeps of its users' passwords (PostgreSQL, "pg_authid", "pg_shadow"; MySQL, "Grant Tables"; SQL
/// Server, "sys.sql_logins"; Oracle, "SYS.USER$").
pub(super) fn keeps_passwords(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let stores = ["pg_shadow", "pg_authid", "mysql.user", "sys.sql_logins", "sys.user$"];
    stores.iter().any(|name| lower.contains(name)) || shows_credentials(&lower)
}

/// Columns in which programs keep what lets somebody in, as their makers call them.
const CREDENTIALS: &str = "token access_token refresh_token auth_token session_token api_token id_token bearer_token secret client_secret secret_key \
    api_key apikey private_key password passwd pwd password_hash passwordhash pass_hash encrypted_password totp_secret otp_secret recovery_code \
    recovery_codes session_key cookie_value";

/// Whether a statement shows such a column itself, and not how many of them there are.
fn shows_credentials(lower: &str) -> bool {
    lower.split("select ").skip(1).at_most(MAX_FILES).any(|rest| {
        let columns = rest.split(" from ").next().unwrap_or(rest);
        let ends = |c: char| c == ',' || c.is_whitespace();
        columns.split(ends).any(|column| {
            let bare = column.trim_matches(['"', '`', '[', ']', '\'']);
            super::tasks::has(CREDENTIALS, bare.rsplit('.').next().unwrap_or(bare))
        })
    })
}

impl Machine<'_> {
    /// Files that a statement has the server write, without which it is read on (MySQL Reference Manual, "SELECT ... INTO Statement").
    fn without_files(&mut self, text: &str) -> Option<String> {
        let lower = text.to_ascii_lowercase();
        let (at, word) = ["into dumpfile", "into outfile"].iter().find_map(|word| Some((lower.find(word)?, word)))?;
        let after = text.get(at + word.len()..)?.trim_start();
        let mark = after.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (path, more) = after.get(1..)?.split_once(mark)?;
        // How fields and lines end says nothing of what is done; where they come from does.
        let end = more.find(';').unwrap_or(more.len());
        let (options, rest) = (more.get(..end)?.trim_start(), more.get(end..)?);
        let shapes =
            ["fields", "columns", "lines", "character"].iter().any(|how| options.to_ascii_lowercase().starts_with(how));
        let kept = if shapes { "" } else { options };
        if shapes && options.contains('(') || options.to_ascii_lowercase().contains(" from ") {
            return None;
        }
        self.touch_path(Effect::Update, &Word::text(path), false);
        self.unknown(UnknownKind::Value, Effect::Update, "the server writes a file, which lies on its own machine");
        let before = text.get(..at)?;
        for body in quoted(before).into_iter().chain(hexadecimal(before)).at_most(MAX_FILES) {
            self.judge_text_of(path, &body);
        }
        Some(format!("{} {kept}{rest}", before.trim_end()))
    }

    /// Reads statements, line by line where a client's own commands are among them.
    pub(crate) fn statements(&mut self, text: &str) {
        let mut read = std::borrow::Cow::Borrowed(text);
        if matches!(self.by.as_str(), "mysql" | "mariadb") {
            // So many files of one text are looked for; with more of them it is not read.
            for _ in 0..MAX_FILES {
                let Some(rest) = self.without_files(&read) else { break };
                read = rest.into();
            }
        }
        let text = read.as_ref();
        let own = |line: &str| {
            let line = line.trim_start();
            (line.starts_with('\\') && line.len() > 1)
                || (line.starts_with('.')
                    && line.get(1..).is_some_and(|l| l.starts_with(|c: char| c.is_ascii_lowercase())))
                || is_word_of_mysql(line)
        };
        let mut sql = String::new();
        let mut any = false;
        for line in text.lines() {
            if own(line) {
                any = true;
                self.client_command(line.trim());
            } else if let Some((statement, command)) =
                line.split_once("\\!").filter(|(s, _)| s.matches('\'').count() % 2 == 0)
            {
                any = true;
                sql.push_str(statement);
                sql.push('\n');
                self.client_command(&format!("\\!{command}"));
            } else if let Some((statement, command)) = line.split_once(" \\g").filter(|_| !line.contains('\'')) {
                any = true;
                sql.push_str(statement);
                sql.push_str(";\n");
                self.client_command(&format!("\\g{command}"));
            } else {
                sql.push_str(line);
                sql.push('\n');
            }
        }
        let by = self.by.clone();
        if by == "duckdb" {
            let plain = if any { sql } else { text.to_owned() };
            (sql, any) = (self.extensions(&plain), true);
        }
        // MySQL's other way to end a statement.
        let vertical = matches!(by.as_str(), "mysql" | "mariadb") && text.trim_end().ends_with("\\G");
        let plain = if vertical { text.trim_end().trim_end_matches("\\G") } else { text };
        let mut inspection = crate::sql::sql(if any { &sql } else { plain });
        for touch in &mut inspection.touches {
            touch.by.clone_from(&by);
            // A client reads files from the folder that it was started in.
            let relative = touch.kind == countersign_plan::tool::TargetKind::File && !touch.name.starts_with('/');
            if let ([path], true) =
                (self.paths(&Word::text(touch.name.as_str())).as_slice(), relative && !touch.name.contains("${"))
            {
                touch.name.clone_from(path);
            }
        }
        // The server's own machine is none the less somebody's.
        self.copied_out(&inspection);
        self.judge_planted_by_statements(text, &inspection);
        // What lies in memory is gone with the program (sqlite3(1), DuckDB's command line).
        if self.in_memory && !text.to_ascii_lowercase().contains("attach") {
            inspection.touches.retain(|touch| {
                touch.kind != countersign_plan::tool::TargetKind::Database || touch.name.contains("://")
            });
            inspection.findings.retain(|finding| finding.kind != FindingKind::UnboundedStatement);
        }
        let process = |touch: &&crate::inspection::Touch| {
            touch.effect == Effect::Execute && touch.kind == countersign_plan::tool::TargetKind::Process
        };
        let lines: Vec<String> = inspection.touches.iter().filter(process).map(|touch| touch.name.clone()).collect();
        crate::inspection::Build::absorb(&mut self.out, inspection);
        for line in lines {
            let line = line.strip_prefix('\'').and_then(|line| line.strip_suffix('\'')).unwrap_or(&line);
            // What it is given are rows, which may be a text to decode.
            let inner = crate::shell::shell(&format!("echo WA== | {line}"), self.context);
            let sent = inner.touches.iter().filter(|touch| touch.effect == Effect::Send);
            let hosts: Vec<String> = sent.map(|touch| touch.name.clone()).collect();
            // Rows that the server hands to a program of its own go where that talks to (PostgreSQL, "COPY").
            let told =
                text.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_lowercase().contains(" to program '");
            for (from, _) in [("secret", keeps_passwords(text)), ("rows", told)].iter().filter(|(_, is)| *is) {
                hosts.iter().for_each(|host| self.leaves(from, host));
            }
            self.absorb_grave(inner);
        }
        let lower = text.to_ascii_lowercase();
        self.ends_databases |= ["'drop database", "'drop schema"].iter().any(|text| lower.contains(text));
    }

    /// What statements write into a place from which code runs by itself stands in their texts (SQLite, "File I/O Functions";
    /// PostgreSQL, "COPY"; MySQL, "SELECT … INTO").
    fn judge_planted_by_statements(&mut self, text: &str, inspection: &crate::inspection::Inspection) {
        let home = &self.context.home;
        let planted = |touch: &&crate::inspection::Touch| {
            touch.kind == countersign_plan::tool::TargetKind::File
                && touch.effect == Effect::Update
                && crate::file::runs_by_itself(&touch.name, home)
        };
        let places: Vec<String> =
            inspection.touches.iter().filter(planted).map(|touch| touch.name.clone()).at_most(MAX_FILES).collect();
        if places.is_empty() {
            return;
        }
        // Texts that are put one behind the other are one; `char(10)` ends a line, as every other text does.
        let mut pieces = String::new();
        let mut outside = String::new();
        for (i, piece) in text.replace("''", "\u{1}").split('\'').enumerate() {
            if i % 2 == 0 {
                outside = piece.split_whitespace().collect::<String>().to_ascii_lowercase();
                continue;
            }
            if outside != "||" {
                pieces.push('\n');
            }
            pieces.push_str(&piece.replace('\u{1}', "'"));
        }
        for place in places {
            self.judge_written(&place, &Stream::constant(pieces.as_str()));
        }
    }

    /// `COPY (…) TO 's3://…'`: what the statements read goes to that host (DuckDB, "S3 API Support").
    fn copied_out(&mut self, inspection: &crate::inspection::Inspection) {
        let file = |touch: &&crate::inspection::Touch| touch.kind == countersign_plan::tool::TargetKind::File;
        // Names of files are told from the folder: `/work/s3:/bucket/a`.
        let place = |touch: &crate::inspection::Touch| {
            let (scheme, rest) = touch.name.split_once(":/")?;
            let scheme = scheme.rsplit('/').next().filter(|scheme| scheme.len() > 1)?;
            crate::host::read(&format!("{scheme}://{}", rest.trim_start_matches('/'))).name
        };
        let changed = |touch: &&crate::inspection::Touch| touch.effect == Effect::Update;
        let Some(host) = inspection.touches.iter().filter(file).filter(changed).find_map(place) else { return };
        self.touch_host(&Word::text(host.as_str()));
        for read in inspection.touches.iter().filter(file).filter(|touch| touch.effect == Effect::Read) {
            for path in self.paths(&Word::text(read.name.as_str())) {
                self.leaves(&path, &host);
            }
        }
    }

    /// The statements without those that bring in extensions of DuckDB, which are code: from its own repository, or from where they say
    /// (DuckDB, "Installing extensions").
    fn extensions(&mut self, text: &str) -> String {
        let mut kept = Vec::new();
        for statement in text.split(';') {
            let mut words = statement.split_whitespace().map(|word| word.trim_matches(['\'', '"']));
            let first = words.next().unwrap_or("").to_ascii_lowercase();
            let from = statement.to_ascii_lowercase().find(" from ").and_then(|at| statement.get(at + 6..));
            match (first.as_str(), from.map(|from| from.trim().trim_matches(['\'', '"']))) {
                ("install", Some(place)) if place.contains("://") => {
                    self.touch_host(&Word::text(place));
                    self.find(FindingKind::DownloadAndExecute, format!("an extension of DuckDB comes from {place}"));
                }
                ("load", None) if words.next().is_some_and(|name| !name.contains('/')) => {}
                _ => kept.push(statement),
            }
        }
        kept.join(";")
    }

    /// `\copy … {from|to} {FILE | program 'LINE' | stdin | stdout}`: on this machine, as `\!` does (psql(1), "\copy").
    fn copied_by_client(&mut self, rest: &str) {
        let told = words_outside(rest).unwrap_or_default();
        let at = told
            .iter()
            .rposition(|(quoted, word)| !quoted && matches!(word.to_ascii_lowercase().as_str(), "from" | "to"));
        let ends = at.and_then(|at| Some((told.get(at)?, told.get(at + 1)?, told.get(at + 2))));
        match ends {
            Some((_, (false, program), line)) if program.eq_ignore_ascii_case("program") => match line {
                Some((true, line)) => drop(self.script(line, &Stream::unknown())),
                _ => self.unknown(UnknownKind::Code, Effect::Execute, "`\\copy` runs a program"),
            },
            Some((_, (false, name), _))
                if matches!(name.to_ascii_lowercase().as_str(), "stdin" | "stdout" | "pstdin" | "pstdout") => {}
            Some(((_, way), (_, file), _)) => {
                let effect = if way.eq_ignore_ascii_case("to") { Effect::Update } else { Effect::Read };
                self.touch_path(effect, &Word::text(file.as_str()), false);
            }
            None => self.unknown(UnknownKind::Code, Effect::Execute, "what `\\copy` is told cannot be read"),
        }
    }

    fn client_command(&mut self, line: &str) {
        let (name, rest) = line.split_once(|c: char| c.is_whitespace()).unwrap_or((line, ""));
        let rest = rest.trim().trim_end_matches(';');
        let first = rest.split_whitespace().next().unwrap_or("").trim_matches(['\'', '"']);
        let name = name.trim_end_matches(';');
        match name.trim_start_matches(['\\', '.']).trim_end_matches('+') {
            _ if name.starts_with("\\!") => {
                let command = line.trim_start_matches("\\!").trim();
                self.script(command, &Stream::unknown());
            }
            "shell" | "system" => {
                self.script(rest, &Stream::unknown());
            }
            "g" | "gx" | "o" | "out" | "output" | "once" | "w" | "write" | "T" | "tee" | "log" | "backup" | "save"
            | "clone" | "excel" | "spool" => match rest.strip_prefix('|') {
                Some(command) => {
                    self.script(command, &Stream::unknown());
                }
                None if first.is_empty() || first == "stdout" => {}
                None => {
                    let path = rest.split_whitespace().next_back().unwrap_or(first).trim_matches(['\'', '"']);
                    self.touch_path(Effect::Update, &Word::text(path), false);
                }
            },
            "i" | "ir" | "include" | "read" | "source" | "load" | "restore" => match rest.strip_prefix('|') {
                Some(command) => {
                    self.script(command, &Stream::unknown());
                }
                None => self.touch_path(Effect::Execute, &Word::text(first), false),
            },
            "import" => {
                let path = rest.split_whitespace().find(|word| !word.starts_with('-')).unwrap_or("");
                match path.strip_prefix('|') {
                    Some(_) => self.unknown(UnknownKind::Code, Effect::Execute, "`.import` reads from a command"),
                    None => self.touch_path(Effect::Read, &Word::text(path.trim_matches(['\'', '"'])), false),
                }
            }
            "open" => self.touch_path(Effect::Update, &Word::text(first), false),
            "copy" => {
                self.copied_by_client(rest);
            }
            "c" | "connect" | "r" if !first.is_empty() => {
                self.unknown(UnknownKind::Value, Effect::Send, format!("`{name}` connects to another database"));
            }
            "e" | "edit" | "ef" | "ev" | "P" | "pager" | "lo_import" | "lo_export" | "password" | "gexec"
            | "setenv"
                if name.starts_with('\\') =>
            {
                self.unknown(UnknownKind::Code, Effect::Execute, format!("`{name}` goes beyond what is analysed"));
            }
            other if is_harmless(other) => {}
            "dump" | "fullschema" => {}
            _ => {
                self.unknown(
                    UnknownKind::Option,
                    Effect::Execute,
                    format!("the client's command `{name}` is not known"),
                );
            }
        }
        if name == "\\!" && rest.is_empty() {
            self.find(FindingKind::LoadsCode, "`\\!` opens a shell");
        }
    }
}

/// The words of a command that stand in no bracket, and whether each was in quotes; nothing where quotes or brackets do not close.
fn words_outside(text: &str) -> Option<Vec<(bool, String)>> {
    let mut out: Vec<(bool, String)> = Vec::new();
    let mut depth = 0_usize;
    let mut goes_on = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                let mut body = String::new();
                loop {
                    match chars.next()? {
                        end if end == c && chars.peek() == Some(&c) => body.extend(chars.next()),
                        end if end == c => break,
                        other => body.push(other),
                    }
                }
                if depth == 0 {
                    out.push((true, body));
                }
                goes_on = false;
            }
            '(' => (depth, goes_on) = (depth + 1, false),
            ')' => (depth, goes_on) = (depth.checked_sub(1)?, false),
            _ if depth > 0 => {}
            c if c.is_whitespace() => goes_on = false,
            c => {
                match out.last_mut().filter(|_| goes_on) {
                    Some((_, word)) => word.push(c),
                    None => out.push((false, c.to_string())),
                }
                goes_on = true;
            }
        }
    }
    (depth == 0).then_some(out)
}

/// `system id`, `source file` and `tee file` of mysql stand at the beginning of a line, without a mark.
fn is_word_of_mysql(line: &str) -> bool {
    ["system ", "source ", "tee "].iter().any(|word| line.starts_with(word))
}

/// Commands that show, count or shape.
fn is_harmless(name: &str) -> bool {
    let shows = |name: &str| {
        name.strip_prefix('d')
            .is_some_and(|rest| rest.len() <= 4 && rest.chars().all(|c| c.is_ascii_alphabetic() || c == 'S'))
    };
    shows(name)
        || matches!(
            name,
            "l" | "list"
                | "z"
                | "sf"
                | "sv"
                | "x"
                | "a"
                | "t"
                | "H"
                | "f"
                | "C"
                | "q"
                | "quit"
                | "exit"
                | "h"
                | "help"
                | "?"
                | "conninfo"
                | "timing"
                | "pset"
                | "echo"
                | "qecho"
                | "warn"
                | "set"
                | "unset"
                | "errverbose"
                | "encoding"
                | "prompt"
                | "if"
                | "elif"
                | "else"
                | "endif"
                | "watch"
                | "gdesc"
                | "gset"
                | "crosstabview"
                | "p"
                | "print"
                | "s"
                | "status"
                | "G"
                | "u"
                | "use"
                | "W"
                | "tables"
                | "schema"
                | "databases"
                | "indexes"
                | "indices"
                | "headers"
                | "header"
                | "mode"
                | "show"
                | "timer"
                | "width"
                | "nullvalue"
                | "separator"
                | "stats"
                | "bail"
                | "changes"
                | "eqp"
                | "explain"
                | "limit"
                | "lint"
                | "parameter"
                | "print-list"
                | "progress"
                | "dbinfo"
                | "dbconfig"
                | "scanstats"
                | "selftest"
                | "sha3sum"
                | "trace"
                | "vfsinfo"
                | "vfslist"
                | "vfsname"
                | "version"
                | "maxrows"
        )
}

/// Texts that are written as `0x…` (MySQL Reference Manual, "Hexadecimal Literals").
fn hexadecimal(text: &str) -> Vec<String> {
    let digits = |at: usize| {
        let rest = text.get(at + 2..).unwrap_or("");
        rest.get(..rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len())).unwrap_or("")
    };
    let decode = |digits: &str| -> Option<String> {
        let bytes = (0..digits.len() / 2).map(|i| u8::from_str_radix(digits.get(2 * i..2 * i + 2)?, 16).ok());
        String::from_utf8(bytes.collect::<Option<Vec<u8>>>()?).ok()
    };
    text.match_indices("0x")
        .at_most(MAX_FILES)
        .filter_map(|(at, _)| decode(digits(at)))
        .filter(|text| text.len() > 3)
        .collect()
}
