//! What the answers to a question mean, and the hints that list them.

use crate::error::Choice;
use crate::error::sentence::Sentence;

#[derive(Clone, Debug, thiserror::Error)]
pub enum Label {
    // What is to become of a run.
    #[error("{0}")]
    GoOn(String),
    #[error("resume: {0}")]
    Resume(String),
    #[error("resume from {0}")]
    ResumeFrom(String),
    #[error("start fresh: the old run is archived")]
    StartFresh,
    #[error("view details")]
    View,
    #[error("delete: it is archived, and nothing is started")]
    Delete,
    #[error("archive it and start fresh")]
    ArchiveAndStart,
    #[error("archive it and start the same plan again")]
    ArchiveAndRestart,
    #[error("abandon it, or pick another phase")]
    Decline,
    #[error("end it and archive it")]
    Abandon,
    #[error("continue with {0}")]
    Pick(String),

    // What is to become of a file.
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

/// What resuming a run goes on with.
pub fn continue_from(phase: Option<&str>) -> String {
    phase.map_or("nothing is left to do".to_owned(), |name| {
        format!("continue from {name}")
    })
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
