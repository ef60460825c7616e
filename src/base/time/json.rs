//! Times in documents: milliseconds in the program, RFC 3339 where they are stored or published.

use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer};

use crate::base::json::{JsonSchema, Serialize as _, Serializer, TimeText, time};
use crate::base::time::parse_iso;

/// A moment, for `with` of a field.
#[derive(JsonSchema)]
#[serde(transparent)]
pub struct Moment(pub TimeText);

impl Moment {
    pub fn serialize<S: Serializer>(time_ms: &i64, to: S) -> Result<S::Ok, S::Error> {
        time(time_ms, to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
        let time = MaybeMoment::deserialize(from)?;
        time.ok_or_else(|| D::Error::custom("a time is missing"))
    }
}

/// A moment that may be missing.
#[derive(JsonSchema)]
#[serde(transparent)]
pub struct MaybeMoment(pub Option<TimeText>);

impl MaybeMoment {
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
