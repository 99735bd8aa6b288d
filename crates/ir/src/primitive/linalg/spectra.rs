//! Derivatives of singular values, eigenvalues and their vectors.
//!
//! Values that are equal share a space of vectors, in which a small change picks
//! others: there the derivatives of vectors are infinite or NaN, and those of the
//! values hold on average. A vector that belongs to no singular value (0) has no
//! derivative either.

use oneir_tensor::DType;

use super::derivatives::{diagonal_given, given};
use super::recorded::{
    adjoint, columns_times, diagonal, diagonal_of, gaps, imaginary, linalg, mirrored, real, rows_times,
    sides, times, turns, unmirrored, unturned,
};
use crate::primitive::LinalgOp;
use crate::primitive::transforms::{Applied, Slots};
use crate::{Invalid, UnaryOp, Value};

/// Whether vectors are turned to make their anchors positive by more than a sign.
fn turned(vectors: &Value) -> bool {
    vectors.spec().dtype.is_complex() && vectors.spec().count() > 0
}

fn sum(a: Value, b: Option<Value>) -> Result<Value, Invalid> {
    b.map_or(Ok(a.clone()), |b| a.add(&b))
}

/// What of x lies outside the space of orthonormal columns.
fn outside(columns: &Value, x: &Value) -> Result<Value, Invalid> {
    x.subtract(&columns.matmul(&adjoint(columns)?.matmul(x)?)?)
}

/// For u, s and v, with p = uᴴ a' v: s' is p's real diagonal, and within the
/// columns, u' is u (f ∘ (p s + s pᴴ)) and v' is v (f ∘ (s p + pᴴ s)), f being one
/// over the differences of squares of s.
pub(super) fn svd_jvp(at: &Applied<'_>, tangents: &[Option<Value>]) -> Result<Slots, Invalid> {
    let [Some(change)] = tangents else { return Ok(vec![None; 3]) };
    let (u, s, v) = (&at.outputs[0], &at.outputs[1], adjoint(&at.outputs[2])?);
    let dtype = u.spec().dtype;
    let p = adjoint(u)?.matmul(change)?.matmul(&v)?;
    let by_s = real(&diagonal(&p)?, s.spec().dtype)?;
    let f = gaps(&s.unary(UnaryOp::Square)?, dtype)?;
    let inverse = s.unary(UnaryOp::Reciprocal)?;
    let mixed = |p: &Value| {
        let q = columns_times(p, s)?;
        f.multiply(&q.add(&adjoint(&q)?)?)
    };
    let mut within = mixed(&p)?;
    if dtype.is_complex() {
        let angles = imaginary(&diagonal(&p)?)?.multiply(&inverse.as_type(dtype)?)?;
        within = within.add(&diagonal_of(&angles, dtype)?)?;
    }
    let mut by_u = u.matmul(&within)?;
    let mut by_v = v.matmul(&mixed(&adjoint(&p)?)?)?;
    if sides(u).0 > sides(u).1 {
        by_u = by_u.add(&columns_times(&outside(u, &change.matmul(&v)?)?, &inverse)?)?;
    }
    if sides(&v).0 > sides(&v).1 {
        by_v = by_v.add(&columns_times(&outside(&v, &adjoint(change)?.matmul(u)?)?, &inverse)?)?;
    }
    if turned(u) {
        let angles = turns(u, &by_u)?;
        by_u = by_u.add(&columns_times(u, &angles)?)?;
        by_v = by_v.add(&columns_times(&v, &angles)?)?;
    }
    Ok(vec![Some(by_u), Some(by_s), Some(adjoint(&by_v)?)])
}

pub(super) fn svd_vjp(at: &Applied<'_>, cotangents: &[Option<Value>]) -> Result<Slots, Invalid> {
    let (u, s, vt) = (&at.outputs[0], &at.outputs[1], &at.outputs[2]);
    let dtype = u.spec().dtype;
    let by_s = diagonal_given(&cotangents[1], dtype)?;
    // Values alone have derivatives also where vectors have none.
    if cotangents[0].is_none() && cotangents[2].is_none() {
        let Some(by_s) = by_s else { return Ok(vec![None]) };
        return Ok(vec![Some(u.matmul(&by_s)?.matmul(vt)?)]);
    }
    let v = adjoint(vt)?;
    let (mut by_u, by_v) = (given(&cotangents[0], u)?, adjoint(&given(&cotangents[2], vt)?)?);
    let by_v_within = vt.matmul(&by_v)?;
    if turned(u) {
        let products = diagonal(&adjoint(u)?.matmul(&by_u)?)?.add(&diagonal(&by_v_within)?)?;
        by_u = by_u.add(&unturned(u, &products)?)?;
    }
    let by_u_within = adjoint(u)?.matmul(&by_u)?;
    let f = gaps(&s.unary(UnaryOp::Square)?, dtype)?;
    let inverse = s.unary(UnaryOp::Reciprocal)?;
    let mixed = |x: &Value| {
        let z = f.multiply(x)?;
        z.add(&adjoint(&z)?)
    };
    let mut p = columns_times(&mixed(&by_u_within)?, s)?.add(&rows_times(s, &mixed(&by_v_within)?)?)?;
    if dtype.is_complex() {
        let angles = imaginary(&diagonal(&by_u_within)?)?.multiply(&inverse.as_type(dtype)?)?;
        p = p.add(&diagonal_of(&angles, dtype)?)?;
    }
    let mut by_a = u.matmul(&sum(p, by_s)?)?.matmul(vt)?;
    if sides(u).0 > sides(u).1 {
        by_a = by_a.add(&columns_times(&outside(u, &by_u)?, &inverse)?.matmul(vt)?)?;
    }
    if sides(&v).0 > sides(&v).1 {
        by_a = by_a.add(&columns_times(u, &inverse)?.matmul(&adjoint(&outside(&v, &by_v)?)?)?)?;
    }
    Ok(vec![Some(by_a)])
}

/// With p = vᴴ a' v, values change by p's diagonal and vectors by v (f ∘ p), f being
/// one over the differences of values.
pub(super) fn eigh_jvp(at: &Applied<'_>, tangents: &[Option<Value>]) -> Result<Slots, Invalid> {
    let [Some(change)] = tangents else { return Ok(vec![None; 2]) };
    let (w, v) = (&at.outputs[0], &at.outputs[1]);
    let p = adjoint(v)?.matmul(&mirrored(change)?)?.matmul(v)?;
    let by_w = real(&diagonal(&p)?, w.spec().dtype)?;
    let mut by_v = v.matmul(&gaps(w, v.spec().dtype)?.multiply(&p)?)?;
    if turned(v) {
        by_v = by_v.add(&columns_times(v, &turns(v, &by_v)?)?)?;
    }
    Ok(vec![Some(by_w), Some(by_v)])
}

pub(super) fn eigh_vjp(at: &Applied<'_>, cotangents: &[Option<Value>]) -> Result<Slots, Invalid> {
    let (w, v) = (&at.outputs[0], &at.outputs[1]);
    let dtype = v.spec().dtype;
    let by_w = diagonal_given(&cotangents[0], dtype)?;
    let p = match &cotangents[1] {
        // Values alone have derivatives also where vectors have none.
        None => by_w,
        Some(by_v) => {
            let mut within = adjoint(v)?.matmul(by_v)?;
            if turned(v) {
                let by_v = by_v.add(&unturned(v, &diagonal(&within)?)?)?;
                within = adjoint(v)?.matmul(&by_v)?;
            }
            Some(sum(gaps(w, dtype)?.multiply(&within)?, by_w)?)
        }
    };
    let Some(p) = p else { return Ok(vec![None]) };
    // What belongs to the Hermitian matrix, and then to its lower triangle.
    let whole = times(&v.matmul(&p)?.matmul(&adjoint(v)?)?, 0.5)?;
    Ok(vec![Some(unmirrored(&whole.add(&adjoint(&whole)?)?)?)])
}

/// As [`eigh_jvp`] with p = v⁻¹ a' v, but that vectors are not orthogonal and have to
/// keep their length.
pub(super) fn eig_jvp(at: &Applied<'_>, tangents: &[Option<Value>]) -> Result<Slots, Invalid> {
    let [Some(change)] = tangents else { return Ok(vec![None; 2]) };
    let (w, v) = (&at.outputs[0], &at.outputs[1]);
    let dtype = v.spec().dtype;
    let p = linalg(LinalgOp::Solve, &[v, &change.as_type(dtype)?.matmul(v)?])?;
    let free = v.matmul(&gaps(w, dtype)?.multiply(&p)?)?;
    let mut by_v = free.subtract(&lengthwise(v, &free)?)?;
    if turned(v) {
        by_v = by_v.add(&columns_times(v, &turns(v, &by_v)?)?)?;
    }
    Ok(vec![Some(diagonal(&p)?), Some(by_v)])
}

/// The part of changes of vectors that makes them longer.
fn lengthwise(v: &Value, change: &Value) -> Result<Value, Invalid> {
    columns_times(v, &real(&diagonal(&adjoint(v)?.matmul(change)?)?, DType::F32)?)
}

pub(super) fn eig_vjp(at: &Applied<'_>, cotangents: &[Option<Value>]) -> Result<Slots, Invalid> {
    let (w, v) = (&at.outputs[0], &at.outputs[1]);
    let dtype = v.spec().dtype;
    let by_w = diagonal_given(&cotangents[0], dtype)?;
    let p = match &cotangents[1] {
        None => by_w,
        Some(by_v) => {
            let mut by_v = by_v.clone();
            if turned(v) {
                by_v = by_v.add(&unturned(v, &diagonal(&adjoint(v)?.matmul(&by_v)?)?)?)?;
            }
            let free = by_v.subtract(&lengthwise(v, &by_v)?)?;
            let f = gaps(w, dtype)?.unary(UnaryOp::Conjugate)?;
            Some(sum(f.multiply(&adjoint(v)?.matmul(&free)?)?, by_w)?)
        }
    };
    let Some(p) = p else { return Ok(vec![None]) };
    let by_a = linalg(LinalgOp::Solve, &[&adjoint(v)?, &p.matmul(&adjoint(v)?)?])?;
    let a = at.inputs[0].spec().dtype;
    Ok(vec![Some(if a.is_complex() { by_a } else { real(&by_a, a)? })])
}
