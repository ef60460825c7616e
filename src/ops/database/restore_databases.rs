//! The databases of a restore: their present state is kept before anything changes; they are
//! restored last.

use std::fs::File;
use std::path::PathBuf;

use crate::error::{Code, Error, Result};
use crate::model::state::database::logs_of;
use crate::model::{Blocker, Database, Databases, Held, ObjectId, RelPath, RestorePlan};
use crate::ops::database::backup::{self, Purpose, busy_wait, live};
use crate::ops::{Context, DatabaseFailure, DatabaseFate, DatabaseReport, Pending, RestoreRequest};
use crate::store::files::atomic_file;
use crate::store::objects::object_hash::hash_object;
use crate::store::trees::meta_tree;
use crate::store::{LockedStore, ObjectError, ObjectKind, PackSet, Scratch, Store};
use crate::worktree::WorkTree;
use crate::worktree::files::private_dir;
use crate::worktree::sqlite::{self, Watched};
use crate::worktree::sys::{self, ItemKind};

/// Databases whose present state is kept and whose wanted content is ready.
pub struct DatabaseRestore {
    items: Vec<DatabaseItem>,
    /// `None` if there is no database.
    scratch: Option<Scratch>,
}

struct DatabaseItem {
    report: DatabaseReport,
    present: Option<Held>,
    /// File with the content to restore.
    content: Option<PathBuf>,
    watched: Option<Watched>,
}

/// Databases that are in the way of a plan, with the reason.
type Barred = Vec<(RelPath, Blocker)>;

/// Returns what a restore would do to its databases.
pub fn planned(request: &RestoreRequest<'_>) -> Vec<DatabaseReport> {
    let fate = |held: &Held| match held {
        Held::Absent => DatabaseFate::Left,
        Held::Content(_) => DatabaseFate::Planned,
    };
    let concerned = request.target.databases_within(&request.scope);
    concerned
        .map(|(database, held)| DatabaseReport {
            database: database.clone(),
            fate: fate(held),
        })
        .collect()
}

/// Finds what a restore would do to its databases, and what bars it from them, without a change.
/// With `compares`, those that are as they were then are found too, as far as a copy in memory shows it.
///
/// # Errors
/// The present state of one that is no file could not be saved.
pub fn plan(
    work: &WorkTree,
    request: &RestoreRequest<'_>,
    plan: &RestorePlan,
    compares: bool,
) -> Result<(Vec<DatabaseReport>, Barred)> {
    let context = request.context;
    let (mut reports, mut barred) = (planned(request), Vec::new());
    let held = request.target.databases_within(&request.scope);
    for (report, (database, held)) in reports.iter_mut().zip(held) {
        let found = match database {
            _ if request.pending.is_some() => continue,
            Database::Named(name) => backup::commands_of(context, name).map(|_| None),
            Database::File(path) => {
                is_readable(context, work, path).map(|there| Some((path, there)))
            }
        };
        let why = match (found, database.path()) {
            (Ok(None), _) => continue,
            (Err(DatabaseFailure::Other(error)), _) => return Err(error),
            (Err(DatabaseFailure::Refused(why)), None) => return Err(not_held(database, &why)),
            (Err(DatabaseFailure::Refused(why)), Some(path)) => Some((path, why)),
            (Ok(Some((path, is_there))), _) => {
                let refused = refuse_other_names(work, path)
                    .and_then(|()| refuse_to_write(work, path, is_there, plan))
                    .err();
                if (compares || refused.is_some()) && is_as_then(context, path, *held) {
                    report.fate = DatabaseFate::Unchanged;
                }
                let refused = refused.filter(|_| report.fate == DatabaseFate::Planned);
                refused.map(|why| (path, why.to_string()))
            }
        };
        barred.extend(why.map(|(path, why)| (path.clone(), Blocker::Database(why))));
    }
    Ok((reports, barred))
}

fn is_as_then(context: &Context, path: &RelPath, held: Held) -> bool {
    let copy = sqlite::content(&live(context, path), &context.interrupt);
    let id = copy.and_then(|copy| hash_object(ObjectKind::Blob, &copy).ok());
    id.is_some_and(|id| held == Held::Content(id))
}

/// Whether there is a database; an error if there is something else, or beside it.
fn is_readable(
    context: &Context,
    work: &WorkTree,
    path: &RelPath,
) -> Result<bool, DatabaseFailure> {
    let is_there = backup::is_there(context, path)?;
    for log in logs_of(path) {
        let found = work.stat(&log)?;
        if found.is_some_and(|found| sys::kind_of(&found) != ItemKind::File) {
            return Err(DatabaseFailure::Refused(format!("{log} is no file")));
        }
    }
    if is_there {
        sqlite::check_kind(&live(context, path))?;
    }
    Ok(is_there)
}

/// Refuses a file that cannot be written to, or a directory in which none can be made beside it,
/// unless the plan makes or opens that directory.
fn refuse_to_write(
    work: &WorkTree,
    path: &RelPath,
    is_there: bool,
    plan: &RestorePlan,
) -> Result<()> {
    let is_changed =
        |dir: &RelPath| plan.make_dirs.contains_key(dir) || plan.chmod_dirs.contains_key(dir);
    let parent = path.parent().unwrap_or_default();
    if path.ancestors().any(|dir| is_changed(&dir)) {
        return Ok(());
    }
    let mut above = parent.self_and_ancestors();
    let is_free = |dir: &RelPath| work.stat(dir).is_ok_and(|found| found.is_none());
    let place = above.find(|dir| !is_free(dir)).unwrap_or_default();
    let dir = work.dir(&place)?;
    let refused = |why| work.io("write to", path, why);
    dir.refusal_to_write()
        .map_or(Ok(()), |why| Err(refused(why)))?;
    if is_there {
        dir.open_to_append(path.name()).map_err(refused)?;
    }
    Ok(())
}

fn not_held(database: &Database, why: &str) -> Error {
    let what = format!("the present state of database {database} cannot be saved: {why}");
    Error::new(Code::DATABASE_NOT_HELD, what).advise(
        "nothing was changed; fix that, or restore PATHs without it; a SQLite file that is moved \
         away is created again",
    )
}

impl DatabaseRestore {
    /// Captures the present state of each into `pack` and extracts the content to restore; no user
    /// file changes.
    ///
    /// # Errors
    /// A database cannot be captured, unless an interrupted restore is being ended, which must work
    /// without it; or the content to restore is damaged.
    pub fn prepare(
        locked: &LockedStore<'_>,
        pack: &mut PackSet<'_>,
        request: &RestoreRequest<'_>,
    ) -> Result<Self> {
        let context = request.context;
        let mut prepared = Self {
            items: Vec::new(),
            scratch: None,
        };
        let concerned = request.target.databases_within(&request.scope);
        let concerned = concerned.map(|(database, held)| (database.clone(), *held));
        let concerned: Databases = concerned.collect();
        if concerned.is_empty() {
            return Ok(prepared);
        }
        let scratch = locked.begin_scratch()?;
        for (number, (database, wanted)) in concerned.into_iter().enumerate() {
            let present = backup::back_up(context, &scratch, &database, Purpose::Safety, pack);
            let mut item = DatabaseItem {
                report: DatabaseReport {
                    database,
                    fate: DatabaseFate::Unchanged,
                },
                present: None,
                content: None,
                watched: None,
            };
            let database = &item.report.database;
            item.report.fate = match present {
                Ok((held, watched)) => {
                    (item.present, item.watched) = (Some(held), watched);
                    match wanted {
                        _ if wanted == held => DatabaseFate::Unchanged,
                        Held::Absent => DatabaseFate::Left,
                        Held::Content(blob) => {
                            let place = scratch.dir().join(format!("wanted-{number}"));
                            let (store, target) = (locked.store(), request.target.id());
                            item.content = Some(extract(store, target, database, blob, place)?);
                            DatabaseFate::Planned
                        }
                    }
                }
                Err(DatabaseFailure::Refused(why)) if request.pending.is_some() => {
                    DatabaseFate::Failed(why)
                }
                Err(DatabaseFailure::Refused(why)) => return Err(not_held(database, &why)),
                Err(DatabaseFailure::Other(error)) => return Err(error),
            };
            prepared.items.push(item);
        }
        prepared.scratch = Some(scratch);
        Ok(prepared)
    }

    /// Returns the captured databases.
    pub fn present(&self) -> Databases {
        self.items
            .iter()
            .filter_map(|item| Some((item.report.database.clone(), item.present?)))
            .collect()
    }

    /// Whether a database differs from both target and safety checkpoint of an interrupted restore.
    pub fn has_unsaved(&self, store: &Store, pending: &Pending) -> Result<bool> {
        if self.items.is_empty() {
            return Ok(false);
        }
        let inventory = store.inventory()?;
        let ends = [pending.target, pending.safety];
        let ends = ends.into_iter().filter_map(|id| inventory.get(id));
        let known = ends.map(|checkpoint| store.databases(checkpoint));
        let known = known.collect::<Result<Vec<_>>>()?;
        let is_known = |database: &Database, held: &Held| {
            known.iter().any(|end| end.get(database) == Some(held))
        };
        let present = self.present();
        Ok(!present
            .iter()
            .all(|(database, held)| is_known(database, held)))
    }

    /// Writes the tree of the captured databases.
    pub fn record(&self, pack: &mut PackSet<'_>) -> Result<Option<ObjectId>> {
        meta_tree::write_databases(pack, &self.present())
    }

    /// Restores all databases. A failure of one does not stop the others.
    ///
    /// # Errors
    /// A signal asks to stop; each database then has its old or its new state.
    pub fn restore(&mut self, context: &Context) -> Result<()> {
        let Some(scratch) = &self.scratch else {
            return Ok(());
        };
        let items = self.items.iter_mut();
        for item in items.filter(|item| item.report.fate == DatabaseFate::Planned) {
            item.report.fate = match item.restore(context, scratch) {
                Ok(()) => DatabaseFate::Restored,
                Err(DatabaseFailure::Refused(why)) => DatabaseFate::Failed(why),
                Err(DatabaseFailure::Other(error)) => return Err(error),
            };
        }
        Ok(())
    }

    pub fn reports(&self) -> Vec<DatabaseReport> {
        self.items.iter().map(|item| item.report.clone()).collect()
    }
}

impl DatabaseItem {
    fn restore(&mut self, context: &Context, scratch: &Scratch) -> Result<(), DatabaseFailure> {
        let Some(wanted) = &self.content else {
            return Ok(());
        };
        match &self.report.database {
            Database::File(path) => {
                let refused = |why: Error| DatabaseFailure::Refused(why.to_string());
                let work = WorkTree::open_root(&context.root).map_err(refused)?;
                if self.present == Some(Held::Absent) {
                    private_dir::make_empty(&work, path).map_err(refused)?;
                }
                refuse_other_names(&work, path).map_err(refused)?;
                let (live, watched) = (live(context, path), self.watched.take());
                Ok(sqlite::restore(
                    wanted,
                    &live,
                    watched,
                    &busy_wait(context),
                )?)
            }
            Database::Named(name) => {
                let commands = backup::commands_of(context, name)?;
                let input = File::open(wanted).map_err(Error::io("read", wanted))?;
                backup::run_command(context, scratch, &commands.restore, Some(input), None)
            }
        }
    }
}

/// SQLite writes into the file and those beside it, so none may have a second name: that could lie
/// outside the root.
fn refuse_other_names(work: &WorkTree, path: &RelPath) -> Result<()> {
    for end in ["", "-journal", "-wal", "-shm"] {
        let file =
            RelPath::new(&[path.as_bytes(), end.as_bytes()].concat()).map_err(Error::unexpected)?;
        if work.stat(&file)?.is_some_and(|found| found.links > 1) {
            return Err(Error::unexpected(format!(
                "{file} is a hard link, a file with another name too"
            )));
        }
    }
    Ok(())
}

/// Extracts a blob into a file of its own, and checks it on the way.
fn extract(
    store: &Store,
    target: ObjectId,
    database: &Database,
    blob: ObjectId,
    place: PathBuf,
) -> Result<PathBuf> {
    let mut file = atomic_file::create_private(&place)?;
    let written = store.objects().stream_blob(&blob, &mut file);
    written.map_err(|error| match error {
        ObjectError::Io(error) => error,
        ObjectError::Sink(error) => Error::io("write", &place)(error),
        damage => store.damage(target, format!("database {database}: {damage}")),
    })?;
    Ok(place)
}
