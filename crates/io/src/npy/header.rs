//! The header: a Python dictionary of three known keys.

use std::fmt::Write as _;

#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub(super) descr: String,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<usize>,
}

#[derive(Debug, PartialEq)]
pub(super) enum Fault {
    Syntax {
        expected: &'static str,
        found: String,
    },
    /// The element type is a list of fields.
    Structured,
}

/// The dictionary's text as Python prints it, without padding.
pub(super) fn write(descr: &str, fortran_order: bool, shape: &[usize]) -> String {
    let fortran_order = if fortran_order { "True" } else { "False" };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': {fortran_order}, 'shape': (");
    for (axis, size) in shape.iter().enumerate() {
        let before = if axis == 0 { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{before}{size}");
    }
    text.push_str(if shape.len() == 1 { ",), }" } else { "), }" });
    text
}

/// Reads the dictionary: each key once, in any order, and nothing else.
pub(super) fn parse(text: &[u8]) -> Result<Header, Fault> {
    let mut from = Cursor { text, at: 0 };
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    from.take(b'{', "`{`")?;
    while !from.skip(b'}') {
        let start = from.at;
        let key = from.string("a key in quotes")?;
        from.take(b':', "`:`")?;
        let again = match key.as_str() {
            "descr" => descr.replace(from.descr()?).is_some(),
            "fortran_order" => fortran_order.replace(from.truth()?).is_some(),
            "shape" => shape.replace(from.sizes()?).is_some(),
            _ => true,
        };
        if again {
            from.at = start;
            return Err(from.fault("`descr`, `fortran_order` and `shape`, once each"));
        }
        if !from.skip(b',') {
            from.take(b'}', "`,` or `}`")?;
            break;
        }
    }
    from.space();
    if from.at < text.len() {
        return Err(from.fault("the end of the header"));
    }
    match (descr, fortran_order, shape) {
        (Some(descr), Some(fortran_order), Some(shape)) => Ok(Header { descr, fortran_order, shape }),
        _ => Err(from.fault("`descr`, `fortran_order` and `shape`, once each")),
    }
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn rest(&self) -> &[u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn space(&mut self) {
        self.at += self.rest().iter().take_while(|b| b.is_ascii_whitespace()).count();
    }

    /// The byte after any space, not taken.
    fn peek(&mut self) -> Option<u8> {
        self.space();
        self.rest().first().copied()
    }

    /// Takes `byte` if it comes next.
    fn skip(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn take(&mut self, byte: u8, expected: &'static str) -> Result<(), Fault> {
        if self.skip(byte) { Ok(()) } else { Err(self.fault(expected)) }
    }

    fn fault(&self, expected: &'static str) -> Fault {
        let next = &self.rest()[..self.rest().len().min(24)];
        let found = match next {
            [] => "its end".to_owned(),
            _ => format!("`{}` at byte {}", next.escape_ascii(), self.at),
        };
        Fault::Syntax { expected, found }
    }

    /// A quoted string without escapes.
    fn string(&mut self, expected: &'static str) -> Result<String, Fault> {
        let quote = match self.peek() {
            Some(quote @ (b'\'' | b'"')) => quote,
            _ => return Err(self.fault(expected)),
        };
        let inside = &self.rest()[1..];
        let end = inside.iter().position(|&b| b == quote || b == b'\\' || b == b'\n');
        match end {
            Some(end) if inside[end] == quote => {
                let string = String::from_utf8_lossy(&inside[..end]).into_owned();
                self.at += end + 2;
                Ok(string)
            }
            _ => Err(self.fault(expected)),
        }
    }

    fn descr(&mut self) -> Result<String, Fault> {
        match self.peek() {
            Some(b'[' | b'(') => Err(Fault::Structured),
            _ => self.string("an element type in quotes"),
        }
    }

    fn truth(&mut self) -> Result<bool, Fault> {
        self.space();
        for (word, value) in [("True", true), ("False", false)] {
            if self.rest().starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.fault("`True` or `False`"))
    }

    /// A tuple of sizes.
    fn sizes(&mut self) -> Result<Vec<usize>, Fault> {
        self.take(b'(', "a shape in parentheses")?;
        let mut sizes = Vec::new();
        while !self.skip(b')') {
            sizes.push(self.size()?);
            if self.skip(b',') {
                continue;
            }
            // `(3)` is a number, not a tuple.
            if sizes.len() == 1 {
                return Err(self.fault("`,`"));
            }
            self.take(b')', "`,` or `)`")?;
            break;
        }
        Ok(sizes)
    }

    fn size(&mut self) -> Result<usize, Fault> {
        self.space();
        let digits = self.rest().iter().take_while(|b| b.is_ascii_digit()).count();
        let size = std::str::from_utf8(&self.rest()[..digits]).ok().and_then(|text| text.parse().ok());
        let Some(size) = size.filter(|size| isize::try_from(*size).is_ok()) else {
            return Err(self.fault("a size below 2^63"));
        };
        self.at += digits;
        // Python 2 wrote long integers so.
        self.at += usize::from(self.rest().first() == Some(&b'L'));
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(shape: &[usize]) -> Header {
        Header { descr: "<f4".to_owned(), fortran_order: false, shape: shape.to_vec() }
    }

    #[test]
    fn headers_round_trip() {
        for shape in [&[][..], &[5], &[2, 3], &[0, 7, 1]] {
            assert_eq!(parse(write("<f4", false, shape).as_bytes()), Ok(header(shape)));
        }
        assert_eq!(write("<f4", true, &[3]), "{'descr': '<f4', 'fortran_order': True, 'shape': (3,), }");
    }

    #[test]
    fn other_spellings_are_read() {
        for text in [
            "{\"shape\":(2L,3L),\"fortran_order\":False,\"descr\":\"<f4\"}",
            " { 'descr' : '<f4' , 'shape' : ( 2 , 3 , ) , 'fortran_order' : False }  \n",
        ] {
            assert_eq!(parse(text.as_bytes()), Ok(header(&[2, 3])), "{text}");
        }
    }

    #[test]
    fn structured_types_are_told_apart() {
        for descr in ["[('a', '<f4'), ('b', '|u1')]", "('<f4', (2,))"] {
            let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (), }}");
            assert_eq!(parse(text.as_bytes()), Err(Fault::Structured));
        }
    }

    #[test]
    fn bad_headers_are_refused() {
        for text in [
            "",
            "{",
            "{}",
            "{'descr': '<f4', 'fortran_order': False}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,)}",
            "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
            "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x",
            "{'descr': '<f\\x34', 'fortran_order': False, 'shape': ()}",
            "{'descr': '<f4, 'fortran_order': False, 'shape': ()}",
        ] {
            assert!(matches!(parse(text.as_bytes()), Err(Fault::Syntax { .. })), "{text}");
        }
    }
}
