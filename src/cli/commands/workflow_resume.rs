//! `workflow resume` and `workflow recover`: the commands that ask.

use crate::cli::args::workflow::{RecoverArgs, ResumeArgs};
use crate::cli::commands::workflow::tell;
use crate::cli::exit_code;
use crate::cli::rim::Rim;
use crate::error::{Error, Result};
use crate::ops::context::Context;
use crate::ops::workflow::report;
use crate::ops::workflow::resume::{self as op, Question, ResumeOptions, Take};
use crate::ops::workflow::step::StepOptions;
use crate::ops::workflow::sync::{self, Trouble};
use crate::view::human::workflow as human;
use crate::view::human::workflow::questions;
use crate::view::json::workflow as json;

pub fn resume(context: &Context, rim: &Rim<'_>, args: &ResumeArgs) -> Result<u8> {
    if rim.prompt.may_ask
        && args.choose.is_none()
        && let Some(trouble) = first_trouble(context)?
    {
        return settle(context, rim, &trouble, None);
    }
    let options = ResumeOptions { step: args.run.step(), choose: args.choose.clone(), yes: rim.global.yes };
    let mut ask =
        |question: &Question<'_>| rim.prompt.words(&context.interrupt, &questions::question(question, context.now_ms));
    let outcome = op::resume(context, &options, &mut ask)?;
    tell(rim, || json::resume(&outcome), || human::resume(&outcome), &outcome.warnings);
    Ok(exit_code::DONE)
}

fn first_trouble(context: &Context) -> Result<Option<Trouble>> {
    Ok(sync::settle(context)?.and_then(|settled| settled.troubles.into_iter().next()))
}

pub fn recover(context: &Context, rim: &Rim<'_>, args: &RecoverArgs) -> Result<u8> {
    let trouble = first_trouble(context)?;
    if let Some(word) = &args.take {
        let named = args.what.clone().or_else(|| trouble.as_ref().map(|trouble| trouble.path.clone()));
        let path = named.ok_or_else(|| Error::Usage { what: "--take needs the path of a file".to_owned() })?;
        let side = match word.as_str() {
            "file" => Take::File,
            "state" => Take::State,
            _ => Take::None,
        };
        return settled(context, rim, &path, side);
    }
    if let Some(trouble) = trouble.filter(|trouble| args.what.as_ref().is_none_or(|what| *what == trouble.path)) {
        return settle(context, rim, &trouble, Some(args.dry_run));
    }
    let options = StepOptions { workflow: args.what.clone(), ..StepOptions::default() };
    let (run, mended, warnings) = op::mend(context, &options, args.dry_run)?;
    let words = || human::recovered(&run.workflow.id, &mended, args.dry_run);
    tell(rim, || json::recover(&run, &mended, args.dry_run, &warnings), words, &warnings);
    Ok(exit_code::DONE)
}

/// Shows a file that could not be taken in, and asks what is to become of it.
fn settle(context: &Context, rim: &Rim<'_>, trouble: &Trouble, dry_run: Option<bool>) -> Result<u8> {
    let status = trouble.workflow.as_deref().map(|id| report::status(context, Some(id), false)).transpose()?;
    let problem = || Error::from(trouble.problem(status.as_ref().map(|status| &status.run.workflow)));
    if dry_run == Some(true) {
        return Err(problem());
    }
    let Some(answer) = rim.prompt.words(&context.interrupt, &questions::trouble(trouble))? else {
        return Err(problem());
    };
    let known = if trouble.workflow.is_some() { Take::State } else { Take::None };
    let side = match answer.trim().to_ascii_lowercase().as_str() {
        "file" => Take::File,
        "state" | "recover" | "manual" => known,
        "y" | "yes" | "fresh" | "d" | "delete" => Take::None,
        _ => return Err(Error::Declined),
    };
    settled(context, rim, &trouble.path, side)
}

fn settled(context: &Context, rim: &Rim<'_>, path: &str, side: Take) -> Result<u8> {
    let (put_aside, warnings) = op::settle(context, &StepOptions::default(), path, side)?;
    let put_aside = put_aside.as_ref();
    tell(rim, || json::settled(path, put_aside, &warnings), || human::settled(path, put_aside), &warnings);
    Ok(exit_code::DONE)
}
