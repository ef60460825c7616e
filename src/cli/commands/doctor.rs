//! `doctor`: one line for each thing that was looked at.

use crate::agent::doctor::agent_checks::{self, OwnProgram};
use crate::agent::doctor::check::{HealthCheck, HealthState};
use crate::agent::doctor::store_checks;
use crate::cli::command_context::{CommandContext, print_answer};
use crate::cli::commands::setup;
use crate::cli::run::RunCommand;
use crate::cli::{environment, exit_code};
use crate::config::settings::OwnFile;
use crate::error::Result;
use crate::ops::context::Context;
use crate::view::doctor as doctor_view;

/// Look at the directory, its store and the agents, and say what is wrong
///
/// Ends with 1 if there is a problem.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct DoctorArgs {
    /// Repair what can be repaired safely
    #[arg(long)]
    pub fix: bool,
}

impl RunCommand for DoctorArgs {
    const MAY_TAKE_LONG: bool = true;
    const OWN_FILE: OwnFile = OwnFile::MayBeBad;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let mut outcome = store_checks::examine(context, self.fix)?;
        let program = OwnProgram {
            path: setup::program(cmd).unwrap_or_default(),
            on_path: environment::found_program(&["checkpoint".into()]),
        };
        if let Err(why) = agent_checks::examine(context, &program, self.fix, &mut outcome) {
            outcome.checks.push(HealthCheck::of_error("agents", &why));
        }
        let code = if outcome.count(HealthState::Problem) == 0 {
            exit_code::DONE
        } else {
            exit_code::FAILED
        };
        print_answer(
            cmd,
            || doctor_view::json(&outcome, code),
            || doctor_view::human(&outcome, cmd.printer.out_paint()),
            &outcome.warnings,
        );
        Ok(code)
    }
}
