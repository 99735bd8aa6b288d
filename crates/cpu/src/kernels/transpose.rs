//! Blocks that lie the other way: whole cache lines are read and written, and
//! turned in between.

/// Moves an `n` by `m` block, `n` elements contiguous in the source and `m` in
/// the target; strides are in bytes.
///
/// # Safety
/// Both sides lie inside their buffers, and no one else writes the target.
pub(super) unsafe fn transpose(
    unit: usize,
    (n, m): (usize, usize),
    (from, from_stride): (*const u8, isize),
    (to, to_stride): (*mut u8, isize),
) {
    // SAFETY: as the caller promises.
    unsafe {
        match unit {
            1 => blocks::<u8, 16>((n, m), (from, from_stride), (to, to_stride)),
            2 => blocks::<u16, 16>((n, m), (from, from_stride), (to, to_stride)),
            4 => blocks::<u32, 16>((n, m), (from, from_stride), (to, to_stride)),
            _ => blocks::<u64, 8>((n, m), (from, from_stride), (to, to_stride)),
        }
    }
}

/// # Safety
/// As [`transpose`].
unsafe fn blocks<T: Copy + Default, const N: usize>(
    (n, m): (usize, usize),
    (from, from_stride): (*const u8, isize),
    (to, to_stride): (*mut u8, isize),
) {
    let size = size_of::<T>();
    let whole_n = n - n % N;
    for j in (0..m).step_by(N) {
        let columns = N.min(m - j);
        let whole = if columns == N { whole_n } else { 0 };
        // SAFETY: the block lies inside both sides; elements may be unaligned.
        unsafe {
            let from = from.offset(j as isize * from_stride);
            let to = to.add(j * size);
            for i in (0..whole).step_by(N) {
                let mut block = [[T::default(); N]; N];
                for (k, line) in block.iter_mut().enumerate() {
                    let line_at = from.offset(k as isize * from_stride).add(i * size);
                    *line = line_at.cast::<[T; N]>().read_unaligned();
                }
                let turned: [[T; N]; N] = std::array::from_fn(|k| std::array::from_fn(|l| block[l][k]));
                for (k, line) in turned.into_iter().enumerate() {
                    to.offset((i + k) as isize * to_stride).cast::<[T; N]>().write_unaligned(line);
                }
            }
            for i in whole..n {
                for k in 0..columns {
                    let x = from.offset(k as isize * from_stride).add(i * size).cast::<T>().read_unaligned();
                    to.offset(i as isize * to_stride).add(k * size).cast::<T>().write_unaligned(x);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_every_size() {
        for (n, m) in [(1, 1), (16, 16), (17, 33), (40, 15), (64, 70)] {
            let from: Vec<u32> = (0..n as u32 * m as u32).collect();
            let mut to = vec![0u32; n * m];
            // SAFETY: both sides hold n · m elements.
            unsafe {
                let (source, target) = (from.as_ptr().cast(), to.as_mut_ptr().cast());
                transpose(4, (n, m), (source, 4 * n as isize), (target, 4 * m as isize));
            }
            for i in 0..n {
                for j in 0..m {
                    assert_eq!(to[i * m + j], from[j * n + i]);
                }
            }
        }
    }
}
