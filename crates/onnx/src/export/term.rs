use std::sync::Arc;

use oneir_tensor::{DType, HostTensor, Shape};

/// A value of the ONNX graph under way.
#[derive(Debug, Clone)]
pub(super) struct Term {
    /// Its name; empty for an input that is left out.
    pub(super) name: Arc<str>,
    pub(super) shape: Vec<usize>,
    pub(super) dtype: DType,
    /// The axis along which the batch's items lie, each with as many places.
    pub(super) batch: Option<usize>,
    /// What it is, of an initialiser.
    pub(super) value: Option<HostTensor>,
    /// What the caller calls the weight that it was made from.
    pub(super) label: Option<Arc<str>>,
}

impl Term {
    /// An optional input that is left out.
    pub(super) fn absent() -> Term {
        Term { name: "".into(), shape: Vec::new(), dtype: DType::F32, batch: None, value: None, label: None }
    }

    pub(super) fn rank(&self) -> usize {
        self.shape.len()
    }

    pub(super) fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// The one number of a constant that holds the same number everywhere.
    pub(super) fn number(&self) -> Option<f64> {
        let values = self.value.as_ref().filter(|v| v.count() == 1)?.values().ok()?;
        values.to_floats().first().copied()
    }
}

/// A tensor of the exported graph, of which a transposition and a broadcast may
/// be still to be written: many operators do without.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) base: Term,
    /// Axis i of the tensor is axis `order[i]` of the base.
    pub(super) order: Option<Vec<usize>>,
    /// The shape that the (ordered) base is presented with.
    pub(super) full: Option<Vec<usize>>,
}

impl Shown {
    pub(super) fn plain(base: Term) -> Shown {
        Shown { base, order: None, full: None }
    }

    /// The base seen in another order; none where it is the same.
    pub(super) fn ordered(base: Term, order: Vec<usize>) -> Shown {
        let order = if order.is_sorted() { None } else { Some(order) };
        Shown { base, order, full: None }
    }

    /// Presented with a shape; none where it has it.
    pub(super) fn spread(mut self, shape: &[usize]) -> Shown {
        self.full = if self.narrow()[..] == *shape { None } else { Some(shape.to_vec()) };
        self
    }

    pub(super) fn dtype(&self) -> DType {
        self.base.dtype
    }

    /// The shape before the broadcast.
    fn narrow(&self) -> Vec<usize> {
        match &self.order {
            Some(order) => order.iter().map(|&axis| self.base.shape[axis]).collect(),
            None => self.base.shape.clone(),
        }
    }

    pub(super) fn shape(&self) -> Vec<usize> {
        self.full.clone().unwrap_or_else(|| self.narrow())
    }

    pub(super) fn rank(&self) -> usize {
        self.full.as_ref().map_or(self.base.rank(), Vec::len)
    }

    /// The axis along which the batch's items lie.
    pub(super) fn batch(&self) -> Option<usize> {
        let axis = self.base.batch?;
        let axis = match &self.order {
            Some(order) => order.iter().position(|&a| a == axis)?,
            None => axis,
        };
        Some(axis + self.rank() - self.base.rank())
    }

    /// Says which axis has the batch's size.
    pub(super) fn set_batch(&mut self, axis: Option<usize>) {
        let lead = self.rank() - self.base.rank();
        self.base.batch = axis.and_then(|axis| axis.checked_sub(lead)).map(|axis| match &self.order {
            Some(order) => order[axis],
            None => axis,
        });
    }

    /// Whether an axis only repeats, so that it fits any size.
    pub(super) fn repeats(&self, axis: usize) -> bool {
        let lead = self.rank() - self.base.rank();
        axis.checked_sub(lead).is_none_or(|axis| self.narrow()[axis] == 1)
    }

    /// The constant that it is, before the broadcast.
    pub(super) fn value(&self) -> Option<&HostTensor> {
        if self.order.is_some() { None } else { self.base.value.as_ref() }
    }

    /// The number that it holds everywhere.
    pub(super) fn number(&self) -> Option<f64> {
        self.base.number()
    }
}

/// The shape in which operands of these shapes meet.
pub(super) fn met(shapes: &[&[usize]]) -> Option<Vec<usize>> {
    let mut all = Shape::scalar();
    for shape in shapes {
        all = oneir_tensor::broadcast_shapes(&all, shape).ok()?;
    }
    Some(all.to_vec())
}
