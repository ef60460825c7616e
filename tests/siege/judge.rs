//! The judge: whether everything that was promised still holds after a trial.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use crate::bench::tree::Node;
use crate::bench::{Git, Run, Tree};
use crate::field::Field;
use crate::scenario::{Picture, Stage, checkpoints, held};
use crate::tally::Tally;
use crate::{printed, target};

/// The command's own report.
pub enum Said {
    /// None: it was killed.
    Nothing,
    Done(Run),
}

/// One trial in this many is checked by plain git.
const DEEPLY_EVERY: usize = 8;
/// Most checkpoints that are restored in one trial; of more of them each has its turn.
const MOST_RESTORED: usize = 8;

/// Checks the field, which changes it, and names what is lost. The number of the trial decides
/// whether an interrupted restore is finished or reverted, which printed command is typed in, and
/// whether plain git checks the store.
pub fn judge(stage: &Stage<'_>, said: &Said, trial: usize, tally: &Tally) -> Result<(), String> {
    let field = &stage.field;
    if stage.scenario.facet.is_some() {
        tally.companions.fetch_add(1, Ordering::Relaxed);
    }
    let typed = match said {
        Said::Done(run) if run.code == 101 || run.code >= 128 => {
            return Err(format!("it fell over: {run}"));
        }
        Said::Done(run) if run.code != 0 => type_in(stage, run, trial, tally)?,
        _ => None,
    };
    let is_in_part = typed.is_some_and(|command| command.contains(" --exclude "));
    if stage.scenario.is_unusable_before {
        // Nothing can read such a store; the create below is the way out.
        let _ = field.run(&[], &["create", "-r", "way out", "-q"]);
    }
    let was_pending = settled(stage, trial, tally)?;
    if is_in_part {
        restored_in_part(stage)?;
    } else {
        working_directory(stage, said, was_pending, tally)?;
    }
    // What it printed of a restore that was settled since is no longer so.
    if let Said::Done(run) = said
        && run.code == 0
        && !was_pending
    {
        type_in(stage, run, trial, tally)?;
    }
    let work = Picture::of(stage.scenario, field).tree;
    every_state(stage, trial)?;
    let made = made_afterwards(stage, trial, tally)?;
    let id = made.data()["checkpoint"]["id"].as_str().map(str::to_owned);
    let id = id
        .or_else(|| checkpoints(field).first().map(|(id, _)| id.clone()))
        .ok_or("there is no checkpoint")?;
    same(
        &stage.scenario.lasting(&held(field, &id)?),
        &captured(&work),
        "the create afterwards",
    )?;
    every_state(stage, trial)?;
    let verified = field.run(&[], &["verify", "--full"]);
    if verified.code != 0 {
        return Err(format!("damage: {verified}"));
    }
    if stage.scenario.args.contains(&"--copies") {
        // The stage of killed copies is swept by the next ones.
        field.run(&[], stage.scenario.args);
    }
    leftovers(field)?;
    if trial.is_multiple_of(DEEPLY_EVERY) {
        plain_git(field)
    } else {
        Ok(())
    }
}

/// Makes a checkpoint; if something has to be done before, the refusal names it.
fn made_afterwards(stage: &Stage<'_>, trial: usize, tally: &Tally) -> Result<Run, String> {
    let create = || {
        stage
            .field
            .run(&[], &["create", "-r", "afterwards", "--json"])
    };
    let mut made = create();
    if made.code == 4 {
        type_in(stage, &made, trial, tally)?;
        made = create();
    }
    if matches!(made.code, 0 | 5) {
        Ok(made)
    } else {
        Err(format!("nothing can be created any more: {made}"))
    }
}

/// Types in one of the commands that a run printed, and returns it.
fn type_in(
    stage: &Stage<'_>,
    run: &Run,
    trial: usize,
    tally: &Tally,
) -> Result<Option<String>, String> {
    let commands = printed::commands(run);
    // Where the store is unusable, a create is the only way on.
    if commands.is_empty() || stage.scenario.is_unusable_before {
        return Ok(None);
    }
    tally.typed.fetch_add(1, Ordering::Relaxed);
    let command = &commands[trial % commands.len()];
    let typed = printed::follow(&stage.field, command);
    typed.map_err(|why| format!("{why}\nafter {run}"))?;
    Ok(Some(command.clone()))
}

/// Checks that an interrupted restore is reported and leads on or back; returns whether there was
/// one.
fn settled(stage: &Stage<'_>, trial: usize, tally: &Tally) -> Result<bool, String> {
    let field = &stage.field;
    let status = field.run(&[], &["status", "--json"]);
    if status.code != 0 {
        return Err(format!("no status: {status}"));
    }
    let was_pending = !status.data()["pending"].is_null();
    if was_pending {
        type_in(stage, &status, trial, tally)?;
        if !field.run(&[], &["status", "--json"]).data()["pending"].is_null() {
            return Err(format!(
                "a restore that was cut off leads nowhere: {status}"
            ));
        }
    }
    Ok(was_pending)
}

/// Checks that the working directory is in its old or new state.
fn working_directory(
    stage: &Stage<'_>,
    said: &Said,
    was_pending: bool,
    tally: &Tally,
) -> Result<(), String> {
    let now = Picture::of(stage.scenario, &stage.field);
    // A path that could not be read is named, and stays.
    let told = |run: &Run| {
        run.stderr.contains("not captured: ") || run.stdout.contains("\"not_captured\"")
    };
    match said {
        Said::Done(run) if run.code == 0 && !was_pending => {
            if stage.scenario.restores() {
                tally.restores.fetch_add(1, Ordering::Relaxed);
            }
            match &stage.target {
                Some(_) if now.facet != stage.after.facet => Err(format!(
                    "it said it was done: {}: {run}",
                    now.against(&stage.after)
                )),
                Some(target) => target::reached(target, &captured(&now.tree), run),
                None if told(run) || now == stage.after => Ok(()),
                None => Err(format!(
                    "it said it was done: {}: {run}",
                    now.against(&stage.after)
                )),
            }
        }
        Said::Done(run) if told(run) => Ok(()),
        _ => {
            let tree = [&stage.before, &stage.after]
                .iter()
                .any(|state| now.tree == state.tree);
            let facet = [&stage.before, &stage.after]
                .iter()
                .any(|state| now.facet == state.facet);
            let report = match said {
                Said::Done(run) => run.to_string(),
                Said::Nothing => String::new(),
            };
            if tree && facet {
                Ok(())
            } else {
                Err(format!(
                    "neither as before nor as after: {}: {report}",
                    now.against(&stage.before)
                ))
            }
        }
    }
}

/// Checks that each path is in its old or new state, after a printed command that leaves some out.
fn restored_in_part(stage: &Stage<'_>) -> Result<(), String> {
    let now = Picture::of(stage.scenario, &stage.field).tree;
    let states = [&stage.before.tree, &stage.after.tree];
    let paths = states.iter().flat_map(|state| state.nodes.keys());
    for path in paths.chain(now.nodes.keys()) {
        let is_in = |state: &&Tree| state.nodes.get(path) == now.nodes.get(path);
        if !states.iter().any(is_in) {
            let name = path.escape_ascii();
            return Err(format!("{name} is neither as before nor as after"));
        }
    }
    Ok(())
}

fn every_state(stage: &Stage<'_>, trial: usize) -> Result<(), String> {
    let mut listed: BTreeMap<String, String> = checkpoints(&stage.field).into_iter().collect();
    if stage.states.keys().any(|id| !listed.contains_key(id)) {
        // An unreadable store was replaced by what was readable, and kept: a repair fetches the
        // rest from there.
        let repaired = stage.field.run(&[], &["verify", "--repair"]);
        if !matches!(repaired.code, 0 | 5) {
            return Err(format!(
                "something is not listed, and a repair fails: {repaired}"
            ));
        }
        listed = checkpoints(&stage.field).into_iter().collect();
    }
    let turns = stage.states.len().div_ceil(MOST_RESTORED);
    for (at, (id, state)) in stage.states.iter().enumerate() {
        if !listed.contains_key(id) {
            return Err(format!("{id} is not listed any more"));
        }
        if at % turns == trial % turns {
            same(&held(&stage.field, id)?, state, id)?;
        }
    }
    Ok(())
}

/// The part of a directory that a checkpoint holds: without what rules leave out, and without
/// special files.
pub fn captured(work: &Tree) -> Tree {
    let is_special = |path: &[u8]| work.nodes.get(path).is_some_and(Node::is_special);
    work.without(|path| path.ends_with(b".log") || is_special(path))
}

pub fn same(found: &Tree, expected: &Tree, what: &str) -> Result<(), String> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{what}: {:?}", found.diff(expected)))
    }
}

/// Checks that a writer leaves nothing half-made behind.
pub fn leftovers(field: &Field) -> Result<(), String> {
    let half_made = |name: &str| {
        name.starts_with(".tmp-") || name.starts_with("tmp_") || name.contains(".checkpoint-stage-")
    };
    for place in [field.store(), field.work()] {
        for entry in walkdir::WalkDir::new(place).into_iter().flatten() {
            if half_made(&entry.file_name().to_string_lossy()) {
                return Err(format!("{} is left over", entry.path().display()));
            }
        }
    }
    Ok(())
}

fn plain_git(field: &Field) -> Result<(), String> {
    let Some(git) = Git::find(&field.store()) else {
        return Ok(());
    };
    let store = field.store().display().to_string();
    let run = git.run(&["--git-dir", &store, "fsck", "--full", "--strict"]);
    if run.code == 0 {
        Ok(())
    } else {
        Err(format!("git finds damage: {run}"))
    }
}
