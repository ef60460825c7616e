//! `workflow init`: begins a run from a plan, a preset or arguments.

use std::path::PathBuf;

use serde_json::Value;

use crate::base::json::parse;
use crate::error::{Error, Result};
use crate::model::run_id;
use crate::ops::context::Context;
use crate::ops::open_store::open_usable;
use crate::ops::session::{self, Session};
use crate::ops::warning::Warning;
use crate::store::repository::Store;
use crate::workflow::documents::conflict::{self, Conflict};
use crate::workflow::documents::{git_ignored, import_edits, leftovers};
use crate::workflow::engine::run_lifecycle;
use crate::workflow::engine::runs::{Run, Runs};
use crate::workflow::engine::step::{self, StepOptions};
use crate::workflow::engine::transition::{self, StepOutcome};
use crate::workflow::plan;
use crate::workflow::profiles::{dispatch, registry};
use crate::workflow::rules::change::Change;
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::status::RunStatus;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::input_error::InputError;
use crate::workflow::words::reasons::EndReason;
use crate::workflow::words::run_error::RunError;
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
    /// Profiles whose files also hold the run: phases, pipeline or registry
    #[arg(long = "profile", value_name = "PROFILE,…")]
    pub profiles: Vec<String>,
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
    let mut session = session::begin(context, &store)?;
    let conflicts = import_edits::import(context, &mut session)?;
    end_removed(context, &mut session, &workflow, &conflicts)?;
    run_lifecycle::expire(context, &mut session);
    if options.id.is_none() {
        refuse_same(&store, &workflow)?;
    }
    let wanted = options.id.clone().unwrap_or_else(|| workflow.id.clone());
    workflow.id = import_edits::free_id(&store, &wanted)?;
    if options
        .id
        .as_ref()
        .is_some_and(|wanted| *wanted != workflow.id)
    {
        return Err(RunError::WorkflowExists(wanted).into());
    }
    for profile in &workflow.profiles {
        let is_in_way = |conflict: &&Conflict| {
            dispatch::profile_of_path(&conflict.path) == Some(*profile) && !conflict.is_gone()
        };
        if let Some(conflict) = conflicts
            .iter()
            .find(is_in_way)
            .filter(|_| *profile != Profile::Registry)
        {
            return Err(conflict.problem(None));
        }
        make_room(context, &mut session, *profile, &workflow)?;
    }
    let actor = step::actor(context, &StepOptions::default());
    // A plan may mark all its phases as complete.
    import_edits::end_if_settled(&mut workflow, context.now_ms);
    let event = Change {
        note: Some(workflow.kind.clone()),
        ..Change::new("init", &actor)
    };
    let outcome = transition::record(context, &mut session, None, workflow, event)?;
    let mut warnings = session.warnings;
    warnings.extend(git_ignored::lines_missing(context, &outcome.run.workflow));
    Ok((outcome, warnings))
}

/// Ends runs whose file was removed and whose place this run takes.
fn end_removed(
    context: &Context,
    session: &mut Session<'_>,
    workflow: &Workflow,
    conflicts: &[Conflict],
) -> Result<()> {
    let gone: Vec<&Conflict> = conflicts
        .iter()
        .filter(|conflict| conflict.is_gone())
        .collect();
    if gone.is_empty() {
        return Ok(());
    }
    for run in Runs::live(session.locked.store())?.runs {
        let shares = |profile: &Profile| {
            *profile != Profile::Registry && workflow.profiles.contains(profile)
        };
        let is_replaced =
            run.workflow.profiles.iter().any(shares) || is_same(&run.workflow, workflow);
        if let Some(conflict) = gone
            .iter()
            .find(|conflict| is_replaced && conflict.concerns(&run.workflow))
        {
            let why = EndReason::RemovedAndReplaced(conflict.path.clone());
            import_edits::end_run(context, session, &run, &why)?;
        }
    }
    Ok(())
}

/// Refuses a task that an open run already has; a new session may not know about it.
fn refuse_same(store: &Store, workflow: &Workflow) -> Result<()> {
    let runs = Runs::live(store)?.runs;
    runs.iter()
        .find(|run| run.workflow.status.is_open() && is_same(&run.workflow, workflow))
        .map_or(Ok(()), |run| Err(in_way(run, RunError::SameTask)))
}

/// Compares by description, or without one by phases and profiles.
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
            || (phases(one) == phases(other) && one.profiles == other.profiles))
}

fn in_way(run: &Run, error: impl FnOnce(String) -> RunError) -> Error {
    Error::from(error(run.workflow.named().to_owned())).with_state(&run.workflow)
}

fn planned(context: &Context, options: &InitOptions, plan: Option<&[u8]>) -> Result<Workflow> {
    let root = context.root.path();
    let named = root
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let mut plan = plan.map(parse).transpose().map_err(InputError::PlanText)?;
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
        return Err(InputError::RunId(id).into());
    }
    let mut workflow = Workflow::new(id, kind, project, context.now_ms);
    workflow.description = description.unwrap_or_default();
    workflow.context.branch = branch.or_else(|| git_head::read(root)?.branch);
    for word in options.profiles.iter().flat_map(|list| list.split(',')) {
        let unknown = |_| InputError::Profile(word.to_owned());
        let profile = word.trim().parse().map_err(unknown)?;
        if !workflow.profiles.contains(&profile) {
            workflow.profiles.push(profile);
        }
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
    let plan_error = |findings: Vec<Finding>| InputError::Plan {
        flaws: conflict::joined(&findings),
    };
    if let Some(name) = &options.preset {
        workflow.phases = plan::preset(name).ok_or_else(|| InputError::Preset(name.clone()))?;
    }
    if let Some(value) = plan {
        workflow
            .phases
            .extend(plan::from_document(&value).map_err(plan_error)?);
        // Kept whole, so that an export preserves unknown fields.
        workflow.documents.insert(plan::PLAN.to_owned(), value);
    }
    for words in &options.phases {
        let phase = plan::from_words(words).map_err(|finding| InputError::Phase {
            given: words.clone(),
            flaw: finding.what,
        })?;
        workflow.phases.push(phase);
    }
    let findings = plan::check(&workflow.phases);
    if !findings.is_empty() {
        return Err(plan_error(findings).into());
    }
    if workflow.phases.is_empty() {
        return Err(InputError::NoPhases.into());
    }
    Ok(())
}

/// Frees the file that this run needs. Two profiles have a single file: an open run keeps it, an
/// ended run gives it up. In the registry each run has its own, unless invalid ids share a name.
fn make_room(
    context: &Context,
    session: &mut Session<'_>,
    profile: Profile,
    workflow: &Workflow,
) -> Result<()> {
    let runs = Runs::live(session.locked.store())?.runs;
    if profile == Profile::Registry {
        let path = registry::path(workflow);
        let taken = runs
            .iter()
            .find(|run| run.workflow.documents.contains_key(&path));
        return taken.map_or(Ok(()), |run| Err(in_way(run, RunError::SameFile)));
    }
    for run in runs
        .into_iter()
        .filter(|run| run.workflow.profiles.contains(&profile))
    {
        if run.workflow.status.is_open() {
            return Err(in_way(&run, RunError::OpenInSameFile));
        }
        give_up_file(context, session, &run, profile)?;
    }
    Ok(())
}

fn give_up_file(
    context: &Context,
    session: &mut Session<'_>,
    run: &Run,
    profile: Profile,
) -> Result<()> {
    run_lifecycle::put_files_aside(context, session, &run.workflow, false)?;
    let mut next = run.workflow.clone();
    next.profiles.retain(|kept| *kept != profile);
    next.documents
        .retain(|path, _| dispatch::profile_of_path(path) != Some(profile));
    let event = Change::new("archive files", "checkpoint");
    transition::record(context, session, Some(run.tip), next, event)?;
    session
        .locked
        .archive_workflow(&run.workflow.id, &run.workflow.id)?;
    leftovers::trim_archives(context, session);
    Ok(())
}

/// Begins the plan of a run again. The old run, which may be the only record of what was done, is
/// archived first.
///
/// # Errors
/// A transition cannot be recorded.
pub fn start_fresh(
    context: &Context,
    session: &mut Session<'_>,
    run: &Run,
    actor: &str,
) -> Result<StepOutcome> {
    let next = fresh_copy(context, session, &run.workflow)?;
    let reason = EndReason::StartedFresh.to_string();
    let old = transition::abandon_run(context, session, run, &reason, actor)?;
    let event = Change {
        note: Some(old.run.workflow.id),
        ..Change::new("init", actor)
    };
    transition::record(context, session, None, next, event)
}

/// Returns the plan of a run as it was at the beginning, under a new id and without its results.
fn fresh_copy(context: &Context, session: &Session<'_>, old: &Workflow) -> Result<Workflow> {
    let mut next = old.clone();
    next.id = import_edits::free_id(
        session.locked.store(),
        &run_id::make(&old.kind, &old.project, context.now_ms),
    )?;
    next.status = RunStatus::Open;
    (next.created_ms, next.updated_ms, next.finished_ms) = (context.now_ms, context.now_ms, None);
    (next.resume_count, next.interrupted, next.last_error) = (0, None, None);
    next.mini_commits.clear();
    next.documents.retain(|path, _| path == plan::PLAN);
    next.context.key_decisions.clear();
    next.context.file_paths.clear();
    next.state.clear();
    next.forget_unplanned(|_| false);
    for phase in &mut next.phases {
        phase.reset();
        (phase.attempts, phase.before) = (0, None);
    }
    next.tasks.clear();
    Ok(next)
}
