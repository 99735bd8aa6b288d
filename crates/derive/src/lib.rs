//! `#[derive(Tree)]`; the trait is in `oneir_array::transforms`, and says what the
//! attributes mean.

mod attributes;
mod bounds;
mod tree;

/// The type as a tree of arrays: a struct or an enum whose fields are trees.
///
/// On a field, `#[tree(frozen)]` has transforms leave its arrays alone, and
/// `#[tree(plain)]` says that it is a value without arrays, compared by `==`. On the
/// type, `#[tree(crate = "path")]` names the crate that has a module `transforms`
/// with the trait; without, it is `::oneir`.
#[proc_macro_derive(Tree, attributes(tree))]
pub fn derive_tree(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    tree::implement(&input).unwrap_or_else(|error| error.into_compile_error()).into()
}
