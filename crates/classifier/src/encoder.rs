//! The first layers of all-MiniLM-L6-v2: token states for windows of any length, several at once without padding.

use ndarray::{Array1, Array2, ArrayView2, Axis, s};

use crate::tensors::Tensors;
use crate::tokeniser::PIECES;
use crate::{LoadError, WINDOW};

/// Numbers in a token state.
pub(crate) const WIDTH: usize = 384;

/// How many layers of the encoder are used: the head was trained on the states after the last of them.
const LAYERS: usize = 3;

const HEADS: usize = 12;
const HEAD_WIDTH: usize = WIDTH / HEADS;
const INNER: usize = 1536;

/// Positions that the encoder knows.
const POSITIONS: usize = 512;

/// Rows of a window in the states of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A matrix and what is added after it.
pub(crate) struct Linear {
    weight: Array2<f32>,
    bias: Array1<f32>,
}

impl Linear {
    /// Stored as one row for each number of the result.
    pub(crate) fn read(file: &Tensors<'_>, name: &str, width: usize, out: usize) -> Result<Self, LoadError> {
        let weight = file.matrix(&format!("{name}.weight"), out, width)?;
        Ok(Self {
            weight: weight.t().as_standard_layout().into_owned(),
            bias: file.vector(&format!("{name}.bias"), out)?,
        })
    }

    pub(crate) fn of(&self, x: &ArrayView2<'_, f32>) -> Array2<f32> {
        x.dot(&self.weight) + &self.bias
    }
}

struct Norm {
    weight: Array1<f32>,
    bias: Array1<f32>,
}

impl Norm {
    fn read(file: &Tensors<'_>, name: &str) -> Result<Self, LoadError> {
        let part = |part: &str| file.vector(&format!("{name}.{part}"), WIDTH);
        Ok(Self { weight: part("weight")?, bias: part("bias")? })
    }

    fn apply(&self, x: &mut Array2<f32>) {
        for mut row in x.rows_mut() {
            let mean = row.sum() / WIDTH as f32;
            row -= mean;
            let variance = row.iter().map(|value| value * value).sum::<f32>() / WIDTH as f32;
            row *= 1.0 / (variance + 1e-12).sqrt();
            row *= &self.weight;
            row += &self.bias;
        }
    }
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    mix: Linear,
    mixed: Norm,
    inner: Linear,
    outer: Linear,
    left: Norm,
}

impl Layer {
    fn read(file: &Tensors<'_>, number: usize) -> Result<Self, LoadError> {
        let at = format!("encoder.layer.{number}");
        let square = |name: &str| Linear::read(file, &format!("{at}.attention.{name}"), WIDTH, WIDTH);
        Ok(Self {
            query: square("self.query")?,
            key: square("self.key")?,
            value: square("self.value")?,
            mix: square("output.dense")?,
            mixed: Norm::read(file, &format!("{at}.attention.output.LayerNorm"))?,
            inner: Linear::read(file, &format!("{at}.intermediate.dense"), WIDTH, INNER)?,
            outer: Linear::read(file, &format!("{at}.output.dense"), INNER, WIDTH)?,
            left: Norm::read(file, &format!("{at}.output.LayerNorm"))?,
        })
    }

    fn apply(&self, x: Array2<f32>, places: &[Place]) -> Array2<f32> {
        let [query, key, value] = [&self.query, &self.key, &self.value].map(|part| part.of(&x.view()));
        let mut mixed = Array2::zeros(x.raw_dim());
        let scale = 1.0 / (HEAD_WIDTH as f32).sqrt();
        for Place { start, end } in places.iter().copied() {
            for head in 0..HEADS {
                let (left, right) = (head * HEAD_WIDTH, (head + 1) * HEAD_WIDTH);
                let part = s![start..end, left..right];
                let mut weights = query.slice(part).dot(&key.slice(part).t()) * scale;
                weights.rows_mut().into_iter().for_each(|row| spread(row.into_slice().unwrap_or_default()));
                mixed.slice_mut(part).assign(&weights.dot(&value.slice(part)));
            }
        }
        let mut x = x + self.mix.of(&mixed.view());
        self.mixed.apply(&mut x);
        let mut inner = self.inner.of(&x.view());
        inner.mapv_inplace(gelu);
        let mut x = x + self.outer.of(&inner.view());
        self.left.apply(&mut x);
        x
    }
}

/// Makes shares of one out of a row.
fn spread(row: &mut [f32]) {
    let highest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for value in row.iter_mut() {
        *value = (*value - highest).exp();
        sum += *value;
    }
    row.iter_mut().for_each(|value| *value /= sum);
}

/// `x * P(X <= x)` for a normal X.
pub(crate) fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// The error function to single precision: an odd polynomial over an even one, between -4 and 4, beyond which it is one.
fn erf(x: f32) -> f32 {
    let x = x.clamp(-4.0, 4.0);
    let square = x * x;
    let horner = |coefficients: &[f32]| coefficients.iter().fold(0.0, |sum, c| sum * square + c);
    let above = horner(&[
        -2.726_142_3e-10,
        2.770_681_5e-8,
        -2.101_024e-6,
        -5.692_506_5e-5,
        -7.349_906_4e-4,
        -2.954_6e-3,
        -1.609_603_3e-2,
    ]);
    let below = horner(&[-1.456_607_2e-5, -2.133_740_5e-4, -1.682_827e-3, -7.373_329e-3, -1.426_474e-2]);
    x * above / below
}

/// The encoder.
pub(crate) struct Encoder {
    words: Array2<f32>,
    /// Position and kind of text together.
    positions: Array2<f32>,
    embedded: Norm,
    layers: Vec<Layer>,
}

impl Encoder {
    pub(crate) fn read(weights: &[u8]) -> Result<Self, LoadError> {
        let file = Tensors::open("model.safetensors", weights)?;
        let kinds = file.matrix("embeddings.token_type_embeddings.weight", 2, WIDTH)?;
        let positions = file.matrix("embeddings.position_embeddings.weight", POSITIONS, WIDTH)?;
        Ok(Self {
            words: file.matrix("embeddings.word_embeddings.weight", PIECES, WIDTH)?,
            positions: positions.slice(s![..WINDOW, ..]).to_owned() + kinds.index_axis(Axis(0), 0),
            embedded: Norm::read(&file, "embeddings.LayerNorm")?,
            layers: (0..LAYERS).map(|number| Layer::read(&file, number)).collect::<Result<_, _>>()?,
        })
    }

    /// Token states of windows, one below the other, and where each window stands. A window has at most [`WINDOW`] tokens.
    pub(crate) fn states(&self, windows: &[&[u32]]) -> (Array2<f32>, Vec<Place>) {
        let mut places = Vec::with_capacity(windows.len());
        let rows = windows.iter().map(|window| window.len().min(WINDOW)).sum();
        let mut x = Array2::zeros((rows, WIDTH));
        let mut at = 0;
        for window in windows {
            let start = at;
            for (id, position) in window.iter().zip(self.positions.rows()) {
                let word = self.words.row((*id as usize).min(PIECES - 1));
                x.row_mut(at).assign(&(&word + &position));
                at += 1;
            }
            places.push(Place { start, end: at });
        }
        self.embedded.apply(&mut x);
        let states = self.layers.iter().fold(x, |x, layer| layer.apply(x, &places));
        (states, places)
    }
}

#[cfg(test)]
mod tests {
    use super::{erf, gelu};

    #[test]
    fn the_error_function_is_right_to_single_precision() {
        // Values of the NIST Handbook of Mathematical Functions, table 7.1.
        for (x, wanted) in [
            (0.0, 0.0),
            (0.1, 0.112_462_92),
            (0.5, 0.520_499_9),
            (1.0, 0.842_700_8),
            (2.0, 0.995_322_3),
            (3.0, 0.999_977_9),
        ] {
            assert!((erf(x) - wanted).abs() < 5e-7, "{x}: {}", erf(x));
            assert!((erf(-x) + wanted).abs() < 5e-7, "{x}");
        }
        assert!((erf(50.0) - 1.0).abs() < 1e-6 && gelu(-30.0).abs() < 1e-4);
    }
}
