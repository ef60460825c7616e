//! Checks a plan: invalid or duplicate ids, unknown dependencies and dependency cycles.

use std::collections::{BTreeMap, BTreeSet};

use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::Phase;

/// Returns all errors in these phases, with places such as `phases[1].dependencies[0]`.
pub fn check(phases: &[Phase]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let ids: BTreeSet<&str> = phases.iter().map(|phase| phase.id.as_str()).collect();
    let mut seen = BTreeSet::new();
    for (at, phase) in phases.iter().enumerate() {
        let mut add = |code, key: &str, what: String| {
            findings.push(Finding::new(code, format!("phases[{at}].{key}"), what));
        };
        if let Some(what) = wrong_id(&phase.id) {
            add("bad_name", "id", what.to_owned());
        }
        if !seen.insert(phase.id.as_str()) {
            let what = format!("another phase has the id '{}' already", phase.id);
            add("duplicate_id", "id", what);
        }
        for (number, id) in phase.dependencies.iter().enumerate() {
            if !ids.contains(id.as_str()) {
                let what = format!("'{}' depends on '{id}', and no phase has that id", phase.id);
                let key = format!("dependencies[{number}]");
                add("unknown_dependency", &key, what);
            }
        }
    }
    if let Some(ids) = cycle(phases) {
        let what = format!("the dependencies form a cycle: {}", ids.join(" → "));
        findings.push(Finding::new("cycle", "phases", what));
    }
    findings
}

/// Returns the ids along a dependency cycle, the first one again at the end.
fn cycle(phases: &[Phase]) -> Option<Vec<String>> {
    // Phases without remaining dependencies are removed; what is left leads into a cycle.
    let by_id = phases.iter().map(|phase| (phase.id.as_str(), phase));
    let mut left: BTreeMap<&str, &Phase> = by_id.collect();
    let mut count = 0;
    while count != left.len() {
        count = left.len();
        let known = left.clone();
        left.retain(|_, phase| onward(phase, &known).is_some());
    }
    let mut here = *left.values().next()?;
    let mut way: Vec<&str> = Vec::new();
    loop {
        way.push(&here.id);
        here = onward(here, &left)?;
        if let Some(start) = way.iter().position(|id| *id == here.id) {
            let cycle = way[start..].iter().chain([&way[start]]);
            return Some(cycle.map(ToString::to_string).collect());
        }
    }
}

/// Returns the first dependency of a phase among these phases.
fn onward<'p>(phase: &Phase, phases: &BTreeMap<&str, &'p Phase>) -> Option<&'p Phase> {
    let mut ids = phase.dependencies.iter();
    ids.find_map(|id| phases.get(id.as_str()).copied())
}

/// Returns what is wrong with a phase id.
pub fn wrong_id(id: &str) -> Option<&'static str> {
    let is_bad = id.trim().is_empty() || id.contains(char::is_control);
    is_bad.then_some("the id is empty or has control characters in it")
}
