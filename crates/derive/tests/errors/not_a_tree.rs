use std::rc::Rc;
use std::time::Duration;

use oneir::{Array, Tree};

#[derive(Clone, Tree)]
struct Layer {
    weight: Array,
    every: Duration,
    hooks: Vec<Rc<u8>>,
}

#[derive(Clone, Tree)]
enum Choice {
    Weight(Array),
    Named { #[tree(frozen)] seconds: Duration },
}
