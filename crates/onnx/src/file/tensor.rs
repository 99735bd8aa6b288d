use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use oneir_tensor::{Buffer, DType, HostTensor, TensorError};

use super::ElemType;
use super::external::{ExternalData, ExternalFiles};
use super::sparse::Sparse;
use crate::error::{OnnxError, Place, TensorFault};
use crate::proto::TensorProto;
use crate::proto::tensor_proto::DataLocation;

/// A tensor that a model's file holds, or that lies in a file beside it.
///
/// Shape and element type are known and checked against the size of the data;
/// the data itself is read by [`TensorData::to_host`] and
/// [`TensorData::strings`]. Clones share it.
#[derive(Clone)]
pub struct TensorData {
    place: Arc<Place>,
    elem: ElemType,
    shape: Vec<usize>,
    source: Source,
}

#[derive(Clone)]
enum Source {
    Raw(Bytes),
    F32(Arc<Vec<f32>>),
    F64(Arc<Vec<f64>>),
    I32(Arc<Vec<i32>>),
    I64(Arc<Vec<i64>>),
    U64(Arc<Vec<u64>>),
    Strings(Arc<Vec<Vec<u8>>>),
    External(ExternalData),
    Sparse(Arc<Sparse>),
}

impl TensorData {
    /// What errors call this tensor.
    pub fn place(&self) -> &Arc<Place> {
        &self.place
    }

    /// Element type.
    pub fn elem(&self) -> ElemType {
        self.elem
    }

    /// Element type of the host tensor.
    ///
    /// # Errors
    /// When no host tensor can hold the elements: strings, complex128, float6.
    pub fn dtype(&self) -> Result<DType, OnnxError> {
        self.host_dtype().map_err(|fault| self.error(fault))
    }

    /// Size of each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of elements.
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the data lies in a file of its own.
    pub fn is_external(&self) -> bool {
        matches!(self.source, Source::External(_))
    }

    /// Whether only the elements that are not zero are stored.
    pub fn is_sparse(&self) -> bool {
        matches!(self.source, Source::Sparse(_))
    }

    /// The data as a host tensor: a view of the file where it stores the
    /// elements as they are, else a copy. A sparse tensor becomes dense.
    ///
    /// # Errors
    /// When [`TensorData::dtype`] is one, when external data cannot be mapped,
    /// when a bool is neither 0 nor 1, when sparse indices are out of order or
    /// range, when memory runs out.
    pub fn to_host(&self) -> Result<HostTensor, OnnxError> {
        self.host().map_err(|fault| self.error(fault))
    }

    /// The elements of a tensor of strings, in row order.
    ///
    /// # Errors
    /// When the elements are not strings; as [`TensorData::to_host`] for
    /// sparse tensors.
    pub fn strings(&self) -> Result<Vec<Vec<u8>>, OnnxError> {
        self.byte_strings().map_err(|fault| self.error(fault))
    }

    /// A tensor that no model holds; errors call it the value `name`.
    ///
    /// # Errors
    /// When the data does not fill the shape. External data is refused when
    /// it is read.
    pub fn from_proto(proto: TensorProto, name: impl Into<String>) -> Result<Self, OnnxError> {
        let place = Arc::new(Place::Value { name: name.into() });
        Self::read(proto, place, &ExternalFiles::new(None))
    }

    pub(super) fn read(
        proto: TensorProto,
        place: Arc<Place>,
        files: &Arc<ExternalFiles>,
    ) -> Result<Self, OnnxError> {
        match Self::parts(proto, files) {
            Ok((elem, shape, source)) => Ok(TensorData { place, elem, shape, source }),
            Err(fault) => Err(OnnxError::Tensor { place, fault }),
        }
    }

    pub(super) fn from_sparse(place: Arc<Place>, shape: Vec<usize>, sparse: Sparse) -> Self {
        TensorData { place, elem: sparse.elem(), shape, source: Source::Sparse(Arc::new(sparse)) }
    }

    fn parts(
        proto: TensorProto,
        files: &Arc<ExternalFiles>,
    ) -> Result<(ElemType, Vec<usize>, Source), TensorFault> {
        let code = proto.data_type.unwrap_or(0);
        let elem = match ElemType::from_code(code) {
            None | Some(ElemType::Undefined) => return Err(TensorFault::UnknownElem { code }),
            Some(elem) => elem,
        };
        let shape = checked_shape(&proto.dims, elem)?;
        if proto.segment.is_some() {
            return Err(TensorFault::Segmented);
        }
        let count: usize = shape.iter().product();
        let location = proto.data_location.unwrap_or(0);
        match DataLocation::try_from(location) {
            Ok(DataLocation::Default) => {}
            Ok(DataLocation::External) => {
                if elem == ElemType::String {
                    return Err(TensorFault::UnsupportedElem { elem });
                }
                let data = ExternalData::read(proto.external_data, files)
                    .map_err(|(location, fault)| TensorFault::External { location, fault })?;
                if let Some(found) = data.length {
                    expect(&shape, elem, "bytes", elem.bytes_for(count), found)?;
                }
                return Ok((elem, shape, Source::External(data)));
            }
            Err(_) => return Err(TensorFault::UnknownLocation { code: location }),
        }
        if let Some(raw) = proto.raw_data.filter(|raw| !raw.is_empty() && elem != ElemType::String) {
            expect(&shape, elem, "bytes", elem.bytes_for(count), raw.len())?;
            return Ok((elem, shape, Source::Raw(raw)));
        }
        let pairs = count.checked_mul(2);
        let (unit, expected, found, source) = match elem {
            ElemType::String => {
                let data = proto.string_data;
                ("string_data entries", Some(count), data.len(), Source::Strings(Arc::new(data)))
            }
            ElemType::Float | ElemType::Complex64 => {
                let data = proto.float_data;
                let expected = if elem == ElemType::Float { Some(count) } else { pairs };
                ("float_data entries", expected, data.len(), Source::F32(Arc::new(data)))
            }
            ElemType::Double | ElemType::Complex128 => {
                let data = proto.double_data;
                let expected = if elem == ElemType::Double { Some(count) } else { pairs };
                ("double_data entries", expected, data.len(), Source::F64(Arc::new(data)))
            }
            ElemType::Int64 => {
                let data = proto.int64_data;
                ("int64_data entries", Some(count), data.len(), Source::I64(Arc::new(data)))
            }
            ElemType::Uint32 | ElemType::Uint64 => {
                let data = proto.uint64_data;
                ("uint64_data entries", Some(count), data.len(), Source::U64(Arc::new(data)))
            }
            _ => {
                let data = proto.int32_data;
                let expected = if matches!(elem.bits(), 2 | 4) { elem.bytes_for(count) } else { Some(count) };
                ("int32_data entries", expected, data.len(), Source::I32(Arc::new(data)))
            }
        };
        expect(&shape, elem, unit, expected, found)?;
        Ok((elem, shape, source))
    }

    fn error(&self, fault: TensorFault) -> OnnxError {
        OnnxError::Tensor { place: self.place.clone(), fault }
    }

    fn host_dtype(&self) -> Result<DType, TensorFault> {
        match self.elem {
            ElemType::String => Err(TensorFault::Strings),
            elem => elem.dtype().ok_or(TensorFault::UnsupportedElem { elem }),
        }
    }

    pub(super) fn host(&self) -> Result<HostTensor, TensorFault> {
        let dtype = self.host_dtype()?;
        let shape = self.shape.as_slice();
        if self.count() == 0 && !self.is_sparse() {
            return HostTensor::zeros(dtype, shape).map_err(TensorFault::Host);
        }
        let host = match &self.source {
            Source::Raw(bytes) => return view(dtype, shape, bytes.clone()),
            Source::External(data) => {
                let length = dtype.bytes_for(self.count()).unwrap_or(usize::MAX);
                let bytes = data
                    .bytes(length)
                    .map_err(|fault| TensorFault::External { location: data.location.clone(), fault })?;
                return view(dtype, shape, bytes);
            }
            Source::Sparse(sparse) => return sparse.densify(dtype, shape),
            Source::F32(data) if dtype == DType::F32 => HostTensor::from_slice(shape, data),
            Source::F32(data) => of_bytes(dtype, shape, data.iter().map(|x| x.to_le_bytes())),
            Source::F64(data) => HostTensor::from_slice(shape, data),
            Source::I64(data) => HostTensor::from_slice(shape, data),
            Source::U64(data) if dtype == DType::U64 => HostTensor::from_slice(shape, data),
            Source::U64(data) => of_bytes(dtype, shape, data.iter().map(|&x| (x as u32).to_le_bytes())),
            Source::I32(data) => match dtype.bits() {
                32 => HostTensor::from_slice(shape, data),
                16 => of_bytes(dtype, shape, data.iter().map(|&x| (x as u16).to_le_bytes())),
                _ if dtype == DType::Bool => of_bytes(dtype, shape, data.iter().map(|&x| [u8::from(x != 0)])),
                _ => of_bytes(dtype, shape, data.iter().map(|&x| [x as u8])),
            },
            Source::Strings(_) => return Err(TensorFault::Strings),
        };
        host.map_err(TensorFault::Host)
    }

    pub(super) fn byte_strings(&self) -> Result<Vec<Vec<u8>>, TensorFault> {
        match &self.source {
            Source::Strings(data) => Ok(data.to_vec()),
            Source::Sparse(sparse) if self.elem == ElemType::String => sparse.densify_strings(&self.shape),
            _ => Err(TensorFault::NotStrings { elem: self.elem }),
        }
    }
}

/// `dims` as sizes, when elements of `elem` in that shape can be addressed
/// (whatever the sizes beside a 0).
pub(super) fn checked_shape(dims: &[i64], elem: ElemType) -> Result<Vec<usize>, TensorFault> {
    let mut extent = 1usize;
    let mut shape = Vec::with_capacity(dims.len());
    for &dim in dims {
        let size = usize::try_from(dim).map_err(|_| TensorFault::NegativeDim { dims: dims.to_vec() })?;
        extent =
            extent.checked_mul(size.max(1)).ok_or_else(|| TensorFault::TooLarge { dims: dims.to_vec() })?;
        shape.push(size);
    }
    elem.bytes_for(extent).ok_or_else(|| TensorFault::TooLarge { dims: dims.to_vec() })?;
    Ok(shape)
}

fn expect(
    shape: &[usize],
    elem: ElemType,
    unit: &'static str,
    expected: Option<usize>,
    found: usize,
) -> Result<(), TensorFault> {
    match expected {
        Some(expected) if expected == found => Ok(()),
        expected => Err(TensorFault::WrongLength {
            shape: shape.to_vec(),
            elem,
            unit,
            expected: expected.unwrap_or(usize::MAX),
            found,
        }),
    }
}

fn view(dtype: DType, shape: &[usize], bytes: Bytes) -> Result<HostTensor, TensorFault> {
    if dtype == DType::Bool
        && let Some(index) = bytes.iter().position(|&b| b > 1)
    {
        return Err(TensorFault::Host(TensorError::NotABool { value: bytes[index], index }));
    }
    HostTensor::from_buffer(dtype, shape, Buffer::foreign(Arc::new(bytes))).map_err(TensorFault::Host)
}

fn of_bytes<const N: usize>(
    dtype: DType,
    shape: &[usize],
    elements: impl Iterator<Item = [u8; N]>,
) -> Result<HostTensor, TensorError> {
    let bytes: Vec<u8> = elements.flatten().collect();
    HostTensor::from_buffer(dtype, shape, Buffer::foreign(Arc::new(bytes)))
}

impl fmt::Debug for TensorData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TensorData({} {:?})", self.elem, self.shape)
    }
}
