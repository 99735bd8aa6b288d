//! What a model declares about an input.

use oneir::DType;
use oneir::onnx::{Dim, ElemType, ValueInfo, ValueType};

use crate::error::CliError;

/// A declared size, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Open {
    Fixed(usize),
    Any,
}

impl Open {
    pub(crate) fn of(dim: &Dim) -> Open {
        match dim {
            Dim::Known(size) => Open::Fixed(*size),
            Dim::Symbol(_) | Dim::Unknown => Open::Any,
        }
    }

    pub(super) fn takes(self, size: usize) -> bool {
        self.fixed().is_none_or(|expected| expected == size)
    }

    pub(super) fn fixed(self) -> Option<usize> {
        match self {
            Open::Fixed(size) => Some(size),
            Open::Any => None,
        }
    }

    pub(crate) fn or_one(self) -> usize {
        self.fixed().unwrap_or(1)
    }
}

/// The declared sizes, where at least the rank is declared.
pub(super) fn declared_dims(info: &ValueInfo) -> Option<&[Dim]> {
    info.ty.tensor()?.dims.as_deref()
}

/// The declared sizes; none where not even the rank is declared.
pub(crate) fn declared_shape(info: &ValueInfo) -> Vec<Open> {
    declared_dims(info).unwrap_or_default().iter().map(Open::of).collect()
}

/// The declared element type, where there is one.
///
/// # Errors
/// When values of the declared type are no numbers.
pub(crate) fn declared_dtype(info: &ValueInfo) -> Result<Option<DType>, CliError> {
    match &info.ty {
        ValueType::Unknown => Ok(None),
        ValueType::Tensor(ty) if ty.elem == ElemType::Undefined => Ok(None),
        ValueType::Tensor(ty) if ty.elem.dtype().is_some() => Ok(ty.elem.dtype()),
        other => Err(CliError::UngivableInput { name: info.name.clone(), declared: other.to_string() }),
    }
}

/// Whether the input is a tensor of strings.
pub(super) fn is_strings(info: &ValueInfo) -> bool {
    info.ty.tensor().is_some_and(|ty| ty.elem == ElemType::String)
}

/// Inputs as messages list them.
pub(crate) fn takes(expected: &[&ValueInfo]) -> Vec<String> {
    if expected.is_empty() {
        return vec!["no inputs".into()];
    }
    expected.iter().map(|info| format!("`{}`: {}", info.name, info.ty)).collect()
}

/// The dimension along which a sound or the bytes of a file run; the others
/// have size 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Along {
    pub(super) rank: usize,
    /// None of a single value.
    pub(super) axis: Option<usize>,
    pub(super) size: Open,
}

impl Along {
    /// The one dimension declared longer than 1, else the last open one, else
    /// the last.
    pub(super) fn of(info: &ValueInfo, what: &'static str) -> Result<Along, CliError> {
        if declared_dims(info).is_none() {
            return Ok(Along { rank: 1, axis: Some(0), size: Open::Any });
        }
        let sizes = declared_shape(info);
        let is_long = |size: &Open| size.fixed().is_some_and(|size| size != 1);
        let long = sizes.iter().filter(|size| is_long(size)).count();
        let open = sizes.iter().filter(|&&size| size == Open::Any).count();
        if long > 1 || (long == 1 && open > 1) {
            let declared = info.ty.to_string();
            return Err(CliError::NoPlace { name: info.name.clone(), declared, what });
        }
        let axis = (sizes.iter().position(is_long))
            .or_else(|| sizes.iter().rposition(|&size| size == Open::Any))
            .or(sizes.len().checked_sub(1));
        let size = axis.map_or(Open::Fixed(1), |axis| sizes[axis]);
        Ok(Along { rank: sizes.len(), axis, size })
    }

    /// The shape of `count` values.
    pub(super) fn shape(self, count: usize) -> Vec<usize> {
        let mut shape = vec![1; self.rank];
        if let Some(axis) = self.axis {
            shape[axis] = count;
        }
        shape
    }
}

#[cfg(test)]
pub(super) fn info(name: &str, elem: ElemType, dims: &[Dim]) -> ValueInfo {
    let ty = ValueType::Tensor(oneir::onnx::TensorType { elem, dims: Some(dims.to_vec()) });
    ValueInfo { name: name.into(), ty }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_run_along_the_one_long_dimension() {
        let along = |dims: &[Dim]| Along::of(&info("x", ElemType::Float, dims), "a sound");
        let (n, one, long) = (Dim::Unknown, Dim::Known(1), Dim::Known(512));
        let found = along(&[n.clone(), long.clone(), one.clone()]).unwrap();
        assert_eq!((found.axis, found.size, found.shape(512)), (Some(1), Open::Fixed(512), vec![1, 512, 1]));
        assert_eq!(along(&[n.clone(), n.clone()]).unwrap().axis, Some(1));
        assert_eq!(along(&[n, one.clone()]).unwrap().axis, Some(0));
        assert_eq!(along(&[one.clone(), one]).unwrap().axis, Some(1));
        assert_eq!(along(&[]).unwrap().shape(1), Vec::<usize>::new());
        let open = Dim::Unknown;
        for unclear in [&[long.clone(), long.clone()][..], &[open.clone(), long, open]] {
            assert!(matches!(along(unclear), Err(CliError::NoPlace { .. })));
        }
    }
}
