//! Tensors as text: rows in brackets, long ones cut in the middle.

use oneir::HostTensor;
use oneir::tensor::{TensorError, Values};

/// Tensors of more elements are cut.
const MAX_WHOLE: usize = 200;

/// Items at each end of a dimension that is cut.
const EDGE: usize = 3;

/// The most digits after the point.
const MAX_DECIMALS: usize = 6;

/// A tensor's values in lines of at most `width` characters, where rows can
/// be broken so.
pub(crate) fn tensor_text(tensor: &HostTensor, width: usize) -> Result<String, TensorError> {
    let mut wrong = None;
    let text = layout_text(tensor.shape(), width, |places| match selected(tensor, places) {
        Ok(values) => cells(&values),
        Err(e) => {
            wrong = Some(e);
            vec![String::new(); places.len()]
        }
    });
    match wrong {
        Some(e) => Err(e),
        None => Ok(text),
    }
}

/// The elements at some places of the row order; the others are not touched: a
/// small value may stand for a huge tensor.
fn selected(tensor: &HostTensor, places: &[usize]) -> Result<Values, TensorError> {
    let Some(size) = tensor.dtype().size() else { return Ok(tensor.values()?.select(places)) };
    let (layout, all) = (tensor.layout(), tensor.buffer().bytes());
    let mut bytes = Vec::with_capacity(places.len() * size);
    for &place in places {
        let mut rest = place;
        let mut at = layout.offset;
        for (&n, &stride) in layout.shape.iter().zip(&layout.strides).rev() {
            at += (rest % n) as isize * stride;
            rest /= n;
        }
        let start = at as usize * size;
        bytes.extend_from_slice(&all[start..start + size]);
    }
    Values::decode(tensor.dtype(), &bytes, places.len())
}

/// Cells of a tensor in brackets; `cells` gives the texts of the elements at
/// some places, in row order.
pub(crate) fn layout_text(
    shape: &[usize],
    width: usize,
    cells: impl FnOnce(&[usize]) -> Vec<String>,
) -> String {
    let cut = shape.iter().product::<usize>() > MAX_WHOLE;
    let mut places = Vec::new();
    visit(shape, 0, cut, &mut places);
    let texts = cells(&places);
    let longest = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
    let mut block = Block { shape, cut, width, longest, texts: texts.into_iter(), out: String::new() };
    block.write(0);
    block.out
}

/// The indices of a dimension that are shown; `None` stands for those left
/// out.
fn shown(size: usize, cut: bool) -> Vec<Option<usize>> {
    if cut && size > 2 * EDGE + 1 {
        (0..EDGE).map(Some).chain([None]).chain((size - EDGE..size).map(Some)).collect()
    } else {
        (0..size).map(Some).collect()
    }
}

fn visit(shape: &[usize], base: usize, cut: bool, places: &mut Vec<usize>) {
    match shape.split_first() {
        None => places.push(base),
        Some((&size, rest)) => {
            for index in shown(size, cut).into_iter().flatten() {
                visit(rest, base * size + index, cut, places);
            }
        }
    }
}

struct Block<'a> {
    shape: &'a [usize],
    cut: bool,
    width: usize,
    /// Characters of the longest cell.
    longest: usize,
    texts: std::vec::IntoIter<String>,
    out: String,
}

impl Block<'_> {
    fn write(&mut self, axis: usize) {
        let Some(&size) = self.shape.get(axis) else {
            self.out.push_str(&self.texts.next().unwrap_or_default());
            return;
        };
        let indent = axis + 1;
        self.out.push('[');
        let inner = self.shape.len() - axis - 1;
        let mut column = indent;
        for (i, index) in shown(size, self.cut).into_iter().enumerate() {
            if inner == 0 {
                let text = match index {
                    Some(_) => {
                        let text = self.texts.next().unwrap_or_default();
                        format!("{text:>longest$}", longest = self.longest)
                    }
                    None => "...".into(),
                };
                let length = text.chars().count();
                if i > 0 {
                    if column + 1 + length >= self.width {
                        self.line(1, indent);
                        column = indent;
                    } else {
                        self.out.push(' ');
                        column += 1;
                    }
                }
                column += length;
                self.out.push_str(&text);
            } else {
                if i > 0 {
                    self.line(inner, indent);
                }
                match index {
                    Some(_) => self.write(axis + 1),
                    None => self.out.push_str("..."),
                }
            }
        }
        self.out.push(']');
    }

    fn line(&mut self, breaks: usize, indent: usize) {
        self.out.extend(std::iter::repeat_n('\n', breaks));
        self.out.extend(std::iter::repeat_n(' ', indent));
    }
}

fn cells(values: &Values) -> Vec<String> {
    match values {
        Values::Bool(v) => v.iter().map(bool::to_string).collect(),
        Values::Unsigned(v) => v.iter().map(u64::to_string).collect(),
        Values::Signed(v) => v.iter().map(i64::to_string).collect(),
        Values::Float(v) => reals(v),
        Values::Complex(v) => {
            let re = reals(&v.iter().map(|x| x.re).collect::<Vec<_>>());
            let im = reals(&v.iter().map(|x| x.im).collect::<Vec<_>>());
            let sign = |im: &str| if im.starts_with('-') { "" } else { "+" };
            re.iter().zip(&im).map(|(re, im)| format!("{re}{}{im}j", sign(im))).collect()
        }
    }
}

/// Real numbers with as many digits as tell them apart, all in one form.
fn reals(numbers: &[f64]) -> Vec<String> {
    let top = numbers.iter().filter(|x| x.is_finite()).fold(0f64, |top, x| top.max(x.abs()));
    let scientific = top >= 1e8 || (top > 0.0 && top < 1e-3);
    if scientific {
        return numbers
            .iter()
            .map(|x| if x.is_finite() { format!("{x:.4e}") } else { special(*x) })
            .collect();
    }
    let whole = if top < 1.0 { 1 } else { top.log10().floor() as usize + 1 };
    let most = (MAX_DECIMALS + 1).saturating_sub(whole).clamp(1, MAX_DECIMALS);
    let needed = |x: f64| {
        let text = format!("{x:.most$}");
        text.split_once('.').map_or(0, |(_, digits)| digits.trim_end_matches('0').len())
    };
    let decimals = numbers.iter().filter(|x| x.is_finite()).map(|&x| needed(x)).max().unwrap_or(0);
    numbers
        .iter()
        .map(|&x| match (x.is_finite(), decimals) {
            (false, _) => special(x),
            (true, 0) => format!("{x:.0}."),
            (true, decimals) => format!("{x:.decimals$}"),
        })
        .collect()
}

fn special(x: f64) -> String {
    if x.is_nan() { "nan".into() } else { format!("{x}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<T: oneir::Element>(shape: &[usize], elements: &[T]) -> String {
        tensor_text(&HostTensor::from_slice(shape, elements).unwrap(), 40).unwrap()
    }

    #[test]
    fn small_tensors_are_shown_whole() {
        assert_eq!(text(&[], &[3i32]), "3");
        assert_eq!(text(&[2, 2], &[1f32, 2.5, -3.0, 4.0]), "[[ 1.0  2.5]\n [-3.0  4.0]]");
        assert_eq!(text(&[2, 1, 1], &[1u8, 20]), "[[[ 1]]\n\n [[20]]]");
        assert_eq!(text(&[3], &[1f32, f32::NAN, f32::NEG_INFINITY]), "[  1.  nan -inf]");
        assert_eq!(text(&[2], &[true, false]), "[ true false]");
        assert_eq!(text(&[2], &[1e-7f64, 0.0]), "[1.0000e-7  0.0000e0]");
        assert_eq!(text(&[1], &[oneir::Complex32::new(1.0, -2.0)]), "[1.-2.j]");
        assert_eq!(text::<f32>(&[2, 0], &[]), "[[]\n []]");
    }

    #[test]
    fn large_ones_are_cut_and_rows_broken() {
        let long: Vec<i32> = (0..1000).collect();
        assert_eq!(text(&[1000], &long), "[  0   1   2 ... 997 998 999]");
        let tall = text(&[250, 4], &long);
        assert_eq!(tall.lines().count(), 7);
        assert!(tall.contains("\n ...\n"), "{tall}");
        let row = text(&[30], &long[..30]);
        assert!(row.lines().all(|line| line.len() <= 40), "{row}");
        assert_eq!(row.lines().count(), 3);
    }
}
