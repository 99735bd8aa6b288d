//! What holds of every operation: a call that made sense has a value, whatever the
//! shape and dtype, and views compute as their copies do.

use oneir_array::{Array, DType, HostTensor, PadMode, QuantileMethod, SearchSide};

type Call = (&'static str, fn(&Array) -> Array);

macro_rules! calls {
    ($($what:literal: |$x:ident| $body:expr;)*) => { &[$(($what, |$x| $body)),*] };
}

const CALLS: &[Call] = calls! {
    "degrees": |x| x.degrees();
    "isfinite": |x| x.isfinite();
    "isposinf": |x| x.isposinf();
    "nan_to_num": |x| x.nan_to_num(0.0, None, None);
    "round": |x| x.round(1);
    "round digits": |x| x.round(-1);
    "clip": |x| x.clip(1, 2);
    "divmod": |x| x.divmod(x).1;
    "isclose": |x| x.isclose(x, 1e-5, 1e-8, true);
    "array_equal": |x| x.array_equal(x, true);
    "sum": |x| x.sum(.., false);
    "prod": |x| x.prod(0, true);
    "max": |x| x.max(-1, false);
    "var": |x| x.var(0, false, 1);
    "std": |x| x.std(.., true, 0);
    "logsumexp": |x| x.logsumexp(-1, true);
    "count_nonzero": |x| x.count_nonzero(0, false);
    "minmax": |x| x.minmax(.., false).1;
    "median": |x| x.median(0, true);
    "median of all": |x| x.median(.., false);
    "quantile": |x| x.quantile(0.3, -1, true, QuantileMethod::Hazen);
    "cumsum": |x| x.cumsum(.., false, true);
    "cumprod": |x| x.cumprod(0, true, false);
    "cummax": |x| x.cummax(-1, false, true);
    "logcumsumexp": |x| x.logcumsumexp(0, false, true);
    "diff": |x| x.diff(1, 0);
    "sort": |x| x.sort(..);
    "argsort": |x| x.argsort(0);
    "partition": |x| x.partition(0, -1);
    "topk": |x| x.topk(1, 0);
    "searchsorted": |x| x.sort(..).searchsorted(x, SearchSide::Right);
    "unique": |x| x.unique(3, 0).values;
    "unique index": |x| x.unique(3, 0).index;
    "unique inverse": |x| x.unique(3, 0).inverse;
    "unique counts": |x| x.unique(3, 0).counts;
    "isin": |x| x.isin(x);
    "interp": |x| x.interp(&x.sort(..), &x.flatten(0, -1), None, None);
    "flatten": |x| x.flatten(0, -1);
    "unflatten": |x| x.unflatten(0, &[1, -1]);
    "t": |x| x.t();
    "matrix_transpose": |x| x.matrix_transpose();
    "moveaxis": |x| x.moveaxis(0, -1);
    "roll": |x| x.roll(1, ..);
    "roll along": |x| x.roll(2, 0);
    "as_strided": |x| x.as_strided(&[2], &[1], 0);
    "contiguous": |x| x.contiguous();
    "atleast_3d": |x| x.atleast_3d();
    "repeat": |x| x.repeat(2, -1);
    "tile": |x| x.tile(&[2, 1, 2]);
    "pad": |x| x.pad(1, PadMode::Constant, 1);
    "pad symmetric": |x| x.pad(1, PadMode::Symmetric, 1);
    "tril": |x| x.tril(0);
    "triu": |x| x.triu(1);
    "diag": |x| x.diag(1);
    "diagonal": |x| x.diagonal(0, 0, -1);
    "trace": |x| x.trace(0, 0, 1, None);
    "full_like": |x| x.full_like(3, None);
    "stack": |x| Array::stack(&[x.clone(), x.clone()], 0);
};

/// The call's value; none where it did not make sense.
fn value(what: &str, call: fn(&Array) -> Array, x: &Array) -> Option<HostTensor> {
    let out = call(x);
    out.check().ok()?;
    let spec = (out.dtype(), out.shape());
    let found = out.to_host().unwrap_or_else(|e| panic!("{what} of {x:?}: {e}"));
    assert_eq!((found.dtype(), found.shape().clone()), spec, "{what} of {x:?}");
    Some(found)
}

fn numbers(shape: &[usize], dtype: DType) -> Array {
    let count: usize = shape.iter().product();
    let elements: Vec<f64> = (0..count).map(|i| f64::from((i * 7 % 5) as u32) - 0.5).collect();
    Array::from_slice(&elements, shape).astype(dtype)
}

#[test]
fn every_shape_and_dtype_has_a_value_or_a_reason() {
    for shape in [&[][..], &[0], &[1], &[5], &[2, 0, 3], &[0, 2], &[3, 4], &[1, 1, 2]] {
        for dtype in DType::COMPUTE {
            let x = numbers(shape, dtype);
            for (what, call) in CALLS {
                value(what, *call, &x);
            }
        }
    }
}

#[test]
fn views_compute_as_their_copies() {
    for dtype in [DType::F32, DType::I16, DType::F16, DType::Complex64, DType::Bool] {
        let whole = numbers(&[5, 6], dtype);
        let views = [whole.t(), whole.flip(..), whole.strided_slice(&[4, 1], &[-2, 2], &[3, 2])];
        for view in views.into_iter().chain([numbers(&[1, 4], dtype).broadcast_to(&[3, 4])]) {
            let copy = Array::from_host(
                HostTensor::from_bytes(dtype, &view.shape(), &view.to_host().unwrap().bytes()).unwrap(),
            );
            for (what, call) in CALLS {
                let (of_view, of_copy) = (value(what, *call, &view), value(what, *call, &copy));
                assert_eq!(of_view, of_copy, "{what} of {view:?}");
            }
        }
    }
}

#[test]
fn every_call_makes_sense_somewhere() {
    for (what, call) in CALLS {
        assert!(value(what, *call, &numbers(&[3, 4], DType::F32)).is_some(), "{what}");
    }
}

#[test]
fn the_largest_shapes_are_counted_right_or_refused() {
    const LARGE: usize = 1 << 59;
    for shape in [&[LARGE][..], &[1 << 30, 1 << 29], &[LARGE, 0], &[0, LARGE], &[0, LARGE, 0], &[1, LARGE]] {
        for dtype in [DType::U8, DType::F32, DType::F64, DType::Bool] {
            let x = Array::zeros(shape, dtype);
            assert!(x.check().is_ok());
            for (what, call) in CALLS {
                let out = call(&x);
                if out.check().is_ok() && out.size() == 0 {
                    value(what, *call, &x);
                }
            }
        }
    }
}
