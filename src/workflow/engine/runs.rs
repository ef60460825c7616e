//! The runs in a store, the choice of one by name, and a run as answers have it.

use std::cell::RefCell;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::cut_list::and_more;
use crate::error::{Error, Result, Sentence};
use crate::model::json::published_as;
use crate::model::{ObjectId, run_id};
use crate::store::Store;
use crate::store::runs::run_line::tips;
use crate::workflow::profiles::registry;
use crate::workflow::words::{
    LISTED_NAMES, no_such_workflow, no_workflow, refused, starts_from_plan,
};
use crate::workflow::{Phase, Profile, Workflow};

/// One run in its newest state.
#[derive(Clone, Debug)]
pub struct Run {
    /// The newest commit.
    pub tip: ObjectId,
    pub workflow: Workflow,
}

/// A run as every answer has it: as it is stored, with what is derived from it.
#[derive(Serialize, JsonSchema)]
pub struct RunJson {
    #[serde(flatten)]
    workflow: Workflow,
    status: &'static str,
    /// Id of the phase that is under way.
    current: Option<String>,
    phase_count: usize,
    completed_count: usize,
    percent: usize,
    /// Null for a run that was read from a file.
    revision: Option<String>,
    completed: Vec<String>,
    remaining: Vec<String>,
    ready: Vec<String>,
}

published_as! { Run, RunJson, |run| {
    let (workflow, id) = (&run.workflow, |phase: &Phase| phase.id.clone());
    RunJson {
        status: workflow.word(),
        current: workflow.current().map(id),
        phase_count: workflow.phases.len(),
        completed_count: workflow.completed().count(),
        percent: workflow.percent(),
        completed: workflow.completed().map(id).collect(),
        remaining: workflow.remaining().map(id).collect(),
        ready: workflow.ready().into_iter().map(id).collect(),
        revision: (*run.tip.as_bytes() != [0; 20]).then(|| run.tip.to_hex()),
        workflow: Workflow {
            documents: BTreeMap::new(),
            ..workflow.clone()
        },
    }
}; }

/// A run that cannot be read.
#[derive(Clone, Debug, Serialize, JsonSchema)]
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

thread_local! {
    /// The runs that were read last, by their newest commits, which tell all that is in them.
    static KNOWN: RefCell<(BTreeMap<String, Option<ObjectId>>, Runs)> = RefCell::default();
}

impl Runs {
    /// Returns live and archived runs.
    ///
    /// # Errors
    /// The refs cannot be read.
    pub fn all(store: &Store) -> Result<Self> {
        let tips = tips(store.layout(), store.objects())?;
        let known = KNOWN.with_borrow(|(of, runs)| (*of == tips).then(|| runs.clone()));
        // What could not be read may have been mended.
        if let Some(known) = known.filter(|known| known.lost.is_empty()) {
            return Ok(known);
        }
        let mut runs = Self::default();
        for (id, tip) in tips.clone() {
            let read = || {
                let tip = tip.ok_or("its ref does not name a commit")?;
                let state = store.workflow_state(tip);
                let state = state.map_err(|error| error.to_string())?;
                let mut workflow = Workflow::from_json(&state).map_err(|why| why.to_string())?;
                // It may have got another id where two stores met.
                workflow.id.clone_from(&id);
                Ok(Run { tip, workflow })
            };
            match read() {
                Ok(run) => runs.runs.push(run),
                Err(why) => runs.lost.push(LostRun { id, why }),
            }
        }
        runs.runs.sort_by_cached_key(|run| {
            let (workflow, is_open) = (&run.workflow, run.workflow.status.is_open());
            let (updated_ms, id) = (workflow.updated_ms, workflow.id.clone());
            std::cmp::Reverse((run.is_live(), is_open, updated_ms, id))
        });
        KNOWN.set((tips, runs.clone()));
        Ok(runs)
    }

    /// Returns the live runs.
    ///
    /// # Errors
    /// The refs cannot be read.
    pub fn live(store: &Store) -> Result<Self> {
        let mut runs = Self::all(store)?;
        runs.runs.retain(Run::is_live);
        Ok(runs)
    }

    /// Returns the runs that have not ended, as they are stored: edits of their files are not looked
    /// for.
    ///
    /// # Errors
    /// The refs cannot be read.
    pub fn open(store: &Store) -> Result<Vec<Run>> {
        let mut runs = Self::all(store)?.runs;
        runs.retain(Run::is_open);
        Ok(runs)
    }

    /// Picks a live run as [`Self::pick`] does. The error names one that is only in the archive.
    ///
    /// # Errors
    /// As [`Self::pick`], or the run is archived.
    pub fn pick_live(store: &Store, named: Option<&str>) -> Result<Run> {
        let picked = Self::live(store)?.pick(named).cloned();
        if !picked.as_ref().is_err_and(Error::is_of_run) {
            return picked;
        }
        match Self::all(store)?.pick(named) {
            Ok(run) if named.is_none() => Err(no_workflow(Some(&run.workflow.id))),
            Ok(run) => Err(run.refused_as_archived()),
            Err(_) => picked,
        }
    }

    /// Returns the live runs that keep a file where this one would.
    pub fn in_the_way<'r>(&'r self, workflow: &'r Workflow) -> impl Iterator<Item = &'r Run> {
        self.runs.iter().filter(|run| {
            let known = &run.workflow;
            let is_same_file = workflow.profile != Some(Profile::Registry)
                || registry::path(known) == registry::path(workflow);
            let is_kept = workflow.profile.is_some() && known.profile == workflow.profile;
            run.is_live() && is_kept && is_same_file
        })
    }

    /// Returns an id that none of all runs has: `wanted`, or `wanted` with a number.
    pub fn free_id(&self, wanted: &str) -> String {
        let is_taken = |id: &String| {
            self.runs.iter().any(|run| run.workflow.id == *id)
                || self.lost.iter().any(|lost| lost.id == *id)
        };
        let numbered = (2..).map(|number| run_id::numbered(wanted, number));
        let mut ids = std::iter::once(wanted.to_owned()).chain(numbered);
        ids.find(|id| !is_taken(id)).unwrap_or_default()
    }

    /// Picks a run by its id or a prefix of it, the id in its file, its project, type or
    /// description; without a name the newest open one, else the newest of all.
    ///
    /// # Errors
    /// No run matches, or the matching one cannot be read.
    pub fn pick(&self, named: Option<&str>) -> Result<&Run> {
        let Some(name) = named else {
            let lost = || self.lost.first().map_or_else(|| no_workflow(None), damaged);
            return self.runs.first().ok_or_else(lost);
        };
        // An archived run may have the id that the file of an open one has.
        let closeness = |run: &&Run| {
            let is_id = run.workflow.id == name;
            let is_own = is_id || run.workflow.id_in_document() == Some(name);
            (is_own || matches_name(run, name)).then_some((!is_own, !run.is_open(), !is_id))
        };
        let matching = self.runs.iter().filter(|run| closeness(run).is_some());
        if let Some(run) = matching.min_by_key(closeness) {
            return Ok(run);
        }
        let mut lost = self.lost.iter();
        let lost = lost.find(|lost| lost.id.starts_with(name));
        Err(lost.map_or_else(|| no_such_workflow(name), damaged))
    }

    /// Checks that a name means one run only, for what cannot be taken back.
    ///
    /// # Errors
    /// It fits several runs, and is the id of none.
    pub fn check_only(&self, named: Option<&str>) -> Result<()> {
        let name = named.unwrap_or_default();
        let fitting = self.runs.iter().filter(|run| matches_name(run, name));
        let ids: Vec<&str> = fitting.map(|run| run.workflow.named()).collect();
        let is_id = self.runs.iter().any(|run| run.workflow.id == name);
        if named.is_none() || ids.len() < 2 || is_id || ids.contains(&name) {
            return Ok(());
        }
        let ids = and_more(&ids, LISTED_NAMES);
        let what = format!("'{name}' fits several workflows: {ids}");
        Err(refused("several_workflows", what).advise("give the id of one"))
    }
}

impl Run {
    /// Makes a run of a state that is in no store.
    pub fn unrecorded(workflow: Workflow) -> Self {
        let tip = ObjectId::from_bytes([0; 20]);
        Self { tip, workflow }
    }

    /// Reads the run as it was at one of its revisions.
    ///
    /// # Errors
    /// It is damaged.
    pub fn at(&self, store: &Store, tip: ObjectId) -> Result<Self> {
        let workflow = Workflow::from_json(&store.workflow_state(tip)?);
        let named = || format!("workflow {}", self.workflow.named());
        let workflow = workflow.map_err(|why| Error::damaged(named(), why))?;
        Ok(Self { tip, workflow })
    }

    /// Returns the error of a command that would change the run, which is archived.
    pub fn refused_as_archived(&self) -> Error {
        let id = &self.workflow.id;
        let what = format!("workflow {id} is archived and can only be read");
        refused("workflow_archived", what).next(self.ways_on())
    }

    /// The next steps where the run has ended.
    pub fn ways_on(&self) -> Sentence {
        let id = &*self.workflow.id;
        let archived = "'checkpoint workflow recover {}' reopens it, 'checkpoint workflow end {} --purge' drops it, and ";
        let archived = (!self.is_live()).then(|| Sentence::new(archived, &[&id, &id]));
        archived
            .unwrap_or_default()
            .then_sentence(starts_from_plan(id))
    }

    pub fn is_live(&self) -> bool {
        !self.workflow.is_archived
    }

    /// Whether it is live and has not ended.
    pub fn is_open(&self) -> bool {
        self.workflow.is_open()
    }
}

pub fn matches_name(run: &Run, name: &str) -> bool {
    let workflow = &run.workflow;
    // Registry files have the project in lower case.
    let project = run_id::snake(&workflow.project);
    let names = [&*workflow.kind, &*workflow.project, &*project];
    let goal = workflow.description.trim().to_lowercase();
    let is_goal = !goal.is_empty() && goal == name.trim().to_lowercase();
    workflow.id.starts_with(name) || names.contains(&name) || is_goal
}

pub fn damaged(lost: &LostRun) -> Error {
    Error::damaged(format!("workflow {}", lost.id), lost.why.clone())
}
