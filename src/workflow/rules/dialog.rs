//! The questions before a run is resumed, as data: the words and letters of each profile.

use crate::base::text::escape;
use crate::error::{Choice, CommandWords};
use crate::model::json::published_as;
use crate::workflow::{Phase, Profile, Workflow};

/// Begins the answer that names a phase.
const PICK: &str = "pick:";
const ABANDON: &str = "abandon";
const RESTART: &str = "restart";

/// A decision of the user; published as what was done.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Chosen {
    Resumed,
    /// Archives the old run and begins the same plan again.
    StartedFresh,
    Viewed,
    /// Ends and archives the run.
    Deleted,
    /// Not to resume; what to do instead is asked next.
    Declined,
    Abandoned,
    Picked(String),
}

published_as! { Chosen, &'static str, |chosen| chosen.into(); }

impl Chosen {
    /// Whether the run itself is resumed.
    pub fn goes_on(&self) -> bool {
        matches!(self, Self::Resumed | Self::Picked(_))
    }
}

/// A question, up to where the answer is typed, and its answers.
pub struct Dialog<T = Chosen> {
    pub text: String,
    /// What is chosen, with the words for it, separated by commas; the first one is shown.
    answers: Vec<(String, T)>,
}

impl<T: Clone> Dialog<T> {
    pub fn new(text: impl Into<String>, answers: &[(&str, T)]) -> Self {
        let owned = |(words, chosen): &(&str, T)| ((*words).to_owned(), chosen.clone());
        Self {
            text: text.into(),
            answers: answers.iter().map(owned).collect(),
        }
    }

    /// Returns what is chosen by one of the words for it.
    pub fn by_word(&self, typed: &str) -> Option<T> {
        let is_word = |word: &str| word.eq_ignore_ascii_case(typed.trim());
        let mut answers = self.answers.iter();
        let found = answers.find(|(words, _)| words.split(',').any(is_word));
        found.map(|(_, chosen)| chosen.clone())
    }
}

impl Dialog {
    /// Returns the first question, as the profile of the run asks it.
    pub fn first(workflow: &Workflow) -> Self {
        use Chosen::{Declined, Deleted, Resumed, StartedFresh, Viewed};
        let next = workflow.next();
        let (id, name) = next.map_or(("its end", "its end"), |next| (&next.id, &next.name));
        match workflow.profile {
            Some(Profile::Registry) => Self::new(
                "Choice [r/s/v/d]: ",
                &[
                    ("r,resume", Resumed),
                    ("s,start,start fresh,restart", StartedFresh),
                    ("v,view,view details", Viewed),
                    ("d,delete", Deleted),
                ],
            ),
            Some(Profile::Phases) => Self::new(
                format!("Resume workflow from {}? [Y/n] ", escape(id)),
                // The capitalized letter is the default.
                &[("y,yes,resume,", Resumed), ("n,no,restart", StartedFresh)],
            ),
            _ => Self::new(
                format!("Resume from \"{}\"? (y/n/restart) ", escape(name)),
                &[
                    ("y,yes,resume", Resumed),
                    ("n,no", Declined),
                    (RESTART, StartedFresh),
                ],
            ),
        }
    }

    /// Returns the question after `n`, which a pipeline asks.
    pub fn after_no(workflow: &Workflow) -> Self {
        let text = "Abandon pipeline or pick a different phase? (abandon/pick; Enter cancels) ";
        let mut dialog = Self::new(text, &[(ABANDON, Chosen::Abandoned)]);
        dialog.answers.extend(Self::pick(workflow).answers);
        dialog
    }

    /// Returns the question which of the remaining phases that can begin is next.
    pub fn pick(workflow: &Workflow) -> Self {
        let (mut text, mut answers) = ("Remaining:\n".to_owned(), Vec::new());
        for phase in workflow.remaining() {
            let (id, unmet) = (&phase.id, workflow.unmet(phase));
            let number = workflow.number_of(id).unwrap_or_default();
            text += &format!("  {number} {} ({}", escape(&phase.name), escape(id));
            if unmet.is_empty() {
                answers.push((number.to_string(), Chosen::Picked(id.clone())));
            } else {
                text += &format!(", waits for {}", escape(&unmet.join(", ")));
            }
            text += ")\n";
        }
        text += "Which phase? (Enter cancels) ";
        Self { text, answers }
    }

    /// Returns the answers as options. Commands that resume an invalid run have `--anyway`.
    pub fn options(&self, workflow: &Workflow, is_sound: bool) -> Vec<Choice> {
        let go_on = |phase: &Phase| format!("continue from {}", phase.name);
        let option = |(words, chosen): &(String, Chosen)| {
            let key = match chosen {
                Chosen::Picked(id) => format!("{PICK}{id}"),
                _ => words.split(',').next().unwrap_or_default().to_owned(),
            };
            let label = match chosen {
                Chosen::Resumed => workflow.next().map(go_on).unwrap_or_default(),
                Chosen::StartedFresh => "archive it and start the same plan again".to_owned(),
                Chosen::Viewed => "view details".to_owned(),
                Chosen::Deleted | Chosen::Abandoned => "end it and archive it".to_owned(),
                Chosen::Declined => "abandon it, or pick another phase".to_owned(),
                Chosen::Picked(id) => workflow.phase(id).map(go_on).unwrap_or_default(),
            };
            let words = ["workflow", "resume", workflow.named(), "--choose", &key];
            let anyway = (chosen.goes_on() && !is_sound).then_some("--anyway");
            let command = CommandWords::new(words.into_iter().chain(anyway));
            Choice {
                key,
                label,
                command,
            }
        };
        self.answers.iter().map(option).collect()
    }

    /// Interprets an answer: one of the words, the id of a phase to pick, or at once the answer to a
    /// further question.
    pub fn understand(&self, typed: &str) -> Option<Chosen> {
        let typed = typed.trim();
        let id = typed.strip_prefix(PICK);
        let pick = Chosen::Picked(id.unwrap_or(typed).to_owned());
        if id.is_some() || self.answers.iter().any(|(_, chosen)| *chosen == pick) {
            return Some(pick);
        }
        let is_abandon = typed.eq_ignore_ascii_case(ABANDON);
        let abandon = is_abandon.then_some(Chosen::Abandoned);
        self.by_word(typed).or(abandon)
    }
}
