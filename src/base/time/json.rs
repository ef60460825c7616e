//! Times in documents: milliseconds in the program, RFC 3339 where they are stored or published.

pub use crate::base::json::TimeText;
use crate::base::time::parse_iso;

/// A moment that may be missing.
pub mod maybe {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::{TimeText, parse_iso};

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

pub mod always {
    use serde::de::Error as _;
    use serde::{Deserializer, Serializer};

    use super::maybe;
    use crate::base::json::time;

    pub fn serialize<S: Serializer>(time_ms: &i64, to: S) -> Result<S::Ok, S::Error> {
        time(time_ms, to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
        maybe::deserialize(from)?.ok_or_else(|| D::Error::custom("a time is missing"))
    }
}
