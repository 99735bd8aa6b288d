//! The outputs of a run, for people.

use std::fmt::Write;
use std::path::Path;

use oneir::io::save_tensors;
use oneir::onnx::{Keys, Strings, Term};
use oneir::tensor::Values;
use oneir::{Array, Device, HostTensor, eval_on};

use crate::error::CliError;
use crate::numbers::{Extent, about, first_values, layout_text, one_line, tensor_text};

/// Lines of a screen: where all outputs take more, only numbers about long ones
/// and their first values are told.
const SCREEN: usize = 24;

/// Outputs that are told where not all of them are asked for: a list may have
/// any number of items.
const MAX_OUTPUTS: usize = 24;

/// Bytes of a string that are shown where not all are asked for.
const MAX_STRING: usize = 200;

/// Rows whose likeliest items are named.
const MAX_ROWS: usize = 8;

/// Items named of each row.
const TOP: usize = 3;

/// One output, or one item of an output that is a list.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) value: OutputValue,
}

/// What an output holds.
#[derive(Debug, Clone)]
pub(crate) enum OutputValue {
    Tensor(HostTensor),
    Strings(Strings),
    /// An optional value that is not there.
    Nothing,
}

/// The outputs in host memory; waits for them.
pub(crate) fn fetch(device: &Device, outputs: Vec<(String, Term)>) -> Result<Vec<Output>, CliError> {
    let mut fetched = Vec::with_capacity(outputs.len());
    // Lists, maps and optionals hold further terms; the last on the stack is next.
    let mut stack: Vec<(String, Term)> = outputs.into_iter().rev().collect();
    while let Some((name, term)) = stack.pop() {
        let value = match term {
            Term::Array(array) => {
                let host = eval_on(device, std::slice::from_ref(&array)).and_then(|()| array.to_host());
                match host {
                    Ok(host) => OutputValue::Tensor(host),
                    Err(source) => return Err(CliError::Output { name, source: Box::new(source) }),
                }
            }
            Term::Host(host) => OutputValue::Tensor(host),
            Term::Strings(strings) => OutputValue::Strings(strings),
            Term::Optional(None) => OutputValue::Nothing,
            Term::Optional(Some(inner)) => {
                stack.push((name, *inner));
                continue;
            }
            Term::Sequence(items) => {
                let named = items.into_iter().enumerate().map(|(i, item)| (format!("{name}.{i}"), item));
                stack.extend(named.rev());
                continue;
            }
            Term::Map(map) => {
                stack.push((format!("{name}.values"), *map.values));
                let keys = match map.keys {
                    Keys::Ints(keys) => Term::Array(Array::from_slice(&keys, &[keys.len()])),
                    Keys::Strings(values) => Term::Strings(Strings { shape: vec![values.len()], values }),
                };
                stack.push((format!("{name}.keys"), keys));
                continue;
            }
        };
        fetched.push(Output { name, value });
    }
    Ok(fetched)
}

/// Saves outputs under their names.
pub(crate) fn save(path: &Path, outputs: &[Output]) -> Result<(), CliError> {
    let mut tensors = Vec::with_capacity(outputs.len());
    for Output { name, value } in outputs {
        let what = match value {
            OutputValue::Tensor(tensor) => {
                tensors.push((name.clone(), tensor.clone()));
                continue;
            }
            OutputValue::Strings(_) => "strings",
            OutputValue::Nothing => "nothing",
        };
        return Err(CliError::UnsavableOutput { path: path.into(), name: name.clone(), what });
    }
    save_tensors(path, &tensors).map_err(|source| CliError::Tensors { source: Box::new(source) })
}

/// Name, type, shape and values of each output, and whether values are left out.
pub(crate) fn text(outputs: &[Output], width: usize, extent: Extent) -> Result<(String, bool), CliError> {
    let mut out = String::new();
    let mut cut = false;
    let lines: usize = outputs.iter().map(|output| 2 + output.value.lines(extent)).sum();
    let most = if extent == Extent::All { usize::MAX } else { MAX_OUTPUTS };
    for (i, Output { name, value }) in outputs.iter().take(most).enumerate() {
        if i > 0 {
            out.push('\n');
        }
        out.push_str(&heading(name, value));
        let long = extent.cuts(value.shape());
        let told = long && (lines > SCREEN || !extent.fits(value.shape()));
        cut |= long;
        // Writing to a string cannot fail, here and below.
        _ = match value {
            OutputValue::Tensor(tensor) => {
                let wrong = |source| CliError::Tensor { what: format!("output `{name}`"), source };
                if let Some(about) = if long { about(tensor).map_err(wrong)? } else { None } {
                    _ = writeln!(out, "{about}");
                }
                let values =
                    if told { first_values(tensor, width) } else { tensor_text(tensor, width, extent) };
                let likeliest = likeliest(tensor).unwrap_or_default();
                writeln!(out, "{}{likeliest}", values.map_err(wrong)?)
            }
            OutputValue::Strings(strings) => {
                let mut quoted = |places: &[usize]| -> Vec<String> {
                    let text = |&i: &usize| {
                        let string = &strings.values[i];
                        let shown = if extent == Extent::All { usize::MAX } else { MAX_STRING };
                        let text =
                            format!("{:?}", String::from_utf8_lossy(&string[..shown.min(string.len())]));
                        cut |= shown < string.len();
                        if shown < string.len() {
                            format!("{text}... of {} bytes", string.len())
                        } else {
                            text
                        }
                    };
                    places.iter().map(text).collect()
                };
                let values = if told {
                    let first: Vec<usize> = (0..strings.values.len().min(MAX_OUTPUTS)).collect();
                    one_line(&quoted(&first), strings.values.len(), width)
                } else {
                    layout_text(&strings.shape, width, extent, quoted)
                };
                writeln!(out, "{values}")
            }
            OutputValue::Nothing => Ok(()),
        };
    }
    if outputs.len() > most {
        cut = true;
        _ = writeln!(out, "\nand {} outputs more", outputs.len() - most);
    }
    Ok((out, cut))
}

impl OutputValue {
    fn shape(&self) -> &[usize] {
        match self {
            OutputValue::Tensor(tensor) => tensor.shape(),
            OutputValue::Strings(strings) => &strings.shape,
            OutputValue::Nothing => &[],
        }
    }

    /// How many lines the values take.
    fn lines(&self, extent: Extent) -> usize {
        let shape = self.shape();
        extent.rows(shape) + usize::from(extent.cuts(shape))
    }
}

/// A line with the name, type and shape of an output.
pub(crate) fn heading(name: &str, value: &OutputValue) -> String {
    let what = match value {
        OutputValue::Tensor(tensor) => format!("{}{}", tensor.dtype(), tensor.shape()),
        OutputValue::Strings(strings) => format!("string{:?}", strings.shape),
        OutputValue::Nothing => "no value".into(),
    };
    format!("{}: {what}\n", plain(name))
}

/// A name from a file, without what a terminal would obey.
fn plain(name: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    name.chars().map(shown).collect()
}

/// The likeliest items of each row, of a tensor whose rows are probabilities.
fn likeliest(tensor: &HostTensor) -> Option<String> {
    // A huge tensor is no list of probabilities, and may be one number repeated.
    if tensor.count() > 1 << 20 {
        return None;
    }
    let Ok(Values::Float(values)) = tensor.values() else { return None };
    let cols = tensor.shape().last().copied()?;
    if cols < 2 || values.is_empty() || tensor.dtype().bits() < 16 {
        return None;
    }
    let slack = if tensor.dtype().bits() == 16 { 2e-2 } else { 1e-3 };
    let is_row = |row: &[f64]| {
        row.iter().all(|&p| (0.0..=1.0 + slack).contains(&p))
            && (row.iter().sum::<f64>() - 1.0).abs() <= slack
    };
    let rows: Vec<&[f64]> = values.chunks(cols).collect();
    if !rows.iter().all(|row| is_row(row)) {
        return None;
    }
    let mut text = String::from("\nlikeliest of each row:");
    for (at, row) in rows.iter().take(MAX_ROWS).enumerate() {
        let named: Vec<String> =
            top(row, TOP).into_iter().map(|(i, p)| format!("{i} ({:.1} %)", 100.0 * p)).collect();
        _ = write!(text, "\n  {}: {}", place(&tensor.shape()[..tensor.rank() - 1], at), named.join(", "));
    }
    if rows.len() > MAX_ROWS {
        _ = write!(text, "\n  and {} rows more", rows.len() - MAX_ROWS);
    }
    Some(text)
}

/// The places and values of the `count` largest, largest first.
pub(crate) fn top(row: &[f64], count: usize) -> Vec<(usize, f64)> {
    let mut all: Vec<(usize, f64)> = row.iter().copied().enumerate().collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.truncate(count);
    all
}

/// The index of a row, over all dimensions but the last.
pub(crate) fn place(shape: &[usize], at: usize) -> String {
    let mut index = Vec::with_capacity(shape.len());
    let mut rest = at;
    for &size in shape.iter().rev() {
        index.push((rest % size.max(1)).to_string());
        rest /= size.max(1);
    }
    index.reverse();
    format!("[{}]", index.join(", "))
}

/// Characters in a line of the terminal, as far as it is known.
pub(crate) fn terminal_width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    columns.filter(|&columns: &usize| columns > 0).unwrap_or(80)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(shape: &[usize], elements: &[f32]) -> Output {
        Output {
            name: "y".into(),
            value: OutputValue::Tensor(HostTensor::from_slice(shape, elements).unwrap()),
        }
    }

    #[test]
    fn rows_of_probabilities_name_their_likeliest() {
        let shown = text(&[output(&[2, 1, 3], &[0.1, 0.7, 0.2, 1.0, 0.0, 0.0])], 80, Extent::Fits).unwrap().0;
        assert!(shown.contains("[0, 0]: 1 (70.0 %), 2 (20.0 %), 0 (10.0 %)"), "{shown}");
        assert!(shown.contains("[1, 0]: 0 (100.0 %)"), "{shown}");
        for other in [output(&[2], &[0.5, 0.6]), output(&[2], &[1.5, -0.5]), output(&[1], &[1.0])] {
            assert!(!text(&[other], 80, Extent::Fits).unwrap().0.contains("likeliest"));
        }
    }

    #[test]
    fn strings_are_quoted_and_lists_named_by_place() {
        let strings = Strings { shape: vec![2], values: vec![b"a".to_vec(), b"b\n".to_vec()] };
        let list = Term::Sequence(vec![Term::Strings(strings), Term::Optional(None)]);
        let device = oneir::Runtime::global().default_device().unwrap();
        let fetched = fetch(&device, vec![("s".into(), list)]).unwrap();
        let (shown, cut) = text(&fetched, 80, Extent::Fits).unwrap();
        assert!(!cut);
        assert_eq!(shown, "s.0: string[2]\n[  \"a\" \"b\\n\"]\n\ns.1: no value\n");
        assert!(matches!(save(Path::new("x.npz"), &fetched), Err(CliError::UnsavableOutput { .. })));
    }

    #[test]
    fn long_outputs_fit_a_screen() {
        let long = |rank: usize| {
            let shape: Vec<usize> = [172, 264, 5, 2][..rank].to_vec();
            let elements: Vec<f32> = (0..shape.iter().product::<usize>()).map(|i| i as f32).collect();
            output(&shape, &elements)
        };
        let (one, cut) = text(&[long(2)], 80, Extent::Fits).unwrap();
        assert!(cut && one.contains("min 0., mean 22703.5, max 45407.") && one.lines().count() == 9, "{one}");
        let (three, cut) = text(&[long(2), long(2), long(3)], 80, Extent::Fits).unwrap();
        assert!(cut && three.lines().count() == 11 && three.contains("first values: 0. 1. 2. "), "{three}");
        assert!(three.lines().all(|line| line.chars().count() <= 80), "{three}");
        let (deep, _) = text(&[long(4)], 80, Extent::Fits).unwrap();
        assert_eq!(deep.lines().count(), 3, "{deep}");
        let (all, cut) = text(&[long(3)], 80, Extent::All).unwrap();
        assert!(!cut && all.contains("227039.") && !all.contains("..."));
        let items = vec![output(&[1], &[1.0]); 30];
        let (some, cut) = text(&items, 80, Extent::Fits).unwrap();
        assert!(cut && some.ends_with("\nand 6 outputs more\n"), "{some}");
        let letters = Strings { shape: vec![], values: vec![vec![b'a'; 1000]] };
        let letters = Output { name: "s".into(), value: OutputValue::Strings(letters) };
        let (short, cut) = text(&[letters], 80, Extent::Fits).unwrap();
        assert!(cut && short.len() < 300 && short.contains("... of 1000 bytes"), "{short}");
    }
}
