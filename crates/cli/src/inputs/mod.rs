//! The inputs of a run: what the command line gives, in the types and shapes
//! that the model declares.

use std::path::Path;

use oneir::io::open_tensors;
use oneir::onnx::{Dim, ElemType, ValueInfo, ValueType};
use oneir::tensor::Values;
use oneir::{DType, HostTensor};

use crate::args::parse_shape;
use crate::error::CliError;
use crate::{exact, literal};

/// The most elements of a value that a word or one number stands for.
const MAX_MADE: usize = 1 << 30;

/// Values by name, as `--inputs` and `--input` give them; the latter wins.
pub(crate) fn collect(
    expected: &[&ValueInfo],
    file: Option<&Path>,
    given: &[String],
    seed: u64,
) -> Result<Vec<(String, HostTensor)>, CliError> {
    let takes = || takes(expected);
    let mut values: Vec<(String, HostTensor)> = Vec::new();
    for text in given {
        let (info, value) = named(expected, text)?;
        if values.iter().any(|(name, _)| *name == info.name) {
            return Err(CliError::GivenTwice { name: info.name.clone() });
        }
        values.push((info.name.clone(), one(info, value, seed)?));
    }
    if let Some(path) = file {
        let tensors = open_tensors(path).map_err(|source| CliError::Tensors { source: Box::new(source) })?;
        let from = path.display().to_string();
        for (name, tensor) in tensors {
            let Some(info) = expected.iter().find(|info| info.name == name) else {
                return Err(CliError::UnknownInput { name, from, takes: takes() });
            };
            if !values.iter().any(|(other, _)| *other == name) {
                values.push((name, fitted(info, tensor, &from)?));
            }
        }
    }
    let missing: Vec<String> = expected
        .iter()
        .filter(|info| !values.iter().any(|(name, _)| *name == info.name))
        .map(|info| info.name.clone())
        .collect();
    if missing.is_empty() {
        Ok(values)
    } else {
        Err(CliError::MissingInputs { names: missing, takes: takes() })
    }
}

/// The inputs as messages list them.
pub(crate) fn takes(expected: &[&ValueInfo]) -> Vec<String> {
    if expected.is_empty() {
        return vec!["no inputs".into()];
    }
    expected.iter().map(|info| format!("`{}`: {}", info.name, info.ty)).collect()
}

/// Which input a `--input` is for, and the rest of its text.
fn named<'a>(expected: &[&'a ValueInfo], text: &'a str) -> Result<(&'a ValueInfo, &'a str), CliError> {
    let after = |info: &ValueInfo| text.strip_prefix(info.name.as_str())?.strip_prefix('=');
    let matching = expected.iter().filter_map(|info| Some((*info, after(info)?)));
    // A name may be the beginning of another, with `=` in it.
    if let Some(found) = matching.max_by_key(|(info, _)| info.name.len()) {
        return Ok(found);
    }
    match (expected, text.split_once('=')) {
        ([only], None) => Ok((only, text)),
        ([only], Some(_)) if Path::new(text).exists() => Ok((only, text)),
        (_, Some((name, _))) => Err(CliError::UnknownInput {
            name: name.into(),
            from: format!("`--input {text}`"),
            takes: takes(expected),
        }),
        (_, None) => Err(CliError::Unnamed { text: text.into(), takes: takes(expected) }),
    }
}

/// One input's value, from the text after its name.
fn one(info: &ValueInfo, text: &str, seed: u64) -> Result<HostTensor, CliError> {
    for made in [Made::Zeros, Made::Ones, Made::Random] {
        let Some(rest) = text.strip_prefix(made.word()) else { continue };
        let shape = match rest.strip_prefix(':') {
            Some(sizes) => parse_shape(sizes).ok_or_else(|| CliError::MadeShape {
                name: info.name.clone(),
                word: made.word(),
                found: sizes.into(),
            })?,
            None if rest.is_empty() => declared_shape(info).into_iter().map(Open::or_one).collect(),
            None => continue,
        };
        let dtype = declared_dtype(info)?.unwrap_or(DType::F32);
        return make(&info.name, made, dtype, &shape, seed);
    }
    if literal::is_literal(text) {
        return written(info, text);
    }
    let path = Path::new(text);
    let mut tensors = open_tensors(path)
        .map_err(|source| CliError::InputFile { name: info.name.clone(), source: Box::new(source) })?;
    if tensors.len() != 1 {
        return Err(CliError::NotOneTensor {
            name: info.name.clone(),
            path: path.into(),
            found: tensors.into_iter().map(|(name, _)| name).collect(),
        });
    }
    fitted(info, tensors.remove(0).1, text)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    Zeros,
    Ones,
    Random,
}

impl Made {
    fn word(self) -> &'static str {
        match self {
            Made::Zeros => "zeros",
            Made::Ones => "ones",
            Made::Random => "random",
        }
    }
}

fn make(name: &str, made: Made, dtype: DType, shape: &[usize], seed: u64) -> Result<HostTensor, CliError> {
    let wrong = |source| CliError::Tensor { what: format!("input `{name}`"), source };
    let count = oneir::Shape::new(shape).checked_count(dtype).map_err(wrong)?;
    if count > MAX_MADE {
        return Err(CliError::TooLarge { name: name.into(), shape: shape.into(), limit: MAX_MADE });
    }
    let values = match made {
        Made::Zeros => return HostTensor::zeros(dtype, shape).map_err(wrong),
        Made::Ones => Values::Float(vec![1.0; count]),
        Made::Random => {
            let mut numbers = Numbers::new(seed, name);
            // Few and small where they count things: indices stay in range.
            let top = if dtype == DType::Bool || dtype.bits() < 8 { 2.0 } else { 10.0 };
            let next = |numbers: &mut Numbers| {
                let unit = numbers.unit();
                if dtype.is_inexact() { unit } else { (unit * top).floor() }
            };
            Values::Float((0..count).map(|_| next(&mut numbers)).collect())
        }
    };
    HostTensor::from_values(dtype, shape, &values.convert(dtype)).map_err(wrong)
}

/// Numbers that look random and follow from a seed and a name.
struct Numbers(u64);

impl Numbers {
    fn new(seed: u64, name: &str) -> Self {
        // FNV-1a.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Numbers(hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The next number of [0, 1).
    fn unit(&mut self) -> f64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f64 / (1u64 << 24) as f64
    }
}

/// A value written as text, in the declared type, repeated to the declared
/// shape.
fn written(info: &ValueInfo, text: &str) -> Result<HostTensor, CliError> {
    let literal = |fault| CliError::Literal { name: info.name.clone(), text: text.into(), fault };
    let value = literal::parse(text).map_err(literal)?;
    let dtype = declared_dtype(info)?.unwrap_or_else(|| value.natural_dtype());
    let tensor = value.tensor(dtype).map_err(literal)?;
    let Some(dims) = declared_dims(info) else { return Ok(tensor) };
    let wrong = || wrong_input(info, &format!("`{text}`"), &tensor);
    let Some(lead) = dims.len().checked_sub(tensor.rank()) else { return Err(wrong()) };
    let shape: Vec<usize> = dims
        .iter()
        .enumerate()
        .map(|(axis, dim)| {
            let found = axis.checked_sub(lead).map_or(1, |axis| tensor.shape()[axis]);
            match dim {
                Dim::Known(size) if found == 1 => *size,
                _ => found,
            }
        })
        .collect();
    let agrees = dims.iter().zip(&shape).all(|(dim, &size)| Open::of(dim).takes(size));
    if !agrees {
        return Err(wrong());
    }
    if shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size)).is_none_or(|n| n > MAX_MADE) {
        return Err(CliError::TooLarge { name: info.name.clone(), shape, limit: MAX_MADE });
    }
    tensor
        .broadcast(&shape)
        .and_then(|tensor| tensor.contiguous())
        .map_err(|source| CliError::Tensor { what: format!("input `{}`", info.name), source })
}

/// A tensor of a file in the declared type and shape, where its values fit.
fn fitted(info: &ValueInfo, tensor: HostTensor, from: &str) -> Result<HostTensor, CliError> {
    let mut tensor = tensor;
    if let Some(dtype) = declared_dtype(info)? {
        let wrong = |source| CliError::Tensor { what: format!("input `{}` from {from}", info.name), source };
        tensor = match exact::converted(&tensor, dtype).map_err(wrong)? {
            Ok(converted) => converted,
            Err(misfit) => {
                return Err(CliError::Inexact {
                    name: info.name.clone(),
                    from: from.into(),
                    expected: dtype,
                    found: tensor.dtype(),
                    at: misfit.at,
                    value: misfit.value,
                });
            }
        };
    }
    let Some(dims) = declared_dims(info) else { return Ok(tensor) };
    // Files of one number often give it a dimension.
    if dims.is_empty() && tensor.count() == 1 {
        tensor = tensor
            .reshape(&[])
            .map_err(|source| CliError::Tensor { what: format!("input `{}`", info.name), source })?;
    }
    let agrees = dims.len() == tensor.rank()
        && dims.iter().zip(tensor.shape().iter()).all(|(dim, &size)| Open::of(dim).takes(size));
    if agrees { Ok(tensor) } else { Err(wrong_input(info, from, &tensor)) }
}

fn wrong_input(info: &ValueInfo, from: &str, found: &HostTensor) -> CliError {
    CliError::WrongInput {
        name: info.name.clone(),
        expected: info.ty.to_string(),
        from: from.into(),
        found: format!("{}{}", found.dtype(), found.shape()),
    }
}

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

    fn takes(self, size: usize) -> bool {
        match self {
            Open::Fixed(expected) => expected == size,
            Open::Any => true,
        }
    }

    pub(crate) fn or_one(self) -> usize {
        match self {
            Open::Fixed(size) => size,
            Open::Any => 1,
        }
    }
}

fn declared_dims(info: &ValueInfo) -> Option<&[Dim]> {
    info.ty.tensor()?.dims.as_deref()
}

/// The declared sizes; none where not even the rank is declared.
pub(crate) fn declared_shape(info: &ValueInfo) -> Vec<Open> {
    declared_dims(info).unwrap_or_default().iter().map(Open::of).collect()
}

/// The declared element type, where there is one.
///
/// # Errors
/// When values of the declared type cannot be given.
pub(crate) fn declared_dtype(info: &ValueInfo) -> Result<Option<DType>, CliError> {
    match &info.ty {
        ValueType::Unknown => Ok(None),
        ValueType::Tensor(ty) if ty.elem == ElemType::Undefined => Ok(None),
        ValueType::Tensor(ty) if ty.elem.dtype().is_some() => Ok(ty.elem.dtype()),
        other => Err(CliError::UngivableInput { name: info.name.clone(), declared: other.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use oneir::onnx::TensorType;

    use super::*;

    fn info(name: &str, elem: ElemType, dims: &[Dim]) -> ValueInfo {
        let ty = ValueType::Tensor(TensorType { elem, dims: Some(dims.to_vec()) });
        ValueInfo { name: name.into(), ty }
    }

    #[test]
    fn written_values_repeat_to_the_declared_shape() {
        let x = info("x", ElemType::Float, &[Dim::Symbol("n".into()), Dim::Known(3)]);
        let read = |text: &str| {
            let tensor = one(&x, text, 0).unwrap();
            (tensor.shape().to_vec(), tensor.to_vec::<f32>().unwrap())
        };
        assert_eq!(read("2"), (vec![1, 3], vec![2.0; 3]));
        assert_eq!(read("[1,2,3]"), (vec![1, 3], vec![1.0, 2.0, 3.0]));
        assert_eq!(read("[[1],[2]]"), (vec![2, 3], vec![1.0, 1.0, 1.0, 2.0, 2.0, 2.0]));
        assert_eq!(read("ones"), (vec![1, 3], vec![1.0; 3]));
        assert_eq!(read("zeros:2x3"), (vec![2, 3], vec![0.0; 6]));
        assert!(matches!(one(&x, "[1,2]", 0), Err(CliError::WrongInput { .. })));
        assert!(matches!(one(&x, "[[[1]]]", 0), Err(CliError::WrongInput { .. })));
        assert!(matches!(one(&x, "zeros:2y", 0), Err(CliError::MadeShape { .. })));
        assert!(matches!(one(&x, "ones:99999x99999", 0), Err(CliError::TooLarge { .. })));
    }

    #[test]
    fn random_values_follow_from_seed_and_name() {
        let x = info("x", ElemType::Int64, &[Dim::Unknown]);
        let read = |seed| one(&x, "random:50", seed).unwrap().to_vec::<i64>().unwrap();
        assert_eq!(read(0), read(0));
        assert_ne!(read(0), read(1));
        assert!(read(0).iter().all(|n| (0..10).contains(n)) && read(0).iter().any(|&n| n != read(0)[0]));
        assert!(matches!(
            declared_dtype(&info("s", ElemType::String, &[])),
            Err(CliError::UngivableInput { .. })
        ));
    }

    #[test]
    fn an_input_is_found_by_the_longest_name() {
        let a = info("a", ElemType::Float, &[]);
        let b = info("a=b", ElemType::Float, &[]);
        let both = [&a, &b];
        assert_eq!(named(&both, "a=b=1").unwrap(), (&b, "1"));
        assert_eq!(named(&both, "a=1").unwrap(), (&a, "1"));
        assert_eq!(named(&[&a], "1").unwrap(), (&a, "1"));
        assert!(matches!(named(&both, "1"), Err(CliError::Unnamed { .. })));
        assert!(matches!(named(&[&a], "c=1"), Err(CliError::UnknownInput { .. })));
    }

    #[test]
    fn tensors_of_files_convert_where_nothing_is_lost() {
        let x = info("x", ElemType::Int32, &[]);
        let fit = fitted(&x, HostTensor::from_slice(&[1], &[7i64]).unwrap(), "f").unwrap();
        assert_eq!((fit.shape().to_vec(), fit.to_vec::<i32>().unwrap()), (vec![], vec![7]));
        let wide = fitted(&x, HostTensor::scalar(1i64 << 40), "f");
        assert!(matches!(wide, Err(CliError::Inexact { at: 0, .. })));
        let long = fitted(&x, HostTensor::from_slice(&[2], &[7i32, 8]).unwrap(), "f");
        assert!(matches!(long, Err(CliError::WrongInput { .. })));
    }
}
