use std::fmt;

use oneir_tensor::HostTensor;

use super::Printer;

/// Why a text is not a graph: where, what was expected and what was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: expected {expected}, found {found}")]
pub struct TextError {
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// What was expected there, in words.
    pub expected: String,
    /// What was there.
    pub found: String,
}

/// A place in a text being parsed.
#[derive(Clone)]
pub struct Cursor<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Values that the text names by their places.
    apart: &'a [HostTensor],
}

impl<'a> Cursor<'a> {
    /// The start of `text`.
    pub fn new(text: &'a str) -> Self {
        Cursor { text, at: 0, depth: 0, apart: &[] }
    }

    /// The start of `text`, some values of which stand apart.
    pub(super) fn with_values(text: &'a str, apart: &'a [HostTensor]) -> Self {
        Cursor { apart, ..Cursor::new(text) }
    }

    /// The value at a place among those that stand apart.
    pub(super) fn apart(&self, place: usize) -> Option<&'a HostTensor> {
        self.apart.get(place)
    }

    /// Goes one level deeper, which must not pass `limit`.
    pub(super) fn enter(&mut self, limit: usize) -> Result<(), TextError> {
        self.depth += 1;
        if self.depth > limit {
            Err(self.error(format!("at most {limit} levels of nesting")))
        } else {
            Ok(())
        }
    }

    /// Comes back from a level.
    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips blanks, line ends and comments (`//` to the end of the line).
    pub fn skip(&mut self) {
        loop {
            let trimmed = self.rest().trim_start();
            self.at = self.text.len() - trimmed.len();
            if !trimmed.starts_with("//") {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    /// Whether nothing but blanks and comments is left.
    pub fn at_end(&mut self) -> bool {
        self.skip();
        self.rest().is_empty()
    }

    /// The next word, number or sign, without taking it.
    fn peek(&mut self) -> &'a str {
        self.skip();
        let rest = self.rest();
        let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let Some(first) = rest.chars().next() else { return "" };
        let end = if word(first) || (first == '-' && rest[1..].starts_with(|c: char| c.is_alphanumeric())) {
            let tail = &rest[first.len_utf8()..];
            let mut end = first.len_utf8() + tail.find(|c| !word(c)).unwrap_or(tail.len());
            // An exponent's sign belongs to its number.
            let numeric = first.is_ascii_digit() || first == '-';
            if numeric && rest[..end].ends_with('e') && rest[end..].starts_with(['-', '+']) {
                let tail = &rest[end + 1..];
                end += 1 + tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
            }
            end
        } else {
            first.len_utf8()
        };
        &rest[..end]
    }

    /// An error at this place.
    pub fn error(&mut self, expected: impl fmt::Display) -> TextError {
        let found = match self.peek() {
            "" => "the end".to_string(),
            word => format!("`{}`", word.chars().take(40).collect::<String>()),
        };
        let before = &self.text[..self.at];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        TextError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            expected: expected.to_string(),
            found,
        }
    }

    /// Takes `sign` when it comes next.
    pub fn take(&mut self, sign: &str) -> bool {
        let found = self.peek() == sign;
        if found {
            self.at += sign.len();
        }
        found
    }

    /// Whether `sign` comes next.
    pub fn sees(&mut self, sign: &str) -> bool {
        self.peek() == sign
    }

    /// Takes `sign`, which must come next.
    pub fn expect(&mut self, sign: &str) -> Result<(), TextError> {
        if self.take(sign) { Ok(()) } else { Err(self.error(format!("`{sign}`"))) }
    }

    /// Takes a word of letters, digits, `_` and `.`.
    pub fn word(&mut self, expected: &str) -> Result<&'a str, TextError> {
        let word = self.peek();
        if word.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            self.at += word.len();
            Ok(word)
        } else {
            Err(self.error(expected))
        }
    }

    /// Takes a number that `T` can hold.
    pub fn number<T: std::str::FromStr>(&mut self, expected: &str) -> Result<T, TextError> {
        let word = self.peek();
        match word.parse() {
            Ok(value) => {
                self.at += word.len();
                Ok(value)
            }
            Err(_) => Err(self.error(expected)),
        }
    }

    /// Takes a string in double quotes; `\"`, `\\` and `\n` are escapes.
    pub fn string(&mut self) -> Result<String, TextError> {
        self.expect("\"")?;
        let mut out = String::new();
        let mut chars = self.rest().char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += i + 1;
                    return Ok(out);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => out.push('\n'),
                    Some((_, other)) => out.push(other),
                    None => break,
                },
                other => out.push(other),
            }
        }
        Err(self.error("a closing quote"))
    }

    /// Takes items between `open` and `close`, separated by commas.
    pub fn list<T>(
        &mut self,
        open: &str,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<T, TextError>,
    ) -> Result<Vec<T>, TextError> {
        self.expect(open)?;
        let mut items = Vec::new();
        while !self.take(close) {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }
}

/// Writes a string in double quotes, escaped as [`Cursor::string`] reads it.
pub(crate) fn write_string(out: &mut Printer, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_and_strings() {
        let mut c = Cursor::new("  add2 // note\n -3, [1e-5,2] \"a\\\"b\\n\" nan");
        assert_eq!(c.word("a word"), Ok("add2"));
        assert_eq!(c.number::<i64>("a number"), Ok(-3));
        assert!(c.take(","));
        assert_eq!(c.list("[", "]", |c| c.number::<f64>("a number")), Ok(vec![1e-5, 2.0]));
        assert_eq!(c.string(), Ok("a\"b\n".to_string()));
        assert!(c.number::<f64>("a number").is_ok_and(f64::is_nan));
        assert!(c.at_end());
    }

    #[test]
    fn errors_say_where() {
        let mut c = Cursor::new("a\n  é ?");
        c.word("w").unwrap();
        c.word("w").unwrap();
        let e = c.number::<u8>("a size").unwrap_err();
        assert_eq!((e.line, e.column), (2, 5));
        assert_eq!(e.to_string(), "line 2, column 5: expected a size, found `?`");
        assert!(Cursor::new("\"open").string().is_err());
    }
}
