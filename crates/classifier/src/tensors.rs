//! Named matrices out of a safetensors file, with their shapes checked.

use ndarray::{Array1, Array2};
use safetensors::{Dtype, SafeTensors};
use sha2::{Digest as _, Sha256};

use crate::LoadError;

/// Whether a file is the one that is meant.
pub(crate) fn check(what: &'static str, bytes: &[u8], wanted: &'static str) -> Result<(), LoadError> {
    let found: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    if found == wanted { Ok(()) } else { Err(LoadError::Digest { what, found, wanted }) }
}

/// An opened file.
pub(crate) struct Tensors<'a> {
    what: &'static str,
    file: SafeTensors<'a>,
}

impl<'a> Tensors<'a> {
    pub(crate) fn open(what: &'static str, bytes: &'a [u8]) -> Result<Self, LoadError> {
        let file = SafeTensors::deserialize(bytes).map_err(|e| LoadError::Format { what, why: e.to_string() })?;
        Ok(Self { what, file })
    }

    fn wrong(&self, why: impl Into<String>) -> LoadError {
        LoadError::Format { what: self.what, why: why.into() }
    }

    fn values(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, LoadError> {
        let tensor = self.file.tensor(name).map_err(|e| self.wrong(format!("{name}: {e}")))?;
        if tensor.dtype() != Dtype::F32 || tensor.shape() != shape {
            return Err(self.wrong(format!(
                "{name} is {:?} of {:?}, wanted {shape:?}",
                tensor.shape(),
                tensor.dtype()
            )));
        }
        let (numbers, _) = tensor.data().as_chunks::<4>();
        let values: Vec<f32> = numbers.iter().map(|number| f32::from_le_bytes(*number)).collect();
        if values.iter().all(|value| value.is_finite()) {
            Ok(values)
        } else {
            Err(self.wrong(format!("{name} has no numbers")))
        }
    }

    /// A matrix as it is stored.
    pub(crate) fn matrix(&self, name: &str, rows: usize, columns: usize) -> Result<Array2<f32>, LoadError> {
        let values = self.values(name, &[rows, columns])?;
        Array2::from_shape_vec((rows, columns), values).map_err(|e| self.wrong(e.to_string()))
    }

    /// A vector.
    pub(crate) fn vector(&self, name: &str, length: usize) -> Result<Array1<f32>, LoadError> {
        Ok(Array1::from_vec(self.values(name, &[length])?))
    }
}
