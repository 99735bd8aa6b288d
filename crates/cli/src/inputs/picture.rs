//! A picture as a model's input.

use oneir::HostTensor;
use oneir::io::picture::{self, Picture};
use oneir::onnx::ValueInfo;
use oneir::tensor::Class;

use super::declared::{Open, declared_dims, declared_dtype, declared_shape};
use super::made::MAX_MADE;
use super::resize::{Raster, Span};
use super::source::{Source, ratio};
use crate::error::CliError;

/// A dimension of a picture's tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Axis {
    Batch,
    Channel,
    Row,
    Column,
}

impl Axis {
    /// The dimensions that a word such as `nchw` names.
    fn all(word: &str) -> Option<Vec<Axis>> {
        let axis = |letter: char| match letter {
            'n' => Some(Axis::Batch),
            'c' => Some(Axis::Channel),
            'h' => Some(Axis::Row),
            'w' => Some(Axis::Column),
            _ => None,
        };
        let axes: Vec<Axis> = word.chars().map(axis).collect::<Option<_>>()?;
        let count = |axis: Axis| axes.iter().filter(|&&other| other == axis).count();
        let once = count(Axis::Row) == 1 && count(Axis::Column) == 1;
        (once && count(Axis::Batch) <= 1 && count(Axis::Channel) <= 1).then_some(axes)
    }

    /// The dimensions of a declared shape, where they are evident: 1, 3 or 4
    /// channels stand before or behind the sides, or there are but two sides.
    fn evident(sizes: &[Open]) -> Option<Vec<Axis>> {
        let channels = |at: usize| matches!(sizes[at], Open::Fixed(1 | 3 | 4));
        Axis::all(match sizes.len() {
            2 if !sizes.contains(&Open::Any) => "hw",
            3 if channels(0) && !channels(2) => "chw",
            3 if channels(2) && !channels(0) => "hwc",
            4 if channels(1) && !channels(3) => "nchw",
            4 if channels(3) && !channels(1) => "nhwc",
            _ => return None,
        })
    }
}

/// The order and number of channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channels {
    Gray,
    Rgb,
    Bgr,
    Rgba,
}

impl Channels {
    fn read(word: &str) -> Option<Channels> {
        Some(match word {
            "gray" => Channels::Gray,
            "rgb" => Channels::Rgb,
            "bgr" => Channels::Bgr,
            "rgba" => Channels::Rgba,
            _ => return None,
        })
    }

    fn count(self) -> usize {
        match self {
            Channels::Gray => 1,
            Channels::Rgb | Channels::Bgr => 3,
            Channels::Rgba => 4,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Channels::Gray => "gray",
            Channels::Rgb => "rgb",
            Channels::Bgr => "bgr",
            Channels::Rgba => "rgba",
        }
    }

    /// The channels of a picture.
    fn of(self, picture: &Picture) -> Raster<u8> {
        let mut pixels = Vec::with_capacity(picture.width * picture.height * self.count());
        for pixel in picture.pixels.chunks(picture.channels) {
            let byte = |at: usize| pixel[at];
            let (r, g, b) = match pixel.len() {
                1 | 2 => (byte(0), byte(0), byte(0)),
                _ => (byte(0), byte(1), byte(2)),
            };
            let opacity = if pixel.len().is_multiple_of(2) { byte(pixel.len() - 1) } else { u8::MAX };
            match self {
                Channels::Gray if pixel.len() < 3 => pixels.push(r),
                Channels::Gray => {
                    let [r, g, b] = [r, g, b].map(f32::from);
                    pixels.push((0.299 * r + 0.587 * g + 0.114 * b).round() as u8);
                }
                Channels::Rgb => pixels.extend([r, g, b]),
                Channels::Bgr => pixels.extend([b, g, r]),
                Channels::Rgba => pixels.extend([r, g, b, opacity]),
            }
        }
        Raster { height: picture.height, width: picture.width, channels: self.count(), pixels }
    }
}

/// How a picture of other proportions fills a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Stretch,
    Crop,
    Pad,
}

impl Fit {
    fn read(word: &str) -> Option<Fit> {
        Some(match word {
            "stretch" => Fit::Stretch,
            "crop" => Fit::Crop,
            "pad" => Fit::Pad,
            _ => return None,
        })
    }

    fn apply(self, raster: &Raster<u8>, height: usize, width: usize, fill: f32) -> Raster<f32> {
        if (raster.height, raster.width) == (height, width) {
            return raster.real();
        }
        let down = height as f64 / raster.height as f64;
        let across = width as f64 / raster.width as f64;
        match self {
            Fit::Stretch => {
                raster.resized(Span::whole(raster.height), Span::whole(raster.width), height, width)
            }
            Fit::Crop => {
                let factor = down.max(across);
                let rows = Span::middle(raster.height, height as f64 / factor);
                let cols = Span::middle(raster.width, width as f64 / factor);
                raster.resized(rows, cols, height, width)
            }
            Fit::Pad => {
                let factor = down.min(across);
                let side = |len: usize, most: usize| ((len as f64 * factor).round() as usize).clamp(1, most);
                let (rows, cols) = (side(raster.height, height), side(raster.width, width));
                let small = raster.resized(Span::whole(raster.height), Span::whole(raster.width), rows, cols);
                small.framed(height, width, fill)
            }
        }
    }
}

/// What the options and the declaration say.
struct Wanted {
    axes: Vec<Axis>,
    channels: Channels,
    height: usize,
    width: usize,
    fit: Fit,
    fill: f64,
    scale: f64,
    mean: Vec<f64>,
    std: Vec<f64>,
}

/// The tensor, and how it came to be.
pub(super) fn tensor(info: &ValueInfo, source: &Source<'_>) -> Result<(HostTensor, String), CliError> {
    let name = &info.name;
    // Options are looked at before a file that may be large.
    let listed = Listed::read(name, source)?;
    let axes = listed.axes(info)?;
    let picture = picture::read(source.rest)
        .map_err(|e| CliError::InputFile { name: name.clone(), source: Box::new(e) })?;
    let wanted = listed.wanted(info, axes, &picture)?;
    let whole = declared_dtype(info)?
        .is_some_and(|dtype| matches!(dtype.class(), Class::Bool | Class::Unsigned | Class::Signed));
    let raster = wanted.channels.of(&picture);
    let raster = wanted.fit.apply(&raster, wanted.height, wanted.width, wanted.fill as f32);
    let count = raster.channels;
    let of = |list: &[f64], channel: usize| list[channel % list.len()];
    let (mean, std): (Vec<f64>, Vec<f64>) =
        (0..count).map(|channel| (of(&wanted.mean, channel), of(&wanted.std, channel))).unzip();
    let value = |at: usize| {
        let channel = at % count;
        let value = (f64::from(raster.pixels[at]) * wanted.scale - mean[channel]) / std[channel];
        (if whole { value.round() } else { value }) as f32
    };
    let (h, w) = (raster.height, raster.width);
    let sizes: Vec<usize> = wanted
        .axes
        .iter()
        .map(|axis| match axis {
            Axis::Batch => 1,
            Axis::Channel => count,
            Axis::Row => h,
            Axis::Column => w,
        })
        .collect();
    let strides: Vec<usize> = wanted
        .axes
        .iter()
        .map(|axis| match axis {
            Axis::Batch => 0,
            Axis::Channel => 1,
            Axis::Row => w * count,
            Axis::Column => count,
        })
        .collect();
    let mut values = Vec::with_capacity(h * w * count);
    gather(&sizes, &strides, 0, &mut |at| values.push(value(at)));
    let tensor = HostTensor::from_slice(&sizes, &values)
        .map_err(|source| CliError::Tensor { what: format!("input `{name}`"), source })?;
    let how = format!(
        "{} of {}x{} (width x height) as {} in {h} rows of {w}, times {}, minus {}, divided by {}",
        source.rest,
        picture.width,
        picture.height,
        wanted.channels.word(),
        wanted.scale,
        shown(&wanted.mean),
        shown(&wanted.std),
    );
    Ok((tensor, how))
}

fn shown(list: &[f64]) -> String {
    list.iter().map(f64::to_string).collect::<Vec<_>>().join(",")
}

/// Visits elements in row order.
fn gather(sizes: &[usize], strides: &[usize], base: usize, visit: &mut impl FnMut(usize)) {
    match (sizes, strides) {
        ([size, sizes @ ..], [stride, strides @ ..]) => {
            (0..*size).for_each(|i| gather(sizes, strides, base + i * stride, visit));
        }
        _ => visit(base),
    }
}

/// The options as they are written.
struct Listed {
    axes: Option<Vec<Axis>>,
    channels: Option<Channels>,
    height: Option<usize>,
    width: Option<usize>,
    fit: Fit,
    fill: f64,
    scale: Option<f64>,
    mean: Vec<f64>,
    std: Vec<f64>,
}

impl Listed {
    fn read(name: &str, source: &Source<'_>) -> Result<Listed, CliError> {
        const SIZE: &str = "a side such as 224, or a height and a width such as 48x320";
        let side = |text: &str| text.parse().ok().filter(|&n: &usize| n > 0);
        let size = source.one(name, "size", SIZE, |text| match text.split_once('x') {
            Some((height, width)) => Some((side(height)?, side(width)?)),
            None => Some((side(text)?, side(text)?)),
        })?;
        let height = source.count(name, "height")?;
        let width = source.count(name, "width")?;
        if size.is_some() && (height.is_some() || width.is_some()) {
            return Err(CliError::BadOption {
                name: name.into(),
                option: "size",
                expected: "no `height` and no `width` beside it",
                found: "both".into(),
            });
        }
        let divisor = |text: &str| ratio(text).filter(|&x| x != 0.0);
        Ok(Listed {
            axes: source.one(
                name,
                "layout",
                "h and w, and c and n where they are, such as nchw",
                Axis::all,
            )?,
            channels: source.one(name, "channels", "gray, rgb, bgr or rgba", Channels::read)?,
            height: height.or(size.map(|(height, _)| height)),
            width: width.or(size.map(|(_, width)| width)),
            fit: source.one(name, "fit", "stretch, crop or pad", Fit::read)?.unwrap_or(Fit::Stretch),
            fill: source.one(name, "fill", "a number", ratio)?.unwrap_or(0.0),
            scale: source.one(name, "scale", "a number such as 1/255", ratio)?,
            mean: source.list(name, "mean", "numbers", ratio)?.unwrap_or_else(|| vec![0.0]),
            std: source.list(name, "std", "numbers other than 0", divisor)?.unwrap_or_else(|| vec![1.0]),
        })
    }

    fn axes(&self, info: &ValueInfo) -> Result<Vec<Axis>, CliError> {
        let sizes = declared_shape(info);
        let declared = || info.ty.to_string();
        let name = info.name.clone();
        match &self.axes {
            Some(axes) if declared_dims(info).is_none() || axes.len() == sizes.len() => Ok(axes.clone()),
            Some(axes) => Err(CliError::BadOption {
                name,
                option: "layout",
                expected: "a letter for each dimension of the input",
                found: format!("{} for {}", axes.len(), declared()),
            }),
            None => Axis::evident(&sizes)
                .filter(|_| declared_dims(info).is_some())
                .ok_or_else(|| CliError::NoLayout { name, declared: declared() }),
        }
    }

    fn wanted(self, info: &ValueInfo, axes: Vec<Axis>, picture: &Picture) -> Result<Wanted, CliError> {
        let name = &info.name;
        let sizes = declared_shape(info);
        let at = |axis: Axis| axes.iter().position(|&other| other == axis);
        let declared = |axis: Axis| sizes.get(at(axis)?)?.fixed();
        let channels = match (self.channels, at(Axis::Channel), declared(Axis::Channel)) {
            (Some(channels), _, _) => channels,
            (None, None, _) | (None, _, Some(1)) => Channels::Gray,
            (None, _, Some(4)) => Channels::Rgba,
            (None, ..) => Channels::Rgb,
        };
        if at(Axis::Channel).is_none() && channels != Channels::Gray {
            return Err(CliError::BadOption {
                name: name.clone(),
                option: "channels",
                expected: "gray, as the layout has no channels",
                found: channels.word().into(),
            });
        }
        for (option, list) in [("mean", &self.mean), ("std", &self.std)] {
            if list.len() != 1 && list.len() != channels.count() {
                return Err(CliError::BadOption {
                    name: name.clone(),
                    option,
                    expected: "one number, or one for each channel",
                    found: format!("{} for {}", list.len(), channels.word()),
                });
            }
        }
        let height = self.height.or_else(|| declared(Axis::Row));
        let width = self.width.or_else(|| declared(Axis::Column));
        // A side that nothing names follows the other.
        let side = |own: usize, other: usize, wanted: usize| {
            ((own as f64 * wanted as f64 / other as f64).round() as usize).max(1)
        };
        let (height, width) = match (height, width) {
            (Some(height), Some(width)) => (height, width),
            (Some(height), None) => (height, side(picture.width, picture.height, height)),
            (None, Some(width)) => (side(picture.height, picture.width, width), width),
            (None, None) => (picture.height, picture.width),
        };
        // The steps in between are as high as the picture or as wide.
        let most = height.max(picture.height).checked_mul(width.max(picture.width));
        if most.and_then(|n| n.checked_mul(channels.count())).is_none_or(|n| n > MAX_MADE) {
            let shape = vec![height, width, channels.count()];
            return Err(CliError::TooLarge { name: name.clone(), shape, limit: MAX_MADE });
        }
        let real = declared_dtype(info)?.is_none_or(|dtype| dtype.is_inexact());
        let scale = self.scale.unwrap_or(if real { 1.0 / 255.0 } else { 1.0 });
        let Listed { fit, fill, mean, std, .. } = self;
        Ok(Wanted { axes, channels, height, width, fit, fill, scale, mean, std })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_evident_where_one_end_has_channels() {
        let evident = |sizes: &[usize]| {
            let open = |&n: &usize| if n == 0 { Open::Any } else { Open::Fixed(n) };
            Axis::evident(&sizes.iter().map(open).collect::<Vec<_>>())
        };
        assert_eq!(evident(&[0, 3, 0, 0]), Axis::all("nchw"));
        assert_eq!(evident(&[1, 224, 224, 3]), Axis::all("nhwc"));
        assert_eq!(evident(&[1, 28, 28]), Axis::all("chw"));
        assert_eq!(evident(&[8, 8]), Axis::all("hw"));
        for other in [&[1, 3, 5, 3][..], &[0, 0, 0, 0], &[0, 64], &[64], &[], &[1, 1, 3, 8, 8]] {
            assert_eq!(evident(other), None, "{other:?}");
        }
        for wrong in ["nch", "hhw", "nchwx", "ncchw", ""] {
            assert_eq!(Axis::all(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn proportions_are_kept_on_request() {
        let pixels: Vec<u8> = (0..8).collect();
        let wide = Raster { height: 2, width: 4, channels: 1, pixels };
        assert_eq!(Fit::Crop.apply(&wide, 2, 2, 0.0).pixels, [1.0, 2.0, 5.0, 6.0]);
        let padded = Fit::Pad.apply(&wide, 4, 4, 9.0).pixels;
        assert_eq!(padded[..5], [9.0, 9.0, 9.0, 9.0, 0.0]);
        assert_eq!(padded[11..], [7.0, 9.0, 9.0, 9.0, 9.0]);
        assert_eq!(Fit::Stretch.apply(&wide, 2, 4, 0.0), wide.real());
    }
}
