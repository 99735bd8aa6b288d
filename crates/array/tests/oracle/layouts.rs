//! The same operands in other storage: what an operation gives must not depend on how
//! they lie.

use oneir_array::{Array, HostTensor};

/// How operands lie in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Storage {
    /// As they were recorded, and known while recording.
    Recorded,
    /// The first axis closest together.
    Turned,
    /// From the last element to the first.
    Reversed,
    /// Every other element, of every axis, in a larger array.
    Spread,
    /// In row order, from the fourth element of a buffer on.
    Shifted,
    /// Once where an axis holds the same items all over.
    Repeated,
}

pub(crate) const ALL: [Storage; 6] = [
    Storage::Recorded,
    Storage::Turned,
    Storage::Reversed,
    Storage::Spread,
    Storage::Shifted,
    Storage::Repeated,
];

/// The place of a flat index in a shape.
fn place(mut flat: usize, shape: &[usize]) -> Vec<usize> {
    let mut place = vec![0; shape.len()];
    for (at, &n) in place.iter_mut().zip(shape).rev() {
        (*at, flat) = (flat % n, flat / n);
    }
    place
}

/// The tensor of a shape whose element at each place is that of `x` at `from(place)`.
fn drawn(x: &HostTensor, shape: &[usize], from: impl Fn(&[usize]) -> Vec<usize>) -> HostTensor {
    let (bytes, size) = (x.bytes(), x.dtype().size().unwrap());
    let mut out = Vec::new();
    for flat in 0..shape.iter().product() {
        let found = from(&place(flat, shape));
        let at = found.iter().zip(&x.shape()[..]).fold(0, |at, (&i, &n)| at * n + i) * size;
        out.extend_from_slice(&bytes[at..at + size]);
    }
    HostTensor::from_bytes(x.dtype(), shape, &out).unwrap()
}

/// The axes along which all items are the same.
fn constant_axes(x: &HostTensor) -> Vec<usize> {
    let (bytes, size, shape) = (x.bytes(), x.dtype().size().unwrap(), x.shape());
    let same = |axis: usize| {
        let (after, n): (usize, usize) = (shape[axis + 1..].iter().product::<usize>() * size, shape[axis]);
        bytes.chunks(after * n).all(|line| line.chunks(after).all(|item| item == &line[..after]))
    };
    (0..shape.rank()).filter(|&axis| shape[axis] > 1 && same(axis)).collect()
}

/// The array, lying so; nothing where that is how it lies anyway.
fn stored(x: &HostTensor, storage: Storage) -> Option<Array> {
    let shape = x.shape().to_vec();
    let (rank, count) = (shape.len(), x.shape().count());
    if count < 2 {
        return None;
    }
    let plain = Array::from_host;
    match storage {
        Storage::Recorded => None,
        Storage::Turned => {
            let turned: Vec<usize> = shape.iter().rev().copied().collect();
            let base = drawn(x, &turned, |at| at.iter().rev().copied().collect());
            (rank > 1).then(|| plain(base).transpose((0..rank as isize).rev().collect::<Vec<_>>()))
        }
        Storage::Reversed => {
            let last: Vec<usize> = shape.iter().map(|n| n - 1).collect();
            let base = drawn(x, &shape, |at| at.iter().zip(&last).map(|(i, last)| last - i).collect());
            Some(plain(base).strided_slice(&last, &vec![-1; rank], &shape))
        }
        Storage::Spread => {
            // Between the elements are others, not the neighbours.
            let from = |at: &[usize]| {
                let one = |(&i, &n): (&usize, &usize)| if i % 2 == 1 { i / 2 } else { (n - 1) - (i / 2) % n };
                at.iter().zip(&shape).map(one).collect()
            };
            let wide: Vec<usize> = shape.iter().map(|n| 2 * n + 1).collect();
            Some(plain(drawn(x, &wide, from)).strided_slice(&vec![1; rank], &vec![2; rank], &shape))
        }
        Storage::Shifted => {
            let base = drawn(x, &[count + 3], |at| place((at[0] + 2 * count - 3 % count) % count, &shape));
            let sizes: Vec<isize> = shape.iter().map(|&n| n as isize).collect();
            Some(plain(base).strided_slice(&[3], &[1], &[count]).reshape(&sizes))
        }
        Storage::Repeated => {
            let axes = constant_axes(x);
            let mut small = shape.clone();
            axes.iter().for_each(|&axis| small[axis] = 1);
            (!axes.is_empty()).then(|| plain(drawn(x, &small, <[usize]>::to_vec)).broadcast_to(&shape))
        }
    }
}

/// All operands, lying so; nothing where none of them can lie otherwise.
pub(crate) fn all_stored(operands: &[HostTensor], storage: Storage) -> Option<Vec<Array>> {
    let found: Vec<Option<Array>> = operands.iter().map(|x| stored(x, storage)).collect();
    let any = found.iter().any(Option::is_some);
    let whole =
        |(x, array): (&HostTensor, Option<Array>)| array.unwrap_or_else(|| Array::from_host(x.clone()));
    any.then(|| operands.iter().zip(found).map(whole).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_storage_holds_the_same() {
        use oneir_cpu as _;
        let elements: Vec<i16> = (0..24).map(|i| i / 6 * 6).collect();
        for shape in [&[24][..], &[4, 6], &[4, 2, 3], &[2, 2, 3, 2]] {
            let x = HostTensor::from_slice(shape, &elements).unwrap();
            for storage in &ALL[1..] {
                let Some(found) = stored(&x, *storage) else {
                    assert!(shape.len() == 1 && [Storage::Turned, Storage::Repeated].contains(storage));
                    continue;
                };
                found.check().unwrap();
                assert_eq!(found.to_vec::<i16>().unwrap(), elements, "{storage:?} {shape:?}");
            }
        }
    }
}
