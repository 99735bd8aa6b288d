use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use super::graph::Reader;
use super::sparse::Sparse;
use super::{Graph, TensorData, ValueType};
use crate::error::{OnnxError, Place};
use crate::proto::AttributeProto;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $code:literal $name:literal $value:ty;)*) => {
        /// What an attribute holds.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum AttributeKind {
            /// Nothing: the file gives neither kind nor value.
            Undefined,
            /// A parameter of the enclosing function, not bound yet.
            Reference,
            $($(#[$doc])* $kind),*
        }

        impl AttributeKind {
            /// The name in errors.
            pub const fn name(self) -> &'static str {
                match self {
                    AttributeKind::Undefined => "nothing",
                    AttributeKind::Reference => "a function parameter",
                    $(AttributeKind::$kind => $name),*
                }
            }

            fn from_code(code: i32) -> Option<Self> {
                match code {
                    0 => Some(AttributeKind::Undefined),
                    $($code => Some(AttributeKind::$kind),)*
                    _ => None,
                }
            }
        }

        /// The value of an attribute.
        #[derive(Debug, Clone)]
        pub enum AttributeValue {
            /// Nothing: the file gives neither kind nor value.
            Undefined,
            /// The value that a call gives this parameter of the enclosing
            /// function. [`Function::bind`](crate::Function::bind) puts it in.
            Reference(String),
            $($(#[$doc])* $kind($value)),*
        }

        impl AttributeValue {
            /// What it holds.
            pub fn kind(&self) -> AttributeKind {
                match self {
                    AttributeValue::Undefined => AttributeKind::Undefined,
                    AttributeValue::Reference(_) => AttributeKind::Reference,
                    $(AttributeValue::$kind(_) => AttributeKind::$kind),*
                }
            }
        }
    };
}

kinds! {
    /// A single-precision number.
    Float 1 "a float" f32;
    /// A 64-bit integer.
    Int 2 "an int" i64;
    /// A byte string, UTF-8 by convention.
    String 3 "a string" Vec<u8>;
    /// A tensor.
    Tensor 4 "a tensor" TensorData;
    /// A graph.
    Graph 5 "a graph" Arc<Graph>;
    /// A tensor stored sparsely.
    SparseTensor 11 "a sparse tensor" TensorData;
    /// A type.
    Type 13 "a type" ValueType;
    /// Single-precision numbers.
    Floats 6 "floats" Vec<f32>;
    /// 64-bit integers.
    Ints 7 "ints" Vec<i64>;
    /// Byte strings.
    Strings 8 "strings" Vec<Vec<u8>>;
    /// Tensors.
    Tensors 9 "tensors" Vec<TensorData>;
    /// Graphs.
    Graphs 10 "graphs" Vec<Arc<Graph>>;
    /// Tensors stored sparsely.
    SparseTensors 12 "sparse tensors" Vec<TensorData>;
    /// Types.
    Types 14 "types" Vec<ValueType>;
}

impl fmt::Display for AttributeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The attributes of a node, or the defaults of a function's parameters.
///
/// Each kind has three getters: `int` for an attribute that must be there,
/// `int_or` with a default, and `find_int` where absence means something of
/// its own. All refuse an attribute of another kind, by name.
#[derive(Debug, Clone)]
pub struct Attributes {
    place: Arc<Place>,
    list: Vec<(String, AttributeValue)>,
}

macro_rules! getters {
    ($($kind:ident $get:ident $find:ident $(or $get_or:ident)? -> $out:ty, |$v:ident, $s:ident, $n:ident| $read:expr;)*) => {
        // One signature serves values and borrowed values.
        #[allow(clippy::needless_lifetimes)]
        impl Attributes {$(
            #[doc = concat!("The attribute `name`, which must be there, of [`AttributeKind::", stringify!($kind), "`].")]
            pub fn $get<'a>(&'a self, name: &str) -> Result<$out, OnnxError> {
                self.$find(name)?.ok_or_else(|| OnnxError::MissingAttribute {
                    place: self.place.clone(),
                    attribute: name.to_owned(),
                })
            }

            $(
                #[doc = concat!("The attribute `name` of [`AttributeKind::", stringify!($kind), "`], or `default` where it is absent.")]
                pub fn $get_or<'a>(&'a self, name: &str, default: $out) -> Result<$out, OnnxError> {
                    Ok(self.$find(name)?.unwrap_or(default))
                }
            )?

            #[doc = concat!("The attribute `name` of [`AttributeKind::", stringify!($kind), "`], or `None` where it is absent.")]
            pub fn $find<'a>(&'a self, name: &str) -> Result<Option<$out>, OnnxError> {
                let ($s, $n) = (self, name);
                match self.get(name) {
                    None => Ok(None),
                    Some(AttributeValue::$kind($v)) => Ok(Some($read)),
                    Some(other) => Err(OnnxError::WrongAttribute {
                        place: self.place.clone(),
                        attribute: name.to_owned(),
                        expected: AttributeKind::$kind,
                        found: other.kind(),
                    }),
                }
            }
        )*}
    };
}

getters! {
    Int int find_int or int_or -> i64, |v, _s, _n| *v;
    Float float find_float or float_or -> f32, |v, _s, _n| *v;
    String string find_string or string_or -> &'a str, |v, s, n| s.utf8(n, v)?;
    String bytes find_bytes or bytes_or -> &'a [u8], |v, _s, _n| v;
    Ints ints find_ints or ints_or -> &'a [i64], |v, _s, _n| v;
    Floats floats find_floats or floats_or -> &'a [f32], |v, _s, _n| v;
    Strings strings find_strings or strings_or -> Vec<&'a str>,
        |v, s, n| v.iter().map(|x| s.utf8(n, x)).collect::<Result<_, _>>()?;
    Strings byte_strings find_byte_strings or byte_strings_or -> &'a [Vec<u8>], |v, _s, _n| v;
    Tensor tensor find_tensor -> &'a TensorData, |v, _s, _n| v;
    Tensors tensors find_tensors -> &'a [TensorData], |v, _s, _n| v;
    SparseTensor sparse_tensor find_sparse_tensor -> &'a TensorData, |v, _s, _n| v;
    SparseTensors sparse_tensors find_sparse_tensors -> &'a [TensorData], |v, _s, _n| v;
    Graph graph find_graph -> &'a Arc<Graph>, |v, _s, _n| v;
    Graphs graphs find_graphs -> &'a [Arc<Graph>], |v, _s, _n| v;
    Type value_type find_value_type -> &'a ValueType, |v, _s, _n| v;
    Types value_types find_value_types -> &'a [ValueType], |v, _s, _n| v;
}

impl Attributes {
    /// What has these attributes.
    pub fn place(&self) -> &Arc<Place> {
        &self.place
    }

    /// The value of attribute `name`, of whatever kind.
    pub fn get(&self, name: &str) -> Option<&AttributeValue> {
        self.list.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// Whether attribute `name` is there.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Names and values in the file's order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &AttributeValue)> {
        self.list.iter().map(|(n, v)| (n.as_str(), v))
    }

    /// The graphs in these attributes, in the file's order.
    pub fn all_graphs(&self) -> impl Iterator<Item = &Arc<Graph>> {
        self.list.iter().flat_map(|(_, v)| match v {
            AttributeValue::Graph(g) => std::slice::from_ref(g),
            AttributeValue::Graphs(g) => g.as_slice(),
            _ => &[],
        })
    }

    pub(super) fn read(
        protos: Vec<AttributeProto>,
        place: &Arc<Place>,
        reader: &mut Reader<'_>,
    ) -> Result<Self, OnnxError> {
        let mut list = Vec::with_capacity(protos.len());
        let mut seen = HashSet::with_capacity(protos.len());
        for mut proto in protos {
            let name = proto.name.take().unwrap_or_default();
            if !seen.insert(name.clone()) {
                return Err(OnnxError::DuplicateAttribute { place: place.clone(), attribute: name });
            }
            let value = read_value(proto, &name, place, reader)?;
            list.push((name, value));
        }
        Ok(Attributes { place: place.clone(), list })
    }

    /// These with each reference replaced by the value that `call` gives the
    /// parameter, or its default. A reference to a parameter that has neither
    /// is left out.
    pub(super) fn bind(&self, call: &Attributes, defaults: &Attributes) -> Attributes {
        let bind_graph = |graph: &Arc<Graph>| Graph::bind(graph, call, defaults);
        let mut list = Vec::with_capacity(self.list.len());
        for (name, value) in &self.list {
            let value = match value {
                AttributeValue::Reference(parameter) => {
                    match call.get(parameter).or_else(|| defaults.get(parameter)) {
                        Some(value) => value.clone(),
                        None => continue,
                    }
                }
                AttributeValue::Graph(g) => AttributeValue::Graph(bind_graph(g)),
                AttributeValue::Graphs(g) => AttributeValue::Graphs(g.iter().map(bind_graph).collect()),
                other => other.clone(),
            };
            list.push((name.clone(), value));
        }
        Attributes { place: self.place.clone(), list }
    }

    /// Whether an attribute, in whatever graph below, refers to a parameter.
    pub(super) fn has_references(&self) -> bool {
        self.list.iter().any(|(_, v)| matches!(v, AttributeValue::Reference(_)))
            || self.all_graphs().any(|g| g.has_references())
    }

    fn utf8<'a>(&self, name: &str, bytes: &'a [u8]) -> Result<&'a str, OnnxError> {
        std::str::from_utf8(bytes)
            .map_err(|_| OnnxError::NotUtf8 { place: self.place.clone(), attribute: name.to_owned() })
    }
}

fn read_value(
    proto: AttributeProto,
    name: &str,
    place: &Arc<Place>,
    reader: &mut Reader<'_>,
) -> Result<AttributeValue, OnnxError> {
    let attribute = || name.to_owned();
    if let Some(parameter) = proto.ref_attr_name.filter(|r| !r.is_empty()) {
        return if reader.in_function {
            Ok(AttributeValue::Reference(parameter))
        } else {
            Err(OnnxError::StrayReference { place: place.clone(), attribute: attribute(), parameter })
        };
    }
    let code = proto.r#type.unwrap_or(0);
    let Some(declared) = AttributeKind::from_code(code) else {
        return Err(OnnxError::UnknownAttributeKind { place: place.clone(), attribute: attribute(), code });
    };
    let present = [
        (AttributeKind::Float, proto.f.is_some()),
        (AttributeKind::Int, proto.i.is_some()),
        (AttributeKind::String, proto.s.is_some()),
        (AttributeKind::Tensor, proto.t.is_some()),
        (AttributeKind::Graph, proto.g.is_some()),
        (AttributeKind::SparseTensor, proto.sparse_tensor.is_some()),
        (AttributeKind::Type, proto.tp.is_some()),
        (AttributeKind::Floats, !proto.floats.is_empty()),
        (AttributeKind::Ints, !proto.ints.is_empty()),
        (AttributeKind::Strings, !proto.strings.is_empty()),
        (AttributeKind::Tensors, !proto.tensors.is_empty()),
        (AttributeKind::Graphs, !proto.graphs.is_empty()),
        (AttributeKind::SparseTensors, !proto.sparse_tensors.is_empty()),
        (AttributeKind::Types, !proto.type_protos.is_empty()),
    ];
    let found = present.iter().find(|(_, there)| *there).map(|(kind, _)| *kind);
    // Files of IR version 1 declare no kind.
    let kind = if declared == AttributeKind::Undefined { found.unwrap_or(declared) } else { declared };
    let wrong = |found| {
        Err(OnnxError::WrongAttribute { place: place.clone(), attribute: attribute(), expected: kind, found })
    };
    if let Some(found) = found
        && !present.contains(&(kind, true))
    {
        return wrong(found);
    }

    let tensor_place = || Arc::new(Place::Attribute { of: place.clone(), name: name.to_owned() });
    // A writer that leaves out zeros leaves out the value of an int, float or
    // string, and of every empty list.
    Ok(match kind {
        AttributeKind::Undefined | AttributeKind::Reference => AttributeValue::Undefined,
        AttributeKind::Float => AttributeValue::Float(proto.f.unwrap_or(0.0)),
        AttributeKind::Int => AttributeValue::Int(proto.i.unwrap_or(0)),
        AttributeKind::String => AttributeValue::String(proto.s.unwrap_or_default()),
        AttributeKind::Floats => AttributeValue::Floats(proto.floats),
        AttributeKind::Ints => AttributeValue::Ints(proto.ints),
        AttributeKind::Strings => AttributeValue::Strings(proto.strings),
        AttributeKind::Tensor => match proto.t {
            Some(t) => AttributeValue::Tensor(TensorData::read(*t, tensor_place(), &reader.files)?),
            None => return wrong(AttributeKind::Undefined),
        },
        AttributeKind::Tensors => {
            let read = |t| TensorData::read(t, tensor_place(), &reader.files);
            AttributeValue::Tensors(proto.tensors.into_iter().map(read).collect::<Result<_, _>>()?)
        }
        AttributeKind::SparseTensor => match proto.sparse_tensor {
            Some(t) => AttributeValue::SparseTensor(Sparse::read(
                *t,
                tensor_place(),
                &reader.files,
                &mut reader.allowance,
            )?),
            None => return wrong(AttributeKind::Undefined),
        },
        AttributeKind::SparseTensors => {
            let mut tensors = Vec::with_capacity(proto.sparse_tensors.len());
            for t in proto.sparse_tensors {
                tensors.push(Sparse::read(t, tensor_place(), &reader.files, &mut reader.allowance)?);
            }
            AttributeValue::SparseTensors(tensors)
        }
        AttributeKind::Graph => match proto.g {
            Some(g) => AttributeValue::Graph(Arc::new(Graph::read(*g, reader)?)),
            None => return wrong(AttributeKind::Undefined),
        },
        AttributeKind::Graphs => {
            let mut graphs = Vec::with_capacity(proto.graphs.len());
            for g in proto.graphs {
                graphs.push(Arc::new(Graph::read(g, reader)?));
            }
            AttributeValue::Graphs(graphs)
        }
        AttributeKind::Type => match proto.tp {
            Some(ty) => AttributeValue::Type(
                ValueType::read(*ty).map_err(|fault| OnnxError::BadType { place: tensor_place(), fault })?,
            ),
            None => return wrong(AttributeKind::Undefined),
        },
        AttributeKind::Types => {
            let mut types = Vec::with_capacity(proto.type_protos.len());
            for ty in proto.type_protos {
                types.push(
                    ValueType::read(ty)
                        .map_err(|fault| OnnxError::BadType { place: tensor_place(), fault })?,
                );
            }
            AttributeValue::Types(types)
        }
    })
}
