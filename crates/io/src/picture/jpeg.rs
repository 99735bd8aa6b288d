//! JPEG files of one scan order (baseline and extended sequential, Huffman codes,
//! 8 bits), pixel for pixel as the ONNX standard's `ImageDecoder` has them: the
//! exact integer transform, and smooth upsampling with ordered rounding.

/// The order in which a block's coefficients are stored.
const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7,
    14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39,
    46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// What every code of up to 16 bits stands for, by the 16 bits that begin with
/// it: its length and symbol. Length 0 is no code.
type Codes = Vec<(u8, u8)>;

/// The samples of one component, without other components' resolution.
#[derive(Default)]
struct Component {
    id: u8,
    /// Samples for each of the smallest component's, across and down.
    across: usize,
    down: usize,
    quantization: usize,
    /// Samples in a stored row: whole units.
    stride: usize,
    /// Samples that count.
    width: usize,
    height: usize,
    samples: Vec<u8>,
}

#[derive(Default)]
struct Frame {
    width: usize,
    height: usize,
    components: Vec<Component>,
    across: usize,
    down: usize,
}

#[derive(Default)]
struct State {
    quantization: [Option<[i32; 64]>; 4],
    /// Codes of the first coefficients and of the others.
    codes: [[Option<Codes>; 4]; 2],
    restart: usize,
    /// What an Adobe segment says of colours: 0 is none.
    transform: Option<u8>,
    frame: Option<Frame>,
}

/// Pixels with their channels (1 or 3), or `None` for what this does not decode.
pub(super) fn decode(bytes: &[u8], most: u64) -> Option<(usize, usize, usize, Vec<u8>)> {
    let mut state = State::default();
    let mut rest = bytes.get(2..)?;
    let mut scanned = 0;
    loop {
        let [0xff, mark, tail @ ..] = rest else { return None };
        rest = tail;
        match mark {
            0xff => rest = &bytes[bytes.len() - tail.len() - 1..],
            0xd9 => break,
            0x01 | 0xd0..=0xd8 => {}
            _ => {
                let size = usize::from(u16::from_be_bytes([*tail.first()?, *tail.get(1)?]));
                let segment = tail.get(2..size)?;
                rest = &tail[size..];
                match mark {
                    0xc0 | 0xc1 if state.frame.is_none() => state.frame = Some(Frame::read(segment, most)?),
                    0xc4 => state.read_codes(segment)?,
                    // Other kinds of frames.
                    0xc2..=0xcf => return None,
                    0xdb => state.read_quantization(segment)?,
                    0xdd => {
                        state.restart = usize::from(u16::from_be_bytes([*segment.first()?, *segment.get(1)?]))
                    }
                    0xee if segment.starts_with(b"Adobe") => state.transform = segment.get(11).copied(),
                    0xda => {
                        let (after, count) = state.scan(segment, rest)?;
                        rest = after;
                        scanned += count;
                    }
                    _ => {}
                }
            }
        }
    }
    let frame = state.frame?;
    (scanned == frame.components.len()).then_some(())?;
    frame.pixels(state.transform)
}

impl Frame {
    fn read(segment: &[u8], most: u64) -> Option<Frame> {
        let [8, h0, h1, w0, w1, count, specs @ ..] = segment else { return None };
        let (height, width) =
            (usize::from(u16::from_be_bytes([*h0, *h1])), usize::from(u16::from_be_bytes([*w0, *w1])));
        let known = matches!(count, 1 | 3) && specs.len() == 3 * usize::from(*count);
        if !known || width == 0 || height == 0 || (width * height) as u64 > most {
            return None;
        }
        let mut frame = Frame { width, height, ..Frame::default() };
        for spec in specs.chunks_exact(3) {
            let (across, down) = (usize::from(spec[1] >> 4), usize::from(spec[1] & 15));
            if !matches!(across, 1 | 2 | 4) || !matches!(down, 1 | 2 | 4) || spec[2] > 3 {
                return None;
            }
            (frame.across, frame.down) = (frame.across.max(across), frame.down.max(down));
            let quantization = spec[2].into();
            frame.components.push(Component {
                id: spec[0],
                across,
                down,
                quantization,
                ..Component::default()
            });
        }
        let units = (width.div_ceil(8 * frame.across), height.div_ceil(8 * frame.down));
        for c in &mut frame.components {
            c.stride = units.0 * c.across * 8;
            (c.width, c.height) =
                ((width * c.across).div_ceil(frame.across), (height * c.down).div_ceil(frame.down));
            c.samples = vec![0; c.stride * units.1 * c.down * 8];
        }
        Some(frame)
    }
}

impl State {
    fn read_quantization(&mut self, mut segment: &[u8]) -> Option<()> {
        while let [kind, tail @ ..] = segment {
            let wide = usize::from(kind >> 4) + 1;
            let values = tail.get(..64 * wide)?;
            segment = &tail[64 * wide..];
            let mut table = [0; 64];
            for (k, value) in values.chunks_exact(wide).enumerate() {
                table[usize::from(ZIGZAG[k])] = value.iter().fold(0, |all, &byte| all << 8 | i32::from(byte));
            }
            *self.quantization.get_mut(usize::from(kind & 15))? = Some(table);
        }
        Some(())
    }

    fn read_codes(&mut self, mut segment: &[u8]) -> Option<()> {
        while let [kind, tail @ ..] = segment {
            let counts = tail.get(..16)?;
            let total: usize = counts.iter().map(|&n| usize::from(n)).sum();
            let symbols = tail.get(16..16 + total)?;
            segment = &tail[16 + total..];
            let mut codes = vec![(0, 0); 1 << 16];
            let (mut code, mut next) = (0usize, symbols.iter());
            for (length, &count) in (1u8..).zip(counts) {
                for &symbol in next.by_ref().take(count.into()) {
                    let span = 1usize << (16 - length);
                    codes.get_mut(code..code + span)?.fill((length, symbol));
                    code += span;
                }
            }
            *self.codes.get_mut(usize::from(kind >> 4))?.get_mut(usize::from(kind & 15))? = Some(codes);
        }
        Some(())
    }

    /// Decodes a scan: what follows it, and how many components it had.
    fn scan<'a>(&mut self, segment: &[u8], data: &'a [u8]) -> Option<(&'a [u8], usize)> {
        let [count, specs @ ..] = segment else { return None };
        let count = usize::from(*count);
        let specs = specs.get(..2 * count)?;
        let State { quantization, codes, restart, frame, .. } = self;
        let frame = frame.as_mut()?;
        let mut parts = Vec::with_capacity(count);
        for spec in specs.chunks_exact(2) {
            let at = frame.components.iter().position(|c| c.id == spec[0])?;
            let first = codes[0].get(usize::from(spec[1] >> 4))?.as_ref()?;
            let others = codes[1].get(usize::from(spec[1] & 15))?.as_ref()?;
            parts.push((at, first, others, quantization[frame.components[at].quantization].as_ref()?, 0i32));
        }
        // A component alone has blocks for its own samples only.
        let alone = count == 1;
        let (columns, rows) = match parts.first()? {
            (at, ..) if alone => {
                (frame.components[*at].width.div_ceil(8), frame.components[*at].height.div_ceil(8))
            }
            _ => (frame.width.div_ceil(8 * frame.across), frame.height.div_ceil(8 * frame.down)),
        };
        let mut bits = Bits { data, held: 0, count: 0, past: 0 };
        for unit in 0..columns * rows {
            if *restart > 0 && unit > 0 && unit % *restart == 0 {
                bits.restart()?;
                parts.iter_mut().for_each(|part| part.4 = 0);
            }
            let (column, row) = (unit % columns, unit / columns);
            for (at, first, others, quantization, before) in &mut parts {
                let c = &mut frame.components[*at];
                let (across, down) = if alone { (1, 1) } else { (c.across, c.down) };
                for k in 0..across * down {
                    let block = bits.block(first, others, quantization, before)?;
                    let (x, y) = ((column * across + k % across) * 8, (row * down + k / across) * 8);
                    let samples = transformed(&block);
                    for (line, values) in samples.chunks_exact(8).enumerate() {
                        let to = (y + line) * c.stride + x;
                        c.samples.get_mut(to..to + 8)?.copy_from_slice(values);
                    }
                }
            }
        }
        // What is left of the scan's last byte is filling.
        let end = bits.data.windows(2).position(|pair| pair[0] == 0xff && !matches!(pair[1], 0 | 0xff))?;
        Some((&bits.data[end..], count))
    }
}

/// The bits of a scan.
struct Bits<'a> {
    data: &'a [u8],
    held: u64,
    count: u32,
    /// Bits that were read past the end.
    past: u32,
}

impl Bits<'_> {
    /// The next 16 bits, with zeros past the end.
    fn peek(&mut self) -> u16 {
        while self.count < 16 {
            let byte = match self.data {
                [0xff, 0, rest @ ..] => {
                    self.data = rest;
                    0xff
                }
                [byte, rest @ ..] if *byte != 0xff => {
                    self.data = rest;
                    *byte
                }
                _ => {
                    self.past += 8;
                    0
                }
            };
            self.held = self.held << 8 | u64::from(byte);
            self.count += 8;
        }
        (self.held >> (self.count - 16)) as u16
    }

    fn skip(&mut self, count: u32) -> Option<()> {
        self.count -= count;
        // Bits that were made up stay unread.
        (self.count >= self.past).then_some(())
    }

    fn symbol(&mut self, codes: &Codes) -> Option<u8> {
        let (length, symbol) = codes[usize::from(self.peek())];
        (length > 0).then_some(())?;
        self.skip(length.into())?;
        Some(symbol)
    }

    /// A number of so many bits; a first bit of 0 says that it is negative.
    fn number(&mut self, size: u8) -> Option<i32> {
        if size == 0 {
            return Some(0);
        }
        (size <= 16).then_some(())?;
        let value = i32::from(self.peek()) >> (16 - size);
        self.skip(size.into())?;
        Some(if value >> (size - 1) == 0 { value - (1 << size) + 1 } else { value })
    }

    fn restart(&mut self) -> Option<()> {
        (self.held, self.count, self.past) = (0, 0, 0);
        let at = self.data.windows(2).position(|pair| pair[0] == 0xff && (0xd0..=0xd7).contains(&pair[1]))?;
        self.data = &self.data[at + 2..];
        Some(())
    }

    /// The coefficients of a block in their places, times their steps.
    fn block(
        &mut self,
        first: &Codes,
        others: &Codes,
        steps: &[i32; 64],
        before: &mut i32,
    ) -> Option<[i32; 64]> {
        let mut block = [0; 64];
        let size = self.symbol(first)?;
        *before = before.wrapping_add(self.number(size)?);
        block[0] = before.wrapping_mul(steps[0]);
        let mut k = 1;
        while k < 64 {
            let symbol = self.symbol(others)?;
            let (zeros, size) = (usize::from(symbol >> 4), symbol & 15);
            match (zeros, size) {
                (15, 0) => k += 16,
                (_, 0) => break,
                _ => {
                    k += zeros;
                    let at = usize::from(*ZIGZAG.get(k)?);
                    block[at] = self.number(size)?.wrapping_mul(steps[at]);
                    k += 1;
                }
            }
        }
        Some(block)
    }
}

/// Bits of the fractions below.
const FRACTION: u32 = 13;

/// The inverse cosine transform of 8 numbers, scaled by 2^13 and √8 (Loeffler,
/// Ligtenberg and Moschytz, 1989, with the twelve products of its figure 1).
fn inverse(v: [i64; 8]) -> [i64; 8] {
    let times = |x: i64, factor: f64| x * (factor * f64::from(1 << FRACTION)).round() as i64;
    let turn = times(v[2] + v[6], 0.541196100);
    let (low, high) = (turn - times(v[6], 1.847759065), turn + times(v[2], 0.765366865));
    let (sum, gap) = ((v[0] + v[4]) << FRACTION, (v[0] - v[4]) << FRACTION);
    let even = [sum + high, gap + low, gap - low, sum - high];
    let all = times(v[7] + v[3] + v[5] + v[1], 1.175875602);
    let (a, b) = (times(v[7] + v[1], -0.899976223), times(v[5] + v[3], -2.562915447));
    let (c, d) = (times(v[7] + v[3], -1.961570560) + all, times(v[5] + v[1], -0.390180644) + all);
    let odd = [
        times(v[1], 1.501321110) + a + d,
        times(v[3], 3.072711026) + b + c,
        times(v[5], 2.053119869) + b + d,
        times(v[7], 0.298631336) + a + c,
    ];
    std::array::from_fn(|k| if k < 4 { even[k] + odd[k] } else { even[7 - k] - odd[7 - k] })
}

/// The samples of a block.
fn transformed(block: &[i32; 64]) -> [u8; 64] {
    let rounded = |value: i64, bits: u32| (value + (1 << (bits - 1))) >> bits;
    let mut half = [0i64; 64];
    for x in 0..8 {
        let column = inverse(std::array::from_fn(|y| i64::from(block[8 * y + x])));
        for (y, value) in column.into_iter().enumerate() {
            // Two bits more than whole numbers are kept.
            half[8 * y + x] = rounded(value, FRACTION - 2);
        }
    }
    let mut samples = [0; 64];
    for (row, out) in half.chunks_exact(8).zip(samples.chunks_exact_mut(8)) {
        let row = inverse(std::array::from_fn(|x| row[x]));
        for (value, sample) in row.into_iter().zip(out) {
            *sample = (rounded(value, FRACTION + 5) + 128).clamp(0, 255) as u8;
        }
    }
    samples
}

impl Component {
    fn row(&self, y: usize) -> &[u8] {
        &self.samples[y * self.stride..][..self.width]
    }

    /// The row of the picture at `y`, of `width` samples.
    fn upsampled(&self, y: usize, (across, down): (usize, usize), width: usize) -> Vec<u8> {
        let at = y / down;
        // The row beside this one, of which a part is taken.
        let beside = if y.is_multiple_of(2) { at.saturating_sub(1) } else { (at + 1).min(self.height - 1) };
        let smooth = self.width > 2;
        let sums = |scale: u16| -> Vec<u16> {
            let rows = self.row(at).iter().zip(self.row(beside));
            rows.map(|(&a, &b)| if scale == 4 { 3 * u16::from(a) + u16::from(b) } else { u16::from(a) })
                .collect()
        };
        let mut out: Vec<u8> = match (across, down) {
            (1, 1) => return self.row(at)[..width].to_vec(),
            (2, 1) if smooth => doubled(&sums(1), 1, [1, 2]),
            (2, 2) if smooth => doubled(&sums(4), 4, [8, 7]),
            (1, 2) => {
                let more = if y.is_multiple_of(2) { 1 } else { 2 };
                sums(4).into_iter().map(|sum| ((sum + more) >> 2) as u8).collect()
            }
            _ => self.row(at).iter().flat_map(|&v| std::iter::repeat_n(v, across)).collect(),
        };
        out.truncate(width);
        out
    }
}

/// Twice as many samples of sums of `scale` samples: three parts of each and one of
/// its neighbour, rounded down and up in turn.
fn doubled(row: &[u16], scale: u16, more: [u16; 2]) -> Vec<u8> {
    let bits = 2 + scale.ilog2();
    let mut out = Vec::with_capacity(2 * row.len());
    for (k, &own) in row.iter().enumerate() {
        let before = if k == 0 { own } else { row[k - 1] };
        let after = row.get(k + 1).copied().unwrap_or(own);
        out.push(((3 * own + before + more[0]) >> bits) as u8);
        out.push(((3 * own + after + more[1]) >> bits) as u8);
    }
    out
}

impl Frame {
    fn pixels(&self, transform: Option<u8>) -> Option<(usize, usize, usize, Vec<u8>)> {
        let ratio = |c: &Component| (self.across / c.across, self.down / c.down);
        if self.components.len() == 1 {
            let one = &self.components[0];
            let rows = (0..self.height).flat_map(|y| one.row(y)[..self.width].iter().copied());
            return Some((self.width, self.height, 1, rows.collect()));
        }
        let ids: Vec<u8> = self.components.iter().map(|c| c.id).collect();
        let own = transform.map_or(ids != *b"RGB", |transform| transform != 0);
        let mut pixels = Vec::with_capacity(3 * self.width * self.height);
        for y in 0..self.height {
            let rows: Vec<Vec<u8>> =
                self.components.iter().map(|c| c.upsampled(y, ratio(c), self.width)).collect();
            for x in 0..self.width {
                let [a, b, c] = [rows[0].get(x)?, rows[1].get(x)?, rows[2].get(x)?].map(|&v| i32::from(v));
                pixels.extend(if own { rgb(a, b - 128, c - 128) } else { [a as u8, b as u8, c as u8] });
            }
        }
        Some((self.width, self.height, 3, pixels))
    }
}

/// A colour from its brightness and two differences, with fractions of 16 bits.
fn rgb(y: i32, blue: i32, red: i32) -> [u8; 3] {
    let fraction = |v: f64| (v * 65536.0 + 0.5) as i32;
    let half = 1 << 15;
    let r = y + ((fraction(1.402) * red + half) >> 16);
    let g = y + ((-fraction(0.34414) * blue - fraction(0.71414) * red + half) >> 16);
    let b = y + ((fraction(1.772) * blue + half) >> 16);
    [r, g, b].map(|v| v.clamp(0, 255) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_one_coefficient_is_flat() {
        let mut block = [0; 64];
        block[0] = 80;
        assert_eq!(transformed(&block), [138; 64]);
        block[0] = i32::MAX;
        assert_eq!(transformed(&block), [255; 64]);
    }

    #[test]
    fn smooth_rows_are_rounded_down_and_up_in_turn() {
        assert_eq!(doubled(&[1, 2, 4], 1, [1, 2]), [1, 1, 2, 3, 3, 4]);
        assert_eq!(doubled(&[4, 8, 16], 4, [8, 7]), [1, 1, 2, 2, 4, 4]);
    }

    #[test]
    fn broken_files_are_left_to_others() {
        for bytes in
            [&b"\xff\xd8"[..], b"\xff\xd8\xff", b"\xff\xd8\xff\xc0\x00\x01", b"\xff\xd8\xff\xd9", b""]
        {
            assert!(decode(bytes, 1000).is_none(), "{bytes:?}");
        }
        // A code that is longer than its length allows.
        let mut state = State::default();
        let mut counts = [0; 17];
        counts[1] = 3;
        assert!(state.read_codes(&[&counts[..], &[1, 2, 3]].concat()).is_none());
    }
}
