use oneir::{Array, Tree};

#[derive(Clone, Copy, Tree)]
union Either {
    whole: u32,
    half: f32,
}

#[derive(Clone, Tree)]
struct Fine(Array);
