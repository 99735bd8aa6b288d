//! The instruction sets that kernels are compiled for, and vectors of floats.
//!
//! A kernel is written once, generic over an [`Isa`], and compiled for each;
//! [`Level::dispatch`] enters the one that the processor has.

use half::{bf16, f16};

/// An instruction set that this processor has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Level(Set);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Set {
    Base,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// Work that is compiled for every instruction set. `run` must be
/// `#[inline(always)]`, and so must what it calls in its loops.
pub(crate) trait Work {
    /// What it gives.
    type Out;

    /// Does it.
    fn run<I: Isa>(self) -> Self::Out;
}

impl Level {
    /// The best that the processor has.
    pub(crate) fn detect() -> Level {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c");
            let avx512 = avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            if avx512 {
                return Level(Set::Avx512);
            }
            if avx2 {
                return Level(Set::Avx2);
            }
        }
        Level(Set::Base)
    }

    /// Every level that the processor has.
    #[cfg(test)]
    pub(crate) fn available() -> Vec<Level> {
        let mut all = vec![Level(Set::Base)];
        #[cfg(target_arch = "x86_64")]
        {
            let best = Level::detect();
            if best != Level(Set::Base) {
                all.push(Level(Set::Avx2));
            }
            if best == Level(Set::Avx512) {
                all.push(best);
            }
        }
        all
    }

    /// Runs work compiled for this level.
    pub(crate) fn dispatch<W: Work>(self, work: W) -> W::Out {
        match self.0 {
            Set::Base => work.run::<Base>(),
            // SAFETY: a level is only made where the processor has it.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { x86::avx2(work) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => unsafe { x86::avx512(work) },
        }
    }

    /// The one of three functions that is compiled for this level.
    pub(crate) fn choose<F>(self, base: F, avx2: F, avx512: F) -> F {
        match self.0 {
            Set::Base => {
                _ = (avx2, avx512);
                base
            }
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => avx2,
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => avx512,
        }
    }
}

/// An instruction set, as a type.
pub(crate) trait Isa: Copy + 'static {
    /// Whether a fused multiply-add is one instruction.
    const FMA: bool;
    /// A vector of f32.
    type F32: Lanes<f32> + HalfLanes;
    /// A vector of f64.
    type F64: Lanes<f64>;
}

/// The instructions that every processor of the architecture has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Base;

impl Isa for Base {
    const FMA: bool = false;
    type F32 = Array<f32, 4>;
    type F64 = Array<f64, 2>;
}

/// A float that kernels sum in.
pub(crate) trait Float: Copy + Send + Sync + PartialOrd + 'static {
    /// A vector of it.
    type Lanes<I: Isa>: Lanes<Self>;
    /// 0.
    const ZERO: Self;
    /// The nearest value.
    fn from_f64(x: f64) -> Self;
    /// a · b + c, rounded once where the instruction set can.
    fn fma<I: Isa>(a: Self, b: Self, c: Self) -> Self;
    /// Below every number.
    const LEAST: Self;
    /// a + b.
    fn add(a: Self, b: Self) -> Self;
    /// a - b.
    fn sub(a: Self, b: Self) -> Self;
    /// a / b.
    fn div(a: Self, b: Self) -> Self;
    /// One over the square root.
    fn rsqrt(x: Self) -> Self;
    /// e to the x.
    fn exp<I: Isa>(x: Self) -> Self;
    /// a · b.
    fn mul(a: Self, b: Self) -> Self;
    /// max(x, 0); NaN stays.
    fn relu(x: Self) -> Self;
    /// The hyperbolic tangent.
    fn tanh<I: Isa>(x: Self) -> Self;
    /// 1 / (1 + e^-x).
    fn sigmoid<I: Isa>(x: Self) -> Self;
}

macro_rules! float {
    ($t:ty, $lanes:ident, |$x:ident, $isa:ident| $tanh:expr, $sigmoid:expr, $exp:expr) => {
        impl Float for $t {
            type Lanes<I: Isa> = I::$lanes;
            const ZERO: Self = 0.0;
            const LEAST: Self = Self::NEG_INFINITY;

            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $t
            }

            #[inline(always)]
            fn fma<I: Isa>(a: Self, b: Self, c: Self) -> Self {
                if I::FMA { a.mul_add(b, c) } else { a * b + c }
            }

            #[inline(always)]
            fn add(a: Self, b: Self) -> Self {
                a + b
            }

            #[inline(always)]
            fn mul(a: Self, b: Self) -> Self {
                a * b
            }

            #[inline(always)]
            fn sub(a: Self, b: Self) -> Self {
                a - b
            }

            #[inline(always)]
            fn div(a: Self, b: Self) -> Self {
                a / b
            }

            #[inline(always)]
            fn rsqrt(x: Self) -> Self {
                1.0 / x.sqrt()
            }

            #[inline(always)]
            fn exp<$isa: Isa>($x: Self) -> Self {
                $exp
            }

            #[inline(always)]
            fn relu(x: Self) -> Self {
                if x.is_nan() || x > 0.0 { x } else { 0.0 }
            }

            #[inline(always)]
            fn tanh<$isa: Isa>($x: Self) -> Self {
                $tanh
            }

            #[inline(always)]
            fn sigmoid<$isa: Isa>($x: Self) -> Self {
                $sigmoid
            }
        }
    };
}

float!(
    f32,
    F32,
    |x, I| crate::elementary::tanh::<I>(x),
    crate::elementary::sigmoid::<I>(x),
    crate::elementary::exp::<I>(x)
);
float!(f64, F64, |x, I| x.tanh(), 1.0 / (1.0 + (-x).exp()), x.exp());

/// A vector of `N` floats.
pub(crate) trait Lanes<T>: Copy {
    /// How many.
    const N: usize;
    /// Reads `N` elements.
    ///
    /// # Safety
    /// `N` elements can be read there.
    unsafe fn load(from: *const T) -> Self;
    /// Writes `N` elements.
    ///
    /// # Safety
    /// `N` elements can be written there.
    unsafe fn store(self, to: *mut T);
    /// The same element in every lane.
    fn splat(x: T) -> Self;
    /// Lane-wise self · b + c, rounded once where the instruction set can.
    fn fma(self, b: Self, c: Self) -> Self;

    /// The sum of the lanes, by halves.
    #[inline(always)]
    fn sum(self) -> T
    where
        T: Float,
    {
        let mut lanes = [T::ZERO; 16];
        // SAFETY: no vector has more than 16 lanes.
        unsafe { self.store(lanes.as_mut_ptr()) };
        let mut n = Self::N;
        while n > 1 {
            n /= 2;
            for i in 0..n {
                lanes[i] = T::add(lanes[i], lanes[i + n]);
            }
        }
        lanes[0]
    }
}

/// Vectors of f32 that read halves.
pub(crate) trait HalfLanes: Lanes<f32> {
    /// Reads `N` halves.
    ///
    /// # Safety
    /// `N` elements can be read there.
    unsafe fn load_f16(from: *const f16) -> Self;

    /// Reads `N` halves.
    ///
    /// # Safety
    /// `N` elements can be read there.
    unsafe fn load_bf16(from: *const bf16) -> Self;
}

/// An element in memory that is computed with as a [`Float`].
pub(crate) trait Stored: Copy + Send + Sync + 'static {
    /// What it is computed with as.
    type Wide: Float;
    /// Reads a vector.
    ///
    /// # Safety
    /// As [`Lanes::load`].
    unsafe fn load<I: Isa>(from: *const Self) -> <Self::Wide as Float>::Lanes<I>;
    /// The same number.
    fn widen(self) -> Self::Wide;
    /// The nearest number.
    fn narrow(x: Self::Wide) -> Self;
}

macro_rules! stored_as_is {
    ($($t:ty),*) => { $(impl Stored for $t {
        type Wide = $t;

        #[inline(always)]
        unsafe fn load<I: Isa>(from: *const Self) -> <$t as Float>::Lanes<I> {
            // SAFETY: as the caller promises.
            unsafe { Lanes::load(from) }
        }

        #[inline(always)]
        fn widen(self) -> $t {
            self
        }

        #[inline(always)]
        fn narrow(x: $t) -> Self {
            x
        }
    })* };
}

stored_as_is!(f32, f64);

macro_rules! stored_half {
    ($t:ident, $load:ident, $wide:ident, $narrow:ident) => {
        impl Stored for $t {
            type Wide = f32;

            #[inline(always)]
            unsafe fn load<I: Isa>(from: *const Self) -> I::F32 {
                // SAFETY: as the caller promises.
                unsafe { I::F32::$load(from) }
            }

            #[inline(always)]
            fn widen(self) -> f32 {
                crate::elementary::$wide(self.to_bits())
            }

            #[inline(always)]
            fn narrow(x: f32) -> Self {
                $t::from_bits(crate::elementary::$narrow(x))
            }
        }
    };
}

stored_half!(f16, load_f16, f16_to_f32, f32_to_f16);
stored_half!(bf16, load_bf16, bf16_to_f32, f32_to_bf16);

/// A vector without instructions of its own.
#[derive(Clone, Copy)]
pub(crate) struct Array<T, const N: usize>([T; N]);

impl<T: Float, const N: usize> Lanes<T> for Array<T, N> {
    const N: usize = N;

    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: as the caller promises.
        Array(unsafe { from.cast::<[T; N]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: as the caller promises.
        unsafe { to.cast::<[T; N]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    fn splat(x: T) -> Self {
        Array([x; N])
    }

    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        Array(std::array::from_fn(|i| T::fma::<Base>(self.0[i], b.0[i], c.0[i])))
    }
}

impl HalfLanes for Array<f32, 4> {
    #[inline(always)]
    unsafe fn load_f16(from: *const f16) -> Self {
        // SAFETY: as the caller promises.
        let halves = unsafe { from.cast::<[f16; 4]>().read_unaligned() };
        Array(halves.map(Stored::widen))
    }

    #[inline(always)]
    unsafe fn load_bf16(from: *const bf16) -> Self {
        // SAFETY: as the caller promises.
        let halves = unsafe { from.cast::<[bf16; 4]>().read_unaligned() };
        Array(halves.map(Stored::widen))
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use half::{bf16, f16};

    use super::{HalfLanes, Isa, Lanes, Work};

    #[target_feature(enable = "avx2,fma,f16c")]
    pub(super) fn avx2<W: Work>(work: W) -> W::Out {
        work.run::<Avx2>()
    }

    #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn avx512<W: Work>(work: W) -> W::Out {
        work.run::<Avx512>()
    }

    /// AVX2 with FMA and F16C.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Avx2;

    /// AVX-512 F, BW, DQ and VL.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Avx512;

    impl Isa for Avx2 {
        const FMA: bool = true;
        type F32 = __m256;
        type F64 = __m256d;
    }

    impl Isa for Avx512 {
        const FMA: bool = true;
        type F32 = __m512;
        type F64 = __m512d;
    }

    macro_rules! lanes {
        ($v:ty, $t:ty, $n:literal, $load:ident, $store:ident, $splat:ident, $fma:ident) => {
            impl Lanes<$t> for $v {
                const N: usize = $n;

                #[inline(always)]
                unsafe fn load(from: *const $t) -> Self {
                    // SAFETY: as the caller promises; an `Isa` with these
                    // vectors runs only where the processor has them.
                    unsafe { $load(from) }
                }

                #[inline(always)]
                unsafe fn store(self, to: *mut $t) {
                    // SAFETY: as above.
                    unsafe { $store(to, self) }
                }

                #[inline(always)]
                fn splat(x: $t) -> Self {
                    // SAFETY: as above.
                    unsafe { $splat(x) }
                }

                #[inline(always)]
                fn fma(self, b: Self, c: Self) -> Self {
                    // SAFETY: as above.
                    unsafe { $fma(self, b, c) }
                }
            }
        };
    }

    lanes!(__m256, f32, 8, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_set1_ps, _mm256_fmadd_ps);
    lanes!(__m256d, f64, 4, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_set1_pd, _mm256_fmadd_pd);
    lanes!(__m512, f32, 16, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_set1_ps, _mm512_fmadd_ps);
    lanes!(__m512d, f64, 8, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_set1_pd, _mm512_fmadd_pd);

    impl HalfLanes for __m256 {
        #[inline(always)]
        unsafe fn load_f16(from: *const f16) -> Self {
            // SAFETY: as the caller promises; see `lanes!`.
            unsafe { _mm256_cvtph_ps(_mm_loadu_si128(from.cast())) }
        }

        #[inline(always)]
        unsafe fn load_bf16(from: *const bf16) -> Self {
            // SAFETY: as above.
            unsafe {
                let wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.cast()));
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(wide))
            }
        }
    }

    impl HalfLanes for __m512 {
        #[inline(always)]
        unsafe fn load_f16(from: *const f16) -> Self {
            // SAFETY: as above.
            unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(from.cast())) }
        }

        #[inline(always)]
        unsafe fn load_bf16(from: *const bf16) -> Self {
            // SAFETY: as above.
            unsafe {
                let wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast()));
                _mm512_castsi512_ps(_mm512_slli_epi32::<16>(wide))
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use Base as Avx2;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use Base as Avx512;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};
