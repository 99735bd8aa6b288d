use std::path::Path;
use std::sync::Arc;

use prost::Message;

use super::verdict::DataFault;
use crate::proto::{OptionalProto, SequenceProto, TensorProto};
use crate::{ElemType, Strings, TensorData, Term, ValueType};

/// The value in a file of a data set, of the type that the model declares.
pub(super) fn read(path: &Path, ty: &ValueType) -> Result<Term, DataFault> {
    let bytes = std::fs::read(path).map_err(|e| DataFault::Io { source: Arc::new(e) })?;
    match ty {
        ValueType::Sequence(_) => sequence(decode(&bytes, "SequenceProto")?),
        ValueType::Optional(_) => optional(decode(&bytes, "OptionalProto")?),
        ValueType::Map { .. } => Err(DataFault::Kind { what: "a map" }),
        _ => tensor(decode(&bytes, "TensorProto")?),
    }
}

fn decode<M: Message + Default>(bytes: &[u8], message: &'static str) -> Result<M, DataFault> {
    M::decode(bytes).map_err(|e| DataFault::Undecodable { message, reason: e.to_string() })
}

fn tensor(proto: TensorProto) -> Result<Term, DataFault> {
    let unreadable = |source| DataFault::Tensor { source: Box::new(source) };
    let data = TensorData::from_proto(proto, "a case's").map_err(unreadable)?;
    if data.elem() == ElemType::String {
        let values = data.strings().map_err(unreadable)?;
        return Ok(Term::Strings(Strings { shape: data.shape().to_vec(), values }));
    }
    Ok(Term::Host(data.to_host().map_err(unreadable)?))
}

fn sequence(proto: SequenceProto) -> Result<Term, DataFault> {
    if !proto.map_values.is_empty() || !proto.sparse_tensor_values.is_empty() {
        return Err(DataFault::Kind { what: "a sequence of maps or sparse tensors" });
    }
    let tensors = proto.tensor_values.into_iter().map(tensor);
    let sequences = proto.sequence_values.into_iter().map(sequence);
    let optionals = proto.optional_values.into_iter().map(optional);
    Ok(Term::Sequence(tensors.chain(sequences).chain(optionals).collect::<Result<_, _>>()?))
}

fn optional(proto: OptionalProto) -> Result<Term, DataFault> {
    if proto.map_value.is_some() || proto.sparse_tensor_value.is_some() || proto.optional_value.is_some() {
        return Err(DataFault::Kind { what: "an optional map, sparse tensor or optional" });
    }
    let item = match (proto.tensor_value, proto.sequence_value) {
        (Some(t), _) => Some(tensor(t)?),
        (None, Some(s)) => Some(sequence(s)?),
        (None, None) => None,
    };
    Ok(Term::Optional(item.map(Box::new)))
}
