//! Fourier transforms, and linear algebra on matrices in the last two
//! dimensions.

pub use oneir_ir::primitive::{FftOp, LinalgOp};
use oneir_ir::{Primitive, Value};

use crate::axes::axis_of;
use crate::{Array, Reason};

impl Array {
    /// The discrete Fourier transform over axes, each of `sizes` samples.
    #[track_caller]
    #[must_use]
    pub fn fourier(&self, op: FftOp, axes: &[isize], sizes: &[usize]) -> Array {
        Array::build("fourier", [self], |[x], place| {
            let axes = axes.iter().map(|&a| axis_of(a, x.spec().rank())).collect::<Result<Vec<_>, _>>()?;
            Ok(Value::record(Primitive::Fft { op, axes, sizes: sizes.to_vec() }, &[x], place)?)
        })
    }

    /// The determinant of each matrix.
    #[track_caller]
    #[must_use]
    pub fn det(&self) -> Array {
        Array::primitive("det", Primitive::Linalg(LinalgOp::Det), [self])
    }

    /// A complex array of a real and an imaginary part (f32), which share a
    /// shape.
    #[track_caller]
    #[must_use]
    pub fn complex(real: &Array, imaginary: &Array) -> Array {
        Array::build("complex", [real, imaginary], |[re, im], place| {
            if re.spec() != im.spec() || re.spec().dtype != oneir_tensor::DType::F32 {
                let reason =
                    format!("two f32 parts of one shape are needed, found {} and {}", re.spec(), im.spec());
                return Err(Reason::Parameters(reason));
            }
            let last = re.spec().rank();
            let wide = |v: &Value| Value::record(Primitive::ExpandDims(vec![last]), &[v], place.clone());
            let pairs = Value::record(
                Primitive::Concatenate { axis: last },
                &[&wide(re)?, &wide(im)?],
                place.clone(),
            )?;
            let seen =
                Value::record(Primitive::View(oneir_tensor::DType::Complex64), &[&pairs], place.clone())?;
            Ok(Value::record(Primitive::Squeeze(vec![last]), &[&seen], place)?)
        })
    }
}
