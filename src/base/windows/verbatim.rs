//! The two spellings of an absolute path on Windows: the usual one, and the verbatim one that
//! begins with `\\?\` and that the system takes as it is, with names such as `CON` and `a.`.
//!
//! Users, keys and hashes see the usual one; files below a root are opened by the verbatim one.
//! Source: Microsoft, "Naming Files, Paths, and Namespaces".

use std::path::{Path, PathBuf};

const VERBATIM: &str = r"\\?\";
const VERBATIM_SHARE: &str = r"\\?\UNC\";
const SHARE: &str = r"\\";

/// Returns the usual spelling of a path; elsewhere than on Windows the path itself.
pub fn usual_path(path: PathBuf) -> PathBuf {
    match path.to_str() {
        Some(text) if cfg!(windows) => usual(text).into(),
        _ => path,
    }
}

/// Returns a path with the separators of this system, where names below a folder had slashes.
pub fn native_path(path: PathBuf) -> PathBuf {
    if cfg!(windows) {
        return path.components().collect();
    }
    path
}

/// Returns the verbatim spelling of an absolute path; elsewhere than on Windows the path itself.
pub fn verbatim_path(path: &Path) -> PathBuf {
    match path.to_str() {
        Some(text) if cfg!(windows) => verbatim(text).into(),
        _ => path.to_path_buf(),
    }
}

fn usual(text: &str) -> String {
    if let Some(share) = text.strip_prefix(VERBATIM_SHARE) {
        return format!("{SHARE}{share}");
    }
    let rest = text.strip_prefix(VERBATIM);
    // A path of a device has no other spelling.
    rest.filter(|rest| starts_with_drive(rest))
        .unwrap_or(text)
        .to_owned()
}

fn verbatim(text: &str) -> String {
    let text = text.replace('/', r"\");
    if text.starts_with(VERBATIM) || text.starts_with(r"\\.\") {
        return text;
    }
    match text.strip_prefix(SHARE) {
        Some(share) => format!("{VERBATIM_SHARE}{share}"),
        None if starts_with_drive(&text) => format!("{VERBATIM}{text}"),
        None => text,
    }
}

/// Whether a path begins with the letter of a drive and a separator.
fn starts_with_drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    matches!(bytes, [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_spelling_leads_to_the_other() {
        for (plain, long) in [
            (r"C:\p\a", r"\\?\C:\p\a"),
            (r"\\server\share\p", r"\\?\UNC\server\share\p"),
            (r"C:\", r"\\?\C:\"),
        ] {
            assert_eq!((usual(long), verbatim(plain)), (plain.into(), long.into()));
            assert_eq!((usual(plain), verbatim(long)), (plain.into(), long.into()));
        }
        assert_eq!(verbatim("C:/p/a"), r"\\?\C:\p\a");
        for other in [r"\\?\Volume{1}\p", r"\\.\pipe\x", "a", "C:a", ""] {
            assert_eq!(usual(other), other);
        }
        assert_eq!(verbatim("a/b"), r"a\b");
    }
}
