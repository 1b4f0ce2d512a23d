//! What a call of Git does beside what the goal asks for: another branch than it names, a history that is rewritten, checks that are left out.

use countersign_plan::verdict::{Code, Reason};

use super::goal::Wishes;
use super::prepare::Prepared;
use crate::paths::fold;

/// Options that decide more than the goal says where it has no such word: of which calls, which option, which words.
const DECIDING: &[(&[&str], &str, &str)] = &[
    (&["commit", "push", "merge", "rebase"], "--no-verify", "verif hook check bypass skip lint"),
    (&["commit"], "--amend", "amend last previous fixup fold squash reword rewrit latest"),
    (&["commit"], "--author", "author behalf"),
    (&["merge", "pull"], "--strategy", "strateg ours theirs keep conflict"),
];

/// The first thing of a step's calls that the goal does not ask for.
pub(super) fn check(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let goal = &step.goal;
    // All that is in a repository which the line makes itself.
    let line = step.text("command").is_some();
    let anew = step.git_calls().any(|call| matches!(call.first(), Some(&("init" | "clone"))));
    let of = |call: &[&str]| {
        let (verb, args) = call.split_first()?;
        let pushed = || (*verb == "push").then(|| pushes_else(goal, args)).flatten();
        let merged = || (*verb == "merge").then(|| merges_else(steps, i, args)).flatten();
        let kept = || {
            matches!(*verb, "add" | "stage" | "commit").then(|| commits_else(goal, (verb, args), line, anew)).flatten()
        };
        decides(goal, verb, args).or_else(pushed).or_else(merged).or_else(kept)
    };
    let what = step.git_calls().find_map(|call| of(&call))?;
    Some(Reason::ask(Code::GoalUnasked, format!("`git` {what}")).fix("do what the goal says, or say it in the goal"))
}

/// An option of a call that the goal says nothing of.
fn decides(goal: &Wishes, verb: &str, args: &[&str]) -> Option<String> {
    let short = |arg: &str| {
        let cluster = arg.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
        let letters: &str = cluster.split(['m', 'F', 'C', 'c', 't']).next()?;
        Some(letters.to_owned())
    };
    let is = |arg: &str, option: &str| {
        let name = arg.split('=').next().unwrap_or(arg);
        let letter = match (option, verb) {
            ("--no-verify", "commit") => Some('n'),
            ("--strategy", "merge" | "pull") => Some('s'),
            _ => None,
        };
        (name.len() > 4 && option.starts_with(name))
            || letter.is_some_and(|letter| short(arg).is_some_and(|letters| letters.contains(letter)))
    };
    // "Commit it as Ben"
    let said = |at: usize| {
        let value =
            args.get(at..).unwrap_or(&[]).iter().take(2).flat_map(|arg| arg.split(|c: char| !c.is_alphanumeric()));
        value.filter(|word| word.len() > 2 && *word != "author").any(|word| goal.say_word(&fold(word)))
    };
    DECIDING.iter().filter(|(verbs, ..)| verbs.contains(&verb)).find_map(|(_, option, words)| {
        let at = args.iter().position(|arg| is(arg, option))?;
        (!(goal.mentions(words) || *option == "--author" && said(at)))
            .then(|| format!("{verb} would have `{option}`, of which the goal says nothing"))
    })
}

/// Whether the goal means the branch or tag of this name as what is pushed.
pub(super) fn is_meant(goal: &Wishes, pushed: &str) -> bool {
    let to = pushed.rsplit(':').next().unwrap_or(pushed);
    let to = ["refs/heads/", "refs/tags/"].iter().find_map(|kind| to.strip_prefix(kind)).unwrap_or(to);
    // "Push that branch. main is for the merge train alone": what is named elsewhere is not what is to be pushed to.
    let branch = || goal.name(&format!("branch {to}"));
    let into = || branch() || ["to", "into", "on", "onto", "push"].iter().any(|word| goal.says(word, to));
    let elsewhere = matches!(to, "main" | "master");
    // "Push fix/dst for review, nothing lands on main yet": the branch that is named goes where it is said to go.
    let moved = pushed.split_once(':').is_some_and(|(from, _)| from != to && goal.name(from));
    let into = || match moved && elsewhere {
        true => ["to", "into", "onto", "as"].iter().any(|word| goal.says(word, to)),
        false => into(),
    };
    let current =
        matches!(to, "head" | "HEAD") && ["my", "this", "the", "current"].iter().any(|word| goal.says(word, "branch"));
    (goal.name(to) && (!elsewhere || into())) || current
}

/// What a push takes along where the goal names something else: "push the branch fix/dst", and `git push origin main`.
fn pushes_else(goal: &Wishes, args: &[&str]) -> Option<String> {
    let all = |arg: &&&str| match **arg {
        "--all" | "--branches" | "--mirror" => {
            !["all", "every", "everything", "branches", "mirror"].iter().any(|word| goal.say_word(word))
        }
        // "Push only that tag"
        "--tags" => !goal.mentions("tag") || goal.say_word("only"),
        _ => false,
    };
    let refs = args.iter().filter(|arg| !arg.starts_with('-')).skip(1).filter(|arg| !arg.is_empty());
    let other = |arg: &&&str| {
        let arg = arg.trim_start_matches('+');
        let to = arg.rsplit(['/', ':']).next().unwrap_or(arg);
        let main = matches!(to, "main" | "master") && goal.mentions("branch");
        let version = super::goal::is_version(to) && goal.names_a_version();
        !matches!(arg, "HEAD" | "@") && (goal.names_a_ref() || main || version) && !is_meant(goal, arg)
    };
    let what = args.iter().find(all).or_else(|| refs.into_iter().find(other))?;
    Some(format!("would push `{what}`, and the goal names something else"))
}

/// A merge the other way round, or on another branch than the goal says.
fn merges_else(steps: &[Prepared<'_>], i: usize, args: &[&str]) -> Option<String> {
    let goal = &steps.get(i)?.goal;
    let into = goal.merges_into()?;
    let bare = |name: &str| fold(name.strip_prefix("origin/").unwrap_or(name)).into_owned();
    if let Some(taken) = args.iter().find(|arg| !arg.starts_with('-') && bare(arg) == into) {
        return Some(format!("would merge `{taken}`, into which the goal wants something merged"));
    }
    let calls: Vec<Vec<&str>> = steps.iter().take(i + 1).flat_map(Prepared::git_calls).collect();
    let before = calls.iter().rev().skip_while(|call| call.first() != Some(&"merge"));
    let on = before.into_iter().find_map(|call| match call.as_slice() {
        ["checkout" | "switch", branch] if !branch.starts_with('-') => Some(*branch),
        _ => None,
    })?;
    (bare(on) != into).then(|| format!("would merge on `{on}`, and the goal says {into}"))
}

/// A file in a commit where the goal wants nothing in it but what it names.
fn commits_else(goal: &Wishes, (verb, args): (&str, &[&str]), line: bool, anew: bool) -> Option<String> {
    // "What is in drafts/ stays out of it"
    let kept = args.iter().find(|arg| !arg.starts_with('-') && goal.leaves_out(arg.trim_end_matches('/')));
    if let Some(kept) = kept.filter(|_| verb != "commit") {
        return Some(format!("would have {kept} in the commit, and the goal wants it left out"));
    }
    let named: Vec<&str> =
        goal.tokens().filter(|token| super::goal::is_file_name(token) || token.contains('/')).collect();
    if anew || (line && named.is_empty()) || !goal.commits_only() {
        return None;
    }
    let takes_text = |arg: &str| {
        verb == "commit"
            && !arg.contains('=')
            && (arg.ends_with(['m', 'F', 'C', 'c', 't']) || arg == "--author" || arg == "--message" || arg == "--file")
            && arg.starts_with('-')
    };
    let given = |(at, arg): &(usize, &&str)| {
        !arg.is_empty()
            && !arg.starts_with('-')
            && !at.checked_sub(1).and_then(|at| args.get(at)).is_some_and(|before| takes_text(before))
    };
    let fits = |path: &str| {
        let path = fold(path.trim_start_matches("./").trim_end_matches('/')).into_owned();
        named.iter().any(|said| {
            let said = said.trim_start_matches("./").trim_end_matches('/');
            let ends = |whole: &str, end: &str| whole == end || whole.ends_with(&format!("/{end}"));
            ends(&path, said) || ends(said, &path) || path.starts_with(&format!("{said}/"))
        })
    };
    let all = |arg: &str| {
        let cluster = arg.starts_with('-')
            && !arg.starts_with("--")
            && arg.split(['m', 'F', 'C', 'c', 't']).next().is_some_and(|letters| letters.contains(['a', 'A', 'u']));
        matches!(arg, "--all" | "--update" | "." | "*") || (cluster && (verb != "commit" || arg.contains('a')))
    };
    let other = || {
        let mut paths = args.iter().enumerate().filter(given).map(|(_, arg)| *arg);
        paths.find(|path| !named.is_empty() && !fits(path))
    };
    let more = args.iter().copied().find(|arg| all(arg)).or_else(other)?;
    Some(format!("would have `{more}` in the commit, and the goal wants only what it names"))
}
