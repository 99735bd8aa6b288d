//! WAV files of every coding, made here, and broken ones.

use oneir_io::sound;

/// A WAV file: its format chunk's numbers, and the bytes of its samples.
fn wav(tag: u16, channels: u16, rate: u32, bits: u16, data: &[u8]) -> Vec<u8> {
    let block = channels * bits.div_ceil(8);
    let mut file = b"RIFF\0\0\0\0WAVEjunk\x03\0\0\0abc\0fmt \x10\0\0\0".to_vec();
    for half in [tag, channels] {
        file.extend(half.to_le_bytes());
    }
    file.extend(rate.to_le_bytes());
    file.extend((rate * u32::from(block)).to_le_bytes());
    for half in [block, bits] {
        file.extend(half.to_le_bytes());
    }
    file.extend(b"data");
    file.extend((data.len() as u32).to_le_bytes());
    file.extend(data);
    file
}

#[test]
fn samples_of_every_coding_are_read() {
    let read = |tag, bits, data: &[u8]| sound::from_bytes(&wav(tag, 1, 8000, bits, data)).unwrap().samples;
    assert_eq!(read(1, 8, &[0, 128, 192]), [-1.0, 0.0, 0.5]);
    assert_eq!(read(1, 16, &[0, 0x80, 0, 0x40]), [-1.0, 0.5]);
    assert_eq!(read(1, 24, &[0, 0, 0x80, 0, 0, 0x20, 1, 0, 0]), [-1.0, 0.25, 1.0 / 8388608.0]);
    assert_eq!(read(1, 32, &[0, 0, 0, 0xC0]), [-0.5]);
    assert_eq!(read(3, 32, &1.5f32.to_le_bytes()), [1.5]);
    assert_eq!(read(3, 64, &(-0.25f64).to_le_bytes()), [-0.25]);
    let stereo = sound::from_bytes(&wav(1, 2, 44100, 8, &[0, 128, 128, 0])).unwrap();
    assert_eq!((stereo.rate, stereo.channels), (44100, 2));
    assert_eq!(stereo.samples, [-1.0, 0.0, 0.0, -1.0]);

    // An extensible format says its coding in the first bytes of a long name.
    let mut extensible = wav(0xfffe, 1, 8000, 16, &[0, 0x40]);
    let at = extensible.windows(4).position(|w| w == b"fmt ").unwrap();
    extensible[at + 4] = 40;
    let rest = [&[22, 0, 16, 0, 4, 0, 0, 0, 1, 0][..], &[0; 14]].concat();
    extensible.splice(at + 24..at + 24, rest);
    assert_eq!(sound::from_bytes(&extensible).unwrap().samples, [0.5]);

    // Written into a pipe: the length is not known.
    let mut piped = wav(1, 1, 8000, 8, &[128, 255]);
    let at = piped.len() - 6;
    piped[at..at + 4].fill(0xff);
    assert_eq!(sound::from_bytes(&piped).unwrap().samples.len(), 2);
}

#[test]
fn wav_claims_are_checked() {
    let message = |bytes: &[u8]| sound::from_bytes(bytes).unwrap_err().to_string();
    let whole = wav(1, 1, 8000, 16, &[0; 8]);
    assert!(message(&whole[..whole.len() - 1]).contains("samples: expected 8 bytes, found 7"));
    assert!(message(&wav(2, 1, 8000, 4, &[0; 8])).contains("found coding 2 with 4 bits"));
    assert!(message(&wav(1, 2, 8000, 16, &[0; 6])).contains("samples of all channels: expected 4 bytes"));
    assert!(message(&wav(1, 0, 8000, 16, &[])).contains("0 channels"));
    assert!(message(&wav(1, 1, 0, 16, &[])).contains("0 Hz"));
    assert!(message(b"RIFF\0\0\0\0WAVE").contains("chunks: expected one of samples"));
    assert!(message(b"RIFF\0\0\0\0WAVEdata\0\0\0\0").contains("the format before the samples"));
}
