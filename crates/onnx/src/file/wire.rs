//! A first look at a file's bytes, before anything is allocated for them.
//!
//! Two bytes of protobuf can announce a message that takes hundreds of bytes
//! in memory. This pass walks the framing only, adds up what the messages will
//! take, and refuses files that no exporter could have written.

use super::allowance::Allowance;
use crate::error::{OnnxError, WireFault};
use crate::proto;

/// Graphs in attributes of graphs: as deep as the decoder's limit of 100
/// nested messages allows, at three messages a graph.
pub(super) const MAX_GRAPH_DEPTH: usize = 32;

const MAX_MESSAGE_DEPTH: usize = 100;

macro_rules! messages {
    ($($kind:ident $message:ty { $($field:pat => $child:ident),* $(,)? })*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        enum Kind { $($kind),* }

        impl Kind {
            /// The message in field `number`, where that is one.
            fn child(self, number: u64) -> Option<Kind> {
                match self {
                    $(Kind::$kind => match number { $($field => Some(Kind::$child),)* _ => None }),*
                }
            }

            fn size(self) -> usize {
                match self { $(Kind::$kind => size_of::<$message>()),* }
            }
        }
    };
}

messages! {
    Model proto::ModelProto {
        7 => Graph, 8 => Opset, 14 => Entry, 20 => Training, 25 => Function, 26 => Device,
    }
    Graph proto::GraphProto {
        1 => Node, 5 => Tensor, 11..=13 => ValueInfo, 14 => Annotation, 15 => Sparse, 16 => Entry,
    }
    Node proto::NodeProto { 5 => Attribute, 9 => Entry, 10 => NodeDevice }
    Attribute proto::AttributeProto {
        5 | 10 => Tensor, 6 | 11 => Graph, 14 | 15 => Type, 22 | 23 => Sparse,
    }
    Tensor proto::TensorProto { 3 => Segment, 13 | 16 => Entry }
    Sparse proto::SparseTensorProto { 1 | 2 => Tensor }
    ValueInfo proto::ValueInfoProto { 2 => Type, 4 => Entry }
    Type proto::TypeProto {
        1 => TensorType, 4 => SequenceType, 5 => MapType, 7 => OpaqueType, 8 => TensorType, 9 => SequenceType,
    }
    TensorType proto::type_proto::Tensor { 2 => Shape }
    SequenceType proto::type_proto::Sequence { 1 => Type }
    MapType proto::type_proto::Map { 2 => Type }
    OpaqueType proto::type_proto::Opaque {}
    Shape proto::TensorShapeProto { 1 => Dim }
    Dim proto::tensor_shape_proto::Dimension {}
    Function proto::FunctionProto {
        7 => Node, 9 => Opset, 11 => Attribute, 12 => ValueInfo, 14 => Entry,
    }
    Opset proto::OperatorSetIdProto {}
    Entry proto::StringStringEntryProto {}
    Segment proto::tensor_proto::Segment {}
    Annotation proto::TensorAnnotation { 2 => Entry }
    Training proto::TrainingInfoProto { 1 | 2 => Graph, 3 | 4 => Entry }
    Device proto::DeviceConfigurationProto {}
    NodeDevice proto::NodeDeviceConfigurationProto { 2 => Sharding }
    Sharding proto::ShardingSpecProto { 3 => DeviceGroup, 4 => ShardedDim }
    DeviceGroup proto::IntIntListEntryProto {}
    ShardedDim proto::ShardedDimProto { 2 => SimpleSharding }
    SimpleSharding proto::SimpleShardedDimProto {}
}

/// Refuses bytes that are not framed as a model, nest too deep, or would take
/// far more memory than they are.
pub(super) fn check(bytes: &[u8], allowance: &mut Allowance) -> Result<(), OnnxError> {
    Walk { bytes, allowance }.message(Kind::Model, 0, bytes.len(), 0, 0)
}

struct Walk<'a> {
    bytes: &'a [u8],
    allowance: &'a mut Allowance,
}

impl Walk<'_> {
    fn message(
        &mut self,
        kind: Kind,
        start: usize,
        end: usize,
        depth: usize,
        graphs: usize,
    ) -> Result<(), OnnxError> {
        let graphs = graphs + usize::from(kind == Kind::Graph);
        if graphs > MAX_GRAPH_DEPTH || depth > MAX_MESSAGE_DEPTH {
            return Err(OnnxError::TooDeep { limit: MAX_GRAPH_DEPTH });
        }
        // Lists grow by doubling, so a message may take its size twice.
        self.allowance.take(2 * kind.size())?;
        let mut at = start;
        while at < end {
            let key_at = at;
            let key = self.number(&mut at, end)?;
            let number = key >> 3;
            if number == 0 || key > u64::from(u32::MAX) {
                return fault(key_at, WireFault::FieldNumber);
            }
            let skipped = match key & 7 {
                0 => {
                    self.number(&mut at, end)?;
                    0
                }
                1 => 8,
                2 => self.number(&mut at, end)?,
                5 => 4,
                other => return fault(key_at, WireFault::WireType(other as u8)),
            };
            if skipped > (end - at) as u64 {
                return fault(key_at, WireFault::Truncated);
            }
            let next = at + skipped as usize;
            if let (2, Some(child)) = (key & 7, kind.child(number)) {
                self.message(child, at, next, depth + 1, graphs)?;
            }
            at = next;
        }
        Ok(())
    }

    fn number(&self, at: &mut usize, end: usize) -> Result<u64, OnnxError> {
        let start = *at;
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            if *at >= end {
                return fault(start, WireFault::Truncated);
            }
            let byte = self.bytes[*at];
            *at += 1;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        fault(start, WireFault::LongNumber)
    }
}

fn fault<T>(offset: usize, fault: WireFault) -> Result<T, OnnxError> {
    Err(OnnxError::Malformed { offset, fault })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_message_is_small_in_memory() {
        assert!(size_of::<proto::AttributeProto>() <= 400);
        assert!(size_of::<proto::NodeProto>() <= 400);
        assert!(size_of::<proto::TensorProto>() <= 400);
    }
}
