use std::io::Write;
use std::path::Path;

use oneir_tensor::HostTensor;
use prost::Message;

use super::error::ExportError;
use super::model;
use crate::proto::tensor_proto::DataLocation;
use crate::proto::{ModelProto, StringStringEntryProto, TensorProto};

/// Models whose weights take more bytes than this are saved in two files.
const EXTERNAL_ABOVE: usize = 1 << 30;

/// Weights below this many bytes stay in the model's file.
const SMALL: usize = 1024;

/// Weights in a file of their own start at multiples of this many bytes, so that they
/// can be mapped.
const PAGE: usize = 4096;

/// Bytes that a protobuf message can have.
const MOST: usize = i32::MAX as usize;

/// A function written as an ONNX model.
#[derive(Debug, Clone)]
pub struct Exported {
    model: ModelProto,
    weights: Vec<(String, HostTensor)>,
    batch: Option<String>,
}

impl Exported {
    pub(super) fn new(model: ModelProto, weights: Vec<(String, HostTensor)>, batch: Option<String>) -> Self {
        Exported { model, weights, batch }
    }

    /// The name of the inputs' first axis, where the model takes any number of items.
    pub fn batch(&self) -> Option<&str> {
        self.batch.as_deref()
    }

    /// The names of the graph's operators, in order; not those inside control flow.
    pub fn operators(&self) -> Vec<&str> {
        let nodes = self.model.graph.iter().flat_map(|graph| &graph.node);
        nodes.filter_map(|node| node.op_type.as_deref()).collect()
    }

    /// The initialisers by name.
    pub fn weights(&self) -> impl Iterator<Item = (&str, &HostTensor)> {
        self.weights.iter().map(|(name, value)| (name.as_str(), value))
    }

    fn with(&self, weights: Vec<TensorProto>) -> ModelProto {
        let mut model = self.model.clone();
        if let Some(graph) = &mut model.graph {
            graph.initializer = weights;
        }
        model
    }

    /// The model as the bytes of one file.
    ///
    /// # Errors
    /// When they are more than a protobuf message can have.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ExportError> {
        let weights: usize = self.weights.iter().map(|(_, value)| size(value)).sum();
        if weights > MOST {
            return Err(ExportError::TooLarge { bytes: weights });
        }
        let weights = self.weights.iter().map(|(name, value)| model::tensor(name, value)).collect();
        encoded(&self.with(weights))
    }

    /// Writes the model to a file. Where its weights take more than 1 GiB, they go to a
    /// second file beside it, `NAME.data`, which the model names relative to itself.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), ExportError> {
        self.save_with(path, EXTERNAL_ABOVE)
    }

    /// As [`Exported::save`], with a second file where the weights take more than
    /// `external_above` bytes.
    ///
    /// # Errors
    /// As [`Exported::save`].
    pub fn save_with(&self, path: impl AsRef<Path>, external_above: usize) -> Result<(), ExportError> {
        let path = path.as_ref();
        let total: usize = self.weights.iter().map(|(_, value)| size(value)).sum();
        if total <= external_above {
            let bytes = self.to_bytes()?;
            return Ok(oneir_io::replace(path, |file| file.write_all(&bytes))?);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let location = format!("{name}.data");
        let (mut all, mut end, mut outside) = (Vec::new(), 0usize, Vec::new());
        for (name, value) in &self.weights {
            if size(value) < SMALL {
                all.push(model::tensor(name, value));
                continue;
            }
            let offset = end.next_multiple_of(PAGE);
            end = offset + size(value);
            let entry = |key: &str, value: String| StringStringEntryProto {
                key: Some(key.into()),
                value: Some(value),
            };
            let mut tensor = model::header(name, value);
            tensor.data_location = Some(DataLocation::External as i32);
            tensor.external_data = vec![
                entry("location", location.clone()),
                entry("offset", offset.to_string()),
                entry("length", size(value).to_string()),
            ];
            all.push(tensor);
            outside.push((offset, value));
        }
        let bytes = encoded(&self.with(all))?;
        oneir_io::replace(path.with_file_name(&location), |file| {
            let mut at = 0;
            for (offset, value) in outside {
                file.write_all(&vec![0; offset - at])?;
                file.write_all(&value.bytes())?;
                at = offset + size(value);
            }
            Ok(())
        })?;
        Ok(oneir_io::replace(path, |file| file.write_all(&bytes))?)
    }
}

fn size(value: &HostTensor) -> usize {
    value.dtype().bytes_for(value.count()).unwrap_or(usize::MAX)
}

fn encoded(model: &ModelProto) -> Result<Vec<u8>, ExportError> {
    match model.encoded_len() {
        bytes if bytes > MOST => Err(ExportError::TooLarge { bytes }),
        _ => Ok(model.encode_to_vec()),
    }
}
