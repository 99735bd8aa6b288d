use oneir_array::{Array, DType, Indexing, PadMode, Sections, ops};

use crate::{assert_fails, floats, grid, ints, told, values};

fn zeros(shape: &[usize]) -> Array {
    Array::zeros(shape, DType::F32)
}

#[test]
fn dimensions_join_and_part() {
    assert_eq!(zeros(&[2, 3, 4]).flatten(0, -1).shape(), [24]);
    assert_eq!(zeros(&[2, 3, 4]).flatten(1, 9).shape(), [2, 12]);
    assert_eq!(Array::scalar(3i32).flatten(0, -1).shape(), [1]);
    assert_eq!(zeros(&[2, 0, 4]).flatten(0, 1).shape(), [0, 4]);
    assert_fails(&zeros(&[2, 3]).flatten(1, 0), "flatten", "dimensions 1 to 0 of shape [2, 3]");
    assert_eq!(zeros(&[6, 5]).unflatten(0, &[2, -1]).shape(), [2, 3, 5]);
    assert_fails(&zeros(&[6]).unflatten(0, &[4, -1]), "unflatten", "6 elements do not fill shape [4, -1]");
    assert_fails(&zeros(&[6]).unflatten(0, &[]), "unflatten", "at least one dimension");
    assert_fails(&zeros(&[4]).reshape(&[-1, -1]), "reshape", "[-1, -1]");
    assert_fails(&zeros(&[0]).reshape(&[0, -1]), "reshape", "[0, -1]");
    assert_fails(&zeros(&[4]).reshape(&[-2, -2]), "reshape", "[-2, -2]");
    assert_fails(&zeros(&[4]).reshape(&[isize::MAX, isize::MAX]), "reshape", "do not fill");
    assert_eq!(zeros(&[0]).reshape(&[0, 7]).shape(), [0, 7]);
    assert_eq!(Array::scalar(1f32).atleast_1d().shape(), [1]);
    assert_eq!(zeros(&[3]).atleast_2d().shape(), [1, 3]);
    assert_eq!(zeros(&[3]).atleast_3d().shape(), [1, 3, 1]);
    assert_eq!(zeros(&[2, 3]).atleast_3d().shape(), [2, 3, 1]);
    assert_eq!(zeros(&[1, 2, 3, 4]).atleast_3d().shape(), [1, 2, 3, 4]);
}

#[test]
fn axes_move() {
    let x = grid(&[2, 3, 4]);
    assert_eq!(x.moveaxis(0, -1).shape(), [3, 4, 2]);
    assert_eq!(x.moveaxis([2, 0], [0, 1]).shape(), [4, 2, 3]);
    assert_eq!(x.swapaxes(0, -1).shape(), [4, 3, 2]);
    assert_eq!(x.matrix_transpose().shape(), [2, 4, 3]);
    assert_eq!(ops::permute_dims(&x, ..).shape(), [4, 3, 2]);
    assert_eq!(values::<i32>(&grid(&[2, 2]).t()), [0, 2, 1, 3]);
    assert_fails(&x.moveaxis([0, 0], [0, 1]), "moveaxis", "axis 0 is named twice");
    assert_fails(&x.moveaxis([0, 1], 0), "moveaxis", "2 axes do not move to 1 places");
    assert_fails(&x.swapaxes(0, 3), "swapaxes", "axis 3");
    assert_fails(&ints(&[1]).matrix_transpose(), "matrix_transpose", "at least two dimensions");
}

#[test]
fn rolling() {
    let x = grid(&[2, 3]);
    assert_eq!(values::<i32>(&x.roll(1, ..)), [5, 0, 1, 2, 3, 4]);
    assert_eq!(values::<i32>(&x.roll([1, 2], ..)), [3, 4, 5, 0, 1, 2]);
    assert_eq!(values::<i32>(&x.roll([1, 2], [0, 1])), [4, 5, 3, 1, 2, 0]);
    assert_eq!(values::<i32>(&x.roll([1, 2], 0)), [3, 4, 5, 0, 1, 2]);
    assert_eq!(values::<i32>(&x.roll(1, [0, 0])), [0, 1, 2, 3, 4, 5]);
    assert_eq!(values::<i32>(&x.roll(isize::MIN, 1)).len(), 6);
    assert_eq!(zeros(&[0, 3]).roll(5, 0).shape(), [0, 3]);
    assert_fails(&x.roll([1, 2], [0, 1, 1]), "roll", "2 distances do not fit 3 axes");
    assert_fails(&x.roll(.., 0), "roll", "distances in numbers");
}

#[test]
fn slices_that_begin_where_data_says() {
    let x = grid(&[2, 3]);
    let at = |starts: &[i32]| ints(starts);
    assert_eq!(values::<i32>(&x.slice(&at(&[1]), 1, &[2, 1])), [1, 4]);
    assert_eq!(values::<i32>(&x.slice(&at(&[2, 1]), [1, 0], &[1, 1])), [5]);
    assert_eq!(values::<i32>(&x.slice(&at(&[9]), 1, &[2, 2])), [1, 2, 4, 5]);
    let update = Array::ones(&[1, 2], DType::F64);
    let out = zeros(&[3, 3]).slice_update(&update, &at(&[1, 1]), [1, 0]);
    assert_eq!(values::<f32>(&out), [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    assert_fails(&x.slice(&at(&[0, 0]), 1, &[1, 1]), "slice", "one start for each of 1 axes");
    assert_fails(&x.slice(&at(&[0]), 1, &[9, 1]), "slice", "[9, 1]");
    assert_fails(&x.slice(&floats(&[0.0]), 1, &[1, 1]), "slice", "integers");
}

#[test]
fn strided_views() {
    let x = Array::arange(6, DType::I32);
    assert_eq!(values::<i32>(&x.as_strided(&[2, 2], &[1, 2], 1)), [1, 3, 2, 4]);
    assert_eq!(values::<i32>(&x.as_strided(&[3], &[-2], 5)), [5, 3, 1]);
    assert_eq!(values::<i32>(&x.as_strided(&[], &[], 5)), [5]);
    assert_eq!(x.as_strided(&[0, 9], &[77, 1], 400).shape(), [0, 9]);
    assert_fails(&x.as_strided(&[4], &[2], 0), "as_strided", "reaches from 0 to 6, beyond 6 elements");
    assert_fails(&x.as_strided(&[2], &[-1], 0), "as_strided", "from -1 to 0");
    assert_fails(&x.as_strided(&[2], &[1, 1], 0), "as_strided", "2 strides");
    assert_fails(&x.as_strided(&[usize::MAX], &[isize::MAX], 0), "as_strided", "beyond");
    assert_eq!(values::<i32>(&grid(&[2, 2]).t().contiguous()), [0, 2, 1, 3]);
    assert_eq!(values::<i32>(&x.depends(&[zeros(&[3])])), [0, 1, 2, 3, 4, 5]);
    assert_fails(&x.depends(&[zeros(&[3]).reshape(&[2])]), "reshape", "3 elements");
}

#[test]
fn parts() {
    let x = Array::arange(5, DType::I32);
    let lists =
        |sections: Sections| -> Vec<Vec<i32>> { x.split(sections, 0).unwrap().iter().map(values).collect() };
    assert_eq!(lists([3, 1].into()), [vec![0, 1, 2], vec![], vec![1, 2, 3, 4]]);
    assert_eq!(lists([-2, 9].into()), [vec![0, 1, 2], vec![3, 4], vec![]]);
    assert_eq!(lists(Sections::At(vec![])), [vec![0, 1, 2, 3, 4]]);
    assert_eq!(lists(5.into()).len(), 5);
    assert_eq!(zeros(&[0]).split(3, 0).unwrap().len(), 3);
    told(x.split(2, 0), "split", "a size of 5 is not 2 equal parts");
    told(x.split(0, 0), "split", "0 equal parts");
    told(x.split(2, 1), "split", "axis 1");
    told(zeros(&[0]).split(usize::MAX, 0), "split", "equal parts");
    let rows = grid(&[2, 3]).unstack(0).unwrap();
    assert_eq!((rows.len(), values::<i32>(&rows[1])), (2, vec![3, 4, 5]));
    assert_eq!(zeros(&[2, 0]).unstack(1).unwrap().len(), 0);
    told(Array::scalar(1i32).unstack(0), "unstack", "axis 0");
}

#[test]
fn joins() {
    let (a, b) = (ints(&[1, 2]), floats(&[3.0, 4.0]));
    assert_eq!(values::<f32>(&Array::stack(&[a.clone(), b.clone()], 1)), [1.0, 3.0, 2.0, 4.0]);
    assert_eq!(Array::stack(&[a.clone(), a.clone()], -1).shape(), [2, 2]);
    assert_fails(&Array::stack(&[a.clone(), ints(&[1])], 0), "stack", "shapes [2] and [1] do not stack");
    assert_fails(&Array::stack(&[], 0), "stack", "nothing to join");
    assert_fails(&ops::concat(&[], 0), "concatenate", "nothing to join");
    let wide = Array::broadcast_arrays(&[a.clone(), Array::from_slice(&[5i32, 6, 7], &[3, 1])]).unwrap();
    assert_eq!((wide[0].shape().to_vec(), values::<i32>(&wide[1])), (vec![3, 2], vec![5, 5, 6, 6, 7, 7]));
    told(ops::broadcast_arrays(&[a.clone(), ints(&[1, 2, 3])]), "broadcast_arrays", "[2] and [3]");
    assert!(ops::broadcast_shapes(&[[2], [3]]).is_err());
    let lines = [a, ints(&[3, 4, 5])];
    let xy = Array::meshgrid(&lines, false, Indexing::Xy).unwrap();
    assert_eq!(values::<i32>(&xy[1]), [3, 3, 4, 4, 5, 5]);
    let ij = ops::meshgrid(&lines, true, Indexing::Ij).unwrap();
    assert_eq!((ij[0].shape().to_vec(), ij[1].shape().to_vec()), (vec![2, 1], vec![1, 3]));
    let mixed = [Array::scalar(1i32), ints(&[3, 4, 5]), zeros(&[2, 2])];
    assert_eq!(Array::meshgrid(&mixed, false, Indexing::Xy).unwrap()[2].shape(), [3, 1, 4]);
    assert!(Array::meshgrid(&[], false, Indexing::Xy).unwrap().is_empty());
}

#[test]
fn repetitions() {
    let x = grid(&[2, 2]);
    assert_eq!(values::<i32>(&x.repeat(2, ..)), [0, 0, 1, 1, 2, 2, 3, 3]);
    assert_eq!(values::<i32>(&x.repeat(2, 0)), [0, 1, 0, 1, 2, 3, 2, 3]);
    assert_eq!(Array::scalar(3i32).repeat(2, ..).shape(), [2]);
    assert_eq!(x.repeat(0, 1).shape(), [2, 0]);
    assert_fails(&x.repeat(usize::MAX, 1), "repeat", "more bytes");
    assert_eq!(values::<i32>(&ints(&[1, 2]).tile(&[2, 1, 2])), [1, 2, 1, 2, 1, 2, 1, 2]);
    assert_eq!(zeros(&[2, 3]).tile(&[2]).shape(), [2, 6]);
    assert_eq!(Array::scalar(3i32).tile(&[]).shape(), []);
    assert_eq!(zeros(&[2, 3]).tile(&[0, 1]).shape(), [0, 3]);
    assert_fails(&x.tile(&[usize::MAX, 2]), "tile", "more bytes");
}

#[test]
fn padding_by_every_mode() {
    let x = ints(&[1, 2, 3]);
    assert_eq!(values::<i32>(&x.pad((1, 2), PadMode::Constant, 7)), [7, 1, 2, 3, 7, 7]);
    assert_eq!(values::<i32>(&x.pad(1, PadMode::Constant, 1.5)), [1, 1, 2, 3, 1]);
    assert_eq!(values::<i32>(&x.pad(5, PadMode::Reflect, 0)), [2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2]);
    assert_eq!(values::<i32>(&x.pad(5, PadMode::Symmetric, 0)), [2, 3, 3, 2, 1, 1, 2, 3, 3, 2, 1, 1, 2]);
    assert_eq!(values::<i32>(&x.pad([(2, 1)], PadMode::Wrap, 0)), [2, 3, 1, 2, 3, 1]);
    assert_eq!(grid(&[2, 2]).pad([(1, 0), (0, 2)], PadMode::Edge, 0).shape(), [3, 4]);
    assert_eq!(values::<f32>(&floats(&[]).pad(1, PadMode::Constant, f32::NAN)).len(), 2);
    assert_fails(&floats(&[]).pad(1, PadMode::Edge, 0), "pad", "where an empty axis is padded");
    assert_fails(&x.pad([(1, 1), (1, 1)], PadMode::Edge, 0), "pad", "one size per axis");
    assert_fails(&x.pad(usize::MAX, PadMode::Edge, 0), "pad", "2^64");
    assert_fails(&x.pad(1, PadMode::Constant, &x), "pad", "one number to pad with");
}

#[test]
fn diagonals_and_triangles() {
    let x = grid(&[3, 4]);
    assert_eq!(values::<i32>(&x.diagonal(0, 0, 1)), [0, 5, 10]);
    assert_eq!(values::<i32>(&x.diagonal(2, 0, 1)), [2, 7]);
    assert_eq!(values::<i32>(&x.diagonal(-1, 0, 1)), [4, 9]);
    assert_eq!(values::<i32>(&x.diagonal(1, 1, 0)), [4, 9]);
    assert_eq!(x.diagonal(isize::MAX, 0, 1).shape(), [0]);
    assert_eq!(x.diagonal(isize::MIN, 0, 1).shape(), [0]);
    assert_eq!(zeros(&[2, 0, 0]).diagonal(0, 1, 2).shape(), [2, 0]);
    assert_eq!(values::<i32>(&grid(&[2, 3, 4]).diagonal(1, 0, 2)), [1, 14, 5, 18, 9, 22]);
    assert_fails(&x.diagonal(0, 1, 1), "diagonal", "axis 1 is named twice");
    assert_fails(&ints(&[1]).diagonal(0, 0, 1), "diagonal", "at least two dimensions");
    assert_eq!(values::<i32>(&ints(&[1, 2]).diag(1)), [0, 1, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(ints(&[]).diag(-2).shape(), [2, 2]);
    assert_fails(&ints(&[1]).diag(isize::MAX), "diag", "more bytes");
    assert_fails(&grid(&[1, 1, 1]).diag(0), "diag", "one or two dimensions");
    assert_eq!(values::<i32>(&x.tril(0)), [0, 0, 0, 0, 4, 5, 0, 0, 8, 9, 10, 0]);
    assert_eq!(values::<i32>(&x.triu(1)), [0, 1, 2, 3, 0, 0, 6, 7, 0, 0, 0, 11]);
    assert_eq!(values::<i32>(&x.tril(isize::MAX)), values::<i32>(&x));
    assert_eq!(values::<i32>(&x.triu(isize::MAX)), [0; 12]);
    assert_eq!(x.expand_dims(0).tril(0).shape(), [1, 3, 4]);
    assert_fails(&ints(&[1, 2]).tril(0), "tril", "at least two dimensions");
    let bytes = Array::from_slice(&[1i8, 2, 3, 4], &[2, 2]);
    assert_eq!(bytes.trace(0, 0, 1, None).item::<i32>().unwrap(), 5);
    assert_eq!(bytes.trace(1, 0, 1, DType::F32).item::<f32>().unwrap(), 2.0);
    assert_eq!(values::<i32>(&grid(&[2, 3, 2]).trace(0, 0, 2, None)), [7, 11, 15]);
}
