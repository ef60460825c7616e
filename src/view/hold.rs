//! `hold` as text and as JSON.

use serde_json::{Value, json};

use crate::base::text::escape;
use crate::base::time::{rfc3339, utc_seconds};
use crate::model::checkpoint::hold::Hold;
use crate::ops::contract::hold::{HoldOutcome, ReleaseOutcome};
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
        "{done} {} stands until {} UTC.\n",
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
        (None, Some(name)) => talk_only(&format!("no hold '{}' stands\n", escape(name))),
        (None, None) => talk_only("no hold stands\n"),
    }
}

fn talk_only(talk: &str) -> Output {
    Output {
        result: String::new(),
        talk: talk.to_owned(),
    }
}

pub fn status_line(hold: &Hold) -> String {
    let (name, holder) = (escape(&hold.name), escape(&hold.holder));
    format!(
        "held         {name}, until {} UTC, by {holder}\n",
        utc_seconds(hold.end_ms)
    )
}

pub fn hold_json(outcome: &HoldOutcome) -> String {
    let mut data = fields(&outcome.hold);
    data["renewed"] = outcome.renewed.into();
    envelope("hold", 0, &data, &outcome.warnings)
}

pub fn release_json(outcome: &ReleaseOutcome) -> String {
    let released = outcome.released.as_ref();
    let data =
        json!({"released": released.is_some(), "hold": released.map(fields), "name": outcome.name});
    envelope("release", 0, &data, &outcome.warnings)
}

pub fn fields(hold: &Hold) -> Value {
    json!({"name": hold.name, "holder": hold.holder, "from": rfc3339(hold.begin_ms), "until": rfc3339(hold.end_ms)})
}
