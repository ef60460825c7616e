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
                add(
                    "unknown_dependency",
                    &format!("dependencies[{number}]"),
                    what,
                );
            }
        }
    }
    findings.extend(cycle(phases).map(|ids| {
        let what = format!("the dependencies form a cycle: {}", ids.join(" → "));
        Finding::new("cycle", "phases", what)
    }));
    findings
}

/// Returns the ids along a dependency cycle, the first one again at the end.
fn cycle(phases: &[Phase]) -> Option<Vec<String>> {
    // Phases without remaining dependencies are removed; what is left leads into a cycle.
    let mut left: BTreeMap<&str, &Phase> = phases
        .iter()
        .map(|phase| (phase.id.as_str(), phase))
        .collect();
    loop {
        let (count, known) = (left.len(), left.clone());
        left.retain(|_, phase| onward(phase, &known).is_some());
        if left.len() == count {
            break;
        }
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
    if id.trim().is_empty() {
        return Some("the id is empty");
    }
    let is_bad = id.contains(char::is_control);
    is_bad.then_some("the id has control characters in it")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(phases: &[(&str, &[&str])]) -> Vec<Phase> {
        let phase = |(id, dependencies): &(&str, &[&str])| {
            let mut phase = Phase::new(id, id);
            phase.dependencies = dependencies.iter().map(ToString::to_string).collect();
            phase
        };
        phases.iter().map(phase).collect()
    }

    #[test]
    fn a_plan_may_name_what_comes_later() {
        assert_eq!(
            check(&plan(&[("a", &["b"]), ("b", &[]), ("c", &["a", "b"])])),
            []
        );
        assert_eq!(check(&[]), []);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let findings = check(&plan(&[("a", &["x"]), ("", &[]), ("a", &[]), ("b\n", &[])]));
        let found: Vec<_> = findings
            .iter()
            .map(|finding| (finding.code, finding.place.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("unknown_dependency", "phases[0].dependencies[0]"),
                ("bad_name", "phases[1].id"),
                ("duplicate_id", "phases[2].id"),
                ("bad_name", "phases[3].id"),
            ]
        );
    }

    #[test]
    fn a_circle_is_named_without_the_way_that_leads_there() {
        let ids_of = |phases| cycle(&plan(phases)).map(|ids| ids.join(" "));
        assert_eq!(
            ids_of(&[("z", &["a"]), ("a", &["b"]), ("b", &["c"]), ("c", &["a"])]),
            Some("a b c a".to_owned())
        );
        assert_eq!(ids_of(&[("a", &["a"])]), Some("a a".to_owned()));
        assert_eq!(ids_of(&[("a", &[]), ("b", &["a"])]), None);
        let findings = check(&plan(&[("a", &["b"]), ("b", &["a"])]));
        assert!(findings[0].what.ends_with("a → b → a"), "{findings:?}");
    }
}
