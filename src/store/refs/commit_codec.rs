//! Encodes and parses commit objects, without access to a store.

use std::num::{IntErrorKind, ParseIntError};

use crate::base::Malformed;
use crate::model::ObjectId;

const IDENTITY: &str = "checkpoint <checkpoint@localhost>";

/// The parts we read of a commit, ours or plain git's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitParts {
    pub tree: ObjectId,
    pub parents: Vec<ObjectId>,
    /// The committer's time, in seconds since 1970.
    pub seconds: i64,
    /// Bytes that are not UTF-8 are replaced.
    pub message: String,
}

/// Encodes a parentless commit at a time in UTC; the message is taken as it is.
pub fn encode(tree: ObjectId, seconds: i64, message: &str) -> Vec<u8> {
    encode_after(tree, &[], seconds, message)
}

/// Encodes a commit with its parents.
pub fn encode_after(tree: ObjectId, parents: &[ObjectId], seconds: i64, message: &str) -> Vec<u8> {
    let parents = parents.iter().map(|parent| format!("parent {parent}\n"));
    let parents: String = parents.collect();
    // Git takes no time before 1970; the message has the right one.
    let time = format!("{IDENTITY} {} +0000", seconds.max(0));
    format!("tree {tree}\n{parents}author {time}\ncommitter {time}\n\n{message}").into_bytes()
}

/// Parses a commit, skipping unknown headers.
///
/// # Errors
/// Names the missing or malformed part.
pub fn parse(commit: &[u8]) -> Result<CommitParts, Malformed> {
    let (mut rest, tree) = id_line(commit, b"tree ")?.ok_or("the commit names no tree")?;
    let mut parents = Vec::new();
    while let Some((tail, parent)) = id_line(rest, b"parent ")? {
        parents.push(parent);
        rest = tail;
    }
    let mut seconds = None;
    loop {
        let end = rest
            .iter()
            .position(|b| *b == b'\n')
            .ok_or("the commit has no end of its header")?;
        let (line, tail) = (&rest[..end], &rest[end + 1..]);
        rest = tail;
        if line.is_empty() {
            break;
        }
        if let Some(person) = line.strip_prefix(b"committer ") {
            seconds = Some(time_of(person)?);
        }
    }
    let seconds = seconds.ok_or("the commit has no committer")?;
    Ok(CommitParts {
        tree,
        parents,
        seconds,
        message: String::from_utf8_lossy(rest).into_owned(),
    })
}

/// Returns the rest and the id if the bytes start with a line of that key.
fn id_line<'a>(bytes: &'a [u8], key: &[u8]) -> Result<Option<(&'a [u8], ObjectId)>, Malformed> {
    let Some(rest) = bytes.strip_prefix(key) else {
        return Ok(None);
    };
    let malformed = || "the commit has a malformed id".to_owned();
    let (line, tail) = rest.split_at_checked(41).ok_or_else(malformed)?;
    let digits = line
        .strip_suffix(b"\n")
        .and_then(|hex| std::str::from_utf8(hex).ok())
        .ok_or_else(malformed)?;
    Ok(Some((
        tail,
        ObjectId::from_hex(digits).ok_or_else(malformed)?,
    )))
}

/// Parses the seconds in `name <mail> seconds zone`.
fn time_of(person: &[u8]) -> Result<i64, Malformed> {
    let after_mail = person
        .iter()
        .rposition(|b| *b == b'>')
        .map_or(person, |at| &person[at + 1..]);
    std::str::from_utf8(after_mail)
        .ok()
        .and_then(|text| text.split_ascii_whitespace().next())
        .and_then(|digits| {
            digits.parse().map_or_else(
                |why: ParseIntError| match why.kind() {
                    IntErrorKind::PosOverflow => Some(i64::MAX),
                    IntErrorKind::NegOverflow => Some(i64::MIN),
                    _ => None,
                },
                Some,
            )
        })
        .ok_or_else(|| "the commit has no readable time".into())
}

/// The object that a tag names, by its first line.
pub fn tagged(tag: &[u8]) -> Option<ObjectId> {
    let line = tag
        .split(|byte| *byte == b'\n')
        .next()?
        .strip_prefix(b"object ")?;
    ObjectId::from_hex(std::str::from_utf8(line).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

    #[test]
    fn what_is_written_is_read_back() {
        let tree = ObjectId::from_hex(HEX).unwrap();
        let parts = parse(&encode(tree, 5, "a | b\n\nSequence: 1\n")).unwrap();
        let expected = CommitParts {
            tree,
            parents: vec![],
            seconds: 5,
            message: "a | b\n\nSequence: 1\n".into(),
        };
        assert_eq!(parts, expected);
        let parent = ObjectId::from_bytes([7; 20]);
        let after = parse(&encode_after(tree, &[parent], 1, "x\n"));
        assert_eq!(after.unwrap().parents, [parent]);
    }

    #[test]
    fn commits_of_plain_git_are_read() {
        let text = format!(
            "tree {HEX}\nparent {HEX}\nparent {HEX}\nauthor A > B <a@b> 1 +0100\ncommitter \u{fc} <> 1700000000 -0800\n\
             encoding latin1\ngpgsig -----BEGIN\n \n committer x\n -----END\n\nhello"
        );
        let parts = parse(text.as_bytes()).unwrap();
        let found = (parts.parents.len(), parts.seconds, &*parts.message);
        assert_eq!(found, (2, 1_700_000_000, "hello"));
        let latin = parse(&[text.as_bytes(), b"\xff"].concat()).unwrap();
        assert_eq!(latin.message, "hello\u{fffd}");
    }

    #[test]
    fn garbage_is_an_error() {
        let missing = [
            String::new(),
            "tree 1234\n".into(),
            format!("tree {HEX}"),
            format!("tree {HEX}\n\nx"),
            format!("tree {HEX}\ncommitter x <y> soon +0000\n\nx"),
            format!("tree {HEX}\ncommitter x <y> 1 +0000\n"),
            format!("tree {HEX}\nparent x\ncommitter x <y> 1 +0000\n\n"),
            "\0".repeat(200),
        ];
        for text in missing {
            assert!(parse(text.as_bytes()).is_err(), "{text:?}");
        }
    }
}
