//! `workflow resume` and `workflow recover`: the commands that ask.

use crate::cli::args::workflow::{RecoverArgs, ResumeArgs};
use crate::cli::commands::workflow::tell;
use crate::cli::exit_code;
use crate::cli::rim::Rim;
use crate::error::{Error, Result};
use crate::model::workflow::profile::Profile;
use crate::ops::context::Context;
use crate::ops::workflow::conflict::{Kind, Trouble};
use crate::ops::workflow::mend::{self, Take};
use crate::ops::workflow::report;
use crate::ops::workflow::resume::{self as op, Question, ResumeOptions};
use crate::ops::workflow::runs::Runs;
use crate::ops::workflow::step::StepOptions;
use crate::ops::workflow::sync::{self, Settled};
use crate::view::human::workflow as human;
use crate::view::human::workflow::questions;
use crate::view::json::workflow as json;

pub fn resume(context: &Context, rim: &Rim<'_>, args: &ResumeArgs) -> Result<u8> {
    if rim.prompt.may_ask && args.choose.is_none() && settle_first(context, rim, args.run.workflow.as_deref())? {
        return Ok(exit_code::DONE);
    }
    let options = ResumeOptions { step: args.run.step(), choose: args.choose.clone(), yes: rim.global.yes };
    let mut ask =
        |question: &Question<'_>| rim.prompt.words(&context.interrupt, &questions::question(question, context.now_ms));
    let outcome = op::resume(context, &options, &mut ask)?;
    tell(rim, || json::resume(&outcome), || human::resume(&outcome), &outcome.warnings);
    Ok(exit_code::DONE)
}

/// Files that could not be taken in come before the run that is meant; whether nothing is left to resume after them. One of
/// nobody's does not keep that run from being resumed.
fn settle_first(context: &Context, rim: &Rim<'_>, named: Option<&str>) -> Result<bool> {
    let Some(Settled { store, troubles, .. }) = sync::settle(context)? else { return Ok(false) };
    let meant = Runs::live(&store)?.pick(named).ok().cloned().filter(|run| run.workflow.status.is_open());
    for trouble in &troubles {
        let is_in_way = meant.as_ref().map_or(named.is_none(), |run| trouble.concerns(&run.workflow));
        if !is_in_way && (named.is_some() || trouble.workflow.is_some()) {
            continue;
        }
        match settle(context, rim, trouble, false) {
            Ok(Take::None | Take::Copy) if is_in_way => return Ok(true),
            Err(Error::Declined) if !is_in_way => {}
            settled => drop(settled?),
        }
    }
    Ok(meant.is_none() && !troubles.is_empty())
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
        settle(context, rim, &trouble, args.dry_run)?;
        return Ok(exit_code::DONE);
    }
    let options = StepOptions { workflow: args.what.clone(), ..StepOptions::default() };
    let (run, mended, warnings) = mend::mend(context, &options, args.dry_run)?;
    let words = || human::recovered(&run.workflow.id, &mended, args.dry_run);
    tell(rim, || json::recover(&run, &mended, args.dry_run, &warnings), words, &warnings);
    Ok(exit_code::DONE)
}

/// Shows a file that could not be taken in, and asks what is to become of it.
fn settle(context: &Context, rim: &Rim<'_>, trouble: &Trouble, dry_run: bool) -> Result<Take> {
    let status = trouble.workflow.as_deref().map(|id| report::status(context, Some(id), false)).transpose()?;
    let problem = || Error::from(trouble.problem(status.as_ref().map(|status| &status.run.workflow)));
    if dry_run {
        return Err(problem());
    }
    let answer = rim.prompt.words(&context.interrupt, &questions::trouble(trouble))?.ok_or_else(problem)?;
    let side = side(trouble, &answer).ok_or(Error::Declined)?;
    settled(context, rim, &trouble.path, side)?;
    Ok(side)
}

/// What an answer means to this file: the words of its question alone count.
fn side(trouble: &Trouble, answer: &str) -> Option<Take> {
    let answer = answer.trim().to_ascii_lowercase();
    let is_yes = matches!(answer.as_str(), "y" | "yes");
    match (&trouble.kind, Profile::of_path(&trouble.path)) {
        (Kind::BothChanged { .. }, _) => match answer.as_str() {
            "file" => Some(Take::File),
            "state" => Some(Take::State),
            _ => None,
        },
        (Kind::Gone, _) => match answer.as_str() {
            "ended" => Some(Take::None),
            "anew" => Some(Take::State),
            _ => None,
        },
        (_, Some(Profile::Pipeline)) => match answer.as_str() {
            "recover" | "manual" | "manual recovery" if trouble.workflow.is_some() => Some(Take::State),
            "recover" | "manual" | "manual recovery" => Some(Take::Copy),
            "fresh" | "start fresh" => Some(Take::None),
            _ => None,
        },
        _ => is_yes.then_some(Take::None),
    }
}

fn settled(context: &Context, rim: &Rim<'_>, path: &str, side: Take) -> Result<u8> {
    let outcome = mend::settle(context, &StepOptions::default(), path, side)?;
    tell(rim, || json::settled(path, &outcome), || human::settled(path, &outcome), &outcome.warnings);
    Ok(exit_code::DONE)
}
