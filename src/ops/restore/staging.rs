//! Stages the new content of a restore on several threads; collects the steps to put it in place.

use std::io::Write;
use std::ops::Range;

use crate::base::progress::{Progress, WorkPhase};
use crate::base::threads;
use crate::base::threads::work_queue::{self, WorkQueue};
use crate::error::Result;
use crate::model::state::entry::Entry;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::model::state::stat::Stat;
use crate::ops::restore::directory_steps;
use crate::ops::restore::new_directories::{self, NewDirectories};
use crate::ops::restore::restore_job::RestoreJob;
use crate::ops::restore::verify_written::{ExpectedFile, ExpectedFiles};
use crate::store::objects::object_error::ObjectError;
use crate::store::repository::Store;
use crate::worktree::apply::apply_steps::{ApplyPlan, Expect, Graft, GraftedDir, WriteStep};
use crate::worktree::apply::stage::{Stage, tree_name};
use crate::worktree::apply::write_back::WriteBack;
use crate::worktree::rules::rule_set::Peek;

/// Number of files that a thread takes at a time.
const FILES_AT_ONCE: usize = 32;
/// Number of files from which the kernel is made to write back while they are staged.
const WRITTEN_BACK_FROM_FILES: usize = 2000;

/// Everything that is ready to be put in place.
pub struct Staged {
    pub stage: Stage,
    pub plan: ApplyPlan,
    /// The staged files by the directory that they are moved to.
    pub expected: ExpectedFiles,
}

/// A file to be staged.
struct StagingItem<'e> {
    path: &'e RelPath,
    entry: Entry,
}

enum Unit {
    /// A directory of a tree, by its index, with its files.
    Tree(usize),
    /// Files that replace others or go into existing directories.
    Single(Range<usize>),
}

enum StagedPart {
    Tree(usize, Vec<StagedFile>),
    Single(Range<usize>, Vec<StagedFile>),
}

/// A file in the stage, and whether a rule may leave it out because of its content.
type StagedFile = (Stat, bool);

/// Stages all new content on the target file system. It is made durable once in place: until then
/// the journal says that a restore is under way, and the safety checkpoint holds the old content.
pub fn stage(store: &Store, job: &RestoreJob<'_>, name: &str) -> Result<Staged> {
    let mut stage = Stage::create(job.worktree, name)?;
    if job.special_bits {
        stage.keep_special_bits();
    }
    let trees = new_directories::of(job);
    let (in_trees, single): (Vec<_>, Vec<_>) = content_needed(job)
        .into_iter()
        .map(|(path, entry)| StagingItem { path, entry })
        .partition(|item| trees.holder_of(item.path).is_some());
    let mut by_dir: Vec<Vec<StagingItem<'_>>> = trees.dirs.iter().map(|_| Vec::new()).collect();
    let file_count = in_trees.len() + single.len();
    let size = |item: &StagingItem<'_>| item.entry.size_bytes;
    let bytes = in_trees.iter().chain(&single).map(size).sum();
    for item in in_trees {
        if let Some(at) = trees.holder_of(item.path) {
            by_dir[at].push(item);
        }
    }
    job.context
        .progress
        .begin(WorkPhase::Staging, file_count as u64, bytes);
    let work = StagingWork {
        store,
        job,
        stage: &stage,
        trees: &trees,
        by_dir: &by_dir,
        single: &single,
    };
    let is_large = file_count >= WRITTEN_BACK_FROM_FILES;
    let write_back = is_large.then(|| WriteBack::start(stage.dir()));
    let done = work.share(file_count)?;
    drop(write_back);
    let mut gathered = StagedBatch {
        plan: directory_steps::without_content(job, &trees),
        expected: ExpectedFiles::new(),
    };
    gathered.take(job, &trees, &by_dir, &single, done);
    Ok(Staged {
        stage,
        plan: gathered.plan,
        expected: gathered.expected,
    })
}

/// Files whose content is needed: those written, and hard-linked ones whose mode changes, since
/// their other names must keep theirs.
fn content_needed<'e>(job: &'e RestoreJob<'_>) -> Vec<(&'e RelPath, Entry)> {
    let written = job
        .plan
        .write
        .iter()
        .map(|(path, write)| (path, write.after));
    let linked = job.plan.chmod.keys().filter(|path| job.is_linked(path));
    let linked = linked.filter_map(|path| Some((path, *job.wanted.files.get(path)?)));
    written.chain(linked).collect()
}

struct StagingWork<'w, 'e> {
    store: &'w Store,
    job: &'w RestoreJob<'e>,
    stage: &'w Stage,
    trees: &'w NewDirectories,
    by_dir: &'w [Vec<StagingItem<'w>>],
    single: &'w [StagingItem<'w>],
}

impl StagingWork<'_, '_> {
    fn share(&self, file_count: usize) -> Result<Vec<StagedPart>> {
        let top = self.stage.place(self.job.worktree, &RelPath::root())?;
        let mut units = Vec::new();
        for (number, at) in self.trees.tops.iter().enumerate() {
            let name = RelPath::root().join(tree_name(number).as_bytes());
            let perm = self.trees.dirs[*at].perm;
            self.stage.make_dir(self.job.worktree, &top, &name, perm)?;
            units.push(Unit::Tree(*at));
        }
        let starts = (0..self.single.len()).step_by(FILES_AT_ONCE);
        units
            .extend(starts.map(|at| Unit::Single(at..(at + FILES_AT_ONCE).min(self.single.len()))));
        work_queue::run(
            vec![(); threads::workers_for(file_count)],
            units,
            &|(), unit, queue| match unit {
                Unit::Tree(at) => Ok(StagedPart::Tree(at, self.make_tree_dir(at, queue)?)),
                Unit::Single(range) => {
                    let made = range
                        .clone()
                        .map(|at| self.make_single(at))
                        .collect::<Result<_>>()?;
                    Ok(StagedPart::Single(range, made))
                }
            },
        )
    }

    /// Makes a tree directory's subdirectories, queues them for other threads, makes its files.
    fn make_tree_dir(&self, at: usize, queue: &WorkQueue<Unit>) -> Result<Vec<StagedFile>> {
        let (work, dir) = (self.job.worktree, &self.trees.dirs[at]);
        let place = self.stage.place(work, &dir.place)?;
        for child in &dir.dirs {
            let child = &self.trees.dirs[*child];
            self.stage
                .make_dir(work, &place, &child.place, child.perm)?;
        }
        dir.dirs
            .iter()
            .for_each(|child| queue.add(Unit::Tree(*child)));
        let mut files = Vec::with_capacity(self.by_dir[at].len());
        for item in &self.by_dir[at] {
            let (name, mode) = (item.path.name(), (item.entry.kind, item.entry.perm));
            files.push(self.make_file(item, &mut |write| {
                self.stage.add_in(work, &place, name, mode, write)
            })?);
        }
        self.stage.set_mode(work, &place, dir.perm)?;
        Ok(files)
    }

    fn make_single(&self, at: usize) -> Result<StagedFile> {
        let (work, item) = (self.job.worktree, &self.single[at]);
        self.make_file(item, &mut |write| {
            self.stage
                .add(work, at, item.entry.kind, item.entry.perm, write)
        })
    }

    /// Makes a file by `add`, which calls the function that it is given to write the content.
    fn make_file(
        &self,
        item: &StagingItem<'_>,
        add: &mut dyn FnMut(&mut Content<'_>) -> Result<Stat>,
    ) -> Result<StagedFile> {
        self.job.context.check_interrupt()?;
        let mut is_key = None;
        let stat = add(&mut |out| {
            let mut sink = Peeking {
                out,
                progress: &self.job.context.progress,
                is_key: &mut is_key,
            };
            self.fetch(item, &mut sink)
        })?;
        self.job.context.progress.add(1, 0);
        Ok((stat, is_key.unwrap_or_default()))
    }

    fn fetch(&self, item: &StagingItem<'_>, out: &mut dyn Write) -> Result<u64> {
        let blob: &ObjectId = &item.entry.id;
        self.store
            .objects()
            .write_blob(blob, out)
            .map_err(|e| match e {
                ObjectError::Io(e) => e,
                ObjectError::Sink(e) => self.job.worktree.io("write", item.path, e),
                damage => self
                    .store
                    .damage(self.job.target, format!("{}: {damage}", item.path)),
            })
    }
}

/// Writes the content of a file.
type Content<'c> = dyn FnMut(&mut dyn Write) -> Result<u64> + 'c;

/// Looks at the beginning of what is written through it.
struct Peeking<'o> {
    out: &'o mut dyn Write,
    progress: &'o Progress,
    /// `None` until something was written.
    is_key: &'o mut Option<bool>,
}

impl Write for Peeking<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.is_key
            .get_or_insert_with(|| Peek::ANY_FILE.is_secret(bytes));
        let count = self.out.write(bytes)?;
        self.progress.add(0, count as u64);
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// The results of all threads, merged.
struct StagedBatch {
    plan: ApplyPlan,
    expected: ExpectedFiles,
}

impl StagedBatch {
    fn take(
        &mut self,
        job: &RestoreJob<'_>,
        trees: &NewDirectories,
        by_dir: &[Vec<StagingItem<'_>>],
        single: &[StagingItem<'_>],
        done: Vec<StagedPart>,
    ) {
        let mut held: Vec<Vec<StagedFile>> = trees.dirs.iter().map(|_| Vec::new()).collect();
        let mut singles = vec![StagedFile::default(); single.len()];
        for done in done {
            match done {
                StagedPart::Tree(at, files) => held[at] = files,
                StagedPart::Single(range, made) => singles[range].copy_from_slice(&made),
            }
        }
        for (staged, (item, made)) in single.iter().zip(singles).enumerate() {
            self.expect(item, made, false);
            let expect = job.stat_of(item.path).map_or(Expect::Absent, |stat| {
                // The entry here is removed first, with the directory or file in the way.
                if job.plan.delete.contains_key(item.path) {
                    Expect::Absent
                } else {
                    Expect::Present(stat)
                }
            });
            self.plan.writes.push(WriteStep {
                path: item.path.clone(),
                staged,
                expect,
            });
        }
        for (items, files) in by_dir.iter().zip(&held) {
            items
                .iter()
                .zip(files)
                .for_each(|(item, made)| self.expect(item, *made, true));
        }
        let mut holds: Vec<Vec<GraftedDir>> = trees.tops.iter().map(|_| Vec::new()).collect();
        for ((dir, items), files) in trees.dirs.iter().zip(by_dir).zip(held) {
            let files = items.iter().zip(files);
            holds[dir.tree].push(GraftedDir {
                below: dir.below.clone(),
                files: files
                    .map(|(item, (stat, _))| (item.path.name().into(), stat))
                    .collect(),
            });
        }
        for (staged, (top, holds)) in trees.tops.iter().zip(holds).enumerate() {
            self.plan.grafts.push(Graft {
                path: trees.dirs[*top].path.clone(),
                staged,
                holds: holds.into(),
            });
        }
    }

    fn expect(&mut self, item: &StagingItem<'_>, (staged, is_key): StagedFile, is_in_tree: bool) {
        let entry = Entry {
            size_bytes: staged.size_bytes,
            ..item.entry
        };
        let file = ExpectedFile {
            name: item.path.name().into(),
            entry,
            staged,
            is_in_tree,
            is_key,
        };
        let dir = item.path.parent().unwrap_or_default();
        self.expected.entry(dir).or_default().push(file);
    }
}
