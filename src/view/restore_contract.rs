//! The contract of a restore: what was restored, and whether the files now match the record.

use serde_json::{Value, json};

use crate::base::json::parse;
use crate::base::time::rfc3339_seconds;
use crate::model::checkpoint::alias;
use crate::model::checkpoint::record::Verb;
use crate::model::json::PathName;
use crate::model::state::rel_path::RelPath;
use crate::ops::contract::restore_contract::RestoreContract;
use crate::ops::restore::restore_options::RestoreOutcome;
use crate::view::contract::{Call, ContractDocument, values_back};
use crate::view::databases::is_concerned;

/// `values` are the values in the checkpoint, as they were given.
pub fn document(
    outcome: &RestoreOutcome,
    contract: &RestoreContract,
    values: Option<&str>,
    call: &Call,
) -> ContractDocument {
    let target = &outcome.target;
    let id = alias::of(target);
    let safety = outcome.safety.as_ref().map(|safety| safety.id.short());
    let back = |safety: &String| match outcome.verb {
        Verb::Undo if outcome.calls_off => call.line(&["restore", safety, "--yes", "--contract"]),
        Verb::Undo => call.line(&["redo", "--yes", "--contract"]),
        _ => call.line(&["undo", "--yes", "--contract"]),
    };
    let mut value = json!({
        "rolled_back": contract.is_match() && !outcome.dry_run,
        "restored_to": {
            "id": id,
            "reason": target.record.reason,
            "created_at": rfc3339_seconds(target.record.time_ms),
        },
        "safety_checkpoint": safety,
        "undo_command": safety.as_ref().map(back),
        "changes_reverted": changes(outcome),
        "verification": {
            "expected": contract.expected.as_ref().ok().map(|sum| &sum.hash),
            "actual": contract.actual.as_ref().ok(),
            "match": contract.is_match(),
        },
        "confidence": if contract.is_match() { 1.0 } else { 0.0 },
        "evidence_anchors": evidence(contract, values.is_some(), call, &id),
        "assumptions": assumptions(outcome, contract, values.is_some()),
    });
    if let Some(values) = values {
        value["state"] = parse(values.as_bytes()).unwrap_or_default();
    }
    ContractDocument::new(value, contract.is_match())
}

/// A contract for a call that restored nothing; `anchor` names the call.
pub fn nothing_restored(why: &str, anchor: &str) -> ContractDocument {
    let value = json!({
        "rolled_back": false,
        "restored_to": null,
        "safety_checkpoint": null,
        "undo_command": null,
        "changes_reverted": [],
        "verification": {"expected": null, "actual": null, "match": false},
        "confidence": 0.0,
        "evidence_anchors": [anchor],
        "assumptions": [why],
    });
    ContractDocument::new(value, true)
}

fn changes(outcome: &RestoreOutcome) -> Vec<Value> {
    let plan = &outcome.plan;
    let written = plan.write.iter().map(|(path, write)| {
        (
            path,
            if write.before.is_some() {
                "rewritten"
            } else {
                "brought_back"
            },
        )
    });
    let modes = plan
        .chmod
        .keys()
        .chain(plan.chmod_dirs.keys())
        .map(|path| (path, "mode"));
    let made = plan.make_dirs.keys().map(|path| (path, "brought_back"));
    let gone = plan
        .delete
        .keys()
        .chain(&plan.remove_dirs)
        .map(|path| (path, "deleted"));
    let mut all: Vec<_> = written.chain(modes).chain(made).chain(gone).collect();
    all.sort_unstable();
    let files = all
        .into_iter()
        .map(|(path, change)| change_value(path, change));
    let databases = outcome.databases.iter().filter(|one| is_concerned(one));
    let databases =
        databases.map(|one| json!({"change": "database", "path": one.database.to_string()}));
    files.chain(databases).collect()
}

fn change_value(path: &RelPath, change: &str) -> Value {
    let name = PathName::new(path);
    match name.path_hex {
        Some(hex) => json!({"change": change, "path_hex": hex, "path": name.path}),
        None => json!({"change": change, "path": name.path}),
    }
}

fn evidence(contract: &RestoreContract, has_values: bool, call: &Call, id: &str) -> Vec<String> {
    let expected = match &contract.expected {
        Ok(sum) => sum.hash.clone(),
        Err(why) => format!("failed: {why}"),
    };
    let actual = match &contract.actual {
        Ok(hash) => hash.clone(),
        Err(why) => format!("failed: {why}"),
    };
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
            .left_alone
            .iter()
            .map(|path| format!("{path} was left alone: it holds what no checkpoint holds")),
    );
    if !contract.is_match() && !contract.is_values_alone {
        assumed.push("What is there now is not what was recorded".to_owned());
    }
    assumed
}
