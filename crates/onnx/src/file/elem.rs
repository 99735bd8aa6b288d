use std::fmt;

use oneir_tensor::DType;

macro_rules! elem_types {
    ($($(#[$doc:meta])* $variant:ident $name:literal $code:literal $bits:literal $dtype:expr;)*) => {
        /// The type of a tensor's elements, as the ONNX standard lists them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ElemType { $($(#[$doc])* $variant),* }

        impl ElemType {
            /// Every element type, in the order of their numbers.
            pub const ALL: &[ElemType] = &[$(ElemType::$variant),*];

            /// The type that a number in a file stands for.
            pub const fn from_code(code: i32) -> Option<ElemType> {
                match code { $($code => Some(ElemType::$variant),)* _ => None }
            }

            /// The number in a file.
            pub const fn code(self) -> i32 {
                match self { $(ElemType::$variant => $code),* }
            }

            /// The standard's name.
            pub const fn name(self) -> &'static str {
                match self { $(ElemType::$variant => $name),* }
            }

            /// Bits of one stored element; 0 for strings and undefined.
            pub const fn bits(self) -> usize {
                match self { $(ElemType::$variant => $bits),* }
            }

            /// The element type of a host tensor that holds these elements;
            /// `None` where there is none.
            pub const fn dtype(self) -> Option<DType> {
                match self { $(ElemType::$variant => $dtype),* }
            }
        }
    };
}

elem_types! {
    /// Not given.
    Undefined "UNDEFINED" 0 0 None;
    /// IEEE single precision.
    Float "FLOAT" 1 32 Some(DType::F32);
    /// Unsigned 8-bit integers.
    Uint8 "UINT8" 2 8 Some(DType::U8);
    /// Signed 8-bit integers.
    Int8 "INT8" 3 8 Some(DType::I8);
    /// Unsigned 16-bit integers.
    Uint16 "UINT16" 4 16 Some(DType::U16);
    /// Signed 16-bit integers.
    Int16 "INT16" 5 16 Some(DType::I16);
    /// Signed 32-bit integers.
    Int32 "INT32" 6 32 Some(DType::I32);
    /// Signed 64-bit integers.
    Int64 "INT64" 7 64 Some(DType::I64);
    /// Byte strings, UTF-8 by convention.
    String "STRING" 8 0 None;
    /// Truth values.
    Bool "BOOL" 9 8 Some(DType::Bool);
    /// IEEE half precision.
    Float16 "FLOAT16" 10 16 Some(DType::F16);
    /// IEEE double precision.
    Double "DOUBLE" 11 64 Some(DType::F64);
    /// Unsigned 32-bit integers.
    Uint32 "UINT32" 12 32 Some(DType::U32);
    /// Unsigned 64-bit integers.
    Uint64 "UINT64" 13 64 Some(DType::U64);
    /// Complex numbers of two singles.
    Complex64 "COMPLEX64" 14 64 Some(DType::Complex64);
    /// Complex numbers of two doubles.
    Complex128 "COMPLEX128" 15 128 None;
    /// The upper half of a single.
    Bfloat16 "BFLOAT16" 16 16 Some(DType::BF16);
    /// float8, 4 exponent bits, no infinities.
    Float8E4M3Fn "FLOAT8E4M3FN" 17 8 Some(DType::F8E4M3FN);
    /// float8, 4 exponent bits, no infinities, no negative zero.
    Float8E4M3Fnuz "FLOAT8E4M3FNUZ" 18 8 Some(DType::F8E4M3FNUZ);
    /// float8, 5 exponent bits.
    Float8E5M2 "FLOAT8E5M2" 19 8 Some(DType::F8E5M2);
    /// float8, 5 exponent bits, no infinities, no negative zero.
    Float8E5M2Fnuz "FLOAT8E5M2FNUZ" 20 8 Some(DType::F8E5M2FNUZ);
    /// Unsigned 4-bit integers.
    Uint4 "UINT4" 21 4 Some(DType::U4);
    /// Signed 4-bit integers.
    Int4 "INT4" 22 4 Some(DType::I4);
    /// float4, 2 exponent bits.
    Float4E2M1 "FLOAT4E2M1" 23 4 Some(DType::F4E2M1);
    /// Powers of two.
    Float8E8M0 "FLOAT8E8M0" 24 8 Some(DType::F8E8M0);
    /// Unsigned 2-bit integers.
    Uint2 "UINT2" 25 2 Some(DType::U2);
    /// Signed 2-bit integers.
    Int2 "INT2" 26 2 Some(DType::I2);
    /// float6, 2 exponent bits.
    Float6E2M3 "FLOAT6E2M3" 27 6 None;
    /// float6, 3 exponent bits.
    Float6E3M2 "FLOAT6E3M2" 28 6 None;
}

impl ElemType {
    /// The type of a name of the standard, as version 1 of Cast gives it.
    pub fn named(name: &str) -> Option<ElemType> {
        (0..=28).filter_map(ElemType::from_code).find(|elem| elem.name() == name)
    }

    /// The standard's type for a host tensor's elements.
    pub const fn of(dtype: DType) -> ElemType {
        match dtype {
            DType::Bool => ElemType::Bool,
            DType::U8 => ElemType::Uint8,
            DType::U16 => ElemType::Uint16,
            DType::U32 => ElemType::Uint32,
            DType::U64 => ElemType::Uint64,
            DType::I8 => ElemType::Int8,
            DType::I16 => ElemType::Int16,
            DType::I32 => ElemType::Int32,
            DType::I64 => ElemType::Int64,
            DType::F16 => ElemType::Float16,
            DType::BF16 => ElemType::Bfloat16,
            DType::F32 => ElemType::Float,
            DType::F64 => ElemType::Double,
            DType::Complex64 => ElemType::Complex64,
            DType::F8E4M3FN => ElemType::Float8E4M3Fn,
            DType::F8E4M3FNUZ => ElemType::Float8E4M3Fnuz,
            DType::F8E5M2 => ElemType::Float8E5M2,
            DType::F8E5M2FNUZ => ElemType::Float8E5M2Fnuz,
            DType::F8E8M0 => ElemType::Float8E8M0,
            DType::F4E2M1 => ElemType::Float4E2M1,
            DType::I4 => ElemType::Int4,
            DType::U4 => ElemType::Uint4,
            DType::I2 => ElemType::Int2,
            DType::U2 => ElemType::Uint2,
        }
    }

    /// Bytes that `count` elements take when packed in a row.
    pub(super) fn bytes_for(self, count: usize) -> Option<usize> {
        let bits = self.bits();
        let bytes = if bits.is_multiple_of(8) {
            count.checked_mul(bits / 8)?
        } else {
            count.checked_mul(bits)?.div_ceil(8)
        };
        isize::try_from(bytes).ok()?;
        Some(bytes)
    }
}

impl fmt::Display for ElemType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_dtypes_round_trip() {
        for (code, elem) in ElemType::ALL.iter().enumerate() {
            assert_eq!(elem.code() as usize, code);
            assert_eq!(ElemType::from_code(elem.code()), Some(*elem));
            if let Some(dtype) = elem.dtype() {
                assert_eq!(dtype.bits(), elem.bits());
            }
        }
        for dtype in DType::ALL {
            assert_eq!(ElemType::of(*dtype).dtype(), Some(*dtype));
        }
        assert_eq!(ElemType::from_code(29), None);
        assert_eq!(ElemType::from_code(-1), None);
    }

    #[test]
    fn packed_sizes_round_up() {
        assert_eq!(ElemType::Int4.bytes_for(3), Some(2));
        assert_eq!(ElemType::Float6E2M3.bytes_for(5), Some(4));
        assert_eq!(ElemType::Complex128.bytes_for(usize::MAX / 8), None);
    }
}
