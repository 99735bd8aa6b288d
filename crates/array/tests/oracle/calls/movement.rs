use oneir_array::{Array, Indexing, Number, PadMode, Padding, Sections, ops};

use super::{Results, one, with};
use crate::call::Call;

pub(super) fn call(op: &str, c: &Call<'_>) -> Option<Results> {
    let x = || c.x(0);
    match op {
        "reshape" => one(x().reshape(&c.ints(1))),
        "flatten" => one(x().flatten(c.int(1), c.int(2))),
        "unflatten" => one(x().unflatten(c.int(1), &c.ints(2))),
        "broadcast_to" => one(x().broadcast_to(&c.sizes(1))),
        "transpose" => one(x().transpose(c.axes(1))),
        "permute_dims" => one(ops::permute_dims(x(), c.axes(1))),
        "matrix_transpose" => one(x().matrix_transpose()),
        "swapaxes" => one(x().swapaxes(c.int(1), c.int(2))),
        "moveaxis" => one(x().moveaxis(c.int(1), c.int(2))),
        "squeeze" => one(x().squeeze(c.axes(1))),
        "expand_dims" => one(x().expand_dims(c.axes(1))),
        "flip" => one(x().flip(c.axes(1))),
        "roll" => one(x().roll(c.ints(1), c.axes(2))),
        "repeat" => one(x().repeat(c.int(1) as usize, c.axes(2))),
        "tile" => one(x().tile(&c.sizes(1))),
        "contiguous" => one(x().contiguous()),
        "atleast_1d" => one(x().atleast_1d()),
        "atleast_2d" => one(x().atleast_2d()),
        "atleast_3d" => one(x().atleast_3d()),
        "as_strided" => {
            let sizes = c.sizes(1);
            let plain: Vec<isize> =
                (0..sizes.len()).map(|k| sizes[k + 1..].iter().product::<usize>() as isize).collect();
            one(x().as_strided(&sizes, &c.axes(2).unwrap_or(plain), c.int(3) as usize))
        }
        "concatenate" | "concat" => one(match c.axes(1) {
            Some(axis) => ops::concat(&c.arrays(0), axis[0]),
            None => {
                let lines: Vec<Array> = c.arrays(0).iter().map(|a| a.flatten(0, -1)).collect();
                ops::concatenate(&lines, 0)
            }
        }),
        "stack" => one(Array::stack(&c.arrays(0), c.int(1))),
        "split" => Some(x().split(
            match c.is_list(1) {
                true => Sections::from(c.ints(1)),
                false => Sections::from(c.int(1) as usize),
            },
            c.int(2),
        )),
        "unstack" => Some(x().unstack(c.int(1))),
        "meshgrid" => Some(Array::meshgrid(
            &c.arrays(0),
            c.flag(1),
            if c.text(2) == "xy" { Indexing::Xy } else { Indexing::Ij },
        )),
        "broadcast_arrays" => Some(Array::broadcast_arrays(&c.arrays(0))),
        "diag" => one(x().diag(c.int(1))),
        "diagonal" => one(x().diagonal(c.int(1), c.int(2), c.int(3))),
        "trace" => one(x().trace(c.int(1), c.int(2), c.int(3), c.maybe_dtype(4))),
        "tril" => one(x().tril(c.int(1))),
        "triu" => one(x().triu(c.int(1))),
        "pad" => {
            let mode = match c.text(2) {
                "constant" => PadMode::Constant,
                "edge" => PadMode::Edge,
                "reflect" => PadMode::Reflect,
                "symmetric" => PadMode::Symmetric,
                other => panic!("a mode {other}"),
            };
            let width = match c.pairs(1) {
                Some(pairs) => Padding::Each(pairs),
                None if c.is_list(1) => Padding::Every(c.sizes(1)[0], c.sizes(1)[1]),
                None => Padding::from(c.int(1) as usize),
            };
            one(with!(c.side(3), value => x().pad(width, mode, value)))
        }
        "view" => one(x().view(c.dtype(1))),
        "slice" => one(x().slice(c.x(1), c.axes(2), &c.sizes(3))),
        "slice_update" => one(x().slice_update(c.x(1), c.x(2), c.axes(3))),
        "zeros" => one(Array::zeros(&c.sizes(0), c.dtype(1))),
        "ones" => one(Array::ones(&c.sizes(0), c.dtype(1))),
        // What it holds is not said: zeros are as good as any.
        "empty" => one(Array::empty(&c.sizes(0), c.dtype(1)).zeros_like(None)),
        "zeros_like" => one(x().zeros_like(c.maybe_dtype(1))),
        "ones_like" => one(x().ones_like(c.maybe_dtype(1))),
        "empty_like" => one(x().empty_like(c.maybe_dtype(1)).zeros_like(None)),
        "full" => one(with!(c.side(1), value => Array::full(&c.sizes(0), value, c.maybe_dtype(2)))),
        "full_like" => one(with!(c.side(1), value => x().full_like(value, c.maybe_dtype(2)))),
        "arange" => {
            let numbers = [0, 1, 2].map(|k| c.number(k).unwrap());
            let dtype = c.maybe_dtype(3);
            one(match numbers {
                [Number::Int(a), Number::Int(b), Number::Int(s)] => {
                    Array::arange((a as i64, b as i64, s as i64), dtype)
                }
                _ => Array::arange((c.float(0), c.float(1), c.float(2)), dtype),
            })
        }
        "linspace" => one(Array::linspace(c.float(0), c.float(1), c.int(2) as usize, c.flag(3), c.dtype(4))),
        "eye" => one(Array::eye(c.int(0) as usize, c.maybe_int(1).map(|m| m as usize), c.int(2), c.dtype(3))),
        "identity" => one(Array::identity(c.int(0) as usize, c.dtype(1))),
        "tri" => one(Array::tri(c.int(0) as usize, c.maybe_int(1).map(|m| m as usize), c.int(2), c.dtype(3))),
        "bartlett" => one(Array::bartlett(c.int(0) as usize)),
        "blackman" => one(Array::blackman(c.int(0) as usize)),
        "hamming" => one(Array::hamming(c.int(0) as usize)),
        "hanning" => one(Array::hanning(c.int(0) as usize)),
        "broadcast_shapes" => Some(ops::broadcast_shapes(&c.lists(0)).map(|shape| {
            let sizes: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
            vec![Array::from_slice(&sizes, &[sizes.len()])]
        })),
        "result_type" => one(Array::zeros(&[0], oneir_tensor::promote(c.dtype(0), c.dtype(1)))),
        "depends" => one(c.arrays(0)[0].depends(&c.arrays(1))),
        "asarray" => one(c.maybe_dtype(1).map_or_else(|| x().clone(), |dtype| x().astype(dtype))),
        "matmul" => one(x().matmul(c.x(1))),
        _ => None,
    }
}
