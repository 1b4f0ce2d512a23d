//! Code for a document store that by the names of its calls only looks, or changes documents and nothing else (MongoDB Shell, "Methods",
//! "Options").

use std::borrow::Cow;

use countersign_plan::tool::Effect;

use super::tasks::has;
use crate::inspection::FindingKind;
use crate::machine::{Machine, Stream, Word};

/// Calls that look, of a database, a collection, a cursor, a list or a value.
const LOOKING: &str = "find findOne aggregate count countDocuments estimatedDocumentCount distinct toArray limit sort skip pretty explain \
    getCollectionNames getCollectionInfos getIndexes stats getCollection getSiblingDB map forEach filter hint size length itcount \
    serverStatus version hello dbStats dataSize totalSize totalIndexSize project match status stringify keys values entries join toString \
    toFixed slice";

/// Those that stand alone.
const ALONE: &str = "printjson print ObjectId ISODate Date NumberLong NumberInt";

/// What changes documents, or an index over them, changes nothing else (MongoDB, "Collection Methods").
const CHANGING: &str = "insertOne insertMany updateOne updateMany replaceOne findOneAndUpdate findOneAndReplace createIndex createIndexes \
    createCollection bulkWrite save insert update rename";

const REMOVING: &str = "deleteOne deleteMany findOneAndDelete dropIndex dropIndexes remove drop";

/// Stages and operators that write or run code, and names that lead elsewhere.
const BEYOND: &[&str] = &[
    "$out",
    "$merge",
    "$function",
    "$where",
    "$accumulator",
    "mapReduce",
    "eval",
    "require",
    "load",
    "process",
    "Function",
    "constructor",
    "removeFile",
    "copyFile",
    "fuzzFile",
    "Program",
    "quit",
    "exit",
    "connect",
    "Mongo(",
    "`",
    "\\",
    "//",
    "/*",
];

/// Calls that are given what is called for each.
const CALLING: &str = "map forEach filter";

impl Machine<'_> {
    /// A query of a document store; nothing where a word or a call of it may do anything else.
    pub(super) fn reads_documents(&mut self, rest: &[Word]) -> Option<Stream> {
        let (code, address) = asked(rest)?;
        let effect = effect_of(&code)?;
        if let Some(address) = address.filter(|address| address.prefix().starts_with("mongodb")) {
            self.touch_host(address);
        }
        self.judge_documents(&code);
        self.touch_named(effect, "documents");
        Some(Stream::unknown())
    }

    /// Statements of a document store that remove or change all of a collection or a database.
    pub(super) fn judge_documents(&mut self, text: &str) {
        if !matches!(self.by.as_str(), "mongosh" | "mongo") {
            return;
        }
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        if text.contains(".dropDatabase(") || text.contains("dropDatabase:1") {
            self.find(FindingKind::DestroysDatabase, "`dropDatabase` removes all of it");
        }
        // Whatever options stand behind an empty condition.
        let all =
            [".drop(", ".deleteMany({}", ".remove({}", ".deleteMany()", ".updateMany({},", "deleteMany:{filter:{}"];
        if all.iter().any(|call| text.contains(call)) {
            self.find(
                FindingKind::UnboundedStatement,
                format!("`{}` removes or changes every document of a collection", self.by),
            );
        }
    }
}

/// The code among the words, and where the store is; nothing where another word says more than that.
fn asked(rest: &[Word]) -> Option<(String, Option<&Word>)> {
    const FLAGS: &str = "--quiet --norc --tls --ssl --json --json=relaxed --json=canonical";
    const VALUED: &str = "-u --username -p --password --port --authenticationDatabase --authenticationMechanism";
    let (mut code, mut address) = (None, None);
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let text = word.prefix();
        let name = text.split('=').next().unwrap_or("");
        let plain = |text: &str| text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        match text.as_str() {
            "--eval" if code.is_none() => code = Some(words.next()?.constant()?.to_owned()),
            option if has(FLAGS, option) => {}
            option if has(VALUED, option) => drop(words.next()?),
            option if option.starts_with("--") && name.len() < option.len() && has(VALUED, name) => {}
            place if place.starts_with("mongodb://") || place.starts_with("mongodb+srv://") => {
                address.is_none().then(|| address = Some(word))?;
            }
            // The name of a database of this machine's: no option, no address and no file.
            name if word.constant().is_some() && !name.is_empty() && !name.starts_with('-') && plain(name) => {
                address.is_none().then(|| address = Some(word))?;
            }
            _ => return None,
        }
    }
    Some((code?, address))
}

/// What code does to documents; nothing where a name or a sign in it may lead elsewhere.
fn effect_of(code: &str) -> Option<Effect> {
    if BEYOND.iter().any(|word| code.contains(word)) {
        return None;
    }
    let code = &*without_texts(code);
    if gives(code) || hands_on(code) {
        return None;
    }
    let mut effect = Effect::Read;
    for (at, _) in code.match_indices('(') {
        let before = code.get(..at)?.trim_end();
        let from = before.rfind(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$')));
        let from = from.and_then(|i| Some(i + before.get(i..)?.chars().next()?.len_utf8())).unwrap_or(0);
        let (head, name) = (before.get(..from)?.trim_end(), before.get(from..)?);
        let of_something = head.ends_with('.') && !head.ends_with("?.");
        effect = effect.max(match name {
            // Brackets around a value, and none behind one that would be called.
            "" if head.is_empty() || head.ends_with(['(', ',', ':', '>', '{', '[', '&', '|', '+', '!', ';']) => {
                Effect::Read
            }
            _ if of_something && has(CHANGING, name) => Effect::Update,
            _ if of_something && has(REMOVING, name) => Effect::Delete,
            _ if of_something && has(CALLING, name) && !is_told(code.get(at + 1..)?) => return None,
            _ if (of_something && has(LOOKING, name)) || (!of_something && has(ALONE, name)) => Effect::Read,
            _ => return None,
        });
    }
    Some(effect)
}

/// Code without what stands in quotes, of which none is escaped. Where a sign outside of them may begin a pattern, in which quotes are none, it
/// is left as it is.
fn without_texts(code: &str) -> Cow<'_, str> {
    let mut out = String::with_capacity(code.len());
    let mut quote = None;
    for c in code.chars() {
        match quote {
            Some(mark) if mark == c => quote = None,
            Some(_) => continue,
            None if c == '/' => return Cow::Borrowed(code),
            None => quote = Some(c).filter(|c| matches!(c, '"' | '\'')),
        }
        out.push(c);
    }
    Cow::Owned(out)
}

/// Whether code gives a name to something, by which it would be called later, or names a member by what is put together.
fn gives(code: &str) -> bool {
    let tight: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    let signs = ["=>", "===", "!==", "==", "!=", "<=", ">="];
    let given = signs.iter().fold(tight.clone(), |text, sign| text.replace(sign, "")).contains('=');
    let member = |at: usize| {
        let before = tight.get(..at).and_then(|head| head.chars().next_back());
        let after = tight.get(at + 1..).unwrap_or("").trim_start_matches(|c: char| c.is_ascii_digit());
        before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | ')' | ']')) && !after.starts_with(']')
    };
    given
        || ["=>{", "](", "]:"].iter().any(|sign| tight.contains(sign))
        || tight.match_indices('[').any(|(at, _)| member(at))
}

/// Whether a member of the database is given to a call instead of being called: `stringify(a, db.dropUser)`.
fn hands_on(code: &str) -> bool {
    code.split("db.").skip(1).any(|rest| {
        let after = rest.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.'));
        after.trim_start().starts_with([',', ')'])
    })
}

/// Whether what is called for each stands there: a function of one expression, or one that shows.
fn is_told(given: &str) -> bool {
    let given = given.trim_start();
    let shows = ["printjson)", "print)"].iter().any(|name| given.starts_with(name));
    let head = given.split("=>").next().unwrap_or("").trim();
    let named = head.trim_start_matches('(').trim_end_matches(')');
    shows
        || (given.contains("=>")
            && named.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | ',' | ' '))
            && !named.is_empty())
}
