//! Which files of the project were last written for runs, and as what. Derived, so damage to the
//! record stops nothing.

use std::io;

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
        read(self.layout()).unwrap_or_default()
    }
}

/// The files last written for runs.
///
/// # Errors
/// An existing record cannot be read or is invalid.
pub fn read(layout: &Layout) -> io::Result<Vec<Projected>> {
    Ok(checksummed_text::read(&layout.projected(), parse_line)?.unwrap_or_default())
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
        format!(
            "{FILE}{sum} {} {}\n",
            percent_encode(file.path.as_bytes()),
            file.workflow
        )
    };
    checksummed_text::seal(&files.iter().map(line).collect::<String>())
}

fn parse_line(line: &str) -> Option<Projected> {
    let mut words = line.strip_prefix(FILE)?.split(' ');
    let (sum, path, workflow) = (words.next()?, words.next()?, words.next()?);
    let is_sum = sum.len() == SUM_DIGITS && sum.bytes().all(|digit| digit.is_ascii_hexdigit());
    let path = String::from_utf8(percent_decode(path)?).ok()?;
    let makes_sense =
        RelPath::new(path.as_bytes()).is_ok_and(|path| !path.is_root()) && is_legal(workflow);
    if words.next().is_some() || !makes_sense || !(is_sum || sum == NO_SUM) {
        return None;
    }
    Some(Projected {
        path,
        sum: is_sum.then(|| sum.to_owned()),
        workflow: workflow.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_back_and_senseless_ones_do_not() {
        let file = |path: &str, sum: Option<String>| Projected {
            path: path.into(),
            sum,
            workflow: "w_1".into(),
        };
        let files = [
            file(".claude/pipeline-state.json", Some("ab".repeat(32))),
            file("a b/\u{e4}\n", None),
        ];
        let parsed: Option<Vec<_>> = checksummed_text::parse(&render(&files), parse_line);
        assert_eq!(parsed.as_deref(), Some(&files[..]));
        for line in ["- ../x w", "- x ../w", "zz x w", "- x w more", "- x"] {
            assert_eq!(parse_line(&format!("{FILE}{line}")), None, "{line}");
        }
    }
}
