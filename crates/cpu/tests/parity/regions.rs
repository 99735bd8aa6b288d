//! Random regions over random dtypes, shapes and layouts.

use oneir_ir::graph::{Region, RegionStep, StepArg};
use oneir_ir::primitive::StepOp;
use oneir_ir::{BinaryOp, Place, Primitive, Spec, UnaryOp, Value};
use oneir_tensor::{DType, HostTensor};

use super::{Numbers, Stored, assert_close, devices, put_as_it_lies, run, run_values};

const SHAPES: &[&[usize]] = &[
    &[],
    &[1],
    &[7],
    &[1500],
    &[3, 5],
    &[2, 3, 4],
    &[40, 70],
    &[5, 300],
    &[3, 1, 33, 17],
    &[0, 4],
    &[2, 40, 3, 20],
];

fn dtypes() -> Vec<DType> {
    DType::COMPUTE.into_iter().filter(|d| !d.is_complex()).collect()
}

/// Whether rounding differences of the arguments make the results incomparable.
fn jumps(op: StepOp) -> bool {
    use BinaryOp::{
        Equal, FloorDivide, Fmod, Greater, GreaterEqual, Less, LessEqual, NotEqual, Power, Remainder,
    };
    use UnaryOp::{
        ArcCos, ArcCosh, ArcSin, ArcTanh, Ceil, Digamma, Floor, IsInf, IsNan, LogGamma, LogicalNot,
        Reciprocal, Round, Rsqrt, Sign, Sqrt, Tan, Trigamma, Trunc,
    };
    match op {
        StepOp::Binary(op) => {
            matches!(
                op,
                Equal
                    | NotEqual
                    | Less
                    | LessEqual
                    | Greater
                    | GreaterEqual
                    | FloorDivide
                    | Remainder
                    | Fmod
                    | Power
            ) || matches!(
                op,
                BinaryOp::LogicalAnd | BinaryOp::LogicalOr | BinaryOp::Divide | BinaryOp::ArcTan2
            )
        }
        StepOp::Unary(op) => {
            matches!(
                op,
                Floor
                    | Ceil
                    | Round
                    | Trunc
                    | Sign
                    | IsInf
                    | IsNan
                    | LogicalNot
                    | Tan
                    | LogGamma
                    | Digamma
                    | Trigamma
                    | Reciprocal
                    | Rsqrt
                    | Sqrt
                    | ArcCos
                    | ArcCosh
                    | ArcSin
                    | ArcTanh
            ) || matches!(
                op,
                UnaryOp::Exp
                    | UnaryOp::Expm1
                    | UnaryOp::Sinh
                    | UnaryOp::Cosh
                    | UnaryOp::ErfInv
                    | UnaryOp::Log
                    | UnaryOp::Log2
                    | UnaryOp::Log10
                    | UnaryOp::Log1p
                    | UnaryOp::Sin
                    | UnaryOp::Cos
                    | UnaryOp::Square
            )
        }
        StepOp::AsType(to) => !to.is_inexact(),
        _ => false,
    }
}

#[test]
fn every_function_of_every_dtype() {
    let devices = devices();
    let mut numbers = Numbers::new(5);
    for dtype in dtypes() {
        let shape = [3, 41];
        let a = numbers.tensor(dtype, &shape, if dtype.is_float() { 3.0 } else { 150.0 });
        let b = numbers.tensor(dtype, &shape, if dtype.is_float() { 3.0 } else { 6.0 });
        let edge = edges(dtype);
        let mut cases: Vec<(Primitive, Vec<HostTensor>)> = Vec::new();
        for &op in UnaryOp::ALL.iter().filter(|op| op.result(dtype).is_ok()) {
            cases.push((Primitive::Unary(op), vec![a.clone()]));
            cases.push((Primitive::Unary(op), vec![edge.clone()]));
        }
        for &op in BinaryOp::ALL.iter().filter(|op| op.result(dtype).is_ok()) {
            cases.push((Primitive::Binary(op), vec![a.clone(), b.clone()]));
            // Every pair of edges.
            let n = edge.count();
            let rows = edge.reshape(&[n, 1]).unwrap().broadcast(&[n, n]).unwrap();
            let columns = edge.broadcast(&[n, n]).unwrap();
            cases.push((Primitive::Binary(op), vec![rows, columns]));
        }
        for to in dtypes() {
            cases.push((Primitive::AsType(to), vec![a.clone()]));
            cases.push((Primitive::AsType(to), vec![edge.clone()]));
        }
        for (primitive, inputs) in cases {
            let mut what = format!("{dtype} ");
            primitive.write(&mut what);
            let expected = primitive.evaluate(&inputs).unwrap();
            for device in &devices[..2] {
                let given: Vec<_> = inputs.iter().map(|x| put_as_it_lies(device, x)).collect();
                let (found, kernels) = run(device, &primitive, &given);
                assert_close(&expected, &found, 2.0, &what);
                assert!(kernels.iter().all(|k| *k != "reference"), "{what}: {kernels:?}");
            }
        }
    }
}

/// The numbers at which functions go wrong.
fn edges(dtype: DType) -> HostTensor {
    let numbers = if dtype.is_float() {
        vec![
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -0.5,
            2.5,
            -2.5,
            1e-40,
            200.0,
            -200.0,
            3e4,
            7.0,
            -7.0,
        ]
    } else if dtype == DType::Bool {
        vec![0.0, 1.0]
    } else {
        vec![0.0, 1.0, -1.0, 2.0, -2.0, 7.0, -7.0, 31.0, 63.0, 64.0, 127.0, -128.0, 1e30, -1e30]
    };
    let count = numbers.len();
    let values = oneir_tensor::Values::Float(numbers).convert(dtype);
    HostTensor::from_values(dtype, &[count], &values).unwrap()
}

#[test]
fn random_regions_give_what_their_steps_give() {
    let devices = devices();
    for seed in 0..200 {
        let mut numbers = Numbers::new(seed + 1);
        let shape = SHAPES[numbers.below(SHAPES.len())];
        let inputs: Vec<HostTensor> = (0..1 + numbers.below(4))
            .map(|_| {
                let dtype = dtypes()[numbers.below(13)];
                // Some dimensions are repeated.
                let kept: Vec<usize> =
                    shape.iter().map(|&n| if n > 0 && numbers.below(4) == 0 { 1 } else { n }).collect();
                numbers.tensor(dtype, &kept, 3.0).broadcast(shape).unwrap()
            })
            .collect();
        let region = random_region(&mut numbers, &inputs);
        // Recorded step by step: fusion makes the region.
        let arguments: Vec<Value> =
            inputs.iter().map(|x| Value::placeholder(Spec::new(x.dtype(), x.shape().clone()))).collect();
        let mut made: Vec<Value> = Vec::new();
        for step in &region.steps {
            let args: Vec<&Value> = step
                .args
                .iter()
                .map(|arg| match arg {
                    StepArg::Input(i) => &arguments[*i as usize],
                    StepArg::Step(i) => &made[*i as usize],
                })
                .collect();
            let value = Value::record(step.primitive(), &args, Place::Internal).unwrap();
            made.push(value);
        }
        let outputs: Vec<Value> = region.outputs.iter().map(|&i| made[i as usize].clone()).collect();
        let primitive = Primitive::Compiled(region);
        let mut what = format!("seed {seed}, shape {shape:?}: ");
        primitive.write(&mut what);
        let expected = primitive.evaluate(&inputs).unwrap();
        for (at, device) in devices.iter().enumerate() {
            let given: Vec<_> = inputs
                .iter()
                .map(|x| {
                    let stored = Stored::ALL[numbers.below(4)];
                    if x.layout().is_row_contiguous() {
                        stored.put(device, x)
                    } else {
                        put_as_it_lies(device, x)
                    }
                })
                .collect();
            let (found, kernels) = run_values(device, &arguments, &outputs, &given);
            assert_close(&expected, &found, 4.0, &format!("{what}, device {at}"));
            assert!(!kernels.contains(&"reference"), "{what}: {kernels:?}");
        }
    }
}

fn random_region(numbers: &mut Numbers, inputs: &[HostTensor]) -> Region {
    let mut types: Vec<(StepArg, DType)> =
        inputs.iter().enumerate().map(|(i, x)| (StepArg::Input(i as u32), x.dtype())).collect();
    let mut steps: Vec<RegionStep> = Vec::new();
    while steps.len() < 2 + numbers.below(10) {
        let (arg, dtype) = types[numbers.below(types.len())];
        let partner = |numbers: &mut Numbers, types: &[(StepArg, DType)]| {
            let same: Vec<StepArg> = types.iter().filter(|t| t.1 == dtype).map(|t| t.0).collect();
            same[numbers.below(same.len())]
        };
        let (op, args, made) = match numbers.below(4) {
            0 => {
                let op = UnaryOp::ALL[numbers.below(UnaryOp::ALL.len())];
                let Ok(made) = op.result(dtype) else { continue };
                (StepOp::Unary(op), vec![arg], made)
            }
            1 => {
                let op = BinaryOp::ALL[numbers.below(BinaryOp::ALL.len())];
                let Ok(made) = op.result(dtype) else { continue };
                (StepOp::Binary(op), vec![arg, partner(numbers, &types)], made)
            }
            2 => {
                let Some(&(condition, _)) = types.iter().find(|t| t.1 == DType::Bool) else { continue };
                (StepOp::Select, vec![condition, arg, partner(numbers, &types)], dtype)
            }
            _ => {
                let to = dtypes()[numbers.below(13)];
                (StepOp::AsType(to), vec![arg], to)
            }
        };
        // Where a step's result jumps or grows, only exact arguments compare.
        let exact = args.iter().all(|arg| matches!(arg, StepArg::Input(_)));
        if jumps(op) && dtype.is_inexact() && !exact {
            continue;
        }
        types.push((StepArg::Step(steps.len() as u32), made));
        steps.push(RegionStep { op, args });
    }
    // A region has no step that nothing reads.
    let read = |i: u32| steps.iter().any(|s| s.args.contains(&StepArg::Step(i)));
    let mut outputs: Vec<u32> = (0..steps.len() as u32).filter(|&i| !read(i)).collect();
    if numbers.below(2) == 0 {
        outputs.insert(0, numbers.below(steps.len()) as u32);
    }
    outputs.dedup();
    Region { inputs: inputs.len() as u32, steps, outputs }
}

#[test]
fn results_take_the_memory_of_operands() {
    for device in devices() {
        let mut numbers = Numbers::new(9);
        let x = numbers.tensor(DType::F32, &[70, 50], 1.0);
        // A chain that cannot fuse: a reduction reads every link.
        let leaf = Value::placeholder(Spec::new(DType::F32, [70, 50]));
        let y = leaf.unary(UnaryOp::Tanh).unwrap();
        let top = y.reduce(oneir_ir::ReduceOp::Max, &[0]).unwrap().broadcast(&[70, 50]).unwrap();
        let z = y.subtract(&top).unwrap().unary(UnaryOp::Exp).unwrap().multiply(&y).unwrap();
        let back = z.transpose(&[1, 0]).unwrap();
        let w = back.add(&back).unwrap();
        let want = oneir_ir::Cut::new(std::slice::from_ref(&leaf), std::slice::from_ref(&w)).lift().unwrap();
        let want = oneir_ir::reference::run(&want.graph, std::slice::from_ref(&x)).unwrap();
        let given = [device.put(&x).unwrap()];
        let (found, _) = run_values(&device, &[leaf], &[w], &given);
        assert_close(&want, &found, 2.0, "a chain in place");
    }
}
