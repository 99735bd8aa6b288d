//! How a region walks over its elements: dimensions merged as far as the
//! layouts allow, tiles of them, and operands brought into tiles.

use oneir_tensor::Layout;
use smallvec::SmallVec;

use crate::kernels::transpose::transpose;

/// Rows at least this long are never joined to fill a tile.
const LONG_ROW: usize = 256;

/// Inner rows at least this long are worth a block of rows and columns.
const BLOCKED_ROW: usize = 16;

/// One operand's steps through the merged dimensions, in elements.
pub(super) type Strides = SmallVec<[isize; 4]>;

/// Where the elements of an operand lie, beside those of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// One element for all.
    Scalar,
    /// In the results' order.
    Direct,
    /// Anywhere.
    Strided,
}

/// How tiles are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// Runs of the results' order, within one row.
    Row,
    /// Runs of the results' order.
    Run,
    /// Blocks of the last two dimensions, for operands that step the other
    /// way.
    Block,
}

/// The merged dimensions of operands and results of one shape.
#[derive(Debug, Clone)]
pub(super) struct Space {
    /// Sizes, outermost first; at least one.
    pub(super) sizes: SmallVec<[usize; 4]>,
    /// Each operand's strides.
    pub(super) operands: Vec<Strides>,
    /// The results' strides.
    pub(super) results: Strides,
    pub(super) cut: Cut,
}

impl Space {
    /// Of operands with these layouts, and row-contiguous results.
    pub(super) fn new(shape: &[usize], operands: &[&Layout]) -> Space {
        let whole = Layout::contiguous(shape);
        let mut sizes: SmallVec<[usize; 4]> = SmallVec::new();
        let mut strides: Vec<Strides> = vec![Strides::new(); operands.len() + 1];
        let of = |k: usize, axis: usize| match operands.get(k) {
            Some(layout) => layout.strides[axis],
            None => whole.strides[axis],
        };
        for (axis, &n) in shape.iter().enumerate() {
            if n == 1 {
                continue;
            }
            // One step of the outer dimension is a whole turn of this one.
            let joins = !sizes.is_empty()
                && strides
                    .iter()
                    .enumerate()
                    .all(|(k, s)| s.last().is_some_and(|&outer| outer == of(k, axis) * n as isize));
            if joins {
                if let Some(last) = sizes.last_mut() {
                    *last *= n;
                }
                for (k, s) in strides.iter_mut().enumerate() {
                    if let Some(last) = s.last_mut() {
                        *last = of(k, axis);
                    }
                }
            } else {
                sizes.push(n);
                for (k, s) in strides.iter_mut().enumerate() {
                    s.push(of(k, axis));
                }
            }
        }
        if sizes.is_empty() {
            sizes.push(1);
            for (k, s) in strides.iter_mut().enumerate() {
                s.push(isize::from(k == operands.len()));
            }
        }
        let results = strides.pop().unwrap_or_default();
        let mut space = Space { sizes, operands: strides, results, cut: Cut::Run };
        space.cut = space.choose();
        space
    }

    fn choose(&mut self) -> Cut {
        let last = self.sizes.len() - 1;
        if last > 0 && self.sizes[last] >= BLOCKED_ROW {
            // The dimension in which a crosswise operand lies closest.
            let crosswise = self.operands.iter().find_map(|s| {
                let inner = s[last].abs();
                let axis = (0..last).filter(|&a| s[a] != 0).min_by_key(|&a| s[a].abs())?;
                (inner > 1 && s[axis].abs() < inner && self.sizes[axis] > 1).then_some(axis)
            });
            if let Some(axis) = crosswise {
                let size = self.sizes.remove(axis);
                self.sizes.insert(last - 1, size);
                for s in self.operands.iter_mut().chain([&mut self.results]) {
                    let stride = s.remove(axis);
                    s.insert(last - 1, stride);
                }
                return Cut::Block;
            }
        }
        if self.sizes[last] >= LONG_ROW { Cut::Row } else { Cut::Run }
    }

    /// How many elements there are.
    pub(super) fn count(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Where an operand lies.
    pub(super) fn place(&self, operand: usize) -> Place {
        let s = &self.operands[operand];
        if s.iter().all(|&s| s == 0) {
            Place::Scalar
        } else if *s == self.results && self.cut != Cut::Block {
            Place::Direct
        } else {
            Place::Strided
        }
    }

    /// The index of element `at`, counted in the order of the dimensions.
    pub(super) fn index(&self, mut at: usize) -> SmallVec<[usize; 6]> {
        let mut index = SmallVec::from_elem(0, self.sizes.len());
        for axis in (0..self.sizes.len()).rev() {
            index[axis] = at % self.sizes[axis];
            at /= self.sizes[axis];
        }
        index
    }
}

/// The offset of an index.
pub(super) fn offset(index: &[usize], strides: &[isize]) -> isize {
    index.iter().zip(strides).map(|(&i, &s)| i as isize * s).sum()
}

macro_rules! by_size {
    ($size:expr, $f:ident($($arg:expr),*)) => {
        match $size {
            1 => $f::<u8>($($arg),*),
            2 => $f::<u16>($($arg),*),
            4 => $f::<u32>($($arg),*),
            _ => $f::<u64>($($arg),*),
        }
    };
}

/// Brings `n` elements of `size` bytes into a row of a tile.
///
/// # Safety
/// The elements can be read, and the row has room for them.
pub(super) unsafe fn gather(size: usize, from: *const u8, stride: isize, n: usize, to: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe { by_size!(size, gather_row(from, stride, n, to)) }
}

unsafe fn gather_row<T: Copy>(from: *const u8, stride: isize, n: usize, to: *mut u8) {
    let (from, to) = (from.cast::<T>(), to.cast::<T>());
    // SAFETY: as `gather` says.
    unsafe {
        match stride {
            1 => std::ptr::copy_nonoverlapping(from, to, n),
            0 => std::slice::from_raw_parts_mut(to.cast::<std::mem::MaybeUninit<T>>(), n)
                .fill(std::mem::MaybeUninit::new(*from)),
            _ => {
                for i in 0..n {
                    *to.add(i) = *from.offset(i as isize * stride);
                }
            }
        }
    }
}

/// A block of an operand: sizes and strides of its rows and columns.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) row: isize,
    pub(super) column: isize,
}

/// Brings a block of elements of `size` bytes into a tile, row after row.
///
/// # Safety
/// The elements can be read, and the tile has room for them.
pub(super) unsafe fn gather_block(size: usize, from: *const u8, block: Block, to: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe {
        if block.row == 1 {
            let unit = size as isize;
            let (from, to) = ((from, block.column * unit), (to, block.columns as isize * unit));
            transpose(size, (block.rows, block.columns), from, to);
            return;
        }
        if block.row.abs() < block.column.abs() && block.row != 0 {
            by_size!(size, gather_across(from, block, to));
            return;
        }
        for i in 0..block.rows {
            let row = from.offset(i as isize * block.row * size as isize);
            gather(size, row, block.column, block.columns, to.add(i * block.columns * size));
        }
    }
}

unsafe fn gather_across<T: Copy>(from: *const u8, block: Block, to: *mut u8) {
    let (from, to) = (from.cast::<T>(), to.cast::<T>());
    // SAFETY: as `gather_block` says.
    unsafe {
        for j in 0..block.columns {
            let column = from.offset(j as isize * block.column);
            for i in 0..block.rows {
                *to.add(i * block.columns + j) = *column.offset(i as isize * block.row);
            }
        }
    }
}

/// Brings the run of elements that begins at an index into a tile, across
/// rows.
///
/// # Safety
/// The elements can be read, and the tile has room for them.
pub(super) unsafe fn gather_run(
    size: usize,
    from: *const u8,
    (sizes, strides): (&[usize], &[isize]),
    index: &[usize],
    n: usize,
    to: *mut u8,
) {
    let last = sizes.len() - 1;
    let mut index: SmallVec<[usize; 6]> = index.into();
    let mut at = offset(&index, strides);
    let mut done = 0;
    while done < n {
        let take = (sizes[last] - index[last]).min(n - done);
        // SAFETY: as the caller promises.
        unsafe {
            gather(size, from.offset(at * size as isize), strides[last], take, to.add(done * size));
        }
        done += take;
        index[last] += take;
        at += take as isize * strides[last];
        for axis in (1..sizes.len()).rev() {
            if index[axis] < sizes[axis] {
                break;
            }
            index[axis] = 0;
            at += strides[axis - 1] - sizes[axis] as isize * strides[axis];
            index[axis - 1] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_merge_as_far_as_layouts_allow() {
        let row = Layout::contiguous(&[2, 3, 4]);
        let scalar = Layout::contiguous(&[]).broadcast(&[2, 3, 4]).unwrap();
        let space = Space::new(&[2, 3, 4], &[&row, &scalar]);
        assert_eq!(space.sizes[..], [24]);
        assert_eq!((space.place(0), space.place(1)), (Place::Direct, Place::Scalar));
        let bias = Layout::contiguous(&[4]).broadcast(&[2, 3, 4]).unwrap();
        let space = Space::new(&[2, 3, 4], &[&row, &bias]);
        assert_eq!(space.sizes[..], [6, 4]);
        assert_eq!(space.place(1), Place::Strided);
        let across = Layout::contiguous(&[40, 30]).transpose(&[1, 0]).unwrap();
        assert_eq!(Space::new(&[30, 40], &[&across]).cut, Cut::Block);
        assert_eq!(Space::new(&[1, 1], &[&Layout::contiguous(&[1, 1])]).count(), 1);
    }

    #[test]
    fn runs_cross_rows() {
        let data: Vec<u32> = (0..24).collect();
        let layout = Layout::contiguous(&[2, 4, 3]).transpose(&[0, 2, 1]).unwrap();
        let want: Vec<u32> = layout.offsets().map(|at| data[at as usize]).collect();
        let space = Space::new(&[2, 3, 4], &[&layout]);
        let mut got = [0u32; 10];
        // SAFETY: element 11 and the nine after it are there.
        unsafe {
            gather_run(
                4,
                data.as_ptr().cast(),
                (&space.sizes, &space.operands[0]),
                &space.index(11),
                10,
                got.as_mut_ptr().cast(),
            );
        }
        assert_eq!(got[..], want[11..21]);
    }
}
