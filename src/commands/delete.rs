//! `delete`: drops checkpoints, or a whole store.

use crate::base::time::{self, local_minutes};
use crate::commands::args::{PlanArgs, write_plan};
use crate::commands::prelude::*;
use crate::model::CheckpointKind;
use crate::ops::maintain::delete::{delete, delete_store};
use crate::ops::{DeleteOptions, DeleteOutcome, DeletedWithStore, ToDelete};

/// Maximum number of checkpoints listed in a question.
const LISTED_CHECKPOINTS: usize = 20;

/// Delete checkpoints
///
/// Frees the space of what only they held. This cannot be undone. A damaged checkpoint can be named
/// by its id; a pinned one must be unpinned first.
#[derive(Clone, Debug, clap::Args)]
pub struct DeleteArgs {
    /// Checkpoints: ids, @, latest~N, reasons, or times such as '10m ago'
    #[arg(value_name = "SEL", required_unless_present = "all")]
    #[arg(conflicts_with = "all")]
    pub selectors: Vec<String>,
    /// Remove the whole store of this directory, pinned checkpoints included
    #[arg(long)]
    pub all: bool,
    /// With --all: even while an interrupted restore is pending
    #[arg(long, requires = "all", conflicts_with = "selectors")]
    pub force: bool,
    /// Only show what would be done
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub plan: PlanArgs,
}

impl DeleteArgs {
    /// This command without consent.
    fn again(&self) -> CommandWords {
        let all = self.all.then_some("--all");
        let force = self.force.then_some("--force");
        let words = ["delete"].into_iter().chain(all).chain(force);
        let selectors = self.selectors.iter().map(String::as_str);
        CommandWords::new(words.chain(selectors))
    }
}

impl Command for DeleteArgs {
    type Answer = DeleteOutcome;
    const TRAITS: Properties = Properties {
        has_dry_run: true,
        ..Properties::LONG
    };

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<DeleteOutcome>> {
        let again = self.again();
        let options = DeleteOptions {
            plan: self.plan.resolve(context, self.dry_run, &again)?,
            selectors: self.selectors,
            yes: cmd.global.yes,
            dry_run: self.dry_run,
            force: self.force,
        };
        let mut ask = |planned: &DeleteOutcome| {
            let mut out = cmd.printer.out(context);
            let summary = write_question(planned, &mut out);
            cmd.ask(context, &summary, &out.talk)
        };
        let mut outcome = if self.all {
            delete_store(context, &options, &mut ask)?
        } else {
            delete(context, &options, &mut ask)?
        };
        outcome.again = Some(again);
        let warnings = std::mem::take(&mut outcome.warnings);
        let is_left = outcome.whole_store && !outcome.dry_run && outcome.bytes_after > 0;
        Ok(Done::new(outcome, warnings).exit_if(is_left, exit_code::PARTIAL))
    }
}

/// Writes the question before a deletion; returns what would be done, in one line.
fn write_question(planned: &DeleteOutcome, out: &mut Out<'_>) -> String {
    for one in planned.deleted.iter().take(LISTED_CHECKPOINTS) {
        let line = line(one, local_minutes, out);
        talkln!(out, "  {line}");
    }
    if planned.deleted.len() > LISTED_CHECKPOINTS {
        let more = planned.deleted.len() - LISTED_CHECKPOINTS;
        talkln!(out, "  … and {more} more");
    }
    let number = counted(&planned.deleted);
    let what = if planned.whole_store {
        let (dir, bytes) = (escape_path(&planned.store), size(planned.bytes_before));
        talkln!(out, "  {dir} ({bytes})");
        let root = escape_path(out.context.root.path());
        let with = with_store(&planned.with_store);
        format!("the whole store of {root} with {number}{with}")
    } else {
        number
    };
    out.talk
        .push_str(&format!("Delete {what}? This cannot be taken back."));
    format!("delete {what}")
}

fn counted(deleted: &[ToDelete]) -> String {
    let is_safety = |one: &&ToDelete| one.kind == Some(CheckpointKind::Safety);
    let safeties = deleted.iter().filter(is_safety).count();
    checkpoints_and_safety(deleted.len() - safeties, safeties)
}

/// ` (1 pinned, the open workflow w1, the remote origin)`.
fn with_store(with: &DeletedWithStore) -> String {
    let named = |kind: &'static str, names: &[String]| {
        let one = move |name: &String| format!("the {kind} {}", escape(name));
        names.iter().map(one).collect::<Vec<_>>()
    };
    let pinned = (with.pinned_count > 0).then(|| format!("{} pinned", with.pinned_count));
    let mut parts = Vec::from_iter(pinned);
    parts.extend(named("open workflow", &with.open_workflows));
    parts.extend(named("hold", &with.hold_names));
    parts.extend(named("remote", &with.remote_names));
    if parts.is_empty() {
        return String::new();
    }
    format!(" ({})", parts.join(", "))
}

fn line(one: &ToDelete, time: fn(i64) -> String, out: &Out<'_>) -> String {
    let id = out.talk_paint.yellow(&one.id.short());
    match &one.record {
        Some((reason, time_ms)) => {
            let (time, reason, ago) = (time(*time_ms), escape(reason), out.ago(*time_ms));
            format!("{id}  {time}  {reason} ({ago})")
        }
        None => format!("{id}  damaged"),
    }
}

impl Text for DeleteOutcome {
    fn write(&self, out: &mut Out<'_>) {
        if !self.exists {
            return out.no_store();
        }
        let time = time::shown(out.is_for_a_person);
        for one in &self.deleted {
            let line = line(one, time, out);
            if self.dry_run {
                outln!(out, "  {line}");
            } else {
                talkln!(out, "  {line}");
            }
        }
        let number = counted(&self.deleted);
        let (before, after) = (size(self.bytes_before), size(self.bytes_after));
        let (done, room) = match (self.dry_run, self.whole_store) {
            (true, false) => ("Would delete", String::new()),
            (true, true) => ("Would delete", format!(", {before}")),
            (false, _) => ("Deleted", format!(", {before} → {after}")),
        };
        let store = if self.whole_store {
            let with = with_store(&self.with_store);
            format!("{with} and the store {}", escape_path(&self.store))
        } else {
            String::new()
        };
        outln!(out, "{done} {number}{store}{room}");
        if let Some(again) = &self.again {
            write_plan(out, self.plan_digest.as_deref(), again);
        }
    }
}
