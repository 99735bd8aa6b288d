use crate::attr::choices;
use crate::{Invalid, UnaryOp, Value};

choices! {
    /// An element-wise function applied to a product.
    Activation, "an activation" {
        /// The value itself.
        None "none",
        /// max(x, 0).
        Relu "relu",
        /// The hyperbolic tangent.
        Tanh "tanh",
        /// 1 / (1 + e^-x).
        Sigmoid "sigmoid",
    }
}

impl Activation {
    /// The function in ordinary primitives.
    pub fn apply(self, x: &Value) -> Result<Value, Invalid> {
        match self {
            Activation::None => Ok(x.clone()),
            Activation::Relu => x.binary(crate::BinaryOp::Maximum, &x.filled_like(0.0)?),
            Activation::Tanh => x.unary(UnaryOp::Tanh),
            Activation::Sigmoid => x.unary(UnaryOp::Sigmoid),
        }
    }
}
