use std::ops::{Deref, DerefMut};

use oneir_tensor::HostTensor;

/// A text being printed, with or without its large values.
#[derive(Default)]
pub(crate) struct Printer {
    text: String,
    /// The values that stand apart, where some may.
    apart: Option<Vec<HostTensor>>,
}

impl Printer {
    /// A text whose large values stand apart.
    pub(super) fn with_values_apart() -> Self {
        Printer { text: String::new(), apart: Some(Vec::new()) }
    }

    /// Puts a value apart, and gives its place there; `None` where all values
    /// are to be printed.
    pub(super) fn apart(&mut self, value: &HostTensor) -> Option<usize> {
        let apart = self.apart.as_mut()?;
        apart.push(value.clone());
        Some(apart.len() - 1)
    }

    pub(super) fn finish(self) -> (String, Vec<HostTensor>) {
        (self.text, self.apart.unwrap_or_default())
    }
}

impl Deref for Printer {
    type Target = String;

    fn deref(&self) -> &String {
        &self.text
    }
}

impl DerefMut for Printer {
    fn deref_mut(&mut self) -> &mut String {
        &mut self.text
    }
}
