//! The contracts of a checkpoint and of a restore as documents, in YAML or JSON; each field is
//! computed from data read back.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Value, json, to_value};

use crate::base::json::{self, embedded};
use crate::base::shell_word::shell_line;
use crate::base::text::{escape_path, is_deceptive};
use crate::base::time::{rfc3339_seconds, utc_date};
use crate::model::json::{JsonSchema, Serialize, paths, plan_changes};
use crate::model::{ChangeJson, CheckpointType, Expiry, PathName, RelPath, Verb};
use crate::ops::contract::create_facts::{Contract, RestoreContract};
use crate::ops::{CreateOutcome, RestoreOutcome};

/// A contract, printed alone or inside another document.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub struct ContractDocument {
    pub(in crate::answer) value: Value,
    #[serde(skip)]
    is_proven: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContractForm {
    #[default]
    Yaml,
    /// On one line.
    Json,
}

impl ContractDocument {
    fn new(contract: impl Serialize, is_proven: bool) -> Self {
        let value = to_value(contract).unwrap_or_default();
        Self { value, is_proven }
    }

    /// Whether every check in it passed.
    pub fn is_proven(&self) -> bool {
        self.is_proven
    }

    pub fn text(&self, form: ContractForm) -> String {
        match form {
            ContractForm::Yaml => yaml(&self.value, 0),
            ContractForm::Json => json::document(&self.value, false),
        }
    }
}

/// The call as described in a contract.
pub struct Call {
    /// The anchor of the call, as it was typed.
    pub anchor: String,
    /// The command that runs this program.
    pub program: String,
    pub root: PathBuf,
    /// The folder of all stores, unless the default.
    pub base: Option<PathBuf>,
}

impl Call {
    /// Formats a command that works from any directory.
    pub fn line(&self, words: &[&str]) -> String {
        let mut all: Vec<&[u8]> = vec![self.program.as_bytes()];
        all.extend(words.iter().map(|word| word.as_bytes()));
        all.extend([b"-C".as_slice(), self.root.as_os_str().as_encoded_bytes()]);
        if let Some(base) = &self.base {
            all.extend([b"--base".as_slice(), base.as_os_str().as_encoded_bytes()]);
        }
        shell_line(all)
    }
}

/// The contract of a checkpoint.
#[derive(Default, Serialize, JsonSchema)]
pub struct CheckpointContract {
    checkpoint_created: bool,
    /// Null if none was made.
    checkpoint: Option<Contracted>,
    pre_mutation_state: StateBefore,
    next_safe_actions: Vec<String>,
    #[schemars(range(min = 0, max = 1))]
    confidence: f64,
    /// What was called, where it is stored, how to check it, and the answers to four questions.
    #[schemars(length(min = 1), inner(regex(pattern = "^(tool:bash|file|check):")))]
    evidence_anchors: Vec<String>,
    assumptions: Vec<String>,
}

/// The checkpoint of a contract.
#[derive(Serialize, JsonSchema)]
struct Contracted {
    #[schemars(regex(pattern = "^chk_[0-9]{8}_[0-9]{6}_[0-9a-f]{6}$"))]
    id: String,
    /// `git_stash`, `file_backup`, `state_snapshot` or `database_savepoint`.
    #[serde(rename = "type")]
    checkpoint_type: &'static str,
    created_at: String,
    scope: ContractScope,
    restore_command: String,
    /// When a prune may drop it; `never`: no policy does; null: the number kept decides.
    expiry: Option<String>,
}

/// What the checkpoint holds.
#[derive(Serialize, JsonSchema)]
struct ContractScope {
    files: Vec<String>,
    state_keys: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    databases: Vec<String>,
    /// The bytes of those names that are not UTF-8.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files_hex: Vec<String>,
}

/// The state that is held.
#[derive(Default, Serialize, JsonSchema)]
struct StateBefore {
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    hash: Option<String>,
    summary: String,
}

/// Returns the contract of what a `create` made; `facts` of the checkpoint, if there is one.
pub fn document(
    facts: Option<&Contract<'_>>,
    made: &CreateOutcome,
    has_reason: bool,
    call: &Call,
) -> ContractDocument {
    let Some(contract) = facts else {
        let why: Vec<String> = made.warnings.iter().map(ToString::to_string).collect();
        return nothing_made(&why.join("; "), &call.anchor);
    };
    let record = &contract.checkpoint.record;
    let id = contract.checkpoint.alias();
    let names = paths(&contract.files).into_iter();
    let (files, hex): (_, Vec<_>) = names.map(|name| (name.path, name.path_hex)).unzip();
    let confidence = confidence(contract);
    let document = CheckpointContract {
        checkpoint_created: true,
        checkpoint: Some(Contracted {
            checkpoint_type: contract.checkpoint_type.into_str(),
            created_at: rfc3339_seconds(record.time_ms),
            scope: ContractScope {
                files,
                state_keys: contract.state_keys.clone(),
                databases: made.databases.iter().map(ToString::to_string).collect(),
                files_hex: hex.into_iter().flatten().collect(),
            },
            restore_command: way_back(contract, call, &id),
            expiry: record.terms.expiry.map(|expiry| match expiry {
                Expiry::Never => "never".to_owned(),
                Expiry::At(end_ms) => rfc3339_seconds(end_ms),
            }),
            id,
        }),
        pre_mutation_state: StateBefore {
            hash: contract.content.as_ref().ok().map(|sum| sum.hash.clone()),
            summary: summary(contract),
        },
        next_safe_actions: next_safe_actions(contract, call),
        confidence: f64::from(confidence) / 100.0,
        evidence_anchors: evidence(contract, has_reason, call),
        assumptions: assumptions(contract, call),
    };
    ContractDocument::new(document, confidence > 0)
}

/// A contract for a call that made no checkpoint, on purpose or not; `anchor` names the call.
pub fn nothing_made(why: &str, anchor: &str) -> ContractDocument {
    let document = CheckpointContract {
        pre_mutation_state: StateBefore {
            hash: None,
            summary: "nothing is held".to_owned(),
        },
        evidence_anchors: vec![anchor.to_owned()],
        assumptions: vec![why.to_owned()],
        ..CheckpointContract::default()
    };
    ContractDocument::new(document, true)
}

/// Returns the command that restores the content, or prints it if it is values alone.
fn way_back(contract: &Contract<'_>, call: &Call, id: &str) -> String {
    let is_empty = contract.files.is_empty() && contract.made.databases.is_empty();
    if is_empty && !contract.state_keys.is_empty() {
        return values_back(call, id);
    }
    call.line(&["restore", id, "--yes"])
}

/// Returns the command that prints the values.
pub fn values_back(call: &Call, id: &str) -> String {
    call.line(&["cat", &format!("{id}:@state")])
}

fn listed(paths: &BTreeSet<RelPath>) -> String {
    let texts: Vec<String> = paths.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn summary(contract: &Contract<'_>) -> String {
    let mut parts = Vec::new();
    match &contract.content {
        Err(why) => parts.push(format!(
            "{}, not all of which can be read back: {why}",
            counted(contract.files.len() as u64, "file")
        )),
        Ok(sum) => {
            parts.push(counted(sum.files, "file"));
            parts.push(format!("{} total", counted(sum.lines, "line")));
            if sum.binary_files > 0 {
                parts.push(format!("{} binary", sum.binary_files));
            }
        }
    }
    if !contract.state_keys.is_empty() {
        parts.push(counted(contract.state_keys.len() as u64, "value"));
    }
    if !contract.made.databases.is_empty() {
        parts.push(counted(contract.made.databases.len() as u64, "database"));
    }
    let modified = contract.last_modified_ms;
    parts.extend(modified.map(|ms| format!("last modified {}", utc_date(ms))));
    if let Some(index) = contract.index.filter(|index| index.differing > 0) {
        parts.push(format!("{} differing from the git index", index.differing));
    }
    parts.join(", ")
}

/// Returns hundredths: 100 if all is read back and held; 5 less if only the store has the files, as
/// git's index lacks some; 20 less if something in reach is not held; 0 if the content cannot be
/// read back or restored.
fn confidence(contract: &Contract<'_>) -> u8 {
    if contract.content.is_err() || contract.restorable.is_err() {
        return 0;
    }
    let is_alone =
        !contract.files.is_empty() && contract.index.is_none_or(|index| index.untracked > 0);
    100 - if is_alone { 5 } else { 0 } - if lacking(contract) > 0 { 20 } else { 0 }
}

/// Returns how much in reach is not held.
fn lacking(contract: &Contract<'_>) -> usize {
    contract.made.left_out.secrets.len() + contract.unheld.len() + contract.left_out
}

fn next_safe_actions(contract: &Contract<'_>, call: &Call) -> Vec<String> {
    let id = contract.checkpoint.alias();
    if confidence(contract) == 0 {
        let verify = call.line(&["verify", &id, "--full"]);
        return vec![format!("inspect: {verify}")];
    }
    let rollback = format!("rollback: {}", way_back(contract, call, &id));
    if contract.made.is_partial() {
        return vec![format!("inspect: {}", call.line(&["show", &id])), rollback];
    }
    let reason = &contract.checkpoint.record.reason;
    let plan = format!("act-plan: Proceed with what was announced: {reason}");
    let mut actions = vec![plan];
    match contract.files.as_slice() {
        [] => {}
        [one] => actions.push(format!("edit: Modify {one}")),
        files => actions.push(format!("edit: Modify the {} files in scope", files.len())),
    }
    actions.push(rollback);
    actions
}

/// Lists what was done, where it is stored, how to check it, and a contract's four answers.
fn evidence(contract: &Contract<'_>, has_reason: bool, call: &Call) -> Vec<String> {
    let id = contract.checkpoint.alias();
    let mut anchors = vec![
        call.anchor.clone(),
        format!("file:{}", escape_path(&contract.ref_file)),
    ];
    let copies = contract.made.copies.iter();
    anchors.extend(copies.map(|dir| format!("file:{}", escape_path(&dir.join("manifest.json")))));
    let verdict = match &contract.content {
        Ok(sum) => sum.hash.clone(),
        Err(why) => format!("failed: {why}"),
    };
    let restorable = match &contract.restorable {
        Ok(()) => "accepted".to_owned(),
        Err(why) => format!("refused: {why}"),
    };
    let left_out = match listed(&contract.made.left_out.secrets) {
        none if none.is_empty() => none,
        secrets => format!(", left out: {secrets}"),
    };
    let planned = call.line(&["restore", &id, "--dry-run"]);
    let given = if has_reason { "yes" } else { "no, the default" };
    let reason = &contract.checkpoint.record.reason;
    let fitting = contract.checkpoint_type.into_str();
    anchors.extend([
        format!("tool:bash:{}", call.line(&["verify", &id])),
        format!("check:content_read_back:{verdict}"),
        format!("tool:bash:{planned}"),
        format!("check:restore_planned:{restorable}"),
        format!("check:scope_complete:{}", scope_complete(contract)),
        format!("check:nothing_sensitive:yes{left_out}"),
        format!("check:reason_given:{given}, {reason}"),
        format!("check:type_fits:yes, {fitting}"),
    ]);
    anchors
}

fn scope_complete(contract: &Contract<'_>) -> String {
    match lacking(contract) {
        0 => format!("yes, {}", counted(contract.files.len() as u64, "file")),
        more => format!("no, {more} in reach not held"),
    }
}

fn assumptions(contract: &Contract<'_>, call: &Call) -> Vec<String> {
    let place = match (contract.checkpoint_type, contract.index) {
        (CheckpointType::GitStash, _) => {
            "The files are held in the shadow store; the project's own stash was not touched"
                .to_owned()
        }
        (_, Some(index)) if index.untracked > 0 => {
            let files = counted(index.untracked as u64, "file");
            format!("{files} not in the git index, so the shadow store alone holds them")
        }
        (_, None) if !contract.files.is_empty() => {
            "No git index names the files, so the shadow store alone holds them".to_owned()
        }
        _ => "The shadow store stays where it is and can be written to".to_owned(),
    };
    let mut assumed = vec![place];
    if contract.checkpoint.is_scoped() {
        assumed.push(
            "What lies outside the scope is not held, and a restore leaves it as it is".to_owned(),
        );
    }
    if !contract.made.left_out.secrets.is_empty() {
        let secrets = listed(&contract.made.left_out.secrets);
        assumed.push(format!("Sensitive files are not held: {secrets}"));
    }
    let unheld = contract.unheld.iter();
    assumed.extend(unheld.map(|(path, why)| format!("{path} is not held: {why}")));
    if contract.left_out > 0 {
        let paths = counted(contract.left_out as u64, "path");
        assumed.push(format!("Ignored, and therefore not held: {paths}"));
    }
    if !contract.made.databases.is_empty() {
        let how = if contract.files.is_empty() {
            "A database is restored as a whole, in one transaction where it is SQLite"
        } else {
            "The files are restored first, the databases last"
        };
        assumed.push(how.to_owned());
    }
    if !contract.state_keys.is_empty() {
        let command = values_back(call, &contract.checkpoint.alias());
        assumed.push(format!(
            "A restore writes files; the values are in its answer, and this prints them: {command}"
        ));
    }
    assumed
}

/// Words that YAML 1.1 parsers may read as other types than text.
const NOT_TEXTS: [&str; 8] = ["true", "false", "null", "yes", "no", "on", "off", "nan"];

/// Renders a value as YAML 1.2 in block style. Text is quoted as in JSON, which is valid YAML.
fn yaml(value: &Value, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let below = |value: &Value| match value {
        Value::Object(fields) if !fields.is_empty() => format!("\n{}", yaml(value, depth + 1)),
        Value::Array(items) if !items.is_empty() => format!("\n{}", yaml(value, depth + 1)),
        scalar => format!(" {}", yaml(scalar, 0)),
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let fields = fields.iter();
            let fields =
                fields.map(|(key, value)| format!("{indent}{}:{}", word(key), below(value)));
            fields.collect()
        }
        Value::Array(items) if !items.is_empty() => {
            let item = |item| format!("{indent}-{}", below(item));
            items.iter().map(item).collect()
        }
        Value::String(content) => word(content) + "\n",
        other => format!("{other}\n"),
    }
}

/// Leaves a word plain if safe, else quotes it and escapes characters that are not printable or
/// could act on a terminal.
fn word(content: &str) -> String {
    let is_plain = content.starts_with(|c: char| c.is_ascii_lowercase())
        && content.chars().all(|c| c.is_ascii_lowercase() || c == '_')
        && content.len() > 1
        && !NOT_TEXTS.contains(&content);
    if is_plain {
        return content.to_owned();
    }
    let escape = |c: char| match u32::from(c) {
        0x7f => "\\x7f".to_owned(),
        code if is_deceptive(c) && code > 0xffff => format!("\\U{code:08x}"),
        code if is_deceptive(c) => format!("\\u{code:04x}"),
        _ => c.to_string(),
    };
    let quoted = Value::from(content).to_string();
    quoted.chars().map(escape).collect()
}

/// The contract of a restore.
#[derive(Default, Serialize, JsonSchema)]
pub struct RollbackContract {
    rolled_back: bool,
    /// Null if nothing was restored.
    restored_to: Option<RestoredTo>,
    /// The first eight digits of the id of the state before.
    #[schemars(regex(pattern = "^[0-9a-f]{8}$"))]
    safety_checkpoint: Option<String>,
    undo_command: Option<String>,
    /// As in the answer of the command, and `database`.
    changes_reverted: Vec<ChangeJson>,
    verification: ComparedContent,
    /// The values that the checkpoint holds; no file is written for them.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "embedded")]
    #[schemars(extend("type" = "object"))]
    state: Option<String>,
    /// 1 or 0.
    confidence: f64,
    /// What was called, how to check it, and what was found.
    #[schemars(length(min = 1))]
    evidence_anchors: Vec<String>,
    assumptions: Vec<String>,
}

/// The checkpoint that was restored.
#[derive(Serialize, JsonSchema)]
struct RestoredTo {
    #[schemars(regex(pattern = "^chk_[0-9]{8}_[0-9]{6}_[0-9a-f]{6}$"))]
    id: String,
    reason: String,
    created_at: String,
}

/// Digests of what the checkpoint holds and of what is there now.
#[derive(Default, Serialize, JsonSchema)]
struct ComparedContent {
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    expected: Option<String>,
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    actual: Option<String>,
    #[serde(rename = "match")]
    is_match: bool,
}

/// `values` are the values in the checkpoint, as they were given.
pub fn restore_document(
    outcome: &RestoreOutcome,
    contract: &RestoreContract,
    values: Option<&str>,
    call: &Call,
) -> ContractDocument {
    let record = &outcome.target.record;
    let id = outcome.target.alias();
    let safety = outcome.safety.as_ref().map(|safety| safety.id.short());
    let back = |safety: &String| match outcome.verb {
        Verb::Undo if outcome.calls_off => call.line(&["restore", safety, "--yes", "--contract"]),
        Verb::Undo => call.line(&["redo", "--yes", "--contract"]),
        _ => call.line(&["undo", "--yes", "--contract"]),
    };
    let is_match = contract.is_match();
    let document = RollbackContract {
        rolled_back: is_match && !outcome.dry_run,
        undo_command: safety.as_ref().map(back),
        safety_checkpoint: safety,
        changes_reverted: changes(outcome),
        verification: ComparedContent {
            expected: contract.expected.as_ref().ok().cloned(),
            actual: contract.actual.as_ref().ok().cloned(),
            is_match,
        },
        state: values.map(str::to_owned),
        confidence: if is_match { 1.0 } else { 0.0 },
        evidence_anchors: restore_evidence(contract, values.is_some(), call, &id),
        assumptions: restore_assumptions(outcome, contract, values.is_some()),
        restored_to: Some(RestoredTo {
            id,
            reason: record.reason.clone(),
            created_at: rfc3339_seconds(record.time_ms),
        }),
    };
    ContractDocument::new(json!(document), is_match)
}

/// A contract for a call that restored nothing; `anchor` names the call.
pub fn nothing_restored(why: &str, anchor: &str) -> ContractDocument {
    let document = RollbackContract {
        evidence_anchors: vec![anchor.to_owned()],
        assumptions: vec![why.to_owned()],
        ..RollbackContract::default()
    };
    ContractDocument::new(json!(document), true)
}

fn changes(outcome: &RestoreOutcome) -> Vec<ChangeJson> {
    let files = plan_changes(&outcome.plan).into_iter();
    let databases = outcome.databases.iter().filter(|one| one.fate.changes_it());
    let databases = databases.map(|one| ChangeJson {
        path: PathName {
            path: one.database.to_string(),
            path_hex: None,
        },
        change: "database",
    });
    files.chain(databases).collect()
}

fn restore_evidence(
    contract: &RestoreContract,
    has_values: bool,
    call: &Call,
    id: &str,
) -> Vec<String> {
    let [expected, actual] = [&contract.expected, &contract.actual].map(|hash| match hash {
        Ok(hash) => hash.clone(),
        Err(why) => format!("failed: {why}"),
    });
    let mut anchors = vec![
        call.anchor.clone(),
        format!("tool:bash:{}", call.line(&["verify", id])),
        format!("check:content_recorded:{expected}"),
        format!("check:files_as_they_stand_now:{actual}"),
    ];
    anchors.extend(has_values.then(|| format!("tool:bash:{}", values_back(call, id))));
    anchors
}

fn restore_assumptions(
    outcome: &RestoreOutcome,
    contract: &RestoreContract,
    has_values: bool,
) -> Vec<String> {
    let mut assumed = Vec::new();
    if has_values {
        assumed.push("The values stand in 'state' here; no file was written for them".to_owned());
    }
    if outcome.dry_run {
        assumed.push("Nothing was changed: this was a dry run".to_owned());
    }
    if outcome.target.is_scoped() || outcome.is_limited() {
        assumed.push(
            "Only what the checkpoint or the given paths cover was restored and compared"
                .to_owned(),
        );
    }
    assumed.extend(outcome.plan.left_alone.iter().map(|path| {
        format!("{path} was left alone: it holds what is not captured, or was not then")
    }));
    if !contract.is_match() && !contract.is_values_alone {
        assumed.push("What is there now is not what was recorded".to_owned());
    }
    assumed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn maps_lists_and_texts_are_written_so_that_they_mean_the_same() {
        let document = json!({
            "made": true, "nothing": null, "type": "git_stash", "id": "chk_2024", "answer": "yes", "n": 0.95,
            "scope": {"files": ["a b", "x: y # z\n\u{85}\u{7f}\u{202e}\u{e0041}"], "state_keys": [], "more": {}},
            "list": [{"a": 1, "b": [2]}],
        });
        let expected = "made: true\nnothing: null\ntype: git_stash\nid: \"chk_2024\"\nanswer: \"yes\"\n\"n\": 0.95\nscope:\n  \
                files:\n    - \"a b\"\n    - \"x: y # z\\n\\u0085\\x7f\\u202e\\U000e0041\"\n  state_keys: []\n  more: {}\nlist:\n  -\n    \
                \"a\": 1\n    \"b\":\n      - 2\n";
        assert_eq!(yaml(&document, 0), expected);
    }
}
