//! Times in documents: milliseconds in the program, RFC 3339 where they are stored or published. Each
//! type here is what a field of milliseconds is `with`.

use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

use crate::base::TimeText;
use crate::base::json::JsonSchema;
use crate::base::time::parse_iso;

// A moment.
#[derive(JsonSchema)]
#[schemars(inline, transparent)]
pub struct Always(pub TimeText);

// A moment that may be missing.
#[derive(JsonSchema)]
#[schemars(inline, transparent)]
pub struct Maybe(pub Option<TimeText>);

impl Always {
    pub fn serialize<S: Serializer>(time_ms: &i64, to: S) -> Result<S::Ok, S::Error> {
        TimeText::new(*time_ms).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
        Maybe::deserialize(from)?.ok_or_else(|| D::Error::custom("a time is missing"))
    }
}

impl Maybe {
    pub fn serialize<S: Serializer>(time_ms: &Option<i64>, to: S) -> Result<S::Ok, S::Error> {
        time_ms.map(TimeText::new).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
        let Some(text) = Option::<String>::deserialize(from)? else {
            return Ok(None);
        };
        let time = parse_iso(&text).ok_or_else(|| D::Error::custom("a time is no RFC 3339"));
        time.map(Some)
    }
}
