//! Stages the new content of a restore; collects the steps to put it in place.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;
use std::sync::Mutex;

use crate::base::mutex::{self, lock};
use crate::base::{Progress, WorkPhase};
use crate::error::Result;
use crate::model::state::entry::{OWNER_RWX, SPECIAL_BITS};
use crate::model::{Entry, RelPath};
use crate::ops::RestoreJob;
use crate::ops::restore::verify_written::{ExpectedFile, ExpectedFiles};
use crate::ops::restore::write_out;
use crate::worktree::apply::stage::{can_be_moved, tree_name, write_back};
use crate::worktree::rules::rule_set::Peek;
use crate::worktree::{
    ApplyPlan, Expect, Graft, GraftedDir, Removal, Stage, WantedTree, WriteStep,
};

/// Number of files from which the kernel is made to write back while they are staged.
const WRITTEN_BACK_FROM_FILES: usize = 2000;

/// Everything that is ready to be put in place.
pub struct Staged {
    pub stage: Stage,
    pub plan: ApplyPlan,
    /// The staged files by the directory that they are moved to.
    pub expected: ExpectedFiles,
}

/// Stages all new content on the target file system. It is made durable once in place: until then
/// the journal says that a restore is under way, and the safety checkpoint holds the old content.
pub fn stage(job: &RestoreJob<'_>, name: &str) -> Result<Staged> {
    let stage = Stage::create(job.worktree, name)?;
    let mut new_dirs = NewDirs::of(job);
    let needed = content_needed(job);
    let files = places(&needed, &new_dirs);
    let bytes = files.iter().map(|(_, entry)| entry.size_bytes).sum();
    let progress = &job.context.progress;
    progress.begin(WorkPhase::Staging, files.len() as u64, bytes);
    let keys = Mutex::new(HashSet::new());
    let content = |number: usize, out: &mut dyn Write| {
        let mut is_key = None;
        let mut sink = Peeking {
            out,
            progress,
            is_key: &mut is_key,
        };
        let (path, entry) = needed[number];
        let (store, work) = (job.store, job.worktree);
        let written = write_out::content(store, job.target, work, path, entry.id, &mut sink)?;
        if is_key == Some(true) {
            lock(&keys).insert(number);
        }
        progress.add(1, 0);
        Ok(written)
    };
    let wanted = WantedTree {
        top: None,
        dirs: &new_dirs.wanted(),
        files: &files,
        special_bits: job.special_bits,
    };
    let is_large = files.len() >= WRITTEN_BACK_FROM_FILES;
    let writing_back = is_large.then(|| write_back(stage.dir()));
    let stats = stage.fill(&wanted, &content, &job.context.interrupt)?;
    drop(writing_back);
    let mut plan = without_content(job, &new_dirs);
    let mut expected = ExpectedFiles::new();
    let keys = mutex::into_inner(keys);
    for (number, ((path, entry), staged)) in needed.into_iter().zip(stats).enumerate() {
        let dir = path.parent().unwrap_or_default();
        let in_tree = new_dirs.get_mut(&dir);
        let is_in_tree = in_tree.is_some();
        match in_tree {
            Some(above) => above.holds.files.push((path.name().into(), staged)),
            None => plan.writes.push(WriteStep {
                path: path.clone(),
                staged: plan.writes.len(),
                expect: expected_at(job, path),
            }),
        }
        let is_key = keys.contains(&number);
        expected.entry(dir).or_default().push(ExpectedFile {
            name: path.name().into(),
            entry: Entry {
                size_bytes: staged.size_bytes,
                ..entry
            },
            staged,
            is_in_tree,
            is_key,
        });
    }
    plan.grafts = new_dirs.into_grafts();
    Ok(Staged {
        stage,
        plan,
        expected,
    })
}

/// The paths in the stage of files that come with a tree, and the numbers of the others.
fn places(needed: &[(&RelPath, Entry)], new_dirs: &NewDirs) -> Vec<(RelPath, Entry)> {
    let mut numbers = 0..;
    let mut place = |path: &RelPath| {
        if let Some(above) = path.parent().and_then(|parent| new_dirs.get(&parent)) {
            return above.place.join(path.name());
        }
        let number: Option<usize> = numbers.next();
        RelPath::root().join(number.unwrap_or_default().to_string().as_bytes())
    };
    let all = needed.iter();
    all.map(|(path, entry)| (place(path), *entry)).collect()
}

/// Files whose content is needed: those written, and hard-linked ones whose mode changes, since
/// their other names must keep theirs.
fn content_needed<'e>(job: &'e RestoreJob<'_>) -> Vec<(&'e RelPath, Entry)> {
    let plan = &job.planned.plan;
    let written = plan.write.iter().map(|(path, write)| (path, write.after));
    let linked = plan.chmod.keys().filter(|path| job.is_linked(path));
    let linked = linked.filter_map(|path| Some((path, *job.planned.wanted.files.get(path)?)));
    written.chain(linked).collect()
}

/// An entry that is in the way of another kind is removed first, with the directory or file there.
fn expected_at(job: &RestoreJob<'_>, path: &RelPath) -> Expect {
    let found = job.stat_of(path);
    let found = found.filter(|_| !job.planned.plan.delete.contains_key(path));
    found.map_or(Expect::Absent, Expect::Present)
}

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

/// The directories that a restore makes with everything in them, parents first: each tree of them is
/// put in place by one rename.
#[derive(Default)]
struct NewDirs {
    dirs: Vec<NewDir>,
    index: HashMap<RelPath, usize>,
    /// Paths of those whose parent exists already, by the number of the tree.
    tops: Vec<RelPath>,
}

struct NewDir {
    /// Number of its tree.
    tree: usize,
    /// Path in the stage.
    place: RelPath,
    perm: u32,
    holds: GraftedDir,
}

impl NewDirs {
    /// Below a directory with set-gid or the like, directories are made in place, since they inherit
    /// from it.
    fn of(job: &RestoreJob<'_>) -> Self {
        let mut all = Self::default();
        for (path, perm) in &job.planned.plan.make_dirs {
            let Some(parent) = path.parent() else {
                continue;
            };
            let is_plain = || {
                let above = job.planned.captured.listing.dir(&parent);
                above.is_some_and(|dir| dir.stat.mode & SPECIAL_BITS == 0)
            };
            let (tree, below) = match all.get(&parent) {
                Some(above) => (above.tree, above.holds.below.join(path.name())),
                None if is_plain() => {
                    all.tops.push(path.clone());
                    (all.tops.len() - 1, RelPath::root())
                }
                None => continue,
            };
            let files = Vec::new();
            let top = RelPath::root().join(tree_name(tree).as_bytes());
            all.index.insert(path.clone(), all.dirs.len());
            all.dirs.push(NewDir {
                tree,
                place: top.join_all(&below),
                perm: *perm,
                holds: GraftedDir { below, files },
            });
        }
        all
    }

    fn get(&self, path: &RelPath) -> Option<&NewDir> {
        self.index.get(path).map(|at| &self.dirs[*at])
    }

    fn get_mut(&mut self, path: &RelPath) -> Option<&mut NewDir> {
        self.index.get(path).map(|at| &mut self.dirs[*at])
    }

    /// Returns the directories in the stage. One that could not be moved gets its mode in place.
    fn wanted(&self) -> BTreeMap<RelPath, u32> {
        let perm = |perm| if can_be_moved(perm) { perm } else { OWNER_RWX };
        let dirs = self.dirs.iter();
        dirs.map(|dir| (dir.place.clone(), perm(dir.perm)))
            .collect()
    }

    fn into_grafts(self) -> Vec<Graft> {
        let mut holds: Vec<Vec<GraftedDir>> = self.tops.iter().map(|_| Vec::new()).collect();
        for dir in self.dirs {
            holds[dir.tree].push(dir.holds);
        }
        let grafts = self.tops.into_iter().zip(holds).enumerate();
        grafts
            .map(|(staged, (path, holds))| Graft {
                path,
                staged,
                holds: holds.into(),
            })
            .collect()
    }
}

/// Plans everything but the content; directories that come with one of `trees` are not made singly.
fn without_content(job: &RestoreJob<'_>, trees: &NewDirs) -> ApplyPlan {
    let plan = &job.planned.plan;
    let in_the_way = |path: &RelPath| {
        plan.make_dirs.contains_key(path)
            || path
                .ancestors()
                .any(|above| plan.write.contains_key(&above))
    };
    let dir_in_the_way = |path: &RelPath| plan.write.contains_key(path) || in_the_way(path);
    let removals = |wanted: bool| {
        let paths = plan
            .delete
            .keys()
            .filter(move |path| in_the_way(path) == wanted);
        paths
            .filter_map(|path| {
                Some(Removal {
                    path: path.clone(),
                    expect: job.stat_of(path)?,
                })
            })
            .collect()
    };
    let dirs = |wanted: bool| {
        plan.remove_dirs
            .iter()
            .rev()
            .filter(move |path| dir_in_the_way(path) == wanted)
            .cloned()
    };
    let chmods = plan.chmod.iter().filter(|(path, _)| !job.is_linked(path));
    let has_its_mode = |path: &RelPath, perm: u32| trees.get(path).is_some() && can_be_moved(perm);
    let made = plan
        .make_dirs
        .iter()
        .filter(|(path, perm)| !has_its_mode(path, **perm));
    let dir_modes = made
        .chain(&plan.chmod_dirs)
        .map(|(path, perm)| (path.clone(), *perm))
        .collect();
    let make_dirs = plan
        .make_dirs
        .iter()
        .filter(|(path, _)| trees.get(path).is_none());
    ApplyPlan {
        displaced: removals(true),
        displaced_dirs: dirs(true).collect(),
        make_dirs: make_dirs
            .map(|(path, perm)| (path.clone(), *perm))
            .collect(),
        chmods: chmods
            .filter_map(|(path, perm)| Some((path.clone(), *perm, job.stat_of(path)?)))
            .collect(),
        deletes: removals(false),
        remove_dirs: dirs(false).collect(),
        dir_modes,
        special_bits: job.special_bits,
        ..ApplyPlan::default()
    }
}
