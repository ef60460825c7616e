//! The questions before a run is resumed, as data: the words and letters of each profile.

use crate::base::text::escape;
use crate::error::Choice;
use crate::error::sentence::CommandWords;
use crate::model::json::published_as;
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::workflow::Workflow;

/// Begins the answer that names a phase.
const PICK: &str = "pick:";
const RESTART: &str = "restart";

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
    /// What is chosen, with the words for it, separated by commas; the first one is shown.
    answers: Vec<(String, Chosen)>,
}

impl Dialog {
    /// Returns the first question, as the profile of the run asks it.
    pub fn first(workflow: &Workflow) -> Self {
        use Chosen::{Decline, Delete, Resume, StartFresh, View};
        let next = workflow.next();
        let (id, name) = next.map_or(("its end", "its end"), |next| (&next.id, &next.name));
        let (text, answers): (_, &[(&str, Chosen)]) = match workflow.profile {
            Some(Profile::Registry) => (
                "Choice [r/s/v/d]: ".to_owned(),
                &[
                    ("r,resume", Resume),
                    ("s,start,start fresh,restart", StartFresh),
                    ("v,view,view details", View),
                    ("d,delete", Delete),
                ],
            ),
            Some(Profile::Phases) => (
                format!("Resume workflow from {}? [Y/n] ", escape(id)),
                &[("y,yes,resume", Resume), ("n,no,restart", StartFresh)],
            ),
            _ => (
                format!("Resume from \"{}\"? (y/n/restart) ", escape(name)),
                &[
                    ("y,yes,resume", Resume),
                    ("n,no", Decline),
                    (RESTART, StartFresh),
                ],
            ),
        };
        let owned = |(words, chosen): &(&str, Chosen)| ((*words).to_owned(), chosen.clone());
        Self {
            text,
            answers: answers.iter().map(owned).collect(),
        }
    }

    /// Returns the question after `n`, which a pipeline asks.
    pub fn after_no(workflow: &Workflow) -> Self {
        let mut answers = vec![("abandon,a".to_owned(), Chosen::Abandon)];
        answers.extend(Self::pick(workflow).answers);
        let text = "Abandon pipeline or pick a different phase? (abandon/pick) ".to_owned();
        Self { text, answers }
    }

    /// Returns the question which of the remaining phases that can begin is next.
    pub fn pick(workflow: &Workflow) -> Self {
        let (mut text, mut answers) = ("Remaining:\n".to_owned(), Vec::new());
        for phase in workflow.remaining() {
            let (id, unmet) = (&phase.id, workflow.unmet(phase));
            let number = workflow.number_of(id).unwrap_or_default();
            text += &format!("  {number} {} ({}", escape(&phase.name), escape(id));
            if unmet.is_empty() {
                answers.push((number.to_string(), Chosen::Pick(id.clone())));
            } else {
                text += &format!(", waits for {}", escape(&unmet.join(", ")));
            }
            text += ")\n";
        }
        text += "Which phase? ";
        Self { text, answers }
    }

    /// Whether starting fresh is asked about again: the question does not say what it does.
    pub fn confirms_fresh(&self) -> bool {
        self.answers.iter().any(|(words, _)| words == RESTART)
    }

    /// Returns the answers as options. Commands that resume an invalid run have `--anyway`.
    pub fn options(&self, workflow: &Workflow, is_sound: bool) -> Vec<Choice> {
        let go_on = workflow
            .next()
            .map(|next| format!("continue from {}", next.name));
        let option = |(words, chosen): &(String, Chosen)| {
            let key = match chosen {
                Chosen::Pick(id) => format!("{PICK}{id}"),
                _ => words.split(',').next().unwrap_or_default().to_owned(),
            };
            let label = match chosen {
                Chosen::Resume => go_on.clone().unwrap_or("nothing is left to do".to_owned()),
                Chosen::StartFresh => "archive it and start the same plan again".to_owned(),
                Chosen::View => "view details".to_owned(),
                Chosen::Delete | Chosen::Abandon => "end it and archive it".to_owned(),
                Chosen::Decline => "abandon it, or pick another phase".to_owned(),
                Chosen::Pick(id) => {
                    let name = workflow.phase(id).map(|phase| &*phase.name);
                    format!("continue with {}", name.unwrap_or_default())
                }
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

    /// Interprets an answer: one of its words, or the id of a phase to pick.
    pub fn understand(&self, typed: &str) -> Option<Chosen> {
        let typed = typed.trim();
        let picked = typed.strip_prefix(PICK).unwrap_or(typed);
        let mut picks = self.answers.iter();
        let pick = picks.find(|(_, chosen)| *chosen == Chosen::Pick(picked.to_owned()));
        let mut answers = self.answers.iter();
        let is_word = |word: &str| word.eq_ignore_ascii_case(typed);
        let found = pick.or_else(|| answers.find(|(words, _)| words.split(',').any(is_word)));
        found.map(|(_, chosen)| chosen.clone())
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
