use std::f64::consts::FRAC_1_SQRT_2 as HALF;

use oneir_tensor::{Complex32, DType, HostTensor};

use crate::primitive::case::{for_dtypes, of, t};
use crate::primitive::{Case, LinalgOp, Primitive};

fn linalg(op: LinalgOp) -> Primitive {
    Primitive::Linalg(op)
}

fn f32s(shape: &[usize], numbers: &[f64]) -> HostTensor {
    of(DType::F32, shape, numbers)
}

fn complex(shape: &[usize], parts: &[[f64; 2]]) -> HostTensor {
    let numbers: Vec<Complex32> = parts.iter().map(|p| Complex32::new(p[0] as f32, p[1] as f32)).collect();
    t(shape, &numbers)
}

pub(super) fn all() -> Vec<Case> {
    let mut cases = for_dtypes(DType::F32, &[DType::F64, DType::Complex64], solved());
    cases.extend(for_dtypes(DType::F32, &[DType::F64], real_factors()));
    cases.extend(eigen());
    cases.extend(complex_factors());
    cases.extend(for_dtypes(DType::F32, &[DType::F64, DType::Complex64], failing()));
    cases.extend(refused());
    cases.extend(for_dtypes(DType::F32, &[DType::F64], larger()));
    cases
}

/// Results of the operands' dtype alone.
fn solved() -> Vec<Case> {
    let square = |numbers: &[f64]| f32s(&[2, 2], numbers);
    vec![
        // What lies above the diagonal is not read.
        Case::new(
            linalg(LinalgOp::Cholesky),
            vec![f32s(&[2, 2, 2], &[4.0, 99.0, 2.0, 5.0, 9.0, 99.0, 0.0, 1.0])],
            vec![f32s(&[2, 2, 2], &[2.0, 0.0, 1.0, 2.0, 3.0, 0.0, 0.0, 1.0])],
        ),
        Case::new(
            linalg(LinalgOp::Inverse),
            vec![f32s(&[2, 2, 2], &[0.0, 2.0, 4.0, 0.0, 2.0, 0.0, 1.0, 4.0])],
            vec![f32s(&[2, 2, 2], &[0.0, 0.25, 0.5, 0.0, 0.5, 0.0, -0.125, 0.25])],
        ),
        Case::new(
            linalg(LinalgOp::Solve),
            vec![square(&[0.0, 2.0, 4.0, 2.0]), f32s(&[2, 1], &[2.0, 10.0])],
            vec![f32s(&[2, 1], &[2.0, 1.0])],
        ),
        Case::new(
            linalg(LinalgOp::SolveLower),
            vec![square(&[2.0, 99.0, 1.0, 4.0]), square(&[2.0, 4.0, 9.0, 6.0])],
            vec![square(&[1.0, 2.0, 2.0, 1.0])],
        ),
        Case::new(
            linalg(LinalgOp::SolveUpper),
            vec![square(&[2.0, 1.0, 99.0, 4.0]), f32s(&[2, 1], &[4.0, 8.0])],
            vec![f32s(&[2, 1], &[1.0, 2.0])],
        ),
        Case::new(
            linalg(LinalgOp::Qr),
            vec![square(&[3.0, 1.0, 4.0, 2.0])],
            vec![square(&[-0.6, -0.8, -0.8, 0.6]), square(&[-5.0, -2.2, 0.0, 0.4])],
        ),
        Case::new(
            linalg(LinalgOp::Qr),
            vec![f32s(&[3, 1], &[2.0, 1.0, 2.0])],
            vec![f32s(&[3, 1], &[-2.0 / 3.0, -1.0 / 3.0, -2.0 / 3.0]), f32s(&[1, 1], &[-3.0])],
        ),
        Case::new(
            linalg(LinalgOp::Qr),
            vec![f32s(&[1, 2], &[3.0, 4.0])],
            vec![f32s(&[1, 1], &[1.0]), f32s(&[1, 2], &[3.0, 4.0])],
        ),
        Case::new(
            linalg(LinalgOp::Lu),
            vec![f32s(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.5])],
            vec![
                t(&[2], &[1u32, 0]),
                square(&[1.0, 0.0, 0.25, 1.0]),
                f32s(&[2, 3], &[4.0, 5.0, 6.5, 0.0, 0.75, 1.375]),
            ],
        ),
        Case::new(
            linalg(LinalgOp::Lu),
            vec![f32s(&[3, 2], &[1.0, 2.0, 4.0, 8.0, 2.0, 6.0])],
            vec![
                t(&[3], &[2u32, 0, 1]),
                f32s(&[3, 2], &[1.0, 0.0, 0.5, 1.0, 0.25, 0.0]),
                square(&[4.0, 8.0, 0.0, 2.0]),
            ],
        ),
        Case::new(
            linalg(LinalgOp::LuFactor),
            vec![f32s(&[3, 2], &[1.0, 2.0, 4.0, 8.0, 2.0, 6.0])],
            vec![f32s(&[3, 2], &[4.0, 8.0, 0.5, 2.0, 0.25, 0.0]), t(&[2], &[1u32, 2])],
        ),
        // A singular matrix has factors too.
        Case::new(
            linalg(LinalgOp::LuFactor),
            vec![square(&[0.0, 1.0, 0.0, 2.0])],
            vec![square(&[0.0, 1.0, 0.0, 2.0]), t(&[2], &[0u32, 1])],
        ),
        Case::new(
            linalg(LinalgOp::Det),
            vec![f32s(&[3, 2, 2], &[1.0, 2.0, 3.0, 4.0, 2.0, 0.0, 5.0, 3.0, 1.0, 2.0, 2.0, 4.0])],
            vec![f32s(&[3], &[-2.0, 6.0, 0.0])],
        ),
        Case::new(linalg(LinalgOp::Det), vec![f32s(&[2, 0, 0], &[])], vec![f32s(&[2], &[1.0, 1.0])]),
        Case::new(linalg(LinalgOp::Inverse), vec![f32s(&[0, 2, 2], &[])], vec![f32s(&[0, 2, 2], &[])]),
        Case::new(
            linalg(LinalgOp::Solve),
            vec![square(&[1.0, 0.0, 0.0, 1.0]), f32s(&[2, 0], &[])],
            vec![f32s(&[2, 0], &[])],
        ),
        Case::new(
            linalg(LinalgOp::Qr),
            vec![f32s(&[2, 0], &[])],
            vec![f32s(&[2, 0], &[]), f32s(&[0, 0], &[])],
        ),
        Case::new(
            linalg(LinalgOp::Lu),
            vec![f32s(&[2, 0], &[])],
            vec![t(&[2], &[0u32, 1]), f32s(&[2, 0], &[]), f32s(&[0, 0], &[])],
        ),
    ]
}

/// Results that are real for complex operands too.
fn real_factors() -> Vec<Case> {
    let square = |numbers: &[f64]| f32s(&[2, 2], numbers);
    let tenth = 0.1f64.sqrt();
    vec![
        Case::new(
            linalg(LinalgOp::Svd),
            vec![square(&[3.0, 0.0, 4.0, 5.0])],
            vec![
                square(&[tenth, 3.0 * tenth, 3.0 * tenth, -tenth]),
                f32s(&[2], &[45f64.sqrt(), 5f64.sqrt()]),
                square(&[HALF, HALF, HALF, -HALF]),
            ],
        ),
        Case::new(
            linalg(LinalgOp::Svd),
            vec![f32s(&[2, 3], &[0.0, -2.0, 0.0, 3.0, 0.0, 0.0])],
            vec![
                square(&[0.0, 1.0, 1.0, 0.0]),
                f32s(&[2], &[3.0, 2.0]),
                f32s(&[2, 3], &[1.0, 0.0, 0.0, 0.0, -1.0, 0.0]),
            ],
        ),
        // Vectors without a singular value of their own are still orthonormal.
        Case::new(
            linalg(LinalgOp::Svd),
            vec![square(&[1.0, 1.0, 1.0, 1.0])],
            vec![
                square(&[HALF, HALF, HALF, -HALF]),
                f32s(&[2], &[2.0, 0.0]),
                square(&[HALF, HALF, HALF, -HALF]),
            ],
        ),
        Case::new(
            linalg(LinalgOp::SvdFull),
            vec![f32s(&[2, 1], &[3.0, 4.0])],
            vec![square(&[0.6, 0.8, 0.8, -0.6]), f32s(&[1], &[5.0]), f32s(&[1, 1], &[1.0])],
        ),
        Case::new(
            linalg(LinalgOp::SvdFull),
            vec![f32s(&[1, 2], &[-3.0, 4.0])],
            vec![f32s(&[1, 1], &[1.0]), f32s(&[1], &[5.0]), square(&[-0.6, 0.8, 0.8, 0.6])],
        ),
        Case::new(
            linalg(LinalgOp::SvdFull),
            vec![f32s(&[2, 0], &[])],
            vec![square(&[1.0, 0.0, 0.0, 1.0]), f32s(&[0], &[]), f32s(&[0, 0], &[])],
        ),
        Case::new(
            linalg(LinalgOp::Eigh),
            vec![f32s(&[2, 2, 2], &[2.0, f64::NAN, 1.0, 2.0, 3.0, 99.0, 0.0, -1.0])],
            vec![
                f32s(&[2, 2], &[1.0, 3.0, -1.0, 3.0]),
                f32s(&[2, 2, 2], &[HALF, HALF, -HALF, HALF, 0.0, 1.0, 1.0, 0.0]),
            ],
        ),
        Case::new(
            linalg(LinalgOp::Eigh),
            vec![f32s(&[0, 0], &[])],
            vec![f32s(&[0], &[]), f32s(&[0, 0], &[])],
        ),
    ]
}

/// Results that are complex for real operands too.
fn eigen() -> Vec<Case> {
    let parts = |numbers: &[f64]| numbers.iter().map(|&x| [x, 0.0]).collect::<Vec<_>>();
    let known = vec![
        Case::new(
            linalg(LinalgOp::Eig),
            vec![f32s(&[2, 2, 2], &[1.0, -2.0, -2.0, 1.0, 0.0, -1.0, 1.0, 0.0])],
            vec![
                complex(&[2, 2], &[[3.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]),
                complex(
                    &[2, 2, 2],
                    &[
                        parts(&[HALF, HALF, -HALF, HALF]),
                        vec![[HALF, 0.0], [HALF, 0.0], [0.0, -HALF], [0.0, HALF]],
                    ]
                    .concat(),
                ),
            ],
        ),
        Case::new(
            linalg(LinalgOp::Eig),
            vec![f32s(&[2, 2], &[2.0, 1.0, 0.0, 5.0])],
            vec![
                complex(&[2], &parts(&[5.0, 2.0])),
                complex(&[2, 2], &parts(&[0.1f64.sqrt(), 1.0, 0.9f64.sqrt(), 0.0])),
            ],
        ),
        Case::new(
            linalg(LinalgOp::Eig),
            vec![f32s(&[3, 0, 0], &[])],
            vec![complex(&[3, 0], &[]), complex(&[3, 0, 0], &[])],
        ),
        Case::fails(linalg(LinalgOp::Eig), vec![f32s(&[1, 1], &[f64::NAN])], "matrix 0 of eig is not finite"),
        Case::refused(linalg(LinalgOp::Eig), vec![f32s(&[1, 2], &[0.0; 2])], "must have shape [1, 1]"),
    ];
    // The results' dtype does not follow the operand's.
    let mut cases = known.clone();
    for mut case in known {
        if let Some(x) = case.inputs.first_mut()
            && let Ok(values) = x.values()
        {
            *x = of(DType::F64, x.shape(), &values.to_floats());
        }
        cases.push(case);
    }
    cases
}

fn complex_factors() -> Vec<Case> {
    let square = |parts: &[[f64; 2]]| complex(&[2, 2], parts);
    let skew = || square(&[[2.0, 0.0], [0.0, -1.0], [0.0, 1.0], [2.0, 0.0]]);
    vec![
        Case::new(
            linalg(LinalgOp::Cholesky),
            vec![square(&[[4.0, 0.0], [9.0, 9.0], [0.0, 2.0], [5.0, 0.0]])],
            vec![square(&[[2.0, 0.0], [0.0, 0.0], [0.0, 1.0], [2.0, 0.0]])],
        ),
        Case::new(
            linalg(LinalgOp::Inverse),
            vec![square(&[[0.0, 0.0], [0.0, 2.0], [4.0, 0.0], [0.0, 0.0]])],
            vec![square(&[[0.0, 0.0], [0.25, 0.0], [0.0, -0.5], [0.0, 0.0]])],
        ),
        Case::new(
            linalg(LinalgOp::Det),
            vec![square(&[[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])],
            vec![complex(&[], &[[-2.0, 0.0]])],
        ),
        Case::new(
            linalg(LinalgOp::Qr),
            vec![complex(&[1, 1], &[[0.0, 2.0]])],
            vec![complex(&[1, 1], &[[0.0, -1.0]]), complex(&[1, 1], &[[-2.0, 0.0]])],
        ),
        Case::new(
            linalg(LinalgOp::Eigh),
            vec![skew()],
            vec![f32s(&[2], &[1.0, 3.0]), square(&[[HALF, 0.0], [HALF, 0.0], [0.0, -HALF], [0.0, HALF]])],
        ),
        Case::new(
            linalg(LinalgOp::Eig),
            vec![square(&[[0.0, 1.0], [0.0, 0.0], [0.0, 0.0], [2.0, 0.0]])],
            vec![
                complex(&[2], &[[2.0, 0.0], [0.0, 1.0]]),
                square(&[[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]),
            ],
        ),
        Case::new(
            linalg(LinalgOp::Svd),
            vec![skew()],
            vec![
                square(&[[HALF, 0.0], [HALF, 0.0], [0.0, HALF], [0.0, -HALF]]),
                f32s(&[2], &[3.0, 1.0]),
                square(&[[HALF, 0.0], [0.0, -HALF], [HALF, 0.0], [0.0, HALF]]),
            ],
        ),
    ]
}

fn failing() -> Vec<Case> {
    let singular = || f32s(&[2, 2], &[1.0, 2.0, 2.0, 4.0]);
    let b = || f32s(&[2, 1], &[1.0, 1.0]);
    vec![
        Case::fails(
            linalg(LinalgOp::Cholesky),
            vec![f32s(&[2, 2, 2], &[1.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 1.0])],
            "matrix 1 of cholesky is not positive definite",
        ),
        Case::fails(linalg(LinalgOp::Cholesky), vec![f32s(&[1, 1], &[f64::NAN])], "not positive definite"),
        Case::fails(linalg(LinalgOp::Inverse), vec![singular()], "matrix 0 of inverse is not invertible"),
        Case::fails(linalg(LinalgOp::Solve), vec![singular(), b()], "solve is not invertible"),
        Case::fails(
            linalg(LinalgOp::SolveLower),
            vec![f32s(&[2, 2], &[0.0, 1.0, 1.0, 1.0]), b()],
            "solve_lower is not invertible",
        ),
        Case::fails(
            linalg(LinalgOp::SolveUpper),
            vec![f32s(&[2, 2], &[1.0, 1.0, 1.0, 0.0]), b()],
            "solve_upper is not invertible",
        ),
        Case::fails(linalg(LinalgOp::Svd), vec![f32s(&[1, 1], &[f64::NAN])], "matrix 0 of svd is not finite"),
        Case::fails(linalg(LinalgOp::Eigh), vec![f32s(&[1, 1], &[f64::INFINITY])], "eigh is not finite"),
    ]
}

fn refused() -> Vec<Case> {
    vec![
        Case::refused(
            linalg(LinalgOp::Det),
            vec![f32s(&[2, 3], &[0.0; 6])],
            "must have shape [2, 2], found [2, 3]",
        ),
        Case::refused(
            linalg(LinalgOp::Qr),
            vec![of(DType::F16, &[1, 1], &[1.0])],
            "f32, f64 or complex64, found f16",
        ),
        Case::refused(
            linalg(LinalgOp::Inverse),
            vec![t(&[1, 1], &[1i32])],
            "f32, f64 or complex64, found i32",
        ),
        Case::refused(linalg(LinalgOp::Svd), vec![f32s(&[1], &[1.0])], "at least 2 dimensions"),
        Case::refused(linalg(LinalgOp::Inverse), vec![], "expected 1 inputs, found 0"),
        Case::refused(linalg(LinalgOp::Solve), vec![f32s(&[1, 1], &[1.0])], "expected 2 inputs, found 1"),
        Case::refused(
            linalg(LinalgOp::Solve),
            vec![f32s(&[1, 1], &[1.0]), f32s(&[1], &[1.0])],
            "the right side must have as many as the matrix dimensions",
        ),
        Case::refused(
            linalg(LinalgOp::Solve),
            vec![f32s(&[1, 1], &[1.0]), f32s(&[2, 1], &[1.0, 1.0])],
            "the right side must have shape [1, 1], found [2, 1]",
        ),
        Case::refused(
            linalg(LinalgOp::Solve),
            vec![f32s(&[1, 1], &[1.0]), of(DType::F64, &[1, 1], &[1.0])],
            "f32 and f64",
        ),
    ]
}

/// Matrices of a few sizes, for comparing back ends.
fn larger() -> Vec<Case> {
    let mut cases = Vec::new();
    for (m, n) in [(5, 5), (7, 4), (4, 6)] {
        let numbers: Vec<f64> = (0..2 * m * n).map(|i| ((i * i * 7 + i) % 23) as f64 / 8.0 - 1.0).collect();
        let a = f32s(&[2, m, n], &numbers);
        for op in [LinalgOp::Qr, LinalgOp::Lu, LinalgOp::LuFactor, LinalgOp::Svd] {
            cases.push(Case::parity(linalg(op), vec![a.clone()]));
        }
        if m != n {
            continue;
        }
        let b = f32s(&[2, n, 3], &numbers[..6 * n]);
        for op in [LinalgOp::Inverse, LinalgOp::Det, LinalgOp::Eigh, LinalgOp::Eig, LinalgOp::SvdFull] {
            cases.push(Case::parity(linalg(op), vec![a.clone()]));
        }
        // Heavy on the diagonal: positive definite, and easy to solve.
        let heavy: Vec<f64> = numbers
            .iter()
            .enumerate()
            .map(|(i, x)| if i % (n * n) % (n + 1) == 0 { x + 12.0 } else { *x })
            .collect();
        let heavy = f32s(&[2, n, n], &heavy);
        cases.push(Case::parity(linalg(LinalgOp::Cholesky), vec![heavy.clone()]));
        for op in [LinalgOp::Solve, LinalgOp::SolveLower, LinalgOp::SolveUpper] {
            cases.push(Case::parity(linalg(op), vec![heavy.clone(), b.clone()]));
        }
    }
    // Complex matrices without structure, for derivatives.
    for (m, n) in [(3, 3), (4, 2), (2, 4)] {
        let part = |i: usize| ((i * i * 5 + 3 * i) % 17) as f64 / 8.0 - 1.0;
        let parts: Vec<[f64; 2]> = (0..m * n).map(|i| [part(i), part(i + 40)]).collect();
        let a = complex(&[m, n], &parts);
        for op in [LinalgOp::Qr, LinalgOp::Lu, LinalgOp::LuFactor, LinalgOp::Svd] {
            cases.push(Case::parity(linalg(op), vec![a.clone()]));
        }
        if m != n {
            continue;
        }
        for op in [LinalgOp::Inverse, LinalgOp::Det, LinalgOp::Eigh, LinalgOp::Eig] {
            cases.push(Case::parity(linalg(op), vec![a.clone()]));
        }
        let heavy: Vec<[f64; 2]> = parts
            .iter()
            .enumerate()
            .map(|(i, &[x, y])| if i % (n + 1) == 0 { [x + 6.0, 0.0] } else { [x, y] })
            .collect();
        let heavy = complex(&[n, n], &heavy);
        cases.push(Case::parity(linalg(LinalgOp::Cholesky), vec![heavy.clone()]));
        for op in [LinalgOp::Solve, LinalgOp::SolveLower, LinalgOp::SolveUpper] {
            cases.push(Case::parity(linalg(op), vec![heavy.clone(), a.clone()]));
        }
    }
    cases
}
