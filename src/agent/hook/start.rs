//! What a new session is told: facts about the checkpoints here, in one line.

use crate::base::text::escape_line;
use crate::base::time::age;
use crate::error::sentence::CommandWords;
use crate::model::checkpoint::selector;
use crate::ops::context::Context;
use crate::store::repository::Store;
use crate::workflow::engine::runs::Runs;

/// Upper bound on the line, and on a reason or name in it, in characters.
const LONGEST_LINE: usize = 600;
const LONGEST_NAME: usize = 80;

/// Returns the line; `None` where there is no checkpoint and no open workflow.
pub fn line(context: &Context, store: &Store) -> Option<String> {
    let inventory = store.inventory().ok()?;
    let checkpoints = &inventory.checkpoints;
    let count = checkpoints.regular_count();
    let mut facts = Vec::new();
    if let Some(latest) = selector::latest(checkpoints, 0) {
        facts.push(format!(
            "checkpoint has {count} {} of this directory; the latest, {}, is {} old ({}).",
            if count == 1 {
                "checkpoint"
            } else {
                "checkpoints"
            },
            latest.id.short(),
            age(latest.record.time_ms, context.now_ms),
            short(&latest.record.reason)
        ));
    }
    let runs = Runs::live(store).ok()?;
    let open = runs.runs.iter().find(|run| run.workflow.status.is_open());
    if let Some(run) = open {
        let command = CommandWords::new(["workflow", "status", run.id()]);
        let phase = run.workflow.next();
        let at = phase.map_or_else(String::new, |phase| format!(" at {}", short(&phase.name)));
        facts.push(format!(
            "The workflow {} is unfinished{at}; {command} shows it.",
            short(run.workflow.named())
        ));
    }
    let line: String = facts.join(" ").chars().take(LONGEST_LINE).collect();
    Some(line).filter(|line| !line.is_empty())
}

fn short(text: &str) -> String {
    escape_line(text).chars().take(LONGEST_NAME).collect()
}
