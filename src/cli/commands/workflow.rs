//! `workflow`: the commands for runs, except transitions of phases and tasks.

use crate::base::time;
use crate::cli::command_context::{CommandContext, tell};
use crate::cli::commands::phase::said;
use crate::cli::commands::workflow_args::{
    AbandonArgs, CleanupArgs, ExportArgs, ImportArgs, InitArgs, InterruptArgs, MiniCommitArgs, NextArgs, NoteArgs,
    RewindArgs, RunArgs, SetArgs, ShimsArgs, SkeletonArgs, WorkflowArgs, WorkflowCommand, WorkflowDeleteArgs,
    WorkflowDiffArgs, WorkflowListArgs, WorkflowShowArgs, WorkflowStatusArgs,
};
use crate::cli::commands::workflow_resume;
use crate::cli::run::{Properties, RunCommand};
use crate::cli::{exit_code, lists};
use crate::error::{Error, Result};
use crate::ops::context::Context;
use crate::ops::restore::restore_options::CommonOptions;
use crate::view::words::Output;
use crate::view::workflow::{findings, json as runs_json, listing, outcomes as workflow_view};
use crate::workflow::documents::shims;
use crate::workflow::engine::import_export::{self, ExportOptions, Exported, ImportOptions};
use crate::workflow::engine::init_run::{self, InitOptions};
use crate::workflow::engine::make_mini_commit::{CommitInProject, mini_commit};
use crate::workflow::engine::report;
use crate::workflow::engine::rewind::{self, RewindOptions};
use crate::workflow::engine::run_lifecycle::{self, CleanupOptions, EndOutcome};
use crate::workflow::engine::step::step;
use crate::workflow::rules::change::Change;
use crate::workflow::rules::mini_commit::project_commit_due;

impl RunCommand for WorkflowArgs {
    fn properties(&self) -> Properties {
        use WorkflowCommand as Of;
        let has_dry_run = matches!(self.command, Of::Rewind(_) | Of::Recover(_) | Of::Cleanup(_));
        Properties { name: Some(self.command.name()), has_dry_run, ..Properties::USUAL }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        run(context, cmd, self.command)
    }
}

fn run(context: &Context, cmd: &CommandContext<'_>, command: WorkflowCommand) -> Result<u8> {
    let name = command.name();
    match command {
        WorkflowCommand::Init(args) => init(context, cmd, args),
        WorkflowCommand::Status(args) => status(context, cmd, &args),
        WorkflowCommand::List(args) => list(context, cmd, &args),
        WorkflowCommand::Show(args) => show(context, cmd, &args),
        WorkflowCommand::Next(args) => next(context, cmd, &args),
        WorkflowCommand::Resume(args) => workflow_resume::resume(context, cmd, &args),
        WorkflowCommand::Recover(args) => workflow_resume::recover(context, cmd, &args),
        WorkflowCommand::Rewind(args) => rewind(context, cmd, &args),
        WorkflowCommand::Set(args) => set(context, cmd, &args),
        WorkflowCommand::Note(args) => note(context, cmd, args),
        WorkflowCommand::Interrupt(args) => interrupt(context, cmd, args),
        WorkflowCommand::Diff(args) => diff(context, cmd, &args),
        WorkflowCommand::Validate(args) => validate(context, cmd, &args),
        WorkflowCommand::Lint(args) => lint(context, cmd, &args),
        WorkflowCommand::MiniCommit(args) => mini(context, cmd, &args),
        WorkflowCommand::Archive(args) => archive(context, cmd, name, &args),
        WorkflowCommand::Abandon(args) => abandon(context, cmd, &args),
        WorkflowCommand::Delete(args) => delete(context, cmd, &args),
        WorkflowCommand::Cleanup(args) => cleanup(context, cmd, &args),
        WorkflowCommand::Import(args) => import(context, cmd, &args),
        WorkflowCommand::Export(args) => export(context, cmd, &args),
        WorkflowCommand::Skeleton(args) => Ok(skeleton(context, cmd, &args)),
        WorkflowCommand::Shims(args) => shims(context, cmd, &args),
    }
}

fn init(context: &Context, cmd: &CommandContext<'_>, args: InitArgs) -> Result<u8> {
    let plan = args.plan.as_deref().map(lists::content).transpose()?;
    let options = InitOptions {
        id: args.id,
        kind: args.kind,
        project: args.project,
        description: args.description,
        profiles: args.profile,
        preset: args.preset,
        plan,
        phases: args.phases,
        branch: args.branch,
        actor: args.actor,
    };
    Ok(said(cmd, "workflow.init", &init_run::init(context, &options)?))
}

fn status(context: &Context, cmd: &CommandContext<'_>, args: &WorkflowStatusArgs) -> Result<u8> {
    let status = match &args.file {
        Some(path) => import_export::look_at(context, &lists::content(path)?)?,
        None => report::status(context, args.run.workflow.as_deref(), true)?,
    };
    let document = || runs_json::status("workflow.status", &status, exit_code::DONE);
    tell(cmd, document, || workflow_view::status(&status, context.now_ms), &status.warnings);
    Ok(exit_code::DONE)
}

fn list(context: &Context, cmd: &CommandContext<'_>, args: &WorkflowListArgs) -> Result<u8> {
    let listed = report::list(context, args.kind.as_deref(), args.all)?;
    tell(cmd, || runs_json::list(&listed), || listing::list(&listed), &listed.warnings);
    Ok(exit_code::DONE)
}

fn show(context: &Context, cmd: &CommandContext<'_>, args: &WorkflowShowArgs) -> Result<u8> {
    let shown = report::show(context, args.run.workflow.as_deref(), args.limit)?;
    let words = || {
        if args.raw {
            Output { result: shown.run.workflow.to_json(), talk: findings::troubles(&shown.troubles) }
        } else {
            listing::show(&shown)
        }
    };
    tell(cmd, || runs_json::show(&shown), words, &shown.warnings);
    Ok(exit_code::DONE)
}

fn next(context: &Context, cmd: &CommandContext<'_>, args: &NextArgs) -> Result<u8> {
    let status = report::status(context, args.run.workflow.as_deref(), false)?;
    tell(
        cmd,
        || runs_json::next(&status, args.parallel),
        || workflow_view::next(&status, args.parallel),
        &status.warnings,
    );
    Ok(exit_code::DONE)
}

/// Errors in a run count as damage in the exit code.
fn validate(context: &Context, cmd: &CommandContext<'_>, args: &RunArgs) -> Result<u8> {
    let status = report::status(context, args.workflow.as_deref(), false)?;
    let is_sound = status.report.errors.is_empty() && status.troubles.is_empty();
    let code = if is_sound { exit_code::DONE } else { exit_code::DAMAGED };
    let words = || {
        let word = if is_sound { "valid" } else { "not valid" };
        Output { result: format!("{} is {word}\n", status.run.workflow.id), talk: findings::remarks(&status) }
    };
    tell(cmd, || runs_json::status("workflow.validate", &status, code), words, &status.warnings);
    Ok(code)
}

fn lint(context: &Context, cmd: &CommandContext<'_>, args: &RunArgs) -> Result<u8> {
    let (run, findings) = report::lint(context, args.workflow.as_deref())?;
    let code = if findings.is_empty() { exit_code::DONE } else { exit_code::FAILED };
    let words = || Output { result: listing::findings(&findings), talk: String::new() };
    tell(cmd, || runs_json::lint(&run, &findings, code), words, &[]);
    Ok(code)
}

fn diff(context: &Context, cmd: &CommandContext<'_>, args: &WorkflowDiffArgs) -> Result<u8> {
    let compared = report::diff(context, args.workflow.as_deref(), &args.revisions)?;
    tell(cmd, || runs_json::diff(&compared), || listing::diff(&compared), &compared.warnings);
    Ok(exit_code::DONE)
}

fn set(context: &Context, cmd: &CommandContext<'_>, args: &SetArgs) -> Result<u8> {
    let pair = |text: &String| {
        let what = || Error::Usage { what: format!("'{text}' is no KEY=VALUE") };
        let (key, value) = text.split_once('=').ok_or_else(what)?;
        // Other text than JSON is taken as is, to spare the user a second level of quotes.
        Ok((key.to_owned(), crate::workflow::rules::change::value_of(value)))
    };
    let pairs = args.pairs.iter().map(pair).collect::<Result<Vec<_>>>()?;
    let outcome = step(context, &(&args.step).into(), &mut |_| Ok(Change::Set(pairs.clone())))?;
    Ok(said(cmd, "workflow.set", &outcome))
}

fn note(context: &Context, cmd: &CommandContext<'_>, args: NoteArgs) -> Result<u8> {
    let change = Change::Note { decisions: args.decision, files: args.file, branch: args.branch };
    let outcome = step(context, &(&args.step).into(), &mut |_| Ok(change.clone()))?;
    Ok(said(cmd, "workflow.note", &outcome))
}

fn interrupt(context: &Context, cmd: &CommandContext<'_>, args: InterruptArgs) -> Result<u8> {
    let change = Change::Interrupt { reason: args.reason };
    let outcome = step(context, &(&args.step).into(), &mut |_| Ok(change.clone()))?;
    Ok(said(cmd, "workflow.interrupt", &outcome))
}

fn rewind(context: &Context, cmd: &CommandContext<'_>, args: &RewindArgs) -> Result<u8> {
    if !(args.files || args.state || args.both) {
        return Err(Error::Usage { what: "say what goes back: --files, --state or --both".to_owned() });
    }
    let common = CommonOptions { yes: cmd.global.yes, dry_run: args.dry_run, keep: None };
    let options = RewindOptions {
        step: (&args.step).into(),
        to: args.to.clone(),
        files: args.files || args.both,
        state: args.state || args.both,
        common,
    };
    let mut agree = |what: String| {
        let question = format!("{what}? [y/N] ");
        cmd.prompt.ask(&context.interrupt, what, &question)
    };
    let outcome = rewind::rewind(context, &options, &mut |proposal| cmd.consent(context, proposal), &mut agree)?;
    let mut warnings = outcome.warnings.clone();
    warnings.extend(outcome.files.iter().flat_map(|files| files.warnings.clone()));
    warnings.extend(outcome.state.iter().flat_map(|state| state.warnings.clone()));
    tell(cmd, || runs_json::rewind(&outcome, exit_code::DONE), || workflow_view::rewind(&outcome), &warnings);
    Ok(exit_code::DONE)
}

fn mini(context: &Context, cmd: &CommandContext<'_>, args: &MiniCommitArgs) -> Result<u8> {
    let status = report::status(context, args.step.workflow.as_deref(), false)?;
    // Asked first, so that nothing has been changed if the answer is no.
    if args.project_git && !cmd.global.yes && project_commit_due(&status.run.workflow).is_some() {
        let what = "commit everything in the project's own repository".to_owned();
        cmd.prompt.ask(&context.interrupt, what.clone(), &format!("{what}? [y/N] "))?;
    }
    let children = cmd.children(context);
    let commit = |message: &str| {
        let _shield = context.interrupt.shield();
        children.commit_all(message, context.root.path())
    };
    let commit: Option<&CommitInProject<'_>> = if args.project_git { Some(&commit) } else { None };
    let outcome = mini_commit(context, &(&args.step).into(), &status.run, commit)?;
    let warnings = outcome.step.as_ref().map(|step| step.warnings.clone()).unwrap_or_default();
    tell(cmd, || runs_json::mini_commit(&outcome), || workflow_view::mini_commit(&outcome), &warnings);
    Ok(exit_code::DONE)
}

fn archive(context: &Context, cmd: &CommandContext<'_>, name: &str, args: &RunArgs) -> Result<u8> {
    Ok(ended(cmd, name, &run_lifecycle::archive(context, &args.step())?))
}

fn abandon(context: &Context, cmd: &CommandContext<'_>, args: &AbandonArgs) -> Result<u8> {
    let outcome = run_lifecycle::abandon(context, &args.run.step(), &args.reason)?;
    Ok(said(cmd, "workflow.abandon", &outcome))
}

fn delete(context: &Context, cmd: &CommandContext<'_>, args: &WorkflowDeleteArgs) -> Result<u8> {
    if args.purge && !cmd.global.yes {
        let what = "drop a workflow with all its transitions, for good".to_owned();
        cmd.prompt.ask(&context.interrupt, what.clone(), &format!("{what}? [y/N] "))?;
    }
    Ok(ended(cmd, "workflow.delete", &run_lifecycle::delete(context, &args.run.step(), args.purge)?))
}

fn cleanup(context: &Context, cmd: &CommandContext<'_>, args: &CleanupArgs) -> Result<u8> {
    let span = |text: &str| {
        time::parse_span(text).ok_or_else(|| Error::Usage { what: format!("'{text}' is no time such as 7d or 12h") })
    };
    let options = CleanupOptions {
        max_age_ms: span(&args.max_age)?,
        failed_max_age_ms: span(&args.failed_max_age)?,
        keep_archives: args.keep_archives,
        dry_run: args.dry_run,
    };
    Ok(ended(cmd, "workflow.cleanup", &run_lifecycle::cleanup(context, options)?))
}

fn ended(cmd: &CommandContext<'_>, name: &str, outcome: &EndOutcome) -> u8 {
    tell(cmd, || runs_json::ended(name, outcome), || workflow_view::ended(outcome), &outcome.warnings);
    exit_code::DONE
}

fn import(context: &Context, cmd: &CommandContext<'_>, args: &ImportArgs) -> Result<u8> {
    let options = ImportOptions {
        bytes: lists::content(&args.file)?,
        profile: args.profile.clone(),
        kind: args.kind.clone(),
        project: args.project.clone(),
        keep_files: args.keep_files,
        actor: None,
    };
    Ok(said(cmd, "workflow.import", &import_export::import(context, &options)?))
}

fn export(context: &Context, cmd: &CommandContext<'_>, args: &ExportArgs) -> Result<u8> {
    let options = ExportOptions {
        workflow: args.run.workflow.clone(),
        kind: args.kind.clone(),
        project: args.project.clone(),
        form: args.format.clone(),
    };
    let exported = import_export::export(context, &options)?;
    say_document(cmd, "workflow.export", &exported);
    cmd.printer.talk(&findings::troubles(&exported.troubles));
    cmd.warn(&exported.warnings);
    Ok(exit_code::DONE)
}

fn skeleton(context: &Context, cmd: &CommandContext<'_>, args: &SkeletonArgs) -> u8 {
    let text = import_export::skeleton(context, args.branch.as_deref());
    let document = Exported { text, troubles: Vec::new(), warnings: Vec::new() };
    say_document(cmd, "workflow.skeleton", &document);
    exit_code::DONE
}

fn shims(context: &Context, cmd: &CommandContext<'_>, args: &ShimsArgs) -> Result<u8> {
    let outcome = shims::shims(context, args.into.as_os_str().as_encoded_bytes(), args.force)?;
    tell(cmd, || runs_json::shims(&outcome), || workflow_view::shims(&outcome), &[]);
    Ok(if outcome.left.is_empty() { exit_code::DONE } else { exit_code::REFUSED })
}

fn say_document(cmd: &CommandContext<'_>, command: &str, document: &Exported) {
    if cmd.printer.json {
        cmd.printer.result(&runs_json::document(command, document));
    } else {
        cmd.printer.data(&document.text);
    }
}
