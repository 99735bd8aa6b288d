use std::sync::Arc;

use oneir_tensor::{Buffer, DType, HostTensor, TensorError};

use super::allowance::Allowance;
use super::external::ExternalFiles;
use super::tensor::checked_shape;
use super::{ElemType, TensorData};
use crate::error::{OnnxError, Place, SparseFault, TensorFault};
use crate::proto::SparseTensorProto;

/// The elements of a tensor that are not zero, and their places.
pub(super) struct Sparse {
    values: TensorData,
    indices: TensorData,
}

impl Sparse {
    pub(super) fn read(
        proto: SparseTensorProto,
        place: Arc<Place>,
        files: &Arc<ExternalFiles>,
        allowance: &mut Allowance,
    ) -> Result<TensorData, OnnxError> {
        let refused = |fault| OnnxError::Tensor { place: place.clone(), fault };
        let (Some(values), Some(indices)) = (proto.values, proto.indices) else {
            return Err(refused(TensorFault::Absent));
        };
        let values = TensorData::read(values, place.clone(), files)?;
        let indices = TensorData::read(indices, place.clone(), files)?;
        let sparse = Sparse { values, indices };
        let shape = checked_shape(&proto.dims, sparse.elem()).map_err(refused)?;
        sparse.check(&shape, allowance).map_err(|fault| refused(TensorFault::Sparse(fault)))?;
        Ok(TensorData::from_sparse(place, shape, sparse))
    }

    pub(super) fn elem(&self) -> ElemType {
        self.values.elem()
    }

    fn check(&self, shape: &[usize], allowance: &mut Allowance) -> Result<(), SparseFault> {
        let &[count] = self.values.shape() else {
            return Err(SparseFault::ValuesShape { shape: self.values.shape().to_vec() });
        };
        if self.indices.elem() != ElemType::Int64 {
            return Err(SparseFault::IndicesElem { elem: self.indices.elem() });
        }
        let found = self.indices.shape();
        if found != [count] && found != [count, shape.len()] {
            return Err(SparseFault::IndicesShape { shape: found.to_vec(), count, rank: shape.len() });
        }
        let dense: usize = shape.iter().product();
        allowance.take_dense(match self.elem() {
            ElemType::String => dense.saturating_mul(size_of::<Vec<u8>>()),
            elem => elem.bytes_for(dense).unwrap_or(usize::MAX),
        })
    }

    /// The places of the values in row order of the dense tensor, ascending.
    fn places(&self, shape: &[usize]) -> Result<Vec<usize>, TensorFault> {
        let indices = self.indices.host()?.to_vec::<i64>().map_err(TensorFault::Host)?;
        let dense: usize = shape.iter().product();
        let (sizes, width) = match self.indices.shape() {
            [_] => (&[dense][..], 1),
            _ => (shape, shape.len()),
        };
        let mut places = Vec::with_capacity(self.values.count());
        for at in 0..self.values.count() {
            let mut place = 0;
            for (&index, &size) in indices[at * width..].iter().zip(sizes) {
                match usize::try_from(index) {
                    Ok(i) if i < size => place = place * size + i,
                    _ => {
                        let fault = SparseFault::OutOfRange { at, index, shape: shape.to_vec() };
                        return Err(TensorFault::Sparse(fault));
                    }
                }
            }
            if places.last().is_some_and(|&last| place <= last) {
                return Err(TensorFault::Sparse(SparseFault::NotAscending { at }));
            }
            places.push(place);
        }
        Ok(places)
    }

    pub(super) fn densify(&self, dtype: DType, shape: &[usize]) -> Result<HostTensor, TensorFault> {
        let values = self.values.host()?;
        let values = values.bytes();
        let dense = dtype.bytes_for(shape.iter().product()).unwrap_or(usize::MAX);
        let mut bytes = zeroed::<u8>(dense)?;
        for (from, to) in self.places(shape)?.into_iter().enumerate() {
            match dtype.size() {
                Some(size) => {
                    bytes[to * size..][..size].copy_from_slice(&values[from * size..][..size]);
                }
                None => {
                    let bits = dtype.bits();
                    let per_byte = 8 / bits;
                    let code = (values[from / per_byte] >> (from % per_byte * bits)) & ((1 << bits) - 1);
                    bytes[to / per_byte] |= code << (to % per_byte * bits);
                }
            }
        }
        HostTensor::from_buffer(dtype, shape, Buffer::foreign(Arc::new(bytes))).map_err(TensorFault::Host)
    }

    pub(super) fn densify_strings(&self, shape: &[usize]) -> Result<Vec<Vec<u8>>, TensorFault> {
        let mut strings = zeroed::<Vec<u8>>(shape.iter().product())?;
        for (value, place) in self.values.byte_strings()?.into_iter().zip(self.places(shape)?) {
            strings[place] = value;
        }
        Ok(strings)
    }
}

fn zeroed<T: Default + Clone>(count: usize) -> Result<Vec<T>, TensorFault> {
    let mut items = Vec::new();
    items.try_reserve_exact(count).map_err(|_| {
        TensorFault::Host(TensorError::OutOfMemory { bytes: count.saturating_mul(size_of::<T>()) })
    })?;
    items.resize(count, T::default());
    Ok(items)
}
