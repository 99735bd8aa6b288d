use std::time::Duration;

use oneir::{Array, Tree, grad};

#[derive(Clone, Tree)]
struct Pair<T, U> {
    first: T,
    #[tree(plain)]
    second: U,
}

pub fn gradient(pair: &Pair<Duration, u8>) -> Pair<Duration, u8> {
    grad(|_: &Pair<Duration, u8>| Array::from(1f32))(pair)
}

pub fn other(pair: &Pair<Array, f32>) -> Pair<Array, f32> {
    grad(|pair: &Pair<Array, f32>| pair.first.clone())(pair)
}
