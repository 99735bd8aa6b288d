//! What a file is that is given as a model and is none.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use oneir::onnx::OnnxError;

use crate::error::CliError;

/// Bytes from which a kind is told: a tar archive says it at byte 257.
const ENOUGH: u64 = 512;

/// A kind of file, and what to do with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileKind {
    pub(crate) what: &'static str,
    pub(crate) advice: &'static str,
}

/// Why a model is refused, in the words of what its file is, where that is known.
pub(crate) fn refusal(path: Option<&Path>, name: &str, source: OnnxError) -> CliError {
    let no_model =
        matches!(source, OnnxError::Malformed { .. } | OnnxError::Undecodable { .. } | OnnxError::NoGraph);
    match path.filter(|_| no_model).and_then(kind_of) {
        Some(FileKind { what, advice }) => CliError::NotAModel { model: name.into(), what, advice },
        None => CliError::Model { model: name.into(), source: Box::new(source) },
    }
}

fn kind_of(path: &Path) -> Option<FileKind> {
    let mut start = Vec::new();
    File::open(path).ok()?.take(ENOUGH).read_to_end(&mut start).ok()?;
    of(&start)
}

const TENSORS: &str =
    "tensors can be given to a model: oneir run MODEL.onnx --input NAME=FILE, or --inputs FILE";
const PICTURE: &str = "a picture can be given to a model: oneir run MODEL.onnx --input NAME=FILE";
const SOUND: &str = "a sound can be given to a model: oneir run MODEL.onnx --input NAME=FILE";
const WEIGHTS: &str = "it holds weights without the graph that uses them: export the model to ONNX with the program \
     that it belongs to; as inputs, tensors go to --inputs FILE";
const TORCH: &str = "load it in PyTorch and export it: torch.onnx.export(model, inputs, \"model.onnx\")";
const UNPACK: &str = "unpack it and give the .onnx file that is in it, if there is one";
const PROGRAM: &str = "give the .onnx file that the program comes with or loads";
const CONVERT: &str = "convert it: python -m tf2onnx.convert --help lists what it reads";
const ORIGINAL: &str = "give the .onnx file that it was made from";
const AGAIN: &str = "download the file again, from the address of the file itself";

/// Bytes with which files begin, from the longest to the shortest of those that
/// begin alike.
const STARTS: &[(&[u8], &str, &str)] = &[
    (
        b"GGUF",
        "a GGUF file: weights of a language model, without a graph",
        "export the model that it was made from to ONNX: optimum-cli export onnx --model NAME FOLDER",
    ),
    (b"\x93NUMPY", "a NumPy array (npy)", TENSORS),
    (b"\x89PNG\r\n\x1a\n", "a PNG picture", PICTURE),
    (b"\xff\xd8\xff", "a JPEG picture", PICTURE),
    (b"GIF87a", "a GIF picture", "save it as PNG; a picture can be given to a model with --input NAME=FILE"),
    (b"GIF89a", "a GIF picture", "save it as PNG; a picture can be given to a model with --input NAME=FILE"),
    (b"II*\0", "a TIFF picture", PICTURE),
    (b"MM\0*", "a TIFF picture", PICTURE),
    (b"\0\0\0\x0cjP  \r\n\x87\n", "a JPEG 2000 picture", PICTURE),
    (b"\x1f\x8b", "a gzip file", "unpack it first: gunzip FILE, or tar -xzf FILE where it is an archive"),
    (b"BZh", "a bzip2 file", "unpack it first: bunzip2 FILE, or tar -xjf FILE where it is an archive"),
    (b"\xfd7zXZ\0", "an xz file", "unpack it first: unxz FILE, or tar -xJf FILE where it is an archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file", "unpack it first: zstd -d FILE"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (b"Rar!\x1a\x07", "a RAR archive", UNPACK),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras saves models", CONVERT),
    (b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19", "a PyTorch checkpoint (of before 1.6)", TORCH),
    (b"\x80\x02", "a Python pickle, as PyTorch and scikit-learn save models", TORCH),
    (b"\x80\x03", "a Python pickle, as PyTorch and scikit-learn save models", TORCH),
    (b"\x80\x04", "a Python pickle, as PyTorch and scikit-learn save models", TORCH),
    (b"\x80\x05", "a Python pickle, as PyTorch and scikit-learn save models", TORCH),
    (b"ftrt", "an engine of TensorRT", ORIGINAL),
    (b"%PDF-", "a PDF document", "give the .onnx file that it tells of"),
    (b"\x7fELF", "a program or library (ELF)", PROGRAM),
    (b"\xcf\xfa\xed\xfe", "a program or library (Mach-O)", PROGRAM),
    (b"\xca\xfe\xba\xbe", "a program or library (Mach-O) or a Java class", PROGRAM),
    (b"!<arch>\n", "a library of object files (ar)", PROGRAM),
    (
        b"version https://git-lfs.github.com/spec/",
        "a pointer of Git LFS, which stands for a file that was not fetched",
        "fetch the file: git lfs pull, in its repository",
    ),
];

/// The kind of a file that begins so; `None` where the bytes are of no kind that
/// is known here, or may be those of a model.
pub(crate) fn of(start: &[u8]) -> Option<FileKind> {
    let kind = |what, advice| Some(FileKind { what, advice });
    let at = |at: usize, bytes: &[u8]| start.get(at..).is_some_and(|rest| rest.starts_with(bytes));
    if let Some((_, what, advice)) = STARTS.iter().find(|(bytes, ..)| start.starts_with(bytes)) {
        return kind(what, advice);
    }
    if at(0, b"PK\x03\x04") || at(0, b"PK\x05\x06") {
        return Some(archive(start));
    }
    if at(0, b"RIFF") && at(8, b"WAVE") {
        return kind("a WAV sound", SOUND);
    }
    if at(0, b"RIFF") && at(8, b"WEBP") {
        return kind("a WebP picture", PICTURE);
    }
    if at(4, b"TFL3") {
        return kind(
            "a TensorFlow Lite model",
            "convert it: python -m tf2onnx.convert --tflite FILE --output model.onnx",
        );
    }
    if at(4, b"ORTM") {
        return kind("a model in ONNX Runtime's own format (ORT)", ORIGINAL);
    }
    if at(257, b"ustar") {
        return kind("a tar archive", UNPACK);
    }
    // A length in 8 bytes, then JSON; a model's field 15 does not begin so.
    if at(8, b"{\"") && start.get(4..8) == Some(&[0; 4]) {
        return kind("a safetensors file", WEIGHTS);
    }
    // What is left may begin as a model does, so more of it must be right.
    if at(0, b"BM") && at(6, &[0; 4]) {
        return kind("a BMP picture", PICTURE);
    }
    if at(0, b"MZ") && start.len() >= 64 {
        return kind("a program or library of Windows", PROGRAM);
    }
    text(start)
}

/// The kind of a zip archive, by the name of its first member.
fn archive(start: &[u8]) -> FileKind {
    let length = start.get(26..28).map_or(0, |bytes| usize::from(u16::from_le_bytes([bytes[0], bytes[1]])));
    let name = start.get(30..).map(|rest| &rest[..length.min(rest.len())]).unwrap_or_default();
    let (what, advice) = if name.ends_with(b".npy") {
        ("an archive of NumPy arrays (npz)", TENSORS)
    } else if name.ends_with(b"/data.pkl") || name.ends_with(b"/.format_version") {
        ("a PyTorch checkpoint", TORCH)
    } else if name.ends_with(b"archive_format") {
        ("a program exported by PyTorch (pt2)", TORCH)
    } else {
        ("a zip archive", UNPACK)
    };
    FileKind { what, advice }
}

/// The kind of a text.
fn text(start: &[u8]) -> Option<FileKind> {
    let whole = match std::str::from_utf8(start) {
        Ok(text) => text,
        // The last letter may be cut.
        Err(e) if e.error_len().is_none() => std::str::from_utf8(&start[..e.valid_up_to()]).ok()?,
        Err(_) => return None,
    };
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\x0c');
    let text = whole.strip_prefix('\u{feff}').unwrap_or(whole);
    if text.is_empty() || text.contains(control) {
        return None;
    }
    let begins =
        |word: &str| text.trim_start().get(..word.len()).is_some_and(|t| t.eq_ignore_ascii_case(word));
    let (what, advice) = if begins("<!doctype html") || begins("<html") {
        ("a web page", AGAIN)
    } else if begins("<?xml") && text.contains("<net") {
        ("a model of OpenVINO (its XML)", ORIGINAL)
    } else if begins("<?xml") {
        ("an XML document", "give the .onnx file that it belongs to")
    } else if begins("{") || begins("[") {
        ("a JSON text", "give the .onnx file that it belongs to, if there is one")
    } else {
        ("a text", "the model must be an ONNX file, as exporters write it")
    };
    Some(FileKind { what, advice })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_their_first_bytes() {
        let member = |name: &str| {
            let mut zip = b"PK\x03\x04".to_vec();
            zip.resize(26, 0);
            zip.extend((name.len() as u16).to_le_bytes());
            zip.extend([0, 0]);
            [&zip, name.as_bytes()].concat()
        };
        let tar = [&[b'a'; 100][..], &[0; 157], b"ustar\0"].concat();
        for (bytes, what) in [
            (&b"GGUF\x03\0\0\0"[..], "GGUF"),
            (b"\x40\0\0\0\0\0\0\0{\"a\":", "safetensors"),
            (&member("x.npy"), "npz"),
            (&member("model/data.pkl"), "a PyTorch checkpoint"),
            (&member("word/document.xml"), "a zip archive"),
            (b"PK\x05\x06", "a zip archive"),
            (b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", "before 1.6"),
            (b"\x80\x04\x95", "pickle"),
            (b"\x1c\0\0\0TFL3", "TensorFlow Lite"),
            (b"\x1c\0\0\0ORTM", "ORT"),
            (b"RIFF\0\0\0\0WAVEfmt ", "WAV"),
            (b"BM\x36\0\0\0\0\0\0\0\x36", "BMP"),
            (&tar, "tar"),
            (b"\n <!DOCTYPE HTML><html>", "web page"),
            (b"{\"a\": 1}", "JSON"),
            (b"<?xml version='1.0'?><net name='x'>", "OpenVINO"),
            (b"hello \xc3", "a text"),
        ] {
            let found = of(bytes).unwrap_or_else(|| panic!("{what} is not told"));
            assert!(found.what.contains(what), "{what}: {}", found.what);
        }
        let model = &include_bytes!("../../../models/mlp_digits.onnx")[..ENOUGH as usize];
        for bytes in [&b""[..], b"\x08\x07\x12\x02", model, &[0xff; 16], &[0; 600]] {
            assert_eq!(of(bytes), None, "{bytes:?}");
        }
    }
}
