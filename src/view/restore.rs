//! `restore`, `undo` and `redo` as text and as JSON.

use std::path::Path;

use serde_json::{Value, json};

use crate::base::text::{escape, escape_bytes};
use crate::model::checkpoint::record::Verb;
use crate::model::command_end::CommandEnd;
use crate::model::restore_plan::RestorePlan;
use crate::model::state::object_id::ObjectId;
use crate::ops::restore::restore_options::{Check, RestoreOutcome};
use crate::view::contract::ContractDocument;
use crate::view::envelope::{self, hex, paths, with_path};
use crate::view::format::Paint;
use crate::view::words::{Output, evicted};
use crate::view::{databases, plan};

/// Maximum number of paths named that changed since a step.
pub const SINCE_SHOWN: usize = 10;

pub fn human(outcome: &RestoreOutcome, paint: Paint) -> Output {
    let target = &outcome.target;
    let (short, reason) = (target.id.short(), escape(&target.record.reason));
    if outcome.dry_run {
        return planned(outcome, &short, &reason, paint);
    }
    if outcome.is_nothing_to_do() {
        let result = if outcome.paths.is_empty() && !outcome.overlay {
            format!("Already at {short} ({reason}); nothing to do.\n")
        } else {
            format!(
                "What was asked for of {short} ({reason}) stands there already; nothing to do.\n"
            )
        };
        let mut talk = stays(outcome);
        if let Some(beyond) = &outcome.beyond {
            talk.push_str(&format!(
                "the step before that: 'checkpoint restore {}'\n",
                beyond.id.short()
            ));
        }
        return Output { result, talk };
    }
    let safety = outcome.safety.map(ObjectId::short).unwrap_or_default();
    let mut result = String::new();
    if outcome.paths.is_empty() || outcome.verb != Verb::Restore {
        result = format!(
            "Restored to checkpoint `{short}` ({reason}). \
             Safety checkpoint created at `{safety}` — use this to undo the restore.\n"
        );
    } else {
        for path in &outcome.paths {
            result.push_str(&format!(
                "Restored `{path}` from checkpoint `{short}` ({reason}).\n"
            ));
        }
    }
    let mut talk = format!(
        "{}\n",
        capitalised(&plan::counts_with_databases(
            &outcome.plan,
            &outcome.databases
        ))
    );
    talk.push_str(&databases::left(&outcome.databases));
    talk.push_str(&plan::made_since(
        outcome.since.as_deref(),
        &format!("safety checkpoint {safety} holds"),
        SINCE_SHOWN,
    ));
    talk.push_str(&stays(outcome));
    talk.push_str(&evicted(&outcome.evicted));
    Output { result, talk }
}

fn planned(outcome: &RestoreOutcome, short: &str, reason: &str, paint: Paint) -> Output {
    let listed = plan::listing(&outcome.plan, usize::MAX, paint);
    let databases = databases::listing(&outcome.databases, paint);
    let counts = plan::counts_with_databases(&outcome.plan, &outcome.databases);
    let since = plan::made_since(
        outcome.since.as_deref(),
        "a safety checkpoint would hold",
        usize::MAX,
    );
    let result = format!("{listed}{databases}{since}Restoring to `{short}` ({reason}) {counts}.\n");
    Output {
        result,
        talk: databases::left(&outcome.databases),
    }
}

/// Formats the values of a restored checkpoint; a restore prints them and writes them nowhere.
pub fn values(values: &str) -> String {
    format!("Its values:\n{}\n", values.trim_end_matches('\n'))
}

/// Lists files that stay although the target lacks them.
pub fn stays(outcome: &RestoreOutcome) -> String {
    let lines = outcome
        .left_alone
        .iter()
        .map(|path| format!("left alone: {path} (in no checkpoint)\n"));
    lines.collect()
}

pub fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

/// Additional parts of the JSON of a restore.
#[derive(Clone, Copy, Default)]
pub struct JsonParts<'g> {
    /// The values in the checkpoint, as they were given.
    pub values: Option<&'g str>,
    pub contract: Option<&'g ContractDocument>,
}

/// The same document for `restore`, `undo` and `redo`.
pub fn json(command: &str, outcome: &RestoreOutcome, exit: u8, parts: JsonParts<'_>) -> String {
    let target = &outcome.target;
    let plan = &outcome.plan;
    let mut data = json!({
        "verb": outcome.verb.into_str(),
        "restored_from": {"id": hex(target.id), "short": target.id.short(), "reason": target.record.reason},
        "safety": outcome.safety.map(|id| json!({"id": hex(id), "short": id.short()})),
        "counts": {
            "written": plan.write.len(),
            "deleted": plan.delete.len(),
            "chmod": plan.chmod.len() + plan.chmod_dirs.len(),
            "directories_made": plan.make_dirs.len(),
            "directories_removed": plan.remove_dirs.len(),
            "unchanged": plan.unchanged,
        },
        "databases": databases::reports(&outcome.databases),
        "left_alone": paths(&outcome.left_alone),
        "unreadable": plan.unreadable.iter().map(|(path, why)| with_path(json!({"why": why.into_str()}), path)).collect::<Value>(),
        "nothing_to_do": outcome.is_nothing_to_do(),
        "since": outcome.since.as_ref().map(paths),
        "dry_run": outcome.dry_run,
        "paths": paths(&outcome.paths),
        "resumed": outcome.resumed,
        "evicted": envelope::evicted(&outcome.evicted),
    });
    if outcome.dry_run {
        data["plan"] = plan_value(plan);
    }
    if let Some(to) = &outcome.to {
        data["to"] = to.display().to_string().into();
    }
    if let Some(check) = &outcome.check {
        let exit = check.ended.map(CommandEnd::code);
        data["check"] = json!({"command": check.command, "exit": exit, "ok": check.is_ok()});
    }
    if let Some(values) = parts.values {
        data["state"] = serde_json::from_str(values).unwrap_or_default();
    }
    if let Some(contract) = parts.contract {
        data["contract"] = contract.value.clone();
    }
    envelope::envelope(command, exit, &data, &outcome.warnings)
}

pub fn plan_value(plan: &RestorePlan) -> Value {
    json!({
        "write": paths(plan.write.keys()),
        "chmod": paths(plan.chmod.keys().chain(plan.chmod_dirs.keys())),
        "delete": paths(plan.delete.keys()),
        "make_directories": paths(plan.make_dirs.keys()),
        "remove_directories": paths(&plan.remove_dirs),
    })
}

/// Reports a check that passed.
pub fn check_passed(check: &Check) -> String {
    format!("check passed: {}\n", escape(&check.command))
}

/// Reports in one line what failed, how, and how to undo it.
pub fn check_failed(check: &Check, outcome: &RestoreOutcome, paint: Paint) -> String {
    let how = check.ended.map_or_else(
        || "it could not be started".to_owned(),
        CommandEnd::in_words,
    );
    let done = check_done(outcome);
    let hint = way_back(outcome)
        .map(|hint| format!(" ({hint})"))
        .unwrap_or_default();
    format!(
        "{} the check failed with {how}: {}; {done}{hint}\n",
        paint.red("checkpoint:"),
        escape(&check.command)
    )
}

/// Describes the state after a failed check.
pub fn check_done(outcome: &RestoreOutcome) -> String {
    let short = outcome.target.id.short();
    match (&outcome.to, outcome.safety) {
        (Some(to), _) => format!(
            "{short} stays in {}",
            escape_bytes(to.as_os_str().as_encoded_bytes())
        ),
        (None, Some(safety)) => format!(
            "the restore to {short} is done, safety checkpoint {}",
            safety.short()
        ),
        (None, None) => format!("the directory was at {short} already"),
    }
}

pub fn way_back(outcome: &RestoreOutcome) -> Option<String> {
    outcome
        .safety
        .is_some()
        .then(|| "'checkpoint undo' takes the restore back".to_owned())
}

pub fn restore_to(outcome: &RestoreOutcome, to: &Path, paint: Paint) -> Output {
    let (short, reason) = (
        outcome.target.id.short(),
        escape(&outcome.target.record.reason),
    );
    let dir = escape_bytes(to.as_os_str().as_encoded_bytes());
    let counts = plan::counts(&outcome.plan);
    if outcome.dry_run {
        let listed = plan::listing(&outcome.plan, usize::MAX, paint);
        let result =
            format!("{listed}Writing checkpoint `{short}` ({reason}) to {dir} {counts}.\n");
        return Output {
            result,
            talk: String::new(),
        };
    }
    let mut result = String::new();
    for path in &outcome.paths {
        result.push_str(&format!(
            "Wrote `{path}` of checkpoint `{short}` ({reason}) to {dir}.\n"
        ));
    }
    if result.is_empty() {
        result = format!("Wrote checkpoint `{short}` ({reason}) to {dir}.\n");
    }
    Output {
        result,
        talk: format!("{}\n", crate::view::restore::capitalised(&counts)),
    }
}
