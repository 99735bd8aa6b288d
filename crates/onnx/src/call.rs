use std::cell::RefCell;
use std::sync::Arc;

use oneir_array::{Array, DType, Device, HostTensor};
use oneir_ir::{Nature, Source, State, Value, reference};
use oneir_runtime::Evaluated;

use crate::error::{OnnxError, Place};
use crate::file::{Attributes, NodeDef};
use crate::term::Term;

/// How values are looked at while tracing.
#[derive(Debug, Clone)]
pub(crate) enum Looking {
    /// Nothing is computed: what is not known raises `UnknownValue`.
    Tracing,
    /// Whatever is looked at is computed on this device.
    Eager(Device),
}

/// One node being traced: its attributes, version and inputs.
pub(crate) struct Call<'a> {
    pub(crate) node: &'a NodeDef,
    /// The version of the operator set that the model imports.
    pub(crate) version: i64,
    pub(crate) inputs: Vec<Option<Term>>,
    pub(crate) looking: &'a Looking,
    /// What the node made before the trace ended at it: see [`Call::made`].
    pub(crate) made: RefCell<Made>,
}

/// Where a node stands with a value that it makes and looks at.
#[derive(Debug, Default)]
pub(crate) enum Made {
    /// It has made none.
    #[default]
    Nothing,
    /// The value to be read, and what goes on from there.
    Unread(Array, Vec<Array>),
    /// The same, read.
    Read(HostTensor, Vec<Array>),
}

/// What an operator's function gives.
pub(crate) type Results = Result<Vec<Term>, OnnxError>;

impl Call<'_> {
    pub(crate) fn attributes(&self) -> &Attributes {
        &self.node.attributes
    }

    fn place(&self) -> Arc<Place> {
        self.node.place().clone()
    }

    /// An error of this node.
    pub(crate) fn fails(&self, reason: impl Into<String>) -> OnnxError {
        let inputs: Vec<String> =
            self.inputs.iter().map(|t| t.as_ref().map_or("nothing".into(), Term::describe)).collect();
        OnnxError::Operator {
            place: self.place(),
            version: self.version,
            inputs: format!("({})", inputs.join(", ")),
            reason: reason.into(),
        }
    }

    /// Whether input `i` is given.
    pub(crate) fn has(&self, i: usize) -> bool {
        self.inputs.get(i).is_some_and(Option::is_some)
    }

    /// Input `i`, which must be given.
    pub(crate) fn term(&self, i: usize) -> Result<&Term, OnnxError> {
        match self.inputs.get(i) {
            Some(Some(term)) => Ok(term),
            _ => Err(self.fails(format!("input {i} is missing"))),
        }
    }

    /// Input `i` as an array.
    pub(crate) fn array(&self, i: usize) -> Result<Array, OnnxError> {
        let term = self.term(i)?;
        term.array().ok_or_else(|| {
            self.fails(format!("input {i} must be a tensor of numbers, found {}", term.describe()))
        })
    }

    /// Input `i` as an array, where it is given.
    pub(crate) fn optional(&self, i: usize) -> Result<Option<Array>, OnnxError> {
        if self.has(i) { self.array(i).map(Some) } else { Ok(None) }
    }

    /// Shape of input `i`.
    pub(crate) fn shape(&self, i: usize) -> Result<Vec<usize>, OnnxError> {
        let term = self.term(i)?;
        term.shape()
            .ok_or_else(|| self.fails(format!("input {i} must be a tensor, found {}", term.describe())))
    }

    /// The value of input `i` on the host. Every look at a value goes through
    /// here.
    ///
    /// Known are values known while tracing, what follows from those alone,
    /// and in an eager call everything.
    ///
    /// # Errors
    /// [`OnnxError::UnknownValue`] when it is known only once the graph runs.
    pub(crate) fn host(&self, i: usize) -> Result<HostTensor, OnnxError> {
        match self.term(i)? {
            Term::Host(value) => self.stored(value.clone()),
            Term::Array(array) => self.known(array, i),
            other => {
                Err(self.fails(format!("input {i} must be a tensor of numbers, found {}", other.describe())))
            }
        }
    }

    /// A value to be looked at: what there is may be, however much it is, but
    /// one element repeated only so often.
    fn stored(&self, value: HostTensor) -> Result<HostTensor, OnnxError> {
        if value.buffer().len() < value.count() / 8 {
            self.bounded("what it looks at", value.count().checked_mul(16))?;
        }
        Ok(value)
    }

    /// The value on the host of what follows from input `i`.
    ///
    /// # Errors
    /// As [`Call::host`].
    pub(crate) fn known(&self, array: &Array, i: usize) -> Result<HostTensor, OnnxError> {
        let value = array.value()?;
        self.bounded("what it looks at", Some(array.size()))?;
        if let Some(found) = Evaluated::of(value) {
            return Ok(found.to_host().map_err(oneir_array::ArrayError::from)?);
        }
        if let Some(known) = reference::fold(value).map_err(oneir_array::ArrayError::from)? {
            return self.stored(known);
        }
        match self.looking {
            Looking::Eager(device) => {
                oneir_array::eval_on(device, std::slice::from_ref(array))?;
                Ok(array.to_host()?)
            }
            Looking::Tracing => Err(OnnxError::UnknownValue {
                place: self.place(),
                input: self.node.inputs.get(i).cloned().unwrap_or_default(),
                origin: origin(value),
            }),
        }
    }

    /// An array that the node makes, read on the host, and others that it makes
    /// beside it. Where the array is known only once the graph runs, the graph up
    /// to it runs first, and the node goes on from here. A node reads one such
    /// array at most.
    ///
    /// # Errors
    /// As [`Call::host`], and what `make` gives.
    pub(crate) fn read_made(
        &self,
        make: impl FnOnce() -> Result<(Array, Vec<Array>), OnnxError>,
    ) -> Result<(HostTensor, Vec<Array>), OnnxError> {
        if let Made::Read(value, kept) = self.made.take() {
            return Ok((value, kept));
        }
        let (array, kept) = make()?;
        self.checked(&array)?;
        match self.known(&array, 0) {
            Ok(value) => Ok((value, kept)),
            Err(OnnxError::UnknownValue { place, origin, .. }) => {
                *self.made.borrow_mut() = Made::Unread(array, kept);
                Err(OnnxError::UnknownValue { place, input: made_name(self.node), origin })
            }
            Err(other) => Err(other),
        }
    }

    /// Input `i` as integers on the host.
    pub(crate) fn ints(&self, i: usize) -> Result<Vec<i64>, OnnxError> {
        let host = self.host(i)?;
        let values = host.values().map_err(|e| self.fails(e.to_string()))?;
        values
            .to_ints()
            .ok_or_else(|| self.fails(format!("input {i} must hold integers, found {}", host.dtype())))
    }

    /// Input `i` as one number on the host.
    pub(crate) fn number(&self, i: usize) -> Result<f64, OnnxError> {
        let host = self.host(i)?;
        let values = host.values().map_err(|e| self.fails(e.to_string()))?.to_floats();
        match values[..] {
            [one] => Ok(one),
            _ => Err(self.fails(format!("input {i} must be one number, found {}", values.len()))),
        }
    }

    /// Whether output `i` is asked for.
    pub(crate) fn asked(&self, i: usize) -> bool {
        self.node.outputs.get(i).is_some_and(|name| !name.is_empty())
    }

    /// Integers from an attribute before a version, from input `i` after it.
    pub(crate) fn ints_moved(
        &self,
        attribute: &str,
        i: usize,
        since: i64,
    ) -> Result<Option<Vec<i64>>, OnnxError> {
        if self.version < since {
            return Ok(self.attributes().find_ints(attribute)?.map(<[i64]>::to_vec));
        }
        if self.has(i) { self.ints(i).map(Some) } else { Ok(None) }
    }

    /// An axis counted from the front.
    pub(crate) fn axis(&self, axis: i64, rank: usize) -> Result<usize, OnnxError> {
        let found = if axis < 0 { axis + rank as i64 } else { axis };
        usize::try_from(found)
            .ok()
            .filter(|&a| a < rank)
            .ok_or_else(|| self.fails(format!("axis {axis} is out of range for {rank} dimensions")))
    }

    /// A place in a sequence of some items, counted from the front: input `i` is
    /// `at`, and `places` are there, which may be one past the last item too.
    pub(crate) fn place_of(
        &self,
        i: usize,
        at: i64,
        items: usize,
        places: usize,
    ) -> Result<usize, OnnxError> {
        let found = if at < 0 { at.saturating_add(items as i64) } else { at };
        usize::try_from(found).ok().filter(|&found| found < places).ok_or_else(|| {
            let range = match places {
                0 => "of which there is none".into(),
                _ => format!("from {} to {}", -(items as i64), places - 1),
            };
            self.fails(format!(
                "input {i} must be a place of a sequence of {items} items, {range}, found {at}"
            ))
        })
    }

    /// Refuses tables on the host of more numbers than any model needs: their
    /// sizes are data of the file.
    pub(crate) fn bounded(&self, what: &str, count: Option<usize>) -> Result<usize, OnnxError> {
        const MOST: usize = 1 << 26;
        count
            .filter(|&n| n <= MOST)
            .ok_or_else(|| self.fails(format!("{what} would be a table of more than {MOST} numbers")))
    }

    /// One array as the only result.
    pub(crate) fn one(&self, array: Array) -> Results {
        self.checked(&array)?;
        Ok(vec![array.into()])
    }

    /// Refuses a failed array, with this node's place.
    pub(crate) fn checked(&self, array: &Array) -> Result<(), OnnxError> {
        array.check().map_err(|e| match e {
            oneir_array::ArrayError::Failed(failure) => {
                self.fails(format!("{}: {}", failure.op, failure.reason))
            }
            other => other.into(),
        })
    }

    /// The dtype of an element type that computes here.
    pub(crate) fn dtype_of(&self, code: i64) -> Result<DType, OnnxError> {
        let elem = i32::try_from(code).ok().and_then(crate::file::ElemType::from_code);
        elem.and_then(crate::file::ElemType::dtype)
            .ok_or_else(|| self.fails(format!("element type {code} is not supported")))
    }
}

/// The name of a value that a node makes and reads.
pub(crate) fn made_name(node: &NodeDef) -> String {
    let own = node.outputs.iter().find(|name| !name.is_empty()).unwrap_or(&node.name);
    format!("{own}#made")
}

/// The name of what a node goes on from when a value that it made is read.
pub(crate) fn kept_name(made: &str) -> String {
    format!("{made}#kept")
}

/// The op nearest to a value that made it depend on the run.
fn origin(value: &Value) -> String {
    let mut at = value.clone();
    loop {
        let (node, next) = match (at.node().source(), at.node().state()) {
            (Source::Op(primitive), State::Pending(inputs)) if moves(primitive.nature()) => {
                let dynamic = inputs.iter().find(|v| !matches!(v.node().source(), Source::Constant(_)));
                (at.node().clone(), dynamic.cloned())
            }
            (Source::Op(_), _) => (at.node().clone(), None),
            (Source::Placeholder, _) => return "an input of the model".into(),
            _ => return "a computed value".into(),
        };
        match next {
            Some(next) => at = next,
            None => return node.place().to_string(),
        }
    }
}

fn moves(nature: Nature) -> bool {
    matches!(nature, Nature::View | Nature::Movement | Nature::ElementWise)
}
