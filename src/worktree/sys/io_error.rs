//! What an I/O error says: its message for users, and whether the path is absent.

use std::io;

use super::is_symlink_error;

/// Returns the message of an I/O error without the OS error number.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}

/// Whether the path does not exist: the name is missing, or a component is no directory.
pub fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    ) || is_symlink_error(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_no_number_and_starts_lower_case() {
        let error = io::Error::from_raw_os_error(2);
        assert!(!reason(&error).contains("os error"), "{}", reason(&error));
        assert!(
            reason(&error).starts_with(|c: char| c.is_lowercase()),
            "{}",
            reason(&error)
        );
    }
}
