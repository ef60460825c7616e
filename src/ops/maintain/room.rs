//! What would give room where a disk is full.

use crate::error::{Error, More, Result, Sentence};
use crate::model::{PolicyChange, RestorePlan};
use crate::ops::maintain::prune;
use crate::ops::restore::restore_paths::as_typed;
use crate::ops::{Context, KeepOptions, PruneOutcome, RestoreRequest};
use crate::store::files::atomic_file::is_full;

/// Least number of bytes that are worth a hint.
const WORTH_BYTES: u64 = 64 << 10;

/// Adds to a failure of the store for lack of room what gives some.
pub fn named_in(context: &Context, failure: Error) -> Error {
    let is_of_store = |path: &std::path::Path| path.starts_with(&context.base);
    if failure.is_full()
        && failure
            .io_failure()
            .is_some_and(|(path, _)| is_of_store(path))
    {
        failure.next(in_store(context))
    } else {
        failure
    }
}

/// Looks for what a prune would give, by the configured policy or with half of the checkpoints.
fn in_store(context: &Context) -> Sentence {
    let look = |keep: Option<usize>| -> Option<PruneOutcome> {
        let change = PolicyChange {
            keep,
            ..PolicyChange::default()
        };
        let keep = KeepOptions {
            change,
            ..KeepOptions::default()
        };
        let found: Result<_> = prune::prune(context, &keep, true);
        found.ok()
    };
    let frees = |found: &PruneOutcome| found.whole_pack_bytes >= WORTH_BYTES;
    let usual = look(None);
    if usual.as_ref().is_some_and(frees) {
        return Sentence::new("'checkpoint prune' frees space and needs none", &[]);
    }
    let half = usual.map_or(0, |found| found.kept.len() / 2);
    if half > 0 && look(Some(half)).as_ref().is_some_and(frees) {
        let words = "'checkpoint prune --keep {}' frees space and needs none";
        return Sentence::new(words, &[&half.to_string()]);
    }
    Sentence::text("free some space on that disk first: a prune would free none")
}

/// Adds to a failure of a restore for lack of room the largest file that it would delete.
pub fn by_deleting(failure: Error, request: &RestoreRequest<'_>, plan: &RestorePlan) -> Error {
    let largest = plan.delete.iter().max_by_key(|(_, entry)| entry.size_bytes);
    let scope = &request.scope;
    let is_whole = scope.paths.is_empty() && scope.filter.is_empty() && !scope.overlay;
    let is_of_tree = |more: &More| matches!(more, More::File { is_of_project: true, source, .. } if is_full(source));
    let largest = largest.filter(|(_, entry)| entry.size_bytes >= WORTH_BYTES);
    match (largest, &request.again) {
        (Some((largest, _)), Some(again)) if is_whole && is_of_tree(&failure.more) => {
            let command = again
                .clone()
                .with([as_typed(&request.context.root, largest)]);
            failure.next(
                Sentence::text("nothing was changed; ")
                    .then_command(command)
                    .then(" first deletes the largest file that goes"),
            )
        }
        _ => failure,
    }
}
