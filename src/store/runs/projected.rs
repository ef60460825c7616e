//! Which files of the project were last written for runs, and as what. Derived, so damage to the record stops nothing.

use std::io::ErrorKind;

use crate::base::text::{percent_decode, percent_encode};
use crate::error::Result;
use crate::model::run_id::is_legal;
use crate::model::state::rel_path::RelPath;
use crate::store::files::{atomic_file, checksummed_text, read_regular};
use crate::store::layout::Layout;
use crate::store::repository::Store;

const FILE: &str = "file ";
/// Stands for the missing checksum of a file that was removed or never read.
const NO_SUM: &str = "-";
const SUM_DIGITS: usize = 64;

/// A file of the project that was written for a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Projected {
    /// Relative to the root.
    pub path: String,
    /// SHA-256 of the content last written, in hex.
    pub sum: Option<String>,
    /// The id of the run for which it was written.
    pub workflow: String,
}

impl Store {
    /// The files last written for runs; none if unknown.
    pub fn projected(&self) -> Vec<Projected> {
        self.projected_or_why_not().unwrap_or_default()
    }

    /// The files last written for runs.
    ///
    /// # Errors
    /// Says why an existing record cannot be read or is invalid.
    pub fn projected_or_why_not(&self) -> Result<Vec<Projected>, String> {
        read(self.layout())
    }
}

/// # Errors
/// As [`Store::projected_or_why_not`].
pub fn read(layout: &Layout) -> Result<Vec<Projected>, String> {
    match read_regular::read_text(&layout.projected()) {
        Ok(text) => parse(&text).ok_or_else(|| "it does not add up".to_owned()),
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(cause) => Err(cause.to_string()),
    }
}

/// # Errors
/// The file cannot be written; then it is as before.
pub fn write(layout: &Layout, files: &[Projected]) -> Result<()> {
    if files.is_empty() {
        return atomic_file::remove_if_there(&layout.projected()).map(drop);
    }
    let text = render(files);
    if read_regular::read(&layout.projected()).is_ok_and(|found| found == text.as_bytes()) {
        return Ok(());
    }
    atomic_file::replace_derived(&layout.own(), &layout.projected(), text.as_bytes())
}

fn render(files: &[Projected]) -> String {
    let line = |file: &Projected| {
        let sum = file.sum.as_deref().unwrap_or(NO_SUM);
        format!("{FILE}{sum} {} {}\n", percent_encode(file.path.as_bytes()), file.workflow)
    };
    checksummed_text::seal(&files.iter().map(line).collect::<String>())
}

fn parse(text: &str) -> Option<Vec<Projected>> {
    checksummed_text::unseal(text)?.lines().map(|line| parse_line(line.strip_prefix(FILE)?)).collect()
}

fn parse_line(line: &str) -> Option<Projected> {
    let mut words = line.split(' ');
    let (sum, path, workflow) = (words.next()?, words.next()?, words.next()?);
    let is_sum = sum.len() == SUM_DIGITS && sum.bytes().all(|digit| digit.is_ascii_hexdigit());
    let path = String::from_utf8(percent_decode(path)?).ok()?;
    let makes_sense = RelPath::new(path.as_bytes()).is_ok_and(|path| !path.is_root()) && is_legal(workflow);
    if words.next().is_some() || !makes_sense || !(is_sum || sum == NO_SUM) {
        return None;
    }
    Some(Projected { path, sum: is_sum.then(|| sum.to_owned()), workflow: workflow.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_back_whole_or_not_at_all() {
        let file = |path: &str, sum: Option<String>| Projected { path: path.into(), sum, workflow: "w_1".into() };
        let files = [file(".claude/pipeline-state.json", Some("ab".repeat(32))), file("a b/\u{e4}\n", None)];
        let text = render(&files);
        assert_eq!(parse(&text), Some(files.to_vec()));
        for at in 0..text.len() {
            assert_eq!(parse(&text[..at]), None, "cut at {at}");
            let mut flipped = text.clone().into_bytes();
            flipped[at] ^= 1;
            assert_eq!(String::from_utf8(flipped).ok().and_then(|flipped| parse(&flipped)), None, "flipped at {at}");
        }
        for line in ["- ../x w", "- x ../w", "zz x w", "- x w more", "- x"] {
            assert_eq!(parse(&checksummed_text::seal(&format!("{FILE}{line}\n"))), None, "{line}");
        }
    }
}
