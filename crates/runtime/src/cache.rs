use std::borrow::Cow;
use std::sync::Arc;

use oneir_ir::graph::TensorGraph;
use oneir_passes::{Options, Recipe, optimise, replay};
use rustc_hash::FxHashMap;

use crate::device::Runs;
use crate::execute::Executable;
use crate::key::GraphKey;
use crate::{Given, RuntimeError};

/// How often graphs met plans and skeletons that were there already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// The plan was there.
    pub plan_hits: u64,
    /// The skeleton was there: the graph was planned without running passes.
    pub skeleton_hits: u64,
    /// Passes ran.
    pub misses: u64,
    /// Plans held now.
    pub plans: usize,
    /// Skeletons held now.
    pub skeletons: usize,
}

/// What a plan is looked up by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct PlanKey {
    pub(crate) graph: GraphKey,
    pub(crate) given: Vec<Given>,
    pub(crate) runs: Runs,
}

/// A skeleton's recipes: the answers about sizes tell which fits.
type Recipes = Vec<Arc<Recipe>>;

/// A bounded cache: the oldest half goes when it is full.
#[derive(Default)]
pub(crate) struct Cache {
    plans: FxHashMap<PlanKey, (u64, Arc<Executable>)>,
    skeletons: FxHashMap<Vec<u8>, (u64, Recipes)>,
    clock: u64,
    /// Bytes of all keys held.
    weight: usize,
    pub(crate) counts: CacheCounts,
}

const MAX_PLANS: usize = 512;
const MAX_SKELETONS: usize = 512;
const MAX_KEY_BYTES: usize = 256 << 20;

impl Cache {
    pub(crate) fn plan(&mut self, key: &PlanKey) -> Option<Arc<Executable>> {
        self.clock += 1;
        let (used, plan) = self.plans.get_mut(key)?;
        *used = self.clock;
        self.counts.plan_hits += 1;
        Some(plan.clone())
    }

    pub(crate) fn recipes(&mut self, form: &[u8]) -> Recipes {
        self.clock += 1;
        match self.skeletons.get_mut(form) {
            Some((used, recipes)) => {
                *used = self.clock;
                recipes.clone()
            }
            None => Vec::new(),
        }
    }

    pub(crate) fn insert(&mut self, key: PlanKey, plan: Arc<Executable>) {
        let bytes = key.graph.form.len() + 8 * key.graph.sizes.len();
        if self.plans.len() >= MAX_PLANS || self.weight + bytes > MAX_KEY_BYTES {
            let mut ages: Vec<u64> = self.plans.values().map(|(used, _)| *used).collect();
            ages.sort_unstable();
            let middle = ages.get(ages.len() / 2).copied().unwrap_or(0);
            self.plans.retain(|_, (used, _)| *used > middle);
            self.weight = self.plans.keys().map(|k| k.graph.form.len() + 8 * k.graph.sizes.len()).sum();
        }
        if bytes <= MAX_KEY_BYTES {
            self.weight += bytes;
            self.plans.insert(key, (self.clock, plan));
        }
    }

    pub(crate) fn insert_recipe(&mut self, form: Vec<u8>, recipe: Arc<Recipe>) {
        if self.skeletons.len() >= MAX_SKELETONS {
            let mut ages: Vec<u64> = self.skeletons.values().map(|(used, _)| *used).collect();
            ages.sort_unstable();
            let middle = ages.get(ages.len() / 2).copied().unwrap_or(0);
            self.skeletons.retain(|_, (used, _)| *used > middle);
        }
        if form.len() <= MAX_KEY_BYTES / 4 {
            self.skeletons.entry(form).or_insert_with(|| (self.clock, Vec::new())).1.push(recipe);
        }
    }

    pub(crate) fn counts(&self) -> CacheCounts {
        CacheCounts {
            plans: self.plans.len(),
            skeletons: self.skeletons.values().map(|(_, recipes)| recipes.len()).sum(),
            ..self.counts
        }
    }
}

/// The optimised graph, by a recipe where one fits, and the new recipe where
/// none did.
pub(crate) fn optimised(
    lifted: Cow<'_, TensorGraph>,
    options: &Options,
    recipes: &Recipes,
) -> Result<(TensorGraph, Option<Recipe>), RuntimeError> {
    for recipe in recipes {
        if let Some(graph) = replay(&lifted, recipe)? {
            return Ok((graph, None));
        }
    }
    let (graph, recipe) = optimise(lifted.into_owned(), options)?;
    Ok((graph, Some(recipe)))
}
