use oneir_tensor::HostTensor;

use super::case::t;
use super::fields::Collective;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::transforms::{Applied, Batched};
use super::{Asked, Case, CollectiveKind, CollectiveOp, Primitive, one};
use crate::invalid::exactly;
use crate::scalar::BinaryOp;
use crate::{Invalid, Place, Spec, Specs, Value};

impl CollectiveKind {
    /// The function that combines what the members give, where they are combined.
    pub fn combine(self) -> Option<BinaryOp> {
        match self {
            CollectiveKind::AllSum | CollectiveKind::ReduceScatter => Some(BinaryOp::Add),
            CollectiveKind::AllMax => Some(BinaryOp::Maximum),
            CollectiveKind::AllMin => Some(BinaryOp::Minimum),
            _ => None,
        }
    }

    /// Whether one other member is named.
    pub fn has_peer(self) -> bool {
        matches!(self, CollectiveKind::Broadcast | CollectiveKind::Send | CollectiveKind::Recv)
    }
}

impl Collective<'_> {
    fn check(&self) -> Result<(), Invalid> {
        let CollectiveOp { kind, members, peer } = *self.op;
        let wrong = |parameter, found: usize, expected| {
            Err(Invalid::Parameter { parameter, found: found.to_string(), expected })
        };
        match () {
            () if members == 0 => wrong("members", members, "at least this process"),
            () if *self.group == 0 && members != 1 => {
                wrong("members", members, "1 in group 0, the group of one")
            }
            () if kind.has_peer() && peer >= members => wrong("peer", peer, "a member of the group"),
            () if !kind.has_peer() && peer != 0 => wrong("peer", peer, "0 where no member is named"),
            () => Ok(()),
        }
    }
}

impl Collective<'_> {
    fn record(&self, kind: CollectiveKind, x: &Value) -> Result<Value, Invalid> {
        let op = CollectiveOp { kind, ..self.op.clone() };
        Value::record(Primitive::Collective { op, group: *self.group }, &[x], Place::Internal)
    }

    /// The derivative of a collective that is linear in what all members give
    /// together; its transpose is another collective.
    fn linear(&self, transpose: CollectiveKind) -> Derivative<'_> {
        Derivative::linear_unary(move |_, cotangent| self.record(transpose, cotangent))
    }

    /// The derivative of an extreme: the members that have it share it.
    fn extreme(&self) -> Derivative<'_> {
        let shared = |at: &Applied<'_>, change: &Value| {
            let (x, out) = (&at.inputs[0], &at.outputs[0]);
            let has = x.binary(BinaryOp::Equal, out)?.as_type(x.spec().dtype)?;
            let shares = has.divide(&self.record(CollectiveKind::AllSum, &has)?)?;
            Ok::<_, Invalid>((shares, change.clone()))
        };
        Derivative::Custom {
            jvp: Box::new(move |at, tangents| {
                let Some(tangent) = &tangents[0] else { return Ok(vec![None]) };
                let (shares, tangent) = shared(at, tangent)?;
                Ok(vec![Some(self.record(CollectiveKind::AllSum, &shares.multiply(&tangent)?)?)])
            }),
            vjp: Box::new(move |at, cotangents| {
                let Some(cotangent) = &cotangents[0] else { return Ok(vec![None]) };
                let (shares, cotangent) = shared(at, cotangent)?;
                let all = self.record(CollectiveKind::AllSum, &cotangent)?;
                Ok(vec![Some(shares.multiply(&all)?)])
            }),
        }
    }
}

impl Rules for Collective<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        self.check()?;
        let CollectiveOp { kind, members, .. } = *self.op;
        if let Some(op) = kind.combine() {
            op.result(x.dtype)?;
        }
        let splits = matches!(kind, CollectiveKind::ReduceScatter | CollectiveKind::AllToAll);
        if !splits && kind != CollectiveKind::AllGather {
            return one(x.clone());
        }
        let Some(&size) = x.shape.first() else {
            return Err(Invalid::Rank { operand: "the input", expected: "at least 1", found: vec![] });
        };
        if splits && !size.is_multiple_of(members) {
            return Err(Invalid::Parameter {
                parameter: "members",
                found: members.to_string(),
                expected: "a divisor of the first axis, which is split",
            });
        }
        match kind {
            CollectiveKind::ReduceScatter => one(x.with_shape(x.shape.with(0, size / members))),
            CollectiveKind::AllToAll => one(x.clone()),
            _ => {
                let joined = size.checked_mul(members).ok_or(Invalid::Parameter {
                    parameter: "members",
                    found: members.to_string(),
                    expected: "a joined size below 2^64",
                })?;
                one(x.with_shape(x.shape.with(0, joined)))
            }
        }
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let [x] = inputs else { return Err(Invalid::Arity { expected: "1", found: inputs.len() }.into()) };
        self.infer(&[&Spec::of(x)])?;
        let op = self.op.kind.name();
        match self.op.kind {
            _ if self.op.members > 1 => Err(EvalError::Group { op, group: *self.group }),
            CollectiveKind::Send | CollectiveKind::Recv => Err(EvalError::Alone { op }),
            _ => Ok(vec![x.clone()]),
        }
    }

    fn nature(&self) -> Nature {
        Nature::Effect
    }

    fn derivative(&self) -> Derivative<'_> {
        use CollectiveKind::{
            AllGather, AllMax, AllMin, AllSum, AllToAll, Barrier, Broadcast, Recv, ReduceScatter, Send,
        };
        match self.op.kind {
            AllSum => self.linear(AllSum),
            AllGather => self.linear(ReduceScatter),
            ReduceScatter => self.linear(AllGather),
            AllToAll => self.linear(AllToAll),
            Barrier => self.linear(Barrier),
            AllMax | AllMin => self.extreme(),
            Broadcast if self.op.members == 1 => self.linear(Broadcast),
            kind @ (Broadcast | Send | Recv) => Derivative::Chosen(Box::new(move |_, asked| match asked {
                Asked::Tangents => self.linear(kind),
                Asked::Cotangents(_) => Derivative::Undefined(
                    "what one member gets back depends on which member it is, and all record the same graph",
                ),
            })),
        }
    }

    fn batching(&self) -> Batching<'_> {
        use CollectiveKind::{AllGather, AllToAll, ReduceScatter};
        if !matches!(self.op.kind, AllGather | AllToAll | ReduceScatter) {
            return Batching::Same;
        }
        // These split and join the first axis, which has to stay first.
        Batching::Custom(Box::new(|inputs, size| {
            let x = inputs[0].whole(size)?;
            let axes: Vec<usize> = [1, 0].into_iter().chain(2..x.spec().rank()).collect();
            let value = self.record(self.op.kind, &x.transpose(&axes)?)?;
            Ok(vec![Batched { value, axis: Some(1) }])
        }))
    }

    fn cases() -> Vec<Case> {
        use CollectiveKind::{
            AllGather, AllMax, AllSum, AllToAll, Barrier, Broadcast, Recv, ReduceScatter, Send,
        };
        let among = |group, members, kind, peer| Primitive::Collective {
            op: CollectiveOp { kind, members, peer },
            group,
        };
        let alone = |kind| among(0, 1, kind, 0);
        let x = || t(&[3, 1], &[1f32, 2.0, 3.0]);
        let mut cases = Vec::new();
        for &kind in CollectiveKind::ALL {
            cases.push(match kind {
                Send => Case::fails(alone(kind), vec![x()], "send needs a group of more than one process"),
                Recv => Case::fails(alone(kind), vec![x()], "recv needs a group of more than one process"),
                _ => Case::new(alone(kind), vec![x()], vec![x()]),
            });
        }
        cases.extend([
            Case::new(alone(AllSum), vec![t(&[], &[true])], vec![t(&[], &[true])]),
            Case::new(among(7, 1, AllGather, 0), vec![t::<u8>(&[0, 2], &[])], vec![t::<u8>(&[0, 2], &[])]),
            Case::fails(among(2, 3, AllSum, 0), vec![x()], "all_sum over group 2 needs the processes"),
            Case::fails(among(2, 3, AllToAll, 0), vec![x()], "all_to_all over group 2"),
            Case::fails(among(2, 3, Recv, 2), vec![x()], "recv over group 2"),
            Case::refused(among(2, 0, Barrier, 0), vec![x()], "members = 0"),
            Case::refused(among(0, 2, AllSum, 0), vec![x()], "members = 2 is not valid: 1 in group 0"),
            Case::refused(among(2, 3, Broadcast, 3), vec![x()], "peer = 3 is not valid: a member"),
            Case::refused(among(2, 3, AllMax, 1), vec![x()], "peer = 1 is not valid: 0 where"),
            Case::refused(among(2, 2, ReduceScatter, 0), vec![x()], "members = 2 is not valid: a divisor"),
            Case::refused(among(2, 2, AllToAll, 0), vec![t(&[], &[1f32])], "at least 1 dimensions"),
            Case::refused(among(2, usize::MAX, AllGather, 0), vec![x()], "a joined size below"),
            Case::refused(alone(AllSum), vec![], "expected 1 inputs, found 0"),
        ]);
        cases
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_follow_the_number_of_members() {
        let x = Spec::new(oneir_tensor::DType::F16, [4, 3]);
        for (kind, rows) in [
            (CollectiveKind::AllSum, 4),
            (CollectiveKind::AllGather, 8),
            (CollectiveKind::ReduceScatter, 2),
            (CollectiveKind::AllToAll, 4),
            (CollectiveKind::Send, 4),
        ] {
            let op = CollectiveOp { kind, members: 2, peer: 0 };
            let found = Primitive::Collective { op, group: 1 }.infer(&[&x]).unwrap();
            assert_eq!(found[0], x.with_shape([rows, 3]), "{kind:?}");
        }
    }
}
