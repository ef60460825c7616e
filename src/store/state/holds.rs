//! The holds of a store: one file, replaced atomically; damage to it stops nothing.

use std::io::ErrorKind;

use crate::error::Result;
use crate::model::checkpoint::hold::Hold;
use crate::store::files::{atomic_file, checksummed_text, read_regular};
use crate::store::layout::Layout;

const HOLD: &str = "hold ";

/// Reads all holds that were taken, including those that have ended.
///
/// # Errors
/// Says why an existing file cannot be read or is invalid.
pub fn read(layout: &Layout) -> Result<Vec<Hold>, String> {
    match read_regular::read_text(&layout.holds()) {
        Ok(text) => parse(&text).ok_or_else(|| "it does not add up".to_owned()),
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(cause) => Err(cause.to_string()),
    }
}

/// # Errors
/// The file cannot be written; then it is as before.
pub fn write(layout: &Layout, holds: &[Hold]) -> Result<()> {
    if holds.is_empty() {
        return if atomic_file::remove_if_there(&layout.holds())? {
            atomic_file::sync_directory(&layout.own())
        } else {
            Ok(())
        };
    }
    atomic_file::replace(&layout.holds(), render(holds).as_bytes())
}

fn render(holds: &[Hold]) -> String {
    checksummed_text::seal(&holds.iter().map(|hold| format!("{HOLD}{}\n", hold.to_field())).collect::<String>())
}

fn parse(text: &str) -> Option<Vec<Hold>> {
    checksummed_text::unseal(text)?.lines().map(|line| Hold::from_field(line.strip_prefix(HOLD)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_come_back_whole_or_not_at_all() {
        let hold = |name: &str| Hold { name: name.into(), holder: "process 7".into(), begin_ms: 1, end_ms: 2 };
        let holds = [hold("a b"), hold("sum 0")];
        let text = render(&holds);
        assert_eq!(parse(&text), Some(holds.to_vec()));
        for at in 0..text.len() {
            assert_eq!(parse(&text[..at]), None, "cut at {at}");
            let mut flipped = text.clone().into_bytes();
            flipped[at] ^= 1;
            assert_eq!(String::from_utf8(flipped).ok().and_then(|flipped| parse(&flipped)), None, "flipped at {at}");
        }
    }
}
