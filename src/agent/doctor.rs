//! What `doctor` looks at: the directory, its store, and our entries in the settings of agents.

use std::fs::TryLockError;
use std::path::Path;

use HealthLevel::{Fixed, Good, Note, Problem};
use strum::VariantArray as _;

use crate::agent::event_place::unsuited;
use crate::agent::setup::agents::is_managed;
use crate::agent::setup::plan::{called_program, plan};
use crate::agent::{AgentName, AgentPlan, Agents, SettingsFile, SetupPlaces, setup};
use crate::base::read_regular;
use crate::base::text::{escape, escape_line, escape_path};
use crate::base::time::{age, ago};
use crate::config::ScanMonitor;
use crate::error::{Code, CommandWords, Error, Result, Sentence};
use crate::model::checkpoint::selector;
use crate::model::json::{JsonSchema, Serialize};
use crate::ops::contract::hold;
use crate::ops::create::watched::watcher;
use crate::ops::maintain::verify;
use crate::ops::{Context, Warning, session};
use crate::store::files::atomic_file;
use crate::store::small_files::hook_log;
use crate::store::{Store, TemporaryFile};
use crate::worktree::WorkTree;
use crate::worktree::apply::stage;
use crate::worktree::root::folds_case;

/// Free space in bytes below which a `create` may soon fail.
const ROOM_BYTES: u64 = 256 << 20;

/// What was looked at.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "DoctorAnswer")]
pub struct DoctorOutcome {
    pub problem_count: usize,
    pub checks: Vec<HealthCheck>,
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

/// One thing that was looked at.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct HealthCheck {
    pub level: HealthLevel,
    /// What was looked at, such as `store`.
    pub subject: String,
    pub message: String,
    /// What mends it; null if nothing has to be fixed.
    pub remedy: Option<String>,
    /// The command that mends it, as words to run.
    pub command: Option<Vec<String>>,
    #[serde(skip)]
    pub advice: Option<Sentence>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum HealthLevel {
    #[default]
    Good,
    /// Worth knowing; nothing has to be done.
    Note,
    /// Checkpoints are not made, or cannot be relied on, until it is fixed.
    Problem,
    /// It was a problem, and `--fix` fixed it.
    Fixed,
}

impl HealthCheck {
    fn new(level: HealthLevel, subject: &str, message: impl Into<String>) -> Self {
        Self {
            level,
            subject: subject.to_owned(),
            message: message.into(),
            ..Self::default()
        }
    }

    /// A problem in the words of the commands that meet it.
    fn of_error(subject: &str, error: &Error) -> Self {
        Self {
            advice: error.next.clone(),
            ..Self::new(Problem, subject, error.to_string())
        }
    }

    fn advised(mut self, advice: Sentence) -> Self {
        self.advice = Some(advice);
        self
    }

    /// A problem, and what mends it.
    fn problem(subject: &str, message: impl Into<String>, advice: &'static str) -> Self {
        Self::new(Problem, subject, message).advised(Sentence::new(advice, &[]))
    }
}

/// Looks at the directory, its store and the agents, whose entries should call `program`. `fix`
/// mends what a `create` would, and removes what a killed restore or `setup` left.
///
/// # Errors
/// The place of the store cannot be told.
pub fn doctor(context: &Context, program: &str, fix: bool) -> Result<DoctorOutcome> {
    let mut outcome = DoctorOutcome::default();
    let checks = &mut outcome.checks;
    checks.push(root(context));
    checks.extend(context.root_above(true).map(|above| {
        let above = escape_path(&above);
        let what =
            format!("{above} has checkpoints too; commands here use only those of this root");
        HealthCheck::new(Note, "above", what)
    }));
    if let Some(what) = unsuited(context) {
        let what = format!("this is {what}: hooks begin nothing here, 'checkpoint create' does");
        checks.push(HealthCheck::new(Note, "hooks", what));
    }
    if context.environment.disabled {
        let what = "CHECKPOINT_DISABLE is set: nothing is recorded";
        checks.push(HealthCheck::new(Note, "disabled", what));
    }
    let dir = context.store_dir()?;
    let place = dir.ancestors().find(|place| place.is_dir());
    let place = place.unwrap_or(&dir);
    // The name of the file that was tried says nothing.
    let writing = try_out(place).map_err(|why| why.renamed("write", place));
    let shown = escape_path(place);
    let works = format!("{shown} can be written, and renames and locks work");
    checks.push(match &writing {
        Ok(()) => HealthCheck::new(Good, "writing", works),
        Err(why) if why.code == Code::IO => {
            let base = context.base.as_os_str().as_encoded_bytes();
            let advice = "let the sandbox write {}, or name another folder with CHECKPOINT_HOME";
            HealthCheck::of_error("writing", why).advised(Sentence::new(advice, &[&base]))
        }
        Err(why) => HealthCheck::of_error("writing", why),
    });
    let (level, what) = if folds_case(context.root.path()) {
        (Note, "A and a are the same name here")
    } else {
        (Good, "A and a are different names here")
    };
    checks.push(HealthCheck::new(level, "file system", what));
    checks.push(if atomic_file::has_room(place, ROOM_BYTES) {
        HealthCheck::new(Good, "room", "more than 256 MiB are free")
    } else {
        let what = format!("less than 256 MiB are free on the disk of {shown}");
        let advice = "'checkpoint prune' gives back what no checkpoint needs";
        HealthCheck::problem("room", what, advice)
    });
    match context.find_store() {
        Ok(Some(store)) => of_store(context, &store, fix && writing.is_ok(), &mut outcome)?,
        Ok(None) => {
            let what = "none yet: the first create makes it";
            checks.push(HealthCheck::new(Note, "store", what));
        }
        Err(why) => checks.push(HealthCheck::of_error("store", &why)),
    }
    let remarks = context.settings.remarks.iter().map(|remark| {
        let what = format!("{}: {}", escape_path(&remark.file), remark.what);
        HealthCheck::problem("settings", what, "'checkpoint config' shows what counts")
    });
    outcome.checks.extend(remarks);
    if let Err(why) = of_agents(context, program, fix, &mut outcome.checks) {
        outcome.checks.push(HealthCheck::of_error("agents", &why));
    }
    let problems = outcome.checks.iter().filter(|one| one.level == Problem);
    outcome.problem_count = problems.count();
    Ok(outcome)
}

fn root(context: &Context) -> HealthCheck {
    let root = context.root.path().to_path_buf();
    let home = context.environment.account_home.as_deref();
    let why = context.root.danger(&context.base, home);
    let refusal = match why {
        _ if !context.root.exists() => Error::root_missing(&root),
        Some(why) => Error::unsafe_root(&root, &why).advise("go to a project, or name one with -C"),
        None => return HealthCheck::new(Good, "directory", escape_path(&root)),
    };
    HealthCheck::of_error("directory", &refusal)
}

/// Tries to make a file where the store is or would be, to flush, lock and rename it.
///
/// # Errors
/// The directory cannot be written, or its file system lacks locks or renames over a file.
fn try_out(place: &Path) -> Result<()> {
    let create = || TemporaryFile::create(place, ".tmp-", "-");
    let one = create()?;
    one.sync()?;
    if let Err(TryLockError::Error(why)) = one.file().try_lock() {
        return Err(Error::io("lock", one.path())(why));
    }
    // It goes at once and leaves its name; Windows renames over no open file.
    let target = create()?.path().to_path_buf();
    create()?.publish(&target)?;
    one.publish(&target)?;
    atomic_file::remove_if_there(&target)?;
    Ok(())
}

fn of_store(
    context: &Context,
    store: &Store,
    fix: bool,
    outcome: &mut DoctorOutcome,
) -> Result<()> {
    let checks = &mut outcome.checks;
    if fix {
        // The lock puts right what a killed process left in the store.
        let locked = context.require_store();
        match locked.and_then(|store| Ok(session::begin(context, &store)?.warnings)) {
            Ok(warnings) => outcome.warnings.extend(warnings),
            Err(why) => checks.push(HealthCheck::of_error("lock", &why)),
        }
    }
    let inventory = match store.inventory() {
        Ok(inventory) => inventory,
        Err(why) => {
            checks.push(HealthCheck::of_error("store", &why));
            return Ok(());
        }
    };
    let latest = selector::latest(&inventory.checkpoints, 0).map(|latest| {
        let ago = ago(latest.record.time_ms, context.now_ms);
        format!(", latest {}, {ago}", latest.named())
    });
    let number = inventory.checkpoints.regular_count();
    let beside = match inventory.checkpoints.safety_count() {
        0 => String::new(),
        safeties => format!(", safety checkpoints: {safeties}"),
    };
    let latest = latest.unwrap_or_default();
    let what = format!("checkpoints: {number}{beside}{latest}");
    soundness(context, what, checks)?;
    match session::pending_unlocked(store, &inventory.checkpoints)? {
        Some(pending) => checks.push(HealthCheck::of_error("restore", &pending.refusal())),
        None => checks.extend(strays(context, store, fix)),
    }
    checks.extend(watcher(store).map(|watcher| {
        let what = format!("{watcher} makes checkpoints by itself");
        HealthCheck::new(Good, "watch", what)
    }));
    let off = store.layout().monitor_off();
    if context.settings.fsmonitor == ScanMonitor::Watchman && off.exists() {
        let what =
            "watchman did not name a change once: it is not used, and each create looks at all";
        let advice = Sentence::new(
            "remove {} to use it again",
            &[&off.as_os_str().as_encoded_bytes()],
        );
        checks.push(HealthCheck::new(Note, "monitor", what).advised(advice));
    }
    let holds = hold::active_holds(context, store, &mut outcome.warnings);
    checks.extend(holds.iter().map(|hold| {
        let (name, left) = (escape(&hold.name), age(context.now_ms, hold.end_ms));
        let what = format!("{name} keeps checkpoints from being made for {left}");
        HealthCheck::new(Note, "hold", what)
    }));
    Ok(())
}

/// Checks the store without reading its objects; `what` describes it.
fn soundness(context: &Context, what: String, checks: &mut Vec<HealthCheck>) -> Result<()> {
    let report = verify::verify(context, None, false, false)?.report;
    checks.push(if report.is_whole() {
        HealthCheck::new(Good, "store", what)
    } else {
        let damaged = report.damaged.len() + report.files.len();
        let what = format!("{what}; damaged: {damaged}");
        let advice = "'checkpoint verify' lists the damage, 'checkpoint verify --repair' repairs what can be repaired";
        HealthCheck::problem("store", what, advice)
    });
    checks.extend(report.derived.iter().map(|finding| {
        let what = format!("{}: {}", escape_path(&finding.file), finding.why);
        let advice = "the next create puts it right, and so does 'checkpoint doctor --fix'";
        HealthCheck::new(Note, "derived", what).advised(Sentence::new(advice, &[]))
    }));
    Ok(())
}

/// Looks for stages of restores that have ended. One that holds bytes is left to the user: they may
/// be nowhere else.
fn strays(context: &Context, store: &Store, fix: bool) -> Option<HealthCheck> {
    const SUBJECT: &str = "stray files";
    if store.is_locked() {
        return None;
    }
    let entries = std::fs::read_dir(context.root.path()).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let names = names.filter(|name| stage::is_stage_name(name.as_bytes()));
    let random = |name: &str| name.rsplit('-').next().unwrap_or_default().to_owned();
    // The next change removes the one of a restore that never began.
    let going = store.never_begun();
    let stays = |name: &String| going.as_ref().is_none_or(|it| it.staging != random(name));
    let mut names: Vec<String> = names.filter(stays).collect();
    names.sort();
    let work = WorkTree::open_root(&context.root).ok()?;
    let has_content = |name: &&String| {
        let found = stage::leftover_has_unsaved(&work, &random(name), &|_, _| Ok(false));
        found.unwrap_or(true)
    };
    if let Some(name) = names.iter().find(has_content) {
        let what = format!("{name} may hold files that a restore moved aside");
        let advice = "compare them with yours, and remove it by hand";
        return Some(HealthCheck::problem(SUBJECT, what, advice));
    }
    let first = names.first()?;
    let more = match names.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let what = format!("left behind by a killed restore, empty: {first}{more}");
    if !fix {
        let advice = "'checkpoint doctor --fix' removes them";
        return Some(HealthCheck::problem(SUBJECT, what, advice));
    }
    let mut names = names.iter();
    let removed = names.try_for_each(|name| stage::remove_leftover(&work, &random(name)));
    Some(match removed {
        Ok(()) => HealthCheck::new(Fixed, SUBJECT, what),
        Err(why) => HealthCheck::of_error(SUBJECT, &why),
    })
}

/// Looks at every agent that is here or was set up.
fn of_agents(
    context: &Context,
    program: &str,
    fix: bool,
    checks: &mut Vec<HealthCheck>,
) -> Result<()> {
    let agents = Agents::read()?;
    let of_user = SetupPlaces::of_user(&context.environment)?;
    let _alone = fix.then(|| setup::lock(&of_user)).transpose()?;
    if fix {
        let _ = setup::clear_leftovers(&of_user, &agents);
    }
    let of_project = SetupPlaces::of_project(context.root.path());
    let store = context.find_store().ok().flatten();
    let log = store.map_or_else(Vec::new, |store| hook_log::lines(store.layout()));
    for name in AgentName::VARIANTS.iter().copied() {
        let (agent, of_agent) = (name.into_str(), agents.get(name)?);
        let mut is_set_up = false;
        for places in [&of_project, &of_user] {
            let plan = |removes| plan(places, program, removes, &agents, name);
            if !plan(true)?.is_something() {
                continue;
            }
            is_set_up = true;
            let mut check = of_entries(&plan(false)?, program, &log, places.is_project);
            if places.is_project {
                check.message = format!("for this project: {}", check.message);
            }
            checks.push(check);
            let is_users_codex = name == AgentName::Codex && !places.is_project;
            if is_users_codex && !is_trusted(&places.folder(of_agent)) {
                let what = "passes over our hooks until they are trusted";
                let advice = Sentence::text("type '/hooks' in Codex and trust them");
                checks.push(HealthCheck::new(Note, agent, what).advised(advice));
            }
        }
        if !is_set_up && of_user.has(of_agent) {
            let lacks = if name.has_hooks() {
                "has no hooks of ours"
            } else {
                "does not have our server"
            };
            checks.push(HealthCheck::new(Note, agent, lacks).advised(setup_of(agent, false)));
        }
    }
    let failed = log.iter().rfind(|line| line.contains(" ms: failed: "));
    let failed = failed.map(|line| format!("the last failure: {}", escape_line(line)));
    checks.extend(failed.map(|what| HealthCheck::new(Note, "hooks", what)));
    Ok(())
}

/// Returns the command that writes the entries of an agent.
fn setup_of(agent: &str, is_project: bool) -> Sentence {
    let option = is_project.then_some("--project");
    Sentence::command(CommandWords::new(
        ["setup", agent].into_iter().chain(option),
    ))
}

/// Tells whether what `setup` wrote is there as it would be written now, for this program.
fn of_entries(plan: &AgentPlan, program: &str, log: &[String], is_project: bool) -> HealthCheck {
    let name = plan.agent.into_str();
    if let Some(left) = plan.left() {
        let why = left.why.as_deref().unwrap_or_default();
        let what = format!("{}: {why}", escape_path(&left.path));
        if is_managed(&left.path) {
            let advice =
                "'checkpoint setup claude --remove' takes ours out, unless that is changed";
            return HealthCheck::problem(name, what, advice);
        }
        return HealthCheck::new(Problem, name, what).advised(setup_of(name, is_project));
    }
    if let Some(first) = plan.changes().next() {
        let what = flaw(plan, first, program);
        return HealthCheck::new(Problem, name, what).advised(setup_of(name, is_project));
    }
    if let Some(note) = plan.notes.first() {
        return HealthCheck::new(Problem, name, note);
    }
    if !plan.agent.has_hooks() {
        return HealthCheck::new(Good, name, "the server is installed");
    }
    // Date, time, agent, moment, and what was done.
    let words_of = |line: &'_ String| -> Vec<String> { line.split(' ').map(escape).collect() };
    let mut lines = log.iter().rev().map(words_of);
    let last = lines.find(|words| words.get(2).is_some_and(|agent| agent == name));
    let last = match last.as_deref() {
        Some([day, time, _, moment, ..]) => format!("the last one here at {day} {time} ({moment})"),
        _ => "none has run here yet".to_owned(),
    };
    HealthCheck::new(Good, name, format!("hooks are installed; {last}"))
}

/// Tells what is wrong with our entries: they are there twice, call another program, or are not as
/// they would be written.
fn flaw(plan: &AgentPlan, first: &SettingsFile, program: &str) -> String {
    let path = escape_path(&first.path);
    // Hooks that only move are not there twice.
    if plan.changes().all(|file| file.is_extra) {
        return format!(
            "{path} has hooks of ours beside those that stand elsewhere: each event comes twice"
        );
    }
    let calls = plan.changes().find_map(|file| {
        let called = called_program(file.found.as_deref()?)?;
        let (path, program, shown) = (escape_path(&file.path), escape(program), escape(&called));
        let what = format!("{path} calls {shown}, and this program is {program}");
        (shown != program).then_some(what)
    });
    calls.unwrap_or_else(|| format!("{path} is not as it would be written for this program"))
}

/// Whether the user of Codex, which passes over other hooks, trusts ours.
fn is_trusted(folder: &Path) -> bool {
    let hooks = folder.join("hooks.json");
    let hooks = hooks.to_string_lossy().replace('\\', "\\\\");
    let settings = read_regular::read_linked_text(&folder.join("config.toml")).unwrap_or_default();
    settings.contains("trusted_hash") && settings.contains(&hooks)
}
