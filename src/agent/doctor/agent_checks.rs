//! What `doctor` looks at of each agent: whether it has our hooks as they were written, and when one
//! of them last ran.

use std::path::{Path, PathBuf};

use strum::VariantArray as _;

use crate::agent::dialect::event::AgentName;
use crate::agent::doctor::check::{DoctorOutcome, HealthCheck};
use crate::agent::setup::act;
use crate::agent::setup::agents::{Agents, SetupPlaces};
use crate::agent::setup::managed;
use crate::agent::setup::plan::{AgentPlan, SettingsChange, SetupRequest, plan};
use crate::base::read_regular;
use crate::base::text::{escape, escape_line, escape_path};
use crate::error::Result;
use crate::error::sentence::{CommandWords, Sentence};
use crate::ops::context::Context;
use crate::ops::warning::Warning;
use crate::store::small_files::hook_log;

/// This program as it was called, and as a shell finds it.
#[derive(Clone, Debug)]
pub struct OwnProgram {
    /// The path that `setup` writes.
    pub path: String,
    /// What `checkpoint` means in a shell; `None` if it is not found.
    pub on_path: Option<PathBuf>,
}

/// Looks at every agent that is here or was set up.
///
/// `fix` removes what a killed `setup` left.
///
/// # Errors
/// There is no home directory.
pub fn examine(
    context: &Context,
    program: &OwnProgram,
    fix: bool,
    outcome: &mut DoctorOutcome,
) -> Result<()> {
    let _alone = fix.then(|| act::lock(&context.environment)).transpose()?;
    let agents = Agents::read()?;
    let places = SetupPlaces::of_user(&context.environment)?;
    outcome.checks.extend(stranger(program));
    let request = |places: SetupPlaces, removes| SetupRequest {
        places,
        program: program.path.clone(),
        removes,
    };
    if fix {
        act::clear_leftovers(&places, &agents);
    }
    let project = SetupPlaces::of_project(context.root.path());
    let log = log_lines(context);
    outcome.checks.extend(too_many_files(context, &log));
    for name in AgentName::VARIANTS.iter().copied() {
        let checked = |places: &SetupPlaces, again| -> Result<Option<HealthCheck>> {
            let ours = plan(&request(places.clone(), true), &agents, name)?;
            if !ours.is_something() {
                return Ok(None);
            }
            let wanted = plan(&request(places.clone(), false), &agents, name)?;
            Ok(Some(definition(&wanted, &program.path, &log, again)))
        };
        let again = CommandWords::new(["setup", name.into_str(), "--project"]);
        let of_project = checked(&project, again)?;
        let is_in_project = of_project.is_some();
        outcome.checks.extend(of_project.map(|check| HealthCheck {
            what: format!("for this project: {}", check.what),
            ..check
        }));
        if let Some(check) = checked(&places, setup_of(name))? {
            outcome.checks.push(check);
            if name == AgentName::Codex {
                outcome
                    .checks
                    .extend(trust(&places.folder(agents.get(name)?)));
            }
        } else if !is_in_project && places.has(agents.get(name)?) {
            let lacks = if name.has_hooks() {
                "has no hooks of ours"
            } else {
                "does not have our server"
            };
            let mut check = HealthCheck::note(name.into_str(), lacks);
            check.remedy = Some(Sentence::command(setup_of(name)));
            outcome.checks.push(check);
        }
    }
    outcome.checks.extend(last_failure(&log));
    Ok(())
}

fn setup_of(agent: AgentName) -> CommandWords {
    CommandWords::new(["setup", agent.into_str()])
}

/// Tells that a shell finds another program of our name first.
fn stranger(program: &OwnProgram) -> Option<HealthCheck> {
    let first = program.on_path.as_ref()?;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let is_this = real(first) == real(Path::new(&program.path));
    let mut check = HealthCheck::note(
        "program",
        format!("a shell finds {} first, not this one", escape_path(first)),
    );
    check.remedy = Some(Sentence::text(
        "change PATH, or remove the one that is not wanted",
    ));
    (!is_this).then_some(check)
}

/// Tells whether what `setup` wrote is there as it would be written now, for this program.
/// `again` is the command that writes it.
fn definition(plan: &AgentPlan, program: &str, log: &[String], again: CommandWords) -> HealthCheck {
    let name = plan.agent.into_str();
    let again = Sentence::command(again);
    if let Some(left) = plan.left.first() {
        let what = format!("{}: {}", escape_path(&left.path), left.why);
        let remedy = if managed::holds(&left.path) {
            let removal =
                "'checkpoint setup claude --remove' takes ours out, unless that is changed";
            Sentence::new(removal, &[])
        } else {
            again
        };
        return HealthCheck::problem(name, what, remedy);
    }
    if let Some(what) = flaw(plan, program) {
        return HealthCheck::problem(name, what, again);
    }
    if !plan.agent.has_hooks() {
        return HealthCheck::good(name, "the server is installed");
    }
    let last = log.iter().rev().find(|line| is_of(line, name));
    let last = last.map_or("none has run here yet".to_owned(), |line| {
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        let [day, time, _, moment, ..] = words[..] else {
            return escape_line(line);
        };
        format!("the last one here at {day} {time} ({moment})")
    });
    HealthCheck::good(name, format!("hooks are installed; {last}"))
}

/// Tells what is wrong with our entries: they are there twice, call another program, or are not as
/// they would be written.
fn flaw(plan: &AgentPlan, program: &str) -> Option<String> {
    if let Some(note) = plan.notes.first().filter(|_| plan.changes.is_empty()) {
        return Some(note.clone());
    }
    let is_other = |change: &&SettingsChange| {
        change
            .calls
            .as_deref()
            .is_some_and(|calls| calls != program)
    };
    let first = plan
        .changes
        .iter()
        .find(is_other)
        .or(plan.changes.first())?;
    let path = escape_path(&first.path);
    // Hooks that only move are not there twice.
    let is_twice = plan.changes.iter().all(|change| change.is_extra);
    Some(match &first.calls {
        _ if is_twice => format!(
            "{path} has hooks of ours beside those that stand elsewhere: each event comes twice"
        ),
        Some(calls) if calls != program => {
            let (calls, program) = (escape(calls), escape(program));
            format!("{path} calls {calls}, and this program is {program}")
        }
        _ => format!("{path} is not as it would be written for this program"),
    })
}

/// Tells that Codex passes over hooks until its user trusts them.
fn trust(folder: &Path) -> Option<HealthCheck> {
    let hooks = folder.join("hooks.json");
    let settings = read_regular::read_linked_text(&folder.join("config.toml")).unwrap_or_default();
    let is_trusted = settings.contains("trusted_hash")
        && settings.contains(&*hooks.to_string_lossy().replace('\\', "\\\\"));
    let mut check = HealthCheck::note("codex", "passes over our hooks until they are trusted");
    check.remedy = Some(Sentence::text("type '/hooks' in Codex and trust them"));
    (!is_trusted).then_some(check)
}

/// Tells that hooks record nothing here, by what the last of them found under this limit.
fn too_many_files(context: &Context, log: &[String]) -> Option<HealthCheck> {
    let limit = context.settings.max_files;
    let sentence = Warning::TooManyFiles {
        limit,
        largest: Vec::new(),
    };
    let sentence = sentence.to_string();
    let is_over = |line: &str| line.contains(&sentence);
    let counted = |line: &&String| {
        let (_, done) = line.split_once(" ms: ").unwrap_or_default();
        done.starts_with("made ") || done.starts_with("unchanged since ") || is_over(done)
    };
    let last = log.iter().rev().find(counted)?;
    (limit > 0 && is_over(last)).then(|| {
        HealthCheck::problem(
            "files",
            format!("hooks record nothing here: {sentence}"),
            Sentence::new(
                "exclude what needs no checkpoints (exclude), or raise max_files: 'checkpoint help configuration'",
                &[],
            ),
        )
    })
}

fn log_lines(context: &Context) -> Vec<String> {
    let store = context.find_store().ok().flatten();
    store.map_or_else(Vec::new, |store| hook_log::lines(store.layout()))
}

/// Whether a line of the log is of an agent: date, time, agent, moment, and what was done.
fn is_of(line: &str, agent: &str) -> bool {
    line.split(' ').nth(2) == Some(agent)
}

fn last_failure(log: &[String]) -> Option<HealthCheck> {
    let failed = log
        .iter()
        .rev()
        .find(|line| line.contains(" ms: failed: "))?;
    let what = format!("the last failure: {}", escape_line(failed));
    Some(HealthCheck::note("hooks", what))
}
