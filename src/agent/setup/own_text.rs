//! Texts of ours alone: their last line tells whether anyone has changed them.

use std::path::Path;

use crate::store::files::checksummed_text::checksum;

const MARK: &str = "written by the setup of checkpoint: ";

/// Whose a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// It is as some version of this program wrote it.
    Us,
    /// We wrote it, and someone has changed it.
    UsAndOthers,
    Others,
}

/// Returns a text with the line that recognizes it, as a comment.
pub fn sealed(path: &Path, text: &str) -> String {
    let (open, close) = match path.extension().and_then(|end| end.to_str()) {
        Some("md") => ("<!-- ", " -->"),
        Some("js" | "ts") => ("// ", ""),
        _ => ("# ", ""),
    };
    let text = format!("{text}{open}");
    format!("{text}{MARK}{}{close}\n", checksum(&text))
}

pub fn author(text: &str) -> Author {
    match text.rsplit_once(MARK) {
        None => Author::Others,
        Some((before, sum)) => {
            let sum = sum.trim_end_matches(" -->\n").trim_end_matches('\n');
            if sum == checksum(before) {
                Author::Us
            } else {
                Author::UsAndOthers
            }
        }
    }
}
