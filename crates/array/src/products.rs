use oneir_ir::{Primitive, Value};
use oneir_tensor::{DType, broadcast_shapes, promote};

use crate::create::{converted, presented};
use crate::{Array, Reason};

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
