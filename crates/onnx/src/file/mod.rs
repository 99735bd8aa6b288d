//! Model files, checked while they are read.

mod allowance;
mod attributes;
mod elem;
mod external;
mod function;
mod graph;
mod opsets;
mod order;
mod sparse;
mod tensor;
mod value;
mod wire;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use oneir_runtime::Steps;
use prost::Message;

use crate::error::OnnxError;
use crate::proto::ModelProto;
use allowance::Allowance;
use external::ExternalFiles;
use function::FunctionIndex;
use graph::Reader;

pub use attributes::{AttributeKind, AttributeValue, Attributes};
pub use elem::ElemType;
pub use function::Function;
pub use graph::{Graph, NodeDef};
pub use opsets::Opsets;
pub use tensor::TensorData;
pub use value::{Dim, TensorType, ValueInfo, ValueType};

/// A model as its file gives it, checked.
///
/// Every name resolves, nodes are sorted, functions do not recurse, and stored
/// tensors fill their shapes. Whether the operators exist is not looked at.
#[derive(Debug, Clone)]
pub struct OnnxFile {
    /// Version of the file format.
    pub ir_version: i64,
    /// Versions of the operator sets.
    pub opsets: Opsets,
    /// What wrote the file.
    pub producer: Producer,
    /// The model's own domain.
    pub domain: String,
    /// The model's own version.
    pub model_version: i64,
    /// A text for people.
    pub doc: String,
    /// What the model computes.
    pub graph: Graph,
    /// Operators that the model defines.
    pub functions: Vec<Function>,
    /// Named texts.
    pub metadata: BTreeMap<String, String>,
    function_index: FunctionIndex,
}

/// What wrote a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Producer {
    /// Name of the tool.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl OnnxFile {
    /// Reads the model at `path`, whose external data lies in the same folder.
    ///
    /// Model and data are memory-mapped, and stay so as long as a tensor read
    /// from them lives: until then nobody may truncate or rewrite the files.
    ///
    /// # Errors
    /// When the file cannot be read, or is no valid model.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OnnxError> {
        Self::open_counted(path, &Steps::default())
    }

    /// As [`OnnxFile::open`], counting the nodes and stored tensors that are
    /// read.
    ///
    /// ```
    /// let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mlp_digits.onnx");
    /// let steps = oneir_onnx::Steps::default();
    /// oneir_onnx::OnnxFile::open_counted(path, &steps)?;
    /// let (done, all) = steps.so_far().unwrap();
    /// assert!(done == all && all > 0);
    /// # Ok::<(), oneir_onnx::OnnxError>(())
    /// ```
    ///
    /// # Errors
    /// As [`OnnxFile::open`].
    pub fn open_counted(path: impl AsRef<Path>, steps: &Steps) -> Result<Self, OnnxError> {
        let path = path.as_ref();
        let unreadable = |e| OnnxError::Io { path: path.to_owned(), source: Arc::new(e) };
        // Asked before opening: opening a pipe would wait for its other end.
        if let Some(other) = not_a_file(&path.metadata().map_err(unreadable)?) {
            let kind = std::io::ErrorKind::InvalidInput;
            let reason = format!("expected a regular file, found {other}");
            return Err(unreadable(std::io::Error::new(kind, reason)));
        }
        Self::read(external::map(path).map_err(unreadable)?, path.parent(), steps)
    }

    /// Reads a model from bytes; `folder` is where its external data lies.
    ///
    /// # Errors
    /// When the bytes are no valid model.
    pub fn from_bytes(bytes: impl Into<Bytes>, folder: Option<&Path>) -> Result<Self, OnnxError> {
        Self::read(bytes.into(), folder, &Steps::default())
    }

    fn read(bytes: Bytes, folder: Option<&Path>, steps: &Steps) -> Result<Self, OnnxError> {
        let mut allowance = Allowance::for_file(bytes.len());
        wire::check(&bytes, &mut allowance)?;
        let files = ExternalFiles::new(folder.map(absolute).transpose()?);
        let mut reader = Reader { steps, files, allowance, in_function: false };
        let model =
            ModelProto::decode(bytes).map_err(|e| OnnxError::Undecodable { reason: e.to_string() })?;

        let all = model.functions.iter().map(|function| graph::steps(&function.node, 0)).sum::<usize>()
            + model.graph.iter().map(|g| graph::steps(&g.node, g.initializer.len())).sum::<usize>();
        steps.set(0, all);

        let ir_version = model.ir_version.unwrap_or(0);
        let mut opsets = Opsets::read(model.opset_import)?;
        if opsets.iter().next().is_none() {
            opsets = Opsets::first();
        }
        let graph = Graph::read(model.graph.ok_or(OnnxError::NoGraph)?, &mut reader)?.closed()?;
        reader.in_function = true;
        let mut functions = Vec::with_capacity(model.functions.len());
        for proto in model.functions {
            functions.push(Function::read(proto, &opsets, &mut reader)?);
        }
        let function_index = FunctionIndex::new(&functions)?;
        function_index.check_calls(&functions, &graph)?;
        Ok(OnnxFile {
            ir_version,
            opsets,
            producer: Producer {
                name: model.producer_name.unwrap_or_default(),
                version: model.producer_version.unwrap_or_default(),
            },
            domain: model.domain.unwrap_or_default(),
            model_version: model.model_version.unwrap_or(0),
            doc: model.doc_string.unwrap_or_default(),
            graph,
            functions,
            metadata: model
                .metadata_props
                .into_iter()
                .map(|e| (e.key.unwrap_or_default(), e.value.unwrap_or_default()))
                .collect(),
            function_index,
        })
    }

    /// The function that a node calls, where the model defines its operator.
    pub fn function(&self, node: &NodeDef) -> Option<&Function> {
        self.functions.get(self.function_index.find(node)?)
    }
}

/// What a path leads to, where it is no regular file.
pub(crate) fn not_a_file(found: &std::fs::Metadata) -> Option<&'static str> {
    let kind = found.file_type();
    if kind.is_file() {
        return None;
    }
    if kind.is_dir() {
        return Some("a folder");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        for (is, what) in [
            (kind.is_fifo(), "a pipe"),
            (kind.is_socket(), "a socket"),
            (kind.is_char_device() || kind.is_block_device(), "a device"),
        ] {
            if is {
                return Some(what);
            }
        }
    }
    Some("a special file")
}

/// `folder` whatever the working folder becomes.
fn absolute(folder: &Path) -> Result<PathBuf, OnnxError> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    std::path::absolute(folder).map_err(|e| OnnxError::Io { path: folder.to_owned(), source: Arc::new(e) })
}
