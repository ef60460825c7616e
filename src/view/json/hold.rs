//! `hold` and `release` for programs.

use serde_json::{Value, json};

use crate::base::time::rfc3339;
use crate::model::checkpoint::hold::Hold;
use crate::ops::contract::hold::{HoldOutcome, ReleaseOutcome};
use crate::view::json::parts::envelope;

pub fn hold(outcome: &HoldOutcome) -> String {
    let mut data = told(&outcome.hold);
    data["renewed"] = outcome.renewed.into();
    envelope("hold", 0, &data, &outcome.warnings)
}

pub fn release(outcome: &ReleaseOutcome) -> String {
    let released = outcome.released.as_ref();
    let data = json!({"released": released.is_some(), "hold": released.map(told), "name": outcome.name});
    envelope("release", 0, &data, &outcome.warnings)
}

pub fn told(hold: &Hold) -> Value {
    json!({"name": hold.name, "holder": hold.holder, "from": rfc3339(hold.begin_ms), "until": rfc3339(hold.end_ms)})
}
