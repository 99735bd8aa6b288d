use std::collections::BTreeMap;

use crate::RuntimeError;
use crate::plan::{BufferId, Home, Plan};

/// In the arena, every read finds what was written last, and no buffer is
/// written over while another one that is still read lies there. What is
/// computed once reads and writes only what is kept.
///
/// # Errors
/// The first launch that breaks this.
pub fn verify_plan(plan: &Plan) -> Result<(), RuntimeError> {
    for (at, launch) in plan.prologue.iter().enumerate() {
        for id in launch.reads.iter().chain(&launch.writes) {
            if matches!(plan.buffers[id.at()].home, Home::Arena(_) | Home::Output) {
                return Err(RuntimeError::BadPlan {
                    launch: at,
                    kernel: launch.prepared.kernel.into(),
                    problem: format!("buffer {} of each run is used by what is computed once", id.0),
                });
            }
        }
    }
    // Which buffer owns each range of the arena: start to (end, owner).
    let mut owners: BTreeMap<usize, (usize, BufferId)> = BTreeMap::new();
    for (at, launch) in plan.launches.iter().enumerate() {
        let wrong = |problem: String| RuntimeError::BadPlan {
            launch: at,
            kernel: launch.prepared.kernel.into(),
            problem,
        };
        for &read in &launch.reads {
            let buffer = &plan.buffers[read.at()];
            let Home::Arena(offset) = buffer.home else { continue };
            let end = offset + buffer.bytes;
            if owners.get(&offset) != Some(&(end, read)) {
                return Err(wrong(format!("buffer {} does not hold its value", read.0)));
            }
        }
        for &write in &launch.writes {
            let buffer = &plan.buffers[write.at()];
            let Home::Arena(offset) = buffer.home else { continue };
            let end = offset + buffer.bytes;
            if end > plan.arena && buffer.bytes > 0 {
                return Err(wrong(format!("buffer {} leaves the arena", write.0)));
            }
            let in_place = launch.reads.iter().any(|r| plan.buffers[r.at()].home == buffer.home);
            let allowed = !launch.prepared.in_place.is_empty();
            if in_place && !allowed {
                return Err(wrong(format!("buffer {} takes the place of an operand", write.0)));
            }
            let over: Vec<usize> = owners
                .range(..end.max(offset + 1))
                .filter(|(start, (stop, _))| *stop > offset || **start == offset)
                .map(|(start, _)| *start)
                .collect();
            for start in over {
                owners.remove(&start);
            }
            owners.insert(offset, (end, write));
        }
    }
    for output in &plan.outputs {
        if let Home::Arena(_) = plan.buffers[output.buffer.at()].home {
            return Err(RuntimeError::BadPlan {
                launch: plan.launches.len(),
                kernel: "the caller".into(),
                problem: format!("output buffer {} lies in the arena", output.buffer.0),
            });
        }
    }
    Ok(())
}
