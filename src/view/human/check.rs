//! How the user's own check after a restore ended, and the way back.

use crate::base::text::{escape, escape_bytes};
use crate::model::ended::CommandEnd;
use crate::ops::restore::restore_options::{Check, RestoreOutcome};
use crate::view::format::Paint;

/// What is said of a check that passed.
pub fn passed(check: &Check) -> String {
    format!("check passed: {}\n", escape(&check.command))
}

/// One line: what failed, how, and the way back.
pub fn failed(check: &Check, outcome: &RestoreOutcome, paint: Paint) -> String {
    let how = check.ended.map_or_else(|| "it could not be started".to_owned(), CommandEnd::in_words);
    let done = done(outcome);
    let hint = way_back(outcome).map(|hint| format!(" ({hint})")).unwrap_or_default();
    format!("{} the check failed with {how}: {}; {done}{hint}\n", paint.red("checkpoint:"), escape(&check.command))
}

/// What stands although the check did not pass.
pub fn done(outcome: &RestoreOutcome) -> String {
    let short = outcome.target.id.short();
    match (&outcome.to, outcome.safety) {
        (Some(to), _) => format!("{short} stays in {}", escape_bytes(to.as_os_str().as_encoded_bytes())),
        (None, Some(safety)) => format!("the restore to {short} is done, safety checkpoint {}", safety.short()),
        (None, None) => format!("the directory was at {short} already"),
    }
}

pub fn way_back(outcome: &RestoreOutcome) -> Option<String> {
    outcome.safety.is_some().then(|| "'checkpoint undo' takes the restore back".to_owned())
}
