//! Derivatives of inverses, solutions, determinants and triangular factors.
//!
//! Where a matrix lacks what a derivative needs (an inverse, most often), the
//! derivative fails as the operation that computes it does, by its name.

use oneir_tensor::DType;

use super::recorded::{
    above, adjoint, below, beside, columns, diagonal, diagonal_of, extended, half_lower, in_columns, kept,
    linalg, mirrored, rows, sides, times, unmirrored,
};
use super::spectra;
use crate::primitive::transforms::{Applied, Derivative, Slots};
use crate::primitive::{Asked, BinaryOp, LinalgOp, Primitive};
use crate::{Invalid, Place, UnaryOp, Value};

type Rule = fn(&Applied<'_>, &[Option<Value>]) -> Result<Slots, Invalid>;

fn custom<'a>(jvp: Rule, vjp: Rule) -> Derivative<'a> {
    Derivative::Custom { jvp: Box::new(jvp), vjp: Box::new(vjp) }
}

/// The rule of an operation.
pub(super) fn of<'a>(op: LinalgOp) -> Derivative<'a> {
    match op {
        LinalgOp::Inverse => custom(inverse_jvp, inverse_vjp),
        LinalgOp::Det => custom(det_jvp, det_vjp),
        LinalgOp::Solve | LinalgOp::SolveLower | LinalgOp::SolveUpper => Derivative::Custom {
            jvp: Box::new(move |at, tangents| solve_jvp(op, at, tangents)),
            vjp: Box::new(move |at, cotangents| solve_vjp(op, at, cotangents)),
        },
        LinalgOp::Cholesky => custom(cholesky_jvp, cholesky_vjp),
        LinalgOp::Qr => custom(qr_jvp, qr_vjp),
        LinalgOp::Lu => custom(lu_jvp, lu_vjp),
        LinalgOp::LuFactor => Derivative::Via(Box::new(lu_factor)),
        LinalgOp::Svd => custom(spectra::svd_jvp, spectra::svd_vjp),
        LinalgOp::SvdFull => Derivative::Chosen(Box::new(svd_full)),
        LinalgOp::Eigh => custom(spectra::eigh_jvp, spectra::eigh_vjp),
        LinalgOp::Eig => custom(spectra::eig_jvp, spectra::eig_vjp),
    }
}

/// As that of `Svd`, where nothing asks for vectors that complete u or vt: a square
/// matrix has none of them.
fn svd_full<'a>(inputs: &[Value], asked: Asked<'_>) -> Derivative<'a> {
    let (m, n) = sides(&inputs[0]);
    let completed = if m > n { 0 } else { 2 };
    match asked {
        _ if m == n => of(LinalgOp::Svd),
        Asked::Cotangents(cotangents) if cotangents[completed].is_none() => {
            Derivative::Via(Box::new(|inputs| {
                let svd = Primitive::Linalg(LinalgOp::Svd);
                Ok(Value::record_all(svd, &[&inputs[0]], Place::Internal)?.into_vec())
            }))
        }
        _ => Derivative::Undefined(
            "the vectors that complete u or vt are not determined by the matrix; `svd` has those that are",
        ),
    }
}

/// Minus.
fn minus(x: &Value) -> Result<Value, Invalid> {
    x.unary(UnaryOp::Neg)
}

/// The cotangent of a result, zeros where there is none.
pub(super) fn given(slot: &Option<Value>, like: &Value) -> Result<Value, Invalid> {
    slot.as_ref().map_or_else(|| like.filled_like(0.0), |x| Ok(x.clone()))
}

fn inverse_jvp(at: &Applied<'_>, tangents: &[Option<Value>]) -> Result<Slots, Invalid> {
    let (inverse, [Some(change)]) = (&at.outputs[0], tangents) else { return Ok(vec![None]) };
    Ok(vec![Some(minus(&inverse.matmul(change)?.matmul(inverse)?)?)])
}

fn inverse_vjp(at: &Applied<'_>, cotangents: &[Option<Value>]) -> Result<Slots, Invalid> {
    let [Some(cotangent)] = cotangents else { return Ok(vec![None]) };
    let inverse = adjoint(&at.outputs[0])?;
    Ok(vec![Some(minus(&inverse.matmul(cotangent)?.matmul(&inverse)?)?)])
}

/// The determinant times the inverse: a singular matrix fails as `inverse` does.
fn adjugate(at: &Applied<'_>) -> Result<Value, Invalid> {
    let inverse = linalg(LinalgOp::Inverse, &[&at.inputs[0]])?;
    over_all(&at.outputs[0], &inverse)?.multiply(&inverse)
}

/// A number for each matrix, at each of its places.
fn over_all(number: &Value, like: &Value) -> Result<Value, Invalid> {
    let (rank, shape) = (like.spec().rank(), &like.spec().shape);
    let ones: Vec<usize> = shape[..rank - 2].iter().copied().chain([1, 1]).collect();
    number.reshape(&ones)?.broadcast(shape)
}

fn det_jvp(at: &Applied<'_>, tangents: &[Option<Value>]) -> Result<Slots, Invalid> {
    let [Some(change)] = tangents else { return Ok(vec![None]) };
    let product = diagonal(&adjugate(at)?.matmul(change)?)?;
    let rank = product.spec().rank();
    let trace = product.reduce(crate::ReduceOp::Sum, &[rank - 1])?;
    Ok(vec![Some(trace.reshape(&at.outputs[0].spec().shape)?)])
}

fn det_vjp(at: &Applied<'_>, cotangents: &[Option<Value>]) -> Result<Slots, Invalid> {
    let [Some(cotangent)] = cotangents else { return Ok(vec![None]) };
    let adjugate = adjoint(&adjugate(at)?)?;
    Ok(vec![Some(over_all(cotangent, &adjugate)?.multiply(&adjugate)?)])
}

/// What of a the operation reads.
fn read(op: LinalgOp, a: &Value) -> Result<Value, Invalid> {
    match op {
        LinalgOp::SolveLower => kept(a, |i, j| i >= j),
        LinalgOp::SolveUpper => kept(a, |i, j| i <= j),
        _ => Ok(a.clone()),
    }
}

fn solve_jvp(op: LinalgOp, at: &Applied<'_>, tangents: &[Option<Value>]) -> Result<Slots, Invalid> {
    let (a, x) = (&at.inputs[0], &at.outputs[0]);
    let mut right = given(&tangents[1], x)?;
    if let Some(change) = &tangents[0] {
        right = right.subtract(&read(op, change)?.matmul(x)?)?;
    }
    Ok(vec![Some(linalg(op, &[a, &right])?)])
}

fn solve_vjp(op: LinalgOp, at: &Applied<'_>, cotangents: &[Option<Value>]) -> Result<Slots, Invalid> {
    let [Some(cotangent)] = cotangents else { return Ok(vec![None; 2]) };
    let back = match op {
        LinalgOp::SolveLower => LinalgOp::SolveUpper,
        LinalgOp::SolveUpper => LinalgOp::SolveLower,
        other => other,
    };
    let right = linalg(back, &[&adjoint(&at.inputs[0])?, cotangent])?;
    let matrix = minus(&right.matmul(&adjoint(&at.outputs[0])?)?)?;
    Ok(vec![Some(read(op, &matrix)?), Some(right)])
}

fn lower(a: &Value, b: &Value) -> Result<Value, Invalid> {
    linalg(LinalgOp::SolveLower, &[a, b])
}

fn upper(a: &Value, b: &Value) -> Result<Value, Invalid> {
    linalg(LinalgOp::SolveUpper, &[a, b])
}

/// With l the factor, l⁻¹ a' l⁻ᴴ is half_lower(l⁻¹ l') and its adjoint.
fn cholesky_jvp(at: &Applied<'_>, tangents: &[Option<Value>]) -> Result<Slots, Invalid> {
    let (l, [Some(change)]) = (&at.outputs[0], tangents) else { return Ok(vec![None]) };
    let once = lower(l, &mirrored(change)?)?;
    let both = lower(l, &adjoint(&once)?)?;
    Ok(vec![Some(l.matmul(&half_lower(&both)?)?)])
}

fn cholesky_vjp(at: &Applied<'_>, cotangents: &[Option<Value>]) -> Result<Slots, Invalid> {
    let (l, [Some(cotangent)]) = (&at.outputs[0], cotangents) else { return Ok(vec![None]) };
    let back = adjoint(l)?;
    let inner = half_lower(&back.matmul(cotangent)?)?;
    let inner = times(&inner.add(&adjoint(&inner)?)?, 0.5)?;
    let once = upper(&back, &inner)?;
    let both = upper(&back, &adjoint(&once)?)?;
    Ok(vec![Some(unmirrored(&both)?)])
}

/// A factor whose diagonal is real, and one that stays orthonormal: the part of
/// q's change within its columns is half_lower(m) less its adjoint, where m is
/// qᴴ a' r⁻¹.
fn qr_jvp(at: &Applied<'_>, tangents: &[Option<Value>]) -> Result<Slots, Invalid> {
    let [Some(change)] = tangents else { return Ok(vec![None; 2]) };
    let (q, r) = (&at.outputs[0], &at.outputs[1]);
    let ((m, k), (_, n)) = (sides(q), sides(r));
    let first = columns(r, 0, k)?;
    // For a wide matrix, the first columns decide.
    let scaled = adjoint(&lower(&adjoint(&first)?, &adjoint(&columns(change, 0, k)?)?)?)?;
    let within = adjoint(q)?.matmul(&scaled)?;
    let half = half_lower(&within)?;
    let skew = half.subtract(&adjoint(&half)?)?;
    let mut q_change = q.matmul(&skew)?;
    if m > k {
        q_change = q_change.add(&scaled.subtract(&q.matmul(&within)?)?)?;
    }
    let mut r_change = within.subtract(&skew)?.matmul(&first)?;
    if n > k {
        let (from, change) = (columns(&at.inputs[0], k, n - k)?, columns(change, k, n - k)?);
        let rest = adjoint(&q_change)?.matmul(&from)?.add(&adjoint(q)?.matmul(&change)?)?;
        r_change = beside(&r_change, &rest)?;
    }
    // Below r's diagonal there is nothing but rounding.
    Ok(vec![Some(q_change), Some(kept(&r_change, |i, j| i <= j)?)])
}

fn qr_vjp(at: &Applied<'_>, cotangents: &[Option<Value>]) -> Result<Slots, Invalid> {
    let (q, r) = (&at.outputs[0], &at.outputs[1]);
    let ((_, k), (_, n)) = (sides(q), sides(r));
    let mut by_q = given(&cotangents[0], q)?;
    let by_r = kept(&given(&cotangents[1], r)?, |i, j| i <= j)?;
    let mut rest = None;
    if n > k {
        let by_rest = columns(&by_r, k, n - k)?;
        by_q = by_q.add(&columns(&at.inputs[0], k, n - k)?.matmul(&adjoint(&by_rest)?)?)?;
        rest = Some(q.matmul(&by_rest)?);
    }
    let (first, by_first) = (columns(r, 0, k)?, columns(&by_r, 0, k)?);
    let skew = adjoint(q)?.matmul(&by_q)?.subtract(&by_first.matmul(&adjoint(&first)?)?)?;
    let within = half_lower(&skew.subtract(&adjoint(&skew)?)?)?.subtract(&skew)?;
    let scaled = by_q.add(&q.matmul(&within)?)?;
    let by_a = adjoint(&upper(&first, &adjoint(&scaled)?)?)?;
    Ok(vec![Some(match rest {
        Some(rest) => beside(&by_a, &rest)?,
        None => by_a,
    })])
}

/// The matrix e with `a = e l u`.
fn reordering(places: &Value, dtype: DType) -> Result<Value, Invalid> {
    let spread = in_columns(places, places.spec().shape.cols())?;
    let shape = spread.spec().shape.to_vec();
    let row = Primitive::Iota { dtype: DType::U32, axis: shape.len() - 1, shape };
    let row = Value::record(row, &[], Place::Internal)?;
    spread.binary(BinaryOp::Equal, &row)?.as_type(dtype)
}

/// x times the inverse of an upper triangle.
fn over_upper(x: &Value, u: &Value) -> Result<Value, Invalid> {
    adjoint(&lower(&adjoint(u)?, &adjoint(x)?)?)
}

/// l⁻¹ a' u⁻¹ is l⁻¹ l', which lies below the diagonal, and u' u⁻¹.
fn lu_jvp(at: &Applied<'_>, tangents: &[Option<Value>]) -> Result<Slots, Invalid> {
    let [Some(change)] = tangents else { return Ok(vec![None; 3]) };
    let (l, u) = (&at.outputs[1], &at.outputs[2]);
    let ((m, k), (_, n)) = (sides(l), sides(u));
    let change = adjoint(&reordering(&at.outputs[0], l.spec().dtype)?)?.matmul(change)?;
    let (l1, u1) = (rows(l, 0, k)?, columns(u, 0, k)?);
    let first = columns(&rows(&change, 0, k)?, 0, k)?;
    let inner = over_upper(&lower(&l1, &first)?, &u1)?;
    let mut by_l = l1.matmul(&below(&inner)?)?;
    let mut by_u = kept(&inner, |i, j| i <= j)?.matmul(&u1)?;
    if n > k {
        let rest = columns(&change, k, n - k)?.subtract(&by_l.matmul(&columns(u, k, n - k)?)?)?;
        by_u = beside(&by_u, &lower(&l1, &rest)?)?;
    }
    if m > k {
        let rest = rows(&change, k, m - k)?.subtract(&rows(l, k, m - k)?.matmul(&by_u)?)?;
        by_l = above(&by_l, &over_upper(&rest, &u1)?)?;
    }
    Ok(vec![None, Some(by_l), Some(by_u)])
}

fn lu_vjp(at: &Applied<'_>, cotangents: &[Option<Value>]) -> Result<Slots, Invalid> {
    let (l, u) = (&at.outputs[1], &at.outputs[2]);
    let ((m, k), (_, n)) = (sides(l), sides(u));
    let (l1, u1) = (rows(l, 0, k)?, columns(u, 0, k)?);
    let (by_l, by_u) = (given(&cotangents[1], l)?, given(&cotangents[2], u)?);
    let (mut by_l1, mut by_u1) = (rows(&by_l, 0, k)?, columns(&by_u, 0, k)?);
    let under_lower = |x: &Value| upper(&adjoint(&l1)?, x);
    let over_adjoint = |x: &Value| adjoint(&upper(&u1, &adjoint(x)?)?);
    let (mut right, mut under) = (None, None);
    if n > k {
        let rest = under_lower(&columns(&by_u, k, n - k)?)?;
        by_l1 = by_l1.subtract(&rest.matmul(&adjoint(&columns(u, k, n - k)?)?)?)?;
        right = Some(rest);
    }
    if m > k {
        let rest = over_adjoint(&rows(&by_l, k, m - k)?)?;
        by_u1 = by_u1.subtract(&adjoint(&rows(l, k, m - k)?)?.matmul(&rest)?)?;
        under = Some(rest);
    }
    let inner =
        below(&adjoint(&l1)?.matmul(&by_l1)?)?.add(&kept(&by_u1.matmul(&adjoint(&u1)?)?, |i, j| i <= j)?)?;
    let mut whole = over_adjoint(&under_lower(&inner)?)?;
    if let Some(right) = right {
        whole = beside(&whole, &right)?;
    }
    if let Some(under) = under {
        whole = above(&whole, &under)?;
    }
    Ok(vec![Some(reordering(&at.outputs[0], l.spec().dtype)?.matmul(&whole)?)])
}

/// The packed factors by way of the separate ones. The swaps change in jumps.
fn lu_factor(inputs: &[Value]) -> Result<Vec<Value>, Invalid> {
    let a = &inputs[0];
    let parts = Value::record_all(Primitive::Linalg(LinalgOp::Lu), &[a], Place::Internal)?;
    let (l, u) = (&parts[1], &parts[2]);
    let ((m, k), (_, n)) = (sides(l), sides(u));
    let mut lower = below(l)?;
    if n > k {
        lower = beside(&lower, &columns(u, k, n - k)?.filled_like(0.0)?)?;
    }
    let fixed = Value::record(Primitive::StopGradient, &[a], Place::Internal)?;
    let packed = Value::record_all(Primitive::Linalg(LinalgOp::LuFactor), &[&fixed], Place::Internal)?;
    Ok(vec![lower.add(&extended(u, m)?)?, packed[1].clone()])
}

/// A diagonal matrix of a cotangent, or none.
pub(super) fn diagonal_given(slot: &Option<Value>, dtype: DType) -> Result<Option<Value>, Invalid> {
    slot.as_ref().map(|s| diagonal_of(s, dtype)).transpose()
}
