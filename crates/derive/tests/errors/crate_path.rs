use oneir::{Array, Tree};

#[derive(Clone, Tree)]
#[tree(crate = 3)]
struct Number(Array);

#[derive(Clone, Tree)]
#[tree(crate = "not a path")]
struct Spaces(Array);

#[derive(Clone, Tree)]
#[tree(crate)]
struct Nothing(Array);

#[derive(Clone, Tree)]
#[tree(crate = "oneir", crate = "oneir")]
struct Twice(Array);
