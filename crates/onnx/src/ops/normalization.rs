//! Normalisations.

use oneir_array::{Array, DType, WindowOp, Windows};

use super::{Row, row};
use crate::OnnxError;
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] = &[
    row!(BatchNormalization [1, 6, 7, 9, 14, 15] => batch_normalization),
    row!(InstanceNormalization [1, 6, 22] => |call| {
        let x = call.array(0)?;
        let channels = channels(call, &x)?;
        grouped(call, &x, channels, false)
    }),
    row!(GroupNormalization [18, 21] => |call| {
        let x = call.array(0)?;
        channels(call, &x)?;
        let groups = call.attributes().int("num_groups")?;
        let groups = usize::try_from(groups).map_err(|_| call.fails("num_groups must be positive"))?;
        grouped(call, &x, groups, call.version < 21)
    }),
    row!(LayerNormalization [17] => layer_normalization),
    // Exporters write it in the standard domain at any version.
    row!(SimplifiedLayerNormalization [1] => rms_normalization),
    row!(RMSNormalization [23] => rms_normalization),
    row!(MeanVarianceNormalization [9, 13] => |call| {
        let x = call.array(0)?;
        let axes = call.attributes().ints_or("axes", &[0, 2, 3])?;
        let axes = axes
            .iter()
            .map(|&a| call.axis(a, x.ndim()).map(|a| a as isize))
            .collect::<Result<Vec<_>, _>>()?;
        let wide = widened(&x);
        let centred: Array = &wide - wide.mean(&axes, true);
        let deviation: Array = centred.square().mean(&axes, true).sqrt() + 1e-9;
        call.one(centred.divide(&deviation).astype(x.dtype()))
    }),
    row!(LpNormalization [1, 22] => |call| {
        let x = call.array(0)?;
        let axis = call.axis(call.attributes().int_or("axis", -1)?, x.ndim())? as isize;
        let wide = widened(&x);
        let size = match call.attributes().int_or("p", 2)? {
            1 => wide.abs().sum([axis], true),
            2 => wide.square().sum([axis], true).sqrt(),
            other => return Err(call.fails(format!("p must be 1 or 2, found {other}"))),
        };
        let zero = Array::full(&[], 0.0, size.dtype());
        let one = Array::full(&[], 1.0, size.dtype());
        let size = size.equal(&zero).where_(&one, &size);
        call.one(wide.divide(&size).astype(x.dtype()))
    }),
    row!(LRN [1, 13] => local_response_normalization),
];

/// Half types normalise in f32.
fn widened(x: &Array) -> Array {
    x.astype(x.dtype().accumulator())
}

fn channels(call: &Call<'_>, x: &Array) -> Result<usize, OnnxError> {
    match x.shape()[..] {
        [_, channels, ..] => Ok(channels),
        _ => Err(call.fails("the input must have a batch and a channel dimension")),
    }
}

/// Values per channel, presented along axis 1 of `rank` dimensions.
fn along_channels(x: &Array, rank: usize) -> Array {
    let mut shape = vec![1; rank];
    if let Some(size) = shape.get_mut(1) {
        *size = -1;
    }
    x.reshape(&shape)
}

fn batch_normalization(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let rank = x.ndim();
    if rank == 0 {
        return Err(call.fails("the input must have at least 1 dimension"));
    }
    let asked = |i: usize| call.node.outputs.get(i).is_some_and(|name| !name.is_empty());
    let training = match call.version {
        ..7 => call.attributes().int_or("is_test", 0)? == 0 && (1..5).any(asked),
        7..14 => (1..5).any(asked),
        _ => call.attributes().int_or("training_mode", 0)? != 0,
    };
    let eps = f64::from(call.attributes().float_or("epsilon", 1e-5)?);
    let momentum = f64::from(call.attributes().float_or("momentum", 0.9)?);
    let spatial = call.version >= 9 || call.attributes().int_or("spatial", 1)? != 0;
    let wide = widened(&x);
    let parameter = |i: usize| -> Result<Array, OnnxError> { Ok(call.array(i)?.astype(wide.dtype())) };
    // Without `spatial`, each place of a channel has parameters of its own.
    let rest: Vec<isize> = x.shape()[1..].iter().map(|&n| n as isize).collect();
    let place = |v: &Array| match (spatial, rank) {
        (true, 2..) => along_channels(v, rank),
        (true, _) => v.reshape(&[-1]),
        (false, _) => v.reshape(&rest).expand_dims([0]),
    };
    let axes: Vec<isize> = if spatial { (0..rank as isize).filter(|&a| a != 1).collect() } else { vec![0] };
    let (given_mean, given_variance) = (parameter(3)?, parameter(4)?);
    let (mean, variance) = if training {
        let mean = wide.mean(&axes, true);
        let variance = (&wide - &mean).square().mean(&axes, true);
        (mean, variance)
    } else {
        (place(&given_mean), place(&given_variance))
    };
    let scale = place(&parameter(1)?) * (&variance + eps).rsqrt();
    let out = (&wide - &mean) * scale + place(&parameter(2)?);
    let out = out.astype(x.dtype());
    call.checked(&out)?;
    let mut results = vec![out.into()];
    if !training {
        return Ok(results);
    }
    let shape: Vec<isize> = given_mean.shape().iter().map(|&n| n as isize).collect();
    let saved = [mean.reshape(&shape), variance.reshape(&shape)];
    let running = [(&saved[0], &given_mean, 3), (&saved[1], &given_variance, 4)];
    for (now, before, from) in running {
        let next = before * momentum + now * (1.0 - momentum);
        results.push(next.astype(call.array(from)?.dtype()).into());
    }
    if call.version < 14 {
        results.extend(saved.map(|v| v.astype(x.dtype()).into()));
    }
    results.truncate(call.node.outputs.len());
    Ok(results)
}

/// Channels in groups, each group of one item of the batch normalised; scale
/// and bias per channel, or per group.
fn grouped(call: &Call<'_>, x: &Array, groups: usize, per_group: bool) -> Results {
    let shape: Vec<isize> = x.shape().iter().map(|&n| n as isize).collect();
    let channels = x.shape()[1];
    if groups == 0 || !channels.is_multiple_of(groups) {
        return Err(call.fails(format!("{channels} channels do not split into {groups} groups")));
    }
    let eps = f64::from(call.attributes().float_or("epsilon", 1e-5)?);
    let wide = widened(x);
    let size = if groups == 0 { 0 } else { x.size() / (x.shape()[0] * groups).max(1) };
    let flat = wide.reshape(&[shape[0], groups as isize, size as isize]);
    let one = Array::ones(&[size], wide.dtype());
    let normal = flat.layer_norm(&one, &Array::zeros(&[size], wide.dtype()), eps);
    let place = |v: Array| {
        let v = v.astype(wide.dtype());
        if per_group {
            let each = (channels / groups) as isize;
            let v = v.reshape(&[groups as isize, 1]).broadcast_to(&[groups, each as usize]);
            return along_channels(&v.reshape(&[-1]), shape.len());
        }
        along_channels(&v, shape.len())
    };
    let out = normal.reshape(&shape) * place(call.array(1)?) + place(call.array(2)?);
    call.one(out.astype(x.dtype()))
}

/// The axes from `axis` on as one last axis.
struct Rows {
    axis: usize,
    flat: Array,
    shape: Vec<isize>,
}

impl Rows {
    fn of(call: &Call<'_>, x: &Array) -> Result<Rows, OnnxError> {
        let axis = call.axis(call.attributes().int_or("axis", -1)?, x.ndim())?;
        let shape: Vec<isize> = x.shape().iter().map(|&n| n as isize).collect();
        let cols: isize = shape[axis..].iter().product();
        let mut flat = shape[..axis].to_vec();
        flat.push(cols);
        Ok(Rows { axis, flat: x.reshape(&flat), shape })
    }

    /// A weight over the last axis, when it does not vary along the others.
    fn weight(&self, weight: &Array) -> Option<Array> {
        let tail: Vec<usize> = self.shape[self.axis..].iter().map(|&n| n as usize).collect();
        let extra = weight.ndim().saturating_sub(tail.len());
        if weight.shape()[..extra].iter().any(|&n| n != 1) {
            return None;
        }
        let axes: Vec<isize> = (0..extra as isize).collect();
        let whole = weight.squeeze(&axes).broadcast_to(&tail);
        Some(whole.reshape(&[self.flat.shape().cols() as isize]))
    }
}

fn layer_normalization(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let rows = Rows::of(call, &x)?;
    let cols = rows.flat.shape().cols();
    let eps = f64::from(call.attributes().float_or("epsilon", 1e-5)?);
    let (scale, bias) = (call.array(1)?, call.optional(2)?);
    let zeros = || Array::zeros(&[cols], x.dtype());
    let fused = match &bias {
        None => rows.weight(&scale).map(|scale| (scale, zeros())),
        Some(bias) => rows.weight(&scale).zip(rows.weight(bias)),
    };
    let out = match fused {
        Some((scale, bias)) => rows.flat.layer_norm(&scale, &bias, eps).reshape(&rows.shape),
        None => {
            let normal = rows.flat.layer_norm(&Array::ones(&[cols], x.dtype()), &zeros(), eps);
            let scaled = normal.reshape(&rows.shape) * scale;
            bias.map_or(scaled.clone(), |bias| scaled + bias)
        }
    };
    call.checked(&out)?;
    let mut results = vec![out.into()];
    if call.node.outputs.iter().skip(1).any(|name| !name.is_empty()) {
        let stash = call.dtype_of(call.attributes().int_or("stash_type", 1)?)?;
        let wide = rows.flat.astype(stash);
        let mean = wide.mean([-1], true);
        let variance = (&wide - &mean).square().mean([-1], true);
        let inverse = (variance + eps).sqrt().reciprocal();
        let mut shape = rows.shape.clone();
        shape[rows.axis..].fill(1);
        results.extend([mean.reshape(&shape).into(), inverse.reshape(&shape).into()]);
    }
    Ok(results)
}

fn rms_normalization(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let rows = Rows::of(call, &x)?;
    let cols = rows.flat.shape().cols();
    let scale = call.array(1)?;
    let eps = f64::from(call.attributes().float_or("epsilon", 1e-5)?);
    let out = match rows.weight(&scale) {
        Some(weight) if weight.dtype() == x.dtype() => rows.flat.rms_norm(&weight, eps).reshape(&rows.shape),
        _ => {
            let normal = rows.flat.rms_norm(&Array::ones(&[cols], x.dtype()), eps);
            normal.reshape(&rows.shape).astype(scale.dtype()) * &scale
        }
    };
    call.one(out)
}

/// x / (bias + alpha / size · Σ x²)^beta, summed over neighbouring channels.
fn local_response_normalization(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let rank = x.ndim();
    channels(call, &x)?;
    let size = call.attributes().int("size")?;
    let size = usize::try_from(size).ok().filter(|&n| n > 0);
    let size = size.ok_or_else(|| call.fails("size must be positive"))?;
    let number = |name, default| call.attributes().float_or(name, default).map(f64::from);
    let (alpha, beta, bias) = (number("alpha", 1e-4)?, number("beta", 0.75)?, number("bias", 1.0)?);
    let wide = widened(&x);
    let mut windows = Windows {
        size: vec![1; rank],
        strides: vec![1; rank],
        padding: vec![(0, 0); rank],
        dilations: vec![1; rank],
    };
    windows.size[1] = size;
    windows.padding[1] = ((size - 1) / 2, size / 2);
    let sum = wide.square().reduce_windows(WindowOp::Sum, &windows);
    let base = sum * (alpha / size as f64) + bias;
    call.one((&wide / base.power(Array::full(&[], beta, DType::F32))).astype(x.dtype()))
}
