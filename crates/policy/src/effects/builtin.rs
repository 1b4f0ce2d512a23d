//! The built-in tools, each read exactly (FORMATS §3).

use countersign_plan::confinement::Profile;
use countersign_plan::inspection::{Inspection, Subject};
use countersign_plan::pointer::Pointer;
use countersign_plan::text;
use countersign_plan::tool::{Definition, Effect, TargetKind};
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Decision};

use super::arguments::{Arg, literal_prefix};
use super::inspected::line_around_references;
use super::{Beyond, By, Deriving, Execution};
use crate::deployment::Standing;
use crate::facts::PathKind;
use crate::hosts::Endpoint;

/// What an HTTP method does (RFC 9110 section 9.2).
pub(super) const METHODS: &[(&str, &[Effect])] = &[
    ("GET", &[Effect::Read]),
    ("HEAD", &[Effect::Read]),
    ("OPTIONS", &[Effect::Read]),
    ("POST", &[Effect::Send]),
    ("PUT", &[Effect::Send]),
    ("PATCH", &[Effect::Send]),
    ("DELETE", &[Effect::Send, Effect::Delete]),
];

/// Headers that only the client sets (RFC 9112 sections 3.2, 6 and 9.6).
const OWN_HEADERS: [&str; 8] =
    ["host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "keep-alive"];

impl Deriving<'_> {
    pub(super) fn builtin(&mut self, name: &str, tool: &Definition) {
        self.out.profile = Some(Profile::None);
        match name {
            "read_file" | "list_directory" | "search_files" => {
                let recursive = name != "read_file";
                self.file(tool, Effect::Read, "path", recursive, By::Tool);
            }
            "write_file" | "append_file" => {
                self.file(tool, Effect::Update, "path", false, By::Tool);
                self.written_text();
            }
            "create_directory" => self.file(tool, Effect::Create, "path", false, By::Tool),
            "delete_file" => self.file(tool, Effect::Delete, "path", false, By::Tool),
            "delete_directory" => self.file(tool, Effect::Delete, "path", true, By::Tool),
            "copy_file" => {
                let recursive = self.may_be_directory("source");
                self.file(tool, Effect::Read, "source", recursive, By::Tool);
                self.file(tool, Effect::Update, "destination", recursive, By::Tool);
            }
            "move_file" => {
                let recursive = self.may_be_directory("source");
                self.file(tool, Effect::Delete, "source", recursive, By::Move);
                self.file(tool, Effect::Update, "destination", recursive, By::Tool);
            }
            "send_email" => {
                self.target(tool, Effect::Send);
                self.attachments();
            }
            "http_request" => self.http(tool),
            "database_query" => self.database(tool),
            "git" => self.git(tool),
            "run_program" => self.run_program(),
            "mcp_describe" => self.mcp_describe(),
            "execute_command" => self.execute_command(),
            // Memory, messages, and built-in tools that a later version adds: as declared.
            _ => self.declared(tool),
        }
        // The declared effect is the least, whatever the arguments say.
        if !self.out.touches.iter().any(|touch| touch.effect >= tool.effect) && self.out.findings.is_empty() {
            self.target(tool, tool.effect);
        }
    }

    fn file(&mut self, tool: &Definition, effect: Effect, arg: &str, recursive: bool, by: By) {
        let kind = if recursive && tool.target.kind == TargetKind::Directory {
            TargetKind::Directory
        } else if tool.target.kind == TargetKind::Directory {
            tool.target.kind
        } else {
            TargetKind::File
        };
        match self.named(arg) {
            Arg::Text(text) => self.path(effect, kind, &text, recursive, by),
            Arg::Open => self.open(effect, kind, Pointer::from_segments(vec![arg.to_owned()])),
            Arg::Absent | Arg::Other | Arg::List(_) => {
                self.found(Code::ToolArguments, Decision::Block, format!("/{arg} names no path"));
            }
        }
    }

    /// Whether the path is a folder, or may be one because this machine does not know it and its name has no suffix.
    fn may_be_directory(&self, arg: &str) -> bool {
        let named = self.named(arg);
        let Some(path) = named.text().and_then(|t| self.place().normalise(t).ok()) else { return false };
        match self.scene.facts.resolve(&path).kind {
            PathKind::Directory => true,
            PathKind::Unknown => {
                !path.rsplit('/').next().is_some_and(|name| name.trim_start_matches('.').contains('.'))
            }
            PathKind::Missing | PathKind::File | PathKind::Special | PathKind::Unreadable => false,
        }
    }

    fn attachments(&mut self) {
        for (i, arg) in self.named("attachments").each().into_iter().enumerate() {
            let at = Pointer::from_segments(vec!["attachments".to_owned(), i.to_string()]);
            match arg {
                Arg::Text(text) => self.path(Effect::Read, TargetKind::File, &text, false, By::Tool),
                Arg::Open => self.open(Effect::Read, TargetKind::File, at),
                Arg::Absent => {}
                Arg::Other | Arg::List(_) => {
                    self.found(Code::ToolArguments, Decision::Block, format!("{at} names no file"));
                }
            }
        }
    }

    fn http(&mut self, tool: &Definition) {
        let method = self.named("method");
        let effects = method.text().and_then(|m| METHODS.iter().find(|(name, _)| *name == m)).map(|(_, e)| *e);
        let Some(effects) = effects else {
            self.found(Code::ToolReference, Decision::Block, "/method is one of the listed words, never a reference");
            return;
        };
        self.headers();
        let url = self.args.at(&Pointer::from_segments(vec!["url".to_owned()]));
        let prefix = url.as_ref().and_then(literal_prefix).filter(|prefix| {
            // The host is settled once the authority has ended.
            prefix.split_once("://").is_some_and(|(_, rest)| rest.contains(['/', '?', '#']))
        });
        let asked = prefix.clone().or_else(|| self.named("url").text().map(str::to_owned));
        let more = asked.filter(|_| effects.contains(&Effect::Read)).and_then(|url| in_the_address(&url));
        let overriding = self.overriding();
        if overriding.is_some() {
            let message = "a header makes another method of the request than /method says";
            self.found(Code::HostDeceives, Decision::RequireApproval, message);
        }
        let more = more.max(overriding);
        if !effects.contains(&Effect::Read) || more.is_some() {
            self.out.beyond_manifest = Some(Beyond::Remote);
        }
        for effect in effects.iter().chain(&more) {
            match &prefix {
                Some(prefix) => self.endpoint(*effect, TargetKind::Url, prefix, Endpoint::of_url(prefix)),
                None => self.target(tool, *effect),
            }
        }
    }

    /// What a header that overrides the method makes of the request; `admin` where the word is none that is listed.
    fn overriding(&self) -> Option<Effect> {
        let Some(Expr::Object(headers)) = self.args.at(&Pointer::from_segments(vec!["headers".to_owned()])) else {
            return None;
        };
        let names = ["x-http-method-override", "x-http-method", "x-method-override", "x-original-method"];
        let (_, value) = headers.iter().find(|(name, _)| names.contains(&name.to_ascii_lowercase().as_str()))?;
        let word = value.literal().and_then(|word| word.as_str().map(str::to_ascii_uppercase)).unwrap_or_default();
        let listed = METHODS.iter().find(|(name, _)| *name == word);
        listed.map_or(Some(Effect::Admin), |(_, effects)| effects.iter().copied().max())
    }

    /// Headers that say where a request goes or how long it is are the client's own; a line break begins another header.
    fn headers(&mut self) {
        let Some(Expr::Object(headers)) = self.args.at(&Pointer::from_segments(vec!["headers".to_owned()])) else {
            return;
        };
        for (name, value) in headers {
            let lower = name.to_ascii_lowercase();
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b)) {
                let message = format!("`{name}` is no name of a header");
                self.found(Code::HostInvalid, Decision::Block, message);
            } else if OWN_HEADERS.contains(&lower.as_str()) || lower.starts_with("proxy-") {
                let message =
                    format!("the header `{name}` is the client's own: it decides where a request goes or ends");
                self.found(Code::HostInvalid, Decision::Block, message);
            }
            if let Some(serde_json::Value::String(text)) = value.literal()
                && text.contains(|c: char| c.is_control() && c != '\t')
            {
                let message = format!("the header `{name}` holds a control character");
                self.found(Code::PlanHiddenText, Decision::Block, message);
            }
        }
    }

    fn database(&mut self, tool: &Definition) {
        let Arg::Text(database) = self.named("database") else {
            self.found(Code::ToolReference, Decision::Block, "/database is a literal, never a reference");
            return;
        };
        // A reference is inserted as one parameter: what stands around it is read.
        let expr = self.args.at(&Pointer::from_segments(vec!["sql".to_owned()]));
        let sql = match self.named("sql") {
            Arg::Text(sql) => Some(sql),
            _ => expr.and_then(|expr| around_references(&expr)),
        };
        if let Some(Err(hidden)) = sql.as_deref().map(text::check_visible) {
            let message = format!("the statement hides something: {hidden}");
            self.found(Code::PlanHiddenText, Decision::Block, message);
        }
        // Where nobody reads it, its first word says what it is at least.
        let selects = sql.as_deref().is_some_and(|text| {
            !text.contains(';') && text.trim_start().get(..7).is_some_and(|word| word.eq_ignore_ascii_case("select "))
        });
        let inspection = sql.and_then(|text| self.scene.facts.inspect(&Subject::Sql { text }).ok());
        let effects = match inspection {
            Some(inspection) => self.statement(inspection),
            None => {
                let message = "nobody read the statement";
                self.found(Code::ExecuteUnanalysed, Decision::RequireApproval, message);
                if selects { vec![Effect::Read] } else { vec![Effect::Read, Effect::Admin] }
            }
        };
        let path = self.place().normalise(&database).ok();
        let is_file = database.contains('/')
            || [".db", ".sqlite", ".sqlite3"].iter().any(|suffix| database.ends_with(suffix))
            || path.is_some_and(|p| self.scene.facts.resolve(&p).kind == PathKind::File);
        for effect in &effects {
            self.resource(*effect, tool.target.kind, &database, false);
            if is_file {
                self.path(*effect, TargetKind::File, &database, false, By::Tool);
            }
        }
        if effects.iter().any(|e| !e.is_harmless()) {
            self.out.beyond_manifest = Some(if is_file { Beyond::Snapshot } else { Beyond::Nothing });
        }
    }

    /// What a parsed text of statements does to its database; what it does elsewhere is taken over as it is.
    fn statement(&mut self, mut inspection: Inspection) -> Vec<Effect> {
        let mut effects: Vec<Effect> = Vec::new();
        inspection.touches.retain(|touch| {
            let inside = touch.kind == TargetKind::Database;
            if inside && !effects.contains(&touch.effect) {
                effects.push(touch.effect);
            }
            !inside
        });
        if effects.is_empty() {
            effects.push(Effect::Read);
        }
        // What nobody understood may be anything, on whatever is protected as well.
        if !inspection.unknowns.is_empty() {
            effects.push(Effect::Admin);
        }
        self.take_over(&inspection, By::Command);
        effects
    }

    fn execute_command(&mut self) {
        self.out.profile = Some(Profile::Toolchain);
        self.out.execution = Execution::Unanalysed;
        let line = self.args.at(&Pointer::from_segments(vec!["command".to_owned()]));
        let line = line.as_ref().and_then(line_around_references);
        match self.named("command") {
            Arg::Text(command) => {
                if let Err(hidden) = text::check_visible(&command) {
                    self.found(Code::PlanHiddenText, Decision::Block, format!("the command hides something: {hidden}"));
                }
            }
            Arg::Open => {
                let message = "a reference stands inside a command; it is inserted as one quoted word";
                self.found(Code::ToolReference, Decision::RequireApproval, message);
            }
            Arg::Absent | Arg::Other | Arg::List(_) => {
                self.found(Code::ToolArguments, Decision::Block, "/command is no text");
            }
        }
        let shell = self.scene.facts.program("sh").unwrap_or_else(|| "/bin/sh".to_owned());
        self.other(Effect::Execute, TargetKind::Process, &shell);
        self.out.programs.push(shell);
        if let Some(line) = line {
            let context = self.context(&self.start());
            let secret = secret_variable(&line);
            self.inspected(&Subject::Shell { line, context }, By::Command);
            // A client hands its token to its own service; anywhere else the value would be shown or kept.
            let client = self.out.touches.iter().any(|touch| touch.standing.is_some_and(|s| s <= Standing::Known));
            if let Some(name) = secret.filter(|_| !client) {
                let message = format!("the line reads the variable {name}, whose name says that it is a credential");
                self.found(Code::ResourceEnvironment, Decision::RequireApproval, message);
            }
        }
        self.surroundings();
    }
}

/// What the words of an address ask a server to do, whatever the method says: a segment of its path, or the value of a parameter
/// that names an action. Names of files say nothing.
fn in_the_address(url: &str) -> Option<Effect> {
    let (_, rest) = url.split_once("://")?;
    let (_, rest) = rest.split_once('/')?;
    let (path, query) = rest.split('#').next()?.split_once('?').unwrap_or((rest, ""));
    let names =
        |key: &str| matches!(key.to_ascii_lowercase().as_str(), "action" | "do" | "cmd" | "op" | "_method" | "method");
    let values = query.split('&').filter_map(|pair| pair.split_once('=')).filter(|(key, _)| names(key));
    let words = path.split('/').filter(|part| !part.contains('.')).chain(values.map(|(_, value)| value));
    words
        .filter_map(|word| {
            // `deleteUser` and `DELETE` begin with the same verb.
            let loud = !word.contains(|c: char| c.is_ascii_lowercase());
            let goes_on = |c: char| c.is_ascii_lowercase() || (loud && c.is_ascii_uppercase());
            let end = word.char_indices().skip(1).find(|(_, c)| !goes_on(*c)).map_or(word.len(), |(at, _)| at);
            let verb = word.get(..end).unwrap_or(word).to_ascii_lowercase();
            match verb.as_str() {
                "delete" | "remove" | "destroy" | "drop" | "purge" | "wipe" | "erase" | "truncate" => {
                    Some(Effect::Delete)
                }
                "unpublish" | "publish" | "archive" | "flush" | "approve" | "reject" | "activate" | "deactivate"
                    if values_of(query, word) =>
                {
                    Some(Effect::Update)
                }
                // `/events/88/cancel` is an act of its own.
                "cancel" | "terminate" | "void" | "reset" | "restart" | "stop" | "start" | "close" | "refund"
                    if word.len() == verb.len() && path.trim_end_matches('/').ends_with(&format!("/{word}")) =>
                {
                    Some(Effect::Update)
                }
                "shutdown" | "reboot" | "disable" | "grant" | "revoke" | "approve" | "transfer" | "promote" => {
                    Some(Effect::Admin)
                }
                _ => None,
            }
        })
        .max()
}

/// Whether a word is the value of a parameter that names an action.
fn values_of(query: &str, word: &str) -> bool {
    let names = |key: &str| matches!(key.to_ascii_lowercase().as_str(), "action" | "do" | "cmd" | "op");
    query.split('&').filter_map(|pair| pair.split_once('=')).any(|(key, value)| names(key) && value == word)
}

/// The text of a statement with a placeholder for each reference.
fn around_references(expr: &Expr) -> Option<String> {
    let Expr::Join(parts) = expr else { return None };
    let text = |part: &Expr| match part.literal() {
        Some(serde_json::Value::String(literal)) => literal,
        Some(other) => other.to_string(),
        None => " ? ".to_owned(),
    };
    Some(parts.iter().map(text).collect())
}

/// The first variable of a line whose name says that it holds a credential.
fn secret_variable(line: &str) -> Option<String> {
    line.split('$').skip(1).find_map(|rest| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let upper = name.to_ascii_uppercase();
        let last = upper.rsplit('_').next().unwrap_or("");
        let secret = upper.contains("SECRET")
            || upper.contains("PASSWORD")
            || upper.contains("PASSWD")
            || upper.contains("CREDENTIAL")
            || matches!(last, "TOKEN" | "KEY" | "APIKEY");
        secret.then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use countersign_plan::tool::Effect;

    use super::in_the_address;

    #[test]
    fn a_verb_in_an_address_says_what_it_does_however_it_is_written() {
        for url in ["delete/7", "users/7/DELETE", "deleteUser", "x?action=Delete", "x?do=DELETE_ALL", "Purge"] {
            assert_eq!(in_the_address(&format!("https://h.example/{url}")), Some(Effect::Delete), "{url}");
        }
        for url in ["users", "deleted-items", "delete.html", "x?q=delete", "DELETED", ""] {
            assert_eq!(in_the_address(&format!("https://h.example/{url}")), None, "{url}");
        }
    }
}
