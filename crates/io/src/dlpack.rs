//! Tensors handed to and taken from other libraries in the same process, without
//! a copy: the [DLPack](https://dmlc.github.io/dlpack/latest/) structures.
//!
//! [`export`] makes a `DLManagedTensorVersioned` that the other side frees by
//! calling its deleter; [`import`] takes one over and calls the deleter when the
//! last tensor that reads it is gone. Both are for memory of the CPU.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

use oneir_tensor::{Buffer, DType, HostTensor, Layout, Shape};

/// `DLPackVersion`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// Changes that break the layout.
    pub major: u32,
    /// Changes that do not.
    pub minor: u32,
}

/// `DLDevice`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceId {
    /// 1 is the CPU.
    pub kind: i32,
    /// Which of its kind.
    pub number: i32,
}

/// `DLDataType`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataType {
    /// 0 signed, 1 unsigned, 2 float, 4 bfloat, 5 complex, 6 bool.
    pub code: u8,
    /// Bits of one element.
    pub bits: u8,
    /// Elements that stand together, 1 for us.
    pub lanes: u16,
}

/// `DLTensor`.
#[repr(C)]
#[derive(Debug)]
pub struct Tensor {
    /// Where the memory begins.
    pub data: *mut c_void,
    /// Whose memory it is.
    pub device: DeviceId,
    /// How many dimensions there are.
    pub ndim: i32,
    /// What an element is.
    pub dtype: DataType,
    /// Sizes, `ndim` of them.
    pub shape: *mut i64,
    /// Elements from one place of a dimension to the next; none for row order.
    pub strides: *mut i64,
    /// Bytes from `data` to the first element.
    pub byte_offset: u64,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
#[derive(Debug)]
pub struct ManagedTensor {
    /// The version of the layout.
    pub version: Version,
    /// For the deleter.
    pub manager: *mut c_void,
    /// Frees the tensor.
    pub deleter: Option<unsafe extern "C" fn(*mut ManagedTensor)>,
    /// Bit 0: nobody may write.
    pub flags: u64,
    /// The tensor.
    pub tensor: Tensor,
}

/// The version that is written, and the newest layout that is read.
pub const VERSION: Version = Version { major: 1, minor: 0 };

const CPU: i32 = 1;
const READ_ONLY: u64 = 1;

/// Why a tensor cannot be handed over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// The layout is of a version that is not known here.
    #[error("expected version 1 of DLPack, found {major}")]
    Version {
        /// The version found.
        major: u32,
    },
    /// The memory is not the CPU's.
    #[error("expected memory of the CPU (device type 1), found device type {kind}")]
    Device {
        /// The device type found.
        kind: i32,
    },
    /// No element type of ours is like the one found.
    #[error("no element type has code {code}, {bits} bits and {lanes} lanes")]
    DataType {
        /// The kind of number.
        code: u8,
        /// Bits of one.
        bits: u8,
        /// How many stand together.
        lanes: u16,
    },
    /// DLPack has no name for the element type.
    #[error("elements of type {0} cannot be handed over")]
    Unnamed(DType),
    /// Sizes or strides make no sense.
    #[error("{0}")]
    Layout(String),
}

fn data_type(dtype: DType) -> Option<DataType> {
    use DType::{BF16, Bool, Complex64, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let code = match dtype {
        I8 | I16 | I32 | I64 => 0,
        U8 | U16 | U32 | U64 => 1,
        F16 | F32 | F64 => 2,
        BF16 => 4,
        Complex64 => 5,
        Bool => 6,
        _ => return None,
    };
    Some(DataType { code, bits: dtype.bits() as u8, lanes: 1 })
}

/// What an exported tensor keeps alive.
struct Kept {
    managed: ManagedTensor,
    shape: Vec<i64>,
    strides: Vec<i64>,
    _tensor: HostTensor,
}

/// A tensor for another library, which may read it and frees it by its deleter.
///
/// # Errors
/// When DLPack has no name for the element type.
///
/// ```
/// use oneir_io::dlpack;
/// use oneir_tensor::HostTensor;
/// let x = HostTensor::from_slice(&[2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let handed = dlpack::export(&x.transpose(&[1, 0])?)?;
/// // SAFETY: the tensor was just made, and nobody else has it.
/// let back = unsafe { dlpack::import(handed) }?;
/// assert_eq!(back.to_vec::<f32>()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn export(tensor: &HostTensor) -> Result<NonNull<ManagedTensor>, ExchangeError> {
    let dtype = data_type(tensor.dtype()).ok_or(ExchangeError::Unnamed(tensor.dtype()))?;
    let layout = tensor.layout();
    let start = tensor.buffer().bytes().as_ptr();
    let kept = Box::new(Kept {
        shape: layout.shape.iter().map(|&n| n as i64).collect(),
        strides: layout.strides.iter().map(|&s| s as i64).collect(),
        _tensor: tensor.clone(),
        managed: ManagedTensor {
            version: VERSION,
            manager: std::ptr::null_mut(),
            deleter: Some(free),
            flags: READ_ONLY,
            tensor: Tensor {
                data: start.cast_mut().cast(),
                device: DeviceId { kind: CPU, number: 0 },
                ndim: layout.rank() as i32,
                dtype,
                shape: std::ptr::null_mut(),
                strides: std::ptr::null_mut(),
                byte_offset: (layout.offset * (tensor.dtype().bits() as isize / 8)) as u64,
            },
        },
    });
    let kept = Box::leak(kept);
    kept.managed.tensor.shape = kept.shape.as_mut_ptr();
    kept.managed.tensor.strides = kept.strides.as_mut_ptr();
    kept.managed.manager = std::ptr::from_mut(kept).cast();
    Ok(NonNull::from(&mut kept.managed))
}

/// The deleter of exported tensors.
///
/// # Safety
/// `tensor` is one that [`export`] made, and is freed once.
unsafe extern "C" fn free(tensor: *mut ManagedTensor) {
    // SAFETY: the manager is the box that `export` leaked.
    unsafe { drop(Box::from_raw((*tensor).manager.cast::<Kept>())) }
}

/// Memory that another library gave.
struct Given {
    managed: NonNull<ManagedTensor>,
    start: *const u8,
    len: usize,
}

// SAFETY: DLPack's tensors may be read and freed by any thread; nothing here
// writes.
unsafe impl Send for Given {}
// SAFETY: as above.
unsafe impl Sync for Given {}

impl AsRef<[u8]> for Given {
    fn as_ref(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: `import` checked that the elements span these bytes, and the
        // giver keeps them until the deleter runs.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        // SAFETY: the tensor was taken over and is freed once.
        unsafe { delete(self.managed) }
    }
}

/// # Safety
/// The tensor is owned, and not used again.
unsafe fn delete(managed: NonNull<ManagedTensor>) {
    // SAFETY: as the caller promises.
    unsafe {
        if let Some(deleter) = (*managed.as_ptr()).deleter {
            deleter(managed.as_ptr());
        }
    }
}

/// Takes over a tensor that another library gave, without a copy. It is freed
/// when nothing reads it any more, or at once where it is refused.
///
/// # Errors
/// When the memory is not the CPU's, no element type is like the given one, or
/// sizes and strides make no sense.
///
/// # Safety
/// `managed` is a whole tensor as DLPack describes it, which the caller owns and
/// does not use again; nobody writes its memory while it is read here, and bools
/// in it are 0 or 1.
pub unsafe fn import(managed: NonNull<ManagedTensor>) -> Result<HostTensor, ExchangeError> {
    // SAFETY: as the caller promises; refused tensors are freed here.
    unsafe {
        match describe(&*managed.as_ptr()) {
            Ok((dtype, layout, start, len)) => {
                let owner = Arc::new(Given { managed, start, len });
                HostTensor::new(dtype, layout, Buffer::foreign(owner))
                    .map_err(|e| ExchangeError::Layout(e.to_string()))
            }
            Err(error) => {
                delete(managed);
                Err(error)
            }
        }
    }
}

/// Element type, layout from the lowest byte, that byte, and how many there are.
///
/// # Safety
/// As [`import`].
unsafe fn describe(managed: &ManagedTensor) -> Result<(DType, Layout, *const u8, usize), ExchangeError> {
    let tensor = &managed.tensor;
    if managed.version.major != VERSION.major {
        return Err(ExchangeError::Version { major: managed.version.major });
    }
    if tensor.device.kind != CPU {
        return Err(ExchangeError::Device { kind: tensor.device.kind });
    }
    let DataType { code, bits, lanes } = tensor.dtype;
    let dtype = DType::ALL.iter().copied().find(|&d| data_type(d) == Some(tensor.dtype));
    let dtype = dtype.ok_or(ExchangeError::DataType { code, bits, lanes })?;
    let wrong = |what: &str| ExchangeError::Layout(what.to_string());
    let rank = usize::try_from(tensor.ndim).map_err(|_| wrong("the number of dimensions is negative"))?;
    if rank > 0 && tensor.shape.is_null() {
        return Err(wrong("there are dimensions but no sizes"));
    }
    // SAFETY: there are `ndim` sizes, and as many strides where there are any.
    let (sizes, strides) = unsafe {
        let list = |at: *mut i64| if rank == 0 { &[][..] } else { std::slice::from_raw_parts(at, rank) };
        (list(tensor.shape), (!tensor.strides.is_null()).then(|| list(tensor.strides)))
    };
    let sizes: Vec<usize> = sizes
        .iter()
        .map(|&n| usize::try_from(n).map_err(|_| wrong("a size is negative")))
        .collect::<Result<_, _>>()?;
    let shape = Shape::new(&sizes);
    let count = shape.checked_count(dtype).map_err(|e| ExchangeError::Layout(e.to_string()))?;
    let mut layout = Layout::contiguous(&shape);
    if let Some(strides) = strides {
        layout.strides = strides.iter().map(|&s| s as isize).collect();
    }
    let size = dtype.bits() / 8;
    // The lowest and the highest element, from the first.
    let (mut low, mut high) = (0i128, 0i128);
    for (&n, &stride) in sizes.iter().zip(&layout.strides) {
        let reach = stride as i128 * (n as i128 - 1).max(0);
        (low, high) = (low + reach.min(0), high + reach.max(0));
    }
    let span = if count == 0 { 0 } else { high - low + 1 };
    let len = span.checked_mul(size as i128).and_then(|n| usize::try_from(n).ok());
    let len = len.filter(|&n| n <= isize::MAX as usize).ok_or_else(|| wrong("the strides leave memory"))?;
    if tensor.data.is_null() && len > 0 {
        return Err(wrong("there are elements but no memory"));
    }
    layout.offset = if count == 0 { 0 } else { (-low) as isize };
    let first = (tensor.data as *const u8).wrapping_add(tensor.byte_offset as usize);
    Ok((dtype, layout, first.wrapping_offset(low as isize * size as isize), len))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(handed: NonNull<ManagedTensor>) -> Result<HostTensor, ExchangeError> {
        // SAFETY: `export` made it, and nobody else has it.
        unsafe { import(handed) }
    }

    #[test]
    fn structures_are_laid_out_as_the_header_says() {
        assert_eq!((size_of::<Tensor>(), size_of::<ManagedTensor>()), (48, 80));
        assert_eq!(std::mem::offset_of!(Tensor, dtype), 20);
        assert_eq!(std::mem::offset_of!(Tensor, byte_offset), 40);
        assert_eq!(std::mem::offset_of!(ManagedTensor, flags), 24);
        assert_eq!(std::mem::offset_of!(ManagedTensor, tensor), 32);
    }

    #[test]
    fn views_cross_without_a_copy() {
        let x = HostTensor::from_slice(&[3, 4], &(0..12).collect::<Vec<i32>>()).unwrap();
        for view in [
            x.clone(),
            x.transpose(&[1, 0]).unwrap(),
            x.slice(&[2, 3], &[-1, -2], &[3, 2]).unwrap(),
            x.slice(&[0, 0], &[1, 1], &[0, 4]).unwrap(),
            x.slice(&[1, 0], &[1, 1], &[1, 1]).unwrap().broadcast(&[2, 5]).unwrap(),
            HostTensor::scalar(true),
        ] {
            let back = take(export(&view).unwrap()).unwrap();
            assert_eq!(back, view);
            assert_eq!(back.shape(), view.shape());
        }
        let back = take(export(&x).unwrap()).unwrap();
        assert!(back.buffer().same_memory(x.buffer()));
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_freed() {
        let x = HostTensor::from_slice(&[2], &[1u8, 2]).unwrap();
        let change = |f: fn(&mut ManagedTensor)| {
            let mut handed = export(&x).unwrap();
            // SAFETY: nobody else has it.
            f(unsafe { handed.as_mut() });
            take(handed).unwrap_err().to_string()
        };
        assert!(change(|t| t.version.major = 9).contains("found 9"));
        assert!(change(|t| t.tensor.device.kind = 2).contains("device type 2"));
        assert!(change(|t| t.tensor.dtype.bits = 7).contains("7 bits"));
        assert!(change(|t| t.tensor.ndim = -1).contains("negative"));
        assert!(change(|t| t.tensor.data = std::ptr::null_mut()).contains("no memory"));
        assert!(change(|t| t.tensor.shape = std::ptr::null_mut()).contains("no sizes"));
    }
}
