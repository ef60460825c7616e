//! The judge: after whatever happened, is everything there that was promised?

use std::collections::BTreeMap;

use crate::bench::{Git, Run, Tree};
use crate::field::Field;
use crate::scenario::{Stage, checkpoints, held};

/// What the command said of itself.
pub enum Said {
    /// It was killed, and said nothing.
    Nothing,
    Done(Run),
}

/// One trial in so many is shown to plain git.
const DEEPLY_EVERY: usize = 8;

/// Looks at the field and says what is lost, if anything is. The field is changed. By the number of the trial, a restore
/// that was cut off is finished or taken back, and plain git is asked or not.
pub fn judge(stage: &Stage<'_>, said: &Said, trial: usize) -> Result<(), String> {
    let field = &stage.field;
    if let Said::Done(run) = said
        && (run.code == 101 || run.code >= 128)
    {
        return Err(format!("it fell over: {run}"));
    }
    if stage.scenario.is_unusable_before {
        // Nothing reads such a store; the create below is the way out of it.
        let _ = field.run(&[], &["create", "-r", "way out", "-q"]);
    }
    working_directory(stage, said, trial)?;
    let work = Tree::capture(&field.work()).without(|path| path.starts_with(b".checkpoint-stage-"));
    every_state(stage)?;
    let made = field.run(&[], &["create", "-r", "afterwards", "--json"]);
    if made.code != 0 && made.code != 5 {
        return Err(format!("nothing can be created any more: {made}"));
    }
    let id = made.data()["checkpoint"]["id"].as_str().map(str::to_owned);
    let id = id.or_else(|| checkpoints(field).first().map(|(id, _)| id.clone())).ok_or("there is no checkpoint")?;
    same(&held(field, &id)?, &captured(&work), "the create afterwards")?;
    every_state(stage)?;
    let verified = field.run(&[], &["verify", "--full"]);
    if verified.code != 0 {
        return Err(format!("damage: {verified}"));
    }
    leftovers(field)?;
    if trial.is_multiple_of(DEEPLY_EVERY) { plain_git(field) } else { Ok(()) }
}

/// The working directory is as it was, or as it was to be; a restore cut off says so, and leads on and back.
fn working_directory(stage: &Stage<'_>, said: &Said, trial: usize) -> Result<(), String> {
    let field = &stage.field;
    let status = field.run(&[], &["status", "--json"]);
    if status.code != 0 {
        return Err(format!("no status: {status}"));
    }
    if !status.data()["pending"].is_null() {
        let on = if trial.is_multiple_of(2) { ["restore", "--resume", "--yes"].as_slice() } else { &["undo", "--yes"] };
        let run = field.run(&[], on);
        if run.code != 0 {
            return Err(format!("a restore that was cut off leads nowhere: {run}"));
        }
    }
    // What a killed restore had laid out beside is swept by the next writer, and looked for then.
    let now = Tree::capture(&field.work()).without(|path| path.starts_with(b".checkpoint-stage-"));
    // What could not be looked at is named, and stays.
    let told = matches!(said, Said::Done(run) if run.stderr.contains("not captured: "));
    match said {
        _ if told => Ok(()),
        Said::Done(run) if run.code == 0 && status.data()["pending"].is_null() => {
            same(&now, &stage.after, "it said it was done")
        }
        _ if now == stage.before || now == stage.after => Ok(()),
        _ => Err(format!("the directory is neither as before nor as after: {:?}", now.diff(&stage.before))),
    }
}

fn every_state(stage: &Stage<'_>) -> Result<(), String> {
    let mut listed: BTreeMap<String, String> = checkpoints(&stage.field).into_iter().collect();
    if stage.states.keys().any(|id| !listed.contains_key(id)) {
        // A store that could not be read was replaced by what was readable, and kept: a repair takes the rest from there.
        let repaired = stage.field.run(&[], &["verify", "--repair"]);
        if !matches!(repaired.code, 0 | 5) {
            return Err(format!("something is not listed, and a repair fails: {repaired}"));
        }
        listed = checkpoints(&stage.field).into_iter().collect();
    }
    for (id, state) in &stage.states {
        if !listed.contains_key(id) {
            return Err(format!("{id} is not listed any more"));
        }
        same(&held(&stage.field, id)?, state, id)?;
    }
    Ok(())
}

/// What a checkpoint of a directory gives back: what rules leave out is not in it.
pub fn captured(work: &Tree) -> Tree {
    work.without(|path| path.ends_with(b".log"))
}

pub fn same(found: &Tree, expected: &Tree, what: &str) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {:?}", found.diff(expected))) }
}

/// Nothing half-made stays once a writer has been there.
pub fn leftovers(field: &Field) -> Result<(), String> {
    let half_made =
        |name: &str| name.starts_with(".tmp-") || name.starts_with("tmp_") || name.contains(".checkpoint-stage-");
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
    let Some(git) = Git::find(&field.store()) else { return Ok(()) };
    let store = field.store().display().to_string();
    let run = git.run(&["--git-dir", &store, "fsck", "--full", "--strict"]);
    if run.code == 0 { Ok(()) } else { Err(format!("git finds damage: {run}")) }
}
