//! Matching of regular expressions.

use std::iter::Peekable;
use std::str::Chars;

use oneir_array::HostTensor;
use regex::bytes::Regex;

use super::strings::strings;
use super::{Row, row};
use crate::call::{Call, Results};
use crate::term::Term;

pub(super) const ROWS: &[Row] = &[row!(RegexFullMatch [20] => regex_full_match)];

fn regex_full_match(call: &Call<'_>) -> Results {
    let x = strings(call, 0)?;
    let pattern = call.attributes().string_or("pattern", "")?;
    let own = format!(r"\A(?:{})\z", translated(pattern));
    let regex = Regex::new(&own).map_err(|e| call.fails(format!("pattern {pattern:?}: {e}")))?;
    let found: Vec<bool> = x.values.iter().map(|text| regex.is_match(text)).collect();
    let made = HostTensor::from_slice(&x.shape, &found).map_err(|e| call.fails(e.to_string()))?;
    Ok(vec![Term::Host(made)])
}

/// A pattern in the syntax of RE2, which the standard names, as the `regex` crate
/// reads it. In RE2 `\d`, `\s`, `\w` and `\b` know ASCII only, sets have neither
/// inner sets nor operations, `\Q` begins a literal text, and every escaped
/// punctuation stands for itself.
fn translated(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => escape(&mut rest, &mut out),
            '[' => set(&mut rest, &mut out),
            c => out.push(c),
        }
    }
    out
}

const DIGITS: &str = "0-9";
const SPACES: &str = r"\t\n\f\r\x20";
const WORD: &str = "0-9A-Za-z_";

/// What follows a backslash outside sets.
fn escape(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    match rest.next() {
        Some('d') => out.push_str(&format!("[{DIGITS}]")),
        Some('D') => out.push_str(&format!("[^{DIGITS}]")),
        Some('s') => out.push_str(&format!("[{SPACES}]")),
        Some('S') => out.push_str(&format!("[^{SPACES}]")),
        Some('w') => out.push_str(&format!("[{WORD}]")),
        Some('W') => out.push_str(&format!("[^{WORD}]")),
        Some('b') => out.push_str(r"(?-u:\b)"),
        Some('B') => out.push_str(r"(?-u:\B)"),
        Some('C') => out.push_str("(?s-u:.)"),
        Some('Q') => {
            let mut text = String::new();
            while let Some(c) = rest.next() {
                if c == '\\' && rest.peek() == Some(&'E') {
                    rest.next();
                    break;
                }
                text.push(c);
            }
            out.push_str(&regex::escape(&text));
        }
        other => plain(other, out),
    }
}

/// An escape that means the same, or a punctuation that means itself.
fn plain(escaped: Option<char>, out: &mut String) {
    match escaped {
        Some(c) if c.is_ascii_punctuation() => out.push_str(&regex::escape(&c.to_string())),
        Some(c) => out.extend(['\\', c]),
        None => out.push('\\'),
    }
}

/// What follows the bracket of a set.
fn set(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.push('[');
    if rest.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    // A bracket or dash that comes first is one of the set.
    if let Some(c) = rest.next_if(|c| matches!(c, ']' | '-')) {
        out.extend(['\\', c]);
    }
    let mut dash = false;
    while let Some(c) = rest.next() {
        let after_dash = std::mem::replace(&mut dash, c == '-');
        match c {
            ']' => {
                out.push(c);
                return;
            }
            // A named set: [:alpha:].
            '[' if rest.peek() == Some(&':') => {
                out.push(c);
                for c in rest.by_ref() {
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            '[' | '&' | '~' => out.extend(['\\', c]),
            '-' if after_dash => {
                out.push_str(r"\-");
                dash = false;
            }
            '\\' => match rest.next() {
                Some('d') => out.push_str(DIGITS),
                Some('D') => out.push_str(&format!("[^{DIGITS}]")),
                Some('s') => out.push_str(SPACES),
                Some('S') => out.push_str(&format!("[^{SPACES}]")),
                Some('w') => out.push_str(WORD),
                Some('W') => out.push_str(&format!("[^{WORD}]")),
                // Inside a set every one of these must be escaped.
                Some(c) if c.is_ascii_punctuation() => out.extend(['\\', c]),
                other => plain(other, out),
            },
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Regex::new(&format!(r"\A(?:{})\z", translated(pattern))).unwrap().is_match(text.as_bytes())
    }

    #[test]
    fn patterns_mean_what_they_mean_in_re2() {
        for (pattern, yes, no) in [
            (r"\d+", "12", "١٢"),
            (r"\w", "_", "é"),
            (r".", "é", "éé"),
            (r".*", "ab", "a\nb"),
            (r"(?s).*", "a\nb", ""),
            (r"[\w.]+@[\w\-]+\.(com|org)", "a.b@c-d.org", "a@b.net"),
            (r"[^\s]+", "ab", "a b"),
            (r"[\D]", "x", "1"),
            (r"\Qa.b[\E+", "a.b[[", "axb["),
            (r"\Qa+", "a+", "aa"),
            (r"[a&&b]+", "a&b", "c"),
            (r"[[a]+", "[a", "b"),
            (r"[]a]+", "]a", "b"),
            (r"[-a]+", "a-", "b"),
            (r"[+--]+", "+,-", "."),
            (r"[[:alpha:]_]+", "ab_", "1"),
            (r"\<\>\-\@", "<>-@", "-@"),
            (r"a|bc", "bc", "abc"),
            (r"(?i)abc", "aBC", "abd"),
            (r"\bx\b", "x", "é"),
            (r"\pL+", "é", "1"),
            (r"\x{e9}\x41", "éA", "eA"),
            ("", "", "x"),
        ] {
            assert!(matches(pattern, yes), "{pattern} on {yes:?}");
            if !no.is_empty() {
                assert!(!matches(pattern, no), "{pattern} on {no:?}");
            }
        }
    }
}
