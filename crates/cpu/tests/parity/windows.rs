//! Padding and windows over many geometries and layouts.

use oneir_ir::primitive::PadMode;
use oneir_ir::{Primitive, ReduceOp};
use oneir_runtime::Numerics;
use oneir_tensor::{DType, HostTensor, Values};

use super::{Numbers, Stored, assert_close, device, run};

#[test]
fn padding_of_every_mode_and_dtype() {
    let mut numbers = Numbers::new(43);
    let devices = [device(1, Numerics::Fast, true), device(2, Numerics::Fast, true)];
    let mut fast = 0;
    for round in 0..120 {
        let rank = 1 + numbers.below(4);
        let mode = [PadMode::Constant, PadMode::Edge, PadMode::Wrap, PadMode::Reflect, PadMode::Symmetric]
            [round % 5];
        let least = usize::from(mode != PadMode::Constant);
        let shape: Vec<usize> = (0..rank).map(|_| least + numbers.below(5)).collect();
        let mut pick = || (0..rank).map(|_| numbers.below(7)).collect::<Vec<_>>();
        let primitive = Primitive::Pad { low: pick(), high: pick(), mode };
        for dtype in [DType::F32, DType::F16, DType::U8, DType::I64, DType::Bool, DType::Complex64] {
            let mut inputs = vec![numbers.tensor(dtype, &shape, 3.0)];
            if mode == PadMode::Constant {
                let one = Values::Float(vec![1.0]).convert(dtype);
                inputs.push(HostTensor::from_values(dtype, &[], &one).unwrap());
            }
            let expected = primitive.evaluate(&inputs).unwrap();
            for stored in Stored::ALL {
                for device in &devices {
                    let given: Vec<_> = inputs.iter().map(|x| stored.put(device, x)).collect();
                    let (found, kernels) = run(device, &primitive, &given);
                    let what = format!("round {round}, {primitive:?}, {dtype}{shape:?}, {stored:?}");
                    assert_close(&expected, &found, 0.0, &what);
                    fast += usize::from(kernels.contains(&"pad"));
                }
            }
        }
    }
    assert!(fast > 2000, "only {fast} took the fast kernel");
}

#[test]
fn windows_of_many_geometries() {
    let mut numbers = Numbers::new(47);
    let devices = [device(1, Numerics::Fast, true), device(2, Numerics::Exact, true)];
    let mut fast = 0;
    for round in 0..150 {
        let rank = 1 + numbers.below(4);
        let outer = rank.saturating_sub(2);
        let mut pick = |low: usize, more: usize, still: usize| -> Vec<usize> {
            (0..rank).map(|d| if d < outer { still } else { low + numbers.below(more) }).collect()
        };
        let (window, strides, dilations) = (pick(1, 4, 1), pick(1, 3, 1), pick(1, 2, 1));
        let (low, high) = (pick(0, 4, 0), pick(0, 4, 0));
        let shape: Vec<usize> = (0..rank)
            .map(|d| (window[d] - 1) * dilations[d] + 1)
            .zip(pick(0, 6, 2))
            .map(|(a, b)| a + b)
            .collect();
        let op = [ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min][round % 3];
        let primitive = Primitive::WindowReduce { op, window, strides, low, high, dilations };
        let mut x = numbers.tensor(DType::F32, &shape, 1.0);
        if round % 5 == 0 && x.count() > 3 {
            let mut values = x.to_vec::<f32>().unwrap();
            values[2] = f32::NAN;
            x = HostTensor::from_slice(&shape, &values).unwrap();
        }
        let inputs = [x];
        let expected = primitive.evaluate(&inputs).unwrap();
        for stored in Stored::ALL {
            for device in &devices {
                let given: Vec<_> = inputs.iter().map(|x| stored.put(device, x)).collect();
                let (found, kernels) = run(device, &primitive, &given);
                assert_close(&expected, &found, 4.0, &format!("round {round}, {primitive:?}, {stored:?}"));
                fast += usize::from(kernels.contains(&"windows"));
            }
        }
    }
    assert!(fast > 600, "only {fast} took the fast kernel");
}
