//! The transitions of runs: what happened, and where the run is now.

use crate::answer::words::evicted;
use crate::answer::{Out, Text, outln, talkln};
use crate::base::text::{escape, escape_line};
use crate::commands::workflow::report::place;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::warning::Warning;
use crate::shell::command_context::CommandContext;
use crate::workflow::engine::phase::{self, commit_project, will_commit};
use crate::workflow::engine::transact::step;
use crate::workflow::engine::work::{StepOptions, StepOutcome};
use crate::workflow::rules::advice::approve_command;
use crate::workflow::rules::change::{Change, Finish, PhaseChange};
use crate::workflow::rules::event::Event;
use crate::workflow::rules::status::PhaseStatus;

pub fn change_phase(
    context: &Context,
    cmd: &CommandContext<'_>,
    options: &StepOptions,
    change: PhaseChange,
) -> Result<(StepOutcome, Vec<Warning>)> {
    match change {
        PhaseChange::Start(begin) => phase::start(context, options, &begin),
        PhaseChange::Done(finish) => finish_phase(context, cmd, options, &finish),
        change => step(context, options, &Change::Phase(change)),
    }
}

/// Ends a phase, and makes the commit in the project that is due then.
fn finish_phase(
    context: &Context,
    cmd: &CommandContext<'_>,
    options: &StepOptions,
    finish: &Finish,
) -> Result<(StepOutcome, Vec<Warning>)> {
    // Asked first, so that nothing has been changed if the answer is no.
    let commits = finish.project_git && will_commit(context, options)?;
    if commits && !cmd.global.yes {
        let what = "commit everything in the project's own repository";
        cmd.ask(context, what, &format!("{what}?"))?;
    }
    let mut outcome = phase::done(context, options, finish)?;
    if commits {
        let children = cmd.children(context);
        commit_project(context, options, &mut outcome, &|message| {
            let _shield = context.interrupt.shield();
            children.commit_all(message, context.root.path())
        })?;
    }
    Ok(outcome)
}

impl Text for StepOutcome {
    /// Of a new run the result is only its id.
    fn write(&self, out: &mut Out<'_>) {
        let (workflow, event) = (&self.run.workflow, &self.event);
        if matches!(&*event.verb, "init" | "import") {
            outln!(out, "{}", workflow.id);
            talkln!(out, "Run begun; {}", place(workflow));
            return;
        }
        outln!(out, "{}; {}", in_words(event), place(workflow));
        if let Some(id) = event.checkpoints.first() {
            talkln!(out, "checkpoint {}", id.get(..8).unwrap_or(id));
        }
        let phase = event.phase.as_ref().and_then(|id| workflow.phase(id));
        if let Some(phase) = phase.filter(|phase| phase.status == PhaseStatus::AwaitingApproval) {
            let command = approve_command(workflow, phase).to_string();
            let (id, command) = (escape(&phase.id), escape_line(&command));
            talkln!(out, "{id} waits for its approval: {command}");
        }
        out.talk.push_str(&evicted(&self.evicted));
    }
}

/// Formats `Phase build started`; an event of the whole run is its verb.
fn in_words(event: &Event) -> String {
    let object = event.phase.as_ref().or(event.task.as_ref());
    let (Some(object), Some((noun, verb))) = (object, event.verb.split_once(' ')) else {
        return event.subject();
    };
    let noun = if noun == "phase" { "Phase" } else { "Task" };
    let done = match verb {
        "start" => "started",
        "fail" => "failed",
        "skip" => "skipped",
        "approve" => "approved",
        "await" => "waits for approval",
        "progress" => "goes on",
        "add" => "added",
        verb => verb,
    };
    format!("{noun} {} {done}", escape(object))
}
