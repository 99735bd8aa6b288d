use oneir::{Array, Tree};

#[derive(Tree)]
struct Layer {
    weight: Array,
}
