//! `workflow`: every command of a run but its transitions.

use crate::base::time;
use crate::cli::args::workflow::{
    AbandonArgs, CleanupArgs, DeleteArgs, DiffArgs, ExportArgs, ImportArgs, InitArgs, InterruptArgs, ListArgs,
    MiniCommitArgs, NextArgs, NoteArgs, RewindArgs, RunArgs, SetArgs, ShimsArgs, ShowArgs, SkeletonArgs, StatusArgs,
    WorkflowCommand,
};
use crate::cli::commands::phase::said;
use crate::cli::commands::workflow_resume;
use crate::cli::rim::{Rim, tell};
use crate::cli::{exit_code, lists};
use crate::error::{Error, Result};
use crate::ops::context::Context;
use crate::ops::restore::restore_options::CommonOptions;
use crate::view::human::{Said, workflow as human};
use crate::view::json::workflow as json;
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

pub fn workflow(context: &Context, rim: &Rim<'_>, command: WorkflowCommand) -> Result<u8> {
    let name = command.name();
    match command {
        WorkflowCommand::Init(args) => init(context, rim, args),
        WorkflowCommand::Status(args) => status(context, rim, &args),
        WorkflowCommand::List(args) => list(context, rim, &args),
        WorkflowCommand::Show(args) => show(context, rim, &args),
        WorkflowCommand::Next(args) => next(context, rim, &args),
        WorkflowCommand::Resume(args) => workflow_resume::resume(context, rim, &args),
        WorkflowCommand::Recover(args) => workflow_resume::recover(context, rim, &args),
        WorkflowCommand::Rewind(args) => rewind(context, rim, &args),
        WorkflowCommand::Set(args) => set(context, rim, &args),
        WorkflowCommand::Note(args) => note(context, rim, args),
        WorkflowCommand::Interrupt(args) => interrupt(context, rim, args),
        WorkflowCommand::Diff(args) => diff(context, rim, &args),
        WorkflowCommand::Validate(args) => validate(context, rim, &args),
        WorkflowCommand::Lint(args) => lint(context, rim, &args),
        WorkflowCommand::MiniCommit(args) => mini(context, rim, &args),
        WorkflowCommand::Archive(args) => archive(context, rim, name, &args),
        WorkflowCommand::Abandon(args) => abandon(context, rim, &args),
        WorkflowCommand::Delete(args) => delete(context, rim, &args),
        WorkflowCommand::Cleanup(args) => cleanup(context, rim, &args),
        WorkflowCommand::Import(args) => import(context, rim, &args),
        WorkflowCommand::Export(args) => export(context, rim, &args),
        WorkflowCommand::Skeleton(args) => Ok(skeleton(context, rim, &args)),
        WorkflowCommand::Shims(args) => shims(context, rim, &args),
    }
}

fn init(context: &Context, rim: &Rim<'_>, args: InitArgs) -> Result<u8> {
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
    Ok(said(rim, "workflow.init", &init_run::init(context, &options)?))
}

fn status(context: &Context, rim: &Rim<'_>, args: &StatusArgs) -> Result<u8> {
    let status = match &args.file {
        Some(path) => import_export::look_at(context, &lists::content(path)?)?,
        None => report::status(context, args.run.workflow.as_deref(), true)?,
    };
    let document = || json::status("workflow.status", &status, exit_code::DONE);
    tell(rim, document, || human::status(&status, context.now_ms), &status.warnings);
    Ok(exit_code::DONE)
}

fn list(context: &Context, rim: &Rim<'_>, args: &ListArgs) -> Result<u8> {
    let listed = report::list(context, args.kind.as_deref(), args.all)?;
    tell(rim, || json::list(&listed), || human::listing::list(&listed), &listed.warnings);
    Ok(exit_code::DONE)
}

fn show(context: &Context, rim: &Rim<'_>, args: &ShowArgs) -> Result<u8> {
    let shown = report::show(context, args.run.workflow.as_deref(), args.limit)?;
    let words = || {
        if args.raw {
            Said { result: shown.run.workflow.to_json(), talk: human::troubles(&shown.troubles) }
        } else {
            human::listing::show(&shown)
        }
    };
    tell(rim, || json::show(&shown), words, &shown.warnings);
    Ok(exit_code::DONE)
}

fn next(context: &Context, rim: &Rim<'_>, args: &NextArgs) -> Result<u8> {
    let status = report::status(context, args.run.workflow.as_deref(), false)?;
    tell(rim, || json::next(&status, args.parallel), || human::next(&status, args.parallel), &status.warnings);
    Ok(exit_code::DONE)
}

/// What is wrong is damage, whether or not anybody asked for more than a look.
fn validate(context: &Context, rim: &Rim<'_>, args: &RunArgs) -> Result<u8> {
    let status = report::status(context, args.workflow.as_deref(), false)?;
    let is_sound = status.report.errors.is_empty() && status.troubles.is_empty();
    let code = if is_sound { exit_code::DONE } else { exit_code::DAMAGED };
    let words = || {
        let word = if is_sound { "valid" } else { "not valid" };
        Said { result: format!("{} is {word}\n", status.run.workflow.id), talk: human::remarks(&status) }
    };
    tell(rim, || json::status("workflow.validate", &status, code), words, &status.warnings);
    Ok(code)
}

fn lint(context: &Context, rim: &Rim<'_>, args: &RunArgs) -> Result<u8> {
    let (run, findings) = report::lint(context, args.workflow.as_deref())?;
    let code = if findings.is_empty() { exit_code::DONE } else { exit_code::FAILED };
    let words = || Said { result: human::listing::findings(&findings), talk: String::new() };
    tell(rim, || json::lint(&run, &findings, code), words, &[]);
    Ok(code)
}

fn diff(context: &Context, rim: &Rim<'_>, args: &DiffArgs) -> Result<u8> {
    let compared = report::diff(context, args.workflow.as_deref(), &args.revisions)?;
    tell(rim, || json::diff(&compared), || human::listing::diff(&compared), &compared.warnings);
    Ok(exit_code::DONE)
}

fn set(context: &Context, rim: &Rim<'_>, args: &SetArgs) -> Result<u8> {
    let pair = |text: &String| {
        let what = || Error::Usage { what: format!("'{text}' is no KEY=VALUE") };
        let (key, value) = text.split_once('=').ok_or_else(what)?;
        // What is no JSON is text, so that nobody has to quote twice.
        Ok((key.to_owned(), crate::workflow::rules::change::value_of(value)))
    };
    let pairs = args.pairs.iter().map(pair).collect::<Result<Vec<_>>>()?;
    let outcome = step(context, &(&args.step).into(), &mut |_| Ok(Change::Set(pairs.clone())))?;
    Ok(said(rim, "workflow.set", &outcome))
}

fn note(context: &Context, rim: &Rim<'_>, args: NoteArgs) -> Result<u8> {
    let change = Change::Note { decisions: args.decision, files: args.file, branch: args.branch };
    let outcome = step(context, &(&args.step).into(), &mut |_| Ok(change.clone()))?;
    Ok(said(rim, "workflow.note", &outcome))
}

fn interrupt(context: &Context, rim: &Rim<'_>, args: InterruptArgs) -> Result<u8> {
    let change = Change::Interrupt { reason: args.reason };
    let outcome = step(context, &(&args.step).into(), &mut |_| Ok(change.clone()))?;
    Ok(said(rim, "workflow.interrupt", &outcome))
}

fn rewind(context: &Context, rim: &Rim<'_>, args: &RewindArgs) -> Result<u8> {
    if !(args.files || args.state || args.both) {
        return Err(Error::Usage { what: "say what goes back: --files, --state or --both".to_owned() });
    }
    let common = CommonOptions { yes: rim.global.yes, dry_run: args.dry_run, keep: None };
    let options = RewindOptions {
        step: (&args.step).into(),
        to: args.to.clone(),
        files: args.files || args.both,
        state: args.state || args.both,
        common,
    };
    let mut agree = |what: String| {
        let question = format!("{what}? [y/N] ");
        rim.prompt.ask(&context.interrupt, what, &question)
    };
    let outcome = rewind::rewind(context, &options, &mut |proposal| rim.consent(context, proposal), &mut agree)?;
    let mut warnings = outcome.warnings.clone();
    warnings.extend(outcome.files.iter().flat_map(|files| files.warnings.clone()));
    warnings.extend(outcome.state.iter().flat_map(|state| state.warnings.clone()));
    tell(rim, || json::rewind(&outcome, exit_code::DONE), || human::rewind(&outcome), &warnings);
    Ok(exit_code::DONE)
}

fn mini(context: &Context, rim: &Rim<'_>, args: &MiniCommitArgs) -> Result<u8> {
    let status = report::status(context, args.step.workflow.as_deref(), false)?;
    // Before anything is made, so that a no leaves everything as it is.
    if args.project_git && !rim.global.yes && project_commit_due(&status.run.workflow).is_some() {
        let what = "commit everything in the project's own repository".to_owned();
        rim.prompt.ask(&context.interrupt, what.clone(), &format!("{what}? [y/N] "))?;
    }
    let children = rim.children(context);
    let commit = |message: &str| {
        let _shield = context.interrupt.shield();
        children.commit_all(message, context.root.path())
    };
    let commit: Option<&CommitInProject<'_>> = if args.project_git { Some(&commit) } else { None };
    let outcome = mini_commit(context, &(&args.step).into(), &status.run, commit)?;
    let warnings = outcome.step.as_ref().map(|step| step.warnings.clone()).unwrap_or_default();
    tell(rim, || json::mini_commit(&outcome), || human::mini_commit(&outcome), &warnings);
    Ok(exit_code::DONE)
}

fn archive(context: &Context, rim: &Rim<'_>, name: &str, args: &RunArgs) -> Result<u8> {
    Ok(ended(rim, name, &run_lifecycle::archive(context, &args.step())?))
}

fn abandon(context: &Context, rim: &Rim<'_>, args: &AbandonArgs) -> Result<u8> {
    let outcome = run_lifecycle::abandon(context, &args.run.step(), &args.reason)?;
    Ok(said(rim, "workflow.abandon", &outcome))
}

fn delete(context: &Context, rim: &Rim<'_>, args: &DeleteArgs) -> Result<u8> {
    if args.purge && !rim.global.yes {
        let what = "drop a workflow with all its transitions, for good".to_owned();
        rim.prompt.ask(&context.interrupt, what.clone(), &format!("{what}? [y/N] "))?;
    }
    Ok(ended(rim, "workflow.delete", &run_lifecycle::delete(context, &args.run.step(), args.purge)?))
}

fn cleanup(context: &Context, rim: &Rim<'_>, args: &CleanupArgs) -> Result<u8> {
    let span = |text: &str| {
        time::parse_span(text).ok_or_else(|| Error::Usage { what: format!("'{text}' is no time such as 7d or 12h") })
    };
    let options = CleanupOptions {
        max_age_ms: span(&args.max_age)?,
        failed_max_age_ms: span(&args.failed_max_age)?,
        keep_archives: args.keep_archives,
        dry_run: args.dry_run,
    };
    Ok(ended(rim, "workflow.cleanup", &run_lifecycle::cleanup(context, options)?))
}

fn ended(rim: &Rim<'_>, name: &str, outcome: &EndOutcome) -> u8 {
    tell(rim, || json::ended(name, outcome), || human::ended(outcome), &outcome.warnings);
    exit_code::DONE
}

fn import(context: &Context, rim: &Rim<'_>, args: &ImportArgs) -> Result<u8> {
    let options = ImportOptions {
        bytes: lists::content(&args.file)?,
        profile: args.profile.clone(),
        kind: args.kind.clone(),
        project: args.project.clone(),
        keep_files: args.keep_files,
        actor: None,
    };
    Ok(said(rim, "workflow.import", &import_export::import(context, &options)?))
}

fn export(context: &Context, rim: &Rim<'_>, args: &ExportArgs) -> Result<u8> {
    let options = ExportOptions {
        workflow: args.run.workflow.clone(),
        kind: args.kind.clone(),
        project: args.project.clone(),
        form: args.format.clone(),
    };
    let exported = import_export::export(context, &options)?;
    say_document(rim, "workflow.export", &exported);
    rim.printer.talk(&human::troubles(&exported.troubles));
    rim.warn(&exported.warnings);
    Ok(exit_code::DONE)
}

fn skeleton(context: &Context, rim: &Rim<'_>, args: &SkeletonArgs) -> u8 {
    let text = import_export::skeleton(context, args.branch.as_deref());
    let document = Exported { text, troubles: Vec::new(), warnings: Vec::new() };
    say_document(rim, "workflow.skeleton", &document);
    exit_code::DONE
}

fn shims(context: &Context, rim: &Rim<'_>, args: &ShimsArgs) -> Result<u8> {
    let outcome = shims::shims(context, args.into.as_os_str().as_encoded_bytes(), args.force)?;
    tell(rim, || json::shims(&outcome), || human::shims(&outcome), &[]);
    Ok(if outcome.left.is_empty() { exit_code::DONE } else { exit_code::REFUSED })
}

fn say_document(rim: &Rim<'_>, command: &str, document: &Exported) {
    if rim.printer.json {
        rim.printer.result(&json::document(command, document));
    } else {
        rim.printer.data(&document.text);
    }
}
