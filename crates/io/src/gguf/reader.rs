//! From bytes to contents. Every count is compared with what is left of the file
//! before memory is taken for it.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use oneir_tensor::Buffer;

use crate::error::Place;
use crate::{IoError, map};

use super::values::{ARRAY, BOOL, TEXT, numbers};
use super::{ALIGNMENT, ALIGNMENT_KEY, Array, Contents, DEEPEST, Kind, MAGIC, MOST_DIMENSIONS};
use super::{Metadata, TensorInfo, Texts, Value};

/// The fewest bytes of an entry of metadata: a key's length, a kind, a value.
const LEAST_ENTRY: usize = 8 + 4 + 1;
/// Those of a tensor's entry: a name's length, a number of dimensions, a type, a place.
const LEAST_TENSOR: usize = 8 + 4 + 4 + 8;
/// The most bytes of an element, stored or decoded.
const WIDEST: usize = 8;

pub(super) fn parse(file: &Buffer, path: &Path) -> Result<Contents, IoError> {
    let mut at = Cursor { bytes: file.bytes(), read: 0, place: Place::file(path) };
    let place = at.place;
    let magic = at.take(MAGIC.len(), "magic")?;
    if magic == b"FUGG" {
        return Err(big_endian(place));
    } else if magic != MAGIC {
        return Err(place.malformed("magic", "`GGUF`", format!("`{}`", magic.escape_ascii())));
    }
    match at.u32("version")? {
        2 | 3 => {}
        // The magic is the same in both byte orders; versions are small.
        version if version & 0xFFFF == 0 && version != 0 => return Err(big_endian(place)),
        version => return Err(place.malformed("version", "2 or 3", version.to_string())),
    }
    let tensors = at.count("number of tensors", 0)?;
    let entries = at.count("number of metadata", LEAST_ENTRY)?;
    let metadata = read_metadata(&mut at, entries)?;
    let alignment = alignment(&metadata)?;
    at.holds(tensors as u64, LEAST_TENSOR, "number of tensors")?;
    let mut found = Vec::new();
    let mut names = HashSet::new();
    for _ in 0..tensors {
        let entry = Entry::read(&mut at)?;
        if !names.insert(entry.name) {
            return Err(IoError::DuplicateName { path: path.to_owned(), name: entry.name.to_owned() });
        }
        found.push(entry);
    }
    // Of a file without tensors the data may be missing with what would come before it.
    let data = at.read.next_multiple_of(alignment).min(at.bytes.len());
    let places = places(&found, at.bytes.len() - data, alignment, path)?;
    let mut tensors = Vec::with_capacity(found.len());
    for (entry, part) in found.iter().zip(places) {
        let Some(bytes) = map::part_of(file, data + part.start..data + part.end) else {
            return Err(Place::member(path, entry.name).wrong_length(
                "data",
                part.end as u64,
                at.bytes.len() as u64,
            ));
        };
        let (name, shape) = (entry.name.to_owned(), entry.shape.clone());
        tensors.push(TensorInfo { name, shape, kind: entry.kind, bytes });
    }
    Ok(Contents { metadata, tensors })
}

fn big_endian(place: Place<'_>) -> IoError {
    place.malformed("byte order", "little endian", "big endian")
}

/// What the places of tensors are multiples of.
pub(super) fn alignment(metadata: &Metadata) -> Result<usize, IoError> {
    match metadata.get(ALIGNMENT_KEY) {
        None => Ok(ALIGNMENT as usize),
        Some(Value::U32(alignment)) if alignment.is_power_of_two() => Ok(*alignment as usize),
        Some(other) => Err(IoError::WrongValue {
            key: ALIGNMENT_KEY.to_owned(),
            expected: "a power of two as u32",
            found: other.to_string(),
        }),
    }
}

/// The bytes of each tensor in the data: inside of it, aligned, and no byte in two.
fn places(
    entries: &[Entry<'_>],
    data: usize,
    alignment: usize,
    path: &Path,
) -> Result<Vec<Range<usize>>, IoError> {
    let mut places = Vec::with_capacity(entries.len());
    for entry in entries {
        let at = Place::member(path, entry.name);
        let start = usize::try_from(entry.offset).unwrap_or(usize::MAX);
        if !start.is_multiple_of(alignment) {
            let found = format!("{start}, where the alignment is {alignment}");
            return Err(at.malformed("offset", "a multiple of the alignment", found));
        }
        match start.checked_add(entry.bytes) {
            Some(end) if end <= data => places.push(start..end),
            end => {
                let end = end.map_or(u64::MAX, |end| end as u64);
                return Err(at.wrong_length("data up to the end", end, data as u64));
            }
        }
    }
    let mut order: Vec<usize> = (0..entries.len()).filter(|&i| !places[i].is_empty()).collect();
    order.sort_by_key(|&i| places[i].start);
    for pair in order.windows(2) {
        let (first, second) = (&places[pair[0]], &places[pair[1]]);
        if first.end > second.start {
            let found = format!("the bytes from {} on also in `{}`", second.start, entries[pair[0]].name);
            let at = Place::member(path, entries[pair[1]].name);
            return Err(at.malformed("data", "bytes that no other tensor has", found));
        }
    }
    Ok(places)
}

fn read_metadata(at: &mut Cursor<'_>, count: usize) -> Result<Metadata, IoError> {
    let mut entries = Vec::new();
    let mut keys = HashSet::new();
    for _ in 0..count {
        let key = at.name("metadata key")?;
        if !keys.insert(key) {
            return Err(at.place.malformed(
                "metadata",
                "each key once",
                format!("`{}` twice", key.escape_debug()),
            ));
        }
        let place = Place::member(at.place.path, key);
        let file = std::mem::replace(&mut at.place, place);
        let kind = at.u32("kind")?;
        entries.push((key.to_owned(), at.value(kind)?));
        at.place = file;
    }
    Ok(Metadata::of_entries(entries))
}

/// A tensor's entry in the list.
struct Entry<'a> {
    name: &'a str,
    shape: Vec<usize>,
    kind: Kind,
    bytes: usize,
    offset: u64,
}

impl<'a> Entry<'a> {
    fn read(at: &mut Cursor<'a>) -> Result<Entry<'a>, IoError> {
        let name = at.name("tensor name")?;
        let place = Place::member(at.place.path, name);
        let rank = at.u32("number of dimensions")? as usize;
        if rank > MOST_DIMENSIONS {
            let path = place.path.to_owned();
            return Err(IoError::TooManyDimensions {
                path,
                name: name.into(),
                found: rank,
                limit: MOST_DIMENSIONS,
            });
        }
        let mut shape = Vec::with_capacity(rank);
        for _ in 0..rank {
            shape.push(at.u64("dimensions")?);
        }
        let number = at.u32("type")?;
        let offset = at.u64("offset")?;
        let kind = Kind::of_number(number).ok_or_else(|| place.unreadable(Kind::unread(number)))?;
        shape.reverse();
        let too_large = || {
            let found = format!("{shape:?} of {kind}");
            place.malformed("shape", "one whose bytes an address can name", found)
        };
        let sizes: Option<Vec<usize>> = shape.iter().map(|&size| usize::try_from(size).ok()).collect();
        let shape = sizes.ok_or_else(too_large)?;
        let row = shape.last().copied().unwrap_or(1);
        if !row.is_multiple_of(kind.elements()) {
            let found = format!("rows of {row} in {kind}, whose blocks have {}", kind.elements());
            return Err(place.malformed("shape", "rows of whole blocks", found));
        }
        // Sizes of 0 do not hide a product that wraps, nor one that decoded numbers would.
        let whole = shape.iter().try_fold(WIDEST, |product, &size| product.checked_mul(size.max(1)));
        let fits = whole.and_then(|whole| isize::try_from(whole).ok());
        let count = fits.map(|_| shape.iter().product());
        let bytes = count.and_then(|count| kind.bytes_for(count)).ok_or_else(too_large)?;
        Ok(Entry { name, shape, kind, bytes, offset })
    }
}

/// The bytes that are still to be read.
struct Cursor<'a> {
    bytes: &'a [u8],
    read: usize,
    place: Place<'a>,
}

macro_rules! read_values {
    ($($variant:ident $type:ident $number:literal),*) => {
        impl Cursor<'_> {
            fn value(&mut self, kind: u32) -> Result<Value, IoError> {
                match kind {
                    $($number => Ok(Value::$variant($type::from_le_bytes(self.fixed("value")?))),)*
                    BOOL => Ok(Value::Bool(truth(self.take(1, "value")?[0], self.place)?)),
                    TEXT => Ok(Value::Text(self.text("text")?.to_vec())),
                    ARRAY => Ok(Value::Array(self.array(1)?)),
                    other => Err(self.unknown(other)),
                }
            }

            fn array(&mut self, depth: usize) -> Result<Array, IoError> {
                let kind = self.u32("kind of an array")?;
                match kind {
                    $($number => {
                        let count = self.count("length of an array", size_of::<$type>())?;
                        let bytes = self.take(count * size_of::<$type>(), "array")?;
                        let values = bytes.as_chunks().0.iter().map(|&bytes| $type::from_le_bytes(bytes));
                        Ok(Array::$variant(values.collect()))
                    })*
                    BOOL => {
                        let count = self.count("length of an array", 1)?;
                        let (bytes, place) = (self.take(count, "array")?, self.place);
                        let truths: Result<Vec<bool>, IoError> =
                            bytes.iter().map(|&byte| truth(byte, place)).collect();
                        Ok(Array::Bool(truths?))
                    }
                    TEXT => {
                        let count = self.count("length of an array", 8)?;
                        let mut texts = Texts::new();
                        for _ in 0..count {
                            texts.push(self.text("text")?);
                        }
                        Ok(Array::Text(texts))
                    }
                    ARRAY => {
                        let count = self.count("length of an array", 12)?;
                        if depth == DEEPEST {
                            let found = format!("more than {DEEPEST}");
                            return Err(self.place.malformed("depth of arrays in arrays", "at most 16", found));
                        }
                        let mut arrays = Vec::new();
                        for _ in 0..count {
                            arrays.push(self.array(depth + 1)?);
                        }
                        Ok(Array::Array(arrays))
                    }
                    other => Err(self.unknown(other)),
                }
            }
        }
    };
}
numbers!(read_values);

fn truth(byte: u8, place: Place<'_>) -> Result<bool, IoError> {
    match byte {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(place.malformed("value", "0 or 1 for a truth value", other.to_string())),
    }
}

impl<'a> Cursor<'a> {
    fn take(&mut self, len: usize, what: &str) -> Result<&'a [u8], IoError> {
        let rest = &self.bytes[self.read..];
        let taken =
            rest.get(..len).ok_or_else(|| self.place.wrong_length(what, len as u64, rest.len() as u64))?;
        self.read += len;
        Ok(taken)
    }

    fn fixed<const N: usize>(&mut self, what: &str) -> Result<[u8; N], IoError> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N, what)?);
        Ok(bytes)
    }

    fn u32(&mut self, what: &str) -> Result<u32, IoError> {
        Ok(u32::from_le_bytes(self.fixed(what)?))
    }

    fn u64(&mut self, what: &str) -> Result<u64, IoError> {
        Ok(u64::from_le_bytes(self.fixed(what)?))
    }

    /// A number of things of at least so many bytes each, for which there are enough.
    fn count(&mut self, what: &str, least: usize) -> Result<usize, IoError> {
        let count = self.u64(what)?;
        self.holds(count, least, what)?;
        usize::try_from(count).map_err(|_| self.place.oversized(what, count, self.bytes.len() as u64))
    }

    fn holds(&self, count: u64, least: usize, what: &str) -> Result<(), IoError> {
        let rest = (self.bytes.len() - self.read) as u64;
        match count.checked_mul(least as u64) {
            Some(bytes) if bytes <= rest => Ok(()),
            bytes => Err(self.place.oversized(what, bytes.unwrap_or(u64::MAX), rest)),
        }
    }

    fn text(&mut self, what: &str) -> Result<&'a [u8], IoError> {
        let len = self.count("length of a text", 1)?;
        self.take(len, what)
    }

    /// A text that is UTF-8.
    fn name(&mut self, what: &'static str) -> Result<&'a str, IoError> {
        let text = self.text(what)?;
        std::str::from_utf8(text).map_err(|e| self.place.malformed(what, "UTF-8", e.to_string()))
    }

    fn unknown(&self, kind: u32) -> IoError {
        self.place.malformed("metadata", "a kind of value from 0 to 12", kind.to_string())
    }
}
