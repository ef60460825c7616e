//! Findings and conflicts of a run, as text.

use crate::base::text::{escape, escape_line};
use crate::workflow::documents::conflict::Conflict;
use crate::workflow::engine::report::Status;
use crate::workflow::rules::finding::Finding;

pub fn finding(finding: &Finding) -> String {
    if finding.place.is_empty() {
        return escape_line(&finding.what);
    }
    format!("{}: {}", escape(&finding.place), escape_line(&finding.what))
}

/// Lists files that could not be imported.
pub fn conflicts(conflicts: &[Conflict]) -> String {
    conflicts
        .iter()
        .map(|conflict| format!("{}\n", escape_line(&conflict.in_words())))
        .collect()
}

/// Lists findings, possible repairs and conflicts.
pub fn remarks(status: &Status) -> String {
    let mut talk = conflicts(&status.conflicts);
    talk.push_str(&findings(status));
    talk.extend(
        status
            .repairs
            .iter()
            .map(|repair| format!("to recover: {}\n", escape_line(&repair.what))),
    );
    talk
}

pub fn findings(status: &Status) -> String {
    let mut talk = String::new();
    for one in &status.report.errors {
        talk.push_str(&format!("wrong: {}\n", finding(one)));
    }
    for one in &status.report.remarks {
        talk.push_str(&format!("note: {}\n", finding(one)));
    }
    talk
}

/// Lists phases of a plan that should come earlier.
pub fn order(found: &[Finding]) -> String {
    found
        .iter()
        .map(|one| format!("order: {}\n", finding(one)))
        .collect()
}
