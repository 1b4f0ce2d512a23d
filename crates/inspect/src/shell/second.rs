//! The second opinion: another parser reads the same text, and both must find the same commands with the same words.
//!
//! Compared are the commands outside of substitutions, each as its words with blanks and quotes left as they are written. A
//! substitution is a text of its own and compared when it is followed.

use std::borrow::Cow;
use std::cell::RefCell;

use brush_parser::ast::{
    AndOr, Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList, IoFileRedirectTarget, IoRedirect,
    Pipeline, Program, RedirectList, SimpleCommand, SubshellCommand,
};
use tree_sitter::{Node, Parser, TreeCursor};

/// Above this length a text is judged by the first parser alone, and the difference says so.
const MAX_COMPARED: usize = 32 * 1024;

thread_local! {
    static PARSER: RefCell<Option<Parser>> = RefCell::new(parser());
}

fn parser() -> Option<Parser> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    Some(parser)
}

/// Whether the second parser reads `text` as `program`.
pub(crate) fn opinion(text: &str, program: &Program) -> Result<(), String> {
    if text.len() > MAX_COMPARED {
        return Err("the text is too long for a second parser".to_owned());
    }
    let mut ours = Vec::new();
    for list in &program.complete_commands {
        of_list(list, &mut ours);
    }
    // What tree-sitter-bash 0.25 is known to misread: a brace expansion or coproc in front.
    if ours.iter().any(|c| c.starts_with('{') || c.starts_with("coproc")) {
        return Ok(());
    }
    let theirs = PARSER.with_borrow_mut(|parser| {
        let tree = parser.as_mut()?.parse(without_bases(text).as_ref(), None)?;
        let root = tree.root_node();
        if root.has_error() {
            return None;
        }
        let mut out = Vec::new();
        of_node(&mut root.walk(), text, &mut out);
        Some(out)
    });
    let Some(mut theirs) = theirs else {
        return Err("a second parser does not accept the text".to_owned());
    };
    // Here-document and redirection words may come in another order.
    ours.sort_unstable();
    theirs.sort_unstable();
    if ours == theirs {
        return Ok(());
    }
    let odd = ours.iter().find(|c| !theirs.contains(c)).or_else(|| theirs.iter().find(|c| !ours.contains(c)));
    Err(format!("two parsers read the text differently: `{}`", odd.map_or("", String::as_str)))
}

/// The text without the bases of numbers in arithmetic (`$((10#$n))`), which tree-sitter-bash 0.25 does not read; as long as before.
fn without_bases(text: &str) -> Cow<'_, str> {
    if !(text.contains("((") && text.contains("#$")) {
        return Cow::Borrowed(text);
    }
    let mut digits = false;
    let mut chars = text.chars().peekable();
    let mut out = String::with_capacity(text.len());
    while let Some(c) = chars.next() {
        out.push(if c == '#' && digits && chars.peek() == Some(&'$') { '+' } else { c });
        digits = c.is_ascii_digit();
    }
    Cow::Owned(out)
}

fn of_list(list: &CompoundList, out: &mut Vec<String>) {
    for item in &list.0 {
        of_pipeline(&item.0.first, out);
        for next in &item.0.additional {
            let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = next;
            of_pipeline(pipeline, out);
        }
    }
}

fn of_pipeline(pipeline: &Pipeline, out: &mut Vec<String>) {
    for command in &pipeline.seq {
        of_command(command, out);
    }
}

fn of_command(command: &Command, out: &mut Vec<String>) {
    match command {
        Command::Simple(simple) => of_simple(simple, out),
        Command::Compound(compound, redirects) => {
            of_compound(compound, out);
            of_redirects(redirects.as_ref(), out);
        }
        Command::Function(function) => {
            of_compound(&function.body.0, out);
            of_redirects(function.body.1.as_ref(), out);
        }
        Command::ExtendedTest(..) => {}
    }
}

fn of_compound(compound: &CompoundCommand, out: &mut Vec<String>) {
    match compound {
        CompoundCommand::Arithmetic(_) => {}
        CompoundCommand::ArithmeticForClause(clause) => of_list(&clause.body.list, out),
        CompoundCommand::BraceGroup(group) => of_list(&group.list, out),
        CompoundCommand::Subshell(subshell) => of_list(&subshell.list, out),
        CompoundCommand::ForClause(clause) => of_list(&clause.body.list, out),
        CompoundCommand::CaseClause(clause) => {
            for list in clause.cases.iter().filter_map(|case| case.cmd.as_ref()) {
                of_list(list, out);
            }
        }
        CompoundCommand::IfClause(clause) => {
            of_list(&clause.condition, out);
            of_list(&clause.then, out);
            for other in clause.elses.iter().flatten() {
                if let Some(condition) = &other.condition {
                    of_list(condition, out);
                }
                of_list(&other.body, out);
            }
        }
        CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
            of_list(&clause.0, out);
            of_list(&clause.1.list, out);
        }
        CompoundCommand::Coprocess(process) => {
            out.push("coproc".to_owned());
            of_command(&process.body, out);
        }
    }
}

fn of_redirects(redirects: Option<&RedirectList>, out: &mut Vec<String>) {
    for redirect in redirects.iter().flat_map(|list| &list.0) {
        if let IoRedirect::File(_, _, IoFileRedirectTarget::ProcessSubstitution(_, subshell)) = redirect {
            of_substitution(subshell, out);
        }
    }
}

fn of_substitution(subshell: &SubshellCommand, out: &mut Vec<String>) {
    of_list(&subshell.list, out);
}

fn of_simple(simple: &SimpleCommand, out: &mut Vec<String>) {
    let Some(name) = &simple.word_or_name else { return };
    let mut signature = String::new();
    let bracket = name.value == "[";
    add(&mut signature, &name.value);
    let prefix = simple.prefix.as_ref().map_or(&[][..], |p| p.0.as_slice());
    let suffix = simple.suffix.as_ref().map_or(&[][..], |s| s.0.as_slice());
    for item in suffix {
        match item {
            CommandPrefixOrSuffixItem::Word(word) | CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                add(&mut signature, &word.value);
            }
            // `--option=<(…)` is one word, of which the parser makes two.
            CommandPrefixOrSuffixItem::ProcessSubstitution(..) if signature.ends_with('=') => signature.push_str("<()"),
            CommandPrefixOrSuffixItem::ProcessSubstitution(..) => add(&mut signature, "<()"),
            CommandPrefixOrSuffixItem::IoRedirect(_) => {}
        }
    }
    for item in prefix.iter().chain(suffix) {
        match item {
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, subshell)
            | CommandPrefixOrSuffixItem::IoRedirect(IoRedirect::File(
                _,
                _,
                IoFileRedirectTarget::ProcessSubstitution(_, subshell),
            )) => of_substitution(subshell, out),
            CommandPrefixOrSuffixItem::IoRedirect(_)
            | CommandPrefixOrSuffixItem::Word(_)
            | CommandPrefixOrSuffixItem::AssignmentWord(..) => {}
        }
    }
    if !bracket {
        out.push(untimed(signature));
    }
}

/// `time` is a word of the grammar to one parser and a program to the other.
fn untimed(signature: String) -> String {
    let rest = signature.strip_prefix("time\u{1}").map(|rest| rest.strip_prefix("-p\u{1}").unwrap_or(rest));
    rest.map_or_else(|| signature.clone(), str::to_owned)
}

/// Adds a word, without the blanks that parsers keep in different ways.
fn add(signature: &mut String, word: &str) {
    if !signature.is_empty() {
        signature.push('\u{1}');
    }
    signature.extend(word.chars().filter(|c| !c.is_whitespace() && *c != '\\'));
}

fn of_node(cursor: &mut TreeCursor<'_>, text: &str, out: &mut Vec<String>) {
    let node = cursor.node();
    match node.kind() {
        "command" | "declaration_command" | "unset_command" => {
            out.push(untimed(words_of(node, text)));
            children(cursor, text, out);
        }
        "command_substitution" | "heredoc_body" | "arithmetic_expansion" | "test_command" => {}
        _ => children(cursor, text, out),
    }
}

fn children(cursor: &mut TreeCursor<'_>, text: &str, out: &mut Vec<String>) {
    if !cursor.goto_first_child() {
        return;
    }
    loop {
        of_node(cursor, text, out);
        if !cursor.goto_next_sibling() {
            break;
        }
    }
    cursor.goto_parent();
}

fn words_of(node: Node<'_>, text: &str) -> String {
    let mut signature = String::new();
    let mut end = usize::MAX;
    let declares = node.kind() != "command";
    let mut walk = node.walk();
    for child in node.children(&mut walk) {
        let raw = match child.kind() {
            "variable_assignment" if !declares => continue,
            "file_redirect" | "heredoc_redirect" | "herestring_redirect" => {
                end = usize::MAX;
                continue;
            }
            "process_substitution" => "<()",
            _ => text.get(child.byte_range()).unwrap_or(""),
        };
        // Nodes without a blank between them are one word.
        if child.start_byte() == end && !signature.is_empty() {
            signature.extend(raw.chars().filter(|c| !c.is_whitespace() && *c != '\\'));
        } else {
            add(&mut signature, raw);
        }
        end = child.end_byte();
    }
    signature
}

#[cfg(test)]
mod tests {
    use brush_parser::Parser;
    use brush_parser::ast::Program;

    use super::opinion;

    fn first(text: &str) -> Option<Program> {
        Parser::new(text.as_bytes(), &crate::shell::expand::options()).parse_program().ok()
    }

    #[test]
    fn both_parsers_agree_on_what_people_write() {
        for text in [
            "ls -la | grep x && echo done || exit 1",
            "for f in *.rs; do wc -l \"$f\"; done",
            "if [ -f x ]; then cat x; elif test -d y; then ls y; else false; fi",
            "case $x in a|b) echo 1 ;; *) echo 2 ;; esac",
            "while read -r l; do echo \"$l\"; done < f",
            "f() { ls \"$@\"; }; f a b",
            "A=1 B=2 make CC=gcc all > log 2>&1 &",
            "cat <<'EOF' | sort\nb\na\nEOF",
            "cat <<EOF > out\n$(date) x\nEOF",
            "diff <(sort a) <(sort b)",
            "shuf -n 5 --random-source=<(yes 42) f",
            "echo \"a $(ls -l | wc -l) b\" 'c d' e\\ f",
            "export A=1 B; unset B; local x=2",
            "[[ $a == b* && -n $c ]] && ls",
            "(cd x; ls) 2>/dev/null",
            "{ ls; pwd; } > f",
            "time make -j4",
            "! grep -q x f",
            "a=(1 2 3); echo ${a[@]}",
            "find . -name '*.c' -exec rm {} \\;",
            "grep x <<< \"$y\"",
            "echo $((1 + 2)) ${x:-y} ${z%.*}",
            "ls \\\n  -l",
        ] {
            let program = first(text);
            assert_eq!(program.map(|program| opinion(text, &program)), Some(Ok(())), "{text}");
        }
    }

    #[test]
    fn another_command_or_another_word_is_a_disagreement() {
        for (text, other) in [
            ("ls a", "ls b"),
            ("ls a", "rm a"),
            ("ls; rm x", "ls"),
            ("ls", "ls; rm x"),
            ("echo 'a b'", "echo a b"),
            ("ls && rm x", "ls && echo rm x"),
        ] {
            let program = first(other);
            assert!(program.is_some_and(|program| opinion(text, &program).is_err()), "{text} | {other}");
        }
        let program = first("ls");
        assert!(program.is_some_and(|program| opinion("if true; then ls", &program).is_err()));
    }
}
