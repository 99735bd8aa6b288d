//! The inputs of a run: what the command line gives, in the types and shapes
//! that the model declares.

mod bytes;
mod declared;
mod made;
mod picture;
mod resize;
mod sound;
mod source;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use oneir::HostTensor;
use oneir::io::{Format, Stored, StringTensor, open_stored};
use oneir::onnx::{Dim, Strings, Term, ValueInfo};

pub(crate) use declared::{Open, declared_dtype, declared_shape, takes};

use crate::args::GivenArgs;
use crate::error::CliError;
use crate::nearest::nearest;
use crate::{exact, literal};
use declared::{declared_dims, is_strings};
use made::{MAX_MADE, Made, Wanted, make};
use source::{Kind, Source};

/// What to tell about how a file became an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Note {
    /// What was asked for.
    Done(String),
    /// What the user may not expect.
    Changed(String),
}

/// What becomes of an input without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Refuse,
    Random,
}

/// Values by name, as `--inputs` and `--input` give them; the latter wins.
pub(crate) fn collect(
    expected: &[&ValueInfo],
    args: &GivenArgs,
    missing: Missing,
    notes: &mut Vec<Note>,
) -> Result<Vec<(String, Term)>, CliError> {
    let takes = || takes(expected);
    let mut values: Vec<(String, Term)> = Vec::new();
    for text in &args.input {
        let (info, value) = named(expected, text)?;
        if values.iter().any(|(name, _)| *name == info.name) {
            return Err(CliError::GivenTwice { name: info.name.clone() });
        }
        values.push((info.name.clone(), one(info, value, args.seed, notes)?));
    }
    if let Some(path) = &args.inputs {
        let tensors = open_stored(path).map_err(|source| CliError::Tensors { source: Box::new(source) })?;
        let from = path.display().to_string();
        for (name, tensor) in tensors {
            let Some(info) = expected.iter().find(|info| info.name == name) else {
                let meant = meant(&name, expected);
                return Err(CliError::UnknownInput { name, meant, from, takes: takes() });
            };
            if !values.iter().any(|(other, _)| *other == name) {
                values.push((name, held(info, tensor, &from)?));
            }
        }
    }
    let absent: Vec<&ValueInfo> =
        expected.iter().filter(|info| !values.iter().any(|(name, _)| *name == info.name)).copied().collect();
    match missing {
        Missing::Refuse if !absent.is_empty() => {
            let names = absent.iter().map(|info| info.name.clone()).collect();
            Err(CliError::MissingInputs { names, takes: takes() })
        }
        Missing::Refuse => Ok(values),
        Missing::Random => {
            for info in absent {
                values.push((
                    info.name.clone(),
                    make(info, Wanted { made: Made::Random, shape: None }, args.seed)?,
                ));
            }
            Ok(values)
        }
    }
}

/// Which input a `--input` is for, and the rest of its text.
fn named<'a>(expected: &[&'a ValueInfo], text: &'a str) -> Result<(&'a ValueInfo, &'a str), CliError> {
    let after = |info: &ValueInfo| text.strip_prefix(info.name.as_str())?.strip_prefix('=');
    let matching = expected.iter().filter_map(|info| Some((*info, after(info)?)));
    // A name may be the beginning of another, with `=` in it.
    if let Some(found) = matching.max_by_key(|(info, _)| info.name.len()) {
        return Ok(found);
    }
    let nameless = source::has_kind(text) || text.starts_with('[') || Path::new(text).exists();
    match (expected, text.split_once('=')) {
        ([only], None) => Ok((only, text)),
        ([only], Some(_)) if nameless => Ok((only, text)),
        (_, Some((name, _))) if !nameless => Err(CliError::UnknownInput {
            name: name.into(),
            meant: meant(name, expected),
            from: format!("`--input {text}`"),
            takes: takes(expected),
        }),
        _ => Err(CliError::Unnamed { text: text.into(), takes: takes(expected) }),
    }
}

/// The input whose name is most like a wrong one.
fn meant(wrong: &str, expected: &[&ValueInfo]) -> Option<String> {
    nearest(wrong, expected.iter().map(|info| info.name.as_str())).map(str::to_owned)
}

/// One input's value, from the text after its name.
fn one(info: &ValueInfo, text: &str, seed: u64, notes: &mut Vec<Note>) -> Result<Term, CliError> {
    if text.is_empty() {
        return Err(CliError::NoValue { name: info.name.clone(), declared: info.ty.to_string() });
    }
    if let Some(source) = source::read(&info.name, text)? {
        return from_source(info, &source, notes);
    }
    if let Some(wanted) = Made::read(info, text)? {
        return make(info, wanted, seed);
    }
    if is_strings(info) && text.trim_start().starts_with(['[', '"']) {
        return bytes::listed(info, text);
    }
    if literal::is_literal(text) {
        return written(info, text).map(Term::Host);
    }
    from_source(info, &Source::plain(kind_of_file(text), text), notes)
}

fn from_source(info: &ValueInfo, source: &Source<'_>, notes: &mut Vec<Note>) -> Result<Term, CliError> {
    let tensor = match source.kind {
        Kind::Tensor => return held(info, stored(info, source)?, source.rest),
        Kind::Picture => {
            let (tensor, how) = picture::tensor(info, source)?;
            notes.push(Note::Done(how));
            tensor
        }
        Kind::Sound => sound::tensor(info, source, notes)?,
        Kind::Bytes | Kind::Text => match bytes::value(info, source)? {
            Term::Host(tensor) => tensor,
            other => return Ok(other),
        },
        Kind::Lines => return bytes::lines(info, source),
        Kind::Raw => bytes::raw(info, source)?,
    };
    fitted(info, tensor, source.rest).map(Term::Host)
}

/// Ends of the names of pictures.
const PICTURES: [&str; 15] = [
    "png", "jpg", "jpeg", "bmp", "dib", "tif", "tiff", "webp", "jp2", "j2k", "jpx", "pnm", "pbm", "pgm",
    "ppm",
];

/// What a file is, by its name, or else by how it begins.
fn kind_of_file(path: &str) -> Kind {
    let path = Path::new(path);
    let named = |names: &[&str]| {
        path.extension().is_some_and(|found| names.iter().any(|name| found.eq_ignore_ascii_case(name)))
    };
    if Format::of_name(path).is_some() {
        return Kind::Tensor;
    } else if named(&PICTURES) {
        return Kind::Picture;
    } else if named(&["wav", "wave"]) {
        return Kind::Sound;
    }
    let mut start = Vec::new();
    // Opening a pipe would wait for its other end.
    if path.is_file()
        && let Ok(file) = File::open(path)
    {
        // Who reads the file will say why it cannot be read.
        _ = file.take(12).read_to_end(&mut start);
    }
    if oneir::io::picture::starts_like(&start) {
        Kind::Picture
    } else if oneir::io::sound::starts_like(&start) {
        Kind::Sound
    } else {
        Kind::Tensor
    }
}

/// The one tensor of a file, or the one with the name that is asked for.
fn stored(info: &ValueInfo, source: &Source<'_>) -> Result<Stored, CliError> {
    let path = Path::new(source.rest);
    let wanted = source.one(&info.name, "name", "the name of a tensor", |name| Some(name.to_owned()))?;
    let mut tensors = open_stored(path)
        .map_err(|source| CliError::InputFile { name: info.name.clone(), source: Box::new(source) })?;
    let at = match &wanted {
        Some(wanted) => tensors.iter().position(|(name, _)| name == wanted),
        None => (tensors.len() == 1).then_some(0),
    };
    match at {
        Some(at) => Ok(tensors.swap_remove(at).1),
        None => Err(CliError::NotOneTensor {
            name: info.name.clone(),
            path: path.into(),
            found: tensors.into_iter().map(|(name, _)| name).collect(),
        }),
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

/// A tensor of a file, of numbers or strings.
fn held(info: &ValueInfo, stored: Stored, from: &str) -> Result<Term, CliError> {
    let wrong = |found: String| CliError::WrongInput {
        name: info.name.clone(),
        expected: info.ty.to_string(),
        from: from.into(),
        found,
    };
    let strings = match stored {
        Stored::Tensor(tensor) if is_strings(info) => {
            return Err(wrong(format!("{}{}", tensor.dtype(), tensor.shape())));
        }
        Stored::Tensor(tensor) => return fitted(info, tensor, from).map(Term::Host),
        Stored::Strings(strings) => strings,
    };
    let StringTensor { mut shape, values } = strings;
    let found = format!("string{shape:?}");
    if !is_strings(info) && !matches!(declared_dtype(info), Ok(None)) {
        return Err(wrong(found));
    }
    let Some(dims) = declared_dims(info) else { return Ok(Term::Strings(Strings { shape, values })) };
    // Files of one string often give it a dimension.
    if dims.is_empty() && values.len() == 1 {
        shape.clear();
    }
    let agrees =
        dims.len() == shape.len() && dims.iter().zip(&shape).all(|(dim, &size)| Open::of(dim).takes(size));
    if agrees { Ok(Term::Strings(Strings { shape, values })) } else { Err(wrong(found)) }
}

fn wrong_input(info: &ValueInfo, from: &str, found: &HostTensor) -> CliError {
    CliError::WrongInput {
        name: info.name.clone(),
        expected: info.ty.to_string(),
        from: from.into(),
        found: format!("{}{}", found.dtype(), found.shape()),
    }
}

#[cfg(test)]
mod tests {
    use oneir::onnx::ElemType;

    use super::declared::info;
    use super::*;

    fn one(info: &ValueInfo, text: &str, seed: u64) -> Result<HostTensor, CliError> {
        match super::one(info, text, seed, &mut Vec::new())? {
            Term::Host(tensor) => Ok(tensor),
            other => panic!("{other:?}"),
        }
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
        let strings = info("s", ElemType::String, &[]);
        assert!(matches!(declared_dtype(&strings), Err(CliError::UngivableInput { .. })));
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
    #[test]
    fn strings_are_texts_or_lists() {
        let read = |dims: &[Dim], text: &str| match super::one(
            &info("s", ElemType::String, dims),
            text,
            0,
            &mut Vec::new(),
        ) {
            Ok(Term::Strings(strings)) => Ok(strings),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        };
        let strings = |shape: &[usize], values: &[&str]| Strings {
            shape: shape.to_vec(),
            values: values.iter().map(|value| value.as_bytes().to_vec()).collect(),
        };
        let (n, two) = (Dim::Unknown, Dim::Known(2));
        assert_eq!(read(&[], "text:a: b=c"), Ok(strings(&[], &["a: b=c"])));
        assert_eq!(read(&[n.clone(), two.clone()], "text:x"), Ok(strings(&[1, 2], &["x", "x"])));
        assert_eq!(read(std::slice::from_ref(&n), r#"["a", "\u00e9"]"#), Ok(strings(&[2], &["a", "é"])));
        assert_eq!(read(&[n.clone(), two], r#"["a", "b"]"#), Ok(strings(&[1, 2], &["a", "b"])));
        assert_eq!(read(&[], r#""[1]""#), Ok(strings(&[], &["[1]"])));
        assert_eq!(read(std::slice::from_ref(&n), "[]"), Ok(strings(&[0], &[])));
        assert_eq!(read(std::slice::from_ref(&n), "zeros:2"), Ok(strings(&[2], &["", ""])));
        for (text, part) in [
            (r#"["a", 1]"#, "`1`"),
            (r#"["a", ["b"]]"#, "strings beside lists"),
            (r#"[["a"], []]"#, "different lengths"),
            (r#"["a""#, "EOF"),
            (r#"[["a"]]"#, "string[1, 1]"),
        ] {
            let refused = read(std::slice::from_ref(&n), text).unwrap_err();
            assert!(refused.contains(part), "{text}: {refused}");
        }
    }
}
