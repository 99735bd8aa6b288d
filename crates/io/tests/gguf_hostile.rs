//! GGUF files that lie, built byte by byte: what is refused, and with which words; what
//! looks odd and is read.

use oneir_io::gguf::{self, Contents};
use oneir_io::{IoError, save_tensors};
use oneir_tensor::Buffer;

/// A file: its head as it is written, then data.
#[derive(Default)]
struct File {
    version: u32,
    tensors: u64,
    entries: u64,
    head: Vec<u8>,
    data: Vec<u8>,
}

fn text(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    [&(bytes.len() as u64).to_le_bytes()[..], bytes].concat()
}

impl File {
    fn new() -> File {
        File { version: 3, ..File::default() }
    }

    fn entry(mut self, key: impl AsRef<[u8]>, kind: u32, value: impl AsRef<[u8]>) -> File {
        self.entries += 1;
        self.head.extend(text(key));
        self.head.extend(kind.to_le_bytes());
        self.head.extend(value.as_ref());
        self
    }

    /// A tensor, its sizes as files have them: the one of neighbours first.
    fn tensor(mut self, name: impl AsRef<[u8]>, sizes: &[u64], kind: u32, offset: u64) -> File {
        self.tensors += 1;
        self.head.extend(text(name));
        self.head.extend((sizes.len() as u32).to_le_bytes());
        sizes.iter().for_each(|size| self.head.extend(size.to_le_bytes()));
        self.head.extend(kind.to_le_bytes());
        self.head.extend(offset.to_le_bytes());
        self
    }

    fn data(mut self, len: usize) -> File {
        self.data = (0..len).map(|i| i as u8).collect();
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(self.tensors.to_le_bytes());
        bytes.extend(self.entries.to_le_bytes());
        bytes.extend(&self.head);
        bytes.resize(bytes.len().next_multiple_of(32), 0);
        bytes.extend(&self.data);
        bytes
    }

    fn read(&self) -> Result<Contents, IoError> {
        gguf::from_buffer(&Buffer::copy_of(&self.bytes()))
    }

    #[track_caller]
    fn refused(&self, said: &str) {
        let error = self.read().expect_err(said).to_string();
        assert!(error.contains(said), "expected `{said}`, found `{error}`");
    }
}

fn array(kind: u32, count: u64, values: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &count.to_le_bytes(), values].concat()
}

const F32: u32 = 0;
const Q4_K: u32 = 12;

#[test]
fn other_files() {
    let refused = |bytes: &[u8], said: &str| {
        let error = gguf::from_buffer(&Buffer::copy_of(bytes)).unwrap_err().to_string();
        assert!(error.contains(said), "expected `{said}`, found `{error}`");
    };
    refused(b"", "magic: expected 4 bytes, found 0");
    refused(b"GGML\x03\0\0\0", "expected `GGUF`, found `GGML`");
    refused(b"FUGG\0\0\0\x03", "expected little endian, found big endian");
    for version in [3u32, 2] {
        File { version: version.swap_bytes(), ..File::new() }
            .refused("expected little endian, found big endian");
    }
    for version in [0, 1, 4, u32::MAX] {
        File { version, ..File::new() }.refused(&format!("version: expected 2 or 3, found {version}"));
    }
    assert!(File { version: 2, ..File::new() }.tensor("x", &[2], F32, 0).data(8).read().is_ok());
}

#[test]
fn counts_past_the_file() {
    for count in [1, 1000, 1 << 40, u64::MAX] {
        File { tensors: count, ..File::new() }.refused("number of tensors: expected at most");
        File { entries: count, ..File::new() }.refused("number of metadata: expected at most");
    }
    for count in [1, 1 << 20, 1 << 61, u64::MAX] {
        for kind in 0..13 {
            let file = File::new().entry("a", 9, array(kind, count.max(100), &[]));
            file.refused("length of an array of `a`: expected at most");
        }
        let long = count.saturating_add(1 << 10).to_le_bytes();
        File::new().entry("a", 8, long).refused("length of a text of `a`: expected at most");
    }
    File { entries: 1, head: [&u64::MAX.to_le_bytes()[..], &[0; 64]].concat(), ..File::new() }
        .refused("length of a text: expected at most");
    // Two texts of which the second is not there.
    File::new().entry("a", 9, array(8, 2, &text("x"))).refused("length of an array of `a`");
    File::new()
        .entry("a", 9, array(8, 2, &[&text("x")[..], &9999u64.to_le_bytes()].concat()))
        .refused("length of a text");
}

#[test]
fn shapes_that_wrap() {
    let large = 1u64 << 32;
    for sizes in [
        &[large, large][..],
        &[1 << 62, 4],
        &[u64::MAX],
        &[u64::MAX, u64::MAX, 2, 2],
        &[1 << 61, 8, 0],
        &[0, large, large],
    ] {
        File::new().tensor("x", sizes, F32, 0).data(64).refused("an address can name");
    }
    File::new().tensor("x", &[1 << 59], F32, 0).data(64).refused("data up to the end of `x`");
    File::new().tensor("x", &[256, 1 << 50], Q4_K, 0).data(64).refused("data up to the end of `x`");
    File::new()
        .tensor("x", &[2, 1, 1, 1, 1], F32, 0)
        .data(8)
        .refused("expected at most 4 dimensions, found 5");
    let million = vec![1; 1_000_000];
    File::new().tensor("x", &million, F32, 0).data(8).refused("expected at most 4 dimensions, found 1000000");
    File {
        tensors: 1,
        head: [text("x"), u32::MAX.to_le_bytes().to_vec(), vec![0; 32]].concat(),
        ..File::new()
    }
    .refused("expected at most 4 dimensions, found 4294967295");
    File::new()
        .tensor("x", &[128, 2], Q4_K, 0)
        .data(144)
        .refused("rows of 128 in Q4_K, whose blocks have 256");
    File::new().tensor("x", &[], Q4_K, 0).data(144).refused("rows of 1 in Q4_K");
}

#[test]
fn types_are_named() {
    let of = |kind| File::new().tensor("x", &[256], kind, 0).data(1024);
    of(15).refused("found type 15 (Q8_K), which is not read");
    of(4).refused("found type 4 (Q4_2), which is not read");
    of(31).refused("found type 31 (Q4_0_4_4), which is not read");
    for kind in [5000, u32::MAX] {
        of(kind).refused(&format!(
            "element type of `x`: expected a tensor's element type, found type {kind}, which is not known"
        ));
    }
    for kind in [13, 255, u32::MAX] {
        File::new().entry("k", kind, [0; 64]).refused(&format!("a kind of value from 0 to 12, found {kind}"));
        File::new().entry("k", 9, array(kind, 1, &[0; 64])).refused(&format!("found {kind}"));
    }
    File::new().entry("k", 7, [2]).refused("value of `k`: expected 0 or 1 for a truth value, found 2");
    File::new().entry("k", 9, array(7, 3, &[0, 1, 9])).refused("found 9");
}

#[test]
fn places() {
    let two = |first: u64, second: u64| {
        File::new().tensor("x", &[8], F32, first).tensor("y", &[16], F32, second).data(160)
    };
    // In order, out of order, and with gaps.
    for (x, y) in [(0, 32), (64, 0), (0, 96), (128, 64)] {
        let read = two(x, y).read().unwrap();
        assert_eq!(read.tensors[0].bytes.bytes()[0], x as u8);
        assert_eq!(read.tensors[1].bytes.bytes()[0], y as u8);
    }
    two(0, 40)
        .refused("offset of `y`: expected a multiple of the alignment, found 40, where the alignment is 32");
    two(1, 64).refused("offset of `x`");
    for (x, y) in [(0, 0), (32, 0), (32, 32), (64, 32)] {
        two(x, y).refused("bytes that no other tensor has");
    }
    for past in [128, 160, 1 << 40, u64::MAX - 31] {
        two(0, past).refused("data up to the end of `y`");
    }
    // Tensors without bytes may be anywhere inside.
    let empty = |at| File::new().tensor("x", &[8], F32, 0).tensor("y", &[0, 3], F32, at).data(32);
    assert!(empty(0).read().is_ok() && empty(32).read().is_ok());
    empty(64).refused("data up to the end");
    // The last tensor needs nothing behind it, and there may be more.
    assert!(File::new().tensor("x", &[3], F32, 0).data(12).read().is_ok());
    assert!(File::new().tensor("x", &[3], F32, 0).data(5000).read().is_ok());
    File::new().tensor("x", &[3], F32, 0).data(11).refused("expected 12 bytes, found 11");
}

#[test]
fn alignments() {
    let with = |kind: u32, value: &[u8]| {
        File::new().entry("general.alignment", kind, value).tensor("x", &[2], F32, 0).data(256)
    };
    assert!(with(4, &8u32.to_le_bytes()).read().is_ok());
    assert!(with(4, &1u32.to_le_bytes()).read().is_ok());
    for bad in [0u32, 3, 24, u32::MAX] {
        with(4, &bad.to_le_bytes()).refused("expected a power of two as u32 for `general.alignment`");
    }
    with(10, &32u64.to_le_bytes()).refused("found the u64 32");
    with(8, &text("32")).refused("found the text `32`");
    // One so large that the data would begin behind the file's end.
    with(4, &(1u32 << 31).to_le_bytes()).refused("data up to the end of `x`");
    let no_data = File::new().entry("general.alignment", 4, (1u32 << 31).to_le_bytes());
    assert!(no_data.read().unwrap().tensors.is_empty());
}

#[test]
fn names() {
    File::new().entry("a", 0, [1]).entry("a", 0, [2]).refused("expected each key once, found `a` twice");
    File::new().tensor("a", &[1], F32, 0).tensor("a", &[1], F32, 32).data(64).refused("found `a` twice");
    File::new().entry([0xFF], 0, [1]).refused("metadata key: expected UTF-8");
    File::new().tensor([0xC3], &[1], F32, 0).data(4).refused("tensor name: expected UTF-8");
    // NUL and nothing are UTF-8 too.
    let odd = File::new().entry("a\0b", 8, text("c\0d")).tensor("", &[1], F32, 0).data(4).read().unwrap();
    assert_eq!(odd.metadata.text("a\0b").unwrap(), "c\0d");
    assert_eq!(odd.tensors[0].name, "");
}

/// `depth` arrays in one another, the innermost empty.
fn nested(depth: usize) -> Vec<u8> {
    let mut value = array(0, 0, &[]);
    for _ in 1..depth {
        value = array(9, 1, &value);
    }
    value
}

#[test]
fn arrays_in_arrays() {
    let read = File::new().entry("a", 9, nested(16)).read().unwrap();
    let again = gguf::to_bytes(&[], &read.metadata).unwrap();
    assert_eq!(gguf::from_buffer(&Buffer::copy_of(&again)).unwrap().metadata, read.metadata);
    File::new().entry("a", 9, nested(17)).refused("depth of arrays in arrays");
    let mut deep = Vec::new();
    for _ in 0..1_000_000 {
        deep.extend(array(9, 1, &[]));
    }
    File::new().entry("a", 9, deep).refused("depth of arrays in arrays");
    // Many empty ones are as many as there are bytes for.
    let many = array(9, 100_000, &array(0, 0, &[]).repeat(100_000));
    assert_eq!(File::new().entry("a", 9, many).read().unwrap().metadata.array("a").unwrap().len(), 100_000);
}

#[test]
fn names_of_files_and_bytes_must_agree() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile-named.npz");
    std::fs::write(&path, File::new().bytes()).unwrap();
    let error = oneir_io::open_tensors(&path).unwrap_err().to_string();
    assert!(error.ends_with("expected npz as the name says, found gguf"), "{error}");
    assert!(save_tensors(path.with_extension("gguf"), &[]).is_ok());
}
