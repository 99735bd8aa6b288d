//! NumPy's npy files: one array each.
//!
//! Versions 1.0, 2.0 and 3.0, C and Fortran order, either byte order. The
//! element types are bool, the integers of 8 to 64 bits, f16, f32, f64 and
//! complex64 under NumPy's names, and bf16 as `<V2`, which is what NumPy
//! writes for ml_dtypes' bfloat16 (`bfloat16` is read too).

mod descr;
mod header;
mod strings;

use std::io::{self, Read, Write};
use std::path::Path;

use oneir_tensor::{Buffer, DType, HostTensor, Shape, TensorError};

use crate::error::Place;
use crate::fill::{Aligned, read_aligned, read_array, read_error, read_some};
use crate::{Format, IoError, Stored, open, replace};
use strings::Width;

pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// The longest header read. Those of plain arrays have some hundred bytes.
const MAX_HEADER: u64 = 1 << 20;

/// The most dimensions that NumPy gives an array.
const MAX_RANK: usize = 64;

/// A version of the npy format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Version {
    /// 1.0: headers below 64 KiB.
    #[default]
    V1,
    /// 2.0: headers up to 4 GiB.
    V2,
    /// 3.0: as 2.0, in UTF-8.
    V3,
}

/// The order in which the elements of a file follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// The last index runs fastest.
    #[default]
    C,
    /// The first index runs fastest.
    Fortran,
}

/// The order of the bytes of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Endian {
    /// Lowest byte first.
    #[default]
    Little,
    /// Highest byte first.
    Big,
}

/// How [`write_with`] lays a file out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Options {
    /// The format's version.
    pub version: Version,
    /// The order of the elements.
    pub order: Order,
    /// The order of each element's bytes.
    pub endian: Endian,
}

/// Reads a file.
///
/// A file in Fortran order becomes a transposed view of its bytes.
///
/// # Errors
/// When the file cannot be read, breaks the format, is shorter or longer than
/// its header says, or holds objects, structures, strings or another type
/// that no tensor has.
///
/// ```
/// use oneir_io::npy;
/// use oneir_tensor::HostTensor;
///
/// let path = std::env::temp_dir().join(format!("oneir-io-npy-{}.npy", std::process::id()));
/// let tensor = HostTensor::from_slice(&[2, 3], &[1i16, 2, 3, 4, 5, 6])?;
/// npy::write(&path, &tensor)?;
/// assert_eq!(npy::read(&path)?, tensor);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: impl AsRef<Path>) -> Result<HostTensor, IoError> {
    let path = path.as_ref();
    let (mut file, len) = open::open(path)?;
    read_stream(&mut file, len, len, Place::file(path))
}

/// As [`read`], of an array of strings too (NumPy's `S` and `U`).
///
/// # Errors
/// As [`read`], but for strings; when a string has a character that Unicode has
/// not.
///
/// ```
/// use oneir_io::{Stored, npy};
///
/// let path = std::env::temp_dir().join(format!("oneir-io-npy-strings-{}.npy", std::process::id()));
/// let header = b"{'descr': '|S2', 'fortran_order': False, 'shape': (2,)}        \n";
/// std::fs::write(&path, [b"\x93NUMPY\x01\x00\x40\x00", &header[..], b"a\0bc"].concat())?;
/// let Stored::Strings(strings) = npy::read_stored(&path)? else { panic!() };
/// assert_eq!((strings.shape, strings.values), (vec![2], vec![b"a".to_vec(), b"bc".to_vec()]));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_stored(path: impl AsRef<Path>) -> Result<Stored, IoError> {
    let path = path.as_ref();
    let (mut file, len) = open::open(path)?;
    read_stored_stream(&mut file, len, len, Place::file(path))
}

/// Reads the bytes of a file; errors name the path `<memory>`.
///
/// # Errors
/// As [`read`].
///
/// ```
/// use oneir_io::npy;
/// use oneir_tensor::HostTensor;
///
/// let tensor = HostTensor::scalar(2.5f64);
/// assert_eq!(npy::from_bytes(&npy::to_bytes(&tensor, npy::Options::default())?)?, tensor);
/// assert!(npy::from_bytes(b"\x93NUMPY\x01\x00").is_err());
/// # Ok::<(), oneir_io::IoError>(())
/// ```
pub fn from_bytes(bytes: &[u8]) -> Result<HostTensor, IoError> {
    let len = bytes.len() as u64;
    read_stream(&mut &bytes[..], len, len, Place::file(Path::new("<memory>")))
}

/// Writes a file of version 1.0 in C order, lowest byte first.
///
/// # Errors
/// When NumPy has no name for the element type (float8 and types below a
/// byte), or the file cannot be written. It is then as it was before.
pub fn write(path: impl AsRef<Path>, tensor: &HostTensor) -> Result<(), IoError> {
    write_with(path, tensor, Options::default())
}

/// Writes a file laid out as `options` say.
///
/// # Errors
/// As [`write()`], and when a header does not fit the version.
///
/// ```
/// use oneir_io::npy::{self, Endian, Options, Order, Version};
/// use oneir_tensor::HostTensor;
///
/// let path = std::env::temp_dir().join(format!("oneir-io-npy-with-{}.npy", std::process::id()));
/// let tensor = HostTensor::from_slice(&[2, 2], &[1u32, 2, 3, 4])?;
/// let options = Options { version: Version::V3, order: Order::Fortran, endian: Endian::Big };
/// npy::write_with(&path, &tensor, options)?;
/// assert_eq!(npy::read(&path)?, tensor);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_with(path: impl AsRef<Path>, tensor: &HostTensor, options: Options) -> Result<(), IoError> {
    let path = path.as_ref();
    let at = Place::file(path);
    let prelude = prelude(tensor, options, at, "the array")?;
    replace::replaced(path, |file| write_stream(file, &prelude, tensor, options).map_err(at.os("write")))
}

/// The bytes of a file; errors name the path `<memory>`.
///
/// # Errors
/// As [`write_with`], except for those of the file system.
pub fn to_bytes(tensor: &HostTensor, options: Options) -> Result<Vec<u8>, IoError> {
    let at = Place::file(Path::new("<memory>"));
    let mut bytes = prelude(tensor, options, at, "the array")?;
    let prelude = std::mem::take(&mut bytes);
    write_stream(&mut bytes, &prelude, tensor, options).map_err(at.os("write"))?;
    Ok(bytes)
}

/// Reads an array that takes all `len` bytes of `reader`.
///
/// `sure` is how many of them bytes of the file back (see [`read_aligned`]).
pub(crate) fn read_stream(
    reader: &mut impl Read,
    len: u64,
    sure: u64,
    at: Place<'_>,
) -> Result<HostTensor, IoError> {
    let (header, after) = read_header(reader, len, at)?;
    read_numbers(reader, header, after, sure, at)
}

/// As [`read_stream`], of an array of strings too.
pub(crate) fn read_stored_stream(
    reader: &mut impl Read,
    len: u64,
    sure: u64,
    at: Place<'_>,
) -> Result<Stored, IoError> {
    let (header, after) = read_header(reader, len, at)?;
    let Some(width) = Width::parse(&header.descr) else {
        return read_numbers(reader, header, after, sure, at).map(Stored::Tensor);
    };
    let (count, expected) = width.sizes(&header.shape, at)?;
    let bytes = read_data(reader, expected, after, sure, at)?;
    width.decode(header, count, &bytes, at).map(Stored::Strings)
}

fn read_numbers(
    reader: &mut impl Read,
    header: header::Header,
    after: u64,
    sure: u64,
    at: Place<'_>,
) -> Result<HostTensor, IoError> {
    let (dtype, endian) = descr::parse(&header.descr).map_err(|found| at.unreadable(found))?;
    let count = Shape::new(&header.shape).checked_count(dtype).map_err(at.tensor("shape"))?;
    let expected = dtype.bytes_for(count).unwrap_or(usize::MAX);
    let mut bytes = read_data(reader, expected, after, sure, at)?;
    if endian == Endian::Big {
        swap_bytes(dtype, &mut bytes);
    }
    make_tensor(dtype, &header, bytes).map_err(at.tensor("data"))
}

/// The `expected` bytes of the elements, of which there must be as many.
fn read_data(
    reader: &mut impl Read,
    expected: usize,
    after: u64,
    sure: u64,
    at: Place<'_>,
) -> Result<Aligned, IoError> {
    if expected as u64 != after {
        return Err(at.wrong_length("data", expected as u64, after));
    }
    let bytes = read_aligned(reader, expected, sure, at, "data")?;
    // The end must be seen: a decoder checks its checksum only there.
    if read_some(reader, &mut [0]).map_err(|e| read_error(e, at, "data"))? != 0 {
        return Err(at.wrong_length("data", after, after + 1));
    }
    Ok(bytes)
}

/// The header, and how many of `len` bytes come after it.
fn read_header(reader: &mut impl Read, len: u64, at: Place<'_>) -> Result<(header::Header, u64), IoError> {
    let [magic @ .., major, minor] = read_array::<8>(reader, at, "magic bytes")?;
    if magic != MAGIC {
        return Err(at.malformed("magic bytes", r"`\x93NUMPY`", format!("`{}`", magic.escape_ascii())));
    }
    let (prefix, header_len) = match (major, minor) {
        (1, 0) => (10, u64::from(u16::from_le_bytes(read_array(reader, at, "header length")?))),
        (2 | 3, 0) => (12, u64::from(u32::from_le_bytes(read_array(reader, at, "header length")?))),
        _ => return Err(at.malformed("version", "1.0, 2.0 or 3.0", format!("{major}.{minor}"))),
    };
    let left = len.saturating_sub(prefix);
    if header_len > left {
        return Err(at.wrong_length("header", header_len, left));
    }
    if header_len > MAX_HEADER {
        return Err(at.oversized("header", header_len, MAX_HEADER));
    }
    let text = read_aligned(reader, header_len as usize, 0, at, "header")?;
    let header = header::parse(&text).map_err(|fault| match fault {
        header::Fault::Syntax { expected, found } => at.malformed("header", expected, found),
        header::Fault::Structured => at.unreadable("structured records".to_owned()),
    })?;
    if header.shape.len() > MAX_RANK {
        return Err(at.malformed(
            "header",
            "a shape of at most 64 dimensions",
            format!("{}", header.shape.len()),
        ));
    }
    Ok((header, left - header_len))
}

fn make_tensor(dtype: DType, header: &header::Header, bytes: Aligned) -> Result<HostTensor, TensorError> {
    if dtype == DType::Bool
        && let Some(index) = bytes.iter().position(|&b| b > 1)
    {
        return Err(TensorError::NotABool { value: bytes[index], index });
    }
    let buffer = Buffer::foreign(std::sync::Arc::new(bytes));
    if header.fortran_order {
        let reversed: Vec<usize> = header.shape.iter().rev().copied().collect();
        HostTensor::from_buffer(dtype, &reversed, buffer)?.transpose(&reversed_axes(reversed.len()))
    } else {
        HostTensor::from_buffer(dtype, &header.shape, buffer)
    }
}

fn reversed_axes(rank: usize) -> Vec<usize> {
    (0..rank).rev().collect()
}

/// The bytes of one number: those of half an element when it is complex.
fn number_size(dtype: DType) -> usize {
    let size = dtype.size().unwrap_or(1);
    if dtype.is_complex() { size / 2 } else { size }
}

fn swap_bytes(dtype: DType, bytes: &mut [u8]) {
    for number in bytes.chunks_exact_mut(number_size(dtype)) {
        number.reverse();
    }
}

/// Everything before the elements; `name` is whose type an error reports.
pub(crate) fn prelude(
    tensor: &HostTensor,
    options: Options,
    at: Place<'_>,
    name: &str,
) -> Result<Vec<u8>, IoError> {
    let dtype = tensor.dtype();
    let Some(descr) = descr::name(dtype, options.endian) else {
        return Err(IoError::UnwritableDType {
            path: at.path.to_owned(),
            name: name.to_owned(),
            dtype,
            format: Format::Npy,
        });
    };
    let mut text = header::write(&descr, options.order == Order::Fortran, tensor.shape());
    let prefix = if options.version == Version::V1 { 10 } else { 12 };
    // The elements start at a multiple of 64, after a line end.
    let whole = (prefix + text.len() + 1).next_multiple_of(64);
    text.extend(std::iter::repeat_n(' ', whole - prefix - text.len() - 1));
    text.push('\n');

    let mut bytes = MAGIC.to_vec();
    let too_long = |limit| at.oversized("header", text.len() as u64, limit);
    match options.version {
        Version::V1 => {
            bytes.extend([1, 0]);
            let len = u16::try_from(text.len()).map_err(|_| too_long(u64::from(u16::MAX)))?;
            bytes.extend(len.to_le_bytes());
        }
        Version::V2 | Version::V3 => {
            bytes.extend([if options.version == Version::V2 { 2 } else { 3 }, 0]);
            let len = u32::try_from(text.len()).map_err(|_| too_long(u64::from(u32::MAX)))?;
            bytes.extend(len.to_le_bytes());
        }
    }
    bytes.extend(text.bytes());
    Ok(bytes)
}

/// Writes `prelude` and the elements behind it.
pub(crate) fn write_stream(
    writer: &mut impl Write,
    prelude: &[u8],
    tensor: &HostTensor,
    options: Options,
) -> io::Result<()> {
    writer.write_all(prelude)?;
    let in_order = match options.order {
        Order::C => tensor.clone(),
        Order::Fortran => tensor.transpose(&reversed_axes(tensor.rank())).map_err(io::Error::other)?,
    };
    let bytes = in_order.bytes();
    if options.endian == Endian::Little || number_size(tensor.dtype()) == 1 {
        return writer.write_all(&bytes);
    }
    for some in bytes.chunks(1 << 16) {
        let mut some = some.to_vec();
        swap_bytes(tensor.dtype(), &mut some);
        writer.write_all(&some)?;
    }
    Ok(())
}
