//! The runs in a store, and the choice of one by name.

use crate::error::{Error, Result};
use crate::model::run_id;
use crate::model::state::object_id::ObjectId;
use crate::store::repository::Store;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::reasons::REF_WITHOUT_COMMIT;
use crate::workflow::words::run_error::RunError;

/// One run in its newest state.
#[derive(Clone, Debug)]
pub struct Run {
    /// The newest commit.
    pub tip: ObjectId,
    /// Name in the archive, if the run was archived.
    pub archived_as: Option<String>,
    pub workflow: Workflow,
}

/// A run that cannot be read.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct LostRun {
    pub id: String,
    pub why: String,
}

#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// Open runs first, then ended ones; each group newest first.
    pub runs: Vec<Run>,
    pub lost: Vec<LostRun>,
}

impl Runs {
    /// Returns the live runs.
    ///
    /// # Errors
    /// The refs cannot be read.
    pub fn live(store: &Store) -> Result<Self> {
        let mut runs = Self::default();
        for (id, tip) in store.workflows()? {
            runs.add(store, id, tip, false);
        }
        let torn = store.torn_workflows()?.into_iter();
        runs.lost.extend(torn.map(|id| LostRun {
            id,
            why: REF_WITHOUT_COMMIT.to_owned(),
        }));
        runs.sort();
        Ok(runs)
    }

    /// Returns live and archived runs.
    ///
    /// # Errors
    /// The refs cannot be read.
    pub fn all(store: &Store) -> Result<Self> {
        let mut runs = Self::live(store)?;
        for (name, tip) in store.archived_workflows()? {
            runs.add(store, name, tip, true);
        }
        runs.sort();
        Ok(runs)
    }

    /// Picks a live run as [`Self::pick`] does. One that is only in the archive is refused by name.
    ///
    /// # Errors
    /// As [`Self::pick`], or the run is archived.
    pub fn pick_live(store: &Store, named: Option<&str>) -> Result<Run> {
        let picked = Self::live(store)?.pick(named).cloned();
        if named.is_none() || !picked.as_ref().is_err_and(Error::is_of_run) {
            return picked;
        }
        match Self::all(store)?.pick(named) {
            Ok(run) => Err(run.refused_as_archived()),
            Err(_) => picked,
        }
    }

    fn add(&mut self, store: &Store, name: String, tip: ObjectId, is_archived: bool) {
        let read = store
            .workflow_revision(tip)
            .map_err(|error| error.to_string());
        match read.and_then(|revision| {
            Workflow::from_json(&revision.state).map_err(|why| why.to_string())
        }) {
            Ok(workflow) => self.runs.push(Run {
                tip,
                archived_as: is_archived.then_some(name),
                workflow,
            }),
            Err(why) => self.lost.push(LostRun { id: name, why }),
        }
    }

    fn sort(&mut self) {
        self.runs.sort_by_key(|run| std::cmp::Reverse(rank(run)));
    }

    /// Picks a run by its id or a prefix of it, the id in its file, its project, type or
    /// description; without a name the newest open one, else the newest of all.
    ///
    /// # Errors
    /// No run matches, or the matching one cannot be read.
    pub fn pick(&self, named: Option<&str>) -> Result<&Run> {
        let Some(name) = named else {
            return match (self.runs.first(), self.lost.first()) {
                (Some(run), _) => Ok(run),
                (None, Some(lost)) => Err(damaged(lost)),
                (None, None) => Err(RunError::NoWorkflow.into()),
            };
        };
        // An archived run may have the id that the file of an open one has.
        let is_open = |run: &Run| run.is_live() && run.workflow.status.is_open();
        let is_exact = |run: &&Run| run.id() == name;
        let is_named = |run: &&Run| run.workflow.named() == name;
        let ways: [&dyn Fn(&&Run) -> bool; 4] = [
            &|run| is_exact(run) && is_open(run),
            &|run| is_named(run) && is_open(run),
            &|run| is_exact(run),
            &|run| is_named(run) || matches_name(run, name),
        ];
        if let Some(run) = ways.into_iter().find_map(|is| self.runs.iter().find(is)) {
            return Ok(run);
        }
        Err(
            match self.lost.iter().find(|lost| lost.id.starts_with(name)) {
                Some(lost) => damaged(lost),
                None => RunError::NoSuchWorkflow(name.to_owned()).into(),
            },
        )
    }
}

impl Run {
    /// Returns the name that selects the run.
    pub fn id(&self) -> &str {
        self.archived_as.as_deref().unwrap_or(&self.workflow.id)
    }

    /// Returns the error of a command that would change the run, which is archived.
    pub fn refused_as_archived(&self) -> Error {
        let run = self.id().to_owned();
        RunError::Archived { run }.into()
    }

    pub fn is_live(&self) -> bool {
        self.archived_as.is_none()
    }
}

fn rank(run: &Run) -> (bool, bool, i64, String) {
    (
        run.is_live(),
        run.workflow.status.is_open(),
        run.workflow.updated_ms,
        run.workflow.id.clone(),
    )
}

fn matches_name(run: &Run, name: &str) -> bool {
    let workflow = &run.workflow;
    // Registry files have the project in lower case.
    let is_project = [workflow.project.as_str(), &run_id::snake(&workflow.project)].contains(&name);
    let is_described = !name.is_empty()
        && workflow.description.trim().to_lowercase() == name.trim().to_lowercase();
    run.id().starts_with(name) || is_project || workflow.kind == name || is_described
}

fn damaged(lost: &LostRun) -> Error {
    Error::damaged(format!("workflow {}", lost.id), lost.why.clone())
}
