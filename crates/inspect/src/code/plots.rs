//! Scripts of gnuplot that read tables and draw one picture (gnuplot manual, "Commands", "set output", "plot").

/// The most names that stand for texts.
const MAX_NAMES: usize = 32;

/// What a script reads and draws.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Drawing {
    pub(super) read: Vec<String>,
    pub(super) written: Vec<String>,
}

/// Commands that shape or draw.
const SHAPING: &str = "set unset plot splot replot reset print stats exit quit clear undefine";

/// What `set` only shapes by (gnuplot manual, "set-show").
const SETTINGS: &str = "angles arrow autoscale bars bmargin border boxwidth cblabel cbrange cbtics clabel clip cntrlabel cntrparam colorbox contour \
    datafile decimalsign encoding errorbars format grid hidden3d isosamples key label lmargin locale log logscale mapping margins minussign \
    monochrome multiplot mxtics mytics nokey object offsets origin palette parametric pm3d pointsize polar rmargin rrange samples size style \
    surface term terminal tics timefmt title tmargin trange urange view vrange x2data x2label x2range x2tics xdata xlabel xrange xtics xyplane \
    xzeroaxis y2data y2label y2range y2tics ydata ylabel yrange ytics yzeroaxis zdata zeroaxis zlabel zrange ztics";

/// What runs a program or reads commands from elsewhere, wherever it stands.
const BEYOND: &[&str] =
    &["system", "!", "`", "load", "call", "eval", "popen", "|", "import", "shell", "fit", "save", "test", "bind"];

/// A statement: what stands outside of quotes, with a mark in the place of each text, and the texts.
#[derive(Debug, Default)]
struct Statement {
    bare: String,
    texts: Vec<String>,
}

/// Stands for a text.
const TEXT: char = '\'';

/// The statements of a script; nothing where a text is left open or may end elsewhere.
fn statements(script: &str) -> Option<Vec<Statement>> {
    let (mut out, mut last) = (Vec::new(), Statement::default());
    let mut rest = script;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..)?;
        rest = match c {
            '"' | '\'' => {
                let (text, after) = after.split_once(c)?;
                // A quote that belongs to the text.
                (!text.ends_with('\\') && !after.starts_with(c)).then_some(())?;
                last.bare.push(TEXT);
                last.texts.push(text.to_owned());
                after
            }
            '#' => after.find('\n').and_then(|end| after.get(end..)).unwrap_or(""),
            ';' | '\n' => {
                out.push(std::mem::take(&mut last));
                after
            }
            c => {
                last.bare.push(c);
                after
            }
        };
    }
    out.push(last);
    out.retain(|statement| !statement.bare.trim().is_empty());
    Some(out)
}

/// `name = …`, `f(a, b) = …`: the name.
fn defined(bare: &str) -> Option<&str> {
    let (head, value) = bare.split_once('=')?;
    let head = head.trim();
    let name = head.split('(').next()?.trim_end();
    let word = |text: &str| {
        text.starts_with(|c: char| c.is_alphabetic()) && text.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    let given = head.get(name.len()..)?.trim();
    let parameters = given.strip_prefix('(').and_then(|given| given.strip_suffix(')'));
    let plain = given.is_empty() || parameters.is_some_and(|given| given.split(',').all(|one| word(one.trim())));
    (plain && word(name) && !value.starts_with('=')).then_some(name)
}

/// The texts of a drawing that are files: those that begin an element of it.
fn files(statement: &Statement) -> Vec<&str> {
    let (mut out, mut depth, mut before, mut number) = (Vec::new(), 0_usize, String::new(), 0);
    for c in statement.bare.chars() {
        match c {
            TEXT => {
                let begins =
                    before.ends_with([',', ']']) || matches!(before.as_str(), "plot" | "splot" | "replot" | "stats");
                if begins && depth == 0 {
                    out.extend(statement.texts.get(number).map(String::as_str));
                }
                number += 1;
            }
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if !c.is_whitespace() {
            before.push(c);
        }
    }
    // The data of the script itself, and the file before.
    out.retain(|file| !matches!(*file, "-" | "+" | "++" | ""));
    out
}

/// Functions that make texts.
const MAKING: &[&str] = &["sprintf", "gprintf", "strftime", "word", "substr"];

/// What a script does; nothing where it may do anything else.
pub(super) fn drawing(text: &str) -> Option<Drawing> {
    let mut out = Drawing::default();
    // `"\074 LINE"` is `"< LINE"` (gnuplot, "Quotes").
    if text.split('\\').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        return None;
    }
    // Names that may stand for texts, and so for files.
    let mut texts: Vec<String> = Vec::new();
    for statement in statements(&text.replace("\\\n", " "))? {
        let bare = statement.bare.trim();
        let first = bare.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        let defines = defined(bare);
        let shapes = SHAPING.split_whitespace().any(|known| known == first);
        let beyond = |part: &&str| {
            bare.contains(*part) || statement.texts.iter().any(|text| part.len() == 1 && text.contains(*part))
        };
        // `'< LINE'` is what a program prints, whoever it is given to.
        let piped = statement.texts.iter().any(|text| text.trim_start().starts_with(['<', '|']));
        if !(shapes || defines.is_some()) || piped || BEYOND.iter().any(beyond) || bare.contains('@') {
            return None;
        }
        let mut words = bare.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        if let Some(name) = defines {
            let makes = MAKING.iter().any(|call| bare.contains(call));
            if makes || !statement.texts.is_empty() || words.any(|word| texts.iter().any(|known| known == word)) {
                texts.push(name.to_owned());
                (texts.len() <= MAX_NAMES).then_some(())?;
            }
            continue;
        }
        // A file whose name is put together where it is drawn.
        let tight: String = bare.chars().filter(|c| !c.is_whitespace()).collect();
        let makes = |call: &str| ["plot", ","].iter().any(|before| tight.contains(&format!("{before}{call}(")));
        let parts = [".", "["].iter().any(|sign| tight.contains(&format!("{TEXT}{sign}")));
        if first.ends_with("plot") && (parts || MAKING.iter().any(|call| makes(call))) {
            return None;
        }
        let what = bare.split_whitespace().nth(1).unwrap_or("");
        let draws = matches!(first, "plot" | "splot" | "replot" | "stats");
        if draws && words.any(|word| texts.iter().any(|known| known == word)) {
            return None;
        }
        match first {
            "set" if !what.is_empty() && "output".starts_with(what) => {
                let [file] = statement.texts.as_slice() else { return None };
                out.written.push(file.clone());
            }
            "set" => SETTINGS.split_whitespace().any(|known| known == what).then_some(())?,
            _ if draws => out.read.extend(files(&statement).into_iter().map(str::to_owned)),
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
        for (text, read) in [
            ("plot '/srv/secret stuff.dat'", "/srv/secret stuff.dat"),
            ("plot [0:1] 'secret' using 1:2 title \"a.b\"", "secret"),
            ("a = 2; plot a*x, \"b\" with lines", "b"),
        ] {
            assert_eq!(drawing(text).map(|drawn| drawn.read), Some(vec![read.to_owned()]), "{text}");
        }
        for text in [
            "plot '< curl https://h.example/a'",
            "system('id')",
            "!id",
            "set output '|sh'; plot x",
            "x = system(\"id\")",
            "load 'x.gp'",
            "plot `id`",
            "print @x",
            "f='< id'; plot f",
            "f=sprintf('%c id', 60); plot f",
            "sy x='id'",
            "l x='a.gp'",
            "set pr 'x.txt'",
            "set tab 'x.txt'",
        ] {
            assert!(drawing(text).is_none(), "{text}");
        }
    }
}
