//! What functions take and give: any nest of arrays.

mod containers;
mod structure;

pub use structure::Structure;

use std::fmt;
use std::hash::Hash;

use crate::Array;

/// A value with arrays inside: an array, a number or text (without any), tuples,
/// vectors, options, maps of such values; and, derived, types of one's own.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, Tree, array, grad};
///
/// #[derive(Clone, Tree)]
/// # #[tree(crate = "oneir_array")]
/// struct Linear {
///     weight: Array,
///     bias: Option<Array>,
/// }
///
/// #[derive(Clone, Tree)]
/// # #[tree(crate = "oneir_array")]
/// struct Mlp {
///     layers: Vec<Linear>,
///     #[tree(frozen)]
///     scale: Array,
///     name: String,
/// }
///
/// impl Mlp {
///     fn call(&self, x: &Array) -> Array {
///         self.layers.iter().fold(x * &self.scale, |x, layer| {
///             let y = x.matmul(&layer.weight);
///             layer.bias.as_ref().map_or(y.clone(), |bias| y + bias)
///         })
///     }
/// }
///
/// let linear = |w: Array, bias| Linear { weight: w, bias };
/// let layers = vec![linear(array![[1.0, 2.0]], Some(array![0.5, 0.0])), linear(array![[1.0], [1.0]], None)];
/// let model = Mlp { layers, scale: array![10.0], name: "small".into() };
/// let gradient = grad(|model: &Mlp| model.call(&array![[1.0]]).sum(.., false))(&model);
/// assert_eq!(gradient.layers[0].weight.to_vec::<f32>()?, [10.0, 10.0]);
/// assert_eq!(gradient.layers[1].weight.to_vec::<f32>()?, [10.5, 20.0]);
/// // What is frozen and what is no array are as they were.
/// assert_eq!((gradient.scale.to_vec::<f32>()?, gradient.name), (vec![10.0], "small".into()));
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
///
/// # Deriving
///
/// Structs and enums; a type parameter that a field has must be a tree, too. On a
/// field:
///
/// | attribute | the field's type | what it says |
/// |---|---|---|
/// | none | is a tree | its arrays are the transforms' |
/// | `#[tree(frozen)]` | is a tree | its arrays are there and left alone: as [`Frozen`] |
/// | `#[tree(plain)]` | `Clone + Eq + Hash + Send + Sync + 'static` | a value without arrays: as [`Plain`] |
///
/// # By hand
///
/// [`Tree::visit`] shows the parts, [`Tree::rebuild`] makes the value again from
/// the same parts in the same order.
///
/// ```
/// use oneir_array::transforms::{Rebuild, Tree, Visitor};
/// use oneir_array::Array;
///
/// /// Two halves of one thing, of which only the first is learnt.
/// #[derive(Clone)]
/// struct Halves(Array, Array, u8);
///
/// impl Tree for Halves {
///     fn visit(&self, visitor: &mut Visitor<'_>) {
///         visitor.node("mine::Halves", 3);
///         self.0.visit(visitor);
///         visitor.frozen(&self.1);
///         self.2.visit(visitor);
///     }
///
///     fn rebuild(&self, from: &mut Rebuild<'_>) -> Self {
///         Halves(self.0.rebuild(from), from.frozen(&self.1), self.2)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tree of arrays",
    label = "transforms cannot look into this type",
    note = "a type of your own can derive it: `#[derive(Clone, Tree)]`",
    note = "a field without arrays can be marked `#[tree(plain)]`; its type is then `Clone + Eq + Hash`"
)]
pub trait Tree: Clone {
    /// Shows what the tree is made of, always in the same order.
    fn visit(&self, visitor: &mut Visitor<'_>);

    /// The same tree with other arrays, one for each that [`Tree::visit`] shows, in
    /// that order.
    #[must_use]
    fn rebuild(&self, from: &mut Rebuild<'_>) -> Self;

    /// Adds the arrays that transforms see, in a fixed order: all but the frozen.
    fn leaves(&self, into: &mut Vec<Array>) {
        let mut leaf = |array: &Array, frozen: bool| {
            if !frozen {
                into.push(array.clone());
            }
        };
        self.visit(&mut Visitor { each: Some(&mut leaf), structure: None, frozen: false });
    }

    /// The same value with other leaves, of which it takes as many as it has. Where
    /// there are no more, those that it has stay.
    #[must_use]
    fn with_leaves(&self, from: &mut dyn Iterator<Item = Array>) -> Self {
        self.rebuild(&mut Rebuild { from, every: false })
    }

    /// Adds all arrays, the frozen ones too, in a fixed order.
    fn arrays(&self, into: &mut Vec<Array>) {
        let mut each = |array: &Array, _| into.push(array.clone());
        self.visit(&mut Visitor { each: Some(&mut each), structure: None, frozen: false });
    }

    /// As [`Tree::with_leaves`], of all arrays.
    #[must_use]
    fn with_arrays(&self, from: &mut dyn Iterator<Item = Array>) -> Self {
        self.rebuild(&mut Rebuild { from, every: true })
    }

    /// Adds all that is not an array: see [`Structure`].
    fn structure(&self, into: &mut Structure) {
        self.visit(&mut Visitor { each: None, structure: Some(into), frozen: false });
    }
}

/// The arrays of a tree that transforms see.
pub fn leaves(tree: &impl Tree) -> Vec<Array> {
    let mut all = Vec::new();
    tree.leaves(&mut all);
    all
}

/// A tree with each array that transforms see replaced.
pub fn map<T: Tree>(tree: &T, f: impl FnMut(&Array) -> Array) -> T {
    let mapped: Vec<Array> = leaves(tree).iter().map(f).collect();
    tree.with_leaves(&mut mapped.into_iter())
}

/// A tree taken apart: what is not an array, and all arrays, the frozen ones too.
/// [`Tree::with_arrays`] puts others in.
pub fn parts(tree: &impl Tree) -> (Structure, Vec<Array>) {
    let (mut structure, mut arrays) = (Structure::default(), Vec::new());
    let mut each = |array: &Array, _| arrays.push(array.clone());
    tree.visit(&mut Visitor { each: Some(&mut each), structure: Some(&mut structure), frozen: false });
    (structure, arrays)
}

/// All arrays of a tree, and whether each is frozen.
pub(super) fn kinds(tree: &impl Tree) -> Vec<(Array, bool)> {
    let mut all = Vec::new();
    let mut each = |array: &Array, frozen| all.push((array.clone(), frozen));
    tree.visit(&mut Visitor { each: Some(&mut each), structure: None, frozen: false });
    all
}

type Each<'a> = dyn FnMut(&Array, bool) + 'a;

/// What a tree shows its parts to.
pub struct Visitor<'a> {
    /// Told each array, and whether it is frozen.
    each: Option<&'a mut Each<'a>>,
    structure: Option<&'a mut Structure>,
    /// Whether what is shown now is frozen.
    frozen: bool,
}

impl fmt::Debug for Visitor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visitor").field("frozen", &self.frozen).finish_non_exhaustive()
    }
}

impl Visitor<'_> {
    /// An array.
    pub fn array(&mut self, array: &Array) {
        if let Some(structure) = &mut self.structure {
            structure.array();
        }
        if let Some(each) = &mut self.each {
            each(array, self.frozen);
        }
    }

    /// The beginning of a part that has `parts` parts of its own, which come next.
    /// Types that mean different things have different names.
    pub fn node(&mut self, name: &str, parts: usize) {
        if let Some(structure) = &mut self.structure {
            structure.node(name, parts);
        }
    }

    /// A part that transforms leave alone.
    pub fn frozen<T: Tree>(&mut self, tree: &T) {
        if let Some(structure) = &mut self.structure {
            structure.frozen();
        }
        let before = std::mem::replace(&mut self.frozen, true);
        tree.visit(self);
        self.frozen = before;
    }

    /// A value without arrays, known by its type's name and by bytes, which are the
    /// same for the same values.
    pub fn value(&mut self, kind: &str, bytes: &[u8]) {
        if let Some(structure) = &mut self.structure {
            structure.value(kind, bytes);
        }
    }

    /// A value without arrays, known by `==`.
    pub fn plain<T: Clone + Eq + Hash + Send + Sync + 'static>(&mut self, value: &T) {
        if let Some(structure) = &mut self.structure {
            structure.plain(value);
        }
    }
}

/// Where a tree that is made again takes its arrays from.
pub struct Rebuild<'a> {
    from: &'a mut dyn Iterator<Item = Array>,
    /// Whether frozen arrays are there.
    every: bool,
}

impl fmt::Debug for Rebuild<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rebuild").field("every", &self.every).finish_non_exhaustive()
    }
}

impl Rebuild<'_> {
    /// In the place of an array: the next one, or itself where there are no more.
    pub fn array(&mut self, array: &Array) -> Array {
        self.from.next().unwrap_or_else(|| array.clone())
    }

    /// In the place of a part that transforms leave alone.
    pub fn frozen<T: Tree>(&mut self, tree: &T) -> T {
        if self.every { tree.rebuild(self) } else { tree.clone() }
    }
}

impl Tree for Array {
    fn visit(&self, visitor: &mut Visitor<'_>) {
        visitor.array(self);
    }

    fn rebuild(&self, from: &mut Rebuild<'_>) -> Self {
        from.array(self)
    }
}

/// A part of a tree that transforms leave alone: it has no leaves for them. Its
/// arrays are constants in a derivative and the same for all of a batch; where a
/// function makes one of what is mapped over, it has the further axis in front.
///
/// They are arrays of the tree all the same ([`Tree::arrays`]): what keeps a
/// function to call it again takes them as inputs, as it does the leaves, so another
/// array in their place is another input and not another function.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frozen<T>(pub T);

impl<T: Tree> Tree for Frozen<T> {
    fn visit(&self, visitor: &mut Visitor<'_>) {
        visitor.frozen(&self.0);
    }

    fn rebuild(&self, from: &mut Rebuild<'_>) -> Self {
        Frozen(from.frozen(&self.0))
    }
}

/// A part of a tree without arrays, of a type that is no tree: a choice, a duration,
/// a function pointer. It belongs to the tree's [`Structure`], by `==`: what keeps a
/// function to call it again keeps another one for another value.
///
/// A type whose `==` ignores what a function reads, or with state that is shared and
/// changes, must not be here.
///
/// ```
/// use std::time::Duration;
/// use oneir_array::transforms::{Plain, parts};
/// let of = |seconds| parts(&Plain(Duration::from_secs(seconds))).0;
/// assert_eq!(of(1), of(1));
/// assert_ne!(of(1), of(2));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Plain<T>(pub T);

impl<T: Clone + Eq + Hash + Send + Sync + 'static> Tree for Plain<T> {
    fn visit(&self, visitor: &mut Visitor<'_>) {
        visitor.plain(&self.0);
    }

    fn rebuild(&self, _from: &mut Rebuild<'_>) -> Self {
        self.clone()
    }
}
