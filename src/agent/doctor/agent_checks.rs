//! What `doctor` looks at of each agent: whether it has our hooks as they were written, and when one
//! of them last ran.

use std::path::{Path, PathBuf};

use strum::VariantArray as _;

use crate::agent::dialect::event::AgentName;
use crate::agent::doctor::check::{DoctorOutcome, HealthCheck};
use crate::agent::setup::act;
use crate::agent::setup::agent_files;
use crate::agent::setup::managed;
use crate::agent::setup::places::SetupPlaces;
use crate::agent::setup::plan::{AgentPlan, SettingsChange, SetupRequest, plan};
use crate::agent::setup::record::{self, SetupRecord};
use crate::base::read_regular;
use crate::base::text::{escape, escape_line, escape_path};
use crate::error::sentence::{CommandWords, Sentence};
use crate::error::{Error, Result};
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
/// There is no home directory, or the record of what was written cannot be read.
pub fn examine(
    context: &Context,
    program: &OwnProgram,
    fix: bool,
    outcome: &mut DoctorOutcome,
) -> Result<()> {
    let path = record::path(&context.environment)?;
    let _alone = fix
        .then(|| record::lock(&context.environment))
        .transpose()?;
    let record = record::load(&path, &context.environment)?;
    let places = SetupPlaces::of_user(&context.environment)?;
    outcome.checks.extend(stranger(program));
    let request = SetupRequest {
        places: places.clone(),
        program: program.path.clone(),
        removes: false,
    };
    if fix {
        act::clear_leftovers(&request, &path, &record);
    }
    let project = SetupRequest {
        places: SetupPlaces::of_project(context.root.path()),
        ..request.clone()
    };
    let log = log_lines(context);
    outcome.checks.extend(too_many_files(context, &log));
    for agent in AgentName::VARIANTS.iter().copied() {
        let root = project.places.project.as_deref();
        let is_of_project = record.files.values().any(|file| file.is_of(agent, root));
        if is_of_project {
            let again = CommandWords::new(["setup", agent.into_str(), "--project"]);
            let mut check = definition(&plan(&project, agent, &record), &program.path, &log, again);
            check.what = format!("for this project: {}", check.what);
            outcome.checks.push(check);
        }
        let is_set_up = is_set_up(&record, agent);
        if !is_set_up && (is_of_project || !places.has(agent)) {
            continue;
        }
        outcome.checks.push(if is_set_up {
            let again = setup_of(agent);
            definition(&plan(&request, agent, &record), &program.path, &log, again)
        } else {
            let lacks = if agent.has_hooks() {
                "has no hooks of ours"
            } else {
                "does not have our server"
            };
            let mut check = HealthCheck::note(agent.into_str(), lacks);
            check.remedy = Some(Sentence::command(setup_of(agent)));
            check
        });
        if agent == AgentName::Codex && is_set_up {
            outcome.checks.extend(trust(&places));
        }
    }
    outcome.checks.extend(last_failure(&log));
    Ok(())
}

/// Tells that what was written into the agents' settings is not known.
pub fn unread(why: &Error) -> HealthCheck {
    let remedy = Sentence::text("move that file away: 'checkpoint setup' writes a new one");
    HealthCheck::problem("agents", why.to_string(), remedy)
}

fn is_set_up(record: &SetupRecord, agent: AgentName) -> bool {
    record.files.values().any(|file| file.is_of(agent, None))
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
    let told = plan
        .changes
        .iter()
        .find_map(|change| flaw(change, plan, program));
    let differs = plan.changes.first().map(|change| {
        let path = escape_path(&change.path);
        format!("{path} is not as it would be written for this program")
    });
    if let Some(what) = told.or(differs) {
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

/// Tells what is wrong with the calls in a file: they are there twice, or call another program.
fn flaw(change: &SettingsChange, plan: &AgentPlan, program: &str) -> Option<String> {
    let path = escape_path(&change.path);
    let found = change.found.as_deref()?;
    let wanted = change.wanted.as_deref().unwrap_or_default();
    let calls_of = |text: &Option<String>| agent_files::programs(text.as_deref().unwrap_or("{}"));
    let is_new = |change: &SettingsChange| {
        calls_of(&change.found).is_empty() && !calls_of(&change.wanted).is_empty()
    };
    let calls = agent_files::programs(found);
    if !calls.is_empty() && agent_files::programs(wanted).is_empty() {
        // Hooks that only move are not there twice.
        if plan.changes.iter().any(is_new) {
            return None;
        }
        return Some(format!(
            "{path} has hooks of ours beside those that stand elsewhere: each event comes twice"
        ));
    }
    let quoted = agent_files::other_program(found, wanted, program);
    let other = calls.into_iter().find(|called| called != program);
    let other = escape(&other.or(quoted)?);
    Some(format!(
        "{path} calls {other}, and this program is {}",
        escape(program)
    ))
}

/// Tells that Codex passes over hooks until its user trusts them.
fn trust(places: &SetupPlaces) -> Option<HealthCheck> {
    let folder = places.folder(AgentName::Codex);
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
