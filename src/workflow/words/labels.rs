//! What the answers to a question mean, and the hints that list them.

use crate::error::Choice;
use crate::error::sentence::Sentence;

#[derive(Clone, Debug, thiserror::Error)]
pub enum Label {
    #[error("use it for this run")]
    FileOfThisRun,
    #[error("continue with what the file says")]
    File,
    #[error("archive the file, and write it again from the recorded state")]
    State,
    #[error("continue the run, and write the file again")]
    StateOfGone,
    #[error("archive the file, and start fresh")]
    Neither,
    #[error("archive the file and its run, and start fresh")]
    NeitherNorRun,
    #[error("the run has ended: archive it")]
    Ended,
}

/// Lists at most `limit` choices, each as a command and its meaning.
pub fn listed(choices: &[Choice], limit: usize) -> Sentence {
    let mut listed = Sentence::default();
    for (at, choice) in choices.iter().take(limit).enumerate() {
        listed = listed
            .then(if at > 0 { "; " } else { "" })
            .then_command(choice.command.clone())
            .then(format!(": {}", choice.label));
    }
    if choices.len() > limit {
        return listed.then(format!("; {} more with --json", choices.len() - limit));
    }
    listed
}

/// The next step if the file of a run is gone.
pub fn choose_for_gone(choices: &[Choice]) -> Sentence {
    Sentence::text("nothing was changed; choose: ").then_sentence(listed(choices, choices.len()))
}

/// The next step for a file that cannot be imported; the first command shows it.
pub fn choose_for_file(path: &str, choices: &[Choice]) -> Sentence {
    Sentence::new(
        "the file was not changed, and 'checkpoint workflow recover {} -n' shows it; fix it, or choose: ",
        &[&path],
    )
    .then_sentence(listed(choices, choices.len()))
}
