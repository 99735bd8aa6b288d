//! Pictures in another size: bilinear, with pixels as areas around their
//! centres; where a picture shrinks, each pixel is the weighted mean of all that
//! it covers.

/// Rows of pixels with their channels side by side.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Raster<T> {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) channels: usize,
    pub(super) pixels: Vec<T>,
}

/// A stretch of a side, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub(super) start: f64,
    pub(super) len: f64,
}

impl Span {
    pub(super) fn whole(len: usize) -> Span {
        Span { start: 0.0, len: len as f64 }
    }

    /// A stretch in the middle of a side.
    pub(super) fn middle(side: usize, len: f64) -> Span {
        Span { start: (side as f64 - len) / 2.0, len }
    }
}

/// The weights of the pixels of a side that make one of another.
struct Mix {
    first: usize,
    weights: Vec<f32>,
}

/// How each of `out` pixels is made from a stretch of a side of `side` pixels.
fn mixes(side: usize, span: Span, out: usize) -> Vec<Mix> {
    let step = span.len / out as f64;
    let reach = step.max(1.0);
    let mix = |i: usize| {
        let centre = span.start + (i as f64 + 0.5) * step;
        let first = (centre - reach).floor().max(0.0) as usize;
        let end = ((centre + reach).ceil() as usize).min(side);
        let weight = |j: usize| (1.0 - (j as f64 + 0.5 - centre).abs() / reach).max(0.0);
        let weights: Vec<f64> = (first..end).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        Mix { first, weights: weights.iter().map(|w| (w / sum) as f32).collect() }
    };
    (0..out).map(mix).collect()
}

impl<T: Copy + Into<f32>> Raster<T> {
    /// The picture as it is, in real numbers.
    pub(super) fn real(&self) -> Raster<f32> {
        let pixels = self.pixels.iter().map(|&pixel| pixel.into()).collect();
        Raster { height: self.height, width: self.width, channels: self.channels, pixels }
    }

    /// A part of the picture in another size.
    pub(super) fn resized(&self, rows: Span, cols: Span, height: usize, width: usize) -> Raster<f32> {
        self.across(&mixes(self.width, cols, width)).down(&mixes(self.height, rows, height))
    }

    fn across(&self, mixes: &[Mix]) -> Raster<f32> {
        let c = self.channels;
        let mut pixels = Vec::with_capacity(self.height * mixes.len() * c);
        for row in self.pixels.chunks(self.width * c) {
            for Mix { first, weights } in mixes {
                for channel in 0..c {
                    let at = |j: usize| -> f32 { row[(first + j) * c + channel].into() };
                    pixels.push(weights.iter().enumerate().map(|(j, w)| w * at(j)).sum());
                }
            }
        }
        Raster { height: self.height, width: mixes.len(), channels: c, pixels }
    }
}

impl Raster<f32> {
    fn down(&self, mixes: &[Mix]) -> Raster<f32> {
        let row = self.width * self.channels;
        let mut pixels = vec![0f32; mixes.len() * row];
        for (made, Mix { first, weights }) in pixels.chunks_mut(row).zip(mixes) {
            for (source, weight) in self.pixels[first * row..].chunks(row).zip(weights) {
                made.iter_mut().zip(source).for_each(|(made, source)| *made += weight * source);
            }
        }
        Raster { height: mixes.len(), width: self.width, channels: self.channels, pixels }
    }

    /// The picture in the middle of a larger one of one value.
    pub(super) fn framed(&self, height: usize, width: usize, fill: f32) -> Raster<f32> {
        let c = self.channels;
        let (top, left) = ((height - self.height) / 2, (width - self.width) / 2);
        let mut pixels = vec![fill; height * width * c];
        for (y, row) in self.pixels.chunks(self.width * c).enumerate() {
            let start = ((top + y) * width + left) * c;
            pixels[start..start + row.len()].copy_from_slice(row);
        }
        Raster { height, width, channels: c, pixels }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(pixels: &[f32], span: Span, out: usize) -> Vec<f32> {
        let raster = Raster { height: 1, width: pixels.len(), channels: 1, pixels: pixels.to_vec() };
        let across = raster.resized(Span::whole(1), span, 1, out).pixels;
        let raster = Raster { height: pixels.len(), width: 1, ..raster };
        assert_eq!(raster.resized(span, Span::whole(1), out, 1).pixels, across);
        across
    }

    #[test]
    fn pixels_are_mixed_by_how_far_their_centres_are() {
        let pixels = [0.0, 4.0, 8.0, 100.0];
        assert_eq!(line(&pixels, Span::whole(4), 4), pixels);
        // Centres at −0.25, 0.25, 0.75, … of the first pixel's.
        assert_eq!(line(&[0.0, 4.0], Span::whole(2), 4), [0.0, 1.0, 3.0, 4.0]);
        // Two pixels reach to the middles of those beside: weights 1, 3, 3, 1
        // over what there is.
        let half = line(&[0.0, 8.0, 16.0, 24.0], Span::whole(4), 2);
        let expected = [(3.0 * 8.0 + 16.0) / 7.0, (8.0 + 3.0 * 16.0 + 3.0 * 24.0) / 7.0];
        assert!(half.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{half:?}");
        assert_eq!(line(&pixels, Span::middle(4, 2.0), 2), [4.0, 8.0]);
        assert!(line(&[3.0; 7], Span::whole(7), 2).iter().all(|x| (x - 3.0).abs() < 1e-6));
    }

    #[test]
    fn a_frame_is_around_the_middle() {
        let raster = Raster { height: 1, width: 2, channels: 1, pixels: vec![1.0, 2.0] };
        let framed = raster.framed(3, 4, 9.0);
        assert_eq!(framed.pixels, [9.0, 9.0, 9.0, 9.0, 9.0, 1.0, 2.0, 9.0, 9.0, 9.0, 9.0, 9.0]);
    }
}
