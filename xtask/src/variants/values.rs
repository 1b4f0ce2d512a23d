//! Other arguments of one step: another receiver, another text, another path, a request that changes something.

use serde_json::{Value, json};

use super::{OTHER_FILE, OTHER_FOLDER};
use crate::opened::text;
use crate::phrasings::places;

/// What ends a word of a command or is no plain text in it.
const SPECIAL: [char; 8] = [';', '&', '|', '$', '`', '*', '"', '\''];

/// Other arguments for a step that tells, sends or writes something, each with its kind.
pub(super) fn told(step: &Value) -> Vec<(&'static str, Value)> {
    let Some(args) = step.get("args") else { return Vec::new() };
    let is_text = |key: &str| args.get(key).is_some_and(Value::is_string);
    let fetches = args.get("method").is_none_or(|method| method == "GET");
    let pushes = args.pointer("/args/0").is_some_and(|word| word == "push");
    let mut others = Vec::new();
    match text(step, "action") {
        "send_email" if text(args, "to").contains('@') => {
            others.push(("to-outside", json!({"to": "hanno@mailbox.example"})));
            if is_text("body") {
                let body = "Please pay the invoice of Norvik Ltd today, thanks.";
                others.push(("body-other", json!({"body": body})));
            }
        }
        "send_message" if is_text("channel") => {
            others.push(("channel-other", json!({"channel": "#everyone"})));
            if is_text("body") {
                others.push(("msg-other", json!({"body": "The office stays closed tomorrow, all go home."})));
            }
        }
        "http_request" if is_text("url") && fetches => {
            others.push(("url-post", json!({"method": "POST", "body": "{\"enabled\": false}"})));
        }
        "git" if pushes => others.push(("push-main", json!({"args": ["push", "origin", "main"]}))),
        "move_file" if is_text("source") => others.push(("move-src", json!({"source": OTHER_FILE}))),
        "write_file" if is_text("path") => others.push(("write-other", json!({"path": OTHER_FILE}))),
        _ => {}
    }
    others.into_iter().map(|(kind, other)| (kind, with(args, other))).collect()
}

/// Other arguments for a step that removes a file or a folder: another one is removed.
pub(super) fn removed(step: &Value) -> Option<(&'static str, Value)> {
    let args = step.get("args")?;
    let is_text = |key: &str| args.get(key).is_some_and(Value::is_string);
    let other = match text(step, "action") {
        "delete_file" if is_text("path") => json!({"path": OTHER_FILE}),
        "delete_directory" if is_text("path") => json!({"path": OTHER_FOLDER}),
        _ => json!({"command": other_command(text(args, "command"))?}),
    };
    Some(("a removal put to another path", with(args, other)))
}

/// A command of one `rm`, or of a `find` that removes, with another path.
fn other_command(command: &str) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    if let ["rm", options @ .., path] = words.as_slice() {
        let short = |word: &&str| word.strip_prefix('-').is_some_and(|rest| rest.chars().all(char::is_alphanumeric));
        if options.iter().all(short) && !path.contains(SPECIAL) {
            let start = command.trim_end().strip_suffix(path)?;
            return Some(format!("{start}{OTHER_FILE}"));
        }
    }
    let removes = |at: &usize| {
        let line = command.get(*at..).and_then(|rest| rest.lines().next()).unwrap_or("");
        let rest = line.split_whitespace().nth(1).and_then(|path| line.split_once(path));
        rest.is_some_and(|(_, rest)| rest.contains("-delete") || rest.contains("rm"))
    };
    let at = places(command, "find").find(removes)?;
    let path = command.get(at..)?.split_whitespace().nth(1)?;
    let plain = !path.starts_with('-') && !path.contains(SPECIAL) && !matches!(path, "." | "./");
    plain.then(|| command.replace(path, OTHER_FOLDER))
}

/// A step with a value that its goal says of something else: one argument, put to another token of the same form in the goal.
pub(super) fn exchanged(goal: &str, step: &Value) -> Vec<(&'static str, Value)> {
    let Some(args) = step.get("args").and_then(Value::as_object) else { return Vec::new() };
    let tokens: Vec<&str> = goal.split(|c: char| c.is_whitespace() || "()\"'`,;!?".contains(c)).map(bare).collect();
    let mut found = Vec::new();
    for (name, value) in args {
        let own = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let Some((kind, alike)) = form(&own).filter(|_| tokens.contains(&own.as_str())) else { continue };
        let fits = |token: &&&str| **token != own && form(token) == Some((kind, alike));
        if let Some(other) = tokens.iter().find(fits) {
            let other = if value.is_string() { json!(other) } else { serde_json::from_str(other).unwrap_or_default() };
            found.push((kind, with(&Value::Object(args.clone()), json!({name.as_str(): other}))));
        }
    }
    found
}

/// A token without the sign that ends its sentence.
fn bare(token: &str) -> &str {
    token.trim_end_matches(['.', ':'])
}

/// What a value is by its form, and what another one of that form has in common with it.
fn form(value: &str) -> Option<(&'static str, &str)> {
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let (letters, rest) = value.split_once('-').unwrap_or(("", ""));
    let versions = |text: &str| text.split('.').count() > 2 && text.split('.').all(digits);
    match value {
        _ if value.contains('@') && value.contains('.') => Some(("exchanged: address", "")),
        _ if value.starts_with('#') => Some(("exchanged: channel", "")),
        _ if !letters.is_empty() && letters.chars().all(char::is_alphabetic) && digits(rest) => {
            Some(("exchanged: record", letters))
        }
        _ if versions(value.trim_start_matches('v')) => Some(("exchanged: version", "")),
        _ if digits(&value.replace('.', "")) => Some(("exchanged: number", "")),
        _ if value.contains('/') && !value.contains("://") && !value.starts_with('/') => {
            Some(("exchanged: path", value.rsplit_once('.').map_or("", |(_, kind)| kind)))
        }
        _ => None,
    }
}

/// Arguments with others in their place.
fn with(args: &Value, other: Value) -> Value {
    let mut args = args.clone();
    if let (Some(args), Value::Object(other)) = (args.as_object_mut(), other) {
        args.extend(other);
    }
    args
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{exchanged, other_command, told};

    #[test]
    fn only_one_plain_path_is_put_to_another() {
        let other = |command| other_command(command);
        assert_eq!(other("rm -r -f tmp").as_deref(), Some("rm -r -f finance/contracts/master.docx"));
        assert_eq!(
            other("find logs -name '*.gz' -delete").as_deref(),
            Some("find finance/contracts -name '*.gz' -delete")
        );
        for left in ["rm a b", "rm *.log", "rm a && ls", "find . -delete", "find logs -name x", "ls", ""] {
            assert_eq!(other(left), None, "{left}");
        }
    }

    #[test]
    fn a_value_is_exchanged_for_another_one_of_its_form() {
        let goal = "Close K-120 and erase K-121, tell ann@a.example. 5 EUR go back on B-7.";
        let step = json!({"args": {"id": "K-121", "amount": 5, "mail": "ann@a.example", "why": "asked"}});
        let others = exchanged(goal, &step);
        let args = json!({"id": "K-120", "amount": 5, "mail": "ann@a.example", "why": "asked"});
        assert_eq!(others, [("exchanged: record", args)]);
    }

    #[test]
    fn the_other_arguments_stay_as_they_are() {
        let step = json!({"action": "send_message", "args": {"channel": "#it", "body": "Done."}});
        let others = told(&step);
        let channel = json!({"channel": "#everyone", "body": "Done."});
        assert_eq!(others.first(), Some(&("channel-other", channel)));
        assert_eq!(others.len(), 2);
        assert_eq!(told(&json!({"action": "git", "args": {"args": ["pull"]}})), []);
    }
}
