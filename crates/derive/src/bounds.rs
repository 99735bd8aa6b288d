//! Which bounds an implementation for a generic type needs.

use proc_macro2::Ident;
use syn::{
    GenericArgument, Generics, PathArguments, ReturnType, Type, TypePath, WherePredicate, parse_quote,
};

use crate::attributes::Part;

/// The type's where clause, and beside it: that type parameters which fields have
/// are trees, that values without arrays can be compared, and that the whole can be
/// cloned.
pub(crate) fn predicates<'a>(
    generics: &Generics,
    home: &syn::Path,
    fields: impl Iterator<Item = (&'a Type, Part)>,
) -> Vec<WherePredicate> {
    let parameters: Vec<&Ident> = generics.type_params().map(|p| &p.ident).collect();
    let mut found: Vec<WherePredicate> =
        generics.where_clause.iter().flat_map(|clause| clause.predicates.iter().cloned()).collect();
    if parameters.is_empty() {
        return found;
    }
    found.push(parse_quote!(Self: ::core::clone::Clone));
    for (ty, part) in fields {
        let mut mentioned = Mentioned { parameters: &parameters, types: Vec::new() };
        mentioned.look(ty);
        if part == Part::Plain {
            if !mentioned.types.is_empty() {
                found.push(parse_quote!(#ty: ::core::clone::Clone + ::core::cmp::Eq + ::core::hash::Hash));
                found.push(parse_quote!(#ty: ::core::marker::Send + ::core::marker::Sync + 'static));
            }
        } else {
            found.extend(
                mentioned
                    .types
                    .iter()
                    .map(|ty| -> WherePredicate { parse_quote!(#ty: #home::transforms::Tree) }),
            );
        }
    }
    found
}

/// The types that must be trees for another to be one: parameters, and types that
/// belong to them (`T::Weights`, `<T as Layer>::Weights`).
struct Mentioned<'a> {
    parameters: &'a [&'a Ident],
    types: Vec<Type>,
}

impl Mentioned<'_> {
    fn look(&mut self, ty: &Type) {
        match ty {
            Type::Array(array) => self.look(&array.elem),
            Type::Group(group) => self.look(&group.elem),
            Type::Paren(paren) => self.look(&paren.elem),
            Type::Reference(reference) => self.look(&reference.elem),
            Type::Slice(slice) => self.look(&slice.elem),
            Type::Tuple(tuple) => tuple.elems.iter().for_each(|part| self.look(part)),
            Type::Path(path) => self.look_at_path(path),
            // Functions, pointers and trait objects hold no value of a parameter.
            _ => {}
        }
    }

    fn look_at_path(&mut self, ty: &TypePath) {
        if let Some(of) = &ty.qself {
            let before = self.types.len();
            self.look(&of.ty);
            if self.types.len() > before {
                self.types.truncate(before);
                self.types.push(Type::Path(ty.clone()));
            }
            return;
        }
        let segments = &ty.path.segments;
        if segments.first().is_some_and(|first| self.parameters.contains(&&first.ident)) {
            self.types.push(Type::Path(ty.clone()));
            return;
        }
        if segments.last().is_none_or(|last| last.ident == "PhantomData") {
            return;
        }
        for segment in segments {
            match &segment.arguments {
                PathArguments::None => {}
                PathArguments::AngleBracketed(all) => {
                    for argument in &all.args {
                        if let GenericArgument::Type(ty) = argument {
                            self.look(ty);
                        }
                    }
                }
                PathArguments::Parenthesized(all) => {
                    all.inputs.iter().for_each(|input| self.look(&input.ty));
                    if let ReturnType::Type(_, ty) = &all.output {
                        self.look(ty);
                    }
                }
            }
        }
    }
}
