//! NumPy's names of element types.

use oneir_tensor::DType;

use super::Endian;

const CODES: [(&str, DType); 14] = [
    ("b1", DType::Bool),
    ("u1", DType::U8),
    ("u2", DType::U16),
    ("u4", DType::U32),
    ("u8", DType::U64),
    ("i1", DType::I8),
    ("i2", DType::I16),
    ("i4", DType::I32),
    ("i8", DType::I64),
    ("f2", DType::F16),
    ("V2", DType::BF16),
    ("f4", DType::F32),
    ("f8", DType::F64),
    ("c8", DType::Complex64),
];

/// The type that `descr` names, or how to call it in a refusal.
pub(super) fn parse(descr: &str) -> Result<(DType, Endian), String> {
    if descr == "bfloat16" {
        return Ok((DType::BF16, Endian::Little));
    }
    let (order, code) = match descr.chars().next() {
        Some(order @ ('<' | '>' | '|')) => (order, &descr[1..]),
        _ => ('|', descr),
    };
    let dtype = CODES.iter().find(|(name, _)| *name == code).map(|(_, dtype)| *dtype);
    match (dtype, order) {
        (Some(dtype), '<') => Ok((dtype, Endian::Little)),
        (Some(dtype), '>') => Ok((dtype, Endian::Big)),
        (Some(dtype), _) if dtype.size() == Some(1) => Ok((dtype, Endian::Little)),
        _ => Err(format!("`{}` ({})", shortened(descr), meaning(code))),
    }
}

/// NumPy's name of a type; `None` when it has none.
pub(super) fn name(dtype: DType, endian: Endian) -> Option<String> {
    let (code, _) = CODES.iter().find(|(_, d)| *d == dtype)?;
    let order = match (dtype.size(), endian) {
        (Some(1), _) => '|',
        (_, Endian::Little) => '<',
        (_, Endian::Big) => '>',
    };
    Some(format!("{order}{code}"))
}

fn meaning(code: &str) -> &'static str {
    match code {
        "f1" => return "a float8 of ml_dtypes, which does not say which",
        "f16" | "f12" => return "floats of extended precision",
        "c16" => return "complex128",
        "V1" => return "raw bytes, or a type of ml_dtypes, which does not say which",
        "V2" => return "raw bytes; bf16 is `<V2`",
        _ => {}
    }
    match code.as_bytes().first() {
        Some(b'O') => "Python objects",
        Some(b'S' | b'a') => "byte strings",
        Some(b'U') => "strings",
        Some(b'T') => "strings of varying length",
        Some(b'V') => "raw bytes or structured records",
        Some(b'M') => "dates and times",
        Some(b'm') => "time differences",
        Some(b'b' | b'i' | b'u' | b'f' | b'c') => "no byte order or an unknown size",
        _ => "an unknown type",
    }
}

/// At most the first 32 characters.
fn shortened(text: &str) -> String {
    let mut chars = text.chars();
    let mut short: String = chars.by_ref().take(32).flat_map(char::escape_debug).collect();
    if chars.next().is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for dtype in DType::ALL.iter().copied() {
            for endian in [Endian::Little, Endian::Big] {
                match name(dtype, endian) {
                    Some(text) if dtype.size() == Some(1) => {
                        assert_eq!(parse(&text), Ok((dtype, Endian::Little)));
                    }
                    Some(text) => assert_eq!(parse(&text), Ok((dtype, endian))),
                    None => assert!(!dtype.computes(), "{dtype}"),
                }
            }
        }
        assert_eq!(parse("bfloat16"), Ok((DType::BF16, Endian::Little)));
    }

    #[test]
    fn other_types_are_called_by_name() {
        for (descr, called) in [
            ("|O", "Python objects"),
            ("|S3", "byte strings"),
            ("<U7", "strings"),
            ("<M8[ns]", "dates and times"),
            ("<c16", "complex128"),
            ("<f16", "extended precision"),
            ("|V2", "bf16 is `<V2`"),
            ("|V12", "structured records"),
            ("<f1", "float8"),
            ("f4", "no byte order"),
            ("|i4", "no byte order"),
            ("=i4", "unknown type"),
            ("", "unknown type"),
            ("é", "unknown type"),
        ] {
            let refused = parse(descr).unwrap_err();
            assert!(refused.contains(called), "{descr}: {refused}");
        }
        assert!(parse(&"x".repeat(1000)).unwrap_err().len() < 200);
    }
}
