//! Findings and conflicts of a run, as text.

use crate::base::text::{escape, escape_line};
use crate::workflow::documents::conflict::Trouble;
use crate::workflow::engine::report::Status;
use crate::workflow::rules::finding::Finding;

pub fn finding(finding: &Finding) -> String {
    if finding.place.is_empty() {
        return escape_line(&finding.what);
    }
    format!("{}: {}", escape(&finding.place), escape_line(&finding.what))
}

/// Lists files that could not be taken in.
pub fn troubles(troubles: &[Trouble]) -> String {
    troubles
        .iter()
        .map(|trouble| format!("{}\n", escape_line(&trouble.in_words())))
        .collect()
}

/// Lists findings, possible repairs and conflicts.
pub fn remarks(status: &Status) -> String {
    let mut talk = troubles(&status.troubles);
    talk.push_str(&findings(status));
    talk.extend(
        status
            .mends
            .iter()
            .map(|mend| format!("to recover: {}\n", escape_line(&mend.what))),
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
