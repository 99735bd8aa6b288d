//! One element-wise step over a tile, compiled for each element type and
//! instruction set.

use crate::simd::{Avx2, Avx512, Base, Isa, Level};

/// Computes `n` elements of a step. Tiles may be one and the same or apart,
/// never shifted against each other.
///
/// # Safety
/// Each argument that the step reads holds `n` elements of its type, the
/// target has room for `n`, and the processor has the step's level.
pub(super) type StepFn = unsafe fn(args: &[*const u8; 3], out: *mut u8, n: usize);

/// A function of one element.
pub(super) trait Map1 {
    type A: Copy;
    type R: Copy;

    fn eval<I: Isa>(a: Self::A) -> Self::R;

    /// Whether `eval` does not hold for an element.
    #[inline(always)]
    fn outside(_a: Self::A) -> bool {
        false
    }

    /// The function where `eval` does not hold.
    #[inline(always)]
    fn careful(a: Self::A) -> Self::R {
        Self::eval::<Base>(a)
    }

    /// Whether `eval` holds for some elements only.
    const PARTIAL: bool = false;
}

/// A function of two elements of one type.
pub(super) trait Map2 {
    type A: Copy;
    type R: Copy;

    fn eval<I: Isa>(a: Self::A, b: Self::A) -> Self::R;
}

#[inline(always)]
unsafe fn run1<I: Isa, K: Map1>(args: &[*const u8; 3], out: *mut u8, n: usize) {
    let (a, out) = (args[0].cast::<K::A>(), out.cast::<K::R>());
    // SAFETY: as `StepFn` says.
    unsafe {
        if K::PARTIAL {
            let mut outside = false;
            for i in 0..n {
                outside |= K::outside(*a.add(i));
            }
            if outside {
                for i in 0..n {
                    *out.add(i) = K::careful(*a.add(i));
                }
                return;
            }
        }
        for i in 0..n {
            *out.add(i) = K::eval::<I>(*a.add(i));
        }
    }
}

#[inline(always)]
unsafe fn run2<I: Isa, K: Map2>(args: &[*const u8; 3], out: *mut u8, n: usize) {
    let (a, b, out) = (args[0].cast::<K::A>(), args[1].cast::<K::A>(), out.cast::<K::R>());
    // SAFETY: as `StepFn` says.
    unsafe {
        for i in 0..n {
            *out.add(i) = K::eval::<I>(*a.add(i), *b.add(i));
        }
    }
}

/// Over one tile: two pointers to it would not make vector code.
#[inline(always)]
unsafe fn run_in_place<I: Isa, K: Map1<R = <K as Map1>::A>>(_args: &[*const u8; 3], out: *mut u8, n: usize) {
    let out = out.cast::<K::A>();
    // SAFETY: as `StepFn` says.
    unsafe {
        for i in 0..n {
            *out.add(i) = K::eval::<I>(*out.add(i));
        }
    }
}

#[inline(always)]
unsafe fn run_select<T: Copy>(args: &[*const u8; 3], out: *mut u8, n: usize) {
    let (a, b, out) = (args[1].cast::<T>(), args[2].cast::<T>(), out.cast::<T>());
    // SAFETY: as `StepFn` says.
    unsafe {
        for i in 0..n {
            let (x, y) = (*a.add(i), *b.add(i));
            *out.add(i) = if *args[0].add(i) != 0 { x } else { y };
        }
    }
}

macro_rules! stamp {
    ($run:ident [$($bound:tt)*] $pick:ident $base:ident $avx2:ident $avx512:ident $([$isa:ident])?) => {
        unsafe fn $base<K: $($bound)*>(args: &[*const u8; 3], out: *mut u8, n: usize) {
            // SAFETY: as `StepFn` says.
            unsafe { stamp!(@call $run $([$isa] Base)? K)(args, out, n) }
        }

        #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
        unsafe fn $avx2<K: $($bound)*>(args: &[*const u8; 3], out: *mut u8, n: usize) {
            // SAFETY: as `StepFn` says.
            unsafe { stamp!(@call $run $([$isa] Avx2)? K)(args, out, n) }
        }

        #[cfg_attr(
            target_arch = "x86_64",
            target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")
        )]
        unsafe fn $avx512<K: $($bound)*>(args: &[*const u8; 3], out: *mut u8, n: usize) {
            // SAFETY: as `StepFn` says.
            unsafe { stamp!(@call $run $([$isa] Avx512)? K)(args, out, n) }
        }

        /// The step compiled for a level.
        pub(super) fn $pick<K: $($bound)*>(level: Level) -> StepFn {
            level.choose($base::<K> as StepFn, $avx2::<K> as StepFn, $avx512::<K> as StepFn)
        }
    };
    (@call $run:ident [$isa:ident] $level:ident $k:ident) => { $run::<$level, $k> };
    (@call $run:ident $k:ident) => { $run::<$k> };
}

stamp!(run1 [Map1] map1 base1 avx2_1 avx512_1 [I]);
stamp!(run2 [Map2] map2 base2 avx2_2 avx512_2 [I]);
stamp!(run_in_place [Map1<R = <K as Map1>::A>] map_in_place base_in_place avx2_in_place avx512_in_place [I]);
stamp!(run_select [Copy] select_of base_select avx2_select avx512_select);

/// Makes one [`Map1`] for each arm of a match over functions.
macro_rules! unary {
    ($level:expr, $op:expr, $t:ty, $isa:ident; $($name:ident => $r:ty, |$x:ident| $body:expr;)*) => {
        match $op {
            $(UnaryOp::$name => {
                struct K;
                impl $crate::kernels::region::step::Map1 for K {
                    type A = $t;
                    type R = $r;

                    #[inline(always)]
                    #[allow(unused_variables, reason = "not every function depends on the level or x")]
                    fn eval<$isa: $crate::simd::Isa>($x: $t) -> $r {
                        $body
                    }
                }
                Some($crate::kernels::region::step::map1::<K>($level))
            })*
            _ => None,
        }
    };
}

/// Makes one [`Map2`] for each arm of a match over functions.
macro_rules! binary {
    ($level:expr, $op:expr, $t:ty, $isa:ident; $($name:ident => $r:ty, |$x:ident, $y:ident| $body:expr;)*) => {
        match $op {
            $(BinaryOp::$name => {
                struct K;
                impl $crate::kernels::region::step::Map2 for K {
                    type A = $t;
                    type R = $r;

                    #[inline(always)]
                    #[allow(unused_variables, reason = "not every function depends on both")]
                    fn eval<$isa: $crate::simd::Isa>($x: $t, $y: $t) -> $r {
                        $body
                    }
                }
                Some($crate::kernels::region::step::map2::<K>($level))
            })*
            _ => None,
        }
    };
}

pub(super) use {binary, unary};
