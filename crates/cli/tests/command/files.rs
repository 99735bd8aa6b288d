//! Pictures, sounds, bytes and texts as inputs of a model that gives back what
//! it is given.

use oneir::HostTensor;

use crate::model::{FLOAT, INT16, INT32, INT64, STRING, UINT8, identity};
use crate::{Folder, oneir, printed, refused};

/// 12 by 10 pixels: red is 20 x, green 25 y, blue 128.
const PICTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../io/tests/data/palette.png");

/// The same, with 10 x + 5 y as opacity.
const OPACITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../io/tests/data/opacity.png");

/// About the same, as JPEG.
const PHOTO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../io/tests/data/colours.jpg");

fn colours(x: usize, y: usize) -> [f64; 3] {
    [20.0 * x as f64, 25.0 * y as f64, 128.0]
}

/// What a model makes of an input.
#[track_caller]
fn given(folder: &Folder, model: &str, input: &str) -> HostTensor {
    let saved = folder.file("y.npy");
    printed(&["run", model, "--input", input, "--save", &saved]);
    oneir::io::npy::read(&saved).unwrap()
}

/// That a tensor has a shape, and values from their places.
#[track_caller]
fn compare(found: &HostTensor, shape: &[usize], slack: f64, expected: impl Fn(&[usize]) -> f64) {
    assert_eq!(&found.shape()[..], shape);
    for (at, value) in found.values().unwrap().to_floats().into_iter().enumerate() {
        let mut index = vec![0; shape.len()];
        let mut rest = at;
        for axis in (0..shape.len()).rev() {
            index[axis] = rest % shape[axis];
            rest /= shape[axis];
        }
        let expected = expected(&index);
        assert!((value - expected).abs() <= slack, "{value} at {index:?}, expected {expected}");
    }
}

#[test]
fn pictures_take_the_declared_layout_and_type() {
    let folder = Folder::new("layouts");
    let front = identity(&folder, FLOAT, &[0, 3, 0, 0]);
    let ramp = |i: &[usize]| colours(i[3], i[2])[i[1]] / 255.0;
    compare(&given(&folder, &front, PICTURE), &[1, 3, 10, 12], 1e-6, ramp);
    compare(&given(&folder, &front, &format!("x=picture:{PHOTO}")), &[1, 3, 10, 12], 6.0 / 255.0, ramp);
    let behind = identity(&folder, UINT8, &[0, 0, 0, 3]);
    compare(&given(&folder, &behind, PICTURE), &[1, 10, 12, 3], 0.0, |i| colours(i[2], i[1])[i[3]]);
    let opacity = identity(&folder, INT32, &[0, 0, 4]);
    compare(&given(&folder, &opacity, OPACITY), &[10, 12, 4], 0.0, |i| match i[2] {
        3 => (10 * i[1] + 5 * i[0]) as f64,
        channel => colours(i[1], i[0])[channel],
    });
    let gray = identity(&folder, UINT8, &[10, 12]);
    compare(&given(&folder, &gray, PICTURE), &[10, 12], 0.0, |i| {
        let [r, g, b] = colours(i[1], i[0]);
        (0.299 * r + 0.587 * g + 0.114 * b).round()
    });
    let open = identity(&folder, FLOAT, &[0, 0, 0, 0]);
    let named = format!("picture,layout=nwhc,channels=bgr,scale=1:{PICTURE}");
    compare(&given(&folder, &open, &named), &[1, 12, 10, 3], 1e-6, |i| colours(i[1], i[2])[2 - i[3]]);
}

#[test]
fn pictures_are_scaled_and_resized() {
    let folder = Folder::new("sizes");
    let model = identity(&folder, FLOAT, &[0, 3, 0, 0]);
    let normal = format!("picture,mean=0.5,0.25,0,std=2,1,1/2:{PICTURE}");
    let (mean, std) = ([0.5, 0.25, 0.0], [2.0, 1.0, 0.5]);
    compare(&given(&folder, &model, &normal), &[1, 3, 10, 12], 1e-6, |i| {
        (colours(i[3], i[2])[i[1]] / 255.0 - mean[i[1]]) / std[i[1]]
    });

    // Half the size: weights 1, 3, 3, 1 of the pixels around, of which one is
    // missing at each end.
    let half = given(&folder, &model, &format!("picture,scale=1,size=5x6:{PICTURE}"));
    let mixed = |at: usize, count: usize, step: f64| match at {
        0 => step * (3.0 + 2.0) / 7.0,
        _ if at == count - 1 => step * (2.0 * count as f64 - 1.0 - 5.0 / 7.0),
        _ => step * (2.0 * at as f64 + 0.5),
    };
    compare(&half, &[1, 3, 5, 6], 1e-3, |i| [mixed(i[3], 6, 20.0), mixed(i[2], 5, 25.0), 128.0][i[1]]);

    // The other side follows, and a declared side is kept.
    let shape = |model: &str, options: &str| {
        given(&folder, model, &format!("picture,{options}:{PICTURE}")).shape().to_vec()
    };
    assert_eq!(shape(&model, "height=20"), [1, 3, 20, 24]);
    assert_eq!(shape(&model, "width=6"), [1, 3, 5, 6]);
    assert_eq!(shape(&identity(&folder, FLOAT, &[1, 3, 8, 9]), "fit=stretch"), [1, 3, 8, 9]);
    assert_eq!(shape(&identity(&folder, FLOAT, &[1, 3, 5, 0]), "fit=stretch"), [1, 3, 5, 6]);

    let square = given(&folder, &model, &format!("picture,scale=1,size=10,fit=crop:{PICTURE}"));
    compare(&square, &[1, 3, 10, 10], 1e-6, |i| colours(i[3] + 1, i[2])[i[1]]);
    let framed = given(&folder, &model, &format!("picture,scale=1,size=12,fit=pad,fill=9:{PICTURE}"));
    compare(&framed, &[1, 3, 12, 12], 1e-6, |i| match i[2] {
        0 | 11 => 9.0,
        y => colours(i[3], y - 1)[i[1]],
    });
}

#[test]
fn pictures_that_cannot_be_taken_are_refused() {
    let folder = Folder::new("no-pictures");
    let open = identity(&folder, FLOAT, &[0, 0, 0, 0]);
    let model = identity(&folder, FLOAT, &[0, 3, 0, 0]);
    let says = |model: &str, input: &str, parts: &[&str]| {
        let message = refused(&["run", model, "--input", input], 1);
        parts.iter().for_each(|part| assert!(message.contains(part), "{input}: {part} is not in: {message}"));
    };
    says(&open, PICTURE, &["does not say where a picture's channels", "layout=nchw"]);
    let with = |options: &str| format!("picture,{options}:{PICTURE}");
    says(&model, &with("layout=hwc"), &["`layout`: expected a letter for each dimension"]);
    says(&model, &with("zoom=2"), &["an option of `picture`", "found `zoom`", "size, height"]);
    says(&model, &with("size=2,size=2"), &["comes once"]);
    says(&model, &with("size=0"), &["`size`: expected a side such as 224", "found 0"]);
    says(&model, &with("size=9,width=9"), &["no `height` and no `width`"]);
    says(&model, &with("std=0"), &["`std`: expected numbers other than 0"]);
    says(&model, &with("mean=1,2"), &["one for each channel, found 2 for rgb"]);
    says(&model, &with("channels=gray"), &["must be FLOAT[n, 3, n, n]", "f32[1, 1, 10, 12]"]);
    says(&model, &with("size=99999"), &["more elements than"]);
    says(&model, &with("size=9999999999x9999999999"), &["more elements than"]);
    says(&model, "picture:no/such.png", &["no/such.png", "No such file"]);
    says(&model, "picture,size=3", &["expected a file after `picture`"]);
    says(&model, &folder.0.display().to_string(), &["not a regular file"]);
    says(
        &identity(&folder, FLOAT, &[1, 3, 8, 9]),
        &with("size=8"),
        &["FLOAT[1, 3, 8, 9]", "f32[1, 3, 8, 8]"],
    );
    says(&identity(&folder, UINT8, &[0, 0, 0, 3]), &with("scale=3"), &["must be u8", "that it cannot hold"]);
    for file in [PICTURE, PHOTO] {
        let bytes = std::fs::read(file).unwrap();
        let half = folder.file(if file == PICTURE { "half.png" } else { "half.jpg" });
        std::fs::write(&half, &bytes[..bytes.len() / 2]).unwrap();
        says(&model, &half, &["half.", "expected a whole"]);
    }
    let text = folder.file("text.png");
    std::fs::write(&text, "no picture").unwrap();
    says(&model, &text, &["text.png: first bytes: expected those of a PNG or JPEG"]);
}

/// A WAV file of 16 bits.
fn wav(folder: &Folder, name: &str, channels: u16, rate: u32, samples: &[i16]) -> String {
    let mut file = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0".to_vec();
    file.extend(channels.to_le_bytes());
    file.extend(rate.to_le_bytes());
    file.extend((rate * u32::from(channels) * 2).to_le_bytes());
    file.extend((channels * 2).to_le_bytes());
    file.extend(b"\x10\0data");
    file.extend((samples.len() as u32 * 2).to_le_bytes());
    file.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
    let path = folder.file(name);
    std::fs::write(&path, file).unwrap();
    path
}

#[test]
fn sounds_fill_the_long_dimension() {
    let folder = Folder::new("sounds");
    let counted: Vec<i16> = (0..100).map(|n| n * 256).collect();
    let file = wav(&folder, "count.wav", 1, 100, &counted);
    let count = |n: usize| n as f64 / 128.0;
    let open = identity(&folder, FLOAT, &[0, 0]);
    compare(&given(&folder, &open, &file), &[1, 100], 0.0, |i| count(i[1]));
    let part = format!("sound,start=0.1,length=20:{file}");
    compare(&given(&folder, &open, &part), &[1, 20], 0.0, |i| count(i[1] + 10));
    let early = format!("sound,start=-1/50,length=4:{file}");
    compare(&given(&folder, &open, &early), &[1, 4], 0.0, |i| count(i[1].saturating_sub(2)));
    let fixed = identity(&folder, FLOAT, &[0, 16, 1]);
    let frames = identity(&folder, FLOAT, &[0, 16]);
    compare(&given(&folder, &fixed, &file), &[1, 16, 1], 0.0, |i| count(i[1]));
    let hop = format!("sound,hop=10:{file}");
    compare(&given(&folder, &frames, &hop), &[10, 16], 0.0, |i| {
        let at = i[0] * 10 + i[1];
        if at < 100 { count(at) } else { 0.0 }
    });
    let stereo = wav(&folder, "stereo.wav", 2, 100, &[256, 768, -512, 0]);
    compare(&given(&folder, &open, &stereo), &[1, 2], 0.0, |i| [count(2), -count(1)][i[1]]);
    let whole = identity(&folder, INT16, &[0]);
    compare(&given(&folder, &whole, &file), &[100], 0.0, |i| (i[0] * 256) as f64);
    // A level stays a level at every rate.
    let level = wav(&folder, "level.wav", 1, 100, &[8192; 100]);
    let doubled = given(&folder, &open, &format!("sound,rate=200:{level}"));
    assert_eq!(&doubled.shape()[..], [1, 200]);
    assert!(doubled.to_vec::<f32>().unwrap()[60..140].iter().all(|x| (x - 0.25).abs() < 1e-4));
}

#[test]
fn what_becomes_of_a_sound_is_told() {
    let folder = Folder::new("told");
    let file = wav(&folder, "a.wav", 1, 100, &[1; 20]);
    let errors = |model: &str, flags: &[&str]| {
        let input = ["run", model, "--input", &file];
        String::from_utf8(oneir(&[&input[..], flags].concat()).stderr).unwrap()
    };
    let short = identity(&folder, FLOAT, &[8]);
    let told = errors(&short, &[]);
    assert!(
        told.starts_with("note: ") && told.contains("20 samples at 100 Hz, of which 8 are used"),
        "{told}"
    );
    assert_eq!(errors(&short, &["--quiet"]), "");
    let long = identity(&folder, FLOAT, &[30]);
    assert!(errors(&long, &[]).contains("ends 10 samples before the input does"));
    let open = identity(&folder, FLOAT, &[0]);
    assert_eq!(errors(&open, &[]), "");
    assert!(errors(&open, &["--verbose"]).contains("100 Hz, 1 channel"));
}

#[test]
fn sounds_that_cannot_be_taken_are_refused() {
    let folder = Folder::new("no-sounds");
    let file = wav(&folder, "a.wav", 1, 100, &[1; 20]);
    let says = |dims: &[usize], input: &str, part: &str| {
        let message = refused(&["run", &identity(&folder, FLOAT, dims), "--input", input], 1);
        assert!(message.contains(part), "{input}: {part} is not in: {message}");
    };
    says(&[3, 5], &file, "does not say where the samples of a sound go");
    says(&[0], &format!("sound,rate=0:{file}"), "`rate`: expected samples in a second");
    says(&[0], &format!("sound,start=1e99:{file}"), "`start`: expected seconds that a sound can have");
    says(&[0, 3, 0, 0], &file, "does not say where the samples of a sound go");
    says(&[0], &format!("sound,length=99999999999:{file}"), "more elements than");
    says(&[0], &format!("sound,hop=4:{file}"), "where frames of a sound go");
    says(&[0], "sound:no/such.wav", "No such file");
    let message = refused(&["run", &identity(&folder, INT64, &[0]), "--input", &file], 1);
    assert!(message.contains("declared as INT64[n]"), "{message}");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 3]).unwrap();
    says(&[0], &file, "samples: expected 40 bytes, found 37");
}

#[test]
fn bytes_become_numbers() {
    let folder = Folder::new("bytes");
    let file = folder.file("a:b=c,d");
    std::fs::write(&file, b"hello").unwrap();
    let read = |elem: u8, dims: &[usize], input: &str| {
        let found = given(&folder, &identity(&folder, elem, dims), input);
        (found.shape().to_vec(), found.values().unwrap().to_ints().unwrap())
    };
    let hello = vec![104, 101, 108, 108, 111];
    assert_eq!(read(INT32, &[0, 0], &format!("bytes:{file}")), (vec![1, 5], hello.clone()));
    assert_eq!(read(UINT8, &[5], "x=text:hello"), (vec![5], hello));
    let ends = format!("bytes,first=2,last=2,pad=256:{file}");
    assert_eq!(read(INT32, &[1, 4], &ends), (vec![1, 4], vec![104, 101, 108, 111]));
    // Where there is too little, the first follow the text and the last stand before it.
    assert_eq!(read(INT32, &[6], "text,first=3,last=3,pad=256:ab").1, [97, 98, 256, 256, 97, 98]);
    assert_eq!(read(INT64, &[4], "text,pad=-1:ab").1, [97, 98, -1, -1]);

    let says = |elem: u8, dims: &[usize], input: &str, part: &str| {
        let message = refused(&["run", &identity(&folder, elem, dims), "--input", input], 1);
        assert!(message.contains(part), "{input}: {part} is not in: {message}");
    };
    says(INT32, &[4], "text:hello", "must be INT32[4], and 5 values are given");
    says(INT32, &[9], "text:hello", "pad=VALUE fills up");
    says(INT32, &[0], "text,first=9:hello", "9 bytes are asked for, and there are 5");
    says(INT32, &[0], "text,first=99999999999:hello", "more elements than");
    says(UINT8, &[0], "text,first=9,pad=300:hello", "must be u8");
    says(INT32, &[0], "bytes:no/such", "No such file");
    says(INT32, &[0], &format!("bytes:{}", folder.0.display()), "not a regular file");
    says(INT32, &[0], &format!("lines:{file}"), "where the lines of a text go");

    let memory = folder.file("memory");
    std::fs::write(&memory, [1, 0, 2, 0, 3, 0, 4, 0]).unwrap();
    assert_eq!(read(INT16, &[0, 2], &format!("raw:{memory}")), (vec![2, 2], vec![1, 2, 3, 4]));
    assert_eq!(read(INT16, &[0, 0], &format!("raw,shape=4x1:{memory}")).0, [4, 1]);
    says(INT16, &[0, 0], &format!("raw:{memory}"), "does not say what shape");
    says(INT16, &[3], &format!("raw:{memory}"), "needs 6 bytes, found 8");
}

#[test]
fn texts_become_strings() {
    let folder = Folder::new("strings");
    let model = identity(&folder, STRING, &[0]);
    let shown = |input: &str| printed(&["run", &model, "--input", input]);
    assert_eq!(shown("text:a = b, c: d"), "y: string[1]\n[\"a = b, c: d\"]\n");
    assert_eq!(shown(r#"x=["a", "b"]"#), "y: string[2]\n[\"a\" \"b\"]\n");
    let file = folder.file("lines.txt");
    std::fs::write(&file, "one\r\ntwo\n\nfour\n").unwrap();
    assert_eq!(shown(&format!("lines:{file}")), "y: string[4]\n[ \"one\"  \"two\"     \"\" \"four\"]\n");
    assert_eq!(shown(&format!("bytes:{file}")), "y: string[1]\n[\"one\\r\\ntwo\\n\\nfour\\n\"]\n");
    let message = refused(&["run", &model, "--input", "[1]"], 1);
    assert!(message.contains("no list of strings: `1`"), "{message}");
    let message = refused(&["run", &model, "--input", "x=hello"], 1);
    assert!(message.contains("text:hello"), "{message}");
    assert_eq!(shown("x=text:"), "y: string[1]\n[\"\"]\n");
    let message = refused(&["run", &model, "--input", "x="], 1);
    assert!(message.contains("given no value") && message.contains("x=text: is a string"), "{message}");
    let message = refused(&["run", &model, "--input", "text,pad=1:a"], 1);
    assert!(message.contains("an input of numbers"), "{message}");
}

#[test]
fn one_tensor_of_several_is_named() {
    let folder = Folder::new("named");
    let model = identity(&folder, INT64, &[0]);
    let tensor = |n: i64| HostTensor::from_slice(&[1], &[n]).unwrap();
    let file = folder.tensors("two.npz", &[("a", tensor(1)), ("b", tensor(2))]);
    let input = format!("tensor,name=b:{file}");
    assert_eq!(printed(&["run", &model, "--input", &input]), "y: i64[1]\n[2]\n");
    let message = refused(&["run", &model, "--input", &format!("tensor,name=c:{file}")], 1);
    assert!(message.contains("(`a`, `b`)"), "{message}");
}

/// An npy file's bytes.
fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

/// A zip archive of one stored member.
fn archive(name: &str, data: &[u8]) -> Vec<u8> {
    let mut crc = !0u32;
    for &byte in data {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    let number = |n: usize| (n as u32).to_le_bytes();
    let length = (name.len() as u16).to_le_bytes();
    // Version, flags, method, time and date; then what is the same in both.
    let sizes =
        [&(!crc).to_le_bytes()[..], &number(data.len()), &number(data.len()), &length, &[0, 0]].concat();
    let local = [b"PK\x03\x04\x14\0", &[0; 8][..], &sizes, name.as_bytes(), data].concat();
    let central = [b"PK\x01\x02\x14\0\x14\0", &[0; 8][..], &sizes, &[0; 14], name.as_bytes()].concat();
    let end = [b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &number(central.len())[..], &number(local.len()), &[0, 0]]
        .concat();
    [local, central, end].concat()
}

#[test]
fn strings_of_numpy_files_are_inputs() {
    let folder = Folder::new("numpy-strings");
    let model = identity(&folder, STRING, &[0]);
    let texts: Vec<u8> = "añb\0".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    let file = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.file(name), bytes).unwrap();
        folder.file(name)
    };
    let wide = file("wide.npy", &npy("<U2", "(2,)", &texts));
    assert_eq!(printed(&["run", &model, "--input", &wide]), "y: string[2]\n[\"añ\"  \"b\"]\n");
    let bytes = file("bytes.npy", &npy("|S3", "(2,)", b"onetwo"));
    assert_eq!(
        printed(&["run", &model, "--input", &format!("x={bytes}")]),
        "y: string[2]\n[\"one\" \"two\"]\n"
    );
    let packed = file("all.npz", &archive("x.npy", &npy("|S3", "(1,)", b"yes")));
    for flag in ["--input", "--inputs"] {
        assert_eq!(printed(&["run", &model, flag, &packed]), "y: string[1]\n[\"yes\"]\n");
    }
    let scalar = identity(&folder, STRING, &[]);
    let one = file("one.npy", &npy("|S3", "(1,)", b"one"));
    assert_eq!(printed(&["run", &scalar, "--input", &one]), "y: string[]\n\"one\"\n");

    let says = |model: &str, input: &str, part: &str| {
        let message = refused(&["run", model, "--input", input], 1);
        assert!(message.contains(part), "{part} is not in: {message}");
    };
    says(&scalar, &wide, "must be STRING[], and ");
    says(&scalar, &wide, "wide.npy is string[2]");
    says(&identity(&folder, INT64, &[0]), &bytes, "must be INT64[n], and ");
    says(&identity(&folder, INT64, &[0]), &bytes, "bytes.npy is string[2]");
    let number = folder.tensors("number.npy", &[("x", HostTensor::scalar(1i64))]);
    says(&model, &number, "must be STRING[n], and ");
    says(&model, &file("object.npy", &npy("|O", "(1,)", b"")), "Python objects");
}

#[test]
fn pictures_and_sounds_are_known_by_their_names() {
    let folder = Folder::new("endings");
    let model = identity(&folder, UINT8, &[0, 0, 3]);
    let pixels: [u8; 12] = [255, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    let ppm = [b"P6 4 1 255\n", &pixels[..]].concat();
    // Blue comes first in a BMP.
    let number = |n: u32| n.to_le_bytes();
    let head = [number(66), number(0), number(54), number(40), number(4), number(1), [1, 0, 24, 0]].concat();
    let rows: Vec<u8> = pixels.chunks(3).flat_map(|p| [p[2], p[1], p[0]]).collect();
    let bmp = [b"BM", &head[..], &[0; 24], &rows].concat();
    for (name, bytes) in [("a.ppm", &ppm), ("a.PNM", &ppm), ("a.bmp", &bmp), ("a.BMP", &bmp)] {
        std::fs::write(folder.file(name), bytes).unwrap();
        let found = given(&folder, &model, &format!("x={}", folder.file(name)));
        assert_eq!(found.to_vec::<u8>().unwrap(), pixels, "{name}");
    }
    let sound = identity(&folder, INT16, &[0]);
    let file = wav(&folder, "a.wave", 1, 100, &[1, 2]);
    assert_eq!(given(&folder, &sound, &file).to_vec::<i16>().unwrap(), [1, 2]);
    for end in ["png", "jpg", "jpeg", "bmp", "tif", "tiff", "webp", "jp2", "pnm", "pbm", "pgm", "ppm", "wav"]
    {
        let model = if end == "wav" { &sound } else { &model };
        let message = refused(&["run", model, "--input", &format!("no/such.{end}")], 1);
        assert!(message.contains("No such file"), "{message}");
        let text = folder.file(&format!("text.{end}"));
        std::fs::write(&text, "this is a text").unwrap();
        let message = refused(&["run", model, "--input", &text], 1);
        assert!(!message.contains("npy"), "{message}");
    }
}
