use oneir_tensor::HostTensor;

/// What a file holds under a name.
#[derive(Debug, Clone, PartialEq)]
pub enum Stored {
    /// A tensor of numbers.
    Tensor(HostTensor),
    /// A tensor of strings.
    Strings(StringTensor),
}

/// A tensor of strings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StringTensor {
    /// Size of each dimension.
    pub shape: Vec<usize>,
    /// The strings in row order: any bytes of a byte string, UTF-8 of a text.
    pub values: Vec<Vec<u8>>,
}
