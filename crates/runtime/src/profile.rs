use std::time::Instant;

use crate::Plan;

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
}

/// The times of the launches of one or more runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    began: Instant,
    /// In the order in which they ran.
    pub launches: Vec<LaunchTime>,
}

impl Default for Profile {
    fn default() -> Self {
        Profile { began: Instant::now(), launches: Vec::new() }
    }
}

impl Profile {
    /// What to call after each launch of a plan.
    pub(crate) fn recorder<'a>(&'a mut self, plan: &'a Plan) -> impl FnMut(usize) + 'a {
        let mut last = Instant::now();
        move |at| {
            let now = Instant::now();
            let launch = &plan.launches[at];
            self.launches.push(LaunchTime {
                symbol: launch.symbol,
                kernel: launch.prepared.kernel,
                start: last.duration_since(self.began).as_secs_f64(),
                seconds: now.duration_since(last).as_secs_f64(),
            });
            last = now;
        }
    }
}
