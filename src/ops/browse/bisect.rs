//! `bisect`: finds the first checkpoint for which a command fails, in a scratch directory.

use std::collections::HashMap;
use std::path::Path;

use crate::error::{Code, Error, Result};
use crate::model::checkpoint::bisection::{BisectVerdict, Bisection};
use crate::model::json::{JsonSchema, Serialize, published_as};
use crate::model::{Checkpoint, CommandEnd, Line, ObjectId, RestoreScope};
use crate::ops::restore::write_out;
use crate::ops::select::checkpoint::find;
use crate::ops::{Context, Warning, session};
use crate::store::{Scratch, Store};
use crate::worktree::WorkTree;

/// Exit code by which the command says that it cannot tell.
const SKIP: i32 = 125;
/// Exit codes of a shell for a command that it cannot run or find.
const CANNOT_RUN: [i32; 2] = [126, 127];
/// Lowest exit code that means an abnormal end rather than a failed test.
const FIRST_ABNORMAL: i32 = 128;

/// What a bisection found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BisectOutcome {
    /// Null if the checkpoints that could not be tested hide it.
    pub first_bad: Option<Checkpoint>,
    pub last_good: Checkpoint,
    /// The checkpoints among which the first bad one is, oldest first.
    pub candidates: Vec<Checkpoint>,
    /// In the order in which they were tested.
    pub tested: Vec<TestedCheckpoint>,
}

/// One test of a bisection.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TestedCheckpoint {
    pub checkpoint: Checkpoint,
    /// `good`, `bad` or `skip`.
    pub verdict: BisectVerdict,
    /// The exit code of the command; null if it was not run, as the same state was tested before or
    /// cannot be read.
    pub exit: Option<CommandEnd>,
}

published_as! {
    BisectVerdict, &'static str, |verdict| verdict.into_str();
    CommandEnd, i32, |ended| ended.code();
}

/// The user's command, run in the directory given first; the second is the scratch directory that
/// holds it.
pub type Command<'c> = dyn FnMut(&Path, &Path) -> Result<CommandEnd> + 'c;
/// Called after each test.
pub type Progress<'p> = dyn FnMut(&TestedCheckpoint) + 'p;

pub fn bisect(
    context: &Context,
    good: &str,
    bad: &str,
    command: &mut Command<'_>,
    progress: &mut Progress<'_>,
) -> Result<(BisectOutcome, Vec<Warning>)> {
    let store = context.require_store()?;
    // The lock is held while the scratch directory is made, and released while tests run.
    let (scratch, row, warnings) = {
        let session = session::begin(context, &store)?;
        let inventory = session.locked.inventory();
        let good = find(context, inventory, good)?;
        let bad = find(context, inventory, bad)?;
        let row = row(&inventory.checkpoints, &good, &bad)?;
        (session.locked.begin_scratch()?, row, session.warnings)
    };
    let _shield = context.interrupt.shield();
    let mut run = BisectRun {
        context,
        store: &store,
        scratch: &scratch,
        command,
        progress,
        known: HashMap::new(),
        tested: Vec::new(),
        warnings,
    };
    let found = run.search(&row);
    let (tested, mut warnings) = (run.tested, run.warnings);
    let left = scratch.remove().err();
    warnings.extend(left.map(Warning::bookkeeping("removing the scratch directory")));
    let bisection = found?;
    let candidates = row[bisection.candidates()].to_vec();
    let outcome = BisectOutcome {
        first_bad: match candidates.as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        },
        last_good: row[bisection.last_good()].clone(),
        candidates,
        tested,
    };
    Ok((outcome, warnings))
}

/// Returns the two ends and all checkpoints between them except safety checkpoints, oldest first.
fn row(all: &Line, good: &Checkpoint, bad: &Checkpoint) -> Result<Vec<Checkpoint>> {
    let (from, to) = (good.record.sequence, bad.record.sequence);
    if from >= to {
        let (good, bad) = (good.id.short(), bad.id.short());
        return Err(Error::usage(format!(
            "{good} is not older than {bad}; name the good checkpoint first, then the bad one"
        )));
    }
    if let Some(scoped) = [good, bad].into_iter().find(|end| end.is_scoped()) {
        let short = scoped.id.short();
        return Err(Error::usage(format!(
            "{short} holds only a part of the directory; name a checkpoint of all of it"
        )));
    }
    let is_between =
        |c: &&Checkpoint| c.record.sequence > from && c.record.sequence < to && c.is_whole();
    let row = [good].into_iter().chain(all.iter().filter(is_between));
    Ok(row.chain([bad]).cloned().collect())
}

struct BisectRun<'r> {
    context: &'r Context,
    store: &'r Store,
    scratch: &'r Scratch,
    command: &'r mut Command<'r>,
    progress: &'r mut Progress<'r>,
    /// Verdicts by state, that is by tree and meta.
    known: HashMap<(ObjectId, Option<ObjectId>), BisectVerdict>,
    tested: Vec<TestedCheckpoint>,
    warnings: Vec<Warning>,
}

impl BisectRun<'_> {
    /// Searches after testing both ends: a wrong one would make the result meaningless.
    fn search(&mut self, row: &[Checkpoint]) -> Result<Bisection> {
        let ends = [
            (0, BisectVerdict::Good, "GOOD"),
            (row.len() - 1, BisectVerdict::Bad, "BAD"),
        ];
        for (at, expected, name) in ends {
            let (verdict, ended) = self.judge(&row[at])?;
            if verdict != expected {
                let (short, how) = (row[at].id.short(), ended.in_words());
                return Err(Error::usage(match verdict {
                    BisectVerdict::Good => format!(
                        "the command passes at {short} ({name}), so there is no failure to find"
                    ),
                    BisectVerdict::Bad => format!(
                        "the command fails at {short} ({name}) with {how}; name a checkpoint at which it passes"
                    ),
                    BisectVerdict::Skip => {
                        format!("the command cannot test {short} ({name}): it ended with {how}")
                    }
                }));
            }
        }
        let mut bisection = Bisection::new(row.len());
        while let Some(at) = bisection.next() {
            let verdict = self.test(&row[at])?;
            bisection.mark(at, verdict);
        }
        Ok(bisection)
    }

    fn test(&mut self, checkpoint: &Checkpoint) -> Result<BisectVerdict> {
        let id = checkpoint.id;
        let state = (checkpoint.tree, checkpoint.meta);
        if let Some(verdict) = self.known.get(&state).copied() {
            self.note(checkpoint, verdict, None);
            return Ok(verdict);
        }
        match self.judge(checkpoint) {
            Err(error) if [Code::DAMAGED, Code::EVICTED_MEANWHILE].contains(&error.code) => {
                let why = error.to_string();
                self.warnings.push(Warning::PassedOver { id, why });
                self.note(checkpoint, BisectVerdict::Skip, None);
                Ok(BisectVerdict::Skip)
            }
            judged => judged.map(|(verdict, _)| verdict),
        }
    }

    fn judge(&mut self, checkpoint: &Checkpoint) -> Result<(BisectVerdict, CommandEnd)> {
        let ended = self.try_out(checkpoint)?;
        let verdict = verdict_of(ended, checkpoint)?;
        self.note(checkpoint, verdict, Some(ended));
        Ok((verdict, ended))
    }

    fn note(&mut self, checkpoint: &Checkpoint, verdict: BisectVerdict, exit: Option<CommandEnd>) {
        let tested = TestedCheckpoint {
            checkpoint: checkpoint.clone(),
            verdict,
            exit,
        };
        (self.progress)(&tested);
        let state = (checkpoint.tree, checkpoint.meta);
        self.known.insert(state, verdict);
        self.tested.push(tested);
    }

    /// Runs the command in a fresh directory with exactly the checkpoint's files.
    fn try_out(&mut self, checkpoint: &Checkpoint) -> Result<CommandEnd> {
        let snapshot = self.store.snapshot(checkpoint)?;
        let plan = write_out::plan(&snapshot, &RestoreScope::default());
        let dir = self.scratch.fresh_tree()?;
        let work = WorkTree::open(&dir)?;
        write_out::write_out(
            self.context,
            self.store,
            checkpoint,
            &plan,
            false,
            Some(write_out::root_perm(&snapshot)),
            &work,
        )?;
        (self.command)(&dir, self.scratch.dir())
    }
}

fn verdict_of(ended: CommandEnd, checkpoint: &Checkpoint) -> Result<BisectVerdict> {
    let stopped = |why: &str| {
        let (short, how) = (checkpoint.id.short(), ended.in_words());
        Error::unexpected(format!(
            "the command {why} ({how}) at {short}; nothing was decided"
        ))
    };
    match ended {
        CommandEnd::Exit(0) => Ok(BisectVerdict::Good),
        CommandEnd::Exit(SKIP) => Ok(BisectVerdict::Skip),
        CommandEnd::Exit(code) if CANNOT_RUN.contains(&code) => Err(stopped("cannot be run")),
        CommandEnd::Exit(code) if (1..FIRST_ABNORMAL).contains(&code) => Ok(BisectVerdict::Bad),
        CommandEnd::Exit(_) | CommandEnd::Signal(_) => Err(stopped("did not end by itself")),
    }
}
