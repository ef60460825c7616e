//! `list`: a table for people, markdown for pipes.

use std::ffi::OsString;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};

use crate::answer::table::{self, Screen};
use crate::commands::args::{PeriodArgs, bytes_of};
use crate::commands::prelude::*;
use crate::commands::stores;
use crate::model::checkpoint::manifest;
use crate::model::json::published_as;
use crate::model::{ChangeCounts, Checkpoint, CheckpointKind, CheckpointRow, DamagedCheckpoint};
use crate::ops::browse::list::{ListFilter, list};
use crate::ops::select::checkpoint;
use crate::ops::{ListOptions, ListOutcome, StoreList};

/// List the checkpoints, newest first
///
/// To a pipe, prints a markdown table in a stable format.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Maximum number of checkpoints
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,
    /// Only checkpoints whose reason matches this pattern of * and ?
    #[arg(long, value_name = "GLOB")]
    pub reason: Option<String>,
    /// Only checkpoints whose reason contains this text, in upper or lower case
    #[arg(long, value_name = "TEXT")]
    pub grep: Option<String>,
    /// Only checkpoints that changed this file or directory; may be repeated
    #[arg(long, value_name = "PATH")]
    pub path: Vec<OsString>,
    /// Only checkpoints of this source
    #[arg(long, value_name = "TEXT")]
    pub source: Option<String>,
    /// Only checkpoints made in this session of an agent [without ID: the current one]
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = checkpoint::CURRENT)]
    pub session: Option<String>,
    #[command(flatten)]
    pub period: PeriodArgs,
    /// Only checkpoints of this kind
    #[arg(long, value_parser = PossibleValuesParser::new(["checkpoint", "safety"]).try_map(|kind| kind.parse::<CheckpointKind>()))]
    pub kind: Option<CheckpointKind>,
    /// On a terminal, also show the safety checkpoints of restores, undos and redos
    #[arg(long)]
    pub safety: bool,
    /// Also show how many files each one added, changed and deleted
    #[arg(long)]
    pub stat: bool,
    /// List what was fetched from a remote
    #[arg(long, value_name = "NAME")]
    pub remote: Option<String>,
    /// List the stores of all directories, with their state
    #[arg(long, conflicts_with_all = ["limit", "reason", "grep", "path", "source", "session", "since", "until", "kind", "safety", "stat", "remote"])]
    pub all: bool,
}

impl Command for ListArgs {
    type Answer = Either<ListOutcome, StoreList>;

    fn properties(&self) -> Properties {
        Properties {
            name: self.all.then_some("list.all"),
            ..Properties::USUAL
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<Self::Answer>> {
        if self.all {
            return Ok(stores::list(context)?.map(Either::Second));
        }
        let is_for_a_person = cmd.printer.for_a_person() && !cmd.printer.json;
        let is_safety = self.kind == Some(CheckpointKind::Safety);
        let options = ListOptions {
            remote: self.remote,
            limit: self.limit,
            filter: ListFilter {
                reason: self.reason,
                grep: self.grep,
                source: self.source,
                session: self.session,
                agent: None,
                period: self.period.resolve(context.now_ms)?,
                kind: self.kind,
                paths: bytes_of(self.path),
            },
            hides_safety: is_for_a_person && !self.safety && !is_safety,
            tells: is_for_a_person,
            counts_changes: self.stat,
        };
        let done = Done::from(list(context, &options)?);
        Ok(done.map(Either::First))
    }
}

impl Text for ListOutcome {
    fn write(&self, out: &mut Out<'_>) {
        if !self.exists {
            out.no_store();
        } else if self.checkpoints.is_empty() {
            if out.is_for_a_person || self.is_filtered {
                out.talk = table::nothing(self);
            }
        } else if out.is_for_a_person {
            out.talk = table::footer(self, self.is_filtered, out.columns);
        }
        if out.is_for_a_person {
            let (columns, paint, now_ms) = (out.columns, out.paint, out.context.now_ms);
            let screen = Screen {
                columns,
                paint,
                now_ms,
            };
            out.result = table::render(self, screen);
            return;
        }
        // Byte for byte the table of the manifest, newest first; with the changes if they were counted.
        let rendered = manifest::render(&self.checkpoints);
        let changes = self.changes.iter();
        let counts = changes.map(|counts| counts.map(table::change_words));
        if self.changes.is_empty() {
            out.result = rendered;
            return;
        }
        let titles = ["Changes", "---"].map(|title| Some(title.to_owned()));
        let mut cells = titles.into_iter().chain(counts);
        for line in rendered.lines() {
            let cell = cells.next().flatten().unwrap_or_default();
            outln!(out, "{line} {cell} |");
        }
    }
}

/// The checkpoints of the directory.
#[derive(Serialize, JsonSchema)]
pub struct ListAnswer {
    /// Newest first.
    checkpoints: Vec<ListedCheckpoint>,
    /// Checkpoints that cannot be read.
    damaged: Vec<DamagedCheckpoint>,
    store: String,
}

/// A checkpoint, with what changed in it.
#[derive(Serialize, JsonSchema)]
struct ListedCheckpoint {
    #[serde(flatten)]
    row: CheckpointRow,
    /// Whether the directory stands here: what `@` names.
    is_current: bool,
    /// Null without `--stat`.
    counts: Option<ChangeCounts>,
}

published_as! { ListOutcome, ListAnswer, |outcome| {
    let mut counts = outcome.changes.iter().copied();
    let position = outcome.position.as_ref().map(|c| c.id);
    let listed = |row: &Checkpoint| ListedCheckpoint {
        row: CheckpointRow::new(row),
        is_current: position == Some(row.id),
        counts: counts.next().flatten(),
    };
    ListAnswer {
        checkpoints: outcome.checkpoints.iter().map(listed).collect(),
        damaged: outcome.damaged.clone(),
        store: outcome.store.display().to_string(),
    }
}; }
