//! What stands in `#[tree(…)]`.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, Error, LitStr, Path, Result};

/// How a field takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A tree like any other.
    Tree,
    /// A tree that transforms leave alone.
    Frozen,
    /// A value without arrays.
    Plain,
}

/// Of a field.
pub(crate) fn part(attributes: &[Attribute]) -> Result<Part> {
    let mut found = Part::Tree;
    each(attributes, |meta| {
        let said = match () {
            () if meta.path.is_ident("frozen") => Part::Frozen,
            () if meta.path.is_ident("plain") => Part::Plain,
            () if meta.path.is_ident("crate") => return Err(meta.error("`crate` stands on the type")),
            () => return Err(meta.error("a field may be `frozen` or `plain`")),
        };
        if found != Part::Tree {
            return Err(meta.error("a field is `frozen` or `plain` once"));
        }
        found = said;
        if meta.input.is_empty() || meta.input.peek(syn::Token![,]) {
            Ok(())
        } else {
            Err(meta.error("`frozen` and `plain` take no value"))
        }
    })?;
    Ok(found)
}

/// Of a type: where the trait is.
pub(crate) fn home(attributes: &[Attribute]) -> Result<Path> {
    let mut found: Option<Path> = None;
    each(attributes, |meta| {
        if !meta.path.is_ident("crate") {
            let fields = meta.path.is_ident("frozen") || meta.path.is_ident("plain");
            let text = if fields {
                "`frozen` and `plain` stand on fields"
            } else {
                "a type may have `crate = \"path\"`"
            };
            return Err(meta.error(text));
        }
        if found.is_some() {
            return Err(meta.error("`crate` is there twice"));
        }
        let text: LitStr = meta.value()?.parse()?;
        let path = text.parse_with(Path::parse_mod_style);
        found =
            Some(path.map_err(|_| Error::new(text.span(), "not a path of a crate, as in `\"::oneir\"`"))?);
        Ok(())
    })?;
    Ok(found.unwrap_or_else(|| syn::parse_quote!(::oneir)))
}

/// Of a variant: nothing.
pub(crate) fn none(attributes: &[Attribute]) -> Result<()> {
    each(attributes, |meta| Err(meta.error("a variant has no attribute: its fields may")))
}

fn each(attributes: &[Attribute], mut f: impl FnMut(ParseNestedMeta<'_>) -> Result<()>) -> Result<()> {
    let ours = attributes.iter().filter(|a| a.path().is_ident("tree"));
    collected(ours.map(|attribute| attribute.parse_nested_meta(&mut f)))
}

/// All errors as one.
pub(crate) fn collected(results: impl Iterator<Item = Result<()>>) -> Result<()> {
    let all = results.filter_map(Result::err).reduce(|mut all, error| {
        all.combine(error);
        all
    });
    all.map_or(Ok(()), Err)
}
