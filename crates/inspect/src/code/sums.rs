//! Loops over lists that are put together: `for d in glob("a*") + [home]`.

use super::lex::Token;

/// The most loops that are taken apart, and the most tokens of what one goes over.
const MAX_SUMS: usize = 16;
const MAX_TOKENS: usize = 128;

/// The tokens with a loop of its own over each part of such a list. A part of which nothing is known makes all of it unknown.
pub(super) fn apart(tokens: Vec<Token>) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let (mut at, mut taken) = (0, 0);
    while let Some(token) = tokens.get(at) {
        let rest = tokens.get(at + 1..).unwrap_or_default();
        let head = match (token, rest) {
            (Token::Name(word), [Token::Name(variable), Token::Name(within), rest @ ..])
                if word == "for" && within == "in" && taken < MAX_SUMS =>
            {
                parts(rest).map(|(parts, length)| (variable, parts, length))
            }
            _ => None,
        };
        let Some((variable, parts, length)) = head else {
            out.push(token.clone());
            at += 1;
            continue;
        };
        let known = parts.iter().all(|part| is_list(part));
        for part in if known { parts } else { vec![[].as_slice()] } {
            let name = |text: &str| Token::Name(text.to_owned());
            out.extend([name("for"), Token::Name(variable.clone()), name("in")]);
            out.extend_from_slice(part);
            out.push(Token::Mark(':'));
        }
        taken += 1;
        // The colon of the last one is the loop's own.
        at += 3 + length + 1;
    }
    out
}

/// What stands between the signs of a sum up to the colon of the loop, and how many tokens that are.
fn parts(rest: &[Token]) -> Option<(Vec<&[Token]>, usize)> {
    let (mut depth, mut from, mut parts) = (0_usize, 0, Vec::new());
    for (i, token) in rest.iter().enumerate().take(MAX_TOKENS) {
        match token {
            Token::Mark('(' | '[' | '{') => depth += 1,
            Token::Mark(')' | ']' | '}') => depth = depth.checked_sub(1)?,
            Token::Mark('+') if depth == 0 => {
                parts.push(rest.get(from..i)?);
                from = i + 1;
            }
            Token::Mark(':') if depth == 0 => {
                parts.push(rest.get(from..i)?);
                return (parts.len() > 1).then_some((parts, i));
            }
            Token::Mark(';') if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// Whether a part is a list of which something is known: one that is written out, or a call with a constant.
fn is_list(part: &[Token]) -> bool {
    matches!(
        part,
        [Token::Mark('['), .., Token::Mark(']')]
            | [Token::Name(_), Token::Mark('('), Token::Text(_), .., Token::Mark(')')]
    )
}
