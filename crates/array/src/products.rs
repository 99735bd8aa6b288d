//! Products: of matrices, vectors, and along axes that callers name.

use oneir_ir::{Place, Primitive, Value};
use oneir_tensor::{DType, broadcast_shapes, promote};

use crate::axes::axis_of;
use crate::create::{converted, presented};
use crate::{Array, Reason};

/// The matrix product, of integers computed in f64, where it is exact up to
/// 2^53, and converted back.
#[track_caller]
pub(crate) fn whole(a: &Array, b: &Array) -> Array {
    let dtype = promote(a.dtype(), b.dtype());
    if dtype.is_inexact() {
        return a.matmul(b);
    }
    a.astype(DType::F64).matmul(&b.astype(DType::F64)).astype(dtype)
}

/// Which axes [`Array::tensordot`] sums over: a number of them, the last of the
/// first array with the first of the second, or pairs by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contracted {
    /// This many.
    Inner(usize),
    /// Each of the first array's with the one at its place of the second's.
    Pairs(Vec<isize>, Vec<isize>),
}

impl From<usize> for Contracted {
    fn from(count: usize) -> Self {
        Contracted::Inner(count)
    }
}

impl From<(&[isize], &[isize])> for Contracted {
    fn from((a, b): (&[isize], &[isize])) -> Self {
        Contracted::Pairs(a.to_vec(), b.to_vec())
    }
}

impl<const N: usize> From<([isize; N], [isize; N])> for Contracted {
    fn from((a, b): ([isize; N], [isize; N])) -> Self {
        Contracted::Pairs(a.to_vec(), b.to_vec())
    }
}

/// Which places of a convolution [`Array::convolve`] gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// All in which the arrays overlap: `n + m - 1`.
    #[default]
    Full,
    /// As many as the longer array has, the middle ones.
    Same,
    /// Those in which they overlap wholly.
    Valid,
}

/// A value as a matrix, for a product's side `left` or right: a vector is a row
/// on the left and a column on the right.
fn matrix(x: &Value, left: bool, place: &Place) -> Result<Value, Reason> {
    match x.spec().rank() {
        0 => Err(Reason::Parameters("a product needs at least one dimension on each side".into())),
        1 => Ok(Value::record(Primitive::ExpandDims(vec![usize::from(!left)]), &[x], place.clone())?),
        _ => Ok(x.clone()),
    }
}

impl Array {
    /// Matrix product with NumPy's rules: vectors are rows on the left and
    /// columns on the right, and leading dimensions broadcast. Integers
    /// convert to f32.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let a = Array::from_slice(&[1f32, 2.0, 3.0, 4.0], &[2, 2]);
    /// let v = Array::from_slice(&[1f32, -1.0], &[2]);
    /// assert_eq!(a.matmul(&v).to_vec::<f32>()?, [-1.0, -1.0]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn matmul(&self, other: &Array) -> Array {
        Array::build("matmul", [self, other], |[a, b], place| {
            let dtype = promote(a.spec().dtype, b.spec().dtype);
            let dtype = if dtype.is_inexact() { dtype } else { DType::F32 };
            let (rank_a, rank_b) = (a.spec().rank(), b.spec().rank());
            if rank_a == 0 || rank_b == 0 {
                return Err(Reason::Parameters("matmul needs at least one dimension on each side".into()));
            }
            let record = |p: Primitive, x: &Value| Value::record(p, &[x], place.clone());
            let mut a = converted(a, dtype, &place)?;
            let mut b = converted(b, dtype, &place)?;
            if rank_a == 1 {
                a = record(Primitive::ExpandDims(vec![0]), &a)?;
            }
            if rank_b == 1 {
                b = record(Primitive::ExpandDims(vec![1]), &b)?;
            }
            let matrix = |v: &Value| v.spec().shape[v.spec().rank() - 2..].to_vec();
            let batch_of = |v: &Value| v.spec().shape[..v.spec().rank() - 2].to_vec();
            let batch = broadcast_shapes(&batch_of(&a), &batch_of(&b))?;
            let shape = |v: &Value| batch.iter().copied().chain(matrix(v)).collect();
            let product = if batch.rank() > 0 && batch_of(&b).iter().all(|&n| n == 1) && rank_b <= 2 {
                // One matrix for the whole batch: a taller product.
                let [m, k] = matrix(&a)[..] else {
                    return Err(Reason::Parameters("matmul needs matrices".into()));
                };
                let rows = batch.count() * m;
                let tall = record(Primitive::Reshape(vec![rows, k]), &a)?;
                let flat = Value::record(Primitive::Matmul, &[&tall, &b], place.clone())?;
                let mut full: Vec<usize> = batch.to_vec();
                full.extend([m, matrix(&b)[1]]);
                record(Primitive::Reshape(full), &flat)?
            } else {
                let (a, b) = (presented(&a, &shape(&a), &place)?, presented(&b, &shape(&b), &place)?);
                Value::record(Primitive::Matmul, &[&a, &b], place.clone())?
            };
            let rank = product.spec().rank();
            let mut drop = Vec::new();
            if rank_a == 1 {
                drop.push(rank - 2);
            }
            if rank_b == 1 {
                drop.push(rank - 1);
            }
            if drop.is_empty() { Ok(product) } else { Ok(record(Primitive::Squeeze(drop), &product)?) }
        })
    }
}

impl Array {
    /// `alpha · (a @ b) + beta · self`, with [`Array::matmul`]'s rules for the
    /// product; this array broadcasts to its shape. Integers convert to f32.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let a = Array::from_slice(&[1f32, 2.0, 3.0, 4.0], &[2, 2]);
    /// let c = Array::from_slice(&[10f32, 20.0], &[2]);
    /// assert_eq!(c.addmm(&a, &a, 1.0, 0.5).to_vec::<f32>()?, [12.0, 20.0, 20.0, 32.0]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    ///
    /// # Errors
    /// A failed array where the product has no meaning or this array does not
    /// broadcast to it.
    #[track_caller]
    #[must_use]
    pub fn addmm(&self, a: &Array, b: &Array, alpha: f64, beta: f64) -> Array {
        let held = |x: f64| x.is_nan() || f64::from(x as f32) == x;
        let dtype = [self, a, b].map(Array::dtype).into_iter().reduce(promote).unwrap_or(DType::F32);
        if dtype == DType::F64 && !(held(alpha) && held(beta)) {
            // The primitive holds its factors as f32.
            return (a.matmul(b) * alpha + self * beta).named("addmm");
        }
        Array::build("addmm", [self, a, b], |[c, a, b], place| {
            let dtype = if dtype.is_inexact() { dtype } else { DType::F32 };
            let (rank_a, rank_b) = (a.spec().rank(), b.spec().rank());
            let a = matrix(&converted(a, dtype, &place)?, true, &place)?;
            let b = matrix(&converted(b, dtype, &place)?, false, &place)?;
            let (shape_a, shape_b) = (a.spec().shape.clone(), b.spec().shape.clone());
            let (Some((batch_a, &[m, k])), Some((batch_b, &[l, n]))) =
                (shape_a.split_last_chunk(), shape_b.split_last_chunk())
            else {
                return Err(Reason::Parameters("addmm needs matrices".into()));
            };
            let batch = broadcast_shapes(batch_a, batch_b)?;
            let wide = |sides: [usize; 2]| batch.iter().copied().chain(sides).collect();
            let (a, b) = (presented(&a, &wide([m, k]), &place)?, presented(&b, &wide([l, n]), &place)?);
            // The shape that callers see: without what was added to vectors.
            let mut dropped = Vec::new();
            if rank_a == 1 {
                dropped.push(batch.rank());
            }
            if rank_b == 1 {
                dropped.push(batch.rank() + 1);
            }
            let full = wide([m, n]);
            let seen = (0..full.rank()).filter(|axis| !dropped.contains(axis)).map(|axis| full[axis]);
            let mut c = presented(&converted(c, dtype, &place)?, &seen.collect(), &place)?;
            if !dropped.is_empty() {
                c = Value::record(Primitive::ExpandDims(dropped.clone()), &[&c], place.clone())?;
            }
            let add = Primitive::AddMM { alpha: (alpha as f32).to_bits(), beta: (beta as f32).to_bits() };
            let sum = Value::record(add, &[&a, &b, &c], place.clone())?;
            if dropped.is_empty() {
                return Ok(sum);
            }
            Ok(Value::record(Primitive::Squeeze(dropped), &[&sum], place)?)
        })
    }

    /// Sums of products over the last axes of both arrays; of a number and an
    /// array, their product. Integers are exact up to 2^53.
    ///
    /// # Errors
    /// A failed array where the last sizes differ.
    #[track_caller]
    #[must_use]
    pub fn inner(&self, other: &Array) -> Array {
        if self.ndim() == 0 || other.ndim() == 0 {
            return self.multiply(other).named("inner");
        }
        self.tensordot(other, ([-1], [-1])).named("inner")
    }

    /// The product of each element with each of the other array, both taken in
    /// row order: `[n, m]`.
    #[track_caller]
    #[must_use]
    pub fn outer(&self, other: &Array) -> Array {
        self.reshape(&[-1, 1]).multiply(other.reshape(&[1, -1])).named("outer")
    }

    /// Sums of products over pairs of axes: the result has the other axes of
    /// this array, then those of the other one. Integers are exact up to 2^53.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, DType};
    /// let a = Array::ones(&[2, 3, 4], DType::F32);
    /// assert_eq!(a.tensordot(&Array::ones(&[3, 4, 5], DType::F32), 2).shape(), [2, 5]);
    /// assert_eq!(a.tensordot(&Array::ones(&[5, 2], DType::F32), ([0], [1])).shape(), [3, 4, 5]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    ///
    /// # Errors
    /// A failed array where axes are out of range, repeated, or pairs differ in
    /// size.
    #[track_caller]
    #[must_use]
    pub fn tensordot(&self, other: &Array, axes: impl Into<Contracted>) -> Array {
        let (a, b) = (self, other);
        if let Some(failed) = [a, b].into_iter().find(|x| x.check().is_err()) {
            return failed.clone();
        }
        let pairs = match contracted(a, b, axes.into()) {
            Ok(pairs) => pairs,
            Err(reason) => return Array::failed("tensordot", reason),
        };
        let rest = |x: &Array, taken: &[usize]| -> Vec<usize> {
            (0..x.ndim()).filter(|axis| !taken.contains(axis)).collect()
        };
        let (free_a, free_b) = (rest(a, &pairs.0), rest(b, &pairs.1));
        let count = |x: &Array, axes: &[usize]| {
            axes.iter().fold(1usize, |n, &axis| n.saturating_mul(x.shape()[axis]))
        };
        let (rows, depth, cols) = (count(a, &free_a), count(a, &pairs.0), count(b, &free_b));
        let order = |front: &[usize], back: &[usize]| -> Vec<isize> {
            front.iter().chain(back).map(|&axis| axis as isize).collect()
        };
        let left = a.transpose(order(&free_a, &pairs.0)).reshape(&[rows as isize, depth as isize]);
        let right = b.transpose(order(&pairs.1, &free_b)).reshape(&[depth as isize, cols as isize]);
        let (shape_a, shape_b) = (a.shape(), b.shape());
        let shape: Vec<isize> = free_a
            .iter()
            .map(|&axis| shape_a[axis] as isize)
            .chain(free_b.iter().map(|&axis| shape_b[axis] as isize))
            .collect();
        whole(&left, &right).reshape(&shape).named("tensordot")
    }

    /// The Kronecker product: each element of this array times the other array.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let a = Array::from_slice(&[1, 2], &[2]);
    /// assert_eq!(a.kron(&Array::from_slice(&[1, 10], &[2])).to_vec::<i32>()?, [1, 10, 2, 20]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn kron(&self, other: &Array) -> Array {
        let (a, b) = (self.shape(), other.shape());
        let rank = a.rank().max(b.rank());
        let long = |shape: &[usize]| [vec![1; rank - shape.len()], shape.to_vec()].concat();
        let (a, b) = (long(&a), long(&b));
        let pairs = |f: fn(usize, usize) -> [usize; 2]| -> Vec<isize> {
            a.iter().zip(&b).flat_map(|(&a, &b)| f(a, b)).map(|n| n as isize).collect()
        };
        let left = self.reshape(&pairs(|a, _| [a, 1]));
        let right = other.reshape(&pairs(|_, b| [1, b]));
        // A product that is too large fails before its sides are multiplied.
        let sides: Vec<isize> = a.iter().zip(&b).map(|(&a, &b)| a.saturating_mul(b) as isize).collect();
        left.multiply(right).reshape(&sides).named("kron")
    }

    /// Sums of products of the two arrays along an axis, the first conjugated;
    /// other axes broadcast. Halves are summed in f32.
    ///
    /// # Errors
    /// A failed array where the axis is out of range for either array, or its
    /// sizes differ.
    #[track_caller]
    #[must_use]
    pub fn vecdot(&self, other: &Array, axis: isize) -> Array {
        if let Some(failed) = [self, other].into_iter().find(|x| x.check().is_err()) {
            return failed.clone();
        }
        let (rank, sizes) = (self.ndim().max(other.ndim()), [self, other].map(|x| axis_of(axis, x.ndim())));
        match sizes {
            [Ok(a), Ok(b)] if self.shape()[a] == other.shape()[b] => {}
            [Ok(a), Ok(b)] => {
                let (a, b) = (self.shape()[a], other.shape()[b]);
                let reason = format!("axis {axis} has {a} elements on the left and {b} on the right");
                return Array::failed("vecdot", Reason::Parameters(reason));
            }
            [Err(reason), _] | [_, Err(reason)] => return Array::failed("vecdot", reason),
        }
        // Counted from the end, the axis is the same in both and their product.
        let at = if axis < 0 { axis } else { axis - self.ndim().min(rank) as isize };
        let dtype = promote(self.dtype(), other.dtype());
        let wide = dtype.accumulator();
        let (a, b) = (self.astype(dtype).astype(wide), other.astype(dtype).astype(wide));
        let a = if dtype.is_complex() { a.conjugate() } else { a };
        (a * b).sum(at, false).astype(if dtype == DType::Bool { DType::I32 } else { dtype }).named("vecdot")
    }

    /// The discrete convolution of two vectors of floats; if the other one is
    /// longer, the two are exchanged. Integers convert to f32.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, Overlap};
    /// let (a, v) = (Array::from_slice(&[1f32, 2.0, 3.0], &[3]), Array::from_slice(&[1f32, 0.5], &[2]));
    /// assert_eq!(a.convolve(&v, Overlap::Full).to_vec::<f32>()?, [1.0, 2.5, 4.0, 1.5]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    ///
    /// # Errors
    /// A failed array where one is no vector or has no elements.
    #[track_caller]
    #[must_use]
    pub fn convolve(&self, other: &Array, mode: Overlap) -> Array {
        let sizes = [self, other].map(Array::size);
        let fits = [self, other].iter().all(|x| x.check().is_err() || (x.ndim() == 1 && x.size() > 0));
        if !fits {
            let (a, b) = (self.shape(), other.shape());
            let reason = format!("two vectors with elements are needed, found shapes {a:?} and {b:?}");
            return Array::failed("convolve", Reason::Parameters(reason));
        }
        let (a, v) = if sizes[0] >= sizes[1] { (self, other) } else { (other, self) };
        let dtype = promote(a.dtype(), v.dtype());
        let dtype = if dtype.is_inexact() { dtype } else { DType::F32 };
        let m = v.size();
        let (low, high) = match mode {
            Overlap::Full => (m - 1, m - 1),
            // Of an even number of places too many, one more is cut from the end.
            Overlap::Same => (m / 2, (m - 1) / 2),
            Overlap::Valid => (0, 0),
        };
        let x = a.astype(dtype).reshape(&[1, 1, -1]);
        let kernel = v.astype(dtype).reshape(&[1, 1, -1]);
        let convolution = Primitive::Convolution {
            strides: vec![1],
            low: vec![low],
            high: vec![high],
            dilations: vec![1],
            input_dilations: vec![1],
            groups: 1,
            flip: true,
        };
        Array::primitive("convolve", convolution, [&x, &kernel]).reshape(&[-1]).named("convolve")
    }

    /// Floats as E4M3 bytes (u8): to the nearest, ties to even, past ±448 to
    /// ±448; NaN is 0x7F. Integers convert to f32.
    #[track_caller]
    #[must_use]
    pub fn to_fp8(&self) -> Array {
        let x = if self.dtype().is_inexact() { self.clone() } else { self.astype(DType::F32) };
        Array::primitive("to_fp8", Primitive::ToFp8, [&x])
    }

    /// E4M3 bytes (u8) as floats of `dtype`; 0x7F and 0xFF are NaN.
    #[track_caller]
    #[must_use]
    pub fn from_fp8(&self, dtype: DType) -> Array {
        Array::primitive("from_fp8", Primitive::FromFp8(dtype), [self])
    }
}

/// The pairs of axes to sum over, each checked against the other.
fn contracted(a: &Array, b: &Array, axes: Contracted) -> Result<(Vec<usize>, Vec<usize>), Reason> {
    let (left, right) = match axes {
        Contracted::Inner(count) => {
            let wrong = |rank| Reason::Parameters(format!("{count} axes are to be summed over of {rank}"));
            let from = a.ndim().checked_sub(count).ok_or_else(|| wrong(a.ndim()))?;
            if count > b.ndim() {
                return Err(wrong(b.ndim()));
            }
            ((from..a.ndim()).collect::<Vec<_>>(), (0..count).collect::<Vec<_>>())
        }
        Contracted::Pairs(left, right) => {
            let listed = |x: &Array, axes: &[isize]| -> Result<Vec<usize>, Reason> {
                let found =
                    axes.iter().map(|&axis| axis_of(axis, x.ndim())).collect::<Result<Vec<_>, _>>()?;
                match (1..found.len()).find(|&i| found[..i].contains(&found[i])) {
                    Some(i) => Err(Reason::RepeatedAxis { axis: found[i] }),
                    None => Ok(found),
                }
            };
            (listed(a, &left)?, listed(b, &right)?)
        }
    };
    let sizes = |x: &Array, axes: &[usize]| axes.iter().map(|&axis| x.shape()[axis]).collect::<Vec<_>>();
    let (of_a, of_b) = (sizes(a, &left), sizes(b, &right));
    if of_a != of_b {
        return Err(Reason::Parameters(format!("axes of sizes {of_a:?} and {of_b:?} are to be summed over")));
    }
    Ok((left, right))
}
