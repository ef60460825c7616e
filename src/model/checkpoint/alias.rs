//! The alias of a checkpoint: `chk_YYYYMMDD_HHMMSS_` and six digits of its id, as agents' contracts
//! write it.

use crate::base::time::utc_compact;
use crate::model::{Checkpoint, ObjectId};

const ALIAS_PREFIX: &str = "chk_";
const ALIAS_DIGITS: usize = 6;

pub fn of(checkpoint: &Checkpoint) -> String {
    made_of(checkpoint.record.time_ms, checkpoint.id)
}

/// Makes it of a time in milliseconds since 1970 and an id.
pub fn made_of(time_ms: i64, id: ObjectId) -> String {
    format!(
        "{ALIAS_PREFIX}{}_{}",
        utc_compact(time_ms),
        &id.to_hex()[..ALIAS_DIGITS]
    )
}

/// Whether a word has the form of an alias.
pub fn is_alias(word: &str) -> bool {
    let Some(rest) = word.strip_prefix(ALIAS_PREFIX) else {
        return false;
    };
    let parts: Vec<&str> = rest.split('_').collect();
    let digits =
        |part: &str, len| part.len() == len && part.bytes().all(|byte| byte.is_ascii_digit());
    matches!(parts.as_slice(), [date, time, id]
        if digits(date, 8) && digits(time, 6) && id.len() == ALIAS_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_of_the_whole_form_are_aliases() {
        assert!(is_alias("chk_20240115_143022_a7b3c9"));
        for other in [
            "chk_20240115_143022_a7b3c",
            "chk_20240115_150000_config",
            "chk_",
            "20240115_143022_a7b3c9",
            "chk_1_2_3",
        ] {
            assert!(!is_alias(other), "{other}");
        }
    }
}
