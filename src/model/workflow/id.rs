//! The name of a run: `<type>_<project>_<YYYYMMDD_HHMMSS>`, fit for a ref and for a file.

use crate::model::time::utc_compact;

/// Longest id, in bytes.
const LONGEST: usize = 120;

pub fn make(kind: &str, project: &str, now_ms: i64) -> String {
    format!("{}_{}_{}", word(kind), word(project), utc_compact(now_ms))
}

/// Whether it may be the name of a file and of a ref everywhere.
pub fn is_legal(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=LONGEST).contains(&id.len())
        && id.bytes().all(plain)
        && !id.starts_with(['.', '-'])
        && !id.contains("..")
        && !id.ends_with('.')
        && !id.to_ascii_lowercase().ends_with(".lock")
        // It would be taken for the name of an object.
        && !(id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// What is left of free text in an id: letters and digits, the rest one `_` each run; `-` stays.
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
    if made.is_empty() { "work".to_owned() } else { made }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_made_of_words_and_a_time() {
        assert_eq!(make("orchestrate", "auth system", 1_759_517_130_000), "orchestrate_auth_system_20251003_184530");
        assert_eq!(word("äö"), "work");
        assert!(is_legal(&make("test-all", "../x y", 0)));
    }

    #[test]
    fn what_could_lead_elsewhere_is_no_id() {
        for bad in
            ["", ".", "..", "a/b", "a..b", "-x", ".x", "x.", "a b", "x.lock", "ä", &"a".repeat(121), &"a".repeat(40)]
        {
            assert!(!is_legal(bad), "{bad}");
        }
        assert!(is_legal("implement_dark_mode_20251003_192230"));
    }
}
