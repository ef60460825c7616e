//! The results of `doctor`.

use crate::error::Error;
use crate::error::sentence::Sentence;
use crate::ops::warning::Warning;

/// How what was looked at stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum HealthState {
    Good,
    /// Worth knowing; nothing has to be done.
    Note,
    /// Checkpoints are not made, or cannot be relied on, until it is fixed.
    Problem,
    /// It was a problem, and `--fix` fixed it.
    Fixed,
}

/// One thing that was looked at.
#[derive(Clone, Debug)]
pub struct HealthCheck {
    pub state: HealthState,
    /// What was looked at, such as `store`.
    pub subject: String,
    pub what: String,
    /// What mends it, with the command to type.
    pub remedy: Option<Sentence>,
}

impl HealthCheck {
    pub fn good(subject: &str, what: impl Into<String>) -> Self {
        Self {
            state: HealthState::Good,
            subject: subject.to_owned(),
            what: what.into(),
            remedy: None,
        }
    }

    pub fn note(subject: &str, what: impl Into<String>) -> Self {
        Self {
            state: HealthState::Note,
            ..Self::good(subject, what)
        }
    }

    pub fn problem(subject: &str, what: impl Into<String>, remedy: Sentence) -> Self {
        Self {
            state: HealthState::Problem,
            remedy: Some(remedy),
            ..Self::good(subject, what)
        }
    }

    /// A problem in the words of the commands that meet it.
    pub fn of_error(subject: &str, error: &Error) -> Self {
        Self {
            state: HealthState::Problem,
            remedy: error.next.clone(),
            ..Self::good(subject, error.to_string())
        }
    }

    pub fn fixed(subject: &str, what: impl Into<String>) -> Self {
        Self {
            state: HealthState::Fixed,
            ..Self::good(subject, what)
        }
    }
}

#[derive(Debug, Default)]
pub struct DoctorOutcome {
    pub checks: Vec<HealthCheck>,
    pub warnings: Vec<Warning>,
}

impl DoctorOutcome {
    /// Returns how many checks stand like this.
    pub fn count(&self, state: HealthState) -> usize {
        let checks = self.checks.iter();
        checks.filter(|check| check.state == state).count()
    }
}
