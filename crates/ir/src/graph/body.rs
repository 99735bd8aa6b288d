use std::fmt;
use std::sync::Arc;

use oneir_tensor::HostTensor;

use super::TensorGraph;
use crate::attr::Attr;
use crate::primitive::EvalError;
use crate::text::{Cursor, Printer, TextError};
use crate::{Cut, Invalid, Spec, Specs, Value, reference, text};

/// A graph that a control-flow primitive runs, from its inputs to its outputs.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Body(Arc<TensorGraph>);

impl Body {
    /// A graph as a body.
    pub fn new(graph: TensorGraph) -> Self {
        Body(Arc::new(graph))
    }

    /// The graph.
    pub fn graph(&self) -> &TensorGraph {
        &self.0
    }

    /// Records a body for a test case; a body that does not record is a fault
    /// of the case.
    pub(crate) fn build(specs: &[Spec], f: impl FnOnce(&[Value]) -> Result<Vec<Value>, Invalid>) -> Body {
        let inputs: Vec<Value> = specs.iter().cloned().map(Value::placeholder).collect();
        let outputs = f(&inputs).unwrap_or_else(|e| panic!("a case's body: {e}"));
        let lifted = Cut::new(&inputs, &outputs).lift().unwrap_or_else(|e| panic!("a case's body: {e}"));
        Body::new(lifted.graph)
    }

    /// The specs of the results when run on inputs of these specs.
    pub(crate) fn check(&self, name: &'static str, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let expected: Vec<Spec> = self.0.inputs.iter().map(|&id| self.0.spec(id)).collect();
        if expected.len() != inputs.len() || expected.iter().zip(inputs).any(|(e, f)| e != *f) {
            let found: Vec<Spec> = inputs.iter().map(|s| (*s).clone()).collect();
            return Err(Invalid::Body {
                body: name,
                expected: Body::list(&expected),
                found: Body::list(&found),
            });
        }
        Ok(self.0.outputs.iter().map(|&id| self.0.spec(id)).collect())
    }

    /// Runs the body by reference evaluation.
    pub(crate) fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        reference::run(&self.0, inputs).map_err(|e| EvalError::Graph(Box::new(e)))
    }

    /// Specs in words.
    pub(crate) fn list(specs: &[Spec]) -> String {
        let all: Vec<String> = specs.iter().map(Spec::to_string).collect();
        format!("({})", all.join(", "))
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({} ops)", self.0.ops.len())
    }
}

impl Attr for Body {
    fn write(&self, out: &mut Printer) {
        text::write_graph(out, &self.0);
    }

    fn read(text: &mut Cursor<'_>) -> Result<Self, TextError> {
        Ok(Body::new(text::read_graph(text)?))
    }
}
