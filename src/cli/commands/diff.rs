//! `diff`: a patch, a table of counts, or names.

use crate::cli::args::diff::{DiffArgs, Form};
use crate::cli::exit_code;
use crate::cli::pager::Output;
use crate::cli::rim::Rim;
use crate::error::Result;
use crate::ops::browse::diff::compare as diff_op;
use crate::ops::context::Context;
use crate::view::patch::{self, PatchStyle};
use crate::view::{diffstat, human, json};

pub fn diff(context: &Context, rim: &Rim<'_>, args: &DiffArgs) -> Result<u8> {
    let form = args.form(rim.printer.json);
    let paint = rim.printer.out_paint();
    let style = PatchStyle { paint, is_for_terminal: rim.printer.for_a_person() };
    let mut output = Output::new(rim.printer, context.environment.pager.as_deref(), &context.interrupt);
    let mut receiver = |file: &_| output.write(&patch::render(file, style));
    let outcome = diff_op::diff(context, &args.resolve(form), &mut receiver)?;
    let code = exit_code::of_diff(&outcome, args.exit_code);
    let failure = outcome.failure();
    let text = match form {
        Form::Patch => String::new(),
        Form::Stat => diffstat::render(&outcome.files, paint),
        Form::NameOnly => human::diff::names(&outcome.files),
        Form::NameStatus => human::diff::name_status(&outcome.files),
        Form::Json => json::diff::diff(&outcome, code, failure.as_ref()),
    };
    let _ = output.write(text.as_bytes())?;
    output.finish()?;
    rim.printer.failure(&human::diff::missing(&outcome));
    rim.printer.talk(&human::diff::talk(&outcome, rim.global.verbose));
    rim.warn(&outcome.warnings);
    if let Some(failure) = failure {
        rim.printer.failure(&human::error(&failure, rim.printer.err_paint()));
    }
    Ok(code)
}
