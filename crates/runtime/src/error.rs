use oneir_ir::Place;
use oneir_ir::graph::GraphError;
use oneir_ir::primitive::EvalError;
use oneir_tensor::TensorError;

/// Why a graph cannot be planned or run.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The graph is not a right one, or its inputs do not fit it.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A host value cannot be made or read.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// No kernel of the device computes an op.
    #[error("{device} has no kernel for `{op}` on {operands}, written at {place}")]
    Unsupported {
        /// The device.
        device: String,
        /// The op.
        op: String,
        /// What it reads.
        operands: String,
        /// Where it was written.
        place: Place,
        /// The lifted op, by its number.
        lifted: u32,
    },
    /// A kernel could not compute its result from its data.
    #[error("`{op}` on {device}: {why}")]
    Kernel {
        /// The device.
        device: String,
        /// The op.
        op: String,
        /// Why.
        why: Box<EvalError>,
    },
    /// No thread could be started.
    #[error("no thread could be started: {why}")]
    NoThread {
        /// What the system says.
        why: String,
    },
    /// Memory could not be had.
    #[error("{device} is out of memory: {bytes} bytes were asked for, {active} are in use{}", limited(*.limit))]
    OutOfMemory {
        /// The device.
        device: String,
        /// Bytes asked for.
        bytes: usize,
        /// Bytes that values and running work hold.
        active: usize,
        /// How many they may hold, where a limit is set.
        limit: Option<usize>,
    },
    /// A device of this name is not there.
    #[error("there is no device `{name}`; there are {known}")]
    UnknownDevice {
        /// The name.
        name: String,
        /// Those that are.
        known: String,
    },
    /// A value belongs to another device, or was never computed.
    #[error("a value of {found} was given where one of {expected} was needed")]
    WrongDevice {
        /// The device that was to read it.
        expected: String,
        /// Where it is.
        found: String,
    },
    /// A plan is not right: two live buffers overlap, or memory is read before
    /// it is written.
    #[error("launch {launch} (`{kernel}`): {problem}")]
    BadPlan {
        /// The launch's place.
        launch: usize,
        /// The kernel.
        kernel: String,
        /// What is wrong.
        problem: String,
    },
    /// A run on a step that its context has no room for.
    #[error("{steps} steps from position {position} pass the context of {context}")]
    PastContext {
        /// Steps asked for.
        steps: usize,
        /// The position before them.
        position: usize,
        /// Rows of the shortest state.
        context: usize,
    },
    /// A device stopped working.
    #[error("{device} has stopped")]
    Stopped {
        /// The device.
        device: String,
    },
    /// The device has no threads whose number could be chosen.
    #[error("{device} has no threads whose number could be chosen")]
    NoThreads {
        /// The device.
        device: String,
    },
    /// A computed value has no result: an evaluation that was to make it failed.
    #[error("the value was never computed")]
    NeverComputed,
    /// A step lacks something that it was asked for.
    #[error("the step {0}")]
    Step(&'static str),
}

impl RuntimeError {
    /// With the place where the op was written, of a graph whose lifted ops
    /// were written at these places.
    pub fn at(self, places: &[Place]) -> RuntimeError {
        match self {
            RuntimeError::Unsupported { device, op, operands, place, lifted } => {
                let place = places.get(lifted as usize).cloned().unwrap_or(place);
                RuntimeError::Unsupported { device, op, operands, place, lifted }
            }
            other => other,
        }
    }
}

fn limited(limit: Option<usize>) -> String {
    limit.map_or_else(String::new, |bytes| format!(" of {bytes} allowed"))
}
