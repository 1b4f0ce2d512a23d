//! Scripts of gnuplot that read tables and draw one picture (gnuplot manual, "Commands", "set output", "plot").

/// What a script reads and draws.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Drawing {
    pub(super) read: Vec<String>,
    pub(super) written: Vec<String>,
}

/// Commands that shape or draw.
const SHAPING: &str = "set unset plot splot replot reset print stats exit quit clear undefine";

/// What runs a program or reads commands from elsewhere, wherever it stands.
const BEYOND: &[&str] =
    &["system", "!", "`", "load", "call", "eval", "popen", "|", "import", "shell", "fit", "save", "test", "bind"];

/// What a script does; nothing where it may do anything else.
pub(super) fn drawing(text: &str) -> Option<Drawing> {
    let mut out = Drawing::default();
    let joined = text.replace("\\\n", " ");
    for statement in joined.split([';', '\n']).map(str::trim).filter(|s| !s.is_empty() && !s.starts_with('#')) {
        let bare: String = statement.split(['"', '\'']).step_by(2).collect();
        let first = bare.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        let defines = bare.split_once('=').is_some_and(|(name, _)| {
            name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '(' | ')' | ',' | ' '))
        });
        let shapes = SHAPING.split_whitespace().any(|known| known == first);
        let beyond = |part: &&str| if part.len() > 1 { bare.contains(*part) } else { statement.contains(*part) };
        if !(shapes || defines) || BEYOND.iter().any(beyond) || bare.contains('@') {
            return None;
        }
        let mut quoted = statement.split(['"', '\'']).skip(1).step_by(2);
        let mut words = bare.split_whitespace().skip(1);
        match (first, words.next()) {
            ("set", Some(what)) if what.starts_with('o') => out.written.push(quoted.next()?.to_owned()),
            ("set", Some(what)) if "fontpath loadpath table print dgrid3d".split(' ').any(|known| known == what) => {
                return None;
            }
            ("plot" | "splot" | "stats" | "replot", _) => {
                // A title, a column or a format is no file; what may be one is read.
                let files = quoted.filter(|text| text.contains(['.', '/']) && !text.contains([' ', '%']));
                for file in files {
                    // `'< LINE'` is what a program prints.
                    (!file.starts_with('<')).then_some(())?;
                    out.read.push(file.to_owned());
                }
                if statement.contains("\"<") || statement.contains("'<") {
                    return None;
                }
            }
            _ => {}
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::drawing;

    #[test]
    fn what_only_draws_is_read() {
        let drawn =
            drawing("set term png; set output \"a.png\"; f(x) = x**2; plot 'a.dat' using 1:2 title 'x y', f(x)")
                .unwrap();
        assert_eq!((drawn.written, drawn.read), (vec!["a.png".to_owned()], vec!["a.dat".to_owned()]));
        for text in [
            "plot '< curl https://h.example/a'",
            "system('id')",
            "!id",
            "set output '|sh'; plot x",
            "x = system(\"id\")",
            "load 'x.gp'",
            "plot `id`",
            "print @x",
        ] {
            assert!(drawing(text).is_none(), "{text}");
        }
    }
}
