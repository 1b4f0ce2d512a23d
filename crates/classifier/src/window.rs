//! Windows over texts: each is long enough for an order, they overlap, and the worst one speaks for the text.

use crate::tokeniser::{Token, Tokeniser};
use crate::{MAX_BYTES, MAX_WINDOWS, Scored, WINDOW};

/// The mark at the beginning of what is encoded.
const BEGIN: u32 = 101;

/// The mark at its end.
const END: u32 = 102;

/// Tokens of the text in one window.
const ROOM: usize = WINDOW - 2;

/// From the beginning of one window to that of the next.
const STRIDE: usize = 48;

/// The most tokens of one text that are read.
const MOST: usize = (MAX_WINDOWS - 1) * STRIDE + ROOM;

/// Windows that are encoded together: enough to keep a core busy, few enough to stay in its cache.
const TOGETHER: usize = 8;

/// Tokens of one window, and the text that it is of.
struct Window {
    text: usize,
    ids: Vec<u32>,
    start: usize,
    end: usize,
}

/// Scores texts by `logits`, which answers for each window of a batch.
pub(crate) fn score(tokeniser: &Tokeniser, texts: &[&str], logits: impl Fn(&[&[u32]]) -> Vec<f32>) -> Vec<Scored> {
    let mut out = Vec::with_capacity(texts.len());
    let mut windows = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        let read = (0..=MAX_BYTES.min(text.len())).rev().find_map(|end| text.get(..end)).unwrap_or("");
        let tokens = tokeniser.tokens(read, MOST);
        let whole = tokens.whole && read.len() == text.len() && tokens.list.len() <= MOST;
        out.push(Scored { score: 0.0, start: 0, end: 0, whole });
        let read = tokens.list.get(..MOST).unwrap_or(&tokens.list);
        windows.extend(cut(read).map(|tokens| window(number, tokens)));
    }
    for batch in windows.chunks(TOGETHER) {
        let ids: Vec<&[u32]> = batch.iter().map(|window| window.ids.as_slice()).collect();
        for (window, logit) in batch.iter().zip(logits(&ids)) {
            let Some(scored) = out.get_mut(window.text) else { continue };
            let score = 1.0 / (1.0 + (-logit).exp());
            // What is no number is the worst, and stays it.
            if score.is_nan() || score >= scored.score {
                (scored.score, scored.start, scored.end) = (score, window.start, window.end);
            }
        }
    }
    out
}

fn window(text: usize, tokens: &[Token]) -> Window {
    let ids = std::iter::once(BEGIN).chain(tokens.iter().map(|token| token.id)).chain(std::iter::once(END));
    Window {
        text,
        ids: ids.collect(),
        start: tokens.first().map_or(0, |token| token.start),
        end: tokens.last().map_or(0, |token| token.end),
    }
}

/// The windows of a text.
fn cut(tokens: &[Token]) -> impl Iterator<Item = &[Token]> {
    let last = tokens.len().saturating_sub(ROOM - STRIDE).max(usize::from(!tokens.is_empty()));
    (0..last).step_by(STRIDE).filter_map(|at| tokens.get(at..tokens.len().min(at + ROOM)))
}

#[cfg(test)]
mod tests;
