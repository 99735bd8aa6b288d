//! Bytes as numbers or strings, and the memory of a tensor.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use oneir::HostTensor;
use oneir::io::IoError;
use oneir::onnx::{Strings, Term, ValueInfo};

use super::declared::{Along, Open, declared_dims, declared_dtype, declared_shape, is_strings};
use super::made::MAX_MADE;
use super::source::{Kind, Source};
use crate::args::parse_shape;
use crate::error::CliError;

/// All bytes of a regular file.
fn contents(name: &str, path: &str) -> Result<Vec<u8>, CliError> {
    let path = Path::new(path);
    let refused = |action| {
        move |source: io::Error| CliError::InputFile {
            name: name.to_owned(),
            source: Box::new(IoError::Os { path: path.into(), action, source }),
        }
    };
    // Opening a pipe would wait for its other end.
    if !path.metadata().map_err(refused("open"))?.is_file() {
        let why = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
        return Err(refused("open")(why));
    }
    let mut file = File::open(path).map_err(refused("open"))?;
    let len = file.metadata().map_err(refused("open"))?.len();
    if len > MAX_MADE as u64 {
        let shape = vec![usize::try_from(len).unwrap_or(usize::MAX)];
        return Err(CliError::TooLarge { name: name.into(), shape, limit: MAX_MADE });
    }
    let mut bytes = Vec::with_capacity(len as usize);
    file.read_to_end(&mut bytes).map_err(refused("read"))?;
    Ok(bytes)
}

/// A text, or the bytes of a file: one string, or a number for each byte.
pub(super) fn value(info: &ValueInfo, source: &Source<'_>) -> Result<Term, CliError> {
    let name = &info.name;
    let first = source.count(name, "first")?;
    let last = source.count(name, "last")?;
    let pad = source.one(name, "pad", "a whole number", |text| text.parse::<i64>().ok())?;
    let bytes = match source.kind {
        Kind::Text => source.rest.as_bytes().to_vec(),
        _ => contents(name, source.rest)?,
    };
    if is_strings(info) {
        if first.is_some() || last.is_some() || pad.is_some() {
            return Err(CliError::BadOption {
                name: name.clone(),
                option: "first, last and pad",
                expected: "an input of numbers",
                found: info.ty.to_string(),
            });
        }
        let shape: Vec<usize> = declared_shape(info).into_iter().map(Open::or_one).collect();
        let count = shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size));
        let Some(count) = count.filter(|&count| count <= 1 << 20) else {
            return Err(CliError::TooLarge { name: name.clone(), shape, limit: 1 << 20 });
        };
        return Ok(Term::Strings(Strings { shape, values: vec![bytes; count] }));
    }
    let along = Along::of(info, "the bytes of a text or file")?;
    let mut numbers: Vec<i64> = Vec::new();
    let too_short = |needed: usize| CliError::TooShort { name: name.clone(), found: bytes.len(), needed };
    if first.is_none() && last.is_none() {
        numbers.extend(bytes.iter().map(|&byte| i64::from(byte)));
    }
    let reach = first.unwrap_or(0).saturating_add(last.unwrap_or(0)).max(along.size.or_one());
    if reach > MAX_MADE {
        return Err(CliError::TooLarge { name: name.clone(), shape: vec![reach], limit: MAX_MADE });
    }
    let mut part = |bytes: &[u8], count: usize, filled_before: bool| {
        let missing = count - bytes.len();
        let fill = match (missing, pad) {
            (0, _) => 0,
            (_, Some(pad)) => pad,
            (_, None) => return Err(too_short(count)),
        };
        let filling = std::iter::repeat_n(fill, missing);
        let numbered = bytes.iter().map(|&byte| i64::from(byte));
        if filled_before {
            numbers.extend(filling.chain(numbered))
        } else {
            numbers.extend(numbered.chain(filling))
        }
        Ok(())
    };
    if let Some(count) = first {
        part(&bytes[..count.min(bytes.len())], count, false)?;
    }
    if let Some(count) = last {
        part(&bytes[bytes.len().saturating_sub(count)..], count, true)?;
    }
    if let Some(size) = along.size.fixed().filter(|&size| size != numbers.len()) {
        match pad {
            Some(pad) if numbers.len() < size => numbers.resize(size, pad),
            _ => {
                let (name, found) = (name.clone(), numbers.len());
                return Err(CliError::WrongCount { name, declared: info.ty.to_string(), found });
            }
        }
    }
    HostTensor::from_slice(&along.shape(numbers.len()), &numbers)
        .map(Term::Host)
        .map_err(|source| CliError::Tensor { what: format!("input `{name}`"), source })
}

/// The lines of a file, as strings.
pub(super) fn lines(info: &ValueInfo, source: &Source<'_>) -> Result<Term, CliError> {
    let name = &info.name;
    if !is_strings(info) {
        let declared = info.ty.to_string();
        return Err(CliError::NoPlace { name: name.clone(), declared, what: "the lines of a text" });
    }
    let along = Along::of(info, "the lines of a text")?;
    let bytes = contents(name, source.rest)?;
    let mut values: Vec<Vec<u8>> = bytes
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec())
        .collect();
    // What follows the last line's end is no line.
    if values.last().is_some_and(Vec::is_empty) {
        values.pop();
    }
    if !along.size.takes(values.len()) {
        let (name, found) = (name.clone(), values.len());
        return Err(CliError::WrongCount { name, declared: info.ty.to_string(), found });
    }
    Ok(Term::Strings(Strings { shape: along.shape(values.len()), values }))
}

/// The memory of a tensor of the declared type and shape.
pub(super) fn raw(info: &ValueInfo, source: &Source<'_>) -> Result<HostTensor, CliError> {
    let name = &info.name;
    let shape = source.one(name, "shape", "a shape such as 2x3", parse_shape)?;
    let wrong = |source| CliError::Tensor { what: format!("input `{name}`"), source };
    let undecided = || CliError::NoRawShape { name: name.clone(), declared: info.ty.to_string() };
    let dtype = declared_dtype(info)?.ok_or_else(undecided)?;
    let bytes = contents(name, source.rest)?;
    let shape = match shape {
        Some(shape) => shape,
        None if declared_dims(info).is_none() => return Err(undecided()),
        None => {
            let sizes = declared_shape(info);
            let open: Vec<usize> = (0..sizes.len()).filter(|&axis| sizes[axis] == Open::Any).collect();
            let mut shape: Vec<usize> = sizes.iter().map(|size| size.or_one()).collect();
            match open[..] {
                [] => {}
                [axis] => {
                    let row = oneir::Shape::new(&shape).checked_count(dtype).map_err(wrong)?;
                    let row = dtype.bytes_for(row).filter(|&bytes| bytes > 0).ok_or_else(undecided)?;
                    shape[axis] = bytes.len() / row;
                }
                _ => return Err(undecided()),
            }
            shape
        }
    };
    HostTensor::from_bytes(dtype, &shape, &bytes).map_err(wrong)
}

/// Strings written as a list, as JSON writes it.
pub(super) fn listed(info: &ValueInfo, text: &str) -> Result<Term, CliError> {
    use serde_json::Value;
    let wrong = |found: String| CliError::BadStrings { name: info.name.clone(), text: text.into(), found };
    let mut level: Vec<Value> = vec![serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?];
    let mut shape = Vec::new();
    while level.iter().any(Value::is_array) || level.is_empty() {
        let mut next = Vec::new();
        let mut sizes = Vec::new();
        for item in level {
            let Value::Array(items) = item else { return Err(wrong("strings beside lists".into())) };
            sizes.push(items.len());
            next.extend(items);
        }
        let size = sizes.first().copied().unwrap_or(0);
        if sizes.iter().any(|&other| other != size) {
            return Err(wrong("lists of different lengths".into()));
        }
        shape.push(size);
        level = next;
        if level.is_empty() {
            break;
        }
    }
    let values = level
        .into_iter()
        .map(|item| match item {
            Value::String(string) => Ok(string.into_bytes()),
            other => Err(wrong(format!("`{other}`"))),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let Some(dims) = declared_dims(info) else { return Ok(Term::Strings(Strings { shape, values })) };
    while shape.len() < dims.len() {
        shape.insert(0, 1);
    }
    let agrees =
        dims.len() == shape.len() && dims.iter().zip(&shape).all(|(dim, &size)| Open::of(dim).takes(size));
    if agrees {
        Ok(Term::Strings(Strings { shape, values }))
    } else {
        Err(CliError::WrongInput {
            name: info.name.clone(),
            expected: info.ty.to_string(),
            from: format!("`{text}`"),
            found: format!("string{shape:?}"),
        })
    }
}
