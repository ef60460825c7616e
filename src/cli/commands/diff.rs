//! `diff`: a patch, a table of counts, or names.

use crate::cli::args::diff::{DiffArgs, DiffForm};
use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::cli::pager::PagerOutput;
use crate::error::Result;
use crate::ops::browse::diff::compare as diff_op;
use crate::ops::context::Context;
use crate::view::patch::{self, PatchStyle};
use crate::view::{diffstat, human, json};

pub fn diff(context: &Context, cmd: &CommandContext<'_>, args: &DiffArgs) -> Result<u8> {
    let form = args.form(cmd.printer.json);
    let paint = cmd.printer.out_paint();
    let style = PatchStyle { paint, is_for_terminal: cmd.printer.for_a_person() };
    let mut output = PagerOutput::new(cmd.printer, context.environment.pager.as_deref(), &context.interrupt);
    let mut receiver = |file: &_| output.write(&patch::render(file, style));
    let outcome = diff_op::diff(context, &args.resolve(form), &mut receiver)?;
    let code = exit_code::of_diff(&outcome, args.exit_code);
    let failure = outcome.failure();
    let text = match form {
        DiffForm::Patch => String::new(),
        DiffForm::Stat => diffstat::render(&outcome.files, paint),
        DiffForm::NameOnly => human::diff::names(&outcome.files),
        DiffForm::NameStatus => human::diff::name_status(&outcome.files),
        DiffForm::Json => json::diff::diff(&outcome, code, failure.as_ref()),
    };
    let _ = output.write(text.as_bytes())?;
    output.finish()?;
    cmd.printer.failure(&human::diff::missing(&outcome));
    cmd.printer.talk(&human::diff::talk(&outcome, cmd.global.verbose));
    cmd.warn(&outcome.warnings);
    if let Some(failure) = failure {
        cmd.printer.failure(&human::error(&failure, cmd.printer.err_paint()));
    }
    Ok(code)
}
