//! What the target `gguf` does with its bytes. The tests of `oneir-io` take this file in
//! too, and run the corpus through it.

use oneir_io::gguf::{self, Contents, Kind};
use oneir_tensor::Buffer;

/// More bytes of blocks than these are not decoded.
const MOST_BLOCKS: usize = 1 << 16;

/// Bytes to a file's contents, all of which are read, written and read again.
pub(crate) fn gguf(bytes: &[u8]) {
    let file = Buffer::copy_of(bytes);
    let contents = match gguf::from_buffer(&file) {
        Ok(contents) => contents,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    look(&contents);
    let written = gguf::to_bytes(&contents.tensors, &contents.metadata);
    let written = written.expect("what can be read can be written");
    // Gaps may go, and the last tensor may get an end that it did not have.
    let padding = bytes.len().max(32);
    assert!(written.len() <= bytes.len() + padding, "{} bytes became {}", bytes.len(), written.len());
    let again = gguf::from_buffer(&Buffer::copy_of(&written)).expect("what was written can be read");
    assert_eq!(again.tensors.len(), contents.tensors.len());
    for (old, new) in contents.tensors.iter().zip(&again.tensors) {
        assert_eq!((&old.name, &old.shape, old.kind), (&new.name, &new.shape, new.kind));
        assert!(old.bytes.bytes() == new.bytes.bytes());
    }
    let rewritten = gguf::to_bytes(&again.tensors, &again.metadata);
    assert!(rewritten.is_ok_and(|rewritten| rewritten == written));
}

fn look(contents: &Contents) {
    let metadata = &contents.metadata;
    for (key, value) in metadata.iter() {
        assert!(!value.to_string().is_empty());
        let _ = (metadata.u64(key), metadata.i64(key), metadata.f64(key), metadata.bool(key));
        let _ = (metadata.text(key), metadata.u64s(key), metadata.i64s(key), metadata.f64s(key));
        if let Ok(texts) = metadata.texts(key) {
            assert_eq!(texts.iter().count(), texts.len());
        }
        if let Ok(array) = metadata.array(key) {
            assert!(array.is_empty() || array.get(array.len() - 1).is_some());
        }
    }
    for tensor in &contents.tensors {
        let plain = matches!(tensor.kind, Kind::Plain(_));
        if plain || tensor.bytes.len() <= MOST_BLOCKS {
            let host = tensor.to_host().expect("a tensor of a file is a tensor");
            assert_eq!(Some(host.count()), tensor.count());
        }
    }
}
