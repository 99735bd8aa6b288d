use oneir::{Array, Tree};

#[derive(Clone, Tree)]
#[tree(name = "layer")]
struct Layer {
    #[tree(froze)]
    weight: Array,
    #[tree(frozen = "yes")]
    bias: Array,
    #[tree(frozen, plain)]
    both: u8,
    #[tree]
    empty: u8,
}

#[derive(Clone, Tree)]
#[tree(frozen)]
struct Whole(Array);

#[derive(Clone, Tree)]
enum Choice {
    #[tree(plain)]
    Variant(u8),
    Other(#[tree(crate = "oneir")] u8),
    Last(#[tree(plain(1))] u8),
}
