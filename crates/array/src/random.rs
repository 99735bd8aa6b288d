//! Random arrays: pure functions of a key.

use oneir_ir::Primitive;
use oneir_tensor::DType;

use crate::Array;

impl Array {
    /// The key (u32, two words) that a seed stands for.
    #[track_caller]
    pub fn random_key(seed: u64) -> Array {
        Array::from_slice(&[(seed >> 32) as u32, seed as u32], &[2])
    }

    /// Random words (u32) of a shape.
    #[track_caller]
    pub fn random_bits(key: &Array, shape: &[usize]) -> Array {
        Array::primitive("random_bits", Primitive::RandomBits { shape: shape.to_vec(), width: 4 }, [key])
    }

    /// Numbers (f32) spread evenly from 0 to below 1.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::random_uniform(&Array::random_key(7), &[100]).to_vec::<f32>()?;
    /// assert!(x.iter().all(|x| (0.0..1.0).contains(x)));
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    pub fn random_uniform(key: &Array, shape: &[usize]) -> Array {
        // The 24 bits that an f32 holds exactly.
        let bits = Array::random_bits(key, shape).right_shift(Array::full(&[], 8.0, DType::U32));
        bits.astype(DType::F32) * (1.0 / f64::from(1 << 24))
    }

    /// Numbers (f32) of the normal distribution with mean 0 and variance 1.
    #[track_caller]
    pub fn random_normal(key: &Array, shape: &[usize]) -> Array {
        let places = Array::random_uniform(key, shape) + 0.5 / f64::from(1 << 24);
        let line: Array = places * 2.0 - 1.0;
        line.erfinv() * std::f64::consts::SQRT_2
    }
}
