//! Gathers over dtypes, layouts, and indices that are negative or out of range.

use oneir_ir::Primitive;
use oneir_tensor::{DType, HostTensor};

use super::{Numbers, Stored, assert_close, devices, run};

fn check(primitive: &Primitive, inputs: &[HostTensor], kernel: &str) {
    let expected = primitive.evaluate(inputs).unwrap();
    for device in devices() {
        for stored in Stored::ALL {
            let given: Vec<_> = inputs.iter().map(|x| stored.put(&device, x)).collect();
            let (found, kernels) = run(&device, primitive, &given);
            assert_close(&expected, &found, 1.0, &format!("{primitive:?}, {stored:?}"));
            assert!(kernels.contains(&kernel), "{primitive:?}, {stored:?}: {kernels:?}");
        }
    }
}

#[test]
fn slices_and_elements_of_every_dtype() {
    let mut numbers = Numbers::new(37);
    for dtype in DType::COMPUTE {
        let source = numbers.tensor(dtype, &[9, 5, 7], 1.0);
        for index in [DType::U8, DType::U32, DType::U64, DType::I8, DType::I16, DType::I32, DType::I64] {
            let wanted = |shape: &[usize], numbers: &[i64]| {
                let values = oneir_tensor::Values::Signed(numbers.to_vec()).convert(index);
                HostTensor::from_values(index, shape, &values).unwrap()
            };
            let rows = wanted(&[2, 3], &[0, 8, -1, 99, -99, 4]);
            check(
                &Primitive::Gather { axes: vec![0], slice_sizes: vec![1, 5, 7] },
                &[source.clone(), rows.clone()],
                "gather",
            );
            let columns = wanted(&[2, 3], &[6, 0, -2, 3, 77, 1]);
            check(
                &Primitive::Gather { axes: vec![0, 2], slice_sizes: vec![2, 3, 1] },
                &[source.clone(), rows, columns],
                "gather",
            );
            let along = wanted(&[9, 2, 7], &(0..126).map(|i| (i * 5) % 13 - 6).collect::<Vec<_>>());
            check(&Primitive::GatherAxis { axis: 1 }, &[source.clone(), along], "gather_axis");
        }
    }
}

#[test]
fn rows_of_a_large_table_on_several_threads() {
    let mut numbers = Numbers::new(41);
    let table = numbers.tensor(DType::F32, &[300, 64], 1.0);
    let wanted: Vec<i64> = (0..4000).map(|i| (i * 37) % 300).collect();
    let wanted = HostTensor::from_slice(&[4000], &wanted).unwrap();
    check(&Primitive::Gather { axes: vec![0], slice_sizes: vec![1, 64] }, &[table.clone(), wanted], "gather");
    let along: Vec<i32> = (0..1000 * 64).map(|i| (i * 11) % 300).collect();
    let along = HostTensor::from_slice(&[1000, 64], &along).unwrap();
    check(&Primitive::GatherAxis { axis: 0 }, &[table, along], "gather_axis");
}
