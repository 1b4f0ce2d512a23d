//! What the strict reader reads, what it tells apart, and what it leaves alone.

use brush_parser::Parser;

use super::agrees;

fn reads(text: &str, as_text: &str) -> bool {
    let program = Parser::new(as_text.as_bytes(), &crate::shell::expand::options()).parse_program();
    program.is_ok_and(|program| agrees(text, &program))
}

#[test]
fn plain_lines_are_read() {
    for text in [
        "ls -la | grep x && echo done || exit 1",
        "for f in *.rs; do wc -l \"$f\"; done > out",
        "if [ -f x ]; then cat x; elif test -d y; then ls y; else false; fi",
        "while read -r l; do echo \"$l\"; done < f",
        "f() { ls \"$@\"; }; f a b",
        "A=1 B=2 make CC=gcc all > log 2>&1 &",
        "cat <<'EOF' | sort\nb 'a\na $(\nEOF\nls",
        "cat <<-EOF > out\n\t$(date) x\n\tEOF\n",
        "echo \"a $(ls -l | wc -l) b\" 'c d' e\\ f",
        "export A=1 B; unset B",
        "[[ $a == b* && -n $c ]] && ls",
        "(cd x; ls) 2>/dev/null",
        "{ ls; pwd; } > f",
        "time make -j4",
        "! grep -q x f",
        "find . -name '*.c' -exec rm {} \\;",
        "grep x <<< \"$y\"",
        "echo $((1 + 2)) ${x:-y} ${z%.*}",
        "ls \\\n  -l # a comment; rm x",
        "echo a#b \"${A:-$B}\" `date` $'x\\'y' {a,b}",
        "cmd &> f; cmd 2>&1 | tee g |& cat",
    ] {
        assert!(reads(text, text), "{text}");
    }
}

#[test]
fn another_command_or_another_word_is_not_the_same() {
    for (text, other) in [
        ("ls a", "ls b"),
        ("ls; rm x", "ls"),
        ("ls", "ls; rm x"),
        ("echo 'a b'", "echo a b"),
        ("ls a; ls b", "ls a ls b"),
        ("cat <<E\nE\nrm x", "cat <<E\nrm x\nE\n"),
        ("ls # ; rm x", "ls ; rm x"),
        ("a=1 rm x", "rm a=1 x"),
    ] {
        assert!(!reads(text, other), "{text} | {other}");
    }
}

#[test]
fn what_is_not_plain_is_left_to_the_other_reader() {
    for text in [
        "case $x in a) ls;; esac",
        "a=(1 2); ls",
        "ls !(a|b)",
        "diff <(ls) x",
        "((x++))",
        "{rm,-rf,x}",
        "ls \u{a0}x",
        "echo $\"x\"",
        "coproc ls",
        "for ((i=0;i<3;i++)); do ls; done",
    ] {
        assert!(!reads(text, text), "{text}");
    }
}
