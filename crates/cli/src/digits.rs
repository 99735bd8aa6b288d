//! What `oneir run` shows without a model: handwritten digits, read by a small
//! network.

use std::fmt::Write;
use std::io::{self, IsTerminal};

use oneir::io::npy;
use oneir::tensor::TensorError;
use oneir::{DType, HostTensor};

use crate::error::CliError;
use crate::show::{Output, OutputValue, terminal_width, top};

/// The model: 64 pixels of 0 to 16 in, a label and 10 probabilities out.
pub(crate) const MODEL: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mlp_digits.onnx"));

/// What messages call the model.
pub(crate) const NAME: &str = "mlp_digits.onnx";

/// The model's input.
pub(crate) const INPUT: &str = "X";

const PICTURES: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/digits.npy"));

/// Pixels along each side of a picture.
const SIDE: usize = 8;

/// The brightest pixel.
const BRIGHTEST: usize = 16;

/// Characters from dark to bright.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];

/// Blanks between two pictures.
const GAP: usize = 3;

/// The pictures as the model's input.
pub(crate) fn pictures() -> Result<HostTensor, CliError> {
    let stored =
        npy::from_bytes(PICTURES).map_err(|source| CliError::Tensors { source: Box::new(source) })?;
    stored.cast(DType::F32).map_err(wrong)
}

fn wrong(source: TensorError) -> CliError {
    CliError::Tensor { what: "the pictures of digits".into(), source }
}

/// The pictures side by side, with what the model reads in each.
pub(crate) fn text(pictures: &HostTensor, outputs: &[Output], device: &str) -> Result<String, CliError> {
    let pixels = pictures.values().map_err(wrong)?.to_floats();
    let answers: Vec<(usize, f64)> = match probabilities(outputs) {
        Some((rows, cols)) => rows.chunks(cols).filter_map(|row| top(row, 1).first().copied()).collect(),
        None => Vec::new(),
    };
    let drawn: Vec<&[f64]> = pixels.chunks(SIDE * SIDE).collect();
    let style = Style::of_output();
    let abreast = ((terminal_width() + GAP) / (2 * SIDE + GAP)).max(1);
    let mut out = String::new();
    for (first, row) in drawn.chunks(abreast).enumerate() {
        for y in 0..SIDE {
            let lines: Vec<String> = row.iter().map(|picture| line(&picture[y * SIDE..][..SIDE])).collect();
            push_line(&mut out, &lines.join(&" ".repeat(GAP)));
        }
        let answers = answers.iter().skip(first * abreast).take(row.len());
        let captions: Vec<String> = answers.map(|&answer| style.caption(answer)).collect();
        push_line(&mut out, &captions.join(&" ".repeat(GAP)));
        out.push('\n');
    }
    // Writing to a string cannot fail.
    _ = writeln!(out, "{} handwritten digits, read by {NAME} on {device}", drawn.len());
    Ok(out)
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

/// The rows of the output that holds probabilities, and their length.
fn probabilities(outputs: &[Output]) -> Option<(Vec<f64>, usize)> {
    let OutputValue::Tensor(tensor) = &outputs.iter().find(|o| o.name == "probabilities")?.value else {
        return None;
    };
    Some((tensor.values().ok()?.to_floats(), tensor.shape().cols().max(1)))
}

/// A row of pixels, two characters each.
fn line(pixels: &[f64]) -> String {
    let shade = |&pixel: &f64| {
        let level = pixel.clamp(0.0, BRIGHTEST as f64) * (SHADES.len() - 1) as f64 / BRIGHTEST as f64;
        SHADES[level.round() as usize]
    };
    pixels.iter().map(shade).flat_map(|shade| [shade, shade]).collect()
}

/// Whether text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Coloured,
}

impl Style {
    /// Colours on a terminal that has them, unless they are refused.
    fn of_output() -> Style {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if io::stdout().is_terminal() && !refused { Style::Coloured } else { Style::Plain }
    }

    /// An answer and its confidence, as wide as a picture.
    fn caption(self, (digit, confidence): (usize, f64)) -> String {
        let text = format!("{:^width$}", format!("{digit}  {:.1} %", 100.0 * confidence), width = 2 * SIDE);
        let colour = if confidence >= 0.9 { 32 } else { 33 };
        match self {
            Style::Plain => text,
            Style::Coloured => format!("\x1b[1;{colour}m{text}\x1b[0m"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_the_models_input() {
        let pictures = pictures().unwrap();
        assert_eq!((pictures.dtype(), pictures.shape().to_vec()), (DType::F32, vec![16, SIDE * SIDE]));
        let pixels = pictures.to_vec::<f32>().unwrap();
        assert!(pixels.iter().all(|p| (0.0..=BRIGHTEST as f32).contains(p)));
    }

    #[test]
    fn pixels_are_shades_and_captions_as_wide_as_pictures() {
        assert_eq!(line(&[0.0, 4.0, 8.0, 12.0, 16.0]), "  ░░▒▒▓▓██");
        assert_eq!(Style::Plain.caption((7, 0.998)).chars().count(), 2 * SIDE);
        assert!(Style::Coloured.caption((7, 0.5)).starts_with("\x1b[1;33m"));
    }
}
