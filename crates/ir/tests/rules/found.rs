//! What became of a rule on all cases, by row of the page.

use std::collections::BTreeMap;
use std::fmt;

use oneir_ir::Primitive;
use oneir_ir::primitive::Case;
use oneir_ir::transform::TransformError;

use crate::calls::Random;

/// What a comparison gave.
pub(crate) enum Verdict {
    /// The rule gives what it is compared with.
    Agrees,
    /// Both give nothing but zeros, and the rule says so without computing.
    Zero,
    /// Nothing that could change smoothly goes in or comes out.
    NoFloats,
    /// The rule gives a graph that only several processes can run.
    Recorded,
    /// There is nothing to compare with: differences jump, or data has no result.
    Incomparable,
    /// The rule is wrong.
    Differs(String),
}

pub(crate) type Checked = Result<Verdict, TransformError>;

/// How often each of these came out, for one row.
#[derive(Default, Clone)]
pub(crate) struct Counts {
    agree: usize,
    zero: usize,
    no_floats: usize,
    recorded: usize,
    incomparable: usize,
    undefined: BTreeMap<&'static str, usize>,
}

impl Counts {
    /// Whether the rule was compared with nothing and does not say why.
    fn is_gap(&self) -> bool {
        self.agree + self.zero + self.recorded + self.undefined.len() == 0
            && (self.no_floats == 0 || self.incomparable > 0)
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<String> = self.undefined.iter().map(|(why, n)| format!("{why:?}: {n}")).collect();
        write!(
            f,
            "{{\"agree\": {}, \"zero\": {}, \"no_floats\": {}, \"recorded\": {}, \"undefined\": {{{}}}}}",
            self.agree,
            self.zero,
            self.no_floats,
            self.recorded,
            reasons.join(", ")
        )
    }
}

/// A rule on all cases.
pub(crate) struct Found {
    pub(crate) rule: &'static str,
    rows: BTreeMap<String, Counts>,
    faults: Vec<String>,
}

impl Found {
    /// What `check` finds on the cases of every primitive, as `subject` has them.
    pub(crate) fn of(
        rule: &'static str,
        subject: fn(&Case) -> Option<Case>,
        check: fn(&Case, &mut Random) -> Vec<Checked>,
    ) -> Found {
        let (mut rows, mut faults) = (BTreeMap::new(), Vec::new());
        for case in Primitive::cases().iter().filter_map(subject) {
            // By the case, so that others change nothing of what is tried here.
            let seed =
                described(&case, "").bytes().fold(5, |seed: u64, b| seed.wrapping_mul(31) + u64::from(b));
            let mut random = Random::new(seed);
            let counts: &mut Counts = rows.entry(row(&case.primitive)).or_default();
            for found in check(&case, &mut random) {
                match found {
                    Ok(Verdict::Agrees) => counts.agree += 1,
                    Ok(Verdict::Zero) => counts.zero += 1,
                    Ok(Verdict::NoFloats) => counts.no_floats += 1,
                    Ok(Verdict::Recorded) => counts.recorded += 1,
                    Ok(Verdict::Incomparable) => counts.incomparable += 1,
                    Ok(Verdict::Differs(fault)) => faults.push(described(&case, &fault)),
                    Err(TransformError::Undefined { why, .. }) => {
                        *counts.undefined.entry(why).or_default() += 1;
                    }
                    Err(error) => faults.push(described(&case, &error.to_string())),
                }
            }
        }
        Found { rule, rows, faults }
    }

    pub(crate) fn of_row(&self, row: &str) -> Counts {
        self.rows.get(row).cloned().unwrap_or_default()
    }

    pub(crate) fn check(&self) {
        let shown = self.faults.len().min(12);
        let faults = self.faults[..shown].join("\n");
        assert!(self.faults.is_empty(), "{} faults of {}:\n{faults}", self.faults.len(), self.rule);
        let all = Primitive::cases().into_iter().map(|case| row(&case.primitive));
        let gaps: Vec<String> = all.filter(|row| self.of_row(row).is_gap()).collect();
        assert!(gaps.is_empty(), "no case of these compares {}: {gaps:?}", self.rule);
    }
}

fn described(case: &Case, fault: &str) -> String {
    let mut text = String::new();
    case.primitive.write(&mut text);
    let inputs: Vec<String> = case.inputs.iter().map(|x| format!("{}{:?}", x.dtype(), x.shape())).collect();
    format!("{text} of {}: {fault}", inputs.join(", "))
}

/// The primitive's row: of a family, the member.
pub(crate) fn row(primitive: &Primitive) -> String {
    let member = match primitive {
        Primitive::Unary(op) => op.name(),
        Primitive::Binary(op) => op.name(),
        Primitive::Reduce { op, .. } | Primitive::WindowReduce { op, .. } => op.name(),
        Primitive::ArgReduce { op, .. } => op.name(),
        Primitive::Scan { op, .. } => op.name(),
        Primitive::Scatter { reduce, .. } | Primitive::ScatterAxis { reduce, .. } => reduce.name(),
        Primitive::Pad { mode, .. } => mode.name(),
        Primitive::Fft { op, .. } => op.name(),
        Primitive::Linalg(op) => op.name(),
        Primitive::Collective { op, .. } => op.kind.name(),
        Primitive::Fast(op) => op.name(),
        Primitive::Quantize { quant }
        | Primitive::Dequantize { quant, .. }
        | Primitive::QuantizedMatmul { quant, .. } => quant.mode.name(),
        _ => return primitive.name().to_string(),
    };
    format!("{} {member}", primitive.name())
}
