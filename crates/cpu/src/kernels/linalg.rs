//! Linear algebra on large real matrices by `faer`, in f64; each matrix of a
//! batch by one thread. Small matrices and complex ones are left to the
//! reference evaluation, whose signs and orders these results have too.

use std::sync::{Mutex, PoisonError};

use faer::{MatRef, Side};
use oneir_ir::Primitive;
use oneir_ir::graph::Sym;
use oneir_ir::primitive::{EvalError, LinalgOp};
use oneir_runtime::{Answer, KernelRow, Request};
use oneir_tensor::{Complex32, DType};

use crate::launch::{Args, Shared, prepared};

pub(crate) fn rows() -> Vec<Box<dyn KernelRow>> {
    vec![Box::new(Factors)]
}

/// Sides below this are left to the reference evaluation.
const LEAST_SIDE: usize = 48;

struct Factors;

impl KernelRow for Factors {
    fn name(&self) -> &'static str {
        "faer"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["linalg"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let (Sym::Prim(Primitive::Linalg(op)), [a, rest @ ..]) = (request.sym, request.operands) else {
            return Answer::No;
        };
        let Some((batch, &[m, n])) = a.layout.shape.split_last_chunk() else { return Answer::No };
        let known = matches!(
            op,
            LinalgOp::Cholesky
                | LinalgOp::Inverse
                | LinalgOp::Solve
                | LinalgOp::Lu
                | LinalgOp::LuFactor
                | LinalgOp::Svd
                | LinalgOp::SvdFull
                | LinalgOp::Eigh
                | LinalgOp::Eig
                | LinalgOp::Det
        );
        let real = matches!(a.dtype, DType::F32 | DType::F64);
        if !known || !real || !request.results_own() || m.min(n) < LEAST_SIDE {
            return Answer::No;
        }
        let scattered = (0u8..)
            .zip(request.operands)
            .filter(|(_, operand)| !operand.layout.is_row_contiguous())
            .map(|(k, _)| k)
            .collect::<Vec<_>>();
        if !scattered.is_empty() {
            return Answer::Repack(scattered.into_iter().collect());
        }
        let task = Task {
            op: *op,
            dtype: a.dtype,
            count: batch.iter().product(),
            sides: [m, n],
            columns: rest.first().map_or(0, |b| b.layout.shape[b.layout.rank() - 1]),
            offsets: [a.layout.offset, rest.first().map_or(0, |b| b.layout.offset)],
            results: request.results.iter().map(|r| r.spec.dtype).collect(),
        };
        let mut answer = prepared("faer", move |args| {
            // SAFETY: buffers have these shapes and dtypes.
            unsafe { task.run(args) }
        });
        answer.fallible = true;
        Answer::Yes(answer)
    }
}

struct Task {
    op: LinalgOp,
    dtype: DType,
    count: usize,
    sides: [usize; 2],
    /// Of the right side; 0 where there is none.
    columns: usize,
    offsets: [isize; 2],
    results: Vec<DType>,
}

impl Task {
    /// # Safety
    /// `args` are buffers of the shapes and dtypes that the task was made for.
    unsafe fn run(&self, args: &Args<'_>) -> Result<(), EvalError> {
        let [m, n] = self.sides;
        let (reads, writes) = (Shared(args.reads), Shared(args.writes));
        let failed: Mutex<Option<(usize, &'static str)>> = Mutex::new(None);
        args.threads.for_chunks(self.count, 1, |range| {
            for matrix in range {
                let read = |k: usize, count: usize| -> Vec<f64> {
                    let at = self.offsets[k] + (matrix * count) as isize;
                    (0..count)
                        // SAFETY: matrices lie one after the other in the operand.
                        .map(|i| unsafe {
                            match self.dtype {
                                DType::F64 => *reads.get()[k].cast::<f64>().offset(at).add(i),
                                _ => f64::from(*reads.get()[k].cast::<f32>().offset(at).add(i)),
                            }
                        })
                        .collect()
                };
                let a = read(0, m * n);
                let b = if self.columns > 0 { read(1, n * self.columns) } else { Vec::new() };
                let a = MatRef::from_row_major_slice(&a, m, n);
                let b = MatRef::from_row_major_slice(&b, if b.is_empty() { 0 } else { n }, self.columns);
                match compute(self.op, a, b) {
                    Ok(parts) => {
                        for (k, (part, &dtype)) in parts.iter().zip(&self.results).enumerate() {
                            // SAFETY: each matrix has its own place in the result.
                            unsafe { write(writes.get()[k], dtype, matrix, part) };
                        }
                    }
                    Err(expected) => {
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        if failed.is_none_or(|(first, _)| matrix < first) {
                            *failed = Some((matrix, expected));
                        }
                    }
                }
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((matrix, expected)) => Err(EvalError::Matrix { op: self.op.name(), matrix, expected }),
            None => Ok(()),
        }
    }
}

/// Puts the numbers of one matrix's result in its place; complex ones are pairs.
///
/// # Safety
/// `to` has the results of all matrices, of `dtype`.
unsafe fn write(to: *mut u8, dtype: DType, matrix: usize, part: &[f64]) {
    macro_rules! put {
        ($t:ty, $numbers:expr) => {{
            let numbers = $numbers;
            // SAFETY: as the caller promises.
            let first = unsafe { to.cast::<$t>().add(matrix * numbers.len()) };
            for (i, x) in numbers.enumerate() {
                // SAFETY: as the caller promises.
                unsafe { *first.add(i) = x };
            }
        }};
    }
    match dtype {
        DType::F64 => put!(f64, part.iter().copied()),
        DType::U32 => put!(u32, part.iter().map(|&x| x as u32)),
        DType::Complex64 => {
            put!(Complex32, part.chunks_exact(2).map(|z| Complex32::new(z[0] as f32, z[1] as f32)));
        }
        _ => put!(f32, part.iter().map(|&x| x as f32)),
    }
}

/// The elements row by row.
fn rows_of(a: MatRef<'_, f64>) -> Vec<f64> {
    (0..a.nrows()).flat_map(|i| (0..a.ncols()).map(move |j| a[(i, j)])).collect()
}

/// The elements row by row, each column times its factor.
fn turned(a: MatRef<'_, f64>, factors: &[f64]) -> Vec<f64> {
    (0..a.nrows()).flat_map(|i| (0..a.ncols()).map(move |j| a[(i, j)] * factors[j])).collect()
}

/// What makes the first element of about the greatest magnitude positive.
fn upright(column: impl Iterator<Item = f64> + Clone) -> f64 {
    let greatest = column.clone().fold(0f64, |top, x| top.max(x.abs()));
    let leading = column.into_iter().find(|x| x.abs() >= 0.9 * greatest);
    if leading.is_some_and(|x| x < 0.0) { -1.0 } else { 1.0 }
}

fn column(a: MatRef<'_, f64>, j: usize) -> impl Iterator<Item = f64> + Clone + '_ {
    (0..a.nrows()).map(move |i| a[(i, j)])
}

/// The numbers of each result for one matrix, or what the matrix is not.
fn compute(op: LinalgOp, a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Result<Vec<Vec<f64>>, &'static str> {
    let (m, n) = (a.nrows(), a.ncols());
    let finite = || (0..m).all(|i| (0..n).all(|j| a[(i, j)].is_finite()));
    match op {
        LinalgOp::Cholesky => {
            let factor = a.llt(Side::Lower).map_err(|_| "positive definite")?;
            let l = factor.L();
            if (0..n).any(|i| l[(i, i)].is_nan() || l[(i, i)] <= 0.0) {
                return Err("positive definite");
            }
            let lower = |i, j| if j <= i { l[(i, j)] } else { 0.0 };
            Ok(vec![(0..n).flat_map(|i| (0..n).map(move |j| lower(i, j))).collect()])
        }
        LinalgOp::Svd | LinalgOp::SvdFull => {
            if !finite() {
                return Err("finite");
            }
            let svd = if op == LinalgOp::SvdFull { a.svd() } else { a.thin_svd() };
            let svd = svd.map_err(|_| "convergent")?;
            let (u, v) = (svd.U(), svd.V());
            let values: Vec<f64> = svd.S().column_vector().iter().copied().collect();
            let left: Vec<f64> = (0..u.ncols()).map(|j| upright(column(u, j))).collect();
            let right: Vec<f64> = (0..v.ncols())
                .map(|j| match values.get(j) {
                    Some(&value) if value > 0.0 => left[j],
                    _ => upright(column(v, j)),
                })
                .collect();
            let vt = (0..v.ncols()).flat_map(|j| column(v, j).map(|x| x * right[j]).collect::<Vec<_>>());
            Ok(vec![turned(u, &left), values, vt.collect()])
        }
        LinalgOp::Eigh => {
            if !(0..n).all(|i| (0..=i).all(|j| a[(i, j)].is_finite())) {
                return Err("finite");
            }
            let eigen = a.self_adjoint_eigen(Side::Lower).map_err(|_| "convergent")?;
            let u = eigen.U();
            let turns: Vec<f64> = (0..n).map(|j| upright(column(u, j))).collect();
            Ok(vec![eigen.S().column_vector().iter().copied().collect(), turned(u, &turns)])
        }
        LinalgOp::Eig => {
            if !finite() {
                return Err("finite");
            }
            eigen(a)
        }
        _ => solved(op, a, b),
    }
}

/// Eigenvalues by falling real and then imaginary part, with vectors of length 1.
fn eigen(a: MatRef<'_, f64>) -> Result<Vec<Vec<f64>>, &'static str> {
    let n = a.nrows();
    let found = a.eigen().map_err(|_| "convergent")?;
    let (vectors, values) = (found.U(), found.S().column_vector());
    let step = rows_of(a).iter().map(|x| x * x).sum::<f64>().sqrt() * 1e-10;
    let coarse = |x: f64| if step > 0.0 { (x / step).round() } else { 0.0 };
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| {
        let (a, b) = (values[i], values[j]);
        coarse(b.re).total_cmp(&coarse(a.re)).then(coarse(b.im).total_cmp(&coarse(a.im)))
    });
    let mut columns = Vec::with_capacity(n);
    for &j in &order {
        let norms: Vec<f64> = (0..n).map(|i| vectors[(i, j)].norm()).collect();
        let greatest = norms.iter().fold(0f64, |top, x| top.max(*x));
        let length = norms.iter().map(|x| x * x).sum::<f64>().sqrt();
        let leading = norms.iter().position(|x| *x >= 0.9 * greatest).unwrap_or(0);
        let phase = vectors[(leading, j)].conj() / norms[leading].max(f64::MIN_POSITIVE);
        columns.push((0..n).map(|i| vectors[(i, j)] * phase / length).collect::<Vec<_>>());
    }
    let pairs = order.iter().flat_map(|&i| [values[i].re, values[i].im]).collect();
    let by_row =
        (0..n).flat_map(|i| columns.iter().flat_map(move |c| [c[i].re, c[i].im]).collect::<Vec<_>>());
    Ok(vec![pairs, by_row.collect()])
}

/// What triangular factors give.
fn solved(op: LinalgOp, a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Result<Vec<Vec<f64>>, &'static str> {
    use faer::linalg::solvers::Solve;

    let (m, n) = (a.nrows(), a.ncols());
    let k = m.min(n);
    let factors = a.partial_piv_lu();
    let (l, u) = (factors.L(), factors.U());
    let (forward, back) = factors.P().arrays();
    // For each row in turn the later one that it is exchanged with.
    let mut order: Vec<usize> = (0..m).collect();
    let pivots: Vec<usize> = (0..k)
        .map(|i| {
            let at = (i..m).find(|&j| order[j] == forward[i]).unwrap_or(i);
            order.swap(i, at);
            at
        })
        .collect();
    let lower = |i: usize, j: usize| if j < i { l[(i, j)] } else { f64::from(u8::from(i == j)) };
    let upper = |i: usize, j: usize| if j >= i { u[(i, j)] } else { 0.0 };
    let numbers = |places: &[usize]| places.iter().map(|&place| place as f64).collect::<Vec<f64>>();
    let full = |rows: usize, columns: usize, at: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
        (0..rows * columns).map(|i| at(i / columns, i % columns)).collect()
    };
    match op {
        LinalgOp::Lu => Ok(vec![numbers(back), full(m, k, &lower), full(k, n, &upper)]),
        LinalgOp::LuFactor => {
            let both = |i: usize, j: usize| if j >= i { u[(i, j)] } else { l[(i, j)] };
            Ok(vec![full(m, n, &both), numbers(&pivots)])
        }
        LinalgOp::Det => {
            let odd = pivots.iter().enumerate().filter(|(i, pivot)| i != *pivot).count() % 2 == 1;
            let product: f64 = (0..n).map(|i| u[(i, i)]).product();
            Ok(vec![vec![if odd { -product } else { product }]])
        }
        _ if (0..n).any(|i| u[(i, i)] == 0.0) => Err("invertible"),
        LinalgOp::Inverse => {
            let identity = faer::Mat::<f64>::identity(n, n);
            Ok(vec![rows_of(factors.solve(&identity).as_ref())])
        }
        _ => Ok(vec![rows_of(factors.solve(b).as_ref())]),
    }
}
