//! `workflow init`: begins a run from a plan, a preset or arguments.

use std::path::PathBuf;

use serde_json::Value;

use crate::base::json::parse;
use crate::error::sentence::Sentence;
use crate::error::{Error, Result};
use crate::model::run_id;
use crate::ops::context::Context;
use crate::ops::open_store::open_usable;
use crate::ops::warning::Warning;
use crate::workflow::documents::files::{self, Leaving};
use crate::workflow::documents::sync::end_if_settled;
use crate::workflow::documents::{conflict, git_ignored};
use crate::workflow::engine::end;
use crate::workflow::engine::runs::{Run, Runs, free_id};
use crate::workflow::engine::transact::with_store;
use crate::workflow::engine::work::{StepOptions, StepOutcome, Work};
use crate::workflow::plan;
use crate::workflow::profiles::dispatch;
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::{no_profile, refused};
use crate::worktree::git::git_head;

const USUAL_KIND: &str = "workflow";

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
    #[arg(long)]
    pub profile: Option<String>,
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
pub fn init(
    context: &Context,
    options: &InitOptions,
    plan: Option<&[u8]>,
) -> Result<(StepOutcome, Vec<Warning>)> {
    let mut workflow = planned(context, options, plan)?;
    if !context.root.exists() {
        return Err(Error::root_missing(context.root.path()));
    }
    let store = open_usable(context, false)?;
    let by_default = StepOptions::default();
    let (outcome, mut warnings) = with_store(context, &store, &by_default, |work, left| {
        end::expire(work);
        let runs = Runs::live(&store)?;
        // A new session may not know that the task has begun.
        let mut open = runs.runs.iter().filter(|run| run.workflow.status.is_open());
        let same = open.find(|run| options.id.is_none() && is_same(&run.workflow, &workflow));
        if let Some(run) = same {
            let mut error = in_way(run, "is open and has the same task");
            error.next = error
                .next
                .take()
                .map(|next| next.then("; --id starts another beside it"));
            return Err(error);
        }
        let wanted = workflow.id.clone();
        workflow.id = free_id(&store, &wanted)?;
        if options.id.is_some() && workflow.id != wanted {
            let what = format!("workflow {wanted} already exists");
            return Err(refused("workflow_exists", what).advise("give another --id"));
        }
        // In the registry each run has a file of its own.
        let is_in_way = |path: &str| {
            dispatch::profile_of_path(path).is_some_and(|profile| {
                profile != Profile::Registry && workflow.profile == Some(profile)
            })
        };
        if let Some(conflict) = left.iter().find(|found| is_in_way(&found.path)) {
            return Err(conflict.problem(None));
        }
        make_room(work, &runs, &workflow)?;
        // A plan may mark all its phases as complete.
        end_if_settled(&mut workflow, context.now_ms);
        let event = work.event("init", Some(workflow.kind.clone()));
        work.record(None, workflow, event)
    })?;
    warnings.extend(git_ignored::lines_missing(context, &outcome.run.workflow));
    Ok((outcome, warnings))
}

/// Frees the files that a run needs: an open run keeps them, and one that has ended is archived
/// with them.
///
/// # Errors
/// An open run is in the way, or a file cannot be moved.
pub fn make_room(work: &mut Work<'_>, runs: &Runs, workflow: &Workflow) -> Result<()> {
    for run in runs.in_the_way(workflow) {
        if run.workflow.status.is_open() {
            return Err(in_way(run, "is open and keeps its state in the same file"));
        }
        files::put_all_aside(work.context, &run.workflow, Leaving::Archived)?;
        work.session.locked.archive_workflow(&run.workflow.id)?;
        work.trim_archives();
    }
    Ok(())
}

/// Compares by description, or without one by phases and profile.
fn is_same(one: &Workflow, other: &Workflow) -> bool {
    fn phases(workflow: &Workflow) -> Vec<&str> {
        workflow
            .phases
            .iter()
            .map(|phase| phase.id.as_str())
            .collect()
    }
    let is_alike = one.kind == other.kind
        && one.project == other.project
        && one.description == other.description;
    is_alike
        && (!one.description.is_empty()
            || (phases(one) == phases(other) && one.profile == other.profile))
}

fn in_way(run: &Run, why: &str) -> Error {
    let id = run.workflow.named();
    let goes_on = "'checkpoint workflow resume {}' continues it, 'checkpoint workflow end {} --abandon' ends it";
    refused("workflow_open", format!("workflow {id} {why}"))
        .next(Sentence::new(goes_on, &[&id, &id]))
        .with_state(&run.workflow)
}

fn planned(context: &Context, options: &InitOptions, plan: Option<&[u8]>) -> Result<Workflow> {
    let root = context.root.path();
    let named = root
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let mut plan = plan
        .map(parse)
        .transpose()
        .map_err(|why| Error::usage(format!("the plan is not valid JSON: {why}")))?;
    let mut said = |key, given: &Option<String>| field_of_run(plan.as_mut(), key, given.as_ref());
    let project = said("project", &options.project).unwrap_or(named);
    let preset = || options.preset.clone();
    let kind = said("type", &options.kind).or_else(preset);
    let kind = kind.unwrap_or_else(|| USUAL_KIND.to_owned());
    let description = said("description", &options.description);
    let branch = said("branch", &None);
    let id = options
        .id
        .clone()
        .unwrap_or_else(|| run_id::make(&kind, &project, context.now_ms));
    if !run_id::is_legal(&id) {
        let legal = "use at most 120 letters, digits, '_', '-' and '.'";
        return Err(Error::usage(format!("'{id}' is not a valid id: {legal}")));
    }
    let mut workflow = Workflow::new(id, kind, project, context.now_ms);
    workflow.description = description.unwrap_or_default();
    workflow.context.branch = branch.or_else(|| git_head::read(root)?.branch);
    if let Some(word) = &options.profile {
        workflow.profile = Some(word.parse().map_err(|_| no_profile(word))?);
    }
    plan_phases(&mut workflow, options, plan)?;
    Ok(workflow)
}

/// Returns a field of the run: as given, which then stands in the plan too, else as the plan says.
fn field_of_run(plan: Option<&mut Value>, key: &str, given: Option<&String>) -> Option<String> {
    let plan = plan.and_then(Value::as_object_mut);
    match (given, plan) {
        (Some(given), Some(plan)) => {
            plan.insert(key.to_owned(), given.as_str().into());
            Some(given.clone())
        }
        (given, plan) => given
            .cloned()
            .or_else(|| Some(plan?.get(key)?.as_str()?.to_owned())),
    }
}

/// Adds the phases of the preset, the plan document and the arguments, and checks them.
fn plan_phases(workflow: &mut Workflow, options: &InitOptions, plan: Option<Value>) -> Result<()> {
    let plan_error = |findings: Vec<Finding>| {
        Error::usage(format!(
            "the plan is invalid: {}",
            conflict::joined(&findings)
        ))
    };
    if let Some(name) = &options.preset {
        workflow.phases = plan::preset(name)
            .ok_or_else(|| Error::usage(format!("'{name}' is not a preset: dotagent")))?;
    }
    if let Some(value) = plan {
        workflow
            .phases
            .extend(plan::from_document(&value).map_err(plan_error)?);
        // Kept whole, so that an export preserves unknown fields.
        workflow.documents.insert(plan::PLAN.to_owned(), value);
    }
    for words in &options.phases {
        let phase = plan::from_words(words)
            .map_err(|found| Error::usage(format!("--phase '{words}': {}", found.what)))?;
        workflow.phases.push(phase);
    }
    let findings = plan::check(&workflow.phases);
    if !findings.is_empty() {
        return Err(plan_error(findings));
    }
    if workflow.phases.is_empty() {
        return Err(Error::usage(
            "a workflow needs phases: give --plan, --preset or --phase",
        ));
    }
    Ok(())
}

/// Begins the plan of a run again. The old run, which may be the only record of what was done, is
/// archived first.
///
/// # Errors
/// A transition cannot be recorded.
pub fn start_fresh(work: &mut Work<'_>, run: &Run) -> Result<StepOutcome> {
    let old = &run.workflow;
    let wanted = run_id::make(&old.kind, &old.project, work.context.now_ms);
    let next = fresh_copy(old, free_id(work.store(), &wanted)?, work.context.now_ms);
    work.abandon(run, "started fresh")?;
    let event = work.event("init", Some(old.id.clone()));
    work.record(None, next, event)
}

/// Returns the plan of a run as it was at the beginning, under a new id and without its results.
fn fresh_copy(old: &Workflow, id: String, now_ms: i64) -> Workflow {
    let mut next = Workflow::new(id, old.kind.clone(), old.project.clone(), now_ms);
    next.description.clone_from(&old.description);
    next.profile = old.profile;
    next.context.branch.clone_from(&old.context.branch);
    next.documents.clone_from(&old.documents);
    next.documents.retain(|path, _| path == plan::PLAN);
    next.phases.clone_from(&old.phases);
    if next.phases.iter().any(|phase| !phase.is_unplanned) {
        next.phases.retain(|phase| !phase.is_unplanned);
    }
    for phase in &mut next.phases {
        phase.reset();
        (phase.attempts, phase.before) = (0, None);
    }
    next
}
