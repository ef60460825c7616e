//! `hold` and `release` in words.

use crate::base::text::escape;
use crate::base::time::utc_seconds;
use crate::model::checkpoint::hold::Hold;
use crate::ops::contract::hold::{HoldOutcome, ReleaseOutcome};
use crate::view::human::Output;

pub fn hold(outcome: &HoldOutcome) -> Output {
    let Hold { name, end_ms, .. } = &outcome.hold;
    let done = if outcome.renewed { "Renewed hold" } else { "Hold" };
    let result = format!("{done} {} stands until {} UTC.\n", escape(name), utc_seconds(*end_ms));
    Output { result, talk: String::new() }
}

pub fn release(outcome: &ReleaseOutcome) -> Output {
    match (&outcome.released, &outcome.name) {
        (Some(hold), _) => Output { result: format!("Released {}.\n", escape(&hold.name)), talk: String::new() },
        (None, Some(name)) => nothing(&format!("no hold '{}' stands\n", escape(name))),
        (None, None) => nothing("no hold stands\n"),
    }
}

fn nothing(talk: &str) -> Output {
    Output { result: String::new(), talk: talk.to_owned() }
}

pub fn status_line(hold: &Hold) -> String {
    let (name, holder) = (escape(&hold.name), escape(&hold.holder));
    format!("held         {name}, until {} UTC, by {holder}\n", utc_seconds(hold.end_ms))
}
