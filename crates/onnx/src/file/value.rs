use std::fmt;
use std::sync::Arc;

use super::ElemType;
use super::opsets::domain;
use crate::error::{OnnxError, Place, TypeFault};
use crate::proto::tensor_shape_proto::dimension::Value as DimValue;
use crate::proto::type_proto::Value;
use crate::proto::{TensorShapeProto, TypeProto, ValueInfoProto};

/// A value's name and declared type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueInfo {
    /// The name.
    pub name: String,
    /// What the file says of its type.
    pub ty: ValueType,
}

/// The declared type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueType {
    /// The file does not say.
    Unknown,
    /// A tensor.
    Tensor(TensorType),
    /// A tensor stored sparsely.
    SparseTensor(TensorType),
    /// A list of values of one type.
    Sequence(Box<ValueType>),
    /// A value, or none.
    Optional(Box<ValueType>),
    /// A map from integers or strings.
    Map {
        /// Type of the keys.
        key: ElemType,
        /// Type of the values.
        value: Box<ValueType>,
    },
    /// A type of some other domain.
    Opaque {
        /// The domain.
        domain: String,
        /// The type's name there.
        name: String,
    },
}

/// Element type and shape of a tensor, as far as declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorType {
    /// Element type; [`ElemType::Undefined`] where the file does not say.
    pub elem: ElemType,
    /// Sizes; `None` where not even the rank is declared.
    pub dims: Option<Vec<Dim>>,
}

/// A declared dimension.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Dim {
    /// A size.
    Known(usize),
    /// A name. The same name does not promise the same size.
    Symbol(String),
    /// Nothing.
    Unknown,
}

impl ValueInfo {
    pub(super) fn read(proto: ValueInfoProto, place: fn(String) -> Place) -> Result<Self, OnnxError> {
        let name = proto.name.unwrap_or_default();
        let ty = match proto.r#type {
            Some(ty) => ValueType::read(ty)
                .map_err(|fault| OnnxError::BadType { place: Arc::new(place(name.clone())), fault })?,
            None => ValueType::Unknown,
        };
        Ok(ValueInfo { name, ty })
    }
}

impl ValueType {
    /// The tensor type, where this is one.
    pub fn tensor(&self) -> Option<&TensorType> {
        match self {
            ValueType::Tensor(t) => Some(t),
            _ => None,
        }
    }

    pub(super) fn read(proto: TypeProto) -> Result<Self, TypeFault> {
        let boxed = |inner: Option<Box<TypeProto>>| match inner {
            Some(ty) => ValueType::read(*ty).map(Box::new),
            None => Ok(Box::new(ValueType::Unknown)),
        };
        Ok(match proto.value {
            None => ValueType::Unknown,
            Some(Value::TensorType(t)) => ValueType::Tensor(TensorType::read(t.elem_type, t.shape)?),
            Some(Value::SparseTensorType(t)) => {
                ValueType::SparseTensor(TensorType::read(t.elem_type, t.shape)?)
            }
            Some(Value::SequenceType(s)) => ValueType::Sequence(boxed(s.elem_type)?),
            Some(Value::OptionalType(o)) => ValueType::Optional(boxed(o.elem_type)?),
            Some(Value::MapType(m)) => ValueType::Map { key: elem(m.key_type)?, value: boxed(m.value_type)? },
            Some(Value::OpaqueType(o)) => {
                ValueType::Opaque { domain: domain(o.domain), name: o.name.unwrap_or_default() }
            }
        })
    }
}

impl TensorType {
    fn read(code: Option<i32>, shape: Option<TensorShapeProto>) -> Result<Self, TypeFault> {
        let dims = shape.map(|s| s.dim.into_iter().map(|d| Dim::read(d.value)).collect()).transpose()?;
        Ok(TensorType { elem: elem(code)?, dims })
    }
}

impl Dim {
    fn read(value: Option<DimValue>) -> Result<Self, TypeFault> {
        Ok(match value {
            Some(DimValue::DimValue(-1)) | None => Dim::Unknown,
            Some(DimValue::DimValue(size)) => {
                Dim::Known(usize::try_from(size).map_err(|_| TypeFault::NegativeDim { size })?)
            }
            Some(DimValue::DimParam(name)) if name.is_empty() => Dim::Unknown,
            Some(DimValue::DimParam(name)) => Dim::Symbol(name),
        })
    }
}

fn elem(code: Option<i32>) -> Result<ElemType, TypeFault> {
    let code = code.unwrap_or(0);
    ElemType::from_code(code).ok_or(TypeFault::UnknownElem { code })
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueType::Unknown => f.write_str("?"),
            ValueType::Tensor(t) => t.fmt(f),
            ValueType::SparseTensor(t) => write!(f, "sparse({t})"),
            ValueType::Sequence(of) => write!(f, "sequence({of})"),
            ValueType::Optional(of) => write!(f, "optional({of})"),
            ValueType::Map { key, value } => write!(f, "map({key}, {value})"),
            ValueType::Opaque { domain, name } => write!(f, "opaque({domain}, {name})"),
        }
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.elem.fmt(f)?;
        let Some(dims) = &self.dims else { return f.write_str("[..]") };
        f.write_str("[")?;
        for (i, dim) in dims.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            dim.fmt(f)?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Known(size) => size.fmt(f),
            Dim::Symbol(name) => f.write_str(name),
            Dim::Unknown => f.write_str("?"),
        }
    }
}
