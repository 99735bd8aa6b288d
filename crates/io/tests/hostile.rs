//! Files that are broken or lie: refused or read, never a panic.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use oneir_io::gguf::{self, Metadata, TensorInfo, Value};
use oneir_io::npy::{self, Endian, Options, Order, Version};
use oneir_io::npz::Compression;
use oneir_io::{IoError, Stored, StringTensor, npz, open_stored, picture, safetensors, save_tensors, sound};
use oneir_tensor::{BlockFormat, Buffer, DType, HostTensor};

type Read = fn(&[u8]) -> Result<Vec<(String, HostTensor)>, IoError>;

fn read_npy(bytes: &[u8]) -> Result<Vec<(String, HostTensor)>, IoError> {
    Ok(vec![(String::new(), npy::from_bytes(bytes)?)])
}

fn read_safetensors(bytes: &[u8]) -> Result<Vec<(String, HostTensor)>, IoError> {
    Ok(safetensors::from_buffer(&Buffer::copy_of(bytes))?.tensors)
}

fn read_gguf(bytes: &[u8]) -> Result<Vec<(String, HostTensor)>, IoError> {
    let tensors = gguf::from_buffer(&Buffer::copy_of(bytes))?.tensors.into_iter();
    Ok(tensors.map(|tensor| (tensor.name.clone(), tensor.to_host().unwrap())).collect())
}

/// Metadata of several kinds, a plain tensor and one in blocks, which ends the file.
fn gguf_sample() -> Vec<u8> {
    let floats = HostTensor::from_slice(&[2, 128], &[0.5f32; 256]).unwrap();
    let tensors = [
        TensorInfo::plain("w", &HostTensor::from_slice(&[2, 3], &[1i16, 2, 3, 4, 5, 6]).unwrap()),
        TensorInfo::encoded("q", &floats, BlockFormat::Q8_0).unwrap(),
    ];
    let metadata: Metadata = [
        ("text", Value::from("a\0b")),
        ("truth", true.into()),
        ("numbers", vec![1u16, 2].into()),
        ("general.alignment", 16u32.into()),
    ]
    .into_iter()
    .collect();
    gguf::to_bytes(&tensors, &metadata).unwrap()
}

/// Reads, and then every element of what was read.
fn read_all(read: Read, bytes: &[u8]) -> Result<usize, IoError> {
    let tensors = read(bytes)?;
    for (name, tensor) in &tensors {
        assert_eq!(tensor.values().unwrap().len(), tensor.count(), "{name}");
    }
    Ok(tensors.len())
}

/// A picture's pixels as a tensor.
fn read_picture(bytes: &[u8]) -> Result<Vec<(String, HostTensor)>, IoError> {
    let picture = picture::from_bytes(bytes)?;
    let shape = [picture.height, picture.width, picture.channels];
    Ok(vec![(String::new(), HostTensor::from_slice(&shape, &picture.pixels).unwrap())])
}

fn read_sound(bytes: &[u8]) -> Result<Vec<(String, HostTensor)>, IoError> {
    let sound = sound::from_bytes(bytes)?;
    let shape = [sound.samples.len() / sound.channels, sound.channels];
    Ok(vec![(String::new(), HostTensor::from_slice(&shape, &sound.samples).unwrap())])
}

/// Mono, 16 bits.
fn wav() -> Vec<u8> {
    let head =
        b"RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x04\0\0\0";
    [&head[..], &[0, 1, 2, 3]].concat()
}

fn tensors() -> Vec<(String, HostTensor)> {
    vec![
        ("w".to_owned(), HostTensor::from_slice(&[2, 3], &[1i16, 2, 3, 4, 5, 6]).unwrap()),
        ("b".to_owned(), HostTensor::from_slice(&[2], &[true, false]).unwrap()),
        ("e".to_owned(), HostTensor::zeros(DType::F64, &[0, 2]).unwrap()),
    ]
}

/// One small file of each kind.
fn samples(test: &str) -> Vec<(&'static str, Read, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("hostile-{test}"));
    fs::create_dir_all(&folder).unwrap();
    let tensors = tensors();
    let odd = Options { version: Version::V2, order: Order::Fortran, endian: Endian::Big };
    npz::write(folder.join("s.npz"), &tensors, Compression::Stored).unwrap();
    npz::write(folder.join("d.npz"), &tensors, Compression::Deflated).unwrap();
    save_tensors(folder.join("x.safetensors"), &tensors).unwrap();
    let file = |name: &str| fs::read(folder.join(name)).unwrap();
    let fixture = |name: &str| {
        let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        fs::read(fixtures.join(name)).unwrap()
    };
    vec![
        ("npy", read_npy, npy::to_bytes(&tensors[0].1, Options::default()).unwrap()),
        ("odd npy", read_npy, npy::to_bytes(&tensors[0].1, odd).unwrap()),
        ("bool npy", read_npy, npy::to_bytes(&tensors[1].1, Options::default()).unwrap()),
        ("stored npz", npz::from_bytes, file("s.npz")),
        ("deflated npz", npz::from_bytes, file("d.npz")),
        ("NumPy's stored npz", npz::from_bytes, fixture("stored.npz")),
        ("NumPy's deflated npz", npz::from_bytes, fixture("deflated.npz")),
        ("safetensors", read_safetensors, file("x.safetensors")),
        ("every safetensors", read_safetensors, fixture("every.safetensors")),
        ("gguf", read_gguf, gguf_sample()),
        ("png picture", read_picture, fixture("opacity.png")),
        ("palette picture", read_picture, fixture("palette.png")),
        ("jpeg picture", read_picture, fixture("colours.jpg")),
        ("progressive jpeg picture", read_picture, fixture("progressive.jpg")),
        ("wav sound", read_sound, wav()),
    ]
}

/// A small generator of numbers, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

fn without_panic(kind: &str, read: Read, bytes: &[u8]) -> Result<usize, IoError> {
    catch_unwind(AssertUnwindSafe(|| read_all(read, bytes)))
        .unwrap_or_else(|_| panic!("{kind} panicked on `{}`", bytes.escape_ascii()))
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    for (kind, read, bytes) in samples("cut") {
        assert!(read_all(read, &bytes).is_ok(), "{kind}");
        for len in 0..bytes.len() {
            assert!(without_panic(kind, read, &bytes[..len]).is_err(), "{kind} cut at {len}");
        }
    }
}

#[test]
fn a_file_with_more_behind_it_is_refused() {
    for (kind, read, mut bytes) in samples("long") {
        bytes.push(0);
        // Archives may end in a comment, though none that they do not declare;
        // other programs read what stands before. GGUF has no end.
        if kind != "gguf" && !kind.ends_with("npz") && !kind.ends_with("picture") && !kind.ends_with("sound")
        {
            assert!(without_panic(kind, read, &bytes).is_err(), "{kind}");
        }
    }
}

#[test]
fn any_one_byte_may_be_wrong() {
    for (kind, read, mut bytes) in samples("byte") {
        for at in 0..bytes.len() {
            let was = bytes[at];
            for wrong in [0, 1, 0x7F, 0x80, 0xFE, 0xFF, was ^ 1, was ^ 0x80, was.wrapping_add(1), b'9'] {
                bytes[at] = wrong;
                let _ = without_panic(kind, read, &bytes);
            }
            bytes[at] = was;
        }
    }
}

#[test]
fn random_bytes_may_be_wrong() {
    let mut random = Random(1);
    for (kind, read, bytes) in samples("random") {
        for _ in 0..3000 {
            let mut wrong = bytes.clone();
            for _ in 0..=random.below(6) {
                let at = random.below(wrong.len());
                match random.below(3) {
                    0 => wrong[at] ^= 1 << random.below(8),
                    1 => wrong[at] = random.next() as u8,
                    // A whole length or offset at its limit.
                    _ => {
                        let end = (at + 1 + random.below(8)).min(wrong.len());
                        wrong[at..end].fill(0xFF);
                    }
                }
            }
            let _ = without_panic(kind, read, &wrong);
        }
    }
}

fn npy_file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

#[test]
fn npy_claims_are_checked_before_memory_is_taken() {
    let shaped = |shape: &str| {
        npy_file(&format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"), &[0; 8])
    };
    assert!(npy::from_bytes(&shaped("()")).is_ok());
    match npy::from_bytes(&shaped("(1048576, 1048576, 1024)")) {
        Err(IoError::WrongLength { expected, found: 8, .. }) => assert_eq!(expected, 1 << 53),
        other => panic!("{other:?}"),
    }
    for shape in ["(1152921504606846976,)", "(4611686018427387904, 4)", "(0, 4611686018427387904, 4)"] {
        assert!(matches!(npy::from_bytes(&shaped(shape)), Err(IoError::Tensor { .. })), "{shape}");
    }
    let rank = |n: usize| shaped(&format!("({})", "1, ".repeat(n)));
    assert!(npy::from_bytes(&rank(64)).is_ok());
    assert!(matches!(npy::from_bytes(&rank(65)), Err(IoError::Malformed { .. })));
    let mut long = b"\x93NUMPY\x02\x00".to_vec();
    long.extend(u32::MAX.to_le_bytes());
    assert!(matches!(npy::from_bytes(&long), Err(IoError::WrongLength { found: 0, .. })));
    long.resize(2 << 21, b' ');
    long[8..12].copy_from_slice(&(2u32 << 20).to_le_bytes());
    assert!(matches!(npy::from_bytes(&long), Err(IoError::Oversized { .. })));
}

#[test]
fn bools_other_than_0_and_1_are_refused() {
    let file = npy_file("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", &[0, 1, 2]);
    let refused = npy::from_bytes(&file).unwrap_err().to_string();
    assert_eq!(refused, "<memory>: data: byte 2 at element 2 is not a bool");
    let file = safetensors_file(r#"{"x":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}}"#, &[0, 255, 2]);
    let refused = read_safetensors(&file).unwrap_err().to_string();
    assert_eq!(refused, "<memory>: data of `x`: byte 255 at element 1 is not a bool");
}

fn safetensors_file(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

#[test]
fn safetensors_claims_are_checked() {
    let tensor = |name: &str, shape: &str, from: u64, to: u64| {
        format!(r#""{name}":{{"dtype":"U8","shape":[{shape}],"data_offsets":[{from},{to}]}}"#)
    };
    let file = |entries: &[String]| safetensors_file(&format!("{{{}}}", entries.join(",")), &[0; 8]);
    assert_eq!(read_all(read_safetensors, &file(&[tensor("x", "8", 0, 8)])).unwrap(), 1);

    let eighth = 1u64 << 61;
    let mut wrapping: Vec<String> =
        (0..7).map(|i| tensor(&format!("t{i}"), &eighth.to_string(), i * eighth, (i + 1) * eighth)).collect();
    wrapping.push(tensor("t7", &(eighth - 1).to_string(), 7 * eighth, u64::MAX));
    for (what, entries) in [
        ("too long", vec![tensor("x", "9", 0, 9)]),
        ("too short", vec![tensor("x", "7", 0, 7)]),
        ("a gap", vec![tensor("x", "4", 0, 4), tensor("y", "3", 5, 8)]),
        ("an overlap", vec![tensor("x", "8", 0, 8), tensor("y", "8", 0, 8)]),
        ("backwards", vec![tensor("x", "8", 8, 0)]),
        ("another shape", vec![tensor("x", "2,3", 0, 8)]),
        ("past 2^64", vec![tensor("x", "4611686018427387904,8", 0, 8)]),
        ("an end at 2^64", wrapping),
        ("no tensor", vec![]),
    ] {
        assert!(without_panic(what, read_safetensors, &file(&entries)).is_err(), "{what}");
    }

    let wide = r#"{"x":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}}"#;
    assert!(matches!(
        read_safetensors(&safetensors_file(wide, &[0; 3])),
        Err(IoError::UnreadableDType { found, .. }) if found == "`F6_E2M3`"
    ));
    assert!(matches!(
        read_safetensors(&(1u64 << 60).to_le_bytes()),
        Err(IoError::Oversized { claimed, .. }) if claimed == 1 << 60
    ));
    let deep = safetensors_file(&"[".repeat(100_000), &[]);
    assert!(matches!(read_safetensors(&deep), Err(IoError::Malformed { .. })));
}

/// A zip archive's member as its headers describe it, true or not.
#[derive(Clone)]
struct Member<'a> {
    name: &'a str,
    method: u16,
    checksum: u32,
    packed: u32,
    size: u32,
    data: &'a [u8],
}

impl<'a> Member<'a> {
    fn stored(name: &'a str, data: &'a [u8]) -> Self {
        let size = data.len() as u32;
        Member { name, method: 0, checksum: crc32(data), packed: size, size, data }
    }

    fn fields(&self) -> Vec<u8> {
        let mut fields = [20u16, 0, self.method, 0, 0x21].map(u16::to_le_bytes).concat();
        fields.extend([self.checksum, self.packed, self.size].map(u32::to_le_bytes).concat());
        fields.extend([self.name.len() as u16, 0].map(u16::to_le_bytes).concat());
        fields
    }

    fn local(&self) -> Vec<u8> {
        [b"PK\x03\x04", &self.fields()[..], self.name.as_bytes(), self.data].concat()
    }

    fn central(&self, at: u32) -> Vec<u8> {
        let places = [&[0; 10][..], &at.to_le_bytes()].concat();
        [b"PK\x01\x02\x14\x00", &self.fields()[..], &places, self.name.as_bytes()].concat()
    }
}

fn end(count: u16, size: u32, at: u32) -> Vec<u8> {
    let counts = [0, 0, count, count].map(u16::to_le_bytes).concat();
    [b"PK\x05\x06", &counts[..], &size.to_le_bytes(), &at.to_le_bytes(), &[0; 2]].concat()
}

/// An archive whose directory describes `listed`, each with where it starts.
fn archive(locals: &[u8], listed: &[(Member<'_>, u32)]) -> Vec<u8> {
    let directory: Vec<u8> = listed.iter().flat_map(|(member, at)| member.central(*at)).collect();
    let end = end(listed.len() as u16, directory.len() as u32, locals.len() as u32);
    [locals, &directory, &end].concat()
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    })
}

#[test]
fn npz_members_that_lie_are_refused() {
    let file = npy_file("{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }", &[1, 2, 3, 4]);
    let size = file.len() as u32;
    let honest = Member::stored("x.npy", &file);
    let alone = |member: Member<'_>| npz::from_bytes(&archive(&member.local(), &[(member, 0)]));
    assert_eq!(alone(honest.clone()).unwrap()[0].1.to_vec::<u8>().unwrap(), [1, 2, 3, 4]);

    assert!(matches!(alone(Member { size: size + 1, ..honest.clone() }), Err(IoError::Oversized { .. })));
    assert!(matches!(alone(Member { size: size - 1, ..honest.clone() }), Err(IoError::WrongLength { .. })));
    assert!(matches!(alone(Member { packed: 1 << 30, ..honest.clone() }), Err(IoError::Oversized { .. })));
    assert!(matches!(alone(Member { checksum: 1, ..honest.clone() }), Err(IoError::Malformed { .. })));
    assert!(matches!(alone(Member { method: 12, ..honest.clone() }), Err(IoError::Malformed { .. })));
    assert!(matches!(alone(Member::stored("x.txt", &file)), Err(IoError::Malformed { .. })));
    assert!(matches!(alone(Member::stored("x.npy", b"text")), Err(IoError::WrongLength { .. })));

    let folder = Member::stored("folder/", &[]);
    let with_folder = archive(&[folder.local(), honest.local()].concat(), &[(folder, 0), (honest, 37)]);
    assert_eq!(npz::from_bytes(&with_folder).unwrap().len(), 1);
}

#[test]
fn npz_members_cannot_inflate_without_bound() {
    // A deflated stream in one stored block: honest but for what is claimed.
    let deflated = |data: &[u8]| {
        let len = data.len() as u16;
        [&[1][..], &len.to_le_bytes(), &(!len).to_le_bytes(), data].concat()
    };
    let claim = "{'descr': '|u1', 'fortran_order': False, 'shape': (100000000,), }";
    let file = npy_file(claim, &[0; 4]);
    let data = deflated(&file);
    let size = file.len() as u32 - 4 + 100_000_000;
    let bomb = Member {
        name: "x.npy",
        method: 8,
        checksum: crc32(&file),
        packed: data.len() as u32,
        size,
        data: &data,
    };
    match npz::from_bytes(&archive(&bomb.local(), &[(bomb.clone(), 0)])) {
        Err(IoError::Oversized { claimed, limit, .. }) => {
            assert_eq!((claimed, limit), (u64::from(size), 1032 * data.len() as u64));
        }
        other => panic!("{other:?}"),
    }
    // Within the bound, what arrives decides.
    let padded = [&data[..], &[0; 100_000]].concat();
    let bomb = Member { packed: padded.len() as u32, data: &padded, ..bomb };
    match npz::from_bytes(&archive(&bomb.local(), &[(bomb.clone(), 0)])) {
        Err(IoError::WrongLength { expected: 100_000_000, found: 4, .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn npz_members_cannot_share_bytes_or_names() {
    let file = npy_file("{'descr': '|u1', 'fortran_order': False, 'shape': (999,), }", &[7; 999]);
    let names: Vec<String> = (0..100).map(|i| format!("{i}.npy")).collect();
    let first = Member::stored("0.npy", &file);
    let listed: Vec<_> = names.iter().map(|name| (Member { name, ..first.clone() }, 0)).collect();
    let shared = archive(&first.local(), &listed);
    assert!(matches!(npz::from_bytes(&shared), Err(IoError::Oversized { .. })));
}

#[test]
fn false_zip_directories_are_not_all_followed() {
    let member = Member::stored("x.npy", &[]);
    let entries = member.central(0).repeat(5000);
    // Each end claims one entry more than there are.
    let ends = end(5001, entries.len() as u32, 0).repeat(5000);
    assert!(npz::from_bytes(&[entries, ends].concat()).is_err());
}

/// What is read of an npy file with strings, or why it is refused.
fn strings(test: &str, header: &str, data: &[u8]) -> Result<StringTensor, String> {
    let path = std::env::temp_dir().join(format!("oneir-io-{}-{test}.npy", std::process::id()));
    std::fs::write(&path, npy_file(header, data)).unwrap();
    let found = open_stored(&path);
    _ = std::fs::remove_file(&path);
    match found.map_err(|e| e.to_string())?.remove(0).1 {
        Stored::Strings(strings) => Ok(strings),
        Stored::Tensor(tensor) => panic!("{tensor:?}"),
    }
}

fn utf32(text: &str) -> Vec<u8> {
    text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect()
}

#[test]
fn strings_of_npy_files_are_read_and_lies_refused() {
    let header = |descr: &str, fortran: &str, shape: &str| {
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}")
    };
    let texts = |strings: StringTensor| -> Vec<String> {
        strings.values.into_iter().map(|v| String::from_utf8(v).unwrap()).collect()
    };
    let found = strings("texts", &header("<U2", "False", "(3,)"), &utf32("a\0éß\0\0")).unwrap();
    assert_eq!((found.shape.clone(), texts(found)), (vec![3], vec!["a".into(), "éß".into(), "".into()]));
    let found = strings("bytes", &header("|S2", "False", "()"), b"\xff\0").unwrap();
    assert_eq!((found.shape, found.values), (vec![], vec![vec![0xff]]));
    let found = strings("fortran", &header("|S1", "True", "(2, 3)"), b"adbecf").unwrap();
    assert_eq!((found.shape.clone(), texts(found).concat()), (vec![2, 3], "abcdef".into()));
    let big: Vec<u8> =
        utf32("ab").chunks(4).flat_map(|c| c.iter().rev().copied().collect::<Vec<_>>()).collect();
    assert_eq!(texts(strings("big", &header(">U2", "False", "(1,)"), &big).unwrap()), ["ab"]);
    assert!(strings("none", &header("<U3", "False", "(0,)"), b"").unwrap().values.is_empty());

    for (descr, shape, data, says) in [
        ("<U1", "(1,)", &b"\x00\xd8\0\0"[..], "found the number 0xd800 in string 0"),
        ("<U1", "(2,)", b"a\0\0\0", "data: expected 8 bytes, found 4"),
        ("|S0", "(65537,)", b"", "at most 65536 strings without letters"),
        ("|S1", "(99999999999,)", b"", "at most 16777216 strings"),
        ("|S99999999999999999999999", "(1,)", b"", "`|S99999999999999999999999` (byte strings)"),
        ("|S999999999999999999", "(99,)", b"", "expected 18446744073709551615 bytes"),
        ("|O", "(1,)", b"", "Python objects"),
    ] {
        let why = strings("wrong", &header(descr, "False", shape), data).unwrap_err();
        assert!(why.contains(says), "{descr}: {why}");
    }
}
