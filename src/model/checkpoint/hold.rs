//! A hold: blocks checkpoints for a while, because unfinished work would be captured half-done.

use crate::base::Malformed;
use crate::base::json::{Deserialize, JsonSchema, Serialize};
use crate::base::time::json::Always;

const HOUR_MS: i64 = 60 * 60 * 1000;
/// Default duration of a hold in milliseconds.
pub const USUAL_MS: i64 = HOUR_MS / 2;
pub const LONGEST_MS: i64 = 24 * HOUR_MS;
const LONGEST_NAME: usize = 128;

/// A hold: no checkpoint is made until it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hold {
    pub name: String,
    #[serde(rename = "begins_at", with = "Always")]
    #[schemars(with = "Always")]
    pub begin_ms: i64,
    /// From then on the hold has no effect.
    #[serde(rename = "ends_at", with = "Always")]
    #[schemars(with = "Always")]
    pub end_ms: i64,
}

impl Hold {
    /// Whether the hold is in effect. A clock more than a day before `begin_ms` is not trusted, as
    /// the hold might never end by it.
    pub fn is_active(&self, now_ms: i64) -> bool {
        now_ms < self.end_ms && now_ms >= self.begin_ms.saturating_sub(LONGEST_MS)
    }

    /// Whether such a hold can have been taken: one of no more than a day, with a name.
    pub fn is_sound(&self) -> bool {
        let length_ms = self.end_ms.checked_sub(self.begin_ms);
        length_ms.is_some_and(|ms| (1..=LONGEST_MS).contains(&ms)) && check_name(&self.name).is_ok()
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
    use crate::base::json;

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
    fn a_hold_comes_back_from_its_document_and_one_without_end_is_not_sound() {
        let taken = hold(5, 6);
        let text = json::document(&taken, false);
        assert_eq!(json::read(text.as_bytes()), Some(taken.clone()));
        assert!(taken.is_sound());
        for bad in [
            hold(5, 5),
            hold(5, 6 + LONGEST_MS),
            Hold {
                name: String::new(),
                ..hold(5, 6)
            },
        ] {
            assert!(!bad.is_sound(), "{bad:?}");
        }
    }
}
