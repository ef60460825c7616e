//! The journal of a restore in progress: durable before the first change, removed after the last.

use std::io::ErrorKind;

use crate::base::random_name::is_random_hex;
use crate::base::text::{percent_decode, percent_encode};
use crate::error::{Error, Result};
use crate::model::{ObjectId, PathFilter, RelPath, RestoreScope, Scope, Verb};
use crate::store::Layout;
use crate::store::files::{atomic_file, checksummed_text, read_regular};

const JOURNAL_FIRST_LINE: &str = "checkpoint-journal 1";

/// First line of the journal of a restore with patterns, which version 0.1 would carry out whole.
const FILTERED_FIRST_LINE: &str = "checkpoint-journal 2";

/// The progress of the restore when the journal was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum JournalStage {
    /// No file of the user was changed yet.
    Preparing,
    /// Changes may have begun.
    Applying,
    /// All changes are made and durable; only the staging directory may be left.
    Finished,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    pub stage: JournalStage,
    pub verb: Verb,
    pub target: ObjectId,
    pub safety: ObjectId,
    pub scope: RestoreScope,
    /// Name of the staging directory: sixteen hex digits.
    pub staging: String,
    /// Staging directory being filled to finish or undo this restore; holds no user files yet.
    pub filling: Option<String>,
    /// Whether this undoes an interrupted restore; if interrupted too, `undo` finishes it.
    pub settles: bool,
}

/// The state of the journal file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalState {
    None,
    Open(Box<Journal>),
    /// The file exists but cannot be read.
    Unreadable,
}

pub fn read(layout: &Layout) -> Result<JournalState> {
    let path = layout.journal();
    match read_regular::read(&path) {
        Ok(bytes) => Ok(parse(&bytes).map_or(JournalState::Unreadable, |open| {
            JournalState::Open(Box::new(open))
        })),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(JournalState::None)
        }
        Err(e) if e.kind() == ErrorKind::InvalidData => Ok(JournalState::Unreadable),
        Err(e) => Err(Error::io("read", &path)(e)),
    }
}

pub fn write(layout: &Layout, journal: &Journal) -> Result<()> {
    atomic_file::replace(&layout.journal(), render(journal).as_bytes())
}

pub fn remove(layout: &Layout) -> Result<()> {
    let path = layout.journal();
    match std::fs::remove_file(&path) {
        Ok(()) => atomic_file::sync_directory(&layout.own()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) => Err(Error::io("remove", &path)(e)),
    }
}

/// Renders a journal with its checksum.
pub fn render(journal: &Journal) -> String {
    let first_line = if journal.scope.filter.is_empty() {
        JOURNAL_FIRST_LINE
    } else {
        FILTERED_FIRST_LINE
    };
    let mut text = format!(
        "{first_line}\nstage {}\nverb {}\ntarget {}\nsafety {}\nstaging {}\n",
        journal.stage.into_str(),
        journal.verb.into_str(),
        journal.target,
        journal.safety,
        journal.staging
    );
    if let Some(filling) = &journal.filling {
        text.extend(["filling ", filling, "\n"]);
    }
    let flags = [
        ("overlay", journal.scope.overlay),
        ("special-bits", journal.scope.special_bits),
        ("settles", journal.settles),
    ];
    for (flag, _) in flags.iter().filter(|(_, set)| *set) {
        text.push_str(flag);
        text.push('\n');
    }
    for path in &journal.scope.paths {
        text.extend(["path ", &percent_encode(path.as_bytes()), "\n"]);
    }
    for field in journal.scope.within.iter().flat_map(Scope::to_fields) {
        text.extend(["within ", &field, "\n"]);
    }
    for field in journal.scope.filter.to_fields() {
        text.extend(["filter ", &field, "\n"]);
    }
    checksummed_text::seal(&text)
}

/// Parses a journal; `None` if the checksum is wrong or a line is not understood.
pub fn parse(bytes: &[u8]) -> Option<Journal> {
    let body = checksummed_text::unseal(std::str::from_utf8(bytes).ok()?)?;
    let mut lines = body.lines();
    if !matches!(lines.next()?, JOURNAL_FIRST_LINE | FILTERED_FIRST_LINE) {
        return None;
    }
    let value = |key: &str| {
        body.lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))
    };
    let flag = |key: &str| body.lines().any(|line| line == key);
    let paths = body.lines().filter_map(|line| line.strip_prefix("path "));
    let paths = paths
        .map(|path| RelPath::new(&percent_decode(path)?).ok())
        .collect::<Option<_>>()?;
    let within =
        Scope::from_fields(body.lines().filter_map(|line| line.strip_prefix("within "))).ok()?;
    let filter = body.lines().filter_map(|line| line.strip_prefix("filter "));
    let filter = PathFilter::from_fields(filter).ok()?;
    Some(Journal {
        stage: value("stage")?.parse().ok()?,
        verb: value("verb")?.parse().ok()?,
        target: ObjectId::from_hex(value("target")?)?,
        safety: ObjectId::from_hex(value("safety")?)?,
        scope: RestoreScope {
            paths,
            within,
            filter,
            overlay: flag("overlay"),
            special_bits: flag("special-bits"),
        },
        staging: value("staging")
            .filter(|name| is_random_hex(name.as_bytes()))?
            .to_owned(),
        filling: value("filling")
            .filter(|name| is_random_hex(name.as_bytes()))
            .map(str::to_owned),
        settles: flag("settles"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal() -> Journal {
        Journal {
            stage: JournalStage::Applying,
            verb: Verb::Restore,
            target: ObjectId::from_bytes([1; 20]),
            safety: ObjectId::from_bytes([2; 20]),
            scope: RestoreScope {
                paths: vec![RelPath::new(b"a b/\xff\nsum 0").unwrap(), RelPath::root()],
                overlay: true,
                special_bits: false,
                within: Some(Scope::default()),
                filter: PathFilter {
                    only: Some(Scope::default()),
                    except: None,
                },
            },
            staging: "0123456789abcdef".to_owned(),
            filling: Some("fedcba9876543210".to_owned()),
            settles: true,
        }
    }

    #[test]
    fn a_journal_comes_back_whole_or_not_at_all() {
        let text = render(&journal());
        assert_eq!(parse(text.as_bytes()), Some(journal()));
        for end in 0..text.len() {
            assert_eq!(parse(&text.as_bytes()[..end]), None, "cut at {end}");
        }
        for at in 0..text.len() {
            let mut flipped = text.clone().into_bytes();
            flipped[at] ^= 1;
            assert_ne!(parse(&flipped), Some(journal()), "flipped at {at}");
        }
    }

    #[test]
    fn a_journal_with_patterns_is_none_that_version_0_1_would_carry_out_whole() {
        let mut journal = journal();
        assert!(render(&journal).starts_with("checkpoint-journal 2\n"));
        journal.scope.filter = PathFilter::default();
        assert!(render(&journal).starts_with("checkpoint-journal 1\n"));
    }
}
