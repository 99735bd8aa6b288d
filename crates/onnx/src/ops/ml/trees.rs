//! Ensembles of decision trees.
//!
//! All nodes stand in one table. Every row of the input goes down every tree at
//! once, one level at a time; a leaf leads to itself.

use std::collections::HashMap;

use oneir_array::{Array, DType, ScatterReduce};

use super::scores::{Labels, PostTransform, chosen, features};
use crate::OnnxError;
use crate::call::{Call, Results};

/// A tree with more levels is a mistake of the file.
const MAX_LEVELS: usize = 4096;

/// What a branch asks of a feature. The other comparisons are these with the
/// branch's two ways exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Test {
    LessEqual,
    Less,
    Equal,
}

#[derive(Debug, Clone)]
struct Branch {
    feature: i64,
    split: f64,
    test: Test,
    /// Where a missing value (NaN) goes: whether to `to[1]`.
    missing: bool,
    /// The node where the test does not hold, and where it does.
    to: [usize; 2],
}

#[derive(Debug, Clone)]
enum Node {
    Branch(Branch),
    /// Votes: a target, and how much it gets.
    Leaf(Vec<(usize, f64)>),
}

/// How the votes of all trees for one target become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aggregate {
    Average,
    Sum,
    Min,
    Max,
}

#[derive(Debug, Default)]
struct Forest {
    nodes: Vec<Node>,
    roots: Vec<usize>,
    /// Whether thresholds or weights are stored in double precision.
    double: bool,
}

/// A branch of a comparison that the standard names.
fn branch(feature: i64, mode: &[u8], split: f64, missing: bool, yes: usize, no: usize) -> Option<Branch> {
    let (test, turned) = match mode {
        b"BRANCH_LEQ" => (Test::LessEqual, false),
        b"BRANCH_LT" => (Test::Less, false),
        b"BRANCH_GTE" => (Test::Less, true),
        b"BRANCH_GT" => (Test::LessEqual, true),
        b"BRANCH_EQ" => (Test::Equal, false),
        b"BRANCH_NEQ" => (Test::Equal, true),
        _ => return None,
    };
    let to = if turned { [yes, no] } else { [no, yes] };
    Some(Branch { feature, split, test, missing: missing != turned, to })
}

/// Numbers that an attribute lists, or holds as a tensor under a longer name,
/// and whether they are of double precision.
fn numbers(call: &Call<'_>, name: &str) -> Result<Option<(Vec<f64>, bool)>, OnnxError> {
    if let Some(list) = call.attributes().find_floats(name)? {
        return Ok(Some((list.iter().map(|&v| f64::from(v)).collect(), false)));
    }
    match call.attributes().find_tensor(&format!("{name}_as_tensor"))? {
        Some(data) => Ok(Some((stored(call, data)?, data.dtype()? == DType::F64))),
        None => Ok(None),
    }
}

fn stored(call: &Call<'_>, data: &crate::file::TensorData) -> Result<Vec<f64>, OnnxError> {
    Ok(data.to_host()?.values().map_err(|e| call.fails(e.to_string()))?.to_floats())
}

/// Refuses lists of different lengths.
fn as_many<T>(call: &Call<'_>, name: &str, list: &[T], count: usize) -> Result<(), OnnxError> {
    if list.len() == count {
        return Ok(());
    }
    Err(call.fails(format!("{name} has {} items where {count} are expected", list.len())))
}

impl Forest {
    /// The trees of a classifier or regressor, whose votes are in the attributes
    /// that begin with `votes`.
    fn listed(call: &Call<'_>, votes: &str, targets: usize) -> Result<Forest, OnnxError> {
        let attributes = call.attributes();
        let trees = attributes.ints_or("nodes_treeids", &[])?;
        let count = trees.len();
        let ints = |name: &str| -> Result<&[i64], OnnxError> {
            let list = attributes.ints_or(name, &[])?;
            as_many(call, name, list, count)?;
            Ok(list)
        };
        let (ids, features) = (ints("nodes_nodeids")?, ints("nodes_featureids")?);
        let (yes, no) = (ints("nodes_truenodeids")?, ints("nodes_falsenodeids")?);
        let modes = attributes.byte_strings_or("nodes_modes", &[])?;
        as_many(call, "nodes_modes", modes, count)?;
        let missing = attributes.ints_or("nodes_missing_value_tracks_true", &[])?;
        if !missing.is_empty() {
            as_many(call, "nodes_missing_value_tracks_true", missing, count)?;
        }
        let (splits, double_splits) = numbers(call, "nodes_values")?.unwrap_or_default();
        as_many(call, "nodes_values", &splits, count)?;
        let mut places = HashMap::with_capacity(count);
        for (at, key) in trees.iter().copied().zip(ids.iter().copied()).enumerate() {
            if places.insert(key, at).is_some() {
                return Err(call.fails(format!("tree {} has two nodes {}", key.0, key.1)));
            }
        }
        let find = |tree: i64, node: i64| {
            let found = places.get(&(tree, node)).copied();
            found.ok_or_else(|| call.fails(format!("tree {tree} has no node {node}")))
        };
        let mut nodes = Vec::with_capacity(count);
        let mut is_child = vec![false; count];
        for at in 0..count {
            if modes[at] == b"LEAF" {
                nodes.push(Node::Leaf(Vec::new()));
                continue;
            }
            let (yes, no) = (find(trees[at], yes[at])?, find(trees[at], no[at])?);
            (is_child[yes], is_child[no]) = (true, true);
            let tracks = missing.get(at).is_some_and(|&v| v != 0);
            let made = branch(features[at], &modes[at], splits[at], tracks, yes, no);
            let mode = || String::from_utf8_lossy(&modes[at]).into_owned();
            nodes.push(Node::Branch(
                made.ok_or_else(|| call.fails(format!("the mode {} of a node is not known", mode())))?,
            ));
        }
        // A tree's first node is its root, or else the one branch below no other.
        let mut roots: Vec<Option<usize>> = Vec::new();
        let mut of_tree = HashMap::new();
        for at in 0..count {
            let k = *of_tree.entry(trees[at]).or_insert_with(|| {
                roots.push((!is_child[at]).then_some(at));
                roots.len() - 1
            });
            if roots[k].is_none() && !is_child[at] && matches!(nodes[at], Node::Branch(_)) {
                roots[k] = Some(at);
            }
        }
        if let Some((tree, _)) = of_tree.iter().find(|(_, k)| roots[**k].is_none()) {
            return Err(call.fails(format!("tree {tree} has no root: all its branches are below others")));
        }
        let roots = roots.into_iter().flatten().collect();
        let mut forest = Forest { nodes, roots, double: double_splits };
        let list = |kind: &str| attributes.ints_or(&format!("{votes}_{kind}"), &[]).map(<[i64]>::to_vec);
        let (of_trees, of_nodes) = (list("treeids")?, list("nodeids")?);
        // A classifier's targets are `class_ids`, a regressor's `target_ids`.
        let of_targets = list("ids")?;
        let (weights, double) = numbers(call, &format!("{votes}_weights"))?.unwrap_or_default();
        forest.double |= double;
        for (name, length) in [("nodeids", of_nodes.len()), ("ids", of_targets.len())] {
            as_many(call, &format!("{votes}_{name}"), &vec![(); length], of_trees.len())?;
        }
        as_many(call, &format!("{votes}_weights"), &weights, of_trees.len())?;
        for (k, weight) in weights.into_iter().enumerate() {
            let target = target(call, of_targets[k], targets)?;
            // What a branch is given never counts.
            if let Node::Leaf(given) = &mut forest.nodes[find(of_trees[k], of_nodes[k])?] {
                given.push((target, weight));
            }
        }
        Ok(forest)
    }

    /// The trees of `TreeEnsemble`, where branches and leaves are listed apart.
    fn split(call: &Call<'_>, targets: usize) -> Result<Forest, OnnxError> {
        const MODES: [&[u8]; 6] =
            [b"BRANCH_LEQ", b"BRANCH_LT", b"BRANCH_GTE", b"BRANCH_GT", b"BRANCH_EQ", b"BRANCH_NEQ"];
        let attributes = call.attributes();
        let features = attributes.ints("nodes_featureids")?;
        let count = features.len();
        let ints = |name: &str| -> Result<&[i64], OnnxError> {
            let list = attributes.ints(name)?;
            as_many(call, name, list, count)?;
            Ok(list)
        };
        let [yes, no] = [ints("nodes_truenodeids")?, ints("nodes_falsenodeids")?];
        let [yes_ends, no_ends] = [ints("nodes_trueleafs")?, ints("nodes_falseleafs")?];
        let modes = stored(call, attributes.tensor("nodes_modes")?)?;
        let splits = stored(call, attributes.tensor("nodes_splits")?)?;
        as_many(call, "nodes_modes", &modes, count)?;
        as_many(call, "nodes_splits", &splits, count)?;
        let missing = attributes.ints_or("nodes_missing_value_tracks_true", &[])?;
        if !missing.is_empty() {
            as_many(call, "nodes_missing_value_tracks_true", missing, count)?;
        }
        let members = match attributes.find_tensor("membership_values")? {
            Some(data) => stored(call, data)?,
            None => Vec::new(),
        };
        let mut sets = members.split(|v| v.is_nan());
        let weights = stored(call, attributes.tensor("leaf_weights")?)?;
        let ids = attributes.ints("leaf_targetids")?;
        as_many(call, "leaf_weights", &weights, ids.len())?;
        // Branches come first in the table, then leaves, then what sets need.
        let at = |list: &[i64], ends: &[i64], k: usize| {
            let leaf = ends[k] != 0;
            let size = if leaf { ids.len() } else { count };
            let found = usize::try_from(list[k]).ok().filter(|&at| at < size);
            let what = if leaf { "leaf" } else { "node" };
            found
                .map(|found| if leaf { count + found } else { found })
                .ok_or_else(|| call.fails(format!("there is no {what} {} for node {k}", list[k])))
        };
        let mut forest = Forest { double: false, ..Forest::default() };
        let mut in_sets = Vec::new();
        for k in 0..count {
            let (yes, no) = (at(yes, yes_ends, k)?, at(no, no_ends, k)?);
            let tracks = missing.get(k).is_some_and(|&v| v != 0);
            let made = match modes[k] {
                6.0 => {
                    let set = sets.next().unwrap_or_default().to_vec();
                    in_sets.push((k, set, tracks, yes, no));
                    branch(features[k], b"BRANCH_EQ", f64::NAN, false, yes, no)
                }
                mode => {
                    MODES.get(mode as usize).and_then(|m| branch(features[k], m, splits[k], tracks, yes, no))
                }
            };
            let made =
                made.ok_or_else(|| call.fails(format!("the mode {} of node {k} is not known", modes[k])))?;
            forest.nodes.push(Node::Branch(made));
        }
        for (&id, weight) in ids.iter().zip(weights) {
            forest.nodes.push(Node::Leaf(vec![(target(call, id, targets)?, weight)]));
        }
        for (at, mut set, tracks, yes, no) in in_sets {
            set.sort_by(f64::total_cmp);
            set.dedup();
            forest.search(at, features[at], &set, tracks, [no, yes]);
        }
        for &root in attributes.ints("tree_roots")? {
            let found = usize::try_from(root).ok().filter(|&at| at < count);
            forest
                .roots
                .push(found.ok_or_else(|| call.fails(format!("there is no node {root} for a root")))?);
        }
        Ok(forest)
    }

    /// Turns the branch `at` into a search for the feature in a sorted set.
    fn search(&mut self, at: usize, feature: i64, set: &[f64], missing: bool, to: [usize; 2]) {
        let mut todo = vec![(at, set)];
        while let Some((at, set)) = todo.pop() {
            let (test, split, to) = match set {
                [] => (Test::Equal, f64::NAN, to),
                [one] => (Test::Equal, *one, to),
                _ => {
                    let (low, high) = set.split_at(set.len() / 2);
                    let next = self.nodes.len();
                    self.nodes.extend([Node::Leaf(Vec::new()), Node::Leaf(Vec::new())]);
                    todo.extend([(next, low), (next + 1, high)]);
                    (Test::LessEqual, low[low.len() - 1], [next + 1, next])
                }
            };
            self.nodes[at] = Node::Branch(Branch { feature, split, test, missing, to });
        }
    }

    fn branches(&self) -> impl Iterator<Item = &Branch> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Branch(branch) => Some(branch),
            Node::Leaf(_) => None,
        })
    }

    /// How many branches a row passes at most.
    fn levels(&self, call: &Call<'_>) -> Result<usize, OnnxError> {
        let branch = |at: usize| if let Node::Branch(branch) = &self.nodes[at] { Some(branch) } else { None };
        // Ways to each node from nodes that are reached.
        let mut ways = vec![0u32; self.nodes.len()];
        let mut reached = vec![false; self.nodes.len()];
        let mut todo = self.roots.clone();
        while let Some(at) = todo.pop() {
            if std::mem::replace(&mut reached[at], true) {
                continue;
            }
            for &to in branch(at).into_iter().flat_map(|b| &b.to) {
                ways[to] += 1;
                todo.push(to);
            }
        }
        let mut passed = vec![0usize; self.nodes.len()];
        let mut left = reached.iter().filter(|&&r| r).count();
        let mut most = 0;
        todo.extend((0..self.nodes.len()).filter(|&at| reached[at] && ways[at] == 0));
        while let Some(at) = todo.pop() {
            left -= 1;
            most = most.max(passed[at]);
            for &to in branch(at).into_iter().flat_map(|b| &b.to) {
                passed[to] = passed[to].max(passed[at] + 1);
                ways[to] -= 1;
                if ways[to] == 0 {
                    todo.push(to);
                }
            }
        }
        if left > 0 {
            return Err(call.fails("a node of a tree is below itself"));
        }
        if most > MAX_LEVELS {
            return Err(call.fails(format!("a tree has {most} levels, more than {MAX_LEVELS}")));
        }
        Ok(most)
    }

    /// The leaf that each row reaches in each tree: `[rows, trees]`.
    fn leaves(&self, call: &Call<'_>, x: &Array) -> Result<Array, OnnxError> {
        let width = x.shape()[1];
        if let Some(bad) = self.branches().find(|b| usize::try_from(b.feature).map_or(true, |f| f >= width)) {
            return Err(call.fails(format!("there is no feature {}: rows have {width}", bad.feature)));
        }
        let size = call.bounded("the trees", self.nodes.len().checked_mul(2))? / 2;
        if self.roots.is_empty() {
            return Ok(Array::zeros(&[x.shape()[0], 0], DType::I32));
        }
        let levels = self.levels(call)?;
        let table = |f: &dyn Fn(usize, Option<&Branch>) -> i32| {
            let of = |(at, node): (usize, &Node)| match node {
                Node::Branch(branch) => f(at, Some(branch)),
                Node::Leaf(_) => f(at, None),
            };
            Array::from_slice(&self.nodes.iter().enumerate().map(of).collect::<Vec<i32>>(), &[size])
        };
        let feature = table(&|_, b| b.map_or(0, |b| b.feature as i32));
        let splits: Vec<f64> =
            self.nodes.iter().map(|n| if let Node::Branch(b) = n { b.split } else { 0.0 }).collect();
        let split = Array::from_slice(&splits, &[size]).astype(x.dtype());
        let ways: Vec<i32> = self
            .nodes
            .iter()
            .enumerate()
            .flat_map(|(at, node)| if let Node::Branch(b) = node { b.to } else { [at; 2] })
            .map(|at| at as i32)
            .collect();
        let ways = Array::from_slice(&ways, &[2 * size]);
        let used = |test| self.branches().any(|b| b.test == test);
        let tests: Vec<Test> =
            [Test::LessEqual, Test::Less, Test::Equal].into_iter().filter(|&test| used(test)).collect();
        let which =
            table(&|_, b| b.map_or(0, |b| tests.iter().position(|&t| t == b.test).unwrap_or(0) as i32));
        // No test holds for a NaN.
        let tracks = self.branches().any(|b| b.missing);
        let missing = table(&|_, b| b.map_or(0, |b| i32::from(b.missing)));
        let roots: Vec<i32> = self.roots.iter().map(|&at| at as i32).collect();
        let rows = x.shape()[0];
        let mut at = Array::from_slice(&roots, &[1, roots.len()]).broadcast_to(&[rows, roots.len()]);
        for _ in 0..levels {
            let value = x.take_along_axis(&feature.take(&at, 0), 1);
            let split = split.take(&at, 0);
            let result = |test: Test| match test {
                Test::LessEqual => value.less_equal(&split),
                Test::Less => value.less(&split),
                Test::Equal => value.equal(&split),
            };
            let mut holds = tests.first().map_or_else(|| value.isnan(), |&test| result(test));
            for (k, &test) in tests.iter().enumerate().skip(1) {
                let this = which.take(&at, 0).equal(Array::full(&[], k as f64, DType::I32));
                holds = this.where_(result(test), &holds);
            }
            if tracks {
                let to = missing.take(&at, 0).astype(DType::Bool);
                holds = value.isnan().where_(&to, &holds);
            }
            let two = Array::full(&[], 2.0, DType::I32);
            at = ways.take(&(at * two + holds.astype(DType::I32)), 0);
        }
        Ok(at)
    }

    /// The votes of the reached leaves for each target: `[rows, targets]`.
    fn totals(
        &self,
        call: &Call<'_>,
        at: &Array,
        targets: usize,
        how: Aggregate,
        dtype: DType,
    ) -> Result<Array, OnnxError> {
        let trees = self.roots.len();
        let rows = at.shape()[0];
        if trees == 0 {
            return Ok(Array::zeros(&[rows, targets], dtype));
        }
        let votes = |node: &Node| match node {
            Node::Leaf(votes) => votes.clone(),
            Node::Branch(_) => Vec::new(),
        };
        let leaves: Vec<Vec<(usize, f64)>> = self.nodes.iter().map(votes).collect();
        let is_leaf: Vec<bool> = self.nodes.iter().map(|node| matches!(node, Node::Leaf(_))).collect();
        // Where each leaf votes once for every target, places say the target.
        let in_order = |votes: &Vec<(usize, f64)>| {
            votes.len() == targets && votes.iter().enumerate().all(|(k, vote)| vote.0 == k)
        };
        let dense = leaves.iter().zip(&is_leaf).all(|(votes, leaf)| !leaf || in_order(votes));
        let width = leaves.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let size = call.bounded("the votes", leaves.len().checked_mul(width))?;
        let neutral = match how {
            Aggregate::Sum | Aggregate::Average => 0.0,
            Aggregate::Min => f64::INFINITY,
            Aggregate::Max => f64::NEG_INFINITY,
        };
        let mut weights = vec![neutral; size];
        let mut places = vec![0i32; size];
        for (k, votes) in leaves.iter().enumerate() {
            for (i, &(target, weight)) in votes.iter().enumerate() {
                (places[k * width + i], weights[k * width + i]) = (target as i32, weight);
            }
        }
        let shape = [leaves.len(), width];
        let given = Array::from_slice(&weights, &shape).astype(dtype).take(at, 0);
        let total = if dense {
            match how {
                Aggregate::Sum | Aggregate::Average => given.sum([1], false),
                Aggregate::Min => given.min([1], false),
                Aggregate::Max => given.max([1], false),
            }
        } else {
            let reduce = match how {
                Aggregate::Sum | Aggregate::Average => ScatterReduce::Sum,
                Aggregate::Min => ScatterReduce::Min,
                Aggregate::Max => ScatterReduce::Max,
            };
            let flat = [rows as isize, (trees * width) as isize];
            let to = Array::from_slice(&places, &shape).take(at, 0).reshape(&flat);
            let start = Array::full(&[rows, targets], neutral, dtype);
            let total = start.scatter_along_axis(&to, &given.reshape(&flat), 1, reduce);
            // What no tree votes for has 0.
            let number = |v: f64| Array::full(&[], v, dtype);
            if neutral == 0.0 { total } else { total.equal(number(neutral)).where_(number(0.0), &total) }
        };
        Ok(if how == Aggregate::Average { total / trees as f64 } else { total })
    }

    /// The type in which rows are compared, and the votes counted.
    fn precision(&self, x: &Array) -> DType {
        let single = matches!(x.dtype(), DType::F32 | DType::F16 | DType::BF16) && !self.double;
        if single { DType::F32 } else { DType::F64 }
    }
}

fn target(call: &Call<'_>, id: i64, targets: usize) -> Result<usize, OnnxError> {
    let found = usize::try_from(id).ok().filter(|&id| id < targets);
    found.ok_or_else(|| call.fails(format!("there is no target {id}: there are {targets}")))
}

fn targets(call: &Call<'_>, count: i64) -> Result<usize, OnnxError> {
    let found = usize::try_from(count).ok().filter(|&n| n > 0);
    found.ok_or_else(|| call.fails(format!("the number of targets must be positive, found {count}")))
}

/// The base values, added to the targets; one is for all of them.
fn with_base(call: &Call<'_>, total: Array, base: &[f64], targets: usize) -> Result<Array, OnnxError> {
    if base.is_empty() {
        return Ok(total);
    }
    if base.len() != targets && base.len() != 1 {
        as_many(call, "base_values", base, targets)?;
    }
    let dtype = total.dtype();
    Ok(total + Array::from_slice(base, &[base.len()]).astype(dtype))
}

pub(super) fn ensemble(call: &Call<'_>) -> Results {
    let attributes = call.attributes();
    let targets = targets(call, attributes.int_or("n_targets", 1)?)?;
    let how = match attributes.int_or("aggregate_function", 1)? {
        0 => Aggregate::Average,
        1 => Aggregate::Sum,
        2 => Aggregate::Min,
        3 => Aggregate::Max,
        other => return Err(call.fails(format!("aggregate_function {other} is not known"))),
    };
    let transform = PostTransform::numbered(call, attributes.int_or("post_transform", 0)?)?;
    let forest = Forest::split(call, targets)?;
    let x = features(call)?;
    let dtype = forest.precision(&x);
    let leaves = forest.leaves(call, &x.astype(dtype))?;
    let total = forest.totals(call, &leaves, targets, how, dtype)?;
    call.one(transform.apply(&total).astype(x.dtype()))
}

pub(super) fn regressor(call: &Call<'_>) -> Results {
    let attributes = call.attributes();
    let targets = targets(call, attributes.int_or("n_targets", 1)?)?;
    let how = match attributes.string_or("aggregate_function", "SUM")? {
        "AVERAGE" => Aggregate::Average,
        "SUM" => Aggregate::Sum,
        "MIN" => Aggregate::Min,
        "MAX" => Aggregate::Max,
        other => return Err(call.fails(format!("aggregate_function {other} is not known"))),
    };
    let transform = PostTransform::of(call)?;
    let forest = Forest::listed(call, "target", targets)?;
    let x = features(call)?;
    let dtype = forest.precision(&x);
    let leaves = forest.leaves(call, &x.astype(dtype))?;
    let total = forest.totals(call, &leaves, targets, how, dtype)?;
    let (base, _) = numbers(call, "base_values")?.unwrap_or_default();
    let total = with_base(call, total, &base, targets)?;
    call.one(transform.apply(&total).astype(DType::F32))
}

/// Of two classes one may have all votes. When that is the first, they count for
/// the second, and the first has what is left of 1 where weights are shares, or the
/// opposite where some are negative.
pub(super) fn classifier(call: &Call<'_>) -> Results {
    let transform = PostTransform::of(call)?;
    let labels = Labels::of(call, "classlabels_int64s")?;
    let classes = targets(call, labels.len() as i64)?;
    let forest = Forest::listed(call, "class", classes)?;
    let (base, _) = numbers(call, "base_values")?.unwrap_or_default();
    let x = features(call)?;
    let dtype = forest.precision(&x);
    let leaves = forest.leaves(call, &x.astype(dtype))?;
    let total = forest.totals(call, &leaves, classes, Aggregate::Sum, dtype)?;
    let votes =
        || forest.nodes.iter().filter_map(|n| if let Node::Leaf(v) = n { Some(v) } else { None }).flatten();
    let voted = votes().next().map(|vote| vote.0);
    let one_sided = voted.filter(|&one| classes == 2 && base.len() < 2 && votes().all(|vote| vote.0 == one));
    let Some(one) = one_sided else {
        let total = with_base(call, total, &base, classes)?;
        return labels.with_scores(call, &chosen(&total), transform.apply(&total));
    };
    let total = with_base(call, total.narrow(1, one, 1), &base, 1)?;
    let shares = votes().all(|vote| vote.1 >= 0.0);
    let bound = Array::full(&[], if shares { 0.5 } else { 0.0 }, dtype);
    let label = total.greater(&bound).squeeze([1]).astype(DType::I64);
    let scores = match one {
        0 => transform.two_sided(&total, shares),
        _ => transform.apply(&Array::concatenate(&[Array::zeros(&total.shape(), dtype), total], 1)),
    };
    labels.with_scores(call, &label, scores)
}
