//! A `create` with its line in the audit trail, for users who want one.

use crate::cli::args::create::CreateArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::commands::create::create;
use crate::cli::{exit_code, printer};
use crate::error::{Error, Result};
use crate::ops::context::Context;
use crate::ops::contract::audit::{self, AuditEnd};
use crate::ops::warning::Warning;

pub fn with_audit(context: &Context, cmd: &CommandContext<'_>, args: CreateArgs) -> Result<u8> {
    let mut made = false;
    let ended = create(context, cmd, args, &mut made);
    // A root that is refused, or that is not there, gets no log either.
    let has_place = !matches!(ended, Err(Error::UnsafeRoot { .. } | Error::RootMissing { .. }));
    if context.settings.audit && has_place {
        note(context, cmd, ended.as_ref().map_or_else(exit_code::of_error, |code| *code), made);
    }
    ended
}

fn note(context: &Context, cmd: &CommandContext<'_>, code: u8, made: bool) {
    let exit = printer::lost().map_or(code, |_| exit_code::unanswered(code, exit_code::FAILED));
    let words = cmd.words.iter().map(|word| word.as_encoded_bytes()).collect();
    let warnings: Vec<Warning> = audit::note(context, &AuditEnd { words, exit, made }).into_iter().collect();
    cmd.warn(&warnings);
    cmd.warn_late(&warnings);
}
