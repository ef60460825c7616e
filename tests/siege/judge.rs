//! The judge: whether everything that was promised still holds after a trial.

use std::sync::atomic::Ordering;

use super::field::Field;
use super::scenario::{Picture, Stage, bytes_of, checkpoints, held};
use super::tally::Tally;
use super::{printed, target};
use crate::bench::tree::Node;
use crate::bench::{Git, Run, Tree};

/// One trial in this many is checked by plain git.
const DEEPLY_EVERY: usize = 8;
/// Most checkpoints that are restored in one trial; of more of them each has its turn.
const MOST_RESTORED: usize = 8;

/// Checks the field, which changes it, and names what is lost. What a command printed that was cut
/// off counts only if it is an id. The number of the trial decides whether an interrupted restore
/// is finished or reverted, which printed command is typed in, and whether plain git checks the
/// store.
pub fn judge(
    stage: &Stage<'_>,
    run: &Run,
    is_cut: bool,
    trial: usize,
    tally: &Tally,
) -> Result<(), String> {
    let (field, scenario) = (&stage.field, stage.scenario);
    if scenario.facet.is_some() {
        tally.companions.fetch_add(1, Ordering::Relaxed);
    }
    if !is_cut && (run.code == 101 || run.code >= 128) {
        return Err(format!("it fell over: {run}"));
    }
    let typed = if is_cut || run.code == 0 {
        None
    } else {
        type_in(stage, run, trial, tally)?
    };
    let is_in_part = typed.is_some_and(|command| command.contains(" --exclude "));
    if let Some(line) = scenario.way_out {
        let _ = field.cmd(line);
    }
    let was_pending = settled(stage, trial, tally)?;
    let is_done = !is_cut && run.code == 0 && !was_pending;
    let done = is_done.then_some(run);
    if is_in_part {
        restored_in_part(stage)?;
    } else {
        working_directory(stage, run, done, is_cut, tally)?;
    }
    let is_told = is_cut && run.code != 1 && scenario.is_repeatable && !run.stdout.is_empty();
    if is_told && Picture::of(scenario, field) != stage.after {
        return Err(format!("it was printed and did not happen: {run}"));
    }
    // What it printed of a restore that was settled since is no longer so.
    if let Some(run) = done {
        type_in(stage, run, trial, tally)?;
    }
    goes_on(stage, run, done.is_some(), trial, tally)
}

/// Checks that nothing that was there or printed is lost, that the next commands work, and that
/// nothing is left over.
fn goes_on(
    stage: &Stage<'_>,
    run: &Run,
    is_done: bool,
    trial: usize,
    tally: &Tally,
) -> Result<(), String> {
    let (field, scenario) = (&stage.field, stage.scenario);
    let work = Picture::of(scenario, field).tree;
    let listed = every_state(stage, trial, MOST_RESTORED)?;
    let printed = run.stdout.trim_end();
    let is_it = |(id, _): &(String, String)| id.starts_with(printed);
    if scenario.is("create") && printed.len() == 8 && !listed.iter().any(is_it) {
        return Err(format!("a printed id is not listed: {run}"));
    }
    let made = made_afterwards(stage, trial, tally)?;
    let id = made.data()["checkpoint"]["id"].as_str().map(str::to_owned);
    let id = id
        .or_else(|| checkpoints(field).first().map(|(id, _)| id.clone()))
        .ok_or("there is no checkpoint")?;
    same(
        &scenario.lasting(&held(field, &id)?),
        &captured(&work),
        "the create afterwards",
    )?;
    // They have just come back; `verify --full` below reads them again.
    let now = every_state(stage, trial, 1)?;
    let verified = field.cmd("verify --full");
    if verified.code != 0 {
        return Err(format!("damage: {verified}"));
    }
    nothing_came_back(stage, &listed, &now)?;
    // Where the power was cut, what was deleted may be back under the name of what is to go.
    let is_taken_back = scenario.taken_back_by.is_some() && !trial.is_multiple_of(2);
    if scenario.is_repeatable && (!is_done || scenario.is("delete")) && !is_taken_back {
        repeated(stage, trial, tally)?;
    }
    if let Some(line) = scenario.taken_back_by {
        let run = field.cmd(line);
        let now = Picture::of(scenario, field);
        if now != stage.before {
            let why = now.against(&stage.before);
            return Err(format!("it is not taken back: {why}: {run}"));
        }
    }
    if scenario.is("prune") {
        let pruned = field.cmd("prune");
        let bytes = bytes_of(field);
        if pruned.code != 0 || bytes > 2 * stage.bytes + 4096 {
            return Err(format!("{bytes} bytes and not {}: {pruned}", stage.bytes));
        }
    }
    if let Some(line) = scenario.sweeper {
        field.cmd(line);
    }
    leftovers(field)?;
    if trial.is_multiple_of(DEEPLY_EVERY) {
        plain_git(field)
    } else {
        Ok(())
    }
}

/// Full ids and reasons of checkpoints.
type Listed = Vec<(String, String)>;

/// Checks that what was gone is gone, and that the manifest names what there is.
fn nothing_came_back(stage: &Stage<'_>, before: &Listed, now: &Listed) -> Result<(), String> {
    let manifest = std::fs::read_to_string(stage.field.store().join("checkpoint-manifest.md"));
    let manifest = manifest.map_err(|error| error.to_string())?;
    for (id, reason) in now {
        let may_go = stage.scenario.may_go.contains(&reason.as_str());
        if may_go && !before.iter().any(|(old, _)| old == id) {
            return Err(format!("{id} ({reason}) came back"));
        }
        if !manifest.contains(&id[..8]) {
            return Err(format!("{id} is not in the manifest"));
        }
    }
    Ok(())
}

/// Gives the command again, if need be after the first one that its refusal names.
fn repeated(stage: &Stage<'_>, trial: usize, tally: &Tally) -> Result<(), String> {
    let again = || stage.field.cmd(stage.scenario.line);
    let now = || Picture::of(stage.scenario, &stage.field);
    let wanted = if now() == stage.after {
        &stage.again
    } else {
        &stage.after
    };
    let mut run = again();
    if now() != *wanted && run.code != 0 {
        type_in(stage, &run, trial, tally)?;
        run = again();
    }
    if now() == *wanted {
        Ok(())
    } else {
        Err(format!("given again: {}: {run}", now().against(wanted)))
    }
}

/// Makes a checkpoint; if something has to be done before, the refusal names it.
fn made_afterwards(stage: &Stage<'_>, trial: usize, tally: &Tally) -> Result<Run, String> {
    let create = || stage.field.cmd("create -r afterwards --json");
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
    if commands.is_empty() || stage.scenario.way_out.is_some() {
        return Ok(None);
    }
    tally.typed.fetch_add(1, Ordering::Relaxed);
    let command = &commands[trial % commands.len()];
    let typed = printed::follow(&stage.field, command);
    typed.map_err(|why| format!("{why}\nafter {run}"))?;
    Ok(Some(command.clone()))
}

/// Checks that an interrupted restore is reported by all and leads on or back, where its way out
/// says; returns whether there was one.
fn settled(stage: &Stage<'_>, trial: usize, tally: &Tally) -> Result<bool, String> {
    let (field, scenario) = (&stage.field, stage.scenario);
    let pending = || {
        let status = field.cmd("status --json");
        let is_pending = status.code == 0 && !status.data()["pending"].is_null();
        (is_pending, status)
    };
    let (was_pending, status) = pending();
    if status.code != 0 {
        return Err(format!("no status: {status}"));
    }
    if !was_pending {
        return Ok(false);
    }
    let (list, redo) = (field.cmd("list --json"), field.cmd("redo --yes --json"));
    if list.warning_codes().is_empty() || redo.code != 4 || redo.error_code() != "restore_pending" {
        return Err(format!("it is not reported: {list}\n{redo}"));
    }
    let typed = type_in(stage, &status, trial, tally)?.unwrap_or_default();
    if pending().0 {
        return Err(format!(
            "a restore that was cut off leads nowhere: {status}"
        ));
    }
    let end = if typed.ends_with(" --resume") {
        &stage.after
    } else if typed.ends_with(" undo") {
        &stage.before
    } else {
        return Ok(true);
    };
    let now = Picture::of(scenario, field);
    let is_whole = stage.ends.len() > 2 || (now.tree == end.tree && now.is_between(&stage.ends));
    if is_whole {
        Ok(true)
    } else {
        Err(format!("{typed}: {}", now.against(end)))
    }
}

/// Checks that the working directory is in its old or new state.
fn working_directory(
    stage: &Stage<'_>,
    run: &Run,
    done: Option<&Run>,
    is_cut: bool,
    tally: &Tally,
) -> Result<(), String> {
    let now = Picture::of(stage.scenario, &stage.field);
    // A path that could not be read is named, and stays.
    let is_told = !is_cut
        && (run.stderr.contains("not captured: ") || run.stdout.contains("\"not_captured\""));
    if done.is_none() {
        if is_told {
            return restored_in_part(stage);
        }
        if now.is_between(&stage.ends) {
            return Ok(());
        }
        let why = now.against(&stage.before);
        return Err(format!("neither as before nor as after: {why}: {run}"));
    }
    if stage.scenario.restores() {
        tally.restores.fetch_add(1, Ordering::Relaxed);
    }
    match &stage.target {
        Some(target) if now.facet == stage.after.facet => {
            target::reached(target, &captured(&now.tree), run)
        }
        None if is_told => restored_in_part(stage),
        None if now == stage.after => Ok(()),
        _ => Err(format!(
            "it said it was done: {}: {run}",
            now.against(&stage.after)
        )),
    }
}

/// Checks that each path is in its old or new state, where some are left out.
fn restored_in_part(stage: &Stage<'_>) -> Result<(), String> {
    let now = Picture::of(stage.scenario, &stage.field).tree;
    let states = stage.ends.iter().map(|end| &end.tree);
    let paths = states.clone().flat_map(|state| state.nodes.keys());
    for path in paths.chain(now.nodes.keys()) {
        let is_in = |state: &Tree| state.nodes.get(path) == now.nodes.get(path);
        if !states.clone().any(is_in) {
            let name = path.escape_ascii();
            return Err(format!("{name} is neither as before nor as after"));
        }
    }
    Ok(())
}

/// Checks that every former checkpoint is listed, and that up to `most` of them, in turn, give back
/// their directories. Returns what is listed.
fn every_state(stage: &Stage<'_>, trial: usize, most: usize) -> Result<Listed, String> {
    let mut listed = checkpoints(&stage.field);
    let is_missing = |listed: &Listed, id: &String| !listed.iter().any(|(known, _)| known == id);
    if stage.states.keys().any(|id| is_missing(&listed, id)) {
        // An unreadable store was replaced by what was readable, and kept: a repair fetches the
        // rest from there.
        let repaired = stage.field.cmd("verify --repair");
        if !matches!(repaired.code, 0 | 5) {
            return Err(format!(
                "something is not listed, and a repair fails: {repaired}"
            ));
        }
        listed = checkpoints(&stage.field);
    }
    let turns = stage.states.len().div_ceil(most);
    for (at, (id, state)) in stage.states.iter().enumerate() {
        if is_missing(&listed, id) {
            return Err(format!("{id} is not listed any more"));
        }
        if at % turns == trial % turns {
            same(&held(&stage.field, id)?, state, id)?;
        }
    }
    Ok(listed)
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

/// Checks that a writer leaves nothing half-made behind, in its store, beside it or elsewhere.
pub fn leftovers(field: &Field) -> Result<(), String> {
    let (home, store) = (field.home(), field.store());
    for entry in [&home, &field.work()]
        .into_iter()
        .flat_map(walkdir::WalkDir::new)
        .flatten()
    {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy());
        let is_ours = !path.starts_with(&home) || path.starts_with(&store);
        let parts = [
            ".checkpoint-tmp-",
            ".checkpoint-stage-",
            ".fresh-",
            ".deleted-",
        ];
        let is_half_made = name == "packed-refs.lock"
            || parts.iter().any(|part| name.contains(part))
            || [".tmp-", "tmp_", "bisect-"]
                .iter()
                .any(|begin| name.starts_with(begin));
        if is_half_made && (is_ours || !name.starts_with(".tmp-")) {
            return Err(format!("{} is left over", path.display()));
        }
    }
    Ok(())
}

fn plain_git(field: &Field) -> Result<(), String> {
    let Some(git) = Git::find(&field.home()).filter(|_| field.store().exists()) else {
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
