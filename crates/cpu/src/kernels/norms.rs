//! Layer norm and RMS norm over the last axis.

use half::{bf16, f16};
use oneir_ir::fast::FastOp;
use oneir_ir::graph::{Class, Sym};
use oneir_runtime::{Answer, KernelRow, Request};
use oneir_tensor::DType;
use smallvec::SmallVec;

use super::fold::{Sum, fold};
use super::starts::Starts;
use crate::launch::{Shared, prepared};
use crate::simd::{Float, Isa, Level, Stored, Work};

pub(crate) fn rows(level: Level) -> Vec<Box<dyn KernelRow>> {
    vec![Box::new(Norm { level })]
}

/// Elements that are worth a thread.
const GRAIN: usize = 16 << 10;
/// Elements that are written at once.
const RUN: usize = 256;

struct Norm {
    level: Level,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Centred, scaled, weighted, moved.
    Layer,
    /// Scaled and weighted.
    Rms,
}

impl KernelRow for Norm {
    fn name(&self) -> &'static str {
        "norm"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["layer_norm", "rms_norm"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let Sym::Fused(fused) = request.sym else { return Answer::No };
        let (kind, eps) = match &fused.class {
            Class::Fast(FastOp::LayerNorm(norm)) => (Kind::Layer, norm.eps.get()),
            Class::Fast(FastOp::RmsNorm(norm)) => (Kind::Rms, norm.eps.get()),
            _ => return Answer::No,
        };
        if !request.results_own() {
            return Answer::No;
        }
        let scattered: SmallVec<[u8; 4]> = request
            .operands
            .iter()
            .enumerate()
            .filter(|(_, o)| {
                let last = o.layout.rank() - 1;
                o.layout.strides[last] != 1 && o.layout.shape[last] > 1
            })
            .map(|(k, _)| k as u8)
            .collect();
        if !scattered.is_empty() {
            return Answer::Repack(scattered);
        }
        let x = &request.operands[0].layout;
        let last = x.rank() - 1;
        let weights = request.operands[1..].iter().map(|o| o.layout.offset).collect();
        let shape = Shape { kind, eps, starts: Starts::outer(x, last), n: x.shape[last], weights };
        let in_place = x.offset == 0 && x.is_row_contiguous();
        let mut answer = match request.operands[0].dtype {
            DType::F32 => launch::<f32>(self.level, shape),
            DType::F64 => launch::<f64>(self.level, shape),
            DType::F16 => launch::<f16>(self.level, shape),
            DType::BF16 => launch::<bf16>(self.level, shape),
            _ => return Answer::No,
        };
        if let (Answer::Yes(prepared), true) = (&mut answer, in_place) {
            prepared.in_place.push((0, 0));
        }
        answer
    }
}

struct Shape {
    kind: Kind,
    eps: f64,
    /// Where each row begins, and how long it is.
    starts: Starts,
    n: usize,
    /// Where the weight and the bias begin.
    weights: SmallVec<[isize; 2]>,
}

fn launch<E: Stored>(level: Level, shape: Shape) -> Answer {
    let name = match shape.kind {
        Kind::Layer => "layer_norm",
        Kind::Rms => "rms_norm",
    };
    Answer::Yes(prepared(name, move |args| {
        if shape.n == 0 {
            return Ok(());
        }
        // SAFETY: all operands and the result are of `E`, and layouts stay
        // inside their buffers.
        let pointers = Shared(unsafe {
            let weight = args.read::<E>(1).offset(shape.weights[0]);
            let bias = match shape.weights.get(1) {
                Some(&at) => args.read::<E>(2).offset(at),
                None => weight,
            };
            Pointers { x: args.read::<E>(0), weight, bias, to: args.write::<E>(0) }
        });
        let grain = (GRAIN / shape.n).max(1);
        args.threads.for_chunks(shape.starts.count(), grain, |range| {
            level.dispatch(Rows { shape: &shape, pointers: pointers.get(), range });
        });
        Ok(())
    }))
}

#[derive(Clone, Copy)]
struct Pointers<E> {
    x: *const E,
    weight: *const E,
    bias: *const E,
    to: *mut E,
}

struct Rows<'a, E> {
    shape: &'a Shape,
    pointers: Pointers<E>,
    range: std::ops::Range<usize>,
}

impl<E: Stored> Work for Rows<'_, E> {
    type Out = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Rows { shape, pointers: Pointers { x, weight, bias, to }, range } = self;
        let n = shape.n;
        let count = E::Wide::from_f64(n as f64);
        let eps = E::Wide::from_f64(shape.eps);
        let mut run = [E::Wide::ZERO; RUN];
        for row in range {
            // SAFETY: the row lies inside the operand.
            let x = unsafe { x.offset(shape.starts.at(row)) };
            // SAFETY: as above.
            let at = |i: usize| unsafe { *x.add(i) }.widen();
            let mean = match shape.kind {
                Kind::Layer => E::Wide::div(fold::<Sum<E::Wide>>(n, at), count),
                Kind::Rms => E::Wide::ZERO,
            };
            let square = fold::<Sum<E::Wide>>(n, |i| {
                let centred = E::Wide::sub(at(i), mean);
                E::Wide::mul(centred, centred)
            });
            let scale = E::Wide::rsqrt(E::Wide::add(E::Wide::div(square, count), eps));
            for first in (0..n).step_by(RUN) {
                let run = &mut run[..RUN.min(n - first)];
                // SAFETY: rows, weight and bias have `n` elements; a row that
                // lies in the operand's place has been read up to here.
                unsafe {
                    for (i, y) in run.iter_mut().enumerate() {
                        let scaled = E::Wide::mul(E::Wide::sub(at(first + i), mean), scale);
                        *y = E::Wide::mul(scaled, (*weight.add(first + i)).widen());
                    }
                    if shape.kind == Kind::Layer {
                        for (i, y) in run.iter_mut().enumerate() {
                            *y = E::Wide::add(*y, (*bias.add(first + i)).widen());
                        }
                    }
                    for (i, &y) in run.iter().enumerate() {
                        *to.add(row * n + first + i) = E::narrow(y);
                    }
                }
            }
        }
    }
}
