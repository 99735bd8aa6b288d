//! Tensors as text: rows in brackets, long ones cut in the middle, or told in
//! numbers about them.

use oneir::tensor::{TensorError, Values};
use oneir::{DType, HostTensor};

/// Tensors of more elements are cut.
const MAX_WHOLE: usize = 200;

/// Tensors of more rows are cut too.
const MAX_ROWS: usize = 20;

/// The first values that are told where rows would be too many.
const FIRST: usize = 32;

/// Elements that are looked at together for the numbers about a tensor.
const CHUNK: usize = 1 << 16;

/// Tensors of more elements have no numbers about them: one value may stand for
/// all elements of a huge tensor.
const MAX_COUNTED: usize = 1 << 28;

/// Items at each end of a dimension that is cut.
const EDGE: usize = 3;

/// The most digits after the point.
const MAX_DECIMALS: usize = 6;

/// How much of the values is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// As much as fits a screen.
    Fits,
    /// All values.
    All,
}

impl Extent {
    /// Whether values are left out of a tensor.
    pub(crate) fn cuts(self, shape: &[usize]) -> bool {
        let rows: usize = shape.iter().rev().skip(1).product();
        self == Extent::Fits && (shape.iter().product::<usize>() > MAX_WHOLE || rows > MAX_ROWS)
    }

    /// How many rows are shown of a tensor.
    pub(crate) fn rows(self, shape: &[usize]) -> usize {
        let cut = self.cuts(shape);
        shape.iter().rev().skip(1).map(|&size| shown(size, cut).len()).product()
    }

    /// Whether rows with some left out are few enough to be read.
    pub(crate) fn fits(self, shape: &[usize]) -> bool {
        self == Extent::All || self.rows(shape) <= MAX_ROWS
    }
}

/// The least, the mean and the largest of a tensor's elements in a line; `None`
/// where elements have no order.
pub(crate) fn about(tensor: &HostTensor) -> Result<Option<String>, TensorError> {
    let count = tensor.count();
    if count == 0 || count > MAX_COUNTED || (tensor.dtype().size().is_none() && count > 1 << 24) {
        return Ok(None);
    }
    let (mut truths, mut nans, mut sum) = (0, 0usize, 0.0);
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut low, mut high) = (i128::MAX, i128::MIN);
    let whole = tensor.dtype().size().is_none().then(|| tensor.values()).transpose()?;
    for from in (0..count).step_by(CHUNK) {
        let places: Vec<usize> = (from..count.min(from + CHUNK)).collect();
        let values = match &whole {
            Some(all) => all.select(&places),
            None => selected(tensor, &places)?,
        };
        let mut whole_numbers = |numbers: &mut dyn Iterator<Item = i128>| {
            for n in numbers {
                (low, high) = (low.min(n), high.max(n));
                sum += n as f64;
            }
        };
        match values {
            Values::Bool(v) => truths += v.iter().filter(|&&truth| truth).count(),
            Values::Unsigned(v) => whole_numbers(&mut v.iter().map(|&n| i128::from(n))),
            Values::Signed(v) => whole_numbers(&mut v.iter().map(|&n| i128::from(n))),
            Values::Float(v) => {
                for x in v {
                    if x.is_nan() {
                        nans += 1;
                    } else {
                        (least, most, sum) = (least.min(x), most.max(x), sum + x);
                    }
                }
            }
            Values::Complex(_) => return Ok(None),
        }
    }
    if tensor.dtype() == DType::Bool {
        return Ok(Some(format!("true in {truths} of {count}")));
    }
    if nans == count {
        return Ok(Some("all are nan".into()));
    }
    let mean = sum / (count - nans) as f64;
    let alone = |x: f64| reals(&[x]).concat();
    let (least, most) =
        if low <= high { (low.to_string(), high.to_string()) } else { (alone(least), alone(most)) };
    let text = format!("min {least}, mean {}, max {most}", alone(mean));
    Ok(Some(if nans > 0 { format!("{text}, and {nans} of {count} are nan") } else { text }))
}

/// The first values of a tensor in one line, as many as there is room for.
pub(crate) fn first_values(tensor: &HostTensor, width: usize) -> Result<String, TensorError> {
    let places: Vec<usize> = (0..tensor.count().min(FIRST)).collect();
    Ok(one_line(&cells(&selected(tensor, &places)?), tensor.count(), width))
}

/// As many cells as there is room for, of `count` that there are.
pub(crate) fn one_line(cells: &[String], count: usize, width: usize) -> String {
    let mut line = String::from("first values:");
    let room = width.saturating_sub(" ...".len() + 1);
    for (i, cell) in cells.iter().enumerate() {
        if i > 0 && line.chars().count() + 1 + cell.chars().count() > room {
            return line + " ...";
        }
        line.push(' ');
        line.push_str(cell);
    }
    if cells.len() < count { line + " ..." } else { line }
}

/// A tensor's values in lines of at most `width` characters, where rows can
/// be broken so.
pub(crate) fn tensor_text(tensor: &HostTensor, width: usize, extent: Extent) -> Result<String, TensorError> {
    let mut wrong = None;
    let text = layout_text(tensor.shape(), width, extent, |places| match selected(tensor, places) {
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
    extent: Extent,
    cells: impl FnOnce(&[usize]) -> Vec<String>,
) -> String {
    let cut = extent.cuts(shape);
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
        tensor_text(&HostTensor::from_slice(shape, elements).unwrap(), 40, Extent::Fits).unwrap()
    }

    #[test]
    fn numbers_about_long_tensors() {
        let told = |tensor: HostTensor| about(&tensor).unwrap().unwrap_or_default();
        let long: Vec<i32> = (-500..100_000).collect();
        let long = HostTensor::from_slice(&[long.len()], &long).unwrap();
        assert_eq!(told(long.clone()), "min -500, mean 49749.5, max 99999");
        let some = HostTensor::from_slice(&[4], &[0.5f32, f32::NAN, -1.0, 2.0]).unwrap();
        assert_eq!(told(some), "min -1., mean 0.5, max 2., and 1 of 4 are nan");
        assert_eq!(told(HostTensor::from_slice(&[2], &[f32::NAN; 2]).unwrap()), "all are nan");
        assert_eq!(told(HostTensor::from_slice(&[3], &[true, false, true]).unwrap()), "true in 2 of 3");
        let wide = HostTensor::from_slice(&[1], &[u64::MAX]).unwrap();
        assert!(told(wide).starts_with("min 18446744073709551615, mean 1.8447e19"));
        assert_eq!(told(HostTensor::from_slice::<f32>(&[0], &[]).unwrap()), "");
        let one = HostTensor::scalar(2f32).broadcast(&[1 << 20, 1 << 20]).unwrap();
        assert_eq!(told(one.clone()), "");
        assert_eq!(first_values(&one, 40).unwrap(), "first values: 2. 2. 2. 2. 2. 2. 2. ...");
        assert_eq!(first_values(&long, 29).unwrap(), "first values: -500 -499 ...");
    }

    #[test]
    fn all_values_are_shown_on_request() {
        let long: Vec<i32> = (0..300).collect();
        let tensor = HostTensor::from_slice(&[100, 3], &long).unwrap();
        assert_eq!(tensor_text(&tensor, 40, Extent::All).unwrap().lines().count(), 100);
        assert_eq!(tensor_text(&tensor, 40, Extent::Fits).unwrap().lines().count(), 7);
        let tall = HostTensor::from_slice(&[150, 1], &long[..150]).unwrap();
        assert_eq!(tensor_text(&tall, 40, Extent::Fits).unwrap().lines().count(), 7);
        assert!(Extent::Fits.fits(&[1, 500, 500]) && !Extent::Fits.fits(&[3, 500, 500]));
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
