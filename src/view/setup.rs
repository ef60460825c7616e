//! `setup` as text and as JSON.

use std::path::Path;

use crate::agent::setup::plan::{AgentPlan, LeftAlone, SettingsChange};
use crate::base::text::{escape, escape_path};
use crate::error::Error;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::format::count;
use crate::view::words::{self, Output, without_numbers};

/// How far `setup` came with an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupProgress {
    Planned,
    Done,
    Declined,
}

/// What became of the plan for an agent.
#[derive(Debug)]
pub struct AgentOutcome {
    pub plan: AgentPlan,
    pub progress: SetupProgress,
    /// Files that could not be written or removed, and why.
    pub failed: Vec<LeftAlone>,
    pub failure: Option<Error>,
}

impl AgentOutcome {
    pub fn planned(plan: AgentPlan) -> Self {
        Self {
            plan,
            progress: SetupProgress::Planned,
            failed: Vec::new(),
            failure: None,
        }
    }

    pub fn declined(plan: AgentPlan) -> Self {
        Self {
            progress: SetupProgress::Declined,
            ..Self::planned(plan)
        }
    }

    pub fn has_failed(&self) -> bool {
        self.failure.is_some() || !self.plan.left.is_empty()
    }
}

/// Summarizes what the plans would do; `None` if that is nothing.
pub fn stake<'p>(plans: impl Iterator<Item = &'p AgentPlan>, removes: bool) -> Option<String> {
    let (mut files, mut agents) = (0, Vec::<&str>::new());
    for plan in plans {
        files += plan.changes.len();
        agents.push(plan.agent.into());
    }
    let files = count(files, "file", "files");
    let (verb, link) = if removes {
        ("take back", "of")
    } else {
        ("write", "for")
    };
    (!agents.is_empty()).then(|| format!("{verb} {files} {link} {}", agents.join(", ")))
}

/// Formats the question for one agent, below what would be done.
pub fn question(plan: &AgentPlan, removes: bool) -> String {
    let agent: &str = plan.agent.into();
    let listing = listing(plan, SetupProgress::Planned, &[]);
    let verb = if removes {
        "Take this back from"
    } else {
        "Write this for"
    };
    format!("{listing}{verb} {agent}? [y/N] ")
}

/// What is asked of `setup` by its options.
#[derive(Clone, Copy, Debug)]
pub struct SetupForm {
    pub prints: bool,
    pub removes: bool,
    /// Whether the questions have listed the files already.
    pub asked: bool,
}

/// Formats the files of each agent; with `prints` their content too.
pub fn human(outcomes: &[AgentOutcome], form: SetupForm) -> Output {
    let mut result = String::new();
    for outcome in outcomes {
        let plan = &outcome.plan;
        let is_known = form.asked && outcome.progress == SetupProgress::Done;
        result.push_str(
            &if is_known && !plan.changes.is_empty() && !outcome.has_failed() {
                let agent: &str = plan.agent.into();
                let done = if form.removes { "removed" } else { "set up" };
                format!("{agent}: {done}\n{}", notes(plan))
            } else {
                listing(plan, outcome.progress, &outcome.failed)
            },
        );
        let files = plan.changes.iter().chain(&plan.unchanged);
        for change in files.filter(|_| form.prints) {
            if let Some(text) = &change.wanted {
                result.push_str(&format!("\n--- {}\n", escape_path(&change.path)));
                result.push_str(
                    &text
                        .lines()
                        .map(|line| format!("{line}\n"))
                        .collect::<String>(),
                );
            }
        }
    }
    let is_new = |outcome: &AgentOutcome| {
        let AgentOutcome { plan, progress, .. } = outcome;
        *progress == SetupProgress::Done && plan.agent.has_hooks() && !plan.changes.is_empty()
    };
    let talk = if form.removes {
        Some("nothing that setup wrote is here\n").filter(|_| outcomes.is_empty())
    } else {
        Some("after the next prompt, 'checkpoint rewind' lists the states to go back to\n")
            .filter(|_| outcomes.iter().any(is_new))
    };
    Output {
        result,
        talk: talk.unwrap_or_default().to_owned(),
    }
}

/// Formats what is left to the user.
fn notes(plan: &AgentPlan) -> String {
    let notes = plan.notes.iter();
    notes.map(|note| format!("  {note}\n")).collect()
}

fn listing(plan: &AgentPlan, progress: SetupProgress, failed: &[LeftAlone]) -> String {
    let agent: &str = plan.agent.into();
    let is_as_it_should = !plan.is_something() && failed.is_empty();
    let mut text = match progress {
        SetupProgress::Declined => return format!("{agent}: left as it is\n"),
        _ if is_as_it_should => format!("{agent}: already set up\n"),
        _ => format!("{agent}\n"),
    };
    let changes = plan
        .changes
        .iter()
        .filter(|change| change.found != change.wanted);
    for change in changes {
        let what = match (change_of(change), progress) {
            ("created", SetupProgress::Planned) => "write",
            ("changed", SetupProgress::Planned) => "change",
            ("removed", SetupProgress::Planned) => "remove",
            (done, _) => done,
        };
        text.push_str(&format!("  {what:<8} {}\n", escape_path(&change.path)));
    }
    let left = plan.left.iter().map(|left| ("left", left));
    for (what, LeftAlone { path, why }) in left.chain(failed.iter().map(|one| ("failed", one))) {
        let (path, why) = (escape_path(path), escape(&without_numbers(why)));
        text.push_str(&format!("  {what:<8} {path}: {why}\n"));
    }
    text + &notes(plan)
}

fn change_of(change: &SettingsChange) -> &'static str {
    match (&change.found, &change.wanted) {
        (None, Some(_)) => "created",
        (_, None) => "removed",
        (found, wanted) if found == wanted => "unchanged",
        _ => "changed",
    }
}

/// What was written into the settings of agents.
#[derive(Serialize, JsonSchema)]
pub struct SetupAnswer {
    /// Whether nothing was written, because of `--print`.
    only_printed: bool,
    agents: Vec<AgentSetup>,
}

/// One agent and its files.
#[derive(Serialize, JsonSchema)]
struct AgentSetup {
    agent: &'static str,
    /// Whether the question was answered with no.
    declined: bool,
    files: Vec<SettingsFile>,
    /// What is left to the user.
    notes: Vec<String>,
    /// Why not all of it could be done; null if it could.
    failure: Option<String>,
    /// The next step after a failure.
    hint: Option<String>,
}

/// A file in the settings of an agent.
#[derive(Serialize, JsonSchema)]
struct SettingsFile {
    /// Its path; what is not UTF-8 in it is replaced.
    file: String,
    /// `created`, `changed`, `removed`, `left` or `failed`; with `--print` also `unchanged`.
    outcome: &'static str,
    /// Why it was left alone or failed; else null.
    why: Option<String>,
    /// The whole text, with `--print`; else null.
    content: Option<String>,
}

impl AgentSetup {
    fn new(outcome: &AgentOutcome, prints: bool) -> Self {
        let plan = &outcome.plan;
        let changes = plan
            .changes
            .iter()
            .filter(|change| change.found != change.wanted);
        let unchanged = plan.unchanged.iter().filter(|_| prints);
        let written = changes.chain(unchanged).map(|change| SettingsFile {
            file: shown(&change.path),
            outcome: change_of(change),
            why: None,
            content: change.wanted.clone().filter(|_| prints),
        });
        let untouched = |outcome, left: &LeftAlone| SettingsFile {
            file: shown(&left.path),
            outcome,
            why: Some(without_numbers(&left.why)),
            content: None,
        };
        let left = plan.left.iter().map(|left| untouched("left", left));
        let failed = outcome.failed.iter();
        let failed = failed.map(|failed| untouched("failed", failed));
        Self {
            agent: plan.agent.into(),
            declined: outcome.progress == SetupProgress::Declined,
            files: written.chain(left).chain(failed).collect(),
            notes: plan.notes.clone(),
            failure: outcome.failure.as_ref().map(words::message),
            hint: outcome
                .failure
                .as_ref()
                .and_then(words::hint)
                .map(|hint| hint.to_string()),
        }
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

pub fn json(outcomes: &[AgentOutcome], prints: bool, exit: u8) -> String {
    let agents = outcomes
        .iter()
        .map(|outcome| AgentSetup::new(outcome, prints));
    let data = SetupAnswer {
        only_printed: prints,
        agents: agents.collect(),
    };
    envelope("setup", exit, &data, &[])
}
