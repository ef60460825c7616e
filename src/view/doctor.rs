//! `doctor` as text and as JSON.

use crate::agent::doctor::check::{DoctorOutcome, HealthCheck, HealthState};
use crate::error::sentence::Sentence;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::format::{Paint, count};
use crate::view::place::placed_sentence;
use crate::view::words::Output;

/// Formats one line for each check, the remedy below it, and the number of problems.
pub fn human(outcome: &DoctorOutcome, paint: Paint) -> Output {
    let mut result = String::new();
    for check in &outcome.checks {
        let mark = match check.state {
            HealthState::Good => paint.green("ok"),
            HealthState::Note => paint.yellow("--"),
            HealthState::Problem => paint.red("!!"),
            HealthState::Fixed => paint.green("++"),
        };
        result.push_str(&format!("{mark} {:<11}  {}\n", check.subject, check.what));
        if let Some(remedy) = &check.remedy {
            let remedy = placed_sentence(remedy.clone());
            result.push_str(&format!("{:16}{remedy}\n", ""));
        }
    }
    let talk = match outcome.count(HealthState::Problem) {
        0 => "no problem found\n".to_owned(),
        problems => format!("{}\n", count(problems, "problem", "problems")),
    };
    Output { result, talk }
}

/// What was looked at.
#[derive(Serialize, JsonSchema)]
pub struct DoctorAnswer {
    problem_count: usize,
    checks: Vec<HealthCheckJson>,
}

/// One thing that was looked at.
#[derive(Serialize, JsonSchema)]
struct HealthCheckJson {
    /// `good`, `note`, `problem` or `fixed`.
    level: &'static str,
    /// What was looked at, such as `store`.
    subject: String,
    message: String,
    /// What mends it; null if nothing has to be fixed.
    remedy: Option<String>,
    /// The command that mends it, as words to run.
    command: Option<Vec<String>>,
}

impl HealthCheckJson {
    fn new(check: &HealthCheck) -> Self {
        let remedy = check.remedy.clone().map(placed_sentence);
        Self {
            level: check.state.into_str(),
            subject: check.subject.clone(),
            message: check.what.clone(),
            command: remedy.as_ref().and_then(Sentence::to_run),
            remedy: remedy.map(|remedy| remedy.to_string()),
        }
    }
}

pub fn json(outcome: &DoctorOutcome, exit: u8) -> String {
    let data = DoctorAnswer {
        problem_count: outcome.count(HealthState::Problem),
        checks: outcome.checks.iter().map(HealthCheckJson::new).collect(),
    };
    envelope("doctor", exit, &data, &outcome.warnings)
}
