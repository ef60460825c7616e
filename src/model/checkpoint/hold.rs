//! A hold: blocks checkpoints for a while, because unfinished work would be captured half-done.

use crate::base::json::{self, JsonSchema, Serialize};
use crate::base::text::{percent_decode, percent_encode};
use crate::base::{Malformed, TimeText};

const HOUR_MS: i64 = 60 * 60 * 1000;
/// Default duration of a hold in milliseconds.
pub const USUAL_MS: i64 = HOUR_MS / 2;
pub const LONGEST_MS: i64 = 24 * HOUR_MS;
const LONGEST_NAME: usize = 128;

/// A hold: no checkpoint is made until it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Hold {
    pub name: String,
    #[serde(rename = "begins_at", serialize_with = "json::time")]
    #[schemars(with = "TimeText")]
    pub begin_ms: i64,
    /// From then on the hold has no effect.
    #[serde(rename = "ends_at", serialize_with = "json::time")]
    #[schemars(with = "TimeText")]
    pub end_ms: i64,
}

impl Hold {
    /// Whether the hold is in effect. A clock more than a day before `begin_ms` is not trusted, as
    /// the hold might never end by it.
    pub fn is_active(&self, now_ms: i64) -> bool {
        now_ms < self.end_ms && now_ms >= self.begin_ms.saturating_sub(LONGEST_MS)
    }

    /// Encodes the hold as one field of a line-based document.
    pub fn to_field(&self) -> String {
        let name = percent_encode(self.name.as_bytes());
        format!("{} {} {name}", self.begin_ms, self.end_ms)
    }

    pub fn from_field(field: &str) -> Option<Self> {
        let mut words = field.split(' ');
        let (begin_ms, end_ms) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let hold = Self {
            name: String::from_utf8(percent_decode(words.next()?)?).ok()?,
            begin_ms,
            end_ms,
        };
        let length_ms = end_ms.checked_sub(begin_ms)?;
        let is_sound = (1..=LONGEST_MS).contains(&length_ms) && words.next().is_none();
        (is_sound && check_name(&hold.name).is_ok()).then_some(hold)
    }
}

/// Checks the name of a hold.
///
/// # Errors
/// Why the name is not allowed, in words.
pub fn check_name(name: &str) -> Result<(), Malformed> {
    if name.trim().is_empty() || name.trim() != name {
        return Err("it is empty, or begins or ends with a blank".into());
    }
    if name.len() > LONGEST_NAME {
        return Err(format!("it is longer than {LONGEST_NAME} bytes").into());
    }
    if name.starts_with('-') || name.contains(char::is_control) {
        return Err("it begins with a dash or has control characters in it".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(begin_ms: i64, end_ms: i64) -> Hold {
        Hold {
            name: "wave 3%".to_owned(),
            begin_ms,
            end_ms,
        }
    }

    #[test]
    fn a_hold_stands_until_its_end_and_not_by_a_clock_of_another_day() {
        let begin_ms = 3 * LONGEST_MS;
        let hold = hold(begin_ms, begin_ms + 10);
        assert!(
            hold.is_active(begin_ms)
                && hold.is_active(begin_ms + 9)
                && !hold.is_active(begin_ms + 10)
        );
        assert!(
            hold.is_active(begin_ms - LONGEST_MS) && !hold.is_active(begin_ms - LONGEST_MS - 1)
        );
    }

    #[test]
    fn a_hold_comes_back_from_its_field_and_one_without_end_does_not() {
        let taken = hold(5, 6);
        assert_eq!(Hold::from_field(&taken.to_field()), Some(taken));
        for bad in [
            hold(5, 5),
            hold(5, 6 + LONGEST_MS),
            Hold {
                name: String::new(),
                ..hold(5, 6)
            },
        ] {
            assert_eq!(Hold::from_field(&bad.to_field()), None, "{bad:?}");
        }
        for bad in ["", "5 6", "5 6 a b", "x 6 a", "5 6 -a"] {
            assert_eq!(Hold::from_field(bad), None, "{bad}");
        }
    }
}
