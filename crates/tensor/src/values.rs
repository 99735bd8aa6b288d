use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use crate::halves::{bf16_of, f16_of, odd_bits};
use crate::{Class, DType, TensorError, minifloat};

/// The elements of a tensor in the widest type of their class.
///
/// This is what slow, careful code computes with: every real float exactly as
/// f64, every integer as 64 bits. Hot code reads typed memory instead.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Truth values.
    Bool(Vec<bool>),
    /// Unsigned integers.
    Unsigned(Vec<u64>),
    /// Signed integers.
    Signed(Vec<i64>),
    /// Real numbers.
    Float(Vec<f64>),
    /// Complex numbers.
    Complex(Vec<Complex64>),
}

/// Evaluates an expression for whichever vector a [`Values`] holds.
macro_rules! each {
    ($values:expr, $v:ident => $body:expr) => {
        match $values {
            Values::Bool($v) => $body,
            Values::Unsigned($v) => $body,
            Values::Signed($v) => $body,
            Values::Float($v) => $body,
            Values::Complex($v) => $body,
        }
    };
}

/// As [`each!`], keeping the class of the result.
macro_rules! map_each {
    ($values:expr, $v:ident => $body:expr) => {
        match $values {
            Values::Bool($v) => Values::Bool($body),
            Values::Unsigned($v) => Values::Unsigned($body),
            Values::Signed($v) => Values::Signed($body),
            Values::Float($v) => Values::Float($body),
            Values::Complex($v) => Values::Complex($body),
        }
    };
}

impl Values {
    /// Number of elements.
    pub fn len(&self) -> usize {
        each!(self, v => v.len())
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The class of the elements.
    pub fn class(&self) -> Class {
        match self {
            Values::Bool(_) => Class::Bool,
            Values::Unsigned(_) => Class::Unsigned,
            Values::Signed(_) => Class::Signed,
            Values::Float(_) => Class::Float,
            Values::Complex(_) => Class::Complex,
        }
    }

    /// `len` zeros of a class.
    pub fn zeros(class: Class, len: usize) -> Values {
        match class {
            Class::Bool => Values::Bool(vec![false; len]),
            Class::Unsigned => Values::Unsigned(vec![0; len]),
            Class::Signed => Values::Signed(vec![0; len]),
            Class::Float => Values::Float(vec![0.0; len]),
            Class::Complex => Values::Complex(vec![Complex64::default(); len]),
        }
    }

    /// The elements at `places`, in that order.
    pub fn select(&self, places: &[usize]) -> Values {
        map_each!(self, v => places.iter().map(|&i| v[i]).collect())
    }

    /// Overwrites element `at` with element `from` of `source` (same class).
    pub fn set(&mut self, at: usize, source: &Values, from: usize) {
        match (self, source) {
            (Values::Bool(a), Values::Bool(b)) => a[at] = b[from],
            (Values::Unsigned(a), Values::Unsigned(b)) => a[at] = b[from],
            (Values::Signed(a), Values::Signed(b)) => a[at] = b[from],
            (Values::Float(a), Values::Float(b)) => a[at] = b[from],
            (Values::Complex(a), Values::Complex(b)) => a[at] = b[from],
            (a, b) => debug_assert!(false, "{:?} set from {:?}", a.class(), b.class()),
        }
    }

    /// The elements as integers: of an integer or bool tensor.
    pub fn to_ints(&self) -> Option<Vec<i64>> {
        match self {
            Values::Bool(v) => Some(v.iter().map(|&b| i64::from(b)).collect()),
            Values::Unsigned(v) => Some(v.iter().map(|&x| x as i64).collect()),
            Values::Signed(v) => Some(v.clone()),
            Values::Float(_) | Values::Complex(_) => None,
        }
    }

    /// The elements as real numbers (the imaginary part is dropped).
    pub fn to_floats(&self) -> Vec<f64> {
        match self {
            Values::Bool(v) => v.iter().map(|&b| f64::from(u8::from(b))).collect(),
            Values::Unsigned(v) => v.iter().map(|&x| x as f64).collect(),
            Values::Signed(v) => v.iter().map(|&x| x as f64).collect(),
            Values::Float(v) => v.clone(),
            Values::Complex(v) => v.iter().map(|x| x.re).collect(),
        }
    }

    /// The elements as f64 that are to be rounded to a narrower float.
    fn to_narrow(&self) -> Vec<f64> {
        let odd = |magnitude: u64| odd_bits(magnitude, f64::MANTISSA_DIGITS) as f64;
        match self {
            Values::Unsigned(v) => v.iter().map(|&x| odd(x)).collect(),
            Values::Signed(v) => v
                .iter()
                .map(|&x| if x < 0 { -odd(x.unsigned_abs()) } else { odd(x.unsigned_abs()) })
                .collect(),
            _ => self.to_floats(),
        }
    }

    /// The elements as complex numbers whose parts are to be rounded to f32.
    fn to_parts(&self) -> Vec<Complex64> {
        match self {
            Values::Complex(v) => v.clone(),
            other => other.to_narrow().into_iter().map(Complex64::from).collect(),
        }
    }

    /// The elements as complex numbers.
    pub fn to_complex(&self) -> Vec<Complex64> {
        match self {
            Values::Complex(v) => v.clone(),
            other => other.to_floats().into_iter().map(Complex64::from).collect(),
        }
    }

    /// Conversion to `dtype`: float to integer truncates, saturates and takes
    /// NaN to 0; integer to integer wraps; to bool is "not zero" (NaN is
    /// true); complex to real drops the imaginary part. The result holds only
    /// values that `dtype` can hold.
    pub fn convert(&self, dtype: DType) -> Values {
        let unsigned_max = if dtype.bits() >= 64 { u64::MAX } else { (1 << dtype.bits()) - 1 };
        let signed_max = (unsigned_max >> 1) as i64;
        let signed_min = -signed_max - 1;
        match dtype.class() {
            Class::Bool => Values::Bool(match self {
                Values::Bool(v) => v.clone(),
                Values::Unsigned(v) => v.iter().map(|&x| x != 0).collect(),
                Values::Signed(v) => v.iter().map(|&x| x != 0).collect(),
                Values::Float(v) => v.iter().map(|&x| x != 0.0).collect(),
                Values::Complex(v) => v.iter().map(|&x| x.re != 0.0 || x.im != 0.0).collect(),
            }),
            Class::Unsigned => Values::Unsigned(match self {
                Values::Float(_) | Values::Complex(_) => {
                    self.to_floats().iter().map(|&x| (x as u64).min(unsigned_max)).collect()
                }
                Values::Unsigned(v) => v.iter().map(|&x| x & unsigned_max).collect(),
                _ => self.to_ints().unwrap_or_default().iter().map(|&x| x as u64 & unsigned_max).collect(),
            }),
            Class::Signed => Values::Signed(match self {
                Values::Float(_) | Values::Complex(_) => {
                    self.to_floats().iter().map(|&x| (x as i64).clamp(signed_min, signed_max)).collect()
                }
                _ => {
                    let shift = 64 - dtype.bits() as u32;
                    self.to_ints().unwrap_or_default().iter().map(|&x| (x << shift) >> shift).collect()
                }
            }),
            Class::Float => Values::Float(match dtype {
                DType::F64 => self.to_floats(),
                _ => self.to_narrow().into_iter().map(|x| round_to(dtype, x)).collect(),
            }),
            Class::Complex => Values::Complex(
                self.to_parts()
                    .into_iter()
                    .map(|x| Complex64::new(f64::from(x.re as f32), f64::from(x.im as f32)))
                    .collect(),
            ),
        }
    }

    /// Reads row-contiguous elements of `dtype`.
    pub fn decode(dtype: DType, bytes: &[u8], count: usize) -> Result<Values, TensorError> {
        let expected = dtype.bytes_for(count).ok_or(TensorError::TooLarge { shape: vec![count], dtype })?;
        if bytes.len() != expected {
            return Err(TensorError::WrongLength { shape: vec![count], dtype, expected, found: bytes.len() });
        }
        macro_rules! read {
            ($t:ty, $n:literal, $make:expr) => {
                bytes.as_chunks::<$n>().0.iter().map(|b| $make(<$t>::from_le_bytes(*b))).collect()
            };
        }
        Ok(match dtype {
            DType::Bool => {
                if let Some(index) = bytes.iter().position(|&b| b > 1) {
                    return Err(TensorError::NotABool { value: bytes[index], index });
                }
                Values::Bool(bytes.iter().map(|&b| b == 1).collect())
            }
            DType::U8 => Values::Unsigned(bytes.iter().map(|&b| u64::from(b)).collect()),
            DType::U16 => Values::Unsigned(read!(u16, 2, u64::from)),
            DType::U32 => Values::Unsigned(read!(u32, 4, u64::from)),
            DType::U64 => Values::Unsigned(read!(u64, 8, u64::from)),
            DType::I8 => Values::Signed(bytes.iter().map(|&b| i64::from(b as i8)).collect()),
            DType::I16 => Values::Signed(read!(i16, 2, i64::from)),
            DType::I32 => Values::Signed(read!(i32, 4, i64::from)),
            DType::I64 => Values::Signed(read!(i64, 8, i64::from)),
            DType::F16 => Values::Float(read!(f16, 2, f64::from)),
            DType::BF16 => Values::Float(read!(bf16, 2, f64::from)),
            DType::F32 => Values::Float(read!(f32, 4, f64::from)),
            DType::F64 => Values::Float(read!(f64, 8, f64::from)),
            DType::Complex64 => Values::Complex(
                bytes
                    .as_chunks::<8>()
                    .0
                    .iter()
                    .map(|b| {
                        let [r0, r1, r2, r3, i0, i1, i2, i3] = *b;
                        let part = |b| f64::from(f32::from_le_bytes(b));
                        Complex64::new(part([r0, r1, r2, r3]), part([i0, i1, i2, i3]))
                    })
                    .collect(),
            ),
            DType::I4 | DType::I2 => {
                let shift = 8 - dtype.bits() as u32;
                let signed = |code: u8| i64::from(((code << shift) as i8) >> shift);
                Values::Signed(unpack(dtype, bytes, count).map(signed).collect())
            }
            DType::U4 | DType::U2 => Values::Unsigned(unpack(dtype, bytes, count).map(u64::from).collect()),
            DType::F4E2M1 => {
                Values::Float(unpack(dtype, bytes, count).map(|c| minifloat::decode(dtype, c)).collect())
            }
            _ => Values::Float(bytes.iter().map(|&c| minifloat::decode(dtype, c)).collect()),
        })
    }

    /// The bytes of these elements as `dtype`, converted as [`Values::convert`]
    /// says.
    pub fn encode(&self, dtype: DType) -> Vec<u8> {
        macro_rules! write {
            ($v:expr, $t:ty) => {
                $v.iter().flat_map(|&x| (x as $t).to_le_bytes()).collect()
            };
        }
        let converted;
        let values = if self.class() == dtype.class() {
            self
        } else {
            converted = self.convert(dtype);
            &converted
        };
        let codes: Vec<u8> = match (values, dtype) {
            (Values::Bool(v), _) => v.iter().map(|&b| u8::from(b)).collect(),
            (Values::Unsigned(v), DType::U16) => write!(v, u16),
            (Values::Unsigned(v), DType::U32) => write!(v, u32),
            (Values::Unsigned(v), DType::U64) => write!(v, u64),
            (Values::Unsigned(v), _) => v.iter().map(|&x| x as u8).collect(),
            (Values::Signed(v), DType::I16) => write!(v, i16),
            (Values::Signed(v), DType::I32) => write!(v, i32),
            (Values::Signed(v), DType::I64) => write!(v, i64),
            (Values::Signed(v), _) => v.iter().map(|&x| x as u8).collect(),
            (Values::Float(v), DType::F16) => v.iter().flat_map(|&x| f16_of(x).to_le_bytes()).collect(),
            (Values::Float(v), DType::BF16) => v.iter().flat_map(|&x| bf16_of(x).to_le_bytes()).collect(),
            (Values::Float(v), DType::F32) => write!(v, f32),
            (Values::Float(v), DType::F64) => write!(v, f64),
            (Values::Float(v), _) => v.iter().map(|&x| minifloat::encode(dtype, x)).collect(),
            (Values::Complex(v), _) => v
                .iter()
                .flat_map(|x| {
                    let part = Complex32::new(x.re as f32, x.im as f32);
                    [part.re.to_le_bytes(), part.im.to_le_bytes()].concat()
                })
                .collect(),
        };
        if dtype.bits() < 8 { pack(dtype, &codes) } else { codes }
    }
}

/// `x` rounded to the nearest value of a real floating-point type.
fn round_to(dtype: DType, x: f64) -> f64 {
    match dtype {
        DType::F16 => f16_of(x).to_f64(),
        DType::BF16 => bf16_of(x).to_f64(),
        DType::F32 => f64::from(x as f32),
        DType::F64 => x,
        _ => minifloat::decode(dtype, minifloat::encode(dtype, x)),
    }
}

/// Codes packed below a byte, lowest bits first.
fn unpack(dtype: DType, bytes: &[u8], count: usize) -> impl Iterator<Item = u8> {
    let bits = dtype.bits();
    let per_byte = 8 / bits;
    let mask = (1u8 << bits) - 1;
    (0..count).map(move |i| (bytes[i / per_byte] >> (i % per_byte * bits)) & mask)
}

fn pack(dtype: DType, codes: &[u8]) -> Vec<u8> {
    let bits = dtype.bits();
    let mask = (1u8 << bits) - 1;
    codes
        .chunks(8 / bits)
        .map(|group| group.iter().enumerate().fold(0, |byte, (i, code)| byte | ((code & mask) << (i * bits))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_follow_the_rules() {
        let f = Values::Float(vec![f64::NAN, 300.7, -300.7, -0.5, 1e30]);
        assert_eq!(f.convert(DType::I8), Values::Signed(vec![0, 127, -128, 0, 127]));
        assert_eq!(f.convert(DType::U8), Values::Unsigned(vec![0, 255, 0, 0, 255]));
        assert_eq!(f.convert(DType::I64), Values::Signed(vec![0, 300, -300, 0, i64::MAX]));
        assert_eq!(f.convert(DType::Bool), Values::Bool(vec![true; 5]));
        let i = Values::Signed(vec![-1, 300, 128]);
        assert_eq!(i.convert(DType::U8), Values::Unsigned(vec![255, 44, 128]));
        assert_eq!(i.convert(DType::I8), Values::Signed(vec![-1, 44, -128]));
        assert_eq!(i.convert(DType::U64), Values::Unsigned(vec![u64::MAX, 300, 128]));
        let big = Values::Unsigned(vec![u64::MAX]);
        assert_eq!(big.convert(DType::F64), Values::Float(vec![u64::MAX as f64]));
        let c = Values::Complex(vec![Complex64::new(2.5, -1.0)]);
        assert_eq!(c.convert(DType::I32), Values::Signed(vec![2]));
    }

    #[test]
    fn every_dtype_encodes_and_decodes() {
        for &dtype in DType::ALL {
            let values = Values::Float(vec![0.0, 1.0, 0.0, 1.0, 1.0]).convert(dtype);
            let bytes = values.encode(dtype);
            assert_eq!(Some(bytes.len()), dtype.bytes_for(5), "{dtype}");
            let back = Values::decode(dtype, &bytes, 5).unwrap();
            if dtype != DType::F8E8M0 {
                assert_eq!(back, values, "{dtype}");
            }
        }
        let nibbles = Values::Signed(vec![-8, 7, -1]).encode(DType::I4);
        assert_eq!(nibbles, [0x78, 0x0F]);
        assert_eq!(Values::decode(DType::I4, &nibbles, 3).unwrap(), Values::Signed(vec![-8, 7, -1]));
    }

    #[test]
    fn bad_bytes_are_refused() {
        assert!(matches!(
            Values::decode(DType::Bool, &[0, 2], 2),
            Err(TensorError::NotABool { value: 2, index: 1 })
        ));
        assert!(matches!(Values::decode(DType::F32, &[0; 7], 2), Err(TensorError::WrongLength { .. })));
    }
}
