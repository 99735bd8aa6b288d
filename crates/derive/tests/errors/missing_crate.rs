use oneir::{Array, Tree};

#[derive(Clone, Tree)]
#[tree(crate = "missing")]
struct Layer(Array);
