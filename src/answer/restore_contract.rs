//! The contract of a restore: what was restored, and whether the files now match the record.

use serde_json::json;

use crate::answer::contract::{Call, ContractDocument, values_back};
use crate::base::json::embedded;
use crate::base::time::rfc3339_seconds;
use crate::model::checkpoint::alias;
use crate::model::checkpoint::record::Verb;
use crate::model::json::{ChangeJson, JsonSchema, PathName, Serialize, plan_changes};
use crate::ops::contract::restore_contract::RestoreContract;
use crate::ops::restore::restore_options::RestoreOutcome;

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
pub fn document(
    outcome: &RestoreOutcome,
    contract: &RestoreContract,
    values: Option<&str>,
    call: &Call,
) -> ContractDocument {
    let record = &outcome.target.record;
    let id = alias::of(&outcome.target);
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
        evidence_anchors: evidence(contract, values.is_some(), call, &id),
        assumptions: assumptions(outcome, contract, values.is_some()),
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

fn evidence(contract: &RestoreContract, has_values: bool, call: &Call, id: &str) -> Vec<String> {
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

fn assumptions(
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
    assumed.extend(
        outcome
            .plan
            .left_alone
            .iter()
            .map(|path| format!("{path} was left alone: it holds what no checkpoint holds")),
    );
    if !contract.is_match() && !contract.is_values_alone {
        assumed.push("What is there now is not what was recorded".to_owned());
    }
    assumed
}
