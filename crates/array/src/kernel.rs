//! Kernels that a user writes.

use std::sync::Arc;

use oneir_ir::graph::Fill;
use oneir_ir::primitive::{HostFunction, KernelCall};
use oneir_ir::{Primitive, Real};
use oneir_tensor::{DType, HostTensor};

use crate::{Array, Reason};

/// An operation of one's own: a Rust function for the CPU, CUDA C++ for GPUs, or both.
///
/// It is recorded like any other and may stand in compiled functions. Its source does
/// not tell its derivative nor how it runs over a batch: a
/// [`custom_function`](crate::custom_function) around it can.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, DType, HostTensor, Kernel, Launch, array, custom_function, grad};
///
/// // Each element cubed.
/// let cube = Kernel::new("cube", &["x"], &["y"]).cpu(|inputs| {
///     let x = inputs[0].to_vec::<f32>().map_err(|e| e.to_string())?;
///     let y: Vec<f32> = x.iter().map(|x| x * x * x).collect();
///     Ok(vec![HostTensor::from_slice(inputs[0].shape(), &y).map_err(|e| e.to_string())?])
/// });
/// let cubed = move |x: &Array| {
///     let launch = Launch::of(&[(x.shape(), DType::F32)]);
///     cube.call(&[x], &launch).remove(0)
/// };
/// assert_eq!(cubed(&array![1.0, 2.0]).to_vec::<f32>()?, [1.0, 8.0]);
///
/// // With its derivative.
/// let cubed = custom_function(cubed).with_vjp(|x, _, cotangent| cotangent * x * x * 3);
/// let slope = grad(|x: &Array| cubed.call(x).sum(.., false));
/// assert_eq!(slope(&array![1.0, 2.0]).to_vec::<f32>()?, [3.0, 12.0]);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Kernel {
    name: Arc<str>,
    inputs: Vec<Arc<str>>,
    outputs: Vec<Arc<str>>,
    cuda: Arc<str>,
    cpu: HostFunction,
}

/// How a kernel is run once.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// The outputs' shapes.
    pub shapes: Vec<Vec<usize>>,
    /// The outputs' element types.
    pub dtypes: Vec<DType>,
    /// How many threads there are along one to three axes.
    pub grid: Vec<usize>,
    /// How many of them form a group along the same axes.
    pub threadgroup: Vec<usize>,
    /// Template arguments, as the source language writes them.
    pub template: Vec<String>,
    /// What a device fills the outputs with before the kernel runs.
    pub init: Option<f64>,
}

impl Launch {
    /// Outputs of these shapes and element types; a thread for each element of the
    /// first, in groups of 256.
    pub fn of<S: AsRef<[usize]>>(outputs: &[(S, DType)]) -> Launch {
        let count: usize = outputs.first().map_or(0, |(shape, _)| shape.as_ref().iter().product());
        Launch {
            shapes: outputs.iter().map(|(shape, _)| shape.as_ref().to_vec()).collect(),
            dtypes: outputs.iter().map(|(_, dtype)| *dtype).collect(),
            grid: vec![count],
            threadgroup: vec![256],
            template: Vec::new(),
            init: None,
        }
    }
}

impl Kernel {
    /// A kernel without a source yet, and what its sources call inputs and outputs.
    pub fn new(name: &str, inputs: &[&str], outputs: &[&str]) -> Kernel {
        let all = |names: &[&str]| names.iter().map(|&name| name.into()).collect();
        Kernel {
            name: name.into(),
            inputs: all(inputs),
            outputs: all(outputs),
            cuda: "".into(),
            cpu: HostFunction::none(),
        }
    }

    /// With a function for the CPU: from the inputs, which are row-contiguous, to all
    /// outputs, or why there are none.
    #[must_use]
    pub fn cpu(
        mut self,
        function: impl Fn(&[HostTensor]) -> Result<Vec<HostTensor>, String> + Send + Sync + 'static,
    ) -> Kernel {
        self.cpu = HostFunction::new(function);
        self
    }

    /// With the CUDA C++ source for GPUs: the body of the kernel.
    #[must_use]
    pub fn cuda(mut self, source: &str) -> Kernel {
        self.cuda = source.into();
        self
    }

    /// The outputs, on as many inputs as the kernel names. A device for which there is
    /// no source refuses to plan it, by its name.
    #[track_caller]
    pub fn call(&self, inputs: &[&Array], launch: &Launch) -> Vec<Array> {
        let call = KernelCall {
            name: self.name.clone(),
            inputs: self.inputs.clone(),
            outputs: self.outputs.clone(),
            shapes: launch.shapes.clone(),
            dtypes: launch.dtypes.clone(),
            template: launch.template.iter().map(|t| t.as_str().into()).collect(),
            grid: launch.grid.clone(),
            threadgroup: launch.threadgroup.clone(),
            init: launch.init.map_or(Fill::Unfilled, |number| Fill::Number(Real::new(number))),
            cuda: self.cuda.clone(),
            cpu: self.cpu.clone(),
        };
        let count = self.outputs.len().max(1);
        let given: Result<Vec<_>, _> = inputs.iter().map(|x| x.value().map_err(|_| (*x).clone())).collect();
        let given = match given {
            Ok(given) => given,
            Err(failed) => return vec![failed; count],
        };
        let place = oneir_ir::Place::Rust(std::panic::Location::caller());
        match oneir_ir::Value::record_all(Primitive::Kernel(Box::new(call)), &given, place) {
            Ok(made) => made.into_iter().map(Array::from_value).collect(),
            Err(invalid) => vec![Array::failed("kernel", Reason::Invalid(invalid)); count],
        }
    }
}
