//! Checks that a plan first makes what is hardest to make again: issues, commits, files, then docs.

use std::collections::BTreeSet;

use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::{Class, Phase};
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::workflow::Workflow;

/// Returns the class as given, or guessed from id and name; the default is files.
fn class_of(phase: &Phase) -> Class {
    let text = format!("{} {}", phase.id, phase.name).to_lowercase();
    let guess = |word| match word {
        "issue" | "issues" => Class::Issues,
        "commit" | "commits" => Class::Commits,
        "doc" | "docs" | "documentation" | "readme" | "reference" | "references" => Class::Docs,
        _ => Class::Other,
    };
    let guesses = text.split(|c: char| !c.is_alphanumeric()).map(guess).min();
    let guess = guesses.filter(|class| *class != Class::Other);
    phase.class.or(guess).unwrap_or(Class::Files)
}

/// Finds phases that come too late: a pending phase of a more precious class than an earlier
/// pending one, unless it depends on that one.
///
/// A commit gathers earlier work, so one after files is in place if an earlier commit precedes
/// those files. Issues have no such exception.
pub fn lint(workflow: &Workflow) -> Vec<Finding> {
    let is_pending =
        |phase: &Phase| phase.status == PhaseStatus::Pending && class_of(phase) != Class::Other;
    let mut findings = Vec::new();
    for (at, late) in workflow.phases.iter().enumerate() {
        let class = class_of(late);
        let needed = all_before(workflow, late);
        let mut has_commit = false;
        let early = workflow.phases[..at].iter().find(|early| {
            let is_excused = class == Class::Commits && has_commit;
            has_commit |= class_of(early) == Class::Commits;
            let is_due_later = is_pending(early) && class_of(early) > class;
            is_due_later && !is_excused && !needed.contains(&*early.id)
        });
        if let Some(early) = early.filter(|_| is_pending(late)) {
            let (class, other) = (class.into_str(), class_of(early).into_str());
            let what = format!(
                "'{}' makes {class} and comes after '{}', which makes {other}; {class} are harder to make again, so put it first",
                late.id, early.id
            );
            findings.push(Finding::new("phase_order", format!("phases[{at}]"), what));
        }
    }
    findings
}

/// Returns all direct and indirect dependencies.
fn all_before<'w>(workflow: &'w Workflow, phase: &'w Phase) -> BTreeSet<&'w str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&Phase> = vec![phase];
    while let Some(phase) = open.pop() {
        for id in &phase.dependencies {
            if found.insert(id.as_str()) {
                open.extend(workflow.phase(id));
            }
        }
    }
    found
}
