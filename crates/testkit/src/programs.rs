use oneir_ir::{BinaryOp, Invalid, Primitive, ReduceOp, Spec, UnaryOp, Value};
use oneir_ir::{Place, Real};
use oneir_tensor::{DType, HostTensor};

/// A small generator of numbers: the same seed gives the same numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator from a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.bits() >> 33) as usize) % n.max(1)
    }

    /// One of some choices.
    pub fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}

/// A random program over small float arrays: views, element-wise functions,
/// reductions, products, joins, norms. Its arguments and its results.
///
/// # Errors
/// Never, for the calls that it makes; a primitive that refuses them is at
/// fault.
pub fn program(seed: u64, steps: usize) -> Result<(Vec<Value>, Vec<Value>), Invalid> {
    let mut random = Random::new(seed);
    let shapes: [&[usize]; 4] = [&[2, 3], &[3, 4], &[2, 1, 3], &[4]];
    let inputs: Vec<Value> =
        shapes.iter().map(|shape| Value::placeholder(Spec::new(DType::F32, *shape))).collect();
    let mut values = inputs.clone();
    for _ in 0..steps {
        let x = random.of(&values).clone();
        if let Some(next) = step(&mut random, &x, &values)? {
            values.push(next);
        }
    }
    let made = values.len() - inputs.len();
    let mut outputs: Vec<Value> = values[inputs.len()..].last().into_iter().cloned().collect();
    for _ in 0..2 {
        if made > 0 {
            outputs.push(values[inputs.len() + random.below(made)].clone());
        }
    }
    Ok((inputs, outputs))
}

fn record(primitive: Primitive, inputs: &[&Value]) -> Result<Option<Value>, Invalid> {
    Value::record(primitive, inputs, Place::Internal).map(Some)
}

fn step(random: &mut Random, x: &Value, values: &[Value]) -> Result<Option<Value>, Invalid> {
    let shape = x.spec().shape.clone();
    let rank = shape.rank();
    if shape.count() > 4096 {
        return Ok(None);
    }
    match random.below(14) {
        0 | 1 => {
            let ops =
                [UnaryOp::Tanh, UnaryOp::Sigmoid, UnaryOp::Abs, UnaryOp::Sin, UnaryOp::Neg, UnaryOp::Erf];
            x.unary(*random.of(&ops)).map(Some)
        }
        2..=4 => {
            let same: Vec<&Value> = values.iter().filter(|v| v.spec().shape == shape).collect();
            let other = (*random.of(&same)).clone();
            let ops =
                [BinaryOp::Add, BinaryOp::Subtract, BinaryOp::Multiply, BinaryOp::Maximum, BinaryOp::Minimum];
            x.binary(*random.of(&ops), &other).map(Some)
        }
        5 => {
            let number = *random.of(&[0.0, 1.0, -1.0, 0.5, 2.0]);
            let constant = x.filled_like(number)?;
            let op = *random.of(&[BinaryOp::Add, BinaryOp::Multiply, BinaryOp::Maximum]);
            if random.below(2) == 0 {
                x.binary(op, &constant).map(Some)
            } else {
                constant.binary(op, x).map(Some)
            }
        }
        6 if rank > 1 => {
            let mut axes: Vec<usize> = (0..rank).collect();
            let (a, b) = (random.below(rank), random.below(rank));
            axes.swap(a, b);
            x.transpose(&axes).map(Some)
        }
        7 if rank > 0 => {
            let axis = random.below(rank);
            if shape[axis] == 0 {
                return Ok(None);
            }
            let len = 1 + random.below(shape[axis]);
            let mut start = vec![0; rank];
            let mut step = vec![1; rank];
            if random.below(2) == 0 {
                (start[axis], step[axis]) = (len - 1, -1);
            }
            record(Primitive::Slice { start, step, len: shape.with(axis, len).to_vec() }, &[x])
        }
        8 => {
            let flat = shape.count();
            let to = if flat.is_multiple_of(2) { vec![2, flat / 2] } else { vec![flat, 1] };
            x.reshape(&to).map(Some)
        }
        9 if rank > 0 => {
            let axis = random.below(rank);
            let op = *random.of(&[ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min]);
            if shape[axis] == 0 {
                return Ok(None);
            }
            let reduced = x.reduce(op, &[axis])?;
            if random.below(2) == 0 { reduced.broadcast(&shape).map(Some) } else { Ok(Some(reduced)) }
        }
        10 if rank == 2 => {
            let fits: Vec<&Value> =
                values.iter().filter(|v| v.spec().rank() == 2 && v.spec().shape[0] == shape[1]).collect();
            if fits.is_empty() {
                Ok(None)
            } else {
                {
                    let other = fits[random.below(fits.len())];
                    x.matmul(other).map(Some)
                }
            }
        }
        11 if rank > 0 => {
            let axis = random.below(rank);
            if shape[axis] > 64 {
                return Ok(None);
            }
            record(Primitive::Concatenate { axis }, &[x, x])
        }
        12 if rank > 0 => {
            use oneir_ir::fast::{FastOp, Softmax};
            record(Primitive::Fast(FastOp::from(Softmax { axis: rank - 1 })), &[x])
        }
        13 if rank > 0 => {
            use oneir_ir::fast::{FastOp, RmsNorm};
            let weight = HostTensor::from_slice(&[shape.cols()], &vec![1.5f32; shape.cols()])?;
            let class = FastOp::from(RmsNorm { eps: Real::new(1e-3) });
            record(Primitive::Fast(class), &[x, &Value::constant(weight)])
        }
        _ => Ok(None),
    }
}
