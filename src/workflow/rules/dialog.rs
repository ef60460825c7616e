//! The questions before a run is resumed, as data: the words and letters of each profile.

use crate::base::text::escape;
use crate::error::Choice;
use crate::error::sentence::CommandWords;
use crate::model::json::published_as;
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::workflow::Workflow;

/// Begins the answer that names a phase.
const PICK: &str = "pick:";

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

/// A question, up to where the answer is typed, and its answers.
pub struct Dialog {
    pub text: String,
    pub answers: Vec<Answer>,
    /// Whether starting fresh is asked about again: the question does not say what it does.
    pub confirms_fresh: bool,
}

pub struct Answer {
    pub key: String,
    /// Other words for it, separated by commas.
    words: String,
    label: String,
    chosen: Chosen,
}

fn answer(key: &str, words: &str, label: impl Into<String>, chosen: Chosen) -> Answer {
    Answer {
        key: key.to_owned(),
        words: words.to_owned(),
        label: label.into(),
        chosen,
    }
}

impl Dialog {
    /// Returns the first question, as the first profile of the run asks it.
    pub fn first(workflow: &Workflow) -> Self {
        let next = workflow.next();
        let (id, name) = next.map_or(("its end", "its end"), |next| (&next.id, &next.name));
        let go_on = next.map_or("nothing is left to do".to_owned(), |next| {
            format!("continue from {}", next.name)
        });
        let profile = workflow.profiles.first();
        let (text, answers) = match profile {
            Some(Profile::Registry) => (
                "Choice [r/s/v/d]: ".to_owned(),
                vec![
                    answer("r", "resume", format!("resume: {go_on}"), Chosen::Resume),
                    answer(
                        "s",
                        "start,start fresh,restart",
                        "start fresh: the old run is archived",
                        Chosen::StartFresh,
                    ),
                    answer("v", "view,view details", "view details", Chosen::View),
                    answer(
                        "d",
                        "delete",
                        "delete: it is archived, and nothing is started",
                        Chosen::Delete,
                    ),
                ],
            ),
            Some(Profile::Phases) => {
                let label = next.map_or(go_on, |next| next.id.clone());
                (
                    format!("Resume workflow from {}? [Y/n] ", escape(id)),
                    vec![
                        answer(
                            "y",
                            "yes,resume",
                            format!("resume from {label}"),
                            Chosen::Resume,
                        ),
                        answer(
                            "n",
                            "no,restart",
                            "archive it and start fresh",
                            Chosen::StartFresh,
                        ),
                    ],
                )
            }
            _ => (
                format!("Resume from \"{}\"? (y/n/restart) ", escape(name)),
                vec![
                    answer("y", "yes,resume", go_on, Chosen::Resume),
                    answer(
                        "n",
                        "no",
                        "abandon it, or pick another phase",
                        Chosen::Decline,
                    ),
                    answer(
                        "restart",
                        "",
                        "archive it and start the same plan again",
                        Chosen::StartFresh,
                    ),
                ],
            ),
        };
        Self {
            text,
            answers,
            confirms_fresh: matches!(profile, None | Some(Profile::Pipeline)),
        }
    }

    /// Returns the question after `n`, which a pipeline asks.
    pub fn after_no(workflow: &Workflow) -> Self {
        let mut dialog = Self::pick(workflow);
        dialog.text = "Abandon pipeline or pick a different phase? (abandon/pick) ".to_owned();
        let abandon = answer("abandon", "a", "end it and archive it", Chosen::Abandon);
        dialog.answers.insert(0, abandon);
        dialog
    }

    /// Returns the question which of the remaining phases that can begin is next.
    pub fn pick(workflow: &Workflow) -> Self {
        let (mut listed, mut answers) = (String::new(), Vec::new());
        for (phase, number) in workflow.phases.iter().zip(1..) {
            if phase.status != PhaseStatus::Pending {
                continue;
            }
            let (id, unmet) = (&phase.id, workflow.unmet(phase));
            let waits = if unmet.is_empty() {
                let label = format!("continue with {}", phase.name);
                let key = format!("{PICK}{id}");
                answers.push(answer(
                    &key,
                    &number.to_string(),
                    label,
                    Chosen::Pick(id.clone()),
                ));
                String::new()
            } else {
                format!(", waits for {}", escape(&unmet.join(", ")))
            };
            listed += &format!(
                "  {number} {} ({}{waits})\n",
                escape(&phase.name),
                escape(id)
            );
        }
        Self {
            text: format!("Remaining:\n{listed}Which phase? "),
            answers,
            confirms_fresh: false,
        }
    }

    /// Returns the answers as options. Commands that resume an invalid run have `--anyway`.
    pub fn options(&self, workflow: &Workflow, is_sound: bool) -> Vec<Choice> {
        let choice = |answer: &Answer| {
            let words = [
                "workflow",
                "resume",
                workflow.named(),
                "--choose",
                &answer.key,
            ];
            let anyway = (answer.chosen.goes_on() && !is_sound).then_some("--anyway");
            Choice {
                key: answer.key.clone(),
                label: answer.label.clone(),
                command: CommandWords::new(words.into_iter().chain(anyway)),
            }
        };
        self.answers.iter().map(choice).collect()
    }

    /// Interprets an answer: its key, the id of a phase to pick, or another word for it.
    pub fn understand(&self, typed: &str) -> Option<Chosen> {
        let typed = typed.trim();
        let is_key =
            |answer: &&Answer| answer.key == typed || answer.key.strip_prefix(PICK) == Some(typed);
        let is_word = |answer: &&Answer| {
            let mut words = answer.words.split(',').chain([&*answer.key]);
            !typed.is_empty() && words.any(|word| word.eq_ignore_ascii_case(typed))
        };
        let mut answers = self.answers.iter();
        let found = answers.find(is_key);
        let found = found.or_else(|| self.answers.iter().find(is_word));
        found.map(|answer| answer.chosen.clone())
    }

    /// As [`Self::understand`], for the first question: further answers may be given at once.
    pub fn understand_first(&self, typed: &str) -> Option<Chosen> {
        let typed = typed.trim();
        match typed.strip_prefix(PICK) {
            Some(id) => Some(Chosen::Pick(id.to_owned())),
            None if typed.eq_ignore_ascii_case("abandon") => Some(Chosen::Abandon),
            None => self.understand(typed),
        }
    }
}
