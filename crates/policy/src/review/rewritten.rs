//! Settings of a file that a step writes anew, of which the goal does not speak: who adds an entry has not asked for another one to go.

use countersign_plan::pointer::Pointer;
use countersign_plan::tool::Effect;
use countersign_plan::verdict::{Code, Reason};

use super::Request;
use super::prepare::Prepared;
use crate::effects::By;

/// The endings of files that are lists of settings.
const SETTINGS: &[&str] =
    &[".yaml", ".yml", ".toml", ".ini", ".conf", ".cfg", ".json", ".env", ".properties", ".list", ".rules"];

/// Words of a goal that wants the whole of it otherwise.
const ANEW: &str = "rewrit replac overwrit regenerat scratch reset sort reformat format convert clean remov delet drop trim empty anew new restor";

/// What a file held when the agent read it and would hold no more, and the goal speaks of none of it.
pub(super) fn check(request: &Request<'_>, prepared: &Prepared<'_>) -> Option<Reason> {
    let content = prepared.args.at(&Pointer::from_segments(vec!["content".to_owned()]))?.literal()?;
    let content = content.as_str()?;
    let mut written = prepared.derived.touches.iter().filter(|t| t.by == By::Tool && t.effect == Effect::Update);
    let file = &written.find(|touch| SETTINGS.iter().any(|end| touch.name.ends_with(end)))?.name;
    let before = request.session.written().seen.get(file)?;
    if prepared.step.action.as_str() != "write_file" || !prepared.goal.is_read() || prepared.goal.speak_of(ANEW) {
        return None;
    }
    let plain = |line: &str| line.split_whitespace().collect::<String>().trim_end_matches(',').to_owned();
    let now: Vec<String> = content.lines().map(plain).collect();
    let says = |line: &&str| line.contains(char::is_alphanumeric) && !line.trim_start().starts_with(['#', ';', '/']);
    let mut lost = before.lines().filter(says).filter(|line| !now.contains(&plain(line)));
    let spoken = |line: &str| {
        let mut words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1);
        prepared.goal.share_a_word(line) || words.any(|word| prepared.goal.name(word))
    };
    // "season: winter" for "season: summer", where the goal wants the summer prices.
    let anew = |line: &str| {
        let key = |line: &str| line.split_once([':', '=']).map(|(key, _)| key.trim().to_owned());
        let mut same = content.lines().filter(|now| key(now).is_some() && key(now) == key(line));
        // A version has no word of its own: "raise it to 1.3.0".
        let version = |value: &str| {
            let value = value.trim().trim_matches(['"', '\'']);
            value.contains('.') && value.starts_with(|c: char| c.is_ascii_digit()) && prepared.goal.name(value)
        };
        same.any(|now| now.split_once([':', '=']).is_some_and(|(_, value)| spoken(value) || version(value)))
    };
    let line = lost.find(|line| !spoken(line) && !anew(line))?;
    let line: String = line.trim().chars().take(60).collect();
    let message = format!("`{line}` of {file} would be changed or go, and the goal does not speak of it");
    Some(Reason::ask(Code::GoalUnasked, message).fix("leave what stands there as it is"))
}
