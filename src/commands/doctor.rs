//! `doctor`: one line for each thing that was looked at.

use crate::agent::DoctorOutcome;
use crate::agent::doctor::{HealthLevel, doctor};
use crate::commands::prelude::*;
use crate::commands::setup;

/// Look at the directory, its store and the agents, and say what is wrong
///
/// Ends with 1 if there is a problem.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct DoctorArgs {
    /// Repair what can be repaired safely
    #[arg(long)]
    pub fix: bool,
}

impl Command for DoctorArgs {
    type Answer = DoctorOutcome;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<DoctorOutcome>> {
        let program = setup::program(cmd).unwrap_or_default();
        let mut outcome = doctor(context, &program, self.fix)?;
        for check in &mut outcome.checks {
            let advice = check.advice.take();
            let advice = advice.map(|advice| cmd.printer.place.sentence(advice));
            check.command = advice.as_ref().and_then(Sentence::to_run);
            check.remedy = advice.map(|advice| advice.to_string());
        }
        let warnings = std::mem::take(&mut outcome.warnings);
        let is_wrong = outcome.problem_count > 0;
        Ok(Done::new(outcome, warnings).exit_if(is_wrong, exit_code::FAILED))
    }
}

impl Text for DoctorOutcome {
    fn write(&self, out: &mut Out<'_>) {
        for check in &self.checks {
            let mark = match check.level {
                HealthLevel::Good => out.paint.green("ok"),
                HealthLevel::Note => out.paint.yellow("--"),
                HealthLevel::Problem => out.paint.red("!!"),
                HealthLevel::Fixed => out.paint.green("++"),
            };
            outln!(out, "{mark} {:<11}  {}", check.subject, check.message);
            if let Some(remedy) = &check.remedy {
                outln!(out, "{:16}{remedy}", "");
            }
        }
        match self.problem_count {
            0 => talkln!(out, "no problem found"),
            problems => talkln!(out, "{}", count(problems, "problem", "problems")),
        }
    }
}
