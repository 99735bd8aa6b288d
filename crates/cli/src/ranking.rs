//! The largest values of each row of an output, with names for their places.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::path::Path;

use oneir::HostTensor;
use oneir::tensor::{TensorError, Values};
use serde_json::Value;

use crate::error::CliError;
use crate::show::{Output, OutputValue, heading, place, top};

/// The largest that are printed where no number is given.
const TOP: usize = 5;

/// Rows that are printed of one output.
const MAX_ROWS: usize = 64;

/// Elements of an output whose rows are ranked.
const MAX_ELEMENTS: usize = 1 << 26;

/// What `--labels` takes before a key.
const METADATA: &str = "metadata:";

/// Names for places.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Labels(HashMap<usize, String>);

impl Labels {
    /// Labels of a file, or of the metadata that a model's file has.
    pub(crate) fn open(named: &str, metadata: &BTreeMap<String, String>) -> Result<Labels, CliError> {
        let refused = |problem: String| CliError::Labels { from: named.into(), problem };
        let text = match named.strip_prefix(METADATA) {
            Some(key) => metadata.get(key).cloned().ok_or_else(|| {
                let keys: Vec<&str> = metadata.keys().map(String::as_str).collect();
                refused(format!("the model's file has no such key; it has {}", listed(&keys)))
            })?,
            None => {
                let read = |path: &str| read(Path::new(path)).map_err(|e| refused(e.to_string()));
                match named.rsplit_once('#').filter(|_| !Path::new(named).exists()) {
                    Some((path, key)) => return Labels::within(&read(path)?, key).map_err(refused),
                    None => read(named)?,
                }
            }
        };
        Labels::parse(&text).map_err(refused)
    }

    /// Labels under a key of a JSON object.
    fn within(text: &str, key: &str) -> Result<Labels, String> {
        let whole: Value = serde_json::from_str(text).map_err(|e| format!("no right JSON: {e}"))?;
        match whole.get(key) {
            Some(found) => Labels::of_json(found.clone()),
            None => Err(format!("there is no `{key}` in the file")),
        }
    }

    fn of_json(value: Value) -> Result<Labels, String> {
        match value {
            Value::Array(items) => {
                let label = |(at, item)| match item {
                    Value::String(label) => Ok((at, label)),
                    other => Err(format!("expected a list of names, found `{other}` at {at}")),
                };
                Ok(Labels(items.into_iter().enumerate().map(label).collect::<Result<_, _>>()?))
            }
            Value::Object(items) => {
                let label = |(key, item): (String, Value)| match (key.parse(), item) {
                    (Ok(at), Value::String(label)) => Ok((at, label)),
                    (_, item) => Err(format!(
                        "expected names by place such as {{\"0\": \"cat\"}}, found `{key}`: {item}"
                    )),
                };
                Ok(Labels(items.into_iter().map(label).collect::<Result<_, _>>()?))
            }
            other => Err(format!("expected a list of names or names by place, found {other}")),
        }
    }

    fn parse(text: &str) -> Result<Labels, String> {
        // A line may be a bracket, of a list of characters.
        let json = text.trim_start().starts_with(['[', '{']) && text.trim_end().ends_with([']', '}']);
        match serde_json::from_str(text) {
            Ok(value @ (Value::Array(_) | Value::Object(_))) => Labels::of_json(value),
            Err(e) if json && text.contains('"') => Err(format!("no right JSON: {e}")),
            _ => Ok(Labels(text.lines().map(str::to_owned).enumerate().collect())),
        }
    }

    fn get(&self, at: usize) -> Option<&str> {
        self.0.get(&at).map(String::as_str)
    }
}

fn listed(keys: &[&str]) -> String {
    if keys.is_empty() { "none".into() } else { keys.join(", ") }
}

fn read(path: &Path) -> std::io::Result<String> {
    // Opening a pipe would wait for its other end.
    if !path.metadata()?.is_file() {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "not a regular file"));
    }
    std::fs::read_to_string(path)
}

/// How rows are told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ranking {
    pub(crate) top: Option<usize>,
    pub(crate) softmax: bool,
    pub(crate) labels: Labels,
    pub(crate) ctc: bool,
}

impl Ranking {
    /// Name, type and shape of each output, and the largest of its rows.
    pub(crate) fn text(&self, outputs: &[Output]) -> Result<String, CliError> {
        let mut out = String::new();
        for (i, Output { name, value }) in outputs.iter().enumerate() {
            if i > 0 {
                out.push('\n');
            }
            out.push_str(&heading(name, value));
            if let OutputValue::Tensor(tensor) = value {
                let rows = self.rows(tensor);
                out.push_str(
                    &rows.map_err(|source| CliError::Tensor { what: format!("output `{name}`"), source })?,
                );
            }
        }
        Ok(out)
    }

    /// What there are labels too few or too many for; `from` is what messages call
    /// them.
    pub(crate) fn unnamed(&self, outputs: &[Output], from: &str) -> Vec<String> {
        let mut notes = Vec::new();
        let mut longest = 0;
        for Output { name, value } in outputs {
            let OutputValue::Tensor(tensor) = value else { continue };
            if tensor.count() == 0 || tensor.count() > MAX_ELEMENTS {
                continue;
            }
            let Ok(values) = tensor.values() else { continue };
            match values {
                Values::Float(_) => {
                    let cols = tensor.shape().last().copied().unwrap_or(1);
                    longest = longest.max(cols);
                    // Of a text, place 0 is the blank, and one past the last label a space.
                    let places = if self.ctc { 0..cols.saturating_sub(1) } else { 0..cols };
                    let mut missing = places.clone().filter(|&at| self.labels.get(at).is_none());
                    let Some(first) = missing.next() else { continue };
                    let count = 1 + missing.count();
                    if self.ctc && first + 1 == places.end {
                        continue;
                    }
                    notes.push(format!(
                        "{from} has names for {} of the {} places in rows of `{name}`; place {} is the first \
                         without: are they the labels of this model?",
                        places.len() - count,
                        places.len(),
                        first + usize::from(self.ctc)
                    ));
                }
                Values::Complex(_) => {}
                answers => {
                    let answers = answers.to_floats();
                    let known = |&&at: &&f64| at >= 0.0 && self.labels.get(at as usize).is_some();
                    if let Some(answer) = answers.iter().find(|at| !known(at)) {
                        notes.push(format!(
                            "{from} has no name for the answer {answer} in `{name}`: are they the labels of \
                             this model?"
                        ));
                    }
                }
            }
        }
        let last = self.labels.0.keys().max().map_or(0, |last| last + 1);
        if longest > 0 && last > longest {
            notes.push(format!(
                "{from} has names up to place {}, and rows have {longest} places at most: are they the labels of \
                 this model?",
                last - 1
            ));
        }
        notes
    }

    fn rows(&self, tensor: &HostTensor) -> Result<String, TensorError> {
        let cols = tensor.shape().last().copied().unwrap_or(1);
        if tensor.count() > MAX_ELEMENTS {
            return Ok(format!("  has more than the {MAX_ELEMENTS} values that are ranked\n"));
        }
        let values = tensor.values()?;
        if matches!(values, Values::Complex(_)) || cols == 0 || values.is_empty() {
            return Ok("  has no values that could be ranked\n".into());
        }
        // Whole numbers are answers, not scores.
        if !matches!(values, Values::Float(_)) {
            return Ok(self.answers(&values.to_floats()));
        }
        let mut values = values.to_floats();
        let outer = &tensor.shape()[..tensor.rank().saturating_sub(1)];
        if self.ctc {
            return Ok(self.ctc_text(&values, outer, cols));
        }
        if self.softmax {
            values.chunks_mut(cols).for_each(softmax);
        }
        let mut out = String::new();
        let rows = values.len() / cols;
        for (at, row) in values.chunks(cols).take(MAX_ROWS).enumerate() {
            if outer.iter().any(|&size| size > 1) {
                _ = writeln!(out, "  {}", place(outer, at));
            }
            for (at, value) in top(row, self.top.unwrap_or(TOP)) {
                let label = self.labels.get(at).map(|label| format!("  {label}")).unwrap_or_default();
                let value = if value != 0.0 && value.abs() < 1e-4 {
                    format!("{value:.4e}")
                } else {
                    format!("{value:.6}")
                };
                _ = writeln!(out, "  {value:>12}  {at:>6}{label}");
            }
        }
        if rows > MAX_ROWS {
            _ = writeln!(out, "  and {} rows more", rows - MAX_ROWS);
        }
        Ok(out)
    }

    /// Whole numbers with their labels.
    fn answers(&self, values: &[f64]) -> String {
        let mut out = String::new();
        for &value in values.iter().take(MAX_ROWS) {
            let at = (value >= 0.0 && value < usize::MAX as f64).then_some(value as usize);
            let label = at.and_then(|at| self.labels.get(at)).map(|label| format!("  {label}"));
            _ = writeln!(out, "  {value:>12}{}", label.unwrap_or_default());
        }
        if values.len() > MAX_ROWS {
            _ = writeln!(out, "  and {} more", values.len() - MAX_ROWS);
        }
        out
    }

    /// The largest of each row as one text: one of those that repeat, and no
    /// blanks.
    fn ctc_text(&self, values: &[f64], outer: &[usize], cols: usize) -> String {
        let steps = outer.last().copied().unwrap_or(1).max(1);
        let mut out = String::new();
        for text in values.chunks(steps * cols).take(MAX_ROWS) {
            let mut last = 0;
            let mut sum = (0.0, 0usize);
            out.push_str("  ");
            for row in text.chunks(cols) {
                let Some(&(at, value)) = top(row, 1).first() else { continue };
                if at != 0 && at != last {
                    out.push_str(self.labels.get(at - 1).unwrap_or(" "));
                    sum = (sum.0 + value, sum.1 + 1);
                }
                last = at;
            }
            _ = writeln!(out, "  (mean {:.3})", if sum.1 == 0 { 0.0 } else { sum.0 / sum.1 as f64 });
        }
        out
    }
}

fn softmax(row: &mut [f64]) {
    let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    row.iter_mut().for_each(|x| *x = (*x - most).exp());
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|x| *x /= sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(labels: &str) -> Ranking {
        let labels = Labels::parse(labels).unwrap();
        Ranking { top: Some(2), softmax: false, labels, ctc: false }
    }

    #[test]
    fn labels_are_lines_or_json() {
        let get = |text: &str| {
            let labels = Labels::parse(text).unwrap();
            (0..3).map(|at| labels.get(at).unwrap_or("-").to_owned()).collect::<Vec<_>>().join(",")
        };
        assert_eq!(get("cat\r\ndog\n"), "cat,dog,-");
        assert_eq!(get(r#" ["cat", "dog"] "#), "cat,dog,-");
        assert_eq!(get(r#"{"2": "cat"}"#), "-,-,cat");
        assert_eq!(get("[\na\n]"), "[,a,]");
        assert_eq!(get("3\n4"), "3,4,-");
        let within = |key: &str| Labels::within(r#"{"n": 3, "names": ["a"]}"#, key);
        assert_eq!(within("names").unwrap().get(0), Some("a"));
        assert!(within("n").is_err() && within("labels").unwrap_err().contains("no `labels`"));
        for wrong in ["[1, 2]", r#"{"cat": "0"}"#, r#"{"0": 1}"#, r#"["a",]"#] {
            assert!(Labels::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rows_list_their_largest_with_labels() {
        let tensor = HostTensor::from_slice(&[2, 3], &[0.5f32, 2.0, 1e-5, -1.0, -3.0, -2.0]).unwrap();
        assert_eq!(
            ranking("cat\ndog").rows(&tensor).unwrap(),
            "  [0]\n      2.000000       1  dog\n      0.500000       0  cat\n\
             \u{20} [1]\n     -1.000000       0  cat\n     -2.000000       2\n"
        );
        let odds = HostTensor::from_slice(&[2], &[0f32, 1.0]).unwrap();
        let softmax = Ranking { softmax: true, ..ranking("") };
        // 1 / (1 + 1/e)
        assert!(softmax.rows(&odds).unwrap().contains("0.731059       1\n"));
    }

    #[test]
    fn whole_numbers_are_answers() {
        let labels = HostTensor::from_slice(&[2], &[1i64, 7]).unwrap();
        assert_eq!(ranking("a\nb").rows(&labels).unwrap(), "             1  b\n             7\n");
    }

    #[test]
    fn ctc_drops_blanks_and_repeats() {
        let steps = [1usize, 1, 0, 1, 2, 2, 3];
        let rows: Vec<f32> =
            steps.iter().flat_map(|&at| (0..4).map(move |i| if i == at { 0.5 } else { 0.0 })).collect();
        let tensor = HostTensor::from_slice(&[1, 7, 4], &rows).unwrap();
        let ctc = Ranking { ctc: true, ..ranking("a\nb") };
        assert_eq!(ctc.rows(&tensor).unwrap(), "  aab   (mean 0.500)\n");
    }
}
