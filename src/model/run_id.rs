//! The id of a run, `<type>_<project>_<YYYYMMDD_HHMMSS>`, valid as a ref and file name.

use crate::base::time::utc_compact;

/// Upper bound on an id in bytes.
const LONGEST: usize = 120;

/// Word used if no letter or digit is left.
const EMPTY: &str = "work";

pub fn make(kind: &str, project: &str, now_ms: i64) -> String {
    format!("{}_{}_{}", word(kind), snake(project), utc_compact(now_ms))
}

/// Converts a project name to the registry's form: lower case, with `_` for other characters and
/// between words.
pub fn snake(text: &str) -> String {
    let mut made = String::new();
    let mut was_small = false;
    for letter in text.chars() {
        if letter.is_ascii_uppercase() && was_small {
            made.push('_');
        }
        was_small = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        made.push(if letter.is_ascii_alphanumeric() {
            letter.to_ascii_lowercase()
        } else {
            '_'
        });
    }
    word(&made)
}

/// Whether an id has the form `{type}_{project}_{YYYYMMDD_HHMMSS}`.
pub fn is_timed(id: &str) -> bool {
    parts(id).is_some()
}

/// Returns the `number`th variant of a taken id, no longer than is legal; a time at the end stays
/// there.
pub fn numbered(id: &str, number: usize) -> String {
    let (name, ending) = match parts(id) {
        Some((name, time)) => (name, format!("-{number}_{time}")),
        None => (id, format!("-{number}")),
    };
    let room = LONGEST.saturating_sub(ending.len());
    let kept = name.get(..room.min(name.len())).unwrap_or_default();
    format!("{}{ending}", kept.trim_end_matches('.'))
}

/// Whether an id is a variant of a taken one, as [`numbered`] makes them.
pub fn is_variant(id: &str, of: &str) -> bool {
    let name = |id| parts(id).map_or(id, |(name, _)| name);
    let number = name(id)
        .strip_prefix(name(of))
        .and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Splits an id into the part before the time, and the time.
fn parts(id: &str) -> Option<(&str, &str)> {
    let is_number = |text: &str, digits: usize| {
        text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let (name, time) = id.split_at_checked(id.len().checked_sub("_YYYYMMDD_HHMMSS".len())?)?;
    let (date, clock) = time.strip_prefix('_')?.split_once('_')?;
    let has_both = name
        .split_once('_')
        .is_some_and(|(kind, project)| !kind.is_empty() && !project.is_empty());
    (has_both && is_number(date, 8) && is_number(clock, 6)).then_some((name, &time[1..]))
}

/// Whether an id is a valid file and ref name everywhere.
pub fn is_legal(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=LONGEST).contains(&id.len())
        && id.bytes().all(plain)
        && !id.starts_with(['.', '-'])
        && !id.contains("..")
        && !id.ends_with('.')
        && !id.to_ascii_lowercase().ends_with(".lock")
        // It would be taken for an object id.
        && !(id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Converts free text to an id part: letters, digits and `-` stay; each run of other characters
/// becomes one `_`.
pub fn word(text: &str) -> String {
    let mut made = String::new();
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() || letter == '-' {
            made.push(letter);
        } else if !made.ends_with('_') {
            made.push('_');
        }
    }
    let made: String = made.trim_matches(['_', '-']).chars().take(40).collect();
    if made.is_empty() {
        EMPTY.to_owned()
    } else {
        made
    }
}

/// Whether it is the [`word`] of a text without letters or digits.
pub fn is_empty_word(id: &str) -> bool {
    id == EMPTY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_made_of_words_and_a_time() {
        let found = make("orchestrate", "auth system", 1_759_517_130_000);
        assert_eq!(found, "orchestrate_auth_system_20251003_184530");
        assert_eq!(word("äö"), "work");
        assert!(is_legal(&make("test-all", "../x y", 0)));
    }

    #[test]
    fn a_project_is_written_in_snake_case() {
        for (name, snake_case) in [
            ("My Proj-X.\u{e9}", "my_proj_x"),
            ("darkMode", "dark_mode"),
            ("HTTP2Server", "http2_server"),
            ("auth_system", "auth_system"),
            ("\u{e4}\u{f6}", "work"),
        ] {
            assert_eq!(snake(name), snake_case, "{name}");
        }
        let found = make("test-all", "My App", 1_759_517_130_000);
        assert_eq!(found, "test-all_my_app_20251003_184530");
    }

    #[test]
    fn a_number_leaves_the_time_at_the_end() {
        assert_eq!(numbered("a_b_20251003_184530", 2), "a_b-2_20251003_184530");
        for plain in "a b_20251003_184530 a_b_2025_184530 ä_20251003_184530".split(' ') {
            assert_eq!(numbered(plain, 3), format!("{plain}-3"));
        }
    }

    #[test]
    fn what_could_lead_elsewhere_is_no_id() {
        let (long, longer) = ("a".repeat(40), "a".repeat(121));
        let bad = "|.|..|a/b|a..b|-x|.x|x.|a b|x.lock|ä".split('|');
        for bad in bad.chain([&*long, &*longer]) {
            assert!(!is_legal(bad), "{bad}");
        }
        assert!(is_legal("implement_dark_mode_20251003_192230"));
    }
}
