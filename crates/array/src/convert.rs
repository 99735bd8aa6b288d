//! Rust values as arrays and back.

use oneir_tensor::{Complex32, DType, Element, bf16, f16};

use crate::{Array, Reason};

mod sealed {
    use super::Element;

    /// A number, or nested arrays of numbers.
    pub trait Nested {
        type Element: Element;
        fn shape(&self, sizes: &mut Vec<usize>);
        fn elements(self, into: &mut Vec<Self::Element>);
    }
}

use sealed::Nested;

macro_rules! numbers {
    ($($t:ty)*) => {
        $(
            impl Nested for $t {
                type Element = $t;
                fn shape(&self, _sizes: &mut Vec<usize>) {}
                fn elements(self, into: &mut Vec<$t>) {
                    into.push(self);
                }
            }

            impl From<$t> for Array {
                fn from(number: $t) -> Array {
                    Array::scalar(number)
                }
            }
        )*
    };
}

numbers!(bool u8 u16 u32 u64 i8 i16 i32 i64 f16 bf16 f32 f64 Complex32);

impl<T: Nested, const N: usize> Nested for [T; N] {
    type Element = T::Element;
    fn shape(&self, sizes: &mut Vec<usize>) {
        sizes.push(N);
        if let Some(first) = self.first() {
            first.shape(sizes);
        }
    }
    fn elements(self, into: &mut Vec<T::Element>) {
        self.into_iter().for_each(|part| part.elements(into));
    }
}

/// Nested arrays, at their own element type.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, DType};
/// let x = Array::from([[1u8, 2, 3], [4, 5, 6]]);
/// assert_eq!((x.shape().to_vec(), x.dtype()), (vec![2, 3], DType::U8));
/// ```
impl<T: Nested, const N: usize> From<[T; N]> for Array {
    #[track_caller]
    fn from(nested: [T; N]) -> Array {
        let (mut shape, mut elements) = (Vec::new(), Vec::new());
        nested.shape(&mut shape);
        nested.elements(&mut elements);
        Array::from_slice(&elements, &shape)
    }
}

impl<T: Element> From<&[T]> for Array {
    #[track_caller]
    fn from(elements: &[T]) -> Array {
        Array::from_slice(elements, &[elements.len()])
    }
}

impl<T: Element> From<Vec<T>> for Array {
    #[track_caller]
    fn from(elements: Vec<T>) -> Array {
        Array::from(&elements[..])
    }
}

/// A vector of the numbers.
impl<T: Element> FromIterator<T> for Array {
    fn from_iter<I: IntoIterator<Item = T>>(numbers: I) -> Array {
        Array::from(numbers.into_iter().collect::<Vec<T>>())
    }
}

impl Array {
    /// What [`array!`](crate::array!) makes: numbers without a dtype of their own
    /// get i32 and f32.
    #[doc(hidden)]
    #[track_caller]
    pub fn literal(written: Array) -> Array {
        if written.dtype() == DType::F64 { written.astype(DType::F32) } else { written }
    }

    /// The items of the first axis, each without it.
    ///
    /// An array without dimensions has none: it gives one failed array.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::array;
    /// let sums: Vec<i32> =
    ///     array![[1, 2], [3, 4]].iter().map(|row| row.sum(.., false).item()).collect::<Result<_, _>>()?;
    /// assert_eq!(sums, [3, 7]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    pub fn iter(&self) -> Items {
        if self.check().is_err() {
            return Items { array: self.clone(), next: 0, end: 1 };
        }
        match self.shape().first() {
            Some(&end) => Items { array: self.clone(), next: 0, end },
            None => {
                let reason = Reason::Parameters("there is no axis to go along: it has no dimensions".into());
                Items { array: Array::failed("iter", reason), next: 0, end: 1 }
            }
        }
    }
}

/// The items of an array's first axis; see [`Array::iter`].
#[derive(Debug, Clone)]
pub struct Items {
    array: Array,
    next: usize,
    end: usize,
}

impl Items {
    fn at(&self, place: usize) -> Array {
        if self.array.check().is_err() { self.array.clone() } else { self.array.index(place) }
    }
}

impl Iterator for Items {
    type Item = Array;

    fn next(&mut self) -> Option<Array> {
        let place = (self.next < self.end).then_some(self.next)?;
        self.next += 1;
        Some(self.at(place))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }
}

impl DoubleEndedIterator for Items {
    fn next_back(&mut self) -> Option<Array> {
        self.end = (self.next < self.end).then(|| self.end - 1)?;
        Some(self.at(self.end))
    }
}

impl ExactSizeIterator for Items {}

impl IntoIterator for &Array {
    type Item = Array;
    type IntoIter = Items;

    #[track_caller]
    fn into_iter(self) -> Items {
        self.iter()
    }
}

/// An array of numbers as they are written: integers make i32, floats f32, as
/// numbers beside arrays do; with `; dtype` that dtype.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{DType, array};
/// let x = array![[1.0, 2.0], [3.0, 4.0]];
/// assert_eq!((x.shape().to_vec(), x.dtype()), (vec![2, 2], DType::F32));
/// assert_eq!(array![1, 2, 3].dtype(), DType::I32);
/// assert_eq!(array![0.1, 0.2; DType::F64].to_vec::<f64>()?, [0.1, 0.2]);
/// assert_eq!(array![true, false].dtype(), DType::Bool);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[macro_export]
macro_rules! array {
    ($($item:expr),* $(,)?) => {
        $crate::Array::literal($crate::Array::from([$($item),*]))
    };
    ($($item:expr),* ; $dtype:expr) => {
        $crate::Array::from([$($item),*]).astype($dtype)
    };
}
