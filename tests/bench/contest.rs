//! The table of what is measured, and its rule: every contender has its turn in each round, and each
//! round begins with another one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;

use crate::contender::{Seat, Who};
use crate::job::{self, Done, write};
use crate::report::{self, Row};
use crate::trees::{Tree, edit_large};

/// Measures checkpoint against the shell recipe.
#[derive(Debug, Parser)]
#[command(name = "contest")]
pub struct Args {
    /// Which trees: a project, b 50,000 files, c 1 GB in 20 files, d 300,000 files
    #[arg(long, value_delimiter = ',', default_value = "a,b,c,d")]
    pub trees: Vec<char>,
    /// Which paths: cold, warm, ten, restore, prune, text, list, start
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "cold,warm,ten,restore,prune,text,list,start"
    )]
    pub paths: Vec<String>,
    /// Also the recipe with the settings with which git is fastest
    #[arg(long)]
    pub best: bool,
    /// Runs of each row; ten times as many for commands that take milliseconds
    #[arg(long, default_value_t = 5)]
    pub runs: usize,
    /// Where everything is made; it is never emptied
    #[arg(long)]
    pub work: Option<PathBuf>,
    /// Any directory as tree b, such as an installed `node_modules` of tree-b/package.json
    #[arg(long)]
    pub tree_b: Option<PathBuf>,
    /// Small trees and two runs: a test of the benchmark itself, its times mean nothing
    #[arg(long)]
    pub small: bool,
    /// The figures as JSON too
    #[arg(long)]
    pub json: Option<PathBuf>,
    /// Given by cargo
    #[arg(long, hide = true)]
    pub bench: bool,
}

impl Args {
    pub fn read() -> Self {
        let mut args = Self::parse();
        args.runs = args.runs.clamp(1, if args.small { 2 } else { usize::MAX });
        args
    }
}

/// What happens before a turn, outside the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Nothing,
    /// The store is a new one.
    NewStore,
    /// So many files were edited.
    Edits(usize),
    /// As `Edits`, in a copy of the tree for each contender.
    OwnEdits(usize),
    /// Everything recorded was moved away from the contender's own copy.
    AllGone,
    /// The store is a copy of one with this number of checkpoints, of ten edits each.
    History(usize),
}

/// One path: its name for `--paths` and in the table, the trees, and the command lines. `{id}` is
/// the first checkpoint.
struct Contest {
    key: &'static str,
    name: &'static str,
    trees: &'static str,
    before: Before,
    ours: &'static str,
    recipe: &'static str,
}

const CREATE: &str = "create --reason x --source bench --max-files 0 --keep 1000 --yes";
const COMMIT: &str = "git add -A && git commit -q --allow-empty -m x && git log -1";
const RESTORE: &str = "restore {id} --yes";
const CHECKOUT: &str =
    "git add -A && git commit -q --allow-empty -m pre-restore-safety && git checkout {id} -- .";
const GC: &str = "git gc --quiet --prune=now";

#[rustfmt::skip]
const PATHS: [Contest; 10] = [
    Contest { key: "cold", name: "cold create", trees: "abc", before: Before::NewStore, ours: CREATE, recipe: COMMIT },
    Contest { key: "warm", name: "nothing changed", trees: "abd", before: Before::Nothing, ours: CREATE, recipe: COMMIT },
    Contest { key: "ten", name: "10 changed", trees: "abd", before: Before::Edits(10), ours: CREATE, recipe: COMMIT },
    Contest { key: "restore", name: "restore, 10 changed", trees: "b", before: Before::OwnEdits(10), ours: RESTORE, recipe: CHECKOUT },
    Contest { key: "restore", name: "restore, 1000 changed", trees: "b", before: Before::OwnEdits(1000), ours: RESTORE, recipe: CHECKOUT },
    Contest { key: "restore", name: "restore, all gone", trees: "b", before: Before::AllGone, ours: RESTORE, recipe: CHECKOUT },
    Contest { key: "prune", name: "prune", trees: "b", before: Before::History(100), ours: "prune --yes --keep 50", recipe: GC },
    Contest { key: "text", name: "prune, large text", trees: "t", before: Before::History(20), ours: "prune --yes --keep 1000", recipe: GC },
    Contest { key: "list", name: "list of 50", trees: "a", before: Before::Nothing, ours: "list -n 50", recipe: "git log -n 50" },
    Contest { key: "start", name: "start-up", trees: "a", before: Before::Nothing, ours: "--version", recipe: "git --version" },
];

/// One path on one tree, with the stores of its contenders and their first checkpoints.
struct Scene<'a> {
    args: &'a Args,
    path: &'a Contest,
    tree: &'a Tree,
    top: &'a Path,
    exclusions: &'a Path,
    seats: Vec<(Seat, String)>,
    /// Of the tree when it was recorded.
    digest: (u64, usize),
}

/// # Errors
/// A command fails or a result is wrong.
pub fn run(args: &Args) -> Result<()> {
    let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let default = || {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench");
        target.with_extension(seconds.as_secs().to_string())
    };
    let top = args.work.clone().unwrap_or_else(default);
    std::fs::create_dir_all(&top).with_context(|| format!("cannot make {}", top.display()))?;
    let top = top.canonicalize()?;
    report::say(&format!("working in {}", top.display()));
    let run = top.join(format!("run-{}", seconds.as_secs()));
    let exclusions = exclusions(&run)?;
    let mut rows = Vec::new();
    let mut trees = Vec::new();
    let wanted = |path: &&Contest| args.paths.iter().any(|key| key == path.key);
    for name in args.trees.iter().copied().chain(['t']) {
        let paths: Vec<&Contest> = PATHS.iter().filter(wanted).collect();
        let mut paths = paths.into_iter().filter(|path| path.trees.contains(name));
        let Some(first) = paths.next() else { continue };
        let tree = Tree::make(name, args, &top, &exclusions)?;
        for path in std::iter::once(first).chain(paths) {
            let place = run.join(format!("{name}-{}", rows.len()));
            rows.push(Scene::set(args, path, &tree, &place, &exclusions)?.play()?);
        }
        trees.push(format!("* tree {name}: {}", tree.what));
    }
    report::all(args, &top, &trees, &rows)
}

/// The exclusion list of a new store, which all contenders get.
fn exclusions(run: &Path) -> Result<PathBuf> {
    let seat = Seat::new(Who::Checkpoint, &run.join("probe/tree"), run);
    write(&seat.tree.join("file"), "text")?;
    seat.job(CREATE, "").run()?;
    Ok(seat.git_dir()?.join(".gitignore"))
}

/// Waits until everything written is on disk and the clock of the file system has moved on, so that no
/// run pays for the one before it, and no file counts as changed in this very tick.
fn settle() {
    rustix::fs::sync();
    std::thread::sleep(Duration::from_millis(25));
}

impl<'a> Scene<'a> {
    /// Makes a store for each contender, with a first checkpoint.
    fn set(
        args: &'a Args,
        path: &'a Contest,
        tree: &'a Tree,
        top: &'a Path,
        exclusions: &'a Path,
    ) -> Result<Self> {
        let mut scene = Self {
            digest: tree.digest(&tree.root)?,
            seats: Vec::new(),
            args,
            path,
            tree,
            top,
            exclusions,
        };
        let best = (args.best && !matches!(path.before, Before::History(_))).then_some(Who::Best);
        for who in [Who::Checkpoint, Who::Recipe].into_iter().chain(best) {
            let mut seat = Seat::new(who, &tree.root, top);
            if matches!(path.before, Before::OwnEdits(_) | Before::AllGone) {
                seat.tree = top.join(format!("tree-{}", who.name().replace(' ', "-")));
                job::copy(&tree.root, &seat.tree)?;
            }
            report::say(&format!("{} {}: {}", path.name, tree.name, who.name()));
            seat.open(exclusions)?;
            // The second create sees no file of the very tick in which the first was made.
            let mut id = String::new();
            for _ in 0..2 {
                settle();
                id = seat.made(&seat.job(CREATE, COMMIT).run()?)?;
            }
            scene.seats.push((seat, id));
        }
        if let Before::History(count) = path.before {
            scene.add_history(scene.scaled(count))?;
        }
        if path.key == "list" {
            scene.add_history(scene.scaled(50))?;
        }
        Ok(scene)
    }

    fn scaled(&self, count: usize) -> usize {
        if self.args.small { count / 10 } else { count }
    }

    fn add_history(&self, count: usize) -> Result<()> {
        // As a user would have done: the base is in one pack on git's side too.
        self.seats[1].0.git(GC)?;
        for number in 0..count {
            if self.tree.name == 't' {
                edit_large(&self.tree.root.join("text.txt"), number)?;
            } else {
                self.tree.edit(&self.tree.root, number, 10)?;
            }
            settle();
            for (seat, _) in &self.seats {
                seat.job(CREATE, COMMIT).run()?;
            }
        }
        Ok(())
    }

    fn play(&self) -> Result<Row> {
        let is_quick = self.tree.name == 'a' && self.path.key != "cold" && !self.args.small;
        let rounds = self.args.runs * if is_quick { 10 } else { 1 };
        let mut row = Row::new(self.path.name, self.tree.name);
        for round in 0..rounds {
            if let Before::Edits(count) = self.path.before {
                self.tree.edit(&self.tree.root, round, count)?;
            }
            let mut trees = BTreeMap::new();
            for turn in 0..self.seats.len() {
                let (seat, id) = &self.seats[(turn + round) % self.seats.len()];
                let (seat, done, _) = self.turn(seat, id, round, false)?;
                trees.insert(seat.who, self.check(&seat, &done)?);
                row.push(seat.who, done.elapsed);
            }
            let mut ids = trees.values().flatten();
            let first = ids.next();
            ensure!(
                ids.all(|id| Some(id) == first),
                "the recorded trees differ: {trees:?}"
            );
            report::round(&row, round, rounds);
        }
        if let Before::Edits(count) = self.path.before {
            self.tree.edit(&self.tree.root, rounds, count)?;
        }
        for (seat, id) in &self.seats {
            let (seat, done, peak) = self.turn(seat, id, rounds, true)?;
            self.check(&seat, &done)?;
            if seat.who != Who::Best && self.path.key != "start" {
                seat.fsck()?;
                row.sizes.insert(seat.who, job::size_of(&seat.store));
            }
            row.peaks.extend(peak.map(|peak| (seat.who, peak)));
        }
        Ok(row)
    }

    /// Prepares and runs one command. Returns also the seat with the store that it was about.
    fn turn(
        &self,
        seat: &Seat,
        id: &str,
        round: usize,
        weighs: bool,
    ) -> Result<(Seat, Done, Option<u64>)> {
        let mut seat = seat.clone();
        let anew = format!("{}-{round}", seat.store.display());
        match self.path.before {
            Before::NewStore => {
                job::warm_up(&seat.tree);
                seat.store = anew.into();
                seat.open(self.exclusions)?;
            }
            Before::History(_) => {
                job::copy(&seat.store, Path::new(&anew))?;
                seat.store = anew.into();
            }
            Before::OwnEdits(count) => {
                let count = self.scaled(count).max(10);
                self.tree.edit(&seat.tree, round, count)?;
            }
            Before::AllGone => self.take_all(&seat, round)?,
            Before::Nothing | Before::Edits(_) => {}
        }
        if self.path.key == "restore" {
            job::warm_up(&seat.store);
        }
        let line = |line: &str| line.replace("{id}", id);
        let job = seat.job(&line(self.path.ours), &line(self.path.recipe));
        settle();
        if weighs {
            let (done, peak) = job.run_weighed(&self.top.join("peak"))?;
            return Ok((seat, done, peak));
        }
        let done = job.run()?;
        Ok((seat, done, None))
    }

    /// Moves away whatever is recorded. Nothing is removed: ext4 makes files several times slower for
    /// minutes after many deletions.
    fn take_all(&self, seat: &Seat, round: usize) -> Result<()> {
        let aside = self.top.join(format!(
            "gone-{}-{round}",
            seat.who.name().replace(' ', "-")
        ));
        std::fs::create_dir_all(&aside)?;
        let mut names: Vec<_> = (self.tree.captured.iter())
            .filter_map(|path| path.components().next())
            .collect();
        names.dedup();
        for name in names {
            std::fs::rename(seat.tree.join(name), aside.join(name))
                .context("cannot move a tree away")?;
        }
        Ok(())
    }

    /// Checks the result. Returns the id of the recorded tree of a create.
    fn check(&self, seat: &Seat, done: &Done) -> Result<Option<String>> {
        match self.path.key {
            "cold" | "warm" | "ten" => {
                let id = seat.made(done)?;
                return Ok(Some(seat.git(&format!("git rev-parse {id}^{{tree}}"))?));
            }
            "restore" => {
                let now = self.tree.digest(&seat.tree)?;
                // What is not recorded went with the rest.
                let is_same = now.0 == self.digest.0 && now.1 <= self.digest.1;
                ensure!(is_same, "{} restored something else", seat.who.name());
            }
            "prune" | "text" if seat.who == Who::Checkpoint => {
                let listed = seat.job("list", "").run()?.text();
                // Two lines are the head of the table.
                let left = listed.lines().count() - 2;
                let all = match self.path.before {
                    Before::History(count) => self.scaled(count) + 2,
                    _ => bail!("no history"),
                };
                let wanted = if self.path.key == "prune" {
                    all.min(50)
                } else {
                    all
                };
                ensure!(left == wanted, "{left} checkpoints are left, not {wanted}");
            }
            "list" => {
                let rows = done.text().lines().count();
                ensure!(
                    rows >= self.scaled(50),
                    "{rows} lines of {} are a list",
                    seat.who.name()
                );
            }
            _ => {}
        }
        Ok(None)
    }
}
