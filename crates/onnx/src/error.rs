use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use oneir_tensor::TensorError;

use crate::file::{AttributeKind, ElemType};

/// Why an ONNX model cannot be read.
///
/// Every message says what is wrong, where in the model, and what was
/// expected there.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum OnnxError {
    /// The file cannot be opened or mapped.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: Arc<std::io::Error>,
    },
    /// The bytes are not a protobuf message of the ONNX schema.
    #[error("not an ONNX model: {fault} at byte {offset}")]
    Malformed {
        /// Where in the file.
        offset: usize,
        /// What is there.
        fault: WireFault,
    },
    /// The bytes are framed as an ONNX model, but a field holds something else
    /// than its type allows.
    #[error("not an ONNX model: {reason}")]
    Undecodable {
        /// The decoder's words.
        reason: String,
    },
    /// The file would take far more memory than its size justifies.
    #[error("the messages of a model of {file} bytes would take {needed} bytes of memory or more")]
    Bomb {
        /// Bytes of the file.
        file: usize,
        /// Bytes that its messages were found to need when reading stopped.
        needed: usize,
    },
    /// The model has no graph.
    #[error("not an ONNX model: it has no graph")]
    NoGraph,
    /// An operator set is imported at a version that cannot exist.
    #[error("operator set `{domain}` is imported at version {version}")]
    BadOpset {
        /// The operator set's domain.
        domain: String,
        /// The version.
        version: i64,
    },
    /// Graphs are nested in graphs, or functions called from functions, past a
    /// limit.
    #[error("graphs and function calls are nested deeper than {limit}")]
    TooDeep {
        /// The deepest nesting that is read.
        limit: usize,
    },
    /// Function calls multiply into more nodes than a model can have.
    #[error("with its functions expanded the model has {nodes} nodes, more than {limit}")]
    TooManyNodes {
        /// Nodes after expansion (a lower bound where it saturates).
        nodes: u64,
        /// The most that are accepted.
        limit: u64,
    },
    /// Operators that Oneir does not have: all that the model uses.
    #[error("the model uses operators that are not implemented: {}", operators.join(", "))]
    MissingOperators {
        /// Each as domain, name and version.
        operators: Vec<String>,
    },
    /// A node cannot be computed from what it is given.
    #[error("{place}, version {version}, on {inputs}: {reason}")]
    Operator {
        /// The node.
        place: Arc<Place>,
        /// The version of the operator set that the model imports.
        version: i64,
        /// Its inputs' types and shapes.
        inputs: String,
        /// Why.
        reason: String,
    },
    /// A value had to be looked at while tracing, but is only known once the
    /// graph runs.
    #[error(
        "{place} must look at the value of its input `{input}`, which is known only when the graph runs: {origin} makes it dynamic"
    )]
    UnknownValue {
        /// The node that must look.
        place: Arc<Place>,
        /// The input's name.
        input: String,
        /// What made the value dynamic.
        origin: String,
    },
    /// A loop runs on the host: it has more steps than are traced at once.
    #[error("{place} runs more than {limit} nodes in all: it loops on the host")]
    LongLoop {
        /// The loop.
        place: Arc<Place>,
        /// The most nodes that are traced.
        limit: u64,
    },
    /// What the caller gives does not fit what the model takes.
    #[error("input `{name}` must be {expected}, found {found}")]
    Input {
        /// The input.
        name: String,
        /// What the model declares.
        expected: String,
        /// What was given.
        found: String,
    },
    /// The caller gives an input that the model does not have, or leaves one
    /// out.
    #[error("the model takes inputs {}; {problem}", expected.join(", "))]
    Inputs {
        /// The model's inputs.
        expected: Vec<String>,
        /// What is wrong.
        problem: String,
    },
    /// An array could not be computed.
    #[error("{0}")]
    Array(#[from] oneir_array::ArrayError),
    /// Something that must have a name has none.
    #[error("{what} {index} of graph `{graph}` has no name")]
    Unnamed {
        /// What it is.
        what: &'static str,
        /// The graph it belongs to.
        graph: String,
        /// Its place in the graph's list.
        index: usize,
    },
    /// A node names no operator.
    #[error("{place} names no operator")]
    NoOperator {
        /// The node.
        place: Arc<Place>,
    },
    /// Two things in one graph make the same value.
    #[error("value `{value}` is made twice: by {first} and by {second}")]
    DuplicateValue {
        /// The value's name.
        value: String,
        /// What makes it first.
        first: Arc<Place>,
        /// What makes it again.
        second: Arc<Place>,
    },
    /// A value is read that nothing makes.
    #[error(
        "{reader} reads `{value}`, which is no input, initializer, node output or value of an outer graph"
    )]
    MissingValue {
        /// The value's name.
        value: String,
        /// What reads it.
        reader: Arc<Place>,
    },
    /// Nodes wait for each other's outputs.
    #[error("a cycle of {} nodes: {}", nodes.len(), listed(nodes))]
    Cycle {
        /// The nodes, each reading an output of the one before it (the first
        /// reads from the last).
        nodes: Vec<Arc<Place>>,
    },
    /// Two functions have the same domain, name and overload.
    #[error("{place} is defined twice")]
    DuplicateFunction {
        /// The function.
        place: Arc<Place>,
    },
    /// Functions call each other in a circle.
    #[error("recursive functions: {}", listed(functions))]
    RecursiveFunctions {
        /// The functions, each called by the one before it (the first by the
        /// last).
        functions: Vec<Arc<Place>>,
    },
    /// A node or function has an attribute twice.
    #[error("{place} has attribute `{attribute}` twice")]
    DuplicateAttribute {
        /// What has it.
        place: Arc<Place>,
        /// The attribute.
        attribute: String,
    },
    /// An attribute that the operator needs is not there.
    #[error("{place} lacks attribute `{attribute}`")]
    MissingAttribute {
        /// The node.
        place: Arc<Place>,
        /// The attribute.
        attribute: String,
    },
    /// An attribute is of another kind than expected.
    #[error("attribute `{attribute}` of {place}: expected {expected}, found {found}")]
    WrongAttribute {
        /// The node or function.
        place: Arc<Place>,
        /// The attribute.
        attribute: String,
        /// The kind asked for, or the kind that the file declares.
        expected: AttributeKind,
        /// The kind that is there.
        found: AttributeKind,
    },
    /// An attribute has a kind that the standard does not have.
    #[error("attribute `{attribute}` of {place} has unknown kind {code}")]
    UnknownAttributeKind {
        /// The node or function.
        place: Arc<Place>,
        /// The attribute.
        attribute: String,
        /// The kind's number in the file.
        code: i32,
    },
    /// An attribute read as text is not UTF-8.
    #[error("attribute `{attribute}` of {place} is not UTF-8")]
    NotUtf8 {
        /// The node or function.
        place: Arc<Place>,
        /// The attribute.
        attribute: String,
    },
    /// An attribute refers to a parameter of the enclosing function, where
    /// there is no function.
    #[error("attribute `{attribute}` of {place} refers to `{parameter}` outside any function")]
    StrayReference {
        /// The node.
        place: Arc<Place>,
        /// The attribute.
        attribute: String,
        /// The function parameter that it refers to.
        parameter: String,
    },
    /// The declared type of a value makes no sense.
    #[error("{place} is declared with {fault}")]
    BadType {
        /// The value.
        place: Arc<Place>,
        /// What is wrong.
        fault: TypeFault,
    },
    /// A tensor that the file holds cannot be read.
    #[error("{place}: {fault}")]
    Tensor {
        /// The tensor.
        place: Arc<Place>,
        /// What is wrong.
        fault: TensorFault,
    },
}

/// A place in a model, as errors name it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// A node.
    Node {
        /// Its name, or a stand-in where the file gives none.
        name: String,
        /// Its operator, with its domain where that is not the standard one.
        operator: String,
    },
    /// A function of the model.
    Function {
        /// Its name, with its domain where that is not the standard one.
        name: String,
    },
    /// An initializer.
    Initializer {
        /// Its name.
        name: String,
    },
    /// An input of a graph.
    Input {
        /// Its name.
        name: String,
    },
    /// An output of a graph.
    Output {
        /// Its name.
        name: String,
    },
    /// A value that a graph describes.
    Value {
        /// Its name.
        name: String,
    },
    /// An attribute.
    Attribute {
        /// The node or function that has it.
        of: Arc<Place>,
        /// Its name.
        name: String,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Node { name, operator } => write!(f, "node `{name}` ({operator})"),
            Place::Function { name } => write!(f, "function `{name}`"),
            Place::Initializer { name } => write!(f, "initializer `{name}`"),
            Place::Input { name } => write!(f, "graph input `{name}`"),
            Place::Output { name } => write!(f, "graph output `{name}`"),
            Place::Value { name } => write!(f, "value `{name}`"),
            Place::Attribute { of, name } => write!(f, "attribute `{name}` of {of}"),
        }
    }
}

/// Why bytes are not protobuf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum WireFault {
    /// A field goes on past the end of its message.
    #[error("a field that goes past the end of its message")]
    Truncated,
    /// A number has more than 64 bits.
    #[error("a number of more than 64 bits")]
    LongNumber,
    /// A field has a number that no schema can have.
    #[error("a field number that cannot be")]
    FieldNumber,
    /// A field is stored in a way that the ONNX schema does not use.
    #[error("a field of wire type {0}, which no ONNX message has")]
    WireType(u8),
}

/// Why a declared type makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TypeFault {
    /// The element type is none of the standard.
    #[error("element type {code}, which the standard does not have")]
    UnknownElem {
        /// The type's number in the file.
        code: i32,
    },
    /// A dimension is below zero (-1, which exporters write for unknown, is
    /// read as that).
    #[error("a dimension of {size}")]
    NegativeDim {
        /// The dimension.
        size: i64,
    },
}

/// Why a tensor in a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TensorFault {
    /// There is no tensor where one is announced.
    #[error("the file holds no tensor there")]
    Absent,
    /// The element type is none of the standard.
    #[error("element type {code} is not in the standard")]
    UnknownElem {
        /// The type's number in the file.
        code: i32,
    },
    /// A dimension is below zero.
    #[error("shape {dims:?} has a negative dimension")]
    NegativeDim {
        /// The shape.
        dims: Vec<i64>,
    },
    /// The shape has more elements than can be addressed.
    #[error("shape {dims:?} has more elements than an address can name")]
    TooLarge {
        /// The shape.
        dims: Vec<i64>,
    },
    /// The stored data does not fill the shape.
    #[error("shape {shape:?} of {elem} needs {expected} {unit}, found {found}")]
    WrongLength {
        /// The shape.
        shape: Vec<usize>,
        /// The element type.
        elem: ElemType,
        /// What is counted.
        unit: &'static str,
        /// How many the shape needs.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// The tensor is one segment of a larger one.
    #[error("tensors stored in segments are not read")]
    Segmented,
    /// No host tensor can hold the element type.
    #[error("elements of {elem} cannot be read")]
    UnsupportedElem {
        /// The element type.
        elem: ElemType,
    },
    /// A tensor of numbers was asked for, and it holds strings.
    #[error("expected numbers, found strings")]
    Strings,
    /// Strings were asked for, and the tensor holds numbers.
    #[error("expected strings, found {elem}")]
    NotStrings {
        /// The element type.
        elem: ElemType,
    },
    /// The data's location is neither the file itself nor a file beside it.
    #[error("unknown data location {code}")]
    UnknownLocation {
        /// The location's number in the file.
        code: i32,
    },
    /// The file beside the model that holds the data cannot be used.
    #[error("external data `{location}`: {fault}")]
    External {
        /// The path that the model gives.
        location: String,
        /// What is wrong.
        fault: ExternalFault,
    },
    /// The tensor is stored sparsely, and not as the standard says.
    #[error("sparse tensor: {0}")]
    Sparse(SparseFault),
    /// The elements are no valid host tensor.
    #[error(transparent)]
    Host(TensorError),
}

/// Why external data cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalFault {
    /// No location is given.
    #[error("no location is given")]
    NoLocation,
    /// The model has no folder that external data could lie in.
    #[error("the model was not read from a folder")]
    NoFolder,
    /// The path is absolute, or goes up.
    #[error("the path leaves the model's folder")]
    Escapes,
    /// A link leads out of the model's folder.
    #[error("the path leads out of the model's folder, to {}", target.display())]
    LeadsOut {
        /// Where it leads.
        target: PathBuf,
    },
    /// It is not a regular file.
    #[error("not a regular file")]
    NotAFile,
    /// The file cannot be opened or mapped.
    #[error("{message}")]
    Unreadable {
        /// What the operating system said.
        message: String,
    },
    /// An offset or length is not a number.
    #[error("{key} `{value}` is not a byte count")]
    NotANumber {
        /// `offset` or `length`.
        key: &'static str,
        /// What is there.
        value: String,
    },
    /// The range goes past the end of the file.
    #[error("bytes {offset} to {offset} + {length} go past the end of the file, at {file}")]
    PastEnd {
        /// First byte.
        offset: usize,
        /// Number of bytes.
        length: usize,
        /// Bytes in the file.
        file: usize,
    },
}

/// Why a sparsely stored tensor cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum SparseFault {
    /// The values are not a vector.
    #[error("values have shape {shape:?}, expected a vector")]
    ValuesShape {
        /// Their shape.
        shape: Vec<usize>,
    },
    /// The indices are not int64.
    #[error("indices are {elem}, expected INT64")]
    IndicesElem {
        /// Their element type.
        elem: ElemType,
    },
    /// The indices match neither form.
    #[error("indices have shape {shape:?}, expected [{count}] or [{count}, {rank}]")]
    IndicesShape {
        /// Their shape.
        shape: Vec<usize>,
        /// Number of values.
        count: usize,
        /// Rank of the dense tensor.
        rank: usize,
    },
    /// An index lies outside the dense shape.
    #[error("index {index} of value {at} lies outside shape {shape:?}")]
    OutOfRange {
        /// The value.
        at: usize,
        /// The index.
        index: i64,
        /// The dense shape.
        shape: Vec<usize>,
    },
    /// The indices do not ascend.
    #[error("the place of value {at} does not come after the place of the value before it")]
    NotAscending {
        /// The value.
        at: usize,
    },
    /// The dense tensors of the model would be far larger than its file.
    #[error("dense it takes {needed} bytes, and {left} are left of what the file's size justifies")]
    TooLarge {
        /// Bytes of the dense tensor.
        needed: usize,
        /// Bytes left of the allowance.
        left: usize,
    },
}

/// At most sixteen places, so that an error stays readable.
fn listed(places: &[Arc<Place>]) -> String {
    const SHOWN: usize = 16;
    let mut text = places.iter().take(SHOWN).map(|p| p.to_string()).collect::<Vec<_>>().join(", ");
    if places.len() > SHOWN {
        text.push_str(&format!(", and {} more", places.len() - SHOWN));
    }
    text
}
