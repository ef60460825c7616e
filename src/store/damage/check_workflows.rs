//! Checks the whole line of each run. Damage there is reported apart from checkpoints.

use crate::error::Result;
use crate::store::damage::check_report::finding;
use crate::store::runs::{run_line, run_refs};
use crate::store::{CheckReport, CheckpointChecker, Fault, RefValue, Store};

/// Reports each run that is not intact.
///
/// # Errors
/// The refs cannot be read, or the caller asked to stop.
pub fn check(
    store: &Store,
    checker: &mut CheckpointChecker<'_>,
    report: &mut CheckReport,
) -> Result<()> {
    let layout = store.layout();
    let read = run_refs::read(layout)?;
    let is_torn = read.values().any(|value| *value == RefValue::Torn);
    let tips = is_torn
        .then(|| run_line::tips(layout, store.objects()))
        .transpose()?;
    let tips = tips.unwrap_or_default();
    for (id, value) in read {
        let path = run_refs::path(layout, &id);
        let found = |why: &str| finding(layout, &path, format!("workflow {id}: {why}"));
        match value {
            RefValue::Id(tip) => {
                let faults = checker.check_commits(tip, report)?;
                let no_state = || {
                    run_line::transition(store.objects(), tip)
                        .err()
                        .map(|why| why.to_string())
                };
                let why = faults.first().map(in_words).or_else(no_state);
                report.files.extend(why.as_deref().map(found));
            }
            RefValue::Torn if tips.get(&id) == Some(&None) => report
                .files
                .push(found("its ref names no commit, or is gone")),
            RefValue::Torn => {
                report.derived.push(found(
                    "its ref is torn or gone, and its commits tell what it was",
                ));
            }
        }
    }
    Ok(())
}

fn in_words(fault: &Fault) -> String {
    match &fault.path {
        Some(path) if !path.is_root() => format!("{path}: {}", fault.why),
        _ => fault.why.clone(),
    }
}
