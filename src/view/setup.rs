//! `setup` as text and as JSON.

use std::path::Path;

use crate::agent::setup::plan::{AgentPlan, LeftAlone, SetupProgress};
use crate::base::text::escape;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::format::count;
use crate::view::words::{self, Output, without_numbers};

/// Summarizes what the plans would do; `None` if that is nothing.
pub fn summary<'p>(plans: impl Iterator<Item = &'p AgentPlan>, removes: bool) -> Option<String> {
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
    let listing = listing(plan, removes);
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
pub fn human(plans: &[AgentPlan], form: SetupForm) -> Output {
    let mut result = String::new();
    for plan in plans {
        let is_known = form.asked && plan.progress == SetupProgress::Done;
        if is_known && !plan.changes.is_empty() && !plan.has_failed() {
            let agent: &str = plan.agent.into();
            let done = if form.removes { "removed" } else { "set up" };
            result.push_str(&format!("{agent}: {done}\n{}", notes(plan)));
        } else {
            result.push_str(&listing(plan, form.removes));
        }
        for file in files(plan, true).iter().filter(|_| form.prints) {
            if let Some(text) = &file.content {
                result.push_str(&format!("\n--- {}\n", escape(&file.file)));
                result.extend(text.lines().map(|line| format!("{line}\n")));
            }
        }
    }
    let is_new = |plan: &AgentPlan| {
        plan.progress == SetupProgress::Done && plan.agent.has_hooks() && !plan.changes.is_empty()
    };
    let talk = match form.removes {
        true if plans.is_empty() => "nothing that setup wrote is here\n",
        false if plans.iter().any(is_new) => {
            "after the next prompt, 'checkpoint rewind' lists the states to go back to\n"
        }
        _ => "",
    };
    Output {
        result,
        talk: talk.to_owned(),
    }
}

/// Formats what is left to the user.
fn notes(plan: &AgentPlan) -> String {
    let notes = plan.notes.iter();
    notes.map(|note| format!("  {note}\n")).collect()
}

fn listing(plan: &AgentPlan, removes: bool) -> String {
    let agent: &str = plan.agent.into();
    let mut text = match plan.progress {
        SetupProgress::Declined => return format!("{agent}: left as it is\n"),
        _ if !plan.is_something() => {
            return format!(
                "{agent}: {}\n",
                if removes {
                    "not set up; nothing to remove"
                } else {
                    "already set up"
                }
            );
        }
        _ => format!("{agent}\n"),
    };
    for file in files(plan, false) {
        let what = match (file.outcome, plan.progress) {
            ("created", SetupProgress::Planned) => "write",
            ("changed", SetupProgress::Planned) => "change",
            ("removed", SetupProgress::Planned) => "remove",
            (done, _) => done,
        };
        let why = file.why.map(|why| format!(": {}", escape(&why)));
        let why = why.unwrap_or_default();
        text.push_str(&format!("  {what:<8} {}{why}\n", escape(&file.file)));
    }
    text + &notes(plan)
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

/// Returns the files of an agent; with `prints` those too that stay as they are, and the content.
fn files(plan: &AgentPlan, prints: bool) -> Vec<SettingsFile> {
    let shown = |path: &Path| path.to_string_lossy().into_owned();
    let changes = plan.changes.iter().chain(&plan.unchanged);
    let written = changes.filter_map(|change| {
        let outcome = match (&change.found, &change.wanted) {
            (None, Some(_)) => "created",
            (_, None) => "removed",
            (found, wanted) if found == wanted => "unchanged",
            _ => "changed",
        };
        (prints || outcome != "unchanged").then(|| SettingsFile {
            file: shown(&change.path),
            outcome,
            why: None,
            content: change.wanted.clone().filter(|_| prints),
        })
    });
    let untouched = |outcome, left: &LeftAlone| SettingsFile {
        file: shown(&left.path),
        outcome,
        why: Some(without_numbers(&left.why)),
        content: None,
    };
    let left = plan.left.iter().map(|left| untouched("left", left));
    let failed = plan.failed.iter().map(|failed| untouched("failed", failed));
    written.chain(left).chain(failed).collect()
}

pub fn json(plans: &[AgentPlan], prints: bool, exit: u8) -> String {
    let of_agent = |plan: &AgentPlan| {
        let failure = plan.failure.as_ref();
        AgentSetup {
            agent: plan.agent.into(),
            declined: plan.progress == SetupProgress::Declined,
            files: files(plan, prints),
            notes: plan.notes.clone(),
            failure: failure.map(words::message),
            hint: failure.and_then(words::hint).map(|hint| hint.to_string()),
        }
    };
    let data = SetupAnswer {
        only_printed: prints,
        agents: plans.iter().map(of_agent).collect(),
    };
    envelope("setup", exit, &data, &[])
}
