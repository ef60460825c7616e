//! `show`: prints one checkpoint, through a pager on a terminal.

use std::ffi::OsString;

use crate::answer::patch;
use crate::answer::plan::{LimitsJson, limit_words};
use crate::answer::words::count_files;
use crate::base::git_quoting::quoted;
use crate::base::time::utc_seconds;
use crate::commands::args::typed_words;
use crate::commands::diff::{self, PatchWriter};
use crate::commands::prelude::*;
use crate::model::json::Serializer;
use crate::model::{
    CheckpointRef, CheckpointRow, CheckpointTerms, Expiry, Held, ObjectId, Provenance, ScopePart,
};
use crate::ops::browse::diff::changes_of;
use crate::ops::browse::list::{ShowOutcome, show};
use crate::ops::restore::restore_paths;
use crate::ops::{Detail, DiffOutcome, FileDiff, PatchOptions};

/// Show one checkpoint: what it holds and what changed in it
///
/// The changes are those since the checkpoint before it. The values of --state are shown too.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct ShowArgs {
    /// A checkpoint (an id, @, latest~N, a reason, or a time), then paths; or SEL:PATH [default: @]
    #[arg(value_name = "SEL|PATH")]
    pub words: Vec<OsString>,
    /// Only the changes of these files and directories
    #[arg(value_name = "PATH", last = true)]
    pub only: Vec<OsString>,
    /// Show the changes as a patch
    #[arg(short, long, group = "form")]
    pub patch: bool,
    /// Show the number of added and deleted lines of each changed file
    #[arg(long, group = "form")]
    pub stat: bool,
    /// List all files that it holds, instead of the changes
    #[arg(long, group = "form")]
    pub files: bool,
}

/// One checkpoint, and what changed in it.
#[derive(Serialize, JsonSchema)]
pub struct ShowAnswer {
    checkpoint: CheckpointDetails,
    #[serde(flatten)]
    outcome: ShowOutcome,
    /// With `--stat` or `--patch`: the changed files with their lines; else null.
    #[serde(rename = "file_changes", serialize_with = "files_of")]
    #[schemars(with = "Option<Vec<FileDiff>>")]
    compared: Option<DiffOutcome>,
    /// With `--patch`: the patch, in which what is not UTF-8 is replaced; else null.
    patch: Option<String>,
    #[serde(skip)]
    is_stat: bool,
}

/// All that is known of a checkpoint.
#[derive(Serialize, JsonSchema)]
struct CheckpointDetails {
    #[serde(flatten)]
    row: CheckpointRow,
    tree_id: ObjectId,
    /// The restore before which it was made; null unless it is a safety checkpoint.
    operation: Option<OperationJson>,
}

/// The restore before which a safety checkpoint was made.
#[derive(Serialize, JsonSchema)]
struct OperationJson {
    verb: &'static str,
    /// Its reason, time and kind are null if it is gone.
    target: CheckpointRef,
    #[serde(flatten)]
    limits: LimitsJson,
}

pub fn files_of<S: Serializer>(
    compared: &Option<DiffOutcome>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    let files = compared.as_ref().map(|found| &found.files);
    files.serialize(serializer)
}

impl Command for ShowArgs {
    type Answer = ShowAnswer;
    const TRAITS: Properties = Properties::USUAL;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<ShowAnswer>> {
        let words = typed_words(self.words, self.only);
        let (outcome, mut warnings) = show(context, &words, self.files)?;
        if !cmd.printer.json {
            let mut head = cmd.printer.out(context);
            write_head(&outcome, &mut head);
            let _ = cmd.page(context, head.result.as_bytes());
        }
        let answer = |compared, patch, outcome: ShowOutcome| ShowAnswer {
            checkpoint: CheckpointDetails::new(&outcome),
            outcome,
            compared,
            patch,
            is_stat: self.stat,
        };
        if !(self.patch || self.stat) {
            return Ok(Done::new(answer(None, None, outcome), warnings));
        }
        let mut patch = PatchWriter::new(context, cmd);
        let detail = if self.patch {
            Detail::Patch
        } else {
            Detail::Counts
        };
        let options = PatchOptions {
            detail,
            context: 3,
            binary: false,
        };
        let (before, checkpoint) = (outcome.before.as_ref(), &outcome.checkpoint);
        let write = &mut |file: &FileDiff| patch.write(file);
        let compared = changes_of(context, before, checkpoint, &outcome.paths, options, write)?;
        let mut done = diff::done(compared, false, |compared| {
            answer(Some(compared), patch.text(detail), outcome)
        });
        warnings.append(&mut done.warnings);
        Ok(Done { warnings, ..done })
    }
}

impl CheckpointDetails {
    fn new(shown: &ShowOutcome) -> Self {
        let operation = shown.checkpoint.record.operation.as_ref();
        let target = shown.operation_target.as_ref();
        Self {
            row: CheckpointRow::new(&shown.checkpoint),
            tree_id: shown.checkpoint.tree,
            operation: operation.map(|operation| OperationJson {
                verb: operation.verb.into_str(),
                target: CheckpointRef::of_id(operation.target, target),
                limits: LimitsJson::new(&operation.paths, &operation.filter),
            }),
        }
    }
}

impl Text for ShowAnswer {
    fn write(&self, out: &mut Out<'_>) {
        let outcome = &self.outcome;
        if let Some(compared) = &self.compared {
            if self.is_stat {
                out.result = patch::stat(&compared.files, out.paint);
            }
            return diff::write_missing(compared, out);
        }
        if let Some(files) = &outcome.files {
            for path in files {
                let path = restore_paths::from_here(&out.context.root, path);
                outln!(out, "{}", quoted("", &path));
            }
            return;
        }
        for change in &outcome.changes {
            let sign = match (&change.before, &change.after) {
                (None, _) => "+",
                (_, None) => "-",
                _ => "~",
            };
            outln!(out, "  {sign} {}", out.context.shown(&change.path));
        }
        if outcome.changes.is_empty() {
            outln!(out, "  no change");
        }
    }
}

/// Writes what is known of the checkpoint, and with which it is compared.
fn write_head(outcome: &ShowOutcome, out: &mut Out<'_>) {
    let checkpoint = &outcome.checkpoint;
    let record = &checkpoint.record;
    outln!(out, "checkpoint {}", checkpoint.id);
    outln!(out, "tree       {}", checkpoint.tree);
    outln!(out, "reason     {}", escape(&record.reason));
    outln!(out, "source     {}", escape(&record.source));
    let (time, ago) = (utc_seconds(record.time_ms), out.ago(record.time_ms));
    outln!(out, "time       {time} UTC ({ago})");
    outln!(out, "kind       {}", record.kind.into_str());
    outln!(out, "coverage   {}", record.coverage.into_str());
    let (files, bytes) = (count_files(record.files), size(record.content_bytes));
    outln!(out, "holds      {files}, {bytes}");
    if checkpoint.pinned {
        outln!(out, "pinned     yes");
    }
    write_provenance(&record.provenance, out);
    if let Some(origin) = &outcome.origin {
        outln!(out, "made on    {origin}");
    }
    write_terms(&record.terms, out);
    if let Some(operation) = &record.operation {
        let (verb, target) = (operation.verb.into_str(), operation.target.short());
        match limit_words(&operation.paths, &operation.filter) {
            all if all.is_empty() => outln!(out, "taken for  {verb} of {target}"),
            limits => outln!(out, "taken for  {verb} of {target} ({limits})"),
        }
    }
    for (database, held) in &outcome.databases {
        match held {
            Held::Absent => outln!(out, "database   {database} (not there)"),
            Held::Content(_) => outln!(out, "database   {database}"),
        }
    }
    for (path, entry) in &outcome.meta.uncaptured {
        let path = out.context.shown(path);
        outln!(out, "not captured: {path} ({})", entry.why.in_words());
    }
    // As `--state` takes them.
    for (at, (key, value)) in outcome.state.iter().flatten().enumerate() {
        let label = if at == 0 { "state" } else { "" };
        outln!(out, "{label:<10} {}", escape(&format!("{key}={value}")));
    }
    match &outcome.before {
        _ if outcome.files.is_some() => outln!(out, ""),
        Some(before) => outln!(out, "\nagainst {}:", before.named()),
        None => outln!(out, "\nthe first one; everything is new:"),
    }
}

/// Writes the agent, and `moment     pre-tool, prompt p1, tool Bash`.
fn write_provenance(provenance: &Provenance, out: &mut Out<'_>) {
    let Some(agent) = &provenance.agent else {
        return;
    };
    let part = |name: &str, value: &Option<String>| {
        let value = value.as_deref().map(escape);
        value.map_or_else(String::new, |value| format!(", {name} {value}"))
    };
    let session = part("session", &provenance.session);
    outln!(out, "agent      {}{session}", escape(agent));
    if let Some(event) = provenance.event {
        let parts = [
            part("prompt", &provenance.prompt),
            part("tool", &provenance.tool),
            part("subagent", &provenance.agent_id),
        ];
        outln!(out, "moment     {}{}", event.into_str(), parts.concat());
    }
}

/// Formats the terms of a checkpoint, one per line.
fn write_terms(terms: &CheckpointTerms, out: &mut Out<'_>) {
    if let Some(scope) = &terms.scope {
        let parts: Vec<String> = scope.parts().iter().map(ScopePart::shown).collect();
        let shown = match parts.join(", ") {
            none if none.is_empty() => "no files".to_owned(),
            parts => parts,
        };
        outln!(out, "scope      {shown}");
    }
    if let Some(checkpoint_type) = terms.checkpoint_type {
        outln!(out, "type       {}", checkpoint_type.into_str());
    }
    match terms.expiry {
        None => {}
        Some(Expiry::Never) => outln!(out, "expires    never"),
        Some(Expiry::At(end_ms)) => outln!(out, "expires    {} UTC", utc_seconds(end_ms)),
    }
}
