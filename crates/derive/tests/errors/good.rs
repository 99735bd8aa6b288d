//! What is as it should be: nothing is said.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::time::Duration;

use oneir::{Array, Tree};

#[derive(Clone, Tree)]
pub struct Layer<T, const N: usize = 2> {
    pub weights: [T; N],
    #[tree(plain)]
    pub every: Duration,
    #[tree(frozen)]
    pub table: BTreeMap<String, Array>,
    pub kind: PhantomData<T>,
}

pub fn gradient(layer: &Layer<Array>) -> Layer<Array> {
    oneir::grad(|layer: &Layer<Array>| layer.weights[0].sum(.., false))(layer)
}
