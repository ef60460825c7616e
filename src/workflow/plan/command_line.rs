//! Phases as the command line gives them: each in words, or all of a preset.

use crate::workflow::plan::check::wrong_id;
use crate::workflow::plan::from_document;
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::Phase;

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
///
/// # Errors
/// A finding about the argument.
pub fn from_words(words: &str) -> Result<Phase, Finding> {
    let (id, rest) = words.split_once(':').unwrap_or((words, ""));
    let (name, dependencies) = rest.rsplit_once(':').unwrap_or((rest, ""));
    let (id, name) = (id.trim(), name.trim());
    if let Some(what) = wrong_id(id) {
        return Err(Finding::new("bad_name", words, what));
    }
    let mut phase = Phase::new(id, name);
    if name.is_empty() {
        phase.name = title(id);
    }
    let ids = dependencies.split(',').map(str::trim);
    let ids = ids.filter(|id| !id.is_empty());
    phase.dependencies = ids.map(str::to_owned).collect();
    Ok(phase)
}

/// The built-in plan of the five phases.
const DOTAGENT_PLAN: &str = r#"{"phases": [
    {"id": "REQUIREMENTS", "name": "Requirements", "outputs": ["memory/reports/demand.json"]},
    {"id": "ARCHITECTURE", "name": "Architecture", "dependencies": ["REQUIREMENTS"],
     "requires_approval": true,
     "outputs": ["memory/reports/final_design.json",
                 {"path": "memory/reports/designs/", "required": false}]},
    {"id": "IMPLEMENTATION", "name": "Implementation", "dependencies": ["ARCHITECTURE"],
     "outputs": ["memory/state/execution.json"]},
    {"id": "VERIFICATION", "name": "Verification", "dependencies": ["IMPLEMENTATION"],
     "outputs": ["memory/reports/verification.json"]},
    {"id": "REFLECTION", "name": "Reflection", "dependencies": ["VERIFICATION"],
     "outputs": ["memory/reports/reflection*"]}
]}"#;

/// Returns the phases of a built-in plan.
pub fn preset(name: &str) -> Option<Vec<Phase>> {
    let plan = (name == "dotagent").then_some(DOTAGENT_PLAN)?;
    from_document(&serde_json::from_str(plan).ok()?).ok()
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
