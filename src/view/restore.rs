//! `restore`, `undo` and `redo` as text and as JSON.

use std::path::Path;

use serde_json::Value;

use crate::base::cut_list::and_more;
use crate::base::json::parse;
use crate::base::text::{escape, escape_path};
use crate::error::sentence::{CommandWords, Sentence};
use crate::model::checkpoint::record::Verb;
use crate::model::command_end::CommandEnd;
use crate::model::json::{
    ChangeJson, CheckpointRef, Dropped, PathName, PathReason, dropped, paths,
};
use crate::model::restore_plan::RestorePlan;
use crate::ops::restore::restore_options::{Check, RestoreOutcome};
use crate::view::contract::ContractDocument;
use crate::view::databases::RestoredDatabase;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::format::Paint;
use crate::view::limits::{LimitsJson, asked_for};
use crate::view::place::{placed, placed_command};
use crate::view::plan::Tense;
use crate::view::words::{Output, advised, evicted};
use crate::view::{databases, plan};

/// Maximum number of paths named that changed since a step.
pub const SINCE_SHOWN: usize = 10;

/// Names the plan of a dry run, and the command that carries out just this one.
pub fn plan_named(digest: &str, command: CommandWords) -> String {
    let command = placed_command(command);
    format!("plan {digest}, refused if anything changes meanwhile; to do exactly this: {command}\n")
}

/// `for_a_person`: the result goes to a terminal; a pipe gets the sentences that programs know.
pub fn human(outcome: &RestoreOutcome, paint: Paint, for_a_person: bool) -> Output {
    let target = &outcome.target;
    let (short, reason) = (target.id.short(), escape(&target.record.reason));
    if outcome.dry_run {
        return planned(outcome, &short, &reason, paint);
    }
    if outcome.is_nothing_to_do() {
        let result = if !outcome.is_limited() && !outcome.overlay {
            format!("Already at {short} ({reason}); nothing to do.\n")
        } else {
            format!("Those paths are already as in {short} ({reason}); nothing to do.\n")
        };
        let mut talk = stays(outcome);
        if let Some(beyond) = &outcome.beyond {
            talk.push_str(&format!(
                "to go back a step further: checkpoint restore {}\n",
                beyond.id.short()
            ));
        }
        return Output { result, talk };
    }
    let done = plan::counts_with_databases(&outcome.plan, &outcome.databases, Tense::Done);
    let (result, mut talk) = if for_a_person {
        (for_person(outcome, &done), String::new())
    } else {
        for_program(outcome, &done)
    };
    talk.push_str(&databases::left(&outcome.databases));
    talk.push_str(&plan::made_since(
        outcome.since.as_deref(),
        outcome.verb,
        Tense::Done,
        SINCE_SHOWN,
    ));
    talk.push_str(&stays(outcome));
    talk.push_str(&evicted(&outcome.evicted));
    Output { result, talk }
}

/// Formats the sentences that programs know, and the talk beside them.
fn for_program(outcome: &RestoreOutcome, done: &str) -> (String, String) {
    let (target, safety) = (&outcome.target, outcome.safety.as_ref());
    let (short, reason) = (target.id.short(), escape(&target.record.reason));
    let safety = safety.map(|safety| safety.id.short()).unwrap_or_default();
    let saved =
        format!("Safety checkpoint created at `{safety}` — use this to undo the restore.\n");
    let from = format!("from checkpoint `{short}` ({reason}).\n");
    let asked_for = asked_for(&outcome.paths, &outcome.filter).into_iter();
    let parts: String = asked_for
        .map(|path| format!("Restored `{path}` {from}"))
        .collect();
    let mut named = String::new();
    let result = if parts.is_empty() || outcome.verb != Verb::Restore {
        format!("Restored to checkpoint `{short}` ({reason}). {saved}")
    } else if outcome.paths.is_empty() {
        parts + &saved
    } else {
        named = format!("safety checkpoint {safety}; ");
        parts
    };
    let back = match outcome.verb {
        Verb::Undo if outcome.calls_off => {
            format!("'checkpoint restore {safety}' brings back what was here")
        }
        Verb::Undo => "'checkpoint redo' repeats it".to_owned(),
        _ => "'checkpoint undo' takes it back".to_owned(),
    };
    (result, format!("{done}; {named}{back}\n"))
}

/// Formats what was done, how much, and the way back.
fn for_person(outcome: &RestoreOutcome, done: &str) -> String {
    const NAMED_PATHS: usize = 5;
    let asked_for = asked_for(&outcome.paths, &outcome.filter);
    let target = plan::named(&outcome.target);
    let step = outcome.step.as_ref().map(|step| {
        let whole = plan::restore_of(step);
        if asked_for.is_empty() {
            return whole;
        }
        let limits = and_more(&asked_for, NAMED_PATHS);
        whole.replacen(
            "the restore to",
            &format!("the restore of {limits} from"),
            1,
        )
    });
    let what = match (outcome.verb, step) {
        (Verb::Undo, Some(restored)) => format!("Undone: {restored}"),
        (Verb::Redo, Some(restored)) => format!("Redone: {restored}"),
        (Verb::Undo | Verb::Redo, None) => format!("Back at {target}"),
        (Verb::Resume, _) => format!("Finished the restore to {target}"),
        (Verb::Restore, _) if asked_for.is_empty() => format!("Restored {target}"),
        (Verb::Restore, _) => format!(
            "Restored {} from {target}",
            and_more(&asked_for, NAMED_PATHS)
        ),
    };
    let (back, command) = match (outcome.verb, &outcome.safety) {
        (Verb::Undo, Some(safety)) if outcome.calls_off => (
            "bring back what was here",
            format!("checkpoint restore {}", safety.id.short()),
        ),
        (Verb::Undo, _) => ("redo it", "checkpoint redo".to_owned()),
        _ => ("take it back", "checkpoint undo".to_owned()),
    };
    let (done, command) = (capitalised(done), placed(&command));
    format!("{what}. {done}.\nTo {back}: {command}\n")
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

fn planned(outcome: &RestoreOutcome, short: &str, reason: &str, paint: Paint) -> Output {
    let listed = plan::listing(&outcome.plan, usize::MAX, paint);
    let databases = databases::listing(&outcome.databases, paint);
    let counts = plan::counts_with_databases(&outcome.plan, &outcome.databases, Tense::Planned);
    let since = plan::made_since(
        outcome.since.as_deref(),
        outcome.verb,
        Tense::Planned,
        usize::MAX,
    );
    let result =
        format!("{listed}{databases}{since}Restoring `{short}` ({reason}) would {counts}.\n");
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
        .map(|path| format!("left unchanged: {path}: no checkpoint holds it\n"));
    lines.collect()
}

/// Additional parts of the JSON of a restore.
#[derive(Clone, Copy, Default)]
pub struct JsonParts<'g> {
    /// The values in the checkpoint, as they were given.
    pub values: Option<&'g str>,
    pub contract: Option<&'g ContractDocument>,
}

/// What `restore`, `undo` and `redo` did.
#[derive(Serialize, JsonSchema)]
pub struct RestoreAnswer {
    /// `restore`, `undo`, `redo` or `resume`.
    verb: &'static str,
    restored_from: CheckpointRef,
    /// The checkpoint that holds what was there before, of `undo N` before the first step; null if
    /// nothing was changed.
    safety: Option<CheckpointRef>,
    counts: RestoreCounts,
    /// Every path that was changed, or with `dry_run` would be: `added`, `written`, `deleted`,
    /// `mode`, `directory_added`, `directory_deleted`.
    changes: Vec<ChangeJson>,
    databases: Vec<RestoredDatabase>,
    /// Paths that stay by rule although the checkpoint lacks them.
    left_alone: Vec<PathName>,
    /// Paths that stay because they cannot be read.
    unreadable: Vec<PathReason>,
    nothing_to_do: bool,
    /// Of an undo or redo: later changes that it takes back too; null if they are not known.
    since: Option<Vec<PathName>>,
    dry_run: bool,
    /// Digest of the plan, which `--plan` takes; null unless it is a dry run.
    plan_digest: Option<String>,
    #[serde(flatten)]
    limits: LimitsJson,
    resumed: bool,
    /// Checkpoints that the policy dropped for the safety checkpoint.
    dropped: Vec<Dropped>,
    /// The directory of `--to`.
    destination: Option<String>,
    check: Option<CheckJson>,
    /// The values that the checkpoint holds.
    state: Option<Value>,
    contract: Option<Value>,
}

/// Numbers of files and directories.
#[derive(Serialize, JsonSchema)]
struct RestoreCounts {
    /// Files written, those added included.
    written: usize,
    deleted: usize,
    modes: usize,
    directories_added: usize,
    directories_deleted: usize,
    unchanged: usize,
}

/// The command of `--check`.
#[derive(Serialize, JsonSchema)]
struct CheckJson {
    command_line: String,
    /// Null if it could not be started.
    exit: Option<i32>,
    ok: bool,
}

/// The same document for `restore`, `undo` and `redo`.
pub fn json(command: &str, outcome: &RestoreOutcome, exit: u8, parts: JsonParts<'_>) -> String {
    let plan = &outcome.plan;
    let unreadable = plan.unreadable.iter();
    let data = RestoreAnswer {
        verb: outcome.verb.into_str(),
        restored_from: CheckpointRef::new(&outcome.target),
        safety: outcome.safety.as_ref().map(CheckpointRef::new),
        counts: RestoreCounts {
            written: plan.write.len(),
            deleted: plan.delete.len(),
            modes: plan.chmod.len() + plan.chmod_dirs.len(),
            directories_added: plan.make_dirs.len(),
            directories_deleted: plan.remove_dirs.len(),
            unchanged: plan.unchanged,
        },
        changes: changes(plan),
        databases: databases::reports(&outcome.databases),
        left_alone: paths(&outcome.left_alone),
        unreadable: unreadable
            .map(|(path, why)| PathReason::new(path, why))
            .collect(),
        nothing_to_do: outcome.is_nothing_to_do(),
        since: outcome.since.as_ref().map(paths),
        dry_run: outcome.dry_run,
        plan_digest: outcome.plan_digest.clone(),
        limits: LimitsJson::new(&outcome.paths, &outcome.filter),
        resumed: outcome.verb == Verb::Resume,
        dropped: dropped(&outcome.evicted),
        destination: outcome.to.as_ref().map(|to| to.display().to_string()),
        check: outcome.check.as_ref().map(|check| CheckJson {
            command_line: check.command.clone(),
            exit: check.ended.map(CommandEnd::code),
            ok: check.is_ok(),
        }),
        state: parts
            .values
            .map(|values| parse(values.as_bytes()).unwrap_or_default()),
        contract: parts.contract.map(|contract| contract.value.clone()),
    };
    envelope(command, exit, &data, &outcome.warnings)
}

/// Returns every path of a plan, with what is done to it.
pub fn changes(plan: &RestorePlan) -> Vec<ChangeJson> {
    let written = plan.write.iter().map(|(path, write)| {
        let word = write.before.map_or("added", |_| "written");
        ChangeJson::new(path, word)
    });
    let mut changes: Vec<ChangeJson> = written
        .chain(ChangeJson::all("deleted", plan.delete.keys()))
        .chain(ChangeJson::all(
            "mode",
            plan.chmod.keys().chain(plan.chmod_dirs.keys()),
        ))
        .chain(ChangeJson::all("directory_added", plan.make_dirs.keys()))
        .chain(ChangeJson::all("directory_deleted", &plan.remove_dirs))
        .collect();
    changes.sort_by(|one, two| one.path.path.cmp(&two.path.path));
    changes
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
    let what = format!(
        "the check failed with {how}: {}; {done}",
        escape(&check.command)
    );
    let line = advised(&what, way_back(outcome).as_ref());
    format!("{} {line}\n", paint.red("checkpoint:"))
}

/// Describes the state after a failed check.
pub fn check_done(outcome: &RestoreOutcome) -> String {
    let short = outcome.target.id.short();
    match (&outcome.to, &outcome.safety) {
        (Some(to), _) => format!("{short} stays in {}", escape_path(to)),
        (None, Some(safety)) => format!(
            "the restore to {short} is done, safety checkpoint {}",
            safety.id.short()
        ),
        (None, None) => format!("the directory was already at {short}"),
    }
}

pub fn way_back(outcome: &RestoreOutcome) -> Option<Sentence> {
    outcome
        .safety
        .is_some()
        .then(|| Sentence::new("'checkpoint undo' takes the restore back", &[]))
}

pub fn restore_to(outcome: &RestoreOutcome, to: &Path, paint: Paint) -> Output {
    let (short, reason) = (
        outcome.target.id.short(),
        escape(&outcome.target.record.reason),
    );
    let dir = escape_path(to);
    if outcome.dry_run {
        let listed = plan::listing(&outcome.plan, usize::MAX, paint);
        let counts = plan::counts(&outcome.plan, Tense::Planned);
        let result =
            format!("{listed}Writing checkpoint `{short}` ({reason}) to {dir} would {counts}.\n");
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
        talk: format!("{}\n", plan::counts(&outcome.plan, Tense::Done)),
    }
}
