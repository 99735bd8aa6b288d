//! Block formats against what the PyPI package `gguf` makes of the same bytes and
//! numbers: decoders and encoders give the same bits.
//!
//! `scripts/block_oracle.py` tells the layout of the files. A few blocks of each format
//! lie in `tests/data/blocks`; many more are in the folder `blocks` of `ONEIR_ORACLES`,
//! which `scripts/oracles.py` fills.

use std::path::{Path, PathBuf};

use oneir_tensor::{BlockFormat, DType, HostTensor, Values};

/// Formats that the package does not know; each has a test in its file.
const UNRECORDED: &[BlockFormat] = &[];

fn recorded() -> impl Iterator<Item = BlockFormat> {
    BlockFormat::ALL.iter().copied().filter(|format| !UNRECORDED.contains(format))
}

/// What a file has of one format.
struct Record {
    blocks: Vec<u8>,
    decoded: Vec<f32>,
    numbers: Vec<f32>,
    encoded: Vec<u8>,
}

impl Record {
    fn read(path: &Path, elements: usize, bytes: usize) -> Record {
        let file = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut rest = &file[..];
        let mut take = |len: usize| {
            let (part, after) = rest.split_at(len);
            rest = after;
            part.to_vec()
        };
        let mut count = || u32::from_le_bytes(take(4).try_into().unwrap()) as usize;
        let (decodes, encodes) = (count(), count());
        let floats = |bytes: Vec<u8>| bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        let record = Record {
            blocks: take(decodes * bytes),
            decoded: floats(take(decodes * elements * 4)),
            numbers: floats(take(encodes * elements * 4)),
            encoded: take(encodes * bytes),
        };
        assert!(rest.is_empty() && decodes > 0, "{}", path.display());
        record
    }
}

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/blocks")
}

/// The same bits, or both not a number.
fn same(x: f32, y: f32) -> bool {
    x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan())
}

fn compare(folder: &Path) {
    let mut encoders = 0;
    for format in recorded() {
        let (elements, bytes) = (format.elements(), format.bytes());
        let record = Record::read(&folder.join(format!("{format}.bin")), elements, bytes);
        let mut decoded = vec![0.0; record.decoded.len()];
        format.decode(&record.blocks, &mut decoded).unwrap();
        for (i, (&ours, &theirs)) in decoded.iter().zip(&record.decoded).enumerate() {
            let block = &record.blocks[i / elements * bytes..][..bytes];
            let place = format!("{format}: element {} of {block:02x?}", i % elements);
            assert!(same(ours, theirs), "{place}: expected {theirs:e}, found {ours:e}");
        }
        assert_eq!(format.encodes(), !record.numbers.is_empty(), "{format}");
        if !format.encodes() {
            continue;
        }
        let mut encoded = vec![0; record.encoded.len()];
        format.encode(&record.numbers, &mut encoded).unwrap();
        for (i, (ours, theirs)) in encoded.chunks(bytes).zip(record.encoded.chunks(bytes)).enumerate() {
            let numbers = &record.numbers[i * elements..][..elements];
            assert_eq!(ours, theirs, "{format}: block {i} of {numbers:?}");
        }
        encoders += 1;
    }
    assert!(encoders >= 8);
    bf16(folder);
}

/// bfloat16 is an element type here.
fn bf16(folder: &Path) {
    let record = Record::read(&folder.join("BF16.bin"), 1, 2);
    let cast = |bytes: &[u8], from: DType, to: DType| {
        let count = bytes.len() / from.size().unwrap();
        HostTensor::from_bytes(from, &[count], bytes).unwrap().cast(to).unwrap()
    };
    let decoded = cast(&record.blocks, DType::BF16, DType::F32).to_vec::<f32>().unwrap();
    assert!(decoded.iter().zip(&record.decoded).all(|(&ours, &theirs)| same(ours, theirs)));
    let numbers: Vec<u8> = record.numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(cast(&numbers, DType::F32, DType::BF16).bytes(), record.encoded);
}

#[test]
fn committed_blocks() {
    compare(&committed());
}

#[test]
fn many_blocks() {
    match std::env::var_os("ONEIR_ORACLES") {
        Some(oracles) => compare(&Path::new(&oracles).join("blocks")),
        None => eprintln!("skipped: ONEIR_ORACLES does not name the folder of the recorded blocks"),
    }
}

/// Every format is a tensor of f32, and decodes whole.
#[test]
fn tensors() {
    for format in recorded() {
        let record =
            Record::read(&committed().join(format!("{format}.bin")), format.elements(), format.bytes());
        let rows = record.blocks.len() / format.bytes();
        let tensor = format.to_host(&[rows, format.elements()], &record.blocks).unwrap();
        let Ok(Values::Float(values)) = tensor.values() else { panic!("{format}: no floats") };
        assert!(values.iter().zip(&record.decoded).all(|(&x, &y)| same(x as f32, y)), "{format}");
    }
}
