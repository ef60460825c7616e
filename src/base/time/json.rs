//! Times in documents: milliseconds in the program, RFC 3339 where they are stored or published.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::time::{parse_iso, rfc3339};

/// A moment in UTC, with milliseconds.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("pattern" = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$"))]
pub struct TimeText(String);

impl TimeText {
    pub fn new(time_ms: i64) -> Self {
        Self(rfc3339(time_ms))
    }
}

/// A moment that may be missing.
pub mod maybe {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::{TimeText, parse_iso};

    pub fn serialize<S: Serializer>(time_ms: &Option<i64>, to: S) -> Result<S::Ok, S::Error> {
        time_ms.map(TimeText::new).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
        let Some(TimeText(text)) = Option::deserialize(from)? else {
            return Ok(None);
        };
        let time = parse_iso(&text).ok_or_else(|| D::Error::custom("a time is no RFC 3339"));
        time.map(Some)
    }
}

pub mod always {
    use serde::de::Error as _;
    use serde::{Deserializer, Serialize as _, Serializer};

    use super::{TimeText, maybe};

    pub fn serialize<S: Serializer>(time_ms: &i64, to: S) -> Result<S::Ok, S::Error> {
        TimeText::new(*time_ms).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
        maybe::deserialize(from)?.ok_or_else(|| D::Error::custom("a time is missing"))
    }
}
