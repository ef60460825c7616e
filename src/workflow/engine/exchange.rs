//! `workflow import` and `workflow export`: converts between runs and documents of other programs.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::base::cut_list::and_more;
use crate::base::json::parse;
use crate::base::time::rfc3339_seconds;
use crate::error::sentence::Sentence;
use crate::error::{Error, Result};
use crate::model::run_id;
use crate::ops::context::Context;
use crate::ops::open_store::open_usable;
use crate::ops::warning::Warning;
use crate::store::repository::Store;
use crate::workflow::documents::conflict::{self, Conflict};
use crate::workflow::documents::sync::{Imported, end_if_settled};
use crate::workflow::engine::end;
use crate::workflow::engine::init::{self, InitOptions};
use crate::workflow::engine::report::{self, Status};
use crate::workflow::engine::runs::{Run, Runs, free_id};
use crate::workflow::engine::transact::with_store;
use crate::workflow::engine::work::{StepOptions, StepOutcome};
use crate::workflow::plan;
use crate::workflow::profiles::{dispatch, pipeline, registry};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::profile::{self, Profile};
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::{self, no_such_workflow};

/// Maximum number of runs in a message.
const LISTED_RUNS: usize = 10;

/// Make a run from a document of another program
#[derive(Clone, Debug, clap::Args)]
pub struct ImportOptions {
    /// Document: a file, or - for stdin
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Format of the document [default: detected]
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<String>,
    /// Type of the run, for a document that names none
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Project of the run, for a document that names none
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// Keep it in the files of its format from now on
    #[arg(long)]
    pub keep_files: bool,
}

/// Makes a run from a document, or updates the run that the document describes.
///
/// # Errors
/// The format is unknown, or the document is invalid.
pub fn import(
    context: &Context,
    options: &ImportOptions,
    bytes: &[u8],
) -> Result<(StepOutcome, Vec<Warning>)> {
    let value = parsed(bytes)?;
    let found = dispatch::profile_of_document(&value);
    if value.get("phases").is_some_and(Value::is_array) && found.is_none() {
        let of_plan = InitOptions {
            kind: options.kind.clone(),
            project: options.project.clone(),
            ..InitOptions::default()
        };
        return init::init(context, &of_plan, Some(bytes));
    }
    let kind = options.kind.as_deref().filter(|_| found.is_none());
    let document = |known| Some(document_of_state(context, options, kind?, &value, known));
    let wrapped = document(None);
    let profile = match &options.profile {
        Some(word) => Some(word.parse().map_err(|_| words::no_profile(word))?),
        None => found.or(kind.map(|_| Profile::Registry)),
    };
    let unknown = || unreadable("unknown_format", "unknown format; --type names the format");
    let profile = profile.ok_or_else(unknown)?;
    let root = context.root.path().display().to_string();
    let whole = wrapped.as_ref().unwrap_or(&value);
    let mut next = begun(context, profile, whole)?;
    let store = open_usable(context, false)?;
    with_store(context, &store, &StepOptions::default(), |work, _| {
        let event = work.event("import", Some(profile.into_str().to_owned()));
        // A document of the registry that was not made here names its run itself.
        let is_named = profile == Profile::Registry && wrapped.is_none();
        let project = options.project.as_deref();
        let project = project.or_else(|| next.state.get("project_name")?.as_str());
        let is_meant = |run: &Run| {
            !is_named && options.kind.is_some() && is_of(run, options.kind.as_ref(), project)
        };
        let is_known = |run: &Run| run.workflow.id == next.id || is_meant(run);
        let known = Runs::live(&store)?.runs.into_iter().find(is_known);
        if let Some(run) = known.filter(|run| run.workflow.status.is_open()) {
            let mut state = run.workflow.clone();
            let mut paths = state.documents.keys();
            let path = paths.find(|path| dispatch::profile_of_path(path) == Some(profile));
            let path = path.cloned().unwrap_or(path_of(profile, whole));
            let known = dispatch::export(&state, Profile::Registry, &root);
            let newer = document(known.into_iter().next().map(|(_, value)| value));
            let whole = newer.as_ref().unwrap_or(whole);
            dispatch::take(&mut state, &path, whole, &root)
                .map_err(|finding| malformed(&[finding]))?;
            state.updated_ms = context.now_ms.max(state.updated_ms);
            end_if_settled(&mut state, context.now_ms);
            return work.record(Some(&run), state, event);
        }
        end::expire(work);
        if !options.keep_files {
            next.profile = None;
        }
        next.id = free_id(&store, &next.id)?;
        work.record(None, next, event)
    })
}

/// Whether a run has this type and this project, where they are given.
fn is_of(run: &Run, kind: Option<&String>, project: Option<&str>) -> bool {
    let Workflow {
        kind: known,
        project: of,
        ..
    } = &run.workflow;
    kind.is_none_or(|kind| known == kind)
        && project.is_none_or(|project| run_id::snake(of) == run_id::snake(project))
}

/// Makes a run of a document, which is not recorded.
fn begun(context: &Context, profile: Profile, value: &Value) -> Result<Workflow> {
    let root = context.root.path().display().to_string();
    let path = path_of(profile, value);
    let begun = dispatch::begin(&path, value, &root);
    let mut begun = begun.map_err(|finding| malformed(&[finding]))?;
    end_if_settled(&mut begun, context.now_ms);
    Ok(begun)
}

/// Returns the path of the file in its profile.
fn path_of(profile: Profile, value: &Value) -> String {
    match profile {
        Profile::Phases => profile::PHASE_FILE.to_owned(),
        Profile::Pipeline => pipeline::FILE.to_owned(),
        // A document without a path is invalid, which is reported later.
        Profile::Registry => registry::path_of_document(value).unwrap_or_default(),
    }
}

/// Makes a document of the registry from a state that names neither run nor type, over the document
/// of a known run or of a new one. What a partial document has beside its state is kept.
fn document_of_state(
    context: &Context,
    options: &ImportOptions,
    kind: &str,
    given: &Value,
    known: Option<Value>,
) -> Value {
    let of_state = |state| Map::from_iter([("workflow_state".to_owned(), state)]);
    let mut fields = match given.as_object() {
        Some(partial) if partial.contains_key("workflow_state") => partial.clone(),
        Some(_) => of_state(given.clone()),
        None => of_state(json!({"value": given})),
    };
    let name_in = |value: &Value| Some(value.get("project_name")?.as_str()?.to_owned());
    let named = options.project.clone();
    let named = named.or_else(|| name_in(&fields["workflow_state"]).or_else(|| name_in(given)));
    if let (Some(named), Some(state)) = (&named, fields["workflow_state"].as_object_mut()) {
        let name = || run_id::snake(named).into();
        state.entry("project_name").or_insert_with(name);
    }
    let now = Value::from(rfc3339_seconds(context.now_ms));
    let is_new = known.is_none();
    fields.retain(|key, _| {
        let is_fixed = matches!(key.as_str(), "checkpoint_id" | "workflow_type");
        !is_fixed && (is_new || key != "created_at")
    });
    fields.insert("updated_at".to_owned(), now.clone());
    let mut document = known.unwrap_or_else(|| {
        let root = context.root.path().file_name().unwrap_or_default();
        let project = named.unwrap_or_else(|| root.to_string_lossy().into_owned());
        json!({
            "checkpoint_id": run_id::make(kind, &project, context.now_ms),
            "workflow_type": kind,
            "workflow_description": "",
            "created_at": now,
            "updated_at": now,
            "status": "in_progress",
            "current_phase": 1,
            "total_phases": 1,
            "completed_phases": [],
            "workflow_state": {},
            "last_error": null,
        })
    });
    if let Some(document) = document.as_object_mut() {
        document.extend(fields);
    }
    document
}

/// Reads a document as if it were a run. Nothing is recorded.
///
/// # Errors
/// The format is unknown, or the document is invalid.
pub fn status_of_document(context: &Context, bytes: &[u8]) -> Result<(Status, Vec<Warning>)> {
    let value = parsed(bytes)?;
    let profile = dispatch::profile_of_document(&value)
        .ok_or_else(|| unreadable("unknown_format", "unknown format"))?;
    let workflow = begun(context, profile, &value)?;
    Ok((report::of_state(context, workflow)?, Vec::new()))
}

fn parsed(bytes: &[u8]) -> Result<Value> {
    parse(bytes).map_err(|why| unreadable("no_json", why.to_string()))
}

fn unreadable(code: &'static str, what: impl Into<String>) -> Error {
    malformed(&[Finding::new(code, "", what)])
}

fn malformed(findings: &[Finding]) -> Error {
    let flaws = conflict::joined(findings);
    let mut problem = words::malformed(
        "document_malformed",
        format!("State file is malformed: {flaws}"),
    )
    .advise("nothing was recorded; fix the document");
    problem.run_details().detail = Some(json!({"findings": findings}));
    problem
}

/// Write a run as a document of another program
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ExportOptions {
    /// Run [default: the newest open one]
    #[arg(value_name = "WORKFLOW")]
    pub run: Option<String>,
    /// Format: phases, pipeline, registry, plan or state [default: its own]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Newest run of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Newest run of this project
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
}

/// A document of a run, as another program reads it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DocumentAnswer")]
pub struct Exported {
    pub document: Value,
    /// State files that cannot be imported.
    #[serde(rename = "troubles")]
    pub conflicts: Vec<Conflict>,
}

/// Renders a run in a format; by default that of its own profile.
///
/// # Errors
/// There is no such run or format.
pub fn export(context: &Context, options: &ExportOptions) -> Result<(Exported, Vec<Warning>)> {
    let Imported { store, conflicts } = report::open_imported(context)?;
    let document = document_of(context, &store, options)?;
    let exported = Exported {
        document,
        conflicts,
    };
    Ok((exported, context.pending_warnings.take()))
}

fn document_of(context: &Context, store: &Store, options: &ExportOptions) -> Result<Value> {
    let mut runs = if options.run.is_some() {
        Runs::all(store)?
    } else {
        Runs::live(store)?
    };
    let project = options.project.as_deref();
    let here: Vec<String> = runs.runs.iter().map(|run| run.id().to_owned()).collect();
    runs.runs
        .retain(|run| is_of(run, options.kind.as_ref(), project));
    if runs.runs.is_empty() && !here.is_empty() {
        let wanted = [options.kind.as_deref(), project];
        let wanted: Vec<&str> = wanted.into_iter().flatten().collect();
        let problem = no_such_workflow(&wanted.join("_"));
        let hint = Sentence::text(format!("known here: {}", and_more(&here, LISTED_RUNS)));
        return Err(problem.next(hint));
    }
    let run = runs.pick(options.run.as_deref())?;
    let workflow = &run.workflow;
    let mut paths = workflow.documents.keys();
    let own = workflow
        .profile
        .or_else(|| paths.find_map(|path| dispatch::profile_of_path(path)));
    let format = options
        .format
        .as_deref()
        .or(own.map(|profile| profile.into_str()));
    match format.unwrap_or("state") {
        "state" => Ok(serde_json::to_value(workflow).unwrap_or_default()),
        "plan" => Ok(plan::to_document(workflow)),
        word => {
            let formats = "phases, pipeline, registry, plan or state";
            let unknown = |_| Error::usage(format!("'{word}' is not a format: {formats}"));
            let profile = word.parse().map_err(unknown)?;
            let root = context.root.path().display().to_string();
            let documents = dispatch::export(workflow, profile, &root);
            let first = documents.into_iter().next();
            Ok(first.map(|(_, value)| value).unwrap_or_default())
        }
    }
}
