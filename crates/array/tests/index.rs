//! Reads and changes of parts, against an element-by-element model.

use oneir_array::{Array, DType, Ellipsis, IndexItem, NewAxis, ix};
use oneir_cpu as _;

fn numbers(shape: &[usize]) -> Array {
    let shape: Vec<isize> = shape.iter().map(|&n| n as isize).collect();
    let count: isize = shape.iter().product();
    Array::arange(count as usize, DType::I32).reshape(&shape)
}

fn places(all: &[i64], shape: &[usize]) -> Array {
    Array::from_slice(all, shape)
}

#[test]
fn layouts_are_numpys() {
    let x = numbers(&[2, 3, 4, 5]);
    let i = places(&[0, 1, 1], &[3]);
    let table = places(&[0, -1, 1, 0, 1, 2], &[2, 3]);
    let shapes = [
        (ix![], vec![2, 3, 4, 5]),
        (ix![0], vec![3, 4, 5]),
        (ix![-1, .., 2], vec![3, 5]),
        (ix![.., 1..=1, ..;-1], vec![2, 1, 4, 5]),
        (ix![NewAxis, .., NewAxis], vec![1, 2, 1, 3, 4, 5]),
        (ix![Ellipsis, NewAxis], vec![2, 3, 4, 5, 1]),
        (ix![Ellipsis, 0, ..2], vec![2, 3, 2]),
        (ix![&i], vec![3, 3, 4, 5]),
        (ix![.., &table], vec![2, 2, 3, 4, 5]),
        // Side by side: where the first stands.
        (ix![.., &table, &i], vec![2, 2, 3, 5]),
        (ix![.., &i, 1, ..2], vec![2, 3, 2]),
        // Apart: in front.
        (ix![&i, .., &table], vec![2, 3, 3, 5]),
        (ix![0, .., &i], vec![3, 3, 5]),
        (ix![.., &i, NewAxis, &i], vec![3, 2, 1, 5]),
        (ix![NewAxis, &i], vec![1, 3, 3, 4, 5]),
        (ix![.., NewAxis, &i, &i], vec![2, 1, 3, 5]),
        (ix![5.., 2..1], vec![0, 0, 4, 5]),
        (ix![-100..100; 7], vec![1, 3, 4, 5]),
    ];
    for (index, shape) in shapes {
        let found = x.index(index.clone());
        assert_eq!(found.shape(), shape[..], "{index:?}: {found:?}");
        // What is written can be read.
        let count: usize = shape.iter().product();
        let sizes: Vec<isize> = shape.iter().map(|&n| n as isize).collect();
        let same = x.at(index.clone()).set(&found);
        assert_eq!(same.to_vec::<i32>().unwrap(), x.to_vec::<i32>().unwrap(), "{index:?}");
        let marks = Array::full(&[], 7.0, DType::I32).broadcast_to(&shape);
        let marked = x.at(index.clone()).set(&marks).index(index.clone());
        assert_eq!(marked.to_vec::<i32>().unwrap(), vec![7; count], "{index:?}");
        assert_eq!(found.reshape(&sizes).size(), count);
    }
}

#[test]
fn values_are_numpys() {
    let x = numbers(&[3, 4]);
    let of = |index: Vec<IndexItem>| x.index(index).to_vec::<i32>().unwrap();
    assert_eq!(of(ix![1, ..;-1]), [7, 6, 5, 4]);
    assert_eq!(of(ix![..;-2, 1]), [9, 1]);
    assert_eq!(of(ix![-2.., -1]), [7, 11]);
    assert_eq!(of(ix![1..; -1, 0]), [4, 0]);
    let (rows, columns) = (places(&[0, -1, 1], &[3]), places(&[3, 0, 2], &[3]));
    assert_eq!(of(ix![&rows, &columns]), [3, 8, 6]);
    assert_eq!(of(ix![rows.reshape(&[3, 1]), ..2]), [0, 1, 8, 9, 4, 5]);
    let holds = x.remainder(5).equal(0);
    assert_eq!(of(ix![holds]), [0, 5, 10]);
    let wanted = Array::from_slice(&[true, false, true], &[3]);
    assert_eq!(of(ix![&wanted, -1]), [3, 11]);
    assert_eq!(of(ix![Array::from_slice(&[false; 3], &[3])]), [0i32; 0]);
    assert_eq!(x.index(Array::from_slice(&[false; 3], &[3])).shape(), [0, 4]);
}

#[test]
fn changes_count_every_occurrence() {
    let x = Array::zeros(&[4], DType::F32);
    let at = places(&[1, 1, -1], &[3]);
    let ones = Array::ones(&[3], DType::F32);
    let of = |a: Array| a.to_vec::<f32>().unwrap();
    assert_eq!(of(x.at(&at).add(&ones)), [0.0, 2.0, 0.0, 1.0]);
    assert_eq!(of(x.at(&at).subtract(&ones)), [0.0, -2.0, 0.0, -1.0]);
    let values = Array::from_slice(&[2f32, 5.0, 4.0], &[3]);
    assert_eq!(of(x.at(&at).set(&values)), [0.0, 5.0, 0.0, 4.0]);
    let full = Array::full(&[4], 20.0, DType::F32);
    assert_eq!(of(full.at(&at).multiply(&values)), [20.0, 200.0, 20.0, 80.0]);
    assert_eq!(of(full.at(&at).divide(&values)), [20.0, 2.0, 20.0, 5.0]);
    assert_eq!(of(full.at(&at).minimum(&values)), [20.0, 2.0, 20.0, 4.0]);
    assert_eq!(of(x.at(&at).maximum(&values)), [0.0, 5.0, 0.0, 4.0]);
    assert_eq!(of(x.at(ix![1..; 2]).add(3)), [0.0, 3.0, 0.0, 3.0]);
    assert_eq!(of(full.at(full.greater(5)).set(1.5)), [1.5; 4]);
    // A value's leading dimensions of size 1 do not matter.
    assert_eq!(of(x.at(2..).set(Array::ones(&[1, 1, 2], DType::F32))), [0.0, 0.0, 1.0, 1.0]);
}

#[test]
fn senseless_indices_are_refused_by_name() {
    let x = numbers(&[3, 4]);
    for (index, text) in [
        (ix![3], "index 3 is out of range for axis 0 of size 3"),
        (ix![.., -5], "index -5 is out of range for axis 1 of size 4"),
        (ix![places(&[0, 7], &[2])], "index 7 is out of range for axis 0 of size 3"),
        (ix![0, 0, 0], "3 dimensions are indexed, there are 2 in shape [3, 4]"),
        (ix![Ellipsis, Ellipsis], "one ellipsis at most"),
        (ix![..; 0], "the step of a range in an index is 0"),
        (ix![Array::ones(&[2], DType::F32)], "integers or bools, found f32"),
        (ix![places(&[0, 1], &[2]), places(&[0, 1, 2], &[3])], "[2]"),
        (ix![Array::from_slice(&[true; 2], &[2])], "boolean"),
    ] {
        let read = x.index(index.clone()).check().unwrap_err().to_string();
        assert!(read.contains(text) && read.contains("index.rs"), "{index:?}: {read}");
        let write = x.at(index).set(1).check().unwrap_err().to_string();
        assert!(write.contains(text), "{write}");
    }
    let misfit = x.at(0).set(Array::ones(&[3], DType::I32)).check().unwrap_err().to_string();
    assert!(misfit.contains("[3]") && misfit.contains("[4]"), "{misfit}");
    // The first failure stays the one that is told.
    let failed = x.index(9);
    let later = x.index(&failed).check().unwrap_err().to_string();
    assert!(later.contains("index 9"), "{later}");
}
