//! What is printed and written of a run's outcomes.

use oneir::onnx::conformance::Case;
use serde_json::{Map, Value, json};

use super::worker::{Ending, Outcome};
use crate::error::CliError;

pub(super) struct Report<'a> {
    rows: Vec<(&'a str, Outcome)>,
}

impl<'a> Report<'a> {
    pub(super) fn new(cases: &'a [Case], outcomes: Vec<Outcome>) -> Report<'a> {
        Report { rows: cases.iter().map(|case| case.name.as_str()).zip(outcomes).collect() }
    }

    fn count(&self, ending: Ending) -> usize {
        self.rows.iter().filter(|(_, outcome)| outcome.ending == ending).count()
    }

    /// A line for each case that does not pass, and the totals.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (name, Outcome { ending, detail }) in &self.rows {
            if *ending != Ending::Pass {
                text.push_str(&format!("{:<7} {name}: {detail}\n", ending.name()));
            }
        }
        let totals: Vec<String> =
            Ending::ALL.iter().map(|&ending| format!("{ending} {}", self.count(ending))).collect();
        text + &totals.join(", ") + "\n"
    }

    pub(super) fn json(&self) -> Value {
        let totals: Map<String, Value> =
            Ending::ALL.iter().map(|&e| (e.name().to_owned(), json!(self.count(e)))).collect();
        let case = |(name, outcome): &(&str, Outcome)| json!({ "name": name, "result": outcome.ending.name(), "detail": outcome.detail });
        json!({ "totals": totals, "cases": self.rows.iter().map(case).collect::<Vec<_>>() })
    }

    /// # Errors
    /// When a case is wrong or crashed.
    pub(super) fn failure(&self) -> Result<(), CliError> {
        match (self.count(Ending::Wrong), self.count(Ending::Crash)) {
            (0, 0) => Ok(()),
            (wrong, crashed) => Err(CliError::Conformance { wrong, crashed, of: self.rows.len() }),
        }
    }
}
