use std::sync::Arc;
use std::time::Instant;

use oneir_ir::graph::OpId;
use oneir_ir::{Place, Spec};

use crate::{Plan, Steps};

/// The time that one launch took.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchTime {
    /// The op's name.
    pub symbol: &'static str,
    /// The kernel's name.
    pub kernel: &'static str,
    /// Seconds since the profile began, at the launch's start.
    pub start: f64,
    /// Seconds that it took.
    pub seconds: f64,
    /// What the op reads, in operand order.
    pub reads: Vec<Spec>,
    /// What it gives.
    pub gives: Vec<Spec>,
    /// The ops of the recorded graph that it computes; none after a break on
    /// the host, where ops have other numbers.
    pub covers: Vec<OpId>,
    /// Where these were written, as far as the caller knows.
    pub places: Vec<Place>,
}

/// The times of the launches of one or more runs.
#[derive(Debug, Clone)]
pub struct Profile {
    began: Instant,
    /// Where launches are only to be counted, those of the plan that runs.
    counted: Option<Arc<Steps>>,
    /// In the order in which they ran.
    pub launches: Vec<LaunchTime>,
}

impl Default for Profile {
    fn default() -> Self {
        Profile { began: Instant::now(), counted: None, launches: Vec::new() }
    }
}

impl Profile {
    /// One that keeps no times, and says how many launches are done of the plan
    /// that runs.
    pub fn counting(steps: Arc<Steps>) -> Profile {
        Profile { counted: Some(steps), ..Profile::default() }
    }

    /// Notes where the launches from a number on were written, in a graph whose
    /// recorded ops were written at these places.
    pub fn place(&mut self, from: usize, places: &[Place]) {
        for launch in self.launches.iter_mut().skip(from) {
            launch.places = launch.covers.iter().filter_map(|op| places.get(op.at()).cloned()).collect();
        }
    }

    /// What to call after each launch of a plan.
    pub(crate) fn recorder<'a>(&'a mut self, plan: &'a Plan) -> impl FnMut(usize) + 'a {
        let mut last = Instant::now();
        if let Some(steps) = &self.counted {
            steps.set(0, plan.launches.len());
        }
        move |at| {
            if let Some(steps) = &self.counted {
                steps.step();
                return;
            }
            let now = Instant::now();
            let launch = &plan.launches[at];
            let op = &plan.graph.ops[launch.op as usize];
            self.launches.push(LaunchTime {
                symbol: launch.symbol,
                kernel: launch.prepared.kernel,
                start: last.duration_since(self.began).as_secs_f64(),
                seconds: now.duration_since(last).as_secs_f64(),
                reads: op.operands.iter().map(|operand| plan.graph.spec(operand.tensor)).collect(),
                gives: op.results.iter().map(|result| plan.graph.spec(result.tensor)).collect(),
                covers: op.covers.to_vec(),
                places: Vec::new(),
            });
            // Writing the record is no part of the next launch.
            last = Instant::now();
        }
    }
}
