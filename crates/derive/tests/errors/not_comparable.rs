use std::cell::Cell;

use oneir::Tree;

#[derive(Clone, Copy)]
struct Opaque;

#[derive(Clone, Tree)]
struct Layer {
    #[tree(plain)]
    opaque: Opaque,
}

#[derive(Clone, Tree)]
struct Counter(#[tree(plain)] f32);
