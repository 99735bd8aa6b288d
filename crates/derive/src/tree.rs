//! The implementation of the trait for one type.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields, Ident, Member, Result, Type};

use crate::attributes::{self, Part};
use crate::bounds;

/// A field, and the name that its value is bound to.
struct Field<'a> {
    member: Member,
    binding: Ident,
    ty: &'a Type,
    part: Part,
}

/// A struct's only shape, or one of an enum's.
struct Shape<'a> {
    /// What it is written with: `Self` or `Self::Variant`.
    constructor: TokenStream,
    name: String,
    fields: Vec<Field<'a>>,
}

pub(crate) fn implement(input: &DeriveInput) -> Result<TokenStream> {
    let shapes = match &input.data {
        Data::Union(union) => {
            let message = "a union is no tree of arrays: which field it holds is not known";
            return Err(Error::new(union.union_token.span, message));
        }
        Data::Struct(data) => {
            shape(quote!(Self), input.ident.to_string(), &data.fields).map(|shape| vec![shape])
        }
        Data::Enum(data) => {
            let mut shapes = Vec::with_capacity(data.variants.len());
            let checked = data.variants.iter().map(|variant| {
                let ident = &variant.ident;
                attributes::none(&variant.attrs)?;
                let name = format!("{}::{ident}", input.ident);
                shapes.push(shape(quote!(Self::#ident), name, &variant.fields)?);
                Ok(())
            });
            attributes::collected(checked).map(|()| shapes)
        }
    };
    let (home, shapes) = match (attributes::home(&input.attrs), shapes) {
        (Ok(home), Ok(shapes)) => (home, shapes),
        (home, shapes) => {
            let all = [home.map(drop), shapes.map(drop)];
            return attributes::collected(all.into_iter()).map(|()| TokenStream::new());
        }
    };

    let ident = &input.ident;
    let (parameters, arguments, _) = input.generics.split_for_impl();
    let fields = shapes.iter().flat_map(|shape| &shape.fields).map(|field| (field.ty, field.part));
    let predicates = bounds::predicates(&input.generics, &home, fields);
    let visits = shapes.iter().map(|shape| visit(&home, shape));
    let rebuilds = shapes.iter().map(|shape| rebuild(&home, shape));
    // A match on a type without variants must not be on a reference to it.
    let subject = if shapes.is_empty() { quote!(*self) } else { quote!(self) };
    Ok(quote! {
        #[automatically_derived]
        impl #parameters #home::transforms::Tree for #ident #arguments where #(#predicates),* {
            fn visit(&self, __visitor: &mut #home::transforms::Visitor<'_>) {
                match #subject { #(#visits)* }
            }

            fn rebuild(&self, __from: &mut #home::transforms::Rebuild<'_>) -> Self {
                match #subject { #(#rebuilds)* }
            }
        }
    })
}

fn shape(constructor: TokenStream, name: String, all: &Fields) -> Result<Shape<'_>> {
    let mut fields = Vec::with_capacity(all.len());
    let checked = all.members().zip(all).enumerate().map(|(k, (member, field))| {
        let part = attributes::part(&field.attrs)?;
        fields.push(Field { member, binding: format_ident!("__field{k}"), ty: &field.ty, part });
        Ok(())
    });
    attributes::collected(checked)?;
    Ok(Shape { constructor, name, fields })
}

impl Shape<'_> {
    fn pattern(&self) -> TokenStream {
        let constructor = &self.constructor;
        let fields = self.fields.iter().map(|Field { member, binding, .. }| quote!(#member: #binding));
        quote!(#constructor { #(#fields),* })
    }
}

fn visit(home: &syn::Path, shape: &Shape<'_>) -> TokenStream {
    let (pattern, name, count) = (shape.pattern(), &shape.name, shape.fields.len());
    // Types are written as they stand in the field, so an error is shown there.
    let fields = shape.fields.iter().map(|Field { binding, ty, part, .. }| match part {
        Part::Tree => quote!(<#ty as #home::transforms::Tree>::visit(#binding, __visitor);),
        Part::Frozen => quote!(__visitor.frozen::<#ty>(#binding);),
        Part::Plain => quote!(__visitor.plain::<#ty>(#binding);),
    });
    quote! {
        #pattern => {
            __visitor.node(::core::concat!(::core::module_path!(), "::", #name), #count);
            #(#fields)*
        }
    }
}

fn rebuild(home: &syn::Path, shape: &Shape<'_>) -> TokenStream {
    let (pattern, constructor) = (shape.pattern(), &shape.constructor);
    let fields = shape.fields.iter().map(|Field { member, binding, ty, part }| match part {
        Part::Tree => quote!(#member: <#ty as #home::transforms::Tree>::rebuild(#binding, __from)),
        Part::Frozen => quote!(#member: __from.frozen::<#ty>(#binding)),
        Part::Plain => quote!(#member: <#ty as ::core::clone::Clone>::clone(#binding)),
    });
    quote!(#pattern => #constructor { #(#fields),* },)
}
