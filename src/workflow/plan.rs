//! Plans of phases, from the command line, a preset or a document, and their checks.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Not;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::base::Spelling;
use crate::base::json::merge::{is_nothing, merge};
use crate::base::json::remove_nulls;
use crate::workflow::profiles::format::{
    check_version, name, parse, place_in, with_fields_of, with_more, word,
};
use crate::workflow::{Class, Finding, Found, Phase, PhaseStatus, Workflow};

/// The five phases of `dotagent`; a run of that format ends with the last one.
pub const DOTAGENT: [&str; 5] = [
    "REQUIREMENTS",
    "ARCHITECTURE",
    "IMPLEMENTATION",
    "VERIFICATION",
    "REFLECTION",
];

/// Parses `id`, `id:Name` or `id:Name:dep1,dep2`. The name may contain colons if dependencies, or a
/// final colon, follow.
pub fn from_words(words: &str) -> Phase {
    let (id, rest) = words.split_once(':').unwrap_or((words, ""));
    let (name, dependencies) = rest.rsplit_once(':').unwrap_or((rest, ""));
    let (id, name) = (id.trim(), name.trim());
    let mut phase = Phase::new(id, name);
    if name.is_empty() {
        phase.name = title(id);
    }
    let ids = dependencies.split(',').map(str::trim);
    let ids = ids.filter(|id| !id.is_empty());
    phase.dependencies = ids.map(str::to_owned).collect();
    phase
}

/// The built-in plan of the five phases.
const DOTAGENT_PLAN: &str = include_str!("dotagent.json");

/// Returns the phases of a built-in plan.
pub fn preset(name: &str) -> Option<Vec<Phase>> {
    let plan = (name == "dotagent").then_some(DOTAGENT_PLAN)?;
    Some(from_document(&serde_json::from_str(plan).ok()?).ok()?.0)
}

/// Turns `write-source` into `Write Source`.
fn title(id: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        let is_shouted = word.len() > 1 && word == word.to_uppercase();
        let lower = rest.to_lowercase();
        first.to_uppercase() + if is_shouted { &lower } else { rest }
    };
    let words = id.split(['-', '_', ' ', '.']);
    let words = words.filter(|word| !word.is_empty());
    let made = words.map(word).collect::<Vec<_>>().join(" ");
    if made.is_empty() { id.to_owned() } else { made }
}

/// Key among the documents of a run for the plan with which it was begun.
pub const PLAN: &str = "plan";
pub const DEPENDENCY_KEYS: &[&str] = &["dependencies", "depends_on", "dependsOn", "deps"];
const SPELLING: Spelling = Spelling {
    aliases: &[DEPENDENCY_KEYS],
    keeps_keys: false,
};

#[derive(Serialize, Deserialize)]
struct Plan {
    #[serde(rename = "type")]
    kind: Option<String>,
    project: Option<String>,
    description: Option<String>,
    branch: Option<String>,
    phases: Vec<PlannedPhase>,
}

/// A phase as in a run, of which only `id` is required.
#[derive(Default, Serialize, Deserialize)]
struct PlannedPhase {
    #[serde(deserialize_with = "name")]
    id: String,
    /// The id by default.
    #[serde(default)]
    name: String,
    #[serde(default)]
    dependencies: Vec<String>,
    #[serde(default, deserialize_with = "word")]
    status: PhaseStatus,
    class: Option<Class>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    writes: Vec<String>,
    #[serde(default, skip_serializing_if = "Not::not")]
    commits: bool,
    #[serde(default, skip_serializing_if = "Not::not")]
    requires_approval: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    outputs: Vec<Output>,
}

#[derive(Serialize, Deserialize)]
struct Output {
    #[serde(alias = "file")]
    path: String,
    required: bool,
}

/// Reads the phases of a plan as far as possible, with the errors in it.
///
/// # Errors
/// Nothing can be read.
pub fn from_document(value: &Value) -> Found<(Vec<Phase>, Vec<Finding>)> {
    let (plan, findings) = read(value)?;
    Ok((plan.phases.iter().map(with_fields_of).collect(), findings))
}

/// Writes the current plan over the one that was read.
pub fn to_document(workflow: &Workflow) -> Value {
    let base = workflow.documents.get(PLAN);
    let was = base.and_then(|base| Some((base, to_json(&read(base).ok()?.0))));
    let mut now = to_json(&Plan {
        kind: Some(workflow.kind.clone()),
        project: Some(workflow.project.clone()),
        description: Some(workflow.description.clone()),
        branch: workflow.branch.clone(),
        phases: workflow.phases.iter().map(with_fields_of).collect(),
    });
    // Keys that describe the run: those of the plan, or those that say something.
    let is_wanted = |key: &str, value: &Value| match &was {
        Some((_, was)) => was.get(key).is_some(),
        None => key == "phases" || !is_nothing(value),
    };
    if let Some(fields) = now.as_object_mut() {
        fields.retain(|key, value| is_wanted(key, value));
    }
    match was {
        Some((base, was)) => merge(base, &was, &now, SPELLING),
        None => now,
    }
}

fn to_json(plan: &Plan) -> Value {
    let mut value = serde_json::to_value(plan).unwrap_or_default();
    remove_nulls(&mut value);
    value
}

fn read(value: &Value) -> Found<(Plan, Vec<Finding>)> {
    let mut usual = value.clone();
    remove_nulls(&mut usual);
    let phases = usual.get_mut("phases").and_then(Value::as_array_mut);
    phases.into_iter().flatten().for_each(name_outputs);
    let (mut plan, mut findings) = parse::<Plan>(value, usual, SPELLING)?;
    findings.extend(check_version(value));
    for phase in plan.phases.iter_mut().filter(|phase| phase.name.is_empty()) {
        phase.name.clone_from(&phase.id);
    }
    let entries = value["phases"].as_array().into_iter().flatten();
    let twice = entries
        .enumerate()
        .filter(|(_, entry)| has_two_lists(entry));
    findings.extend(twice.map(|(at, _)| {
        let place = place_in(value, &format!("phases[{at}].dependencies"), SPELLING);
        let what = "its dependencies are given twice, and differ";
        Finding::new("two_lists", place, what)
    }));
    Ok((plan, findings))
}

/// Gives the outputs of a phase, which may be paths, the usual shape; they are required by default.
fn name_outputs(phase: &mut Value) {
    let outputs = phase.get_mut("outputs").and_then(Value::as_array_mut);
    for output in outputs.into_iter().flatten() {
        if output.is_string() {
            *output = json!({ "path": output });
        }
        if let Some(output) = output.as_object_mut() {
            output.entry("required").or_insert(true.into());
        }
    }
}

fn has_two_lists(entry: &Value) -> bool {
    let lists = DEPENDENCY_KEYS.iter().map(|key| &entry[*key]);
    let lists: Vec<&Value> = lists.filter(|list| !is_nothing(list)).collect();
    lists.windows(2).any(|pair| pair[0] != pair[1])
}

/// Returns all errors in the phases of a run, beside the `known` ones in the document of its plan.
pub fn check_plan(run: &Workflow, known: Vec<Finding>) -> Vec<Finding> {
    let document = run.documents.get(PLAN).unwrap_or(&Value::Null);
    let more = check(&run.phases, |at| format!("phases[{at}]"));
    with_more(known, more, document, SPELLING)
}

/// Returns all errors in these phases, with the `place` of each in its document.
pub fn check<'p>(
    phases: impl IntoIterator<Item = &'p Phase>,
    place: impl Fn(usize) -> String,
) -> Vec<Finding> {
    let (phases, mut findings) = (Vec::from_iter(phases), Vec::new());
    let ids: BTreeSet<&str> = phases.iter().map(|phase| phase.id.as_str()).collect();
    let mut seen = BTreeSet::new();
    for (at, phase) in phases.iter().enumerate() {
        let mut add = |code, key: &str, what: String| {
            findings.push(Finding::new(code, format!("{}.{key}", place(at)), what));
        };
        if phase.id.trim().is_empty() || phase.id.contains(char::is_control) {
            let what = "the id is empty or has control characters in it";
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
    if let Some(ids) = cycle(&phases) {
        let what = format!("the dependencies form a cycle: {}", ids.join(" → "));
        let at = phases.iter().position(|phase| phase.id == ids[0]);
        findings.push(Finding::new("cycle", place(at.unwrap_or_default()), what));
    }
    findings
}

/// Returns the ids along a dependency cycle, the first one again at the end.
fn cycle(phases: &[&Phase]) -> Option<Vec<String>> {
    let by_id = phases.iter().map(|phase| (&phase.id, *phase));
    let mut left: BTreeMap<&String, &Phase> = by_id.collect();
    let onward = |phase: &Phase, left: &BTreeMap<&String, &Phase>| {
        let mut ids = phase.dependencies.iter();
        ids.find(|id| left.contains_key(id)).cloned()
    };
    // Phases without remaining dependencies are removed; what is left leads into a cycle.
    let mut count = 0;
    while count != left.len() {
        count = left.len();
        let known = left.clone();
        left.retain(|_, phase| onward(phase, &known).is_some());
    }
    let mut way = vec![(*left.keys().next()?).clone()];
    loop {
        let next = onward(left.get(way.last()?)?, &left)?;
        let start = way.iter().position(|id| *id == next);
        way.push(next);
        if let Some(start) = start {
            return Some(way.split_off(start));
        }
    }
}

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
    let phases = workflow.phases.iter();
    let phases: Vec<(&Phase, Class)> = phases.map(|phase| (phase, class_of(phase))).collect();
    let is_pending =
        |phase: &Phase, class| phase.status == PhaseStatus::Pending && class != Class::Other;
    let mut findings = Vec::new();
    for (at, &(late, class)) in phases.iter().enumerate() {
        let needed = LazyCell::new(|| all_before(workflow, late));
        let mut has_commit = false;
        let early = phases[..at].iter().find(|(early, other)| {
            let is_excused = class == Class::Commits && has_commit;
            has_commit |= *other == Class::Commits;
            let is_due_later = is_pending(early, *other) && *other > class;
            is_due_later && !is_excused && !needed.contains(&*early.id)
        });
        if let Some((early, other)) = early.filter(|_| is_pending(late, class)) {
            let (class, other) = (class.into_str(), other.into_str());
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

#[cfg(test)]
mod tests;
