//! Sorting along an axis: elements become unsigned numbers of the same order,
//! with their places below them where these are wanted. Lines are shared out; of
//! few long ones, each line is shared.

mod key;
mod radix;

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

use half::{bf16, f16};
use key::{Key, Ordered, PLACE, Told};
use oneir_ir::Primitive;
use oneir_ir::graph::Sym;
use oneir_runtime::{Answer, KernelRow, Request};
use oneir_tensor::{Complex32, DType};
use radix::Entry;
use smallvec::SmallVec;

use super::lines::Lines;
use crate::launch::{Args, Shared, prepared};

pub(crate) fn rows() -> Vec<Box<dyn KernelRow>> {
    vec![Box::new(Sort)]
}

/// Elements that are worth a thread.
const GRAIN: usize = 1 << 13;
/// Elements of a line that is worth sharing.
const LONG: usize = 1 << 15;
/// Lines that lie side by side and are brought together, so that whole
/// stretches of memory are read; and the elements of such a block.
const BLOCK: usize = 16;
const BLOCK_ELEMENTS: usize = 1 << 16;

struct Sort;

impl KernelRow for Sort {
    fn name(&self) -> &'static str {
        "sort"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["sort", "arg_sort"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let (Sym::Prim(primitive), [x], [_]) = (request.sym, request.operands, request.results) else {
            return Answer::No;
        };
        let (axis, places) = match *primitive {
            Primitive::Sort { axis } => (axis, false),
            Primitive::ArgSort { axis } => (axis, true),
            _ => return Answer::No,
        };
        if !request.results_own() {
            return Answer::No;
        }
        let lines = Lines::new(&x.layout, axis);
        let shared = lines.len >= LONG && (1..2 * request.threads).contains(&lines.count());
        let walk = Walk { lines, shared };
        macro_rules! told {
            ($t:ty) => {
                if places { launch::<ByPlace<$t>>(walk) } else { launch::<ByKey<$t>>(walk) }
            };
        }
        match x.dtype {
            DType::Bool | DType::U8 => told!(u8),
            DType::U16 => told!(u16),
            DType::U32 => told!(u32),
            DType::U64 => told!(u64),
            DType::I8 => told!(i8),
            DType::I16 => told!(i16),
            DType::I32 => told!(i32),
            DType::I64 => told!(i64),
            DType::F16 => told!(f16),
            DType::BF16 => told!(bf16),
            DType::F32 => told!(f32),
            DType::F64 => told!(f64),
            DType::Complex64 if places => launch::<ByPlace<Complex32>>(walk),
            DType::Complex64 => launch::<Taken<Complex32>>(walk),
            _ => Answer::No,
        }
    }
}

/// How the elements are walked over.
struct Walk {
    lines: Lines,
    /// Whether threads share each line.
    shared: bool,
}

/// A line of the operand.
struct Line<T> {
    from: *const T,
    step: isize,
}

impl<T: Copy> Line<T> {
    /// # Safety
    /// The line has this element.
    #[inline(always)]
    unsafe fn at(&self, k: usize) -> T {
        // SAFETY: as the caller promises.
        unsafe { *self.from.offset(k as isize * self.step) }
    }

    /// What is sorted for some of the elements, and whether one is hidden.
    ///
    /// # Safety
    /// The line has elements from `first` on for all entries.
    unsafe fn enter<M: Method<In = T>>(&self, first: usize, entries: &mut [MaybeUninit<M::Entry>]) -> bool {
        let mut hidden = false;
        let mut put = |entry: &mut MaybeUninit<M::Entry>, x: T, k: usize| {
            hidden |= M::hidden(x);
            entry.write(M::enter(x, k));
        };
        // SAFETY: as the caller promises.
        unsafe {
            if self.step == 1 {
                let near = std::slice::from_raw_parts(self.from.add(first), entries.len());
                for (k, (entry, x)) in entries.iter_mut().zip(near).enumerate() {
                    put(entry, *x, first + k);
                }
            } else {
                for (k, entry) in entries.iter_mut().enumerate() {
                    put(entry, self.at(first + k), first + k);
                }
            }
        }
        hidden
    }

    /// Puts the results of entries of the line where they belong, `inner` apart.
    ///
    /// # Safety
    /// These places can be written.
    unsafe fn leave<M: Method<In = T>>(&self, entries: &[M::Entry], to: *mut M::Out, inner: usize) {
        // SAFETY: as the caller promises.
        unsafe {
            if inner == 1 {
                for (k, entry) in entries.iter().enumerate() {
                    *to.add(k) = M::leave(*entry, self);
                }
            } else {
                for (k, entry) in entries.iter().enumerate() {
                    *to.add(k * inner) = M::leave(*entry, self);
                }
            }
        }
    }
}

// SAFETY: nothing writes an operand while a launch reads it.
unsafe impl<T> Sync for Line<T> {}

/// How lines are sorted.
trait Method: 'static {
    type In: Ordered;
    type Entry: Entry;
    type Out: Copy;
    /// The bits of entries that give the order; below them are places.
    const BITS: (u32, u32);

    /// What is sorted for element `k`.
    fn enter(x: Self::In, k: usize) -> Self::Entry;

    /// The result of an entry.
    ///
    /// # Safety
    /// The entry is one of the line.
    unsafe fn leave(entry: Self::Entry, line: &Line<Self::In>) -> Self::Out;

    /// Whether the element's entry may give the result of another one.
    fn hidden(_: Self::In) -> bool {
        false
    }

    /// Puts the results in their places that entries of a line which has hidden
    /// elements do not give.
    ///
    /// # Safety
    /// The sorted entries are those of the line.
    unsafe fn mend(_: &[Self::Entry], _: &Line<Self::In>, _: impl FnMut(usize, Self::Out)) {}
}

/// The elements, from their keys.
struct ByKey<T>(PhantomData<T>);

impl<T: Told> Method for ByKey<T> {
    type In = T;
    type Entry = T::Key;
    type Out = T;
    const BITS: (u32, u32) = (0, T::Key::BITS);

    #[inline(always)]
    fn enter(x: T, _: usize) -> T::Key {
        x.key()
    }

    #[inline(always)]
    unsafe fn leave(key: T::Key, _: &Line<T>) -> T {
        T::of(key)
    }

    #[inline(always)]
    fn hidden(x: T) -> bool {
        x.hidden()
    }

    unsafe fn mend(entries: &[T::Key], line: &Line<T>, mut put: impl FnMut(usize, T)) {
        for &shared in T::SHARED {
            let mut at = entries.partition_point(|&key| key < shared);
            for k in 0..entries.len() {
                // SAFETY: the line is as long as its entries.
                let x = unsafe { line.at(k) };
                if x.key() == shared {
                    put(at, x);
                    at += 1;
                }
            }
        }
    }
}

/// The places of the elements.
struct ByPlace<T>(PhantomData<T>);

impl<T: Ordered> Method for ByPlace<T> {
    type In = T;
    type Entry = <T::Key as Key>::Placed;
    type Out = u32;
    const BITS: (u32, u32) = (PLACE, PLACE + T::Key::BITS);

    #[inline(always)]
    fn enter(x: T, k: usize) -> Self::Entry {
        x.key().at(k as u32)
    }

    #[inline(always)]
    unsafe fn leave(entry: Self::Entry, _: &Line<T>) -> u32 {
        T::Key::place(entry)
    }
}

/// The elements, from their places.
struct Taken<T>(PhantomData<T>);

impl<T: Ordered> Method for Taken<T> {
    type In = T;
    type Entry = <T::Key as Key>::Placed;
    type Out = T;
    const BITS: (u32, u32) = ByPlace::<T>::BITS;

    #[inline(always)]
    fn enter(x: T, k: usize) -> Self::Entry {
        x.key().at(k as u32)
    }

    #[inline(always)]
    unsafe fn leave(entry: Self::Entry, line: &Line<T>) -> T {
        // SAFETY: as the caller promises.
        unsafe { line.at(T::Key::place(entry) as usize) }
    }
}

fn launch<M: Method>(walk: Walk) -> Answer {
    let scratch = if walk.shared { 2 * walk.lines.len * size_of::<M::Entry>() } else { 0 };
    let mut answer = prepared("sort", move |args| {
        // SAFETY: the operand's layout stays inside its buffer, dtypes are what
        // the method was chosen for, and scratch is as large as was asked for.
        unsafe {
            if walk.shared { whole_lines::<M>(&walk.lines, args) } else { blocks::<M>(&walk.lines, args) }
        }
        Ok(())
    });
    answer.scratch = scratch;
    Answer::Yes(answer)
}

/// One line after the other, each shared by all threads.
///
/// # Safety
/// The operand and the result are what the lines and `M` say, and scratch holds
/// the entries of a line twice.
unsafe fn whole_lines<M: Method>(lines: &Lines, args: &Args<'_>) {
    let (n, inner) = (lines.len, lines.inner);
    // SAFETY: as the caller promises.
    let (from, to, entries, other) = unsafe {
        let entries = args.scratch.cast::<M::Entry>();
        let other = std::slice::from_raw_parts_mut(entries.add(n).cast::<MaybeUninit<M::Entry>>(), n);
        (args.read::<M::In>(0), args.write::<M::Out>(0), entries, other)
    };
    for number in 0..lines.count() {
        // SAFETY: the line lies inside the operand and the result.
        let (line, to) = unsafe {
            (Line { from: from.offset(lines.start(number)), step: lines.step }, to.add(lines.place(number)))
        };
        let hidden = AtomicBool::new(false);
        let (place, result) = (Shared(entries), Shared(to));
        args.threads.for_chunks(n, GRAIN, |range| {
            // SAFETY: each thread has elements of its own.
            let any = unsafe {
                let entries = place.get().add(range.start).cast();
                line.enter::<M>(range.start, std::slice::from_raw_parts_mut(entries, range.len()))
            };
            hidden.fetch_or(any, Ordering::Relaxed);
        });
        // SAFETY: all of them are written now.
        let sorted = unsafe { std::slice::from_raw_parts_mut(entries, n) };
        radix::sort(sorted, other, M::BITS, Some(args.threads));
        let sorted = &*sorted;
        args.threads.for_chunks(n, GRAIN, |range| {
            // SAFETY: as above.
            unsafe { line.leave::<M>(&sorted[range.clone()], result.get().add(range.start * inner), inner) };
        });
        if hidden.into_inner() {
            // SAFETY: as above.
            unsafe { M::mend(sorted, &line, |k, x| *to.add(k * inner) = x) };
        }
    }
}

/// Each line by one thread; some that lie side by side are read and written
/// together.
///
/// # Safety
/// The operand and the result are what the lines and `M` say.
unsafe fn blocks<M: Method>(lines: &Lines, args: &Args<'_>) {
    let (n, inner) = (lines.len, lines.inner);
    if n == 0 {
        return;
    }
    // SAFETY: as the caller promises.
    let pointers = Shared(unsafe { (args.read::<M::In>(0), args.write::<M::Out>(0)) });
    let most = (BLOCK_ELEMENTS / n).clamp(1, BLOCK);
    args.threads.for_chunks(lines.count(), (GRAIN / n).max(1), |range| {
        let (from, to) = pointers.get();
        let mut entries = vec![MaybeUninit::<M::Entry>::uninit(); most.min(range.len()) * n];
        let mut other = vec![MaybeUninit::uninit(); n];
        lines.stretches(range, most, |first, count| {
            // SAFETY: lines lie inside the operand and the result, and each has
            // a place of its own there.
            unsafe {
                let line = |j: usize| Line { from: from.offset(lines.start(first + j)), step: lines.step };
                let block: SmallVec<[Line<M::In>; BLOCK]> = (0..count).map(line).collect();
                let to = to.add(lines.place(first));
                let hidden = read::<M>(&block, &mut entries[..count * n]);
                let entries = std::slice::from_raw_parts_mut(entries.as_mut_ptr().cast(), count * n);
                for entries in entries.chunks_exact_mut(n) {
                    radix::sort(entries, &mut other, M::BITS, None);
                }
                write::<M>(&block, entries, to, inner);
                if hidden {
                    for (j, (line, entries)) in block.iter().zip(entries.chunks_exact(n)).enumerate() {
                        M::mend(entries, line, |k, x| *to.add(k * inner + j) = x);
                    }
                }
            }
        });
    });
}

/// What is sorted of lines side by side, line after line, and whether an element is
/// hidden: the elements are read in the order in which they are nearest.
///
/// # Safety
/// The lines are as long as their entries.
unsafe fn read<M: Method>(block: &[Line<M::In>], entries: &mut [MaybeUninit<M::Entry>]) -> bool {
    let n = entries.len() / block.len();
    let mut hidden = false;
    // SAFETY: as the caller promises.
    unsafe {
        if block.len() == 1 || block[0].step.unsigned_abs() <= 1 {
            for (line, entries) in block.iter().zip(entries.chunks_exact_mut(n)) {
                hidden |= line.enter::<M>(0, entries);
            }
            return hidden;
        }
        let first = entries.as_mut_ptr();
        for k in 0..n {
            for (j, line) in block.iter().enumerate() {
                let x = line.at(k);
                hidden |= M::hidden(x);
                (*first.add(j * n + k)).write(M::enter(x, k));
            }
        }
    }
    hidden
}

/// Puts the results of lines side by side in their places, those of each element
/// together.
///
/// # Safety
/// These places can be written.
unsafe fn write<M: Method>(block: &[Line<M::In>], entries: &[M::Entry], to: *mut M::Out, inner: usize) {
    let n = entries.len() / block.len();
    // SAFETY: as the caller promises.
    unsafe {
        if let [line] = block {
            return line.leave::<M>(entries, to, inner);
        }
        let first = entries.as_ptr();
        for k in 0..n {
            for (j, line) in block.iter().enumerate() {
                *to.add(k * inner + j) = M::leave(*first.add(j * n + k), line);
            }
        }
    }
}
