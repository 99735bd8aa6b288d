//! How a value says where it comes from: `KIND:REST`, with options between, as
//! in `picture,size=224:photo.png`. What follows the first `:` is taken as it
//! is, so a file may have any name.

use crate::error::CliError;

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Tensor,
    Picture,
    Sound,
    Bytes,
    Text,
    Lines,
    Raw,
}

impl Kind {
    const ALL: [Kind; 7] =
        [Kind::Tensor, Kind::Picture, Kind::Sound, Kind::Bytes, Kind::Text, Kind::Lines, Kind::Raw];

    fn word(self) -> &'static str {
        match self {
            Kind::Tensor => "tensor",
            Kind::Picture => "picture",
            Kind::Sound => "sound",
            Kind::Bytes => "bytes",
            Kind::Text => "text",
            Kind::Lines => "lines",
            Kind::Raw => "raw",
        }
    }

    /// The options that it takes.
    fn options(self) -> &'static [&'static str] {
        match self {
            Kind::Tensor => &["name"],
            Kind::Picture => {
                &["size", "height", "width", "fit", "fill", "channels", "scale", "mean", "std", "layout"]
            }
            Kind::Sound => &["rate", "start", "length", "hop"],
            Kind::Bytes | Kind::Text => &["first", "last", "pad"],
            Kind::Lines => &[],
            Kind::Raw => &["shape"],
        }
    }
}

/// A value with a kind before it.
#[derive(Debug, PartialEq)]
pub(super) struct Source<'a> {
    pub(super) kind: Kind,
    /// Names with their values; a list has several.
    options: Vec<(&'a str, Vec<&'a str>)>,
    /// The file or text.
    pub(super) rest: &'a str,
}

/// Whether a text begins with a kind.
pub(super) fn has_kind(text: &str) -> bool {
    kind_of(text).is_some()
}

fn kind_of(text: &str) -> Option<(Kind, &str)> {
    Kind::ALL.into_iter().find_map(|kind| {
        let rest = text.strip_prefix(kind.word())?;
        rest.starts_with([':', ',']).then_some((kind, rest))
    })
}

/// Reads a value that begins with a kind; `None` when it does not.
pub(super) fn read<'a>(input: &str, text: &'a str) -> Result<Option<Source<'a>>, CliError> {
    let Some((kind, after)) = kind_of(text) else { return Ok(None) };
    let Some((listed, rest)) = after.split_once(':') else {
        return Err(CliError::NothingAfterKind { name: input.into(), kind: kind.word() });
    };
    let mut options: Vec<(&str, Vec<&str>)> = Vec::new();
    for item in listed.split(',').skip(1) {
        match (item.split_once('='), options.last_mut()) {
            (Some((option, value)), _) => {
                let known = kind.options();
                let wrong = !known.contains(&option) || options.iter().any(|(other, _)| *other == option);
                if wrong {
                    let (name, option) = (input.into(), option.into());
                    return Err(CliError::UnknownOption { name, kind: kind.word(), option, known });
                }
                options.push((option, vec![value]));
            }
            // An item without a name goes on with the list before it.
            (None, Some((_, values))) => values.push(item),
            (None, None) => {
                let (name, option) = (input.into(), item.into());
                return Err(CliError::UnknownOption {
                    name,
                    kind: kind.word(),
                    option,
                    known: kind.options(),
                });
            }
        }
    }
    Ok(Some(Source { kind, options, rest }))
}

impl<'a> Source<'a> {
    /// A file or text without options.
    pub(super) fn plain(kind: Kind, rest: &'a str) -> Source<'a> {
        Source { kind, options: Vec::new(), rest }
    }

    /// The values of an option, each read by `read`.
    pub(super) fn list<T>(
        &self,
        input: &str,
        option: &'static str,
        expected: &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<Vec<T>>, CliError> {
        let Some((_, values)) = self.options.iter().find(|(name, _)| *name == option) else {
            return Ok(None);
        };
        match values.iter().map(|value| read(value)).collect() {
            Some(list) => Ok(Some(list)),
            None => {
                Err(CliError::BadOption { name: input.into(), option, expected, found: values.join(",") })
            }
        }
    }

    /// As [`Source::list`], of an option with one value.
    pub(super) fn one<T>(
        &self,
        input: &str,
        option: &'static str,
        expected: &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, CliError> {
        let Some(mut values) = self.list(input, option, expected, read)? else { return Ok(None) };
        match (values.pop(), values.len()) {
            (Some(value), 0) => Ok(Some(value)),
            (_, more) => {
                let found = format!("{} values", more + 1);
                Err(CliError::BadOption { name: input.into(), option, expected, found })
            }
        }
    }

    /// A number of things, of which there is at least one.
    pub(super) fn count(&self, input: &str, option: &'static str) -> Result<Option<usize>, CliError> {
        self.one(input, option, "a whole number from 1", |text| text.parse().ok().filter(|&n| n > 0))
    }
}

/// A finite number, or one divided by another.
pub(super) fn ratio(text: &str) -> Option<f64> {
    let number = |text: &str| text.parse::<f64>().ok();
    let value = match text.split_once('/') {
        Some((above, below)) => number(above)? / number(below)?,
        None => number(text)?,
    };
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_stand_between_the_kind_and_the_file() {
        let source = read("x", "picture,mean=0.5,0.25,1/4,fit=crop:a:b=c,d.png").unwrap().unwrap();
        assert_eq!((source.kind, source.rest), (Kind::Picture, "a:b=c,d.png"));
        assert_eq!(source.list("x", "mean", "", ratio).unwrap(), Some(vec![0.5, 0.25, 0.25]));
        assert_eq!(source.one("x", "fit", "", |s| Some(s.len())).unwrap(), Some(4));
        assert!(matches!(source.one("x", "mean", "", ratio), Err(CliError::BadOption { .. })));
        assert!(matches!(source.count("x", "fit"), Err(CliError::BadOption { .. })));
        assert_eq!(source.count("x", "std").unwrap(), None);
        assert_eq!(read("x", "text:").unwrap().unwrap(), Source::plain(Kind::Text, ""));
        for file in ["text", "texts:a", "./text:a", "C:photo.png", "pictures,a"] {
            assert_eq!(read("x", file).unwrap(), None, "{file}");
        }
        assert!(matches!(read("x", "sound,rate=3"), Err(CliError::NothingAfterKind { .. })));
        for wrong in ["sound,size=3:a", "bytes,8:a", "bytes,pad=1,pad=2:a", "text,:a"] {
            assert!(matches!(read("x", wrong), Err(CliError::UnknownOption { .. })), "{wrong}");
        }
    }

    #[test]
    fn ratios_are_finite() {
        assert_eq!(ratio("1/4"), Some(0.25));
        assert_eq!(ratio("-1e3"), Some(-1000.0));
        for wrong in ["1/0", "nan", "1/2/3", "", "x", "1e999"] {
            assert_eq!(ratio(wrong), None, "{wrong}");
        }
    }
}
