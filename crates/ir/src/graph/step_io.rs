use super::TensorId;

/// What a step reads and writes across steps.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StepIo {
    /// The token (or a chunk's tokens) that the step reads; the next token of
    /// sequence b is written to item b.
    pub token: TensorId,
    /// The first sequence's position.
    pub position: TensorId,
    /// The first sequence's logits.
    pub logits: TensorId,
    /// The first sequence's next token.
    pub next: TensorId,
    /// A batch's other sequences.
    pub more: Vec<SeqIo>,
}

impl StepIo {
    /// Every tensor that is named.
    pub fn tensors(&self) -> Vec<TensorId> {
        let first = [self.token, self.position, self.logits, self.next];
        first.into_iter().chain(self.more.iter().flat_map(|s| [s.position, s.logits, s.next])).collect()
    }
}

/// A batch's sequence past its first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SeqIo {
    /// The position it reads.
    pub position: TensorId,
    /// The logits it computes.
    pub logits: TensorId,
    /// The next token it picks.
    pub next: TensorId,
}

/// How an activation is quantized for the products that read it: blocks of 32
/// values that share one scale, as int8 words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QuantFormat {
    /// One word a value.
    Word,
    /// A high and a low word a value.
    HighLow,
}

impl QuantFormat {
    /// Values that share one scale.
    pub const BLOCK: usize = 32;
}
