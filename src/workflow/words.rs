//! Failures of commands on runs, and sentences that several of them use.

use crate::error::{Choice, Code, CommandWords, Error, More, Result, RunDetails, Sentence};
use crate::workflow::Profile;

/// Maximum number of names listed in a message.
pub const LISTED_NAMES: usize = 10;
/// Maximum number of choices in a hint.
const LISTED_CHOICES: usize = 5;

fn failed(name: &'static str, exit: u8, what: impl Into<String>) -> Error {
    Error::new(Code { name, exit }, what).more(More::Run(RunDetails::default()))
}

/// What is named is not there.
pub fn absent(code: &'static str, what: impl Into<String>) -> Error {
    failed(code, Code::NOTHING_FOUND.exit, what)
}

/// The state of a run, or another run, forbids it.
pub fn refused(code: &'static str, what: impl Into<String>) -> Error {
    failed(code, Code::CONFLICT.exit, what)
}

/// A document cannot be understood.
pub fn malformed(code: &'static str, what: impl Into<String>) -> Error {
    failed(code, Code::DAMAGED.exit, what)
}

/// Returns the command of a transition of a phase.
pub fn phase_command(verb: &str, phase: &str, run: &str) -> CommandWords {
    CommandWords::new(["phase", verb, phase, "-w", run])
}

/// The next step where the plan of a run can be used again.
pub fn starts_from_plan(run: &str) -> Sentence {
    Sentence::new(
        "'checkpoint workflow init --plan -' starts one from what 'checkpoint workflow export {} --format plan' prints",
        &[&run],
    )
}

/// The next step where the state tells all.
pub fn shows_state(run: &str) -> Sentence {
    Sentence::new("'checkpoint workflow status {}' shows its state", &[&run])
}

/// No run is live; `archived` is the id of the newest that is in the archive.
pub fn no_workflow(archived: Option<&str>) -> Error {
    let starts = Sentence::new("'checkpoint workflow init --phase NAME' starts one", &[]);
    let reopens = "'checkpoint workflow recover {}' reopens the last one, ";
    let next = archived.map_or_else(Sentence::default, |id| Sentence::new(reopens, &[&id]));
    absent("no_workflow", "there is no workflow here").next(next.then_sentence(starts))
}

pub fn no_such_workflow(name: &str) -> Error {
    absent("no_such_workflow", format!("no workflow '{name}'"))
        .advise("'checkpoint workflow list --all' lists all of them")
}

/// Reads the name of a profile.
pub fn profile(word: &str) -> Result<Profile> {
    let unknown = "is not a profile; give one: phases, pipeline or registry";
    word.parse()
        .map_err(|_| Error::usage(format!("'{word}' {unknown}")))
}

pub fn moved_on(what: impl Into<String>) -> Error {
    refused("moved_on", what).advise("check its state, then try again")
}

/// Lists the first choices, each as a command and its meaning.
pub fn listed(choices: &[Choice]) -> Sentence {
    let mut listed = Sentence::default();
    for (at, choice) in choices.iter().take(LISTED_CHOICES).enumerate() {
        listed = listed
            .then(if at > 0 { "; " } else { "" })
            .then_command(choice.command.clone())
            .then(format!(": {}", choice.label));
    }
    match choices.len().saturating_sub(LISTED_CHOICES) {
        0 => listed,
        more => listed.then(format!("; {more} more with --json")),
    }
}
