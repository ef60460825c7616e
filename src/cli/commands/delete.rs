//! `delete`: drops checkpoints, or a whole store.

use crate::cli::command_context::CommandContext;
use crate::cli::commands::select_args::{PlanArgs, with_plan};
use crate::cli::exit_code;
use crate::cli::run::RunCommand;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::maintain::delete::{self as delete_op, DeleteOptions, DeleteOutcome, Deletion};
use crate::ops::maintain::delete_store::{self, DeleteStoreOptions};
use crate::view::{delete as delete_view, restore};

/// Delete checkpoints
///
/// Frees the space of what only they held. This cannot be undone. A damaged checkpoint can be named
/// by its id; a pinned one must be unpinned first.
#[derive(Clone, Debug, clap::Args)]
pub struct DeleteArgs {
    /// Checkpoints: ids, @, latest~N, reasons, or times such as '10m ago'
    #[arg(
        value_name = "SEL",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
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
    pub fn resolve(&self, yes: bool, plan: Option<String>) -> DeleteOptions {
        DeleteOptions {
            selectors: self.selectors.clone(),
            yes,
            dry_run: self.dry_run,
            plan,
        }
    }

    pub fn resolve_all(&self, yes: bool, plan: Option<String>) -> DeleteStoreOptions {
        DeleteStoreOptions {
            yes,
            dry_run: self.dry_run,
            force: self.force,
            plan,
        }
    }
}

impl RunCommand for DeleteArgs {
    const HAS_DRY_RUN: bool = true;
    const MAY_TAKE_LONG: bool = true;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let yes = cmd.global.yes;
        let plan = self.plan.resolve(context, cmd, self.dry_run)?;
        let mut ask = |deletion: &Deletion<'_>| {
            let question = delete_view::question(deletion, context.now_ms, cmd.printer.err_paint());
            cmd.prompt
                .ask(&context.interrupt, delete_view::stake(deletion), &question)
        };
        let outcome = if self.all {
            delete_store::delete_store(context, &self.resolve_all(yes, plan), &mut ask)?
        } else {
            Some(delete_op::delete(
                context,
                &self.resolve(yes, plan),
                &mut ask,
            )?)
        };
        let is_left = |outcome: &DeleteOutcome| {
            outcome.whole_store && !outcome.dry_run && outcome.bytes_after > 0
        };
        let code = if outcome.as_ref().is_some_and(is_left) {
            exit_code::PARTIAL
        } else {
            exit_code::DONE
        };
        match outcome {
            None if cmd.printer.json => cmd
                .printer
                .result(&delete_view::nothing_json(&context.store_dir()?)),
            None => cmd.print_no_store(context),
            Some(outcome) if cmd.printer.json => {
                cmd.printer.result(&delete_view::json(&outcome, code));
            }
            Some(outcome) => {
                let (paint, for_a_person) = (cmd.printer.out_paint(), cmd.printer.for_a_person());
                let mut said = delete_view::human(&outcome, context.now_ms, paint, for_a_person);
                if let Some(digest) = outcome.plan_digest() {
                    let command = with_plan(cmd, &digest);
                    said.talk.push_str(&restore::plan_named(&digest, command));
                }
                cmd.print_output(&said, &outcome.warnings);
            }
        }
        Ok(code)
    }
}
