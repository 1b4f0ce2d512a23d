//! One path pattern, split into the literal folder it hangs from and the glob below it.

use countersign_plan::text;
use globset::{GlobBuilder, GlobMatcher};

use super::{Case, Place, fold};

/// A pattern that cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("pattern `{pattern}`: {what}")]
pub struct PatternError {
    /// The pattern as written, escaped.
    pub pattern: String,
    /// What is wrong and how to mend it.
    pub what: String,
}

/// What a pattern says of the path below its literal folder.
#[derive(Debug)]
pub(super) enum Rest {
    /// Nothing: the path itself.
    Here,
    /// The folder and everything below it.
    Subtree,
    /// A glob over what follows; several where `d/**` also means `d`.
    Glob(Vec<GlobMatcher>),
}

/// A parsed pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    /// The literal folder that it hangs from; `None` where it hangs nowhere (`**/x`).
    pub(super) anchor: Option<String>,
    /// What it says of the rest.
    pub(super) rest: Rest,
    /// The globs of the rest as text, for the set of floating patterns.
    pub(super) texts: Vec<String>,
}

impl Pattern {
    pub(super) fn parse(pattern: &str, place: &Place, case: Case) -> Result<Self, PatternError> {
        let wrong = |what: String| PatternError { pattern: text::escape(pattern), what };
        text::check_name(pattern).map_err(|e| wrong(e.to_string()))?;
        if pattern.is_empty() {
            return Err(wrong("an empty pattern matches nothing; remove it".to_owned()));
        }
        let floating = pattern == "**" || pattern.starts_with("**/");
        let (base, rest) = if floating { ("", pattern) } else { place.split(pattern) };
        let spelled = |text: &str| match case {
            Case::Folded => fold(text).into_owned(),
            Case::Exact => text.to_owned(),
        };
        let (ups, parts) = components(&spelled(rest)).map_err(wrong)?;
        let base = super::lexical(base, &"../".repeat(ups));
        let literal = if floating { 0 } else { parts.iter().take_while(|part| !is_glob(part)).count() };
        let (anchor, below) = parts.split_at_checked(literal).unwrap_or((&[], &parts));
        let anchor = (!floating).then(|| {
            let mut path = if base == "/" { String::new() } else { spelled(&base) };
            for part in anchor {
                path.push('/');
                path.push_str(part);
            }
            if path.is_empty() { "/".to_owned() } else { path }
        });
        let texts = match below {
            [] => Vec::new(),
            [.., last] if last == "**" && below.len() > 1 => {
                let (_, head) = below.split_last().unwrap_or((last, &[]));
                vec![head.join("/"), below.join("/")]
            }
            _ => vec![below.join("/")],
        };
        let rest = match below {
            [] => Rest::Here,
            [only] if only == "**" => Rest::Subtree,
            _ => Rest::Glob(texts.iter().map(|t| compile(t)).collect::<Result<_, _>>().map_err(wrong)?),
        };
        Ok(Self { anchor, rest, texts })
    }
}

impl Pattern {
    /// The whole pattern as text: absolute, or beginning with `**`.
    pub(super) fn shapes(&self) -> impl Iterator<Item = String> {
        let anchor = self.anchor.as_deref().map(|anchor| if anchor == "/" { "" } else { anchor });
        let whole = match (&self.rest, anchor) {
            (Rest::Here, Some(anchor)) => Some(anchor.to_owned()),
            (Rest::Subtree, Some(anchor)) => Some(format!("{anchor}/**")),
            (Rest::Here | Rest::Subtree, None) => Some("**".to_owned()),
            (Rest::Glob(_), _) => None,
        };
        let globs = self.texts.iter().filter(|_| whole.is_none()).map(move |text| match anchor {
            Some(anchor) => format!("{anchor}/{text}"),
            None => text.clone(),
        });
        let globs: Vec<String> = globs.collect();
        whole.into_iter().chain(globs)
    }
}

impl Rest {
    /// Whether the rest of a path, without a leading `/`, fits.
    pub(super) fn fits(&self, rest: &str) -> bool {
        match self {
            Self::Here => rest.is_empty(),
            Self::Subtree => true,
            Self::Glob(globs) => !rest.is_empty() && globs.iter().any(|glob| glob.is_match(rest)),
        }
    }
}

/// The glob as this crate reads it: `*` and `?` never cross `/`.
pub(super) fn builder(text: &str) -> GlobBuilder<'_> {
    let mut builder = GlobBuilder::new(text);
    builder.literal_separator(true).backslash_escape(true);
    builder
}

fn compile(text: &str) -> Result<GlobMatcher, String> {
    builder(text).build().map(|glob| glob.compile_matcher()).map_err(|e| e.kind().to_string())
}

/// How many folders the pattern goes up first, and its components.
fn components(pattern: &str) -> Result<(usize, Vec<String>), String> {
    let mut depth = 0_u32;
    for c in pattern.chars() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            '/' if depth > 0 => {
                return Err("alternatives do not hold a `/`; write one pattern for each".to_owned());
            }
            _ => {}
        }
    }
    let mut parts: Vec<String> = Vec::new();
    let mut ups = 0;
    for part in pattern.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.pop() {
                Some(last) if is_glob(&last) => return Err("`..` after a wildcard names no folder".to_owned()),
                Some(_) => {}
                None => ups += 1,
            },
            "**" if parts.last().is_some_and(|last| last == "**") => {}
            part if part != "**" && part.contains("**") => {
                return Err("`**` is a whole component; write `*` inside a name".to_owned());
            }
            part => parts.push(part.to_owned()),
        }
    }
    Ok((ups, parts))
}

fn is_glob(part: &str) -> bool {
    part.contains(['*', '?', '[', ']', '{', '}', '\\'])
}
