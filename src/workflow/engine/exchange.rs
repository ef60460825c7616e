//! `workflow import` and `workflow export`: converts between runs and documents of other programs.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::base::json::parse;
use crate::base::time::rfc3339_seconds;
use crate::error::{Error, Result, Sentence};
use crate::model::run_id;
use crate::ops::Context;
use crate::ops::open_store::open_usable;
use crate::workflow::documents::conflict::all_in_words;
use crate::workflow::engine::end;
use crate::workflow::engine::init::{init, make_room};
use crate::workflow::engine::report;
use crate::workflow::engine::transact::{open_imported, with_store};
use crate::workflow::profiles::dispatch;
use crate::workflow::profiles::format::project_of;
use crate::workflow::{
    Change, Conflict, Finding, InitOptions, Phase, Profile, Run, Runs, Status, StepOptions,
    StepOutcome, Workflow, plan, words,
};

/// Make a run from a document of another program
#[derive(Clone, Debug, clap::Args)]
pub struct ImportOptions {
    /// Document: a file, or - for stdin
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Format of the document [default: detected]
    #[arg(long, value_name = "PROFILE", value_parser = words::profile)]
    pub profile: Option<Profile>,
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

/// Makes a run from a document, or updates the open run that the document describes.
///
/// # Errors
/// The format is unknown, or the document is invalid.
pub fn import(context: &Context, options: &ImportOptions, bytes: &[u8]) -> Result<StepOutcome> {
    let value = parsed(bytes)?;
    let found = dispatch::profile_of_document(&value);
    if found.is_none() && value.get("phases").is_some_and(Value::is_array) {
        let mut of_plan = InitOptions::default();
        of_plan.kind.clone_from(&options.kind);
        of_plan.project.clone_from(&options.project);
        return init(context, &of_plan, Some(bytes));
    }
    // A state names neither run nor type.
    let is_state = found.is_none() && options.kind.is_some() && value.is_object();
    let state = is_state.then_some(&value);
    let document = |run: Option<&Workflow>| match state {
        Some(state) => options.document(context, state, run),
        None => value.clone(),
    };
    let of_state = is_state.then_some(Profile::Registry);
    let unknown = || unreadable("unknown_format", "unknown format; --profile names it");
    let profile = options.profile.or(found).or(of_state);
    let profile = profile.ok_or_else(unknown)?;
    let mut next = begun(context, profile, &document(None))?;
    let store = open_usable(context, false)?;
    with_store(context, &store, &StepOptions::default(), |work, left| {
        let event = |verb| Change::new(verb).noting(profile.into_str().to_owned());
        let named = next.state.get("project_name").and_then(Value::as_str);
        let named = options.project.as_deref().or(named).map(run_id::snake);
        let is_it = |run: &&Run| {
            let of = &run.workflow;
            let is_of_type = is_state && Some(&of.kind) == options.kind.as_ref();
            let is_named = |name: &String| run_id::snake(&of.project) == *name;
            of.status.is_open()
                && (of.id == next.id || is_of_type && named.as_ref().is_none_or(is_named))
        };
        let runs = Runs::live(&store)?.runs;
        if let Some(run) = runs.iter().find(is_it) {
            let known = document(Some(&run.workflow));
            let mut state = run.workflow.clone();
            let path = dispatch::path_of(&state, profile);
            dispatch::take(&mut state, &path, &known, &work.root())
                .map_err(|found| malformed(&found))?;
            state.updated_ms = context.now_ms.max(state.updated_ms);
            if state.profile.is_none() && options.keep_files {
                state.profile = Some(profile);
                make_room(work, &state, &left)?;
            }
            return work.record(Some(run), state, event("import again"), true);
        }
        end::expire(work);
        next.profile = next.profile.filter(|_| options.keep_files);
        next.id = Runs::all(&store)?.free_id(&next.id);
        make_room(work, &next, &left)?;
        work.record(None, next, event("import"), true)
    })
}

/// Makes a run of a document, which is not recorded.
fn begun(context: &Context, profile: Profile, value: &Value) -> Result<Workflow> {
    let root = context.root.path().display().to_string();
    let mut begun =
        dispatch::begin(profile, None, value, &root).map_err(|found| malformed(&found))?;
    begun.end_if_settled(context.now_ms);
    Ok(begun)
}

impl ImportOptions {
    /// Makes a document of the registry from a state, over that of a known run or of a new one. What
    /// a partial document has beside its state is kept.
    fn document(&self, context: &Context, given: &Value, run: Option<&Workflow>) -> Value {
        let mut fields = match given.get("workflow_state") {
            Some(_) => given.clone(),
            None => json!({ "workflow_state": given }),
        };
        let root = context.root.path().display().to_string();
        let state = &mut fields["workflow_state"];
        let named = [state.get("project_name"), given.get("project_name")];
        let named = named.into_iter().flatten().find_map(Value::as_str);
        let named = self.project.clone().or(named.map(str::to_owned));
        if let (Some(named), Some(state)) = (&named, state.as_object_mut()) {
            let name = || run_id::snake(named).into();
            state.entry("project_name").or_insert_with(name);
        }
        let base = run.cloned().unwrap_or_else(|| {
            let project = named.unwrap_or_else(|| project_of(&root).to_owned());
            let (kind, now_ms) = (self.kind.clone().unwrap_or_default(), context.now_ms);
            let id = run_id::make(&kind, &project, now_ms);
            let mut new = Workflow::new(id, kind, project, now_ms);
            new.phases = vec![Phase::new("1", "Phase 1")];
            new
        });
        let mut document = own_document(&base, Profile::Registry, context);
        let fixed = ["checkpoint_id", "workflow_type", "updated_at"];
        let is_kept = |key: &str| !fixed.contains(&key) && (run.is_none() || key != "created_at");
        if let (Some(document), Some(fields)) = (document.as_object_mut(), fields.as_object_mut()) {
            fields.retain(|key, _| is_kept(key));
            document.append(fields);
        }
        document["updated_at"] = rfc3339_seconds(context.now_ms).into();
        document
    }
}

/// Renders a run as the first document of a profile.
fn own_document(run: &Workflow, profile: Profile, context: &Context) -> Value {
    let documents = dispatch::export(run, profile, &context.root.path().display().to_string());
    let first = documents.into_iter().next();
    first.map(|(_, value)| value).unwrap_or_default()
}

/// Reads a document as if it were a run. Nothing is recorded.
///
/// # Errors
/// The format is unknown, or the document is invalid.
pub fn status_of_document(context: &Context, bytes: &[u8]) -> Result<Status> {
    let value = parsed(bytes)?;
    let profile = dispatch::profile_of_document(&value)
        .ok_or_else(|| unreadable("unknown_format", "unknown format"))?;
    let workflow = begun(context, profile, &value)?;
    report::of_run(context, Run::unrecorded(workflow))
}

fn parsed(bytes: &[u8]) -> Result<Value> {
    parse(bytes).map_err(|why| unreadable("no_json", why.to_string()))
}

fn unreadable(code: &'static str, what: impl Into<String>) -> Error {
    malformed(&[Finding::new(code, "", what)])
}

fn malformed(findings: &[Finding]) -> Error {
    let what = format!("State file is malformed: {}", all_in_words(findings));
    let problem = words::malformed("document_malformed", what);
    let mut problem = problem.advise("nothing was recorded; fix the document");
    problem.run_details().detail = Some(json!({ "findings": findings }));
    problem
}

/// Write a run as a document of another program
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ExportOptions {
    /// Run: its id or the beginning of it, its project, type or description [default: the newest
    /// open one]
    #[arg(value_name = "WORKFLOW")]
    pub run: Option<String>,
    /// Format: phases, pipeline, registry, plan or state [default: its own]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
}

/// A document of a run, as another program reads it.
#[derive(Serialize, JsonSchema)]
pub struct Exported {
    pub document: Value,
    /// State files that cannot be imported.
    pub troubles: Vec<Conflict>,
}

/// Renders a run in a format; by default that of its own profile.
///
/// # Errors
/// There is no such run or format.
pub fn export(context: &Context, options: &ExportOptions) -> Result<Exported> {
    let (store, troubles) = open_imported(context)?;
    let named = options.run.as_deref();
    let run = Runs::all(&store)?.pick(named)?.clone();
    if !run.is_live() && named != Some(&*run.workflow.id) {
        let Some(name) = named else {
            return Err(words::no_workflow(None));
        };
        let next = "'checkpoint workflow export {}' exports the archived one";
        let what = format!("no open workflow '{name}'");
        return Err(
            words::absent("no_such_workflow", what).next(Sentence::new(next, &[&run.workflow.id]))
        );
    }
    let workflow = &run.workflow;
    let mut paths = workflow.documents.keys();
    let own = workflow.profile;
    let own = own.or_else(|| paths.find_map(|path| dispatch::profile_of_path(path)));
    let own = own.map_or("state", |profile| profile.into_str());
    let document = match options.format.as_deref().unwrap_or(own) {
        "state" => serde_json::to_value(workflow).unwrap_or_default(),
        "plan" => plan::to_document(workflow),
        word => {
            let formats = "phases, pipeline, registry, plan or state";
            let unknown = |_| Error::usage(format!("'{word}' is not a format: {formats}"));
            own_document(workflow, word.parse().map_err(unknown)?, context)
        }
    };
    Ok(Exported { document, troubles })
}
