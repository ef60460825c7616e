//! A `create` with its line in the audit trail, for users who want one.

use crate::cli::args::create::CreateArgs;
use crate::cli::commands::create::create;
use crate::cli::rim::Rim;
use crate::cli::{exit_code, printer};
use crate::error::{Error, Result};
use crate::ops::context::Context;
use crate::ops::contract::audit::{self, Ended};
use crate::ops::warning::Warning;

pub fn audited(context: &Context, rim: &Rim<'_>, args: CreateArgs) -> Result<u8> {
    let mut made = false;
    let ended = create(context, rim, args, &mut made);
    // A root that is refused, or that is not there, gets no log either.
    let has_place = !matches!(ended, Err(Error::UnsafeRoot { .. } | Error::RootMissing { .. }));
    if context.settings.audit && has_place {
        note(context, rim, ended.as_ref().map_or_else(exit_code::of_error, |code| *code), made);
    }
    ended
}

fn note(context: &Context, rim: &Rim<'_>, code: u8, made: bool) {
    let exit = printer::lost().map_or(code, |_| exit_code::unanswered(code, exit_code::FAILED));
    let words = rim.words.iter().map(|word| word.as_encoded_bytes()).collect();
    let warnings: Vec<Warning> = audit::note(context, &Ended { words, exit, made }).into_iter().collect();
    rim.warn(&warnings);
    rim.warn_late(&warnings);
}
