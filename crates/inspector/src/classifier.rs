//! The second reader: a small local model, loaded from two descriptors after the seal.

use std::os::fd::OwnedFd;

use anyhow::Context as _;
use countersign_inspect::doubt;
use countersign_plan::inspection::{Inspection, Subject};
use countersign_sandbox::inherited;

/// The descriptors of the encoder's weights and of its vocabulary.
const WEIGHTS: u32 = 4;
const VOCABULARY: u32 = 5;

/// The longest file that is read.
const LIMIT: usize = 256 << 20;

/// The encoder's files, open.
pub(crate) struct Files {
    weights: OwnedFd,
    vocabulary: OwnedFd,
}

impl Files {
    /// What the zygote passed on.
    ///
    /// # Errors
    /// A descriptor is missing.
    pub(crate) fn inherited() -> anyhow::Result<Self> {
        let of = |number| inherited(number).context("the encoder's descriptors are missing");
        Ok(Self { weights: of(WEIGHTS)?, vocabulary: of(VOCABULARY)? })
    }

    /// Reads both and compares them with the digests that the head was trained with.
    ///
    /// # Errors
    /// A file cannot be read, or is another one.
    pub(crate) fn load(self) -> anyhow::Result<Classifier> {
        let weights = read(self.weights).context("the encoder's weights")?;
        let vocabulary = read(self.vocabulary).context("the encoder's vocabulary")?;
        Ok(Classifier(doubt::Classifier::new(&weights, &vocabulary)?))
    }
}

/// Reads to the end by `read(2)` alone: the seal allows no question about a file's size or place.
fn read(file: OwnedFd) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 1 << 20];
    loop {
        match rustix::io::read(&file, chunk.as_mut_slice()) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend_from_slice(chunk.get(..count).unwrap_or_default()),
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        anyhow::ensure!(bytes.len() <= LIMIT, "longer than {LIMIT} bytes");
    }
}

/// A loaded classifier.
pub(crate) struct Classifier(doubt::Classifier);

impl Classifier {
    /// What it adds about a subject.
    pub(crate) fn raise(&self, subject: &Subject) -> Inspection {
        doubt::raise(&self.0, subject, Inspection::default())
    }
}
