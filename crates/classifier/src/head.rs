//! Our own head: what stands next to what in the token states, then the mean and the maximum over a window, then one number.

use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate, s};

use crate::LoadError;
use crate::encoder::{Linear, Place, WIDTH, gelu};
use crate::tensors::Tensors;

/// Numbers for each token.
const NARROW: usize = 64;

/// Tokens that are seen together: this many, so far apart.
const SEEN: isize = 5;
const NEAR: isize = 1;
const FAR: isize = 4;

/// The last layer before the number.
const LAST: usize = 32;

/// The head.
pub(crate) struct Head {
    narrow: Linear,
    near: Linear,
    far: Linear,
    last: Linear,
    number: Linear,
}

impl Head {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, LoadError> {
        let file = Tensors::open("the head", bytes)?;
        let seen = SEEN.unsigned_abs() * NARROW;
        Ok(Self {
            narrow: Linear::read(&file, "narrow", WIDTH, NARROW)?,
            near: Linear::read(&file, "near", seen, NARROW)?,
            far: Linear::read(&file, "far", seen, NARROW)?,
            last: Linear::read(&file, "last", 2 * NARROW, LAST)?,
            number: Linear::read(&file, "number", LAST, 1)?,
        })
    }

    /// The logit of the window at `place`.
    pub(crate) fn logit(&self, states: &Array2<f32>, place: Place) -> f32 {
        let window = states.slice(s![place.start..place.end, ..]);
        let mut x = self.narrow.of(&window);
        x.mapv_inplace(gelu);
        for (layer, apart) in [(&self.near, NEAR), (&self.far, FAR)] {
            let mut seen = layer.of(&beside(&x, apart).view());
            seen.mapv_inplace(gelu);
            x += &seen;
        }
        let mean = x.mean_axis(Axis(0)).unwrap_or_else(|| Array1::zeros(NARROW));
        let highest = x.fold_axis(Axis(0), f32::NEG_INFINITY, |a, b| a.max(*b));
        let pooled = concatenate(Axis(0), &[mean.view(), highest.view()]).unwrap_or_else(|_| Array1::zeros(2 * NARROW));
        let mut last = self.last.of(&row(&pooled));
        last.mapv_inplace(gelu);
        // No number at all is the worst answer.
        self.number.of(&last.view()).first().copied().unwrap_or(f32::INFINITY)
    }
}

fn row(vector: &Array1<f32>) -> ArrayView2<'_, f32> {
    vector.view().insert_axis(Axis(0))
}

/// Each token with its neighbours, `apart` from one to the next; beyond the ends there is nothing.
fn beside(x: &Array2<f32>, apart: isize) -> Array2<f32> {
    let rows = x.nrows();
    let mut out = Array2::zeros((rows, SEEN.unsigned_abs() * NARROW));
    for (part, offset) in (-(SEEN / 2)..=SEEN / 2).map(|step| step * apart).enumerate() {
        let distance = offset.unsigned_abs();
        if distance >= rows {
            continue;
        }
        let (to, from) = if offset < 0 {
            (s![distance.., part * NARROW..(part + 1) * NARROW], s![..rows - distance, ..])
        } else {
            (s![..rows - distance, part * NARROW..(part + 1) * NARROW], s![distance.., ..])
        };
        out.slice_mut(to).assign(&x.slice(from));
    }
    out
}
