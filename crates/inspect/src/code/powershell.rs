//! PowerShell: encoded commands are decoded; of the cmdlets only those that look, and those that matter, are known.

use base64::Engine as _;
use countersign_plan::tool::Effect;

use crate::inspection::{FindingKind, UnknownKind};
use crate::machine::{Machine, Word};

/// Cmdlets and aliases that only look (Microsoft's reference for PowerShell 7).
const LOOKING: &[&str] = &[
    "get-",
    "select-",
    "where-",
    "sort-",
    "format-",
    "measure-",
    "compare-",
    "test-path",
    "write-output",
    "write-host",
    "out-string",
    "out-host",
    "convertto-json",
    "convertfrom-json",
    "foreach-object",
    "echo",
    "ls",
    "dir",
    "cat",
    "type",
    "pwd",
    "gc",
    "gci",
    "gm",
    "group-object",
    "resolve-path",
    "split-path",
    "join-path",
];

/// Cmdlets that change or delete, with what they do to the path after them.
const FILES: &[(&str, Effect, bool)] = &[
    ("remove-item", Effect::Delete, true),
    ("ri", Effect::Delete, true),
    ("rm", Effect::Delete, true),
    ("del", Effect::Delete, true),
    ("rd", Effect::Delete, true),
    ("erase", Effect::Delete, true),
    ("clear-content", Effect::Update, false),
    ("set-content", Effect::Update, false),
    ("add-content", Effect::Update, false),
    ("out-file", Effect::Update, false),
    ("new-item", Effect::Create, false),
    ("copy-item", Effect::Update, false),
    ("move-item", Effect::Delete, true),
];

impl Machine<'_> {
    pub(crate) fn powershell(&mut self, text: &str) {
        let lower = text.to_ascii_lowercase();
        let evaluates = ["iex", "invoke-expression"].iter().any(|name| word_in(&lower, name))
            || lower.contains("[scriptblock]::create")
            || lower.contains("& (");
        let downloads = [
            "downloadstring",
            "invoke-webrequest",
            "invoke-restmethod",
            "downloadfile",
            "start-bitstransfer",
            "net.webclient",
        ]
        .iter()
        .any(|name| lower.contains(name))
            || ["iwr", "irm", "curl", "wget"].iter().any(|name| word_in(&lower, name));
        if evaluates && downloads {
            self.find(FindingKind::DownloadAndExecute, "the PowerShell code runs what a host sends");
        }
        if lower.contains("frombase64string") && evaluates {
            self.find(FindingKind::DecodeAndExecute, "the PowerShell code runs what it decodes");
        }
        if lower.contains("net.sockets.tcpclient") && (evaluates || lower.contains("getstream")) {
            self.find(FindingKind::ReverseShell, "the PowerShell code takes its orders from another machine");
        }
        if lower.contains("set-mppreference") || lower.contains("executionpolicy") || lower.contains("amsi") {
            self.find(FindingKind::DisablesProtection, "the PowerShell code switches a protection off");
        }
        for url in text
            .split(|c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '(' | ')' | ',' | ';'))
            .filter(|word| word.contains("://"))
        {
            self.touch_host(&Word::text(url));
        }
        for statement in text.split([';', '|', '\n', '{', '}']) {
            self.statement(statement.trim());
        }
    }

    fn statement(&mut self, statement: &str) {
        let mut words = statement.split_whitespace();
        let Some(first) = words.next() else { return };
        let name = first.to_ascii_lowercase();
        if LOOKING.iter().any(|looks| if looks.ends_with('-') { name.starts_with(looks) } else { name == *looks })
            && !statement.contains(['$', '(', '&'])
        {
            if matches!(name.as_str(), "cat" | "type" | "gc" | "get-content") {
                for path in words.filter(|word| !word.starts_with('-')) {
                    self.touch_path(Effect::Read, &Word::text(path.trim_matches(['\'', '"'])), false);
                }
            }
            return;
        }
        if let Some((_, effect, recursive)) = FILES.iter().find(|(file, ..)| *file == name) {
            for path in words.filter(|word| !word.starts_with('-') && !word.contains('$')) {
                self.touch_path(*effect, &Word::text(path.trim_matches(['\'', '"'])), *recursive);
            }
        }
        self.unknown(UnknownKind::Code, Effect::Execute, format!("the PowerShell command `{first}` is not analysed"));
    }

    /// The argument of `-EncodedCommand`: base64 of UTF-16.
    pub(crate) fn encoded_command(&mut self, text: &str) {
        self.find(FindingKind::DecodeAndExecute, "PowerShell runs an encoded command");
        let decoded = base64::engine::general_purpose::STANDARD.decode(text).ok().and_then(|bytes| {
            let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
            String::from_utf16(&units).ok()
        });
        match decoded {
            Some(code) => self.powershell(&code),
            None => self.unknown(UnknownKind::Code, Effect::Execute, "the encoded command cannot be decoded"),
        }
    }
}

fn word_in(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '-').any(|part| part == word)
}
