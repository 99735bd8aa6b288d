use oneir_array::fast::{self, Attended};
use oneir_array::fft::{self, Frames, Norm};
use oneir_array::linalg::{self, Order, Triangle};
use oneir_array::random::{self, Samples};
use oneir_array::{Array, Contracted, ConvGeneral, Overlap, PadMode, Picks, QuantMode, Quantization, ops};

use super::{Results, one, two, with};
use crate::call::Call;

pub(super) fn call(op: &str, c: &Call<'_>) -> Option<Results> {
    [products, convolutions, quantized, algebra, transforms, draws, fused]
        .iter()
        .find_map(|family| family(op, c))
}

fn products(op: &str, c: &Call<'_>) -> Option<Results> {
    let x = || c.x(0);
    match op {
        "addmm" => one(x().addmm(c.x(1), c.x(2), c.float(3), c.float(4))),
        "inner" => one(x().inner(c.x(1))),
        "outer" => one(x().outer(c.x(1))),
        "kron" => one(x().kron(c.x(1))),
        "vecdot" => one(x().vecdot(c.x(1), c.int(2))),
        "tensordot" => one(match c.is_list(2) {
            true => {
                let [a, b] = &c.args[2].as_array().unwrap()[..] else { panic!("two lists of axes") };
                let listed = |v: &serde_json::Value| {
                    v.as_array().unwrap().iter().map(|n| n.as_i64().unwrap() as isize).collect()
                };
                x().tensordot(c.x(1), Contracted::Pairs(listed(a), listed(b)))
            }
            false => x().tensordot(c.x(1), c.int(2) as usize),
        }),
        "einsum" => {
            let arrays = c.arrays(1);
            one(Array::einsum(c.text(0), &arrays.iter().collect::<Vec<_>>()))
        }
        "einsum_path" => {
            let arrays = c.arrays(1);
            let path = ops::einsum_path(c.text(0), &arrays.iter().collect::<Vec<_>>());
            let step = |step: Vec<usize>| {
                let places: Vec<i64> = step.into_iter().map(|n| n as i64).collect();
                Array::from_slice(&places, &[places.len()])
            };
            Some(path.map(|(steps, _)| steps.into_iter().map(step).collect()))
        }
        "gather_mm" => one(x().gather_mm(c.x(1), c.maybe_array(2), c.maybe_array(3), c.flag(4))),
        "segmented_mm" => one(x().segmented_mm(c.x(1), c.x(2))),
        "block_masked_mm" => {
            let [out, left, right] = [3, 4, 5].map(|k| c.maybe_array(k));
            one(x().block_masked_mm(c.x(1), c.int(2) as usize, out, left, right))
        }
        "hadamard_transform" => one(x().hadamard_transform(c.maybe_float(1))),
        "to_fp8" => one(x().to_fp8()),
        "from_fp8" => one(x().from_fp8(c.dtype(1))),
        _ => None,
    }
}

/// A convolution of so many dimensions.
macro_rules! convolution {
    ($c:ident, $rank:literal, $forward:ident) => {{
        let each = |k| $c.each(k, $rank);
        one($c.x(0).$forward($c.x(1), each(2), each(3), each(4), $c.int(5) as usize))
    }};
    ($c:ident, $rank:literal, $back:ident, more) => {{
        let each = |k| $c.each(k, $rank);
        one($c.x(0).$back($c.x(1), each(2), each(3), each(4), each(5), $c.int(6) as usize))
    }};
}

fn convolutions(op: &str, c: &Call<'_>) -> Option<Results> {
    match op {
        "conv1d" => convolution!(c, 1, conv1d),
        "conv2d" => convolution!(c, 2, conv2d),
        "conv3d" => convolution!(c, 3, conv3d),
        "conv_transpose1d" => convolution!(c, 1, conv_transpose1d, more),
        "conv_transpose2d" => convolution!(c, 2, conv_transpose2d, more),
        "conv_transpose3d" => convolution!(c, 3, conv_transpose3d, more),
        "conv_general" => {
            let rank = c.x(0).ndim() - 2;
            let padding = match c.args[3].as_array().map(|list| list[0].is_array()) {
                Some(true) => {
                    let lists = c.lists(3);
                    (lists[0].clone(), lists[1].clone())
                }
                _ => (c.each(3, rank), c.each(3, rank)),
            };
            let geometry = ConvGeneral {
                stride: c.each(2, rank),
                padding,
                kernel_dilation: c.each(4, rank),
                input_dilation: c.each(5, rank),
                groups: c.int(6) as usize,
                flip: c.flag(7),
            };
            one(c.x(0).conv_general(c.x(1), &geometry))
        }
        "convolve" => one(c.x(0).convolve(
            c.x(1),
            match c.text(2) {
                "full" => Overlap::Full,
                "same" => Overlap::Same,
                _ => Overlap::Valid,
            },
        )),
        _ => None,
    }
}

fn quantized(op: &str, c: &Call<'_>) -> Option<Results> {
    let x = || c.x(0);
    let picks = |left, right| Picks { lhs: c.maybe_array(left), rhs: c.maybe_array(right), sorted: false };
    match op {
        "quantize" => {
            let Some(form) = c.form(1) else { return Some(Err(x().reshape(&[-2]).check().unwrap_err())) };
            let (words, scales, biases) = x().quantize(&form);
            Some(Ok([words, scales].into_iter().chain(biases).collect()))
        }
        "dequantize" => one(x().dequantize(c.x(1), c.maybe_array(2), &c.form(3)?, c.maybe_dtype(6))),
        "quantized_matmul" => {
            one(x().quantized_matmul(c.x(1), c.x(2), c.maybe_array(3), c.flag(4), &c.form(5)?))
        }
        "gather_qmm" => {
            let biases = c.maybe_array(3);
            let picks = Picks { sorted: c.flag(10), ..picks(4, 5) };
            one(x().gather_qmm(c.x(1), c.x(2), biases, picks, c.flag(6), &c.form(7)?))
        }
        "qqmm" => one(x().qqmm(c.x(1), Some(c.x(2)), &c.form(3)?)),
        "gather_qqmm" => one(x().gather_qqmm(c.x(1), Some(c.x(2)), picks(3, 4), &c.form(5)?)),
        _ => None,
    }
}

fn algebra(op: &str, c: &Call<'_>) -> Option<Results> {
    let x = || c.x(0);
    let triangle = |k| if c.text(k) == "L" { Triangle::Lower } else { Triangle::Upper };
    let three = |(a, b, c): (Array, Array, Array)| Some(Ok(vec![a, b, c]));
    match op {
        "linalg.inv" => one(linalg::inv(x())),
        "linalg.det" => one(linalg::det(x())),
        "linalg.slogdet" => two(linalg::slogdet(x())),
        "linalg.pinv" => one(linalg::pinv(x())),
        "linalg.cholesky" => one(linalg::cholesky(x(), c.flag(1))),
        "linalg.cholesky_inv" => one(linalg::cholesky_inv(x(), c.flag(1))),
        "linalg.tri_inv" => one(linalg::tri_inv(x(), c.flag(1))),
        "linalg.qr" => two(linalg::qr(x())),
        "linalg.svd" if c.flag(1) => three(linalg::svd(x())),
        "linalg.svd" => one(linalg::svdvals(x())),
        "linalg.eigh" => two(linalg::eigh(x(), triangle(1))),
        "linalg.eigvalsh" => one(linalg::eigvalsh(x(), triangle(1))),
        "linalg.eig" => two(linalg::eig(x())),
        "linalg.eigvals" => one(linalg::eigvals(x())),
        "linalg.lu" => three(linalg::lu(x())),
        "linalg.lu_factor" => two(linalg::lu_factor(x())),
        "linalg.solve" => one(linalg::solve(x(), c.x(1))),
        "linalg.solve_triangular" => one(linalg::solve_triangular(x(), c.x(1), c.flag(2))),
        "linalg.cross" => one(linalg::cross(x(), c.x(1), c.int(2))),
        "linalg.norm" | "matrix_norm" => {
            let order = match c.args[1].as_str() {
                Some("fro") => Order::Frobenius,
                Some("nuc") => Order::Nuclear,
                _ => c.maybe_float(1).map_or(Order::Natural, Order::P),
            };
            one(linalg::norm(x(), order, c.axes(2), c.flag(3)))
        }
        _ => None,
    }
}

/// Transforms along one axis or several, by their names.
macro_rules! along {
    ($op:ident, $c:ident, single: $($single:ident)*, several: $($more:ident)*) => {
        match $op {
            $(concat!("fft.", stringify!($single)) => {
                let size = $c.maybe_int(1).map(|n| n as usize);
                return one(fft::$single($c.x(0), size, $c.int(2), Call::norm($c, 3)));
            })*
            $(concat!("fft.", stringify!($more)) => {
                let sizes = $c.axes(1).map(|list| list.into_iter().map(|n| n as usize).collect::<Vec<_>>());
                return one(fft::$more($c.x(0), sizes.as_deref(), $c.axes(2), Call::norm($c, 3)));
            })*
            _ => {}
        }
    };
}

fn transforms(op: &str, c: &Call<'_>) -> Option<Results> {
    along!(op, c, single: fft ifft rfft irfft, several: fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn);
    let frames = |norm: usize, onesided: usize| {
        let n_fft = c.int(1) as usize;
        let plain = Frames::new(n_fft);
        Frames {
            hop_length: c.maybe_int(2).map_or(plain.hop_length, |n| n as usize),
            win_length: c.maybe_int(3).map_or(plain.win_length, |n| n as usize),
            window: c.maybe_array(4).cloned(),
            center: c.flag(5),
            norm: c.norm(norm),
            onesided: c.args[onesided].as_bool(),
            ..plain
        }
    };
    match op {
        "fft.fftshift" => one(fft::fftshift(c.x(0), c.axes(1))),
        "fft.ifftshift" => one(fft::ifftshift(c.x(0), c.axes(1))),
        "fft.fftfreq" => one(fft::fftfreq(c.int(0) as usize, c.float(1))),
        "fft.rfftfreq" => one(fft::rfftfreq(c.int(0) as usize, c.float(1))),
        "fft.stft" => {
            let pad_mode = match c.text(6) {
                "constant" => PadMode::Constant,
                "edge" => PadMode::Edge,
                _ => PadMode::Reflect,
            };
            one(fft::stft(c.x(0), &Frames { pad_mode, ..frames(7, 8) }))
        }
        "fft.istft" => one(fft::istft(c.x(0), &frames(6, 7), c.maybe_int(8).map(|n| n as usize))),
        _ => None,
    }
}

fn draws(op: &str, c: &Call<'_>) -> Option<Results> {
    let shape = |k| c.sizes(k);
    match op {
        "random.key" => one(random::key(c.args[0].as_u64().unwrap())),
        "random.split" => one(random::split(c.x(0), c.int(1) as usize)),
        "random.uniform" => one(with!(c.side(0), low => with!(c.side(1), high =>
            random::uniform(low, high, &shape(2), c.dtype(3), c.maybe_array(4))))),
        "random.normal" if c.args[2].is_null() => {
            one(random::normal(&shape(0), c.dtype(1), 0, 1, c.maybe_array(4)))
        }
        "random.normal" => one(with!(c.side(2), loc => with!(c.side(3), scale =>
            random::normal(&shape(0), c.dtype(1), loc, scale, c.maybe_array(4))))),
        "random.gumbel" => one(random::gumbel(&shape(0), c.dtype(1), c.maybe_array(2))),
        "random.laplace" => one(with!(c.side(2), loc => with!(c.side(3), scale =>
            random::laplace(&shape(0), c.dtype(1), loc, scale, c.maybe_array(4))))),
        "random.randint" => one(with!(c.side(0), low => with!(c.side(1), high =>
            random::randint(low, high, &shape(2), c.dtype(3), c.maybe_array(4))))),
        "random.bernoulli" => {
            let shape = c.is_list(1).then(|| shape(1));
            one(with!(c.side(0), p => random::bernoulli(p, shape.as_deref(), c.maybe_array(2))))
        }
        "random.truncated_normal" => one(with!(c.side(0), low => with!(c.side(1), high =>
            random::truncated_normal(low, high, Some(&shape(2)), c.dtype(3), c.maybe_array(4))))),
        "random.categorical" => {
            let sizes = c.is_list(2).then(|| shape(2));
            let samples = match (&sizes, c.maybe_int(3)) {
                (Some(shape), _) => Samples::Shape(shape),
                (None, Some(count)) => Samples::Many(count as usize),
                (None, None) => Samples::One,
            };
            one(random::categorical(c.x(0), c.int(1), samples, c.maybe_array(4)))
        }
        "random.permutation" => {
            one(with!(c.side(0), x => random::permutation(x, c.int(1), c.maybe_array(2))))
        }
        "random.multivariate_normal" => {
            one(random::multivariate_normal(c.x(0), c.x(1), &shape(2), c.maybe_array(4)))
        }
        _ => None,
    }
}

impl<'a> Call<'a> {
    /// An array that may be left out.
    fn maybe_array(&self, k: usize) -> Option<&'a Array> {
        self.array(k)
    }

    /// A number for each of so many dimensions.
    fn each(&self, k: usize, rank: usize) -> Vec<usize> {
        if self.is_list(k) { self.sizes(k) } else { vec![self.int(k) as usize; rank] }
    }

    fn norm(&self, k: usize) -> Norm {
        match self.text(k) {
            "backward" => Norm::Backward,
            "ortho" => Norm::Ortho,
            _ => Norm::Forward,
        }
    }

    /// Group size, bits and mode from an argument on; nothing for an unknown mode.
    fn form(&self, k: usize) -> Option<Quantization> {
        let mode = match self.text(k + 2) {
            "affine" => QuantMode::Affine,
            "mxfp4" => QuantMode::Mxfp4,
            "mxfp8" => QuantMode::Mxfp8,
            "nvfp4" => QuantMode::Nvfp4,
            _ => return None,
        };
        let usual = Quantization::new(mode);
        let or = |k, usual| self.maybe_int(k).map_or(usual, |n| n as usize);
        Some(Quantization { mode, group_size: or(k, usual.group_size), bits: or(k + 1, usual.bits) })
    }
}

fn fused(op: &str, c: &Call<'_>) -> Option<Results> {
    let x = || c.x(0);
    match op {
        "fast.rms_norm" => one(fast::rms_norm(x(), c.array(1), c.float(2))),
        "fast.layer_norm" => one(fast::layer_norm(x(), c.array(1), c.array(2), c.float(3))),
        "fast.rope" => {
            let (dims, traditional) = (c.int(1) as usize, c.flag(2));
            let (base, scale, freqs) = (c.maybe_float(3), c.float(4), c.array(6));
            one(match c.array(5) {
                Some(offset) => fast::rope(x(), dims, traditional, base, scale, offset, freqs),
                None => fast::rope(x(), dims, traditional, base, scale, c.int(5), freqs),
            })
        }
        "fast.scaled_dot_product_attention" => {
            let mask = match c.array(4) {
                Some(mask) => Attended::Mask(mask),
                None if c.is_text(4) => Attended::Causal,
                None => Attended::All,
            };
            one(fast::scaled_dot_product_attention(x(), c.x(1), c.x(2), c.float(3), mask, c.array(5)))
        }
        "fast.cross_entropy" => one(fast::cross_entropy(x(), c.x(1))),
        "fast.gated_delta_update" => {
            let [q, k, v, gamma, beta] = [0, 1, 2, 3, 4].map(|k| c.x(k));
            two(fast::gated_delta_update(q, k, v, gamma, beta, c.array(5), c.array(6)))
        }
        _ => None,
    }
}
