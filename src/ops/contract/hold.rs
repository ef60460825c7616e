//! `hold` and `release`: while a hold stands, only safety checkpoints are made.

use crate::base::json::{JsonSchema, Serialize};
use crate::base::text::escape;
use crate::base::time;
use crate::error::{Code, CommandWords, Error, More, Result, Sentence};
use crate::model::Hold;
use crate::model::checkpoint::hold::{LONGEST_MS, USUAL_MS, check_name};
use crate::ops::{Context, Session, Warning, session};
use crate::store::Store;

/// The hold that was taken.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HoldOutcome {
    #[serde(flatten)]
    pub hold: Hold,
    /// Whether a hold of this name was there already.
    pub renewed: bool,
}

/// The hold that was released.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReleaseOutcome {
    /// Null if there was none.
    pub hold: Option<Hold>,
}

/// `span` is as typed.
pub fn hold(
    context: &Context,
    name: String,
    span: Option<&str>,
) -> Result<(HoldOutcome, Vec<Warning>)> {
    check_name(&name)
        .map_err(|why| Error::usage(format!("'{name}' is not a valid name of a hold: {why}")))?;
    let span_ms = span.map_or(Ok(USUAL_MS), parse_span)?;
    let store = context.require_store()?;
    let mut session = session::begin(context, &store)?;
    let mut holds = active_holds(context, &store, &mut session.warnings);
    let before = holds.len();
    holds.retain(|other| other.name != name);
    let begin_ms = context.now_ms;
    let hold = Hold {
        name,
        begin_ms,
        end_ms: begin_ms.saturating_add(span_ms),
    };
    let renewed = holds.len() < before;
    holds.push(hold.clone());
    session.locked.write_holds(&holds)?;
    Ok((HoldOutcome { hold, renewed }, session.warnings))
}

fn parse_span(typed: &str) -> Result<i64> {
    let span_ms = time::parse_span(typed).ok_or_else(|| Error::bad_span("--for", typed))?;
    if (1..=LONGEST_MS).contains(&span_ms) {
        return Ok(span_ms);
    }
    Err(Error::usage(format!(
        "--for is '{typed}'; a hold lasts at least 1ms and at most 24h"
    )))
}

/// Releases a hold; without a name, the only one.
pub fn release(context: &Context, name: Option<&str>) -> Result<(ReleaseOutcome, Vec<Warning>)> {
    let store = context.require_store()?;
    let mut session = session::begin(context, &store)?;
    let mut holds = active_holds(context, &store, &mut session.warnings);
    let at = match name {
        None if holds.len() > 1 => {
            let what = format!("several holds are active: {}", names(&holds));
            return Err(Error::new(Code::SEVERAL_HOLDS, what).advise("name the one to release"));
        }
        None => (!holds.is_empty()).then_some(0),
        Some(name) => {
            let at = holds.iter().position(|hold| hold.name == name);
            Some(at.ok_or_else(|| no_such_hold(name, &holds))?)
        }
    };
    let hold = at.map(|at| holds.remove(at));
    if hold.is_some() {
        session.locked.write_holds(&holds)?;
    }
    Ok((ReleaseOutcome { hold }, session.warnings))
}

fn no_such_hold(name: &str, holds: &[Hold]) -> Error {
    let what = format!("there is no hold '{}'", escape(name));
    Error::new(Code::NO_SUCH_HOLD, what).next(Sentence::text(match holds {
        [] => "no hold is active".to_owned(),
        holds => format!("active: {}", names(holds)),
    }))
}

fn names(holds: &[Hold]) -> String {
    let names: Vec<String> = holds.iter().map(|hold| escape(&hold.name)).collect();
    names.join(", ")
}

/// Returns the holds that have not ended. An unreadable file counts as none, with a warning.
pub fn active_holds(context: &Context, store: &Store, warnings: &mut Vec<Warning>) -> Vec<Hold> {
    let mut holds = store.holds().unwrap_or_else(|why| {
        warnings.push(Warning::HoldsUnreadable {
            why: why.to_string(),
        });
        Vec::new()
    });
    holds.retain(|hold| hold.is_active(context.now_ms));
    holds
}

/// Checks that no hold stands, once `create` has the lock. A damaged file is removed, so that it is
/// reported once.
///
/// # Errors
/// A hold stands: of several, the one that ends last is named.
pub fn check_none_active(context: &Context, session: &mut Session<'_>) -> Result<()> {
    let told = session.warnings.len();
    let holds = active_holds(context, session.locked.store(), &mut session.warnings);
    if session.warnings.len() > told {
        let left = session.locked.write_holds(&[]).err();
        let left = left.map(Warning::bookkeeping("removing the damaged file of holds"));
        session.warnings.extend(left);
    }
    let others = holds.len().saturating_sub(1);
    let last = holds.into_iter().max_by_key(|hold| hold.end_ms);
    let Some(hold) = last else { return Ok(()) };
    let words = hold.in_words(context.now_ms);
    let what = match others {
        0 => format!("no checkpoint was made: {words}"),
        others => format!("no checkpoint was made: {words}, and {others} more"),
    };
    let release = CommandWords::new(["release", &*hold.name]);
    let error = Error::new(Code::HELD, what).next(Sentence::command(release));
    Err(error.more(More::Why(words)))
}
