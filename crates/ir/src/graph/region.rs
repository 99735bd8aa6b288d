use oneir_tensor::HostTensor;
use smallvec::SmallVec;

use crate::attr::Attr;
use crate::primitive::{EvalError, StepOp};
use crate::scalar::{BinaryOp, UnaryOp};
use crate::text::{Cursor, Printer, TextError};
use crate::{Invalid, Place, Primitive, Spec, Specs, Value};

/// What a step reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepArg {
    /// An input of the region.
    Input(u32),
    /// The result of an earlier step.
    Step(u32),
}

/// One element-wise step.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RegionStep {
    /// What it computes.
    pub op: StepOp,
    /// What it reads.
    pub args: Vec<StepArg>,
}

/// Element-wise steps fused into one, over inputs of one shape.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Region {
    /// How many inputs there are.
    pub inputs: u32,
    /// The steps, in order.
    pub steps: Vec<RegionStep>,
    /// The steps whose results are the region's.
    pub outputs: Vec<u32>,
}

impl RegionStep {
    /// The primitive that this step stands for.
    pub fn primitive(&self) -> Primitive {
        match self.op {
            StepOp::Unary(op) => Primitive::Unary(op),
            StepOp::Binary(op) => Primitive::Binary(op),
            StepOp::Select => Primitive::Select,
            StepOp::AsType(dtype) => Primitive::AsType(dtype),
        }
    }
}

impl Region {
    /// The spec of every step's result.
    ///
    /// # Errors
    /// When a step reads what is not there, or does not take what it reads.
    pub fn step_specs(&self, inputs: &[&Spec]) -> Result<Vec<Spec>, Invalid> {
        if inputs.len() != self.inputs as usize {
            return Err(Invalid::Arity { expected: "as many as the region reads", found: inputs.len() });
        }
        let mut specs: Vec<Spec> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let args: Option<SmallVec<[&Spec; 3]>> = step
                .args
                .iter()
                .map(|arg| match arg {
                    StepArg::Input(i) => inputs.get(*i as usize).copied(),
                    StepArg::Step(i) => specs.get(*i as usize),
                })
                .collect();
            let args = args.ok_or(Invalid::Parameter {
                parameter: "region",
                found: format!("{:?}", step.args),
                expected: "steps that read inputs or earlier steps",
            })?;
            let spec = step.primitive().infer(&args)?.remove(0);
            drop(args);
            specs.push(spec);
        }
        Ok(specs)
    }

    pub(crate) fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let specs = self.step_specs(inputs)?;
        self.outputs
            .iter()
            .map(|&i| specs.get(i as usize).cloned())
            .collect::<Option<Specs>>()
            .filter(|specs| !specs.is_empty())
            .ok_or(Invalid::Parameter {
                parameter: "region",
                found: format!("{:?}", self.outputs),
                expected: "at least one output, each of them a step",
            })
    }

    /// The region as the primitives that its steps stand for.
    pub(crate) fn record(&self, inputs: &[Value]) -> Result<Vec<Value>, Invalid> {
        let mut results: Vec<Value> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let args: SmallVec<[&Value; 3]> = step
                .args
                .iter()
                .map(|arg| match arg {
                    StepArg::Input(i) => &inputs[*i as usize],
                    StepArg::Step(i) => &results[*i as usize],
                })
                .collect();
            let result = Value::record(step.primitive(), &args, Place::Internal)?;
            drop(args);
            results.push(result);
        }
        Ok(self.outputs.iter().map(|&i| results[i as usize].clone()).collect())
    }

    pub(crate) fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let mut results: Vec<HostTensor> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let args: Vec<HostTensor> = step
                .args
                .iter()
                .map(|arg| match arg {
                    StepArg::Input(i) => inputs[*i as usize].clone(),
                    StepArg::Step(i) => results[*i as usize].clone(),
                })
                .collect();
            results.push(step.primitive().evaluate(&args)?.remove(0));
        }
        Ok(self.outputs.iter().map(|&i| results[i as usize].clone()).collect())
    }
}

impl Attr for Region {
    fn write(&self, out: &mut Printer) {
        out.push_str(&format!("{{inputs {}; ", self.inputs));
        for step in &self.steps {
            match step.op {
                StepOp::Unary(op) => op.write(out),
                StepOp::Binary(op) => op.write(out),
                StepOp::Select => out.push_str("select"),
                StepOp::AsType(dtype) => {
                    out.push_str("to ");
                    dtype.write(out);
                }
            }
            let args: Vec<String> = step
                .args
                .iter()
                .map(|arg| match arg {
                    StepArg::Input(i) => format!("x{i}"),
                    StepArg::Step(i) => format!("s{i}"),
                })
                .collect();
            out.push_str(&format!("({}); ", args.join(", ")));
        }
        let outputs: Vec<String> = self.outputs.iter().map(|i| format!("s{i}")).collect();
        out.push_str(&format!("outputs ({})}}", outputs.join(", ")));
    }

    fn read(text: &mut Cursor<'_>) -> Result<Self, TextError> {
        let arg = |text: &mut Cursor<'_>| -> Result<StepArg, TextError> {
            let mut ahead = text.clone();
            let word = ahead.word("an input x0, x1, … or step s0, s1, …")?;
            let parsed = match (word.get(..1), word.get(1..).and_then(|n| n.parse().ok())) {
                (Some("x"), Some(i)) => StepArg::Input(i),
                (Some("s"), Some(i)) => StepArg::Step(i),
                _ => return Err(text.error("an input x0, x1, … or step s0, s1, …")),
            };
            *text = ahead;
            Ok(parsed)
        };
        text.expect("{")?;
        text.expect("inputs")?;
        let inputs = text.number("the number of inputs")?;
        text.expect(";")?;
        let mut steps = Vec::new();
        while !text.take("outputs") {
            let op = if text.take("select") {
                StepOp::Select
            } else if text.take("to") {
                StepOp::AsType(Attr::read(text)?)
            } else if let Ok(op) = UnaryOp::read(text) {
                StepOp::Unary(op)
            } else if let Ok(op) = BinaryOp::read(text) {
                StepOp::Binary(op)
            } else {
                return Err(text.error("a step or `outputs`"));
            };
            let args = text.list("(", ")", arg)?;
            text.expect(";")?;
            steps.push(RegionStep { op, args });
        }
        let outputs = text
            .list("(", ")", arg)?
            .into_iter()
            .map(|arg| match arg {
                StepArg::Step(i) => Ok(i),
                StepArg::Input(_) => Err(text.error("steps as outputs")),
            })
            .collect::<Result<_, _>>()?;
        text.expect("}")?;
        Ok(Region { inputs, steps, outputs })
    }
}
