//! `workflow init`: begins a run from a plan, a preset or arguments.

use std::path::PathBuf;

use serde_json::Value;

use crate::base::json::parse;
use crate::error::{Error, Result, Sentence};
use crate::model::run_id;
use crate::ops::open_store::open_usable;
use crate::ops::{Context, Warning};
use crate::store::{Store, Transition};
use crate::workflow::documents::conflict::all_in_words;
use crate::workflow::documents::files;
use crate::workflow::documents::read_value;
use crate::workflow::engine::end;
use crate::workflow::engine::runs::matches_name;
use crate::workflow::engine::transact::{finish_prepared, with_store};
use crate::workflow::profiles::{dispatch, registry};
use crate::workflow::rules::workflow::EXECUTION_FILE;
use crate::workflow::words::{profile, refused};
use crate::workflow::{
    Change, Conflict, Finding, Leaving, Phase, Profile, Run, Runs, StepOptions, StepOutcome, Work,
    Workflow, plan,
};
use crate::worktree::git::git_head;

const USUAL_KIND: &str = "workflow";
/// Why a run was given up whose plan begins again.
pub const STARTED_FRESH: &str = "started fresh";

/// Start a run
#[derive(Clone, Debug, Default, clap::Args)]
pub struct InitOptions {
    /// Type of the run, such as implement
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Project of the run [default: the name of the directory]
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// Goal of the run, in one line
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Profile whose files also hold the run: phases, pipeline or registry
    #[arg(long, value_name = "PROFILE", value_parser = profile)]
    pub profile: Option<Profile>,
    /// Built-in plan: dotagent
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Plan as JSON: a file, or - for stdin
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// Phase, its name and the phases on which it depends (repeatable)
    #[arg(long = "phase", value_name = "ID[:NAME[:ID,…]]")]
    pub phases: Vec<String>,
    /// Id of the run [default: <type>_<project>_<time>]
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
}

/// Begins a run; `plan` is the document of its plan.
///
/// # Errors
/// The plan is invalid, or an open run occupies a file that this one needs.
pub fn init(context: &Context, options: &InitOptions, plan: Option<&[u8]>) -> Result<StepOutcome> {
    let mut workflow = planned(context, options, plan)?;
    if !context.root.exists() {
        return Err(Error::root_missing(context.root.path()));
    }
    let store = open_usable(context, false)?;
    let by_default = StepOptions::default();
    let outcome = with_store(context, &store, &by_default, |work, left| {
        end::expire(work);
        let all = Runs::all(&store)?;
        // A new session may not know that the task has begun.
        let is_new = options.id.is_some();
        let task = task_of(&workflow);
        let is_same = |run: &&Run| !is_new && run.is_open() && task_of(&run.workflow) == task;
        if let Some(run) = all.runs.iter().find(is_same) {
            let beside = Sentence::text("; --id NAME starts another beside it");
            return Err(in_way(run, "is open and has the same task", beside));
        }
        let wanted = std::mem::take(&mut workflow.id);
        workflow.id = all.free_id(&wanted);
        if is_new && workflow.id != wanted {
            let what = format!("workflow {wanted} already exists");
            return Err(refused("workflow_exists", what).advise("give another --id"));
        }
        make_room(work, &workflow, &left)?;
        let event = Change::new("init").noting(workflow.kind.clone());
        work.record(None, workflow, event, true)
    })?;
    if let Some(warning) = files::ignore_missing(context, &outcome.run.workflow) {
        context.pending_warnings.add(warning);
    }
    Ok(outcome)
}

/// Frees the files that a run needs: an open run keeps them, and one that has ended is archived
/// with them.
///
/// # Errors
/// An open run or a malformed file is in the way, or a file cannot be moved.
pub fn make_room(work: &mut Work<'_>, workflow: &Workflow, left: &[Conflict]) -> Result<()> {
    // In the registry each run has a file of its own.
    let is_in_way = |left: &&Conflict| match workflow.profile {
        Some(Profile::Registry) => left.file == registry::path(workflow),
        of_file => of_file.is_some() && dispatch::profile_of_path(&left.file) == of_file,
    };
    if let Some(conflict) = left.iter().find(is_in_way) {
        return Err(conflict.problem());
    }
    for run in Runs::live(work.store())?.in_the_way(workflow) {
        if run.is_open() {
            let why = "is open and keeps its state in the same file";
            return Err(in_way(run, why, Sentence::default()));
        }
        work.put_away(run, Leaving::Archived, None)?;
    }
    let path = EXECUTION_FILE.to_owned();
    let list = read_value(&work.tree, &path);
    let list = list.filter(|_| workflow.profile == Some(Profile::Phases));
    if list.is_some_and(|list| files::of_other_run(workflow, &path, &list).is_some()) {
        let to = files::put_aside(&work.tree, &path, None, work.context.now_ms)?;
        work.warn(Warning::OfOtherRun { path, to });
    }
    Ok(())
}

/// Returns what tells a task from others: its description, or without one its phases.
fn task_of(of: &Workflow) -> Vec<String> {
    let names = [&of.kind, &of.project, &of.description];
    let ids = of.phases.iter().map(|phase| &phase.id);
    let ids = ids.filter(|_| of.description.is_empty());
    names.into_iter().chain(ids).cloned().collect()
}

fn in_way(run: &Run, why: &str, more: Sentence) -> Error {
    let id = run.workflow.named();
    let goes_on = "'checkpoint workflow resume {}' continues it, 'checkpoint workflow end {} --abandon' ends it";
    refused("workflow_open", format!("workflow {id} {why}"))
        .next(Sentence::new(goes_on, &[&id, &id]).then_sentence(more))
        .with_state(&run.workflow)
}

fn planned(context: &Context, options: &InitOptions, plan: Option<&[u8]>) -> Result<Workflow> {
    let root = context.root.path();
    let invalid = |why| Error::usage(format!("the plan is not valid JSON: {why}"));
    let is_given = plan.is_some();
    let mut plan: Value = parse(plan.unwrap_or(b"{}")).map_err(invalid)?;
    let [kind, project, goal] = [&options.kind, &options.project, &options.description];
    for (key, given) in [("project", project), ("type", kind), ("description", goal)] {
        if let (Some(given), Some(plan)) = (given, plan.as_object_mut()) {
            plan.insert(key.to_owned(), given.as_str().into());
        }
    }
    let text = |key: &str| Some(plan.get(key)?.as_str()?.to_owned());
    let name = || Some(root.file_name()?.to_string_lossy().into_owned());
    let project = text("project").or_else(name).unwrap_or_default();
    let kind = text("type").or_else(|| options.preset.clone());
    let kind = kind.unwrap_or_else(|| USUAL_KIND.to_owned());
    let made = || run_id::make(&kind, &project, context.now_ms);
    let id = options.id.clone().unwrap_or_else(made);
    if !run_id::is_legal(&id) {
        let legal = "use at most 120 letters, digits, '_', '-' and '.'";
        return Err(Error::usage(format!("'{id}' is not a valid id: {legal}")));
    }
    let mut workflow = Workflow::new(id, kind, project, context.now_ms);
    workflow.description = text("description").unwrap_or_default();
    workflow.branch = text("branch").or_else(|| git_head::read(root)?.branch);
    workflow.profile = options.profile;
    plan_phases(&mut workflow, options, is_given.then_some(plan))?;
    Ok(workflow)
}

/// Adds the phases of the preset, the plan document and the arguments, and checks them.
fn plan_phases(workflow: &mut Workflow, options: &InitOptions, plan: Option<Value>) -> Result<()> {
    let invalid = |findings: &[Finding]| {
        Error::usage(format!("the plan is invalid: {}", all_in_words(findings)))
    };
    if let Some(name) = &options.preset {
        workflow.phases = plan::preset(name)
            .ok_or_else(|| Error::usage(format!("'{name}' is not a preset: dotagent")))?;
    }
    let mut findings = Vec::new();
    if let Some(value) = plan {
        let read = plan::from_document(&value).map_err(|found| invalid(&found))?;
        workflow.phases.extend(read.0);
        findings = read.1;
        // Kept whole, so that an export preserves unknown fields.
        workflow.documents.insert(plan::PLAN.to_owned(), value);
    }
    let typed = options.phases.iter().map(|words| plan::from_words(words));
    workflow.phases.extend(typed);
    // The plan of a run that is done begins anew.
    if workflow.is_all_settled() {
        workflow.phases.iter_mut().for_each(Phase::reset);
    }
    if workflow.phases.is_empty() && findings.is_empty() {
        let what = "a workflow needs phases: give --plan, --preset or --phase";
        return Err(Error::usage(what));
    }
    match &*plan::check_plan(workflow, findings) {
        [] => Ok(()),
        findings => Err(invalid(findings)),
    }
}

/// Returns the run that was archived for one of these reasons, if no run began since: the process that
/// was to begin its plan again was killed.
///
/// # Errors
/// The refs cannot be read.
pub fn half_restarted(store: &Store, named: Option<&str>, whys: &[&str]) -> Result<Option<Run>> {
    let all = Runs::all(store)?.runs;
    let is_it = |run: &&Run| {
        let (of, line) = (&run.workflow, store.workflow_line(run.tip, 1).transitions);
        let is_named = |name| matches_name(run, name) || of.documents.contains_key(name);
        let is_last = |end_ms| {
            let mut others = all.iter().map(|other| &other.workflow);
            others.all(|other| other.id == of.id || other.created_ms < end_ms)
        };
        let is_left = |end: &Transition| {
            let why = Change::read(&end.message).note.unwrap_or_default();
            whys.iter().any(|known| why.starts_with(known)) && is_last(end.time_ms)
        };
        !run.is_live() && named.is_none_or(is_named) && line.first().is_some_and(is_left)
    };
    Ok(all.iter().find(is_it).cloned())
}

/// Begins the plan of a run again. The old run, which may be the only record of what was done, is
/// archived first.
///
/// # Errors
/// A transition cannot be recorded, or a file of the old run cannot be moved.
pub fn start_fresh(work: &mut Work<'_>, run: &Run) -> Result<StepOutcome> {
    let (old, now_ms) = (&run.workflow, work.context.now_ms);
    let id = Runs::all(work.store())?.free_id(&run_id::make(&old.kind, &old.project, now_ms));
    let mut next = Workflow {
        description: old.description.clone(),
        profile: old.profile,
        documents: old.documents.clone(),
        phases: old.phases.clone(),
        ..Workflow::new(id, old.kind.clone(), old.project.clone(), now_ms)
    };
    next.branch.clone_from(&old.branch);
    next.documents.retain(|path, _| path == plan::PLAN);
    if next.phases.iter().any(|phase| !phase.is_unplanned) {
        next.phases.retain(|phase| !phase.is_unplanned);
    }
    for phase in &mut next.phases {
        phase.reset();
        (phase.attempts, phase.before_id) = (0, None);
    }
    if run.is_live() {
        work.abandon(run, STARTED_FRESH)?;
    }
    let event = Change::new("init").noting(old.id.clone());
    let begun = finish_prepared(work).and_then(|()| work.record(None, next, event, true));
    begun.map_err(|why| {
        let hint = why.next.clone();
        why.after("the former run is abandoned, and no new one began:", hint)
    })
}
