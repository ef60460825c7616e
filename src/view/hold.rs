//! `hold` as text and as JSON.

use crate::base::text::escape;
use crate::base::time::utc_seconds;
use crate::model::checkpoint::hold::Hold;
use crate::model::json::TimeText;
use crate::ops::contract::hold::{HoldOutcome, ReleaseOutcome};
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::words::Output;

pub fn hold(outcome: &HoldOutcome) -> Output {
    let Hold { name, end_ms, .. } = &outcome.hold;
    let done = if outcome.renewed {
        "Renewed hold"
    } else {
        "Hold"
    };
    let result = format!(
        "{done} {} until {} UTC.\n",
        escape(name),
        utc_seconds(*end_ms)
    );
    Output {
        result,
        talk: String::new(),
    }
}

pub fn release(outcome: &ReleaseOutcome) -> Output {
    match (&outcome.released, &outcome.name) {
        (Some(hold), _) => Output {
            result: format!("Released {}.\n", escape(&hold.name)),
            talk: String::new(),
        },
        (None, Some(name)) => talk_only(&format!("no hold '{}'\n", escape(name))),
        (None, None) => talk_only("no hold is active\n"),
    }
}

fn talk_only(talk: &str) -> Output {
    Output {
        result: String::new(),
        talk: talk.to_owned(),
    }
}

pub fn status_line(hold: &Hold) -> String {
    let (name, until) = (escape(&hold.name), utc_seconds(hold.end_ms));
    format!("held         {name}, until {until} UTC\n")
}

/// A hold: no checkpoint is made until it ends.
#[derive(Serialize, JsonSchema)]
pub struct HoldJson {
    name: String,
    begins_at: TimeText,
    ends_at: TimeText,
}

impl HoldJson {
    pub fn new(hold: &Hold) -> Self {
        Self {
            name: hold.name.clone(),
            begins_at: TimeText::new(hold.begin_ms),
            ends_at: TimeText::new(hold.end_ms),
        }
    }
}

/// The hold that was taken.
#[derive(Serialize, JsonSchema)]
pub struct HoldAnswer {
    #[serde(flatten)]
    hold: HoldJson,
    /// Whether it was there already.
    renewed: bool,
}

/// The hold that was released.
#[derive(Serialize, JsonSchema)]
pub struct ReleaseAnswer {
    released: bool,
    hold: Option<HoldJson>,
    /// The name that was asked for.
    name: Option<String>,
}

pub fn hold_json(outcome: &HoldOutcome) -> String {
    let data = HoldAnswer {
        hold: HoldJson::new(&outcome.hold),
        renewed: outcome.renewed,
    };
    envelope("hold", 0, &data, &outcome.warnings)
}

pub fn release_json(outcome: &ReleaseOutcome) -> String {
    let data = ReleaseAnswer {
        released: outcome.released.is_some(),
        hold: outcome.released.as_ref().map(HoldJson::new),
        name: outcome.name.clone(),
    };
    envelope("release", 0, &data, &outcome.warnings)
}
