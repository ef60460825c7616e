//! Answers to the question whether to resume a run: the letters and words of its profile.

use crate::error::Choice;
use crate::error::sentence::CommandWords;
use crate::model::json::published_as;
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::labels::{Label, continue_from};

/// Begins the answer that names a phase.
pub const PICK: &str = "pick:";

/// A decision of the user; published as what was done.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr)]
pub enum Chosen {
    #[strum(serialize = "resumed")]
    Resume,
    /// Archives the old run and begins the same plan again.
    #[strum(serialize = "started_fresh")]
    StartFresh,
    #[strum(serialize = "viewed")]
    View,
    /// Ends and archives the run.
    #[strum(serialize = "deleted")]
    Delete,
    /// Not to resume; what to do instead is asked next.
    #[strum(serialize = "declined")]
    Decline,
    #[strum(serialize = "abandoned")]
    Abandon,
    #[strum(serialize = "picked")]
    Pick(String),
}

published_as! { Chosen, &'static str, |chosen| chosen.into(); }

impl Chosen {
    /// Whether the run itself is resumed.
    pub fn goes_on(&self) -> bool {
        matches!(self, Self::Resume | Self::Pick(_))
    }
}

/// Returns the profile whose words are used: the first.
pub fn voice(workflow: &Workflow) -> Option<Profile> {
    workflow.profiles.first().copied()
}

/// Returns the answers to the first question. Commands that resume an invalid run have `--anyway`.
pub fn choices(workflow: &Workflow, is_sound: bool) -> Vec<Choice> {
    let named: &[(&str, Label)] = &match voice(workflow) {
        Some(Profile::Registry) => vec![
            ("r", Label::Resume(next_words(workflow))),
            ("s", Label::StartFresh),
            ("v", Label::View),
            ("d", Label::Delete),
        ],
        Some(Profile::Phases) => vec![
            ("y", Label::ResumeFrom(next_words(workflow))),
            ("n", Label::ArchiveAndStart),
        ],
        _ => vec![
            ("y", Label::GoOn(next_words(workflow))),
            ("n", Label::Decline),
            ("restart", Label::ArchiveAndRestart),
        ],
    };
    of(workflow, named, is_sound)
}

/// Returns the answers after `n` in the pipeline profile.
pub fn after_no(workflow: &Workflow, is_sound: bool) -> Vec<Choice> {
    let mut named = vec![("abandon".to_owned(), Label::Abandon)];
    let can_begin = |phase: &&Phase| workflow.unmet(phase).is_empty();
    let others = workflow.remaining().filter(can_begin);
    named.extend(others.map(|phase| {
        (
            format!("{PICK}{}", phase.id),
            Label::Pick(phase.name.clone()),
        )
    }));
    of(workflow, &named, is_sound)
}

fn of<K: AsRef<str>>(workflow: &Workflow, named: &[(K, Label)], is_sound: bool) -> Vec<Choice> {
    let command = |key: &str| {
        let goes_on = understand(workflow, key).is_some_and(|chosen| chosen.goes_on());
        let words = ["workflow", "resume", workflow.named(), "--choose", key];
        let anyway = (goes_on && !is_sound).then_some("--anyway");
        CommandWords::new(words.into_iter().chain(anyway))
    };
    named
        .iter()
        .map(|(key, label)| Choice {
            key: key.as_ref().to_owned(),
            label: label.to_string(),
            command: command(key.as_ref()),
        })
        .collect()
}

fn next_words(workflow: &Workflow) -> String {
    match (workflow.next(), voice(workflow)) {
        (Some(phase), Some(Profile::Phases)) => phase.id.clone(),
        (next, _) => continue_from(next.map(|phase| &*phase.name)),
    }
}

/// Whether starting fresh needs confirmation: the first question of others says what it does.
pub fn is_confirmed(workflow: &Workflow) -> bool {
    !matches!(voice(workflow), Some(Profile::Phases | Profile::Registry))
}

/// Interprets a typed line; an empty one is the capitalized default in the prompt, if there is one.
pub fn understand_line(workflow: &Workflow, line: &str) -> Option<Chosen> {
    let is_default = line.trim().is_empty() && voice(workflow) == Some(Profile::Phases);
    if is_default {
        Some(Chosen::Resume)
    } else {
        understand(workflow, line)
    }
}

/// Interprets an answer for this run.
pub fn understand(workflow: &Workflow, answer: &str) -> Option<Chosen> {
    let answer = answer.trim();
    if let Some(id) = answer.strip_prefix(PICK) {
        return Some(Chosen::Pick(id.to_owned()));
    }
    let word = answer.to_ascii_lowercase();
    let is_registry = voice(workflow) == Some(Profile::Registry);
    Some(match word.as_str() {
        "abandon" => Chosen::Abandon,
        "restart" => Chosen::StartFresh,
        "resume" => Chosen::Resume,
        "r" if is_registry => Chosen::Resume,
        "s" | "start" | "start fresh" if is_registry => Chosen::StartFresh,
        "v" | "view" | "view details" if is_registry => Chosen::View,
        "d" | "delete" if is_registry => Chosen::Delete,
        _ if is_registry => return None,
        "y" | "yes" => Chosen::Resume,
        _ if voice(workflow) != Some(Profile::Phases) => match word.as_str() {
            "n" | "no" => Chosen::Decline,
            _ => return None,
        },
        "n" | "no" => Chosen::StartFresh,
        _ => return None,
    })
}
