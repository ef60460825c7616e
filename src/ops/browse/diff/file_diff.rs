//! A path's part of a patch: its versions, its hunks, or its bytes in git's binary form.

use crate::error::{Error, Result};
use crate::model::difference::ChangeKind;
use crate::model::state::rel_path::RelPath;
use crate::model::state::stat::TYPE_BITS;
use crate::ops::browse::diff::text_diff::{TextDiff, is_binary, text_diff};
use crate::ops::browse::diff::version::{FileVersion, SeenFile};
use crate::store::objects::deflate::zlib::Deflater;

/// Level of detail for each path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Path and kind of change; no content is read.
    Names,
    /// Also the numbers of lines added and deleted.
    Counts,
    #[default]
    Patch,
}

/// Options for comparing contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    pub detail: Detail,
    /// Unchanged lines around each change.
    pub context: u32,
    /// Include binary contents in the patch.
    pub binary: bool,
}

/// A path that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    pub path: RelPath,
    pub change: ChangeKind,
    pub before: Option<SeenFile>,
    pub after: Option<SeenFile>,
    /// Lines added and deleted; `None` for binary content, or if only names were requested.
    pub counts: Option<(usize, usize)>,
    pub is_binary: bool,
    /// Pieces of the patch: one, or two if a file became a symlink or vice versa.
    pub pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub before: Option<SeenFile>,
    pub after: Option<SeenFile>,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The contents are equal.
    Same,
    Text(Vec<u8>),
    /// The bytes of both sides as a `GIT binary patch`, if requested and not too large.
    Binary(Option<Vec<u8>>),
}

/// Compares two versions, at least one of which must exist.
pub fn compare(
    path: RelPath,
    one: Option<&FileVersion>,
    two: Option<&FileVersion>,
    manner: Manner,
) -> Result<FileDiff> {
    let (before, after) = (one.map(|v| v.seen), two.map(|v| v.seen));
    let change = change_of(before, after);
    let is_binary = [one, two].into_iter().flatten().any(FileVersion::is_binary);
    let mut diff = FileDiff {
        path,
        change,
        before,
        after,
        counts: None,
        is_binary,
        pieces: Vec::new(),
    };
    if manner.detail == Detail::Patch && change == ChangeKind::Type {
        diff.pieces = vec![piece(one, None, manner)?.0, piece(None, two, manner)?.0];
        return Ok(diff);
    }
    let (piece, counts) = piece(one, two, manner)?;
    diff.counts = counts;
    if manner.detail == Detail::Patch {
        diff.pieces.push(piece);
    }
    Ok(diff)
}

fn change_of(before: Option<SeenFile>, after: Option<SeenFile>) -> ChangeKind {
    match (before, after) {
        (None, _) => ChangeKind::Added,
        (_, None) => ChangeKind::Deleted,
        (Some(one), Some(two)) if (one.mode ^ two.mode) & TYPE_BITS != 0 => ChangeKind::Type,
        (Some(one), Some(two)) if one.id == two.id => ChangeKind::Mode,
        _ => ChangeKind::Changed,
    }
}

impl FileVersion {
    fn is_binary(&self) -> bool {
        self.bytes.as_ref().is_none_or(|bytes| is_binary(bytes))
    }
}

fn piece(
    before: Option<&FileVersion>,
    after: Option<&FileVersion>,
    manner: Manner,
) -> Result<(Piece, Option<(usize, usize)>)> {
    let sides = [before, after];
    let (seen_before, seen_after) = (before.map(|v| v.seen), after.map(|v| v.seen));
    let with = |body| Piece {
        before: seen_before,
        after: seen_after,
        body,
    };
    let is_binary = sides.into_iter().flatten().any(FileVersion::is_binary);
    if seen_before.map(|seen| seen.id) == seen_after.map(|seen| seen.id) {
        return Ok((with(Body::Same), (!is_binary).then_some((0, 0))));
    }
    let [old, new] =
        sides.map(|side| side.map_or(Some(&[][..]), |version| version.bytes.as_deref()));
    match (old, new) {
        (Some(old), Some(new)) if !is_binary => {
            let TextDiff {
                hunks,
                insertions,
                deletions,
            } = text_diff(old, new, manner.context)?;
            Ok((with(Body::Text(hunks)), Some((insertions, deletions))))
        }
        (Some(old), Some(new)) if manner.binary && manner.detail == Detail::Patch => {
            Ok((with(Body::Binary(Some(binary_patch(old, new)?))), None))
        }
        _ => Ok((with(Body::Binary(None)), None)),
    }
}

/// Makes a binary patch with both contents whole, so that it can be applied forwards and backwards.
fn binary_patch(old: &[u8], new: &[u8]) -> Result<Vec<u8>> {
    let mut patch = b"GIT binary patch\n".to_vec();
    let mut deflater = Deflater::default();
    for content in [new, old] {
        patch.extend_from_slice(format!("literal {}\n", content.len()).as_bytes());
        push_lines(
            &mut patch,
            deflater.compress(content).map_err(Error::unexpected)?,
        );
        patch.push(b'\n');
    }
    Ok(patch)
}

/// Digits of base85, in the order of git.
const BASE85: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
/// Bytes encoded on one line of a binary patch.
const BASE85_LINE_BYTES: usize = 52;

/// Adds `data` to a patch, line by line.
pub fn push_lines(patch: &mut Vec<u8>, data: &[u8]) {
    for line in data.chunks(BASE85_LINE_BYTES) {
        patch.push(length_letter(line.len()));
        for group in line.chunks(4) {
            let mut word = [0; 4];
            word[..group.len()].copy_from_slice(group);
            patch.extend_from_slice(&digits(u32::from_be_bytes(word)));
        }
        patch.push(b'\n');
    }
}

/// Encodes a line's length: `A` for 1 to `Z` for 26, `a` for 27 to `z` for 52.
fn length_letter(len: usize) -> u8 {
    let len = u8::try_from(len).unwrap_or_default();
    if len <= 26 {
        b'A' + len - 1
    } else {
        b'a' + len - 27
    }
}

fn digits(mut value: u32) -> [u8; 5] {
    let mut digits = [0; 5];
    for digit in digits.iter_mut().rev() {
        *digit = BASE85[value as usize % 85];
        value /= 85;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::push_lines;

    fn lines(data: &[u8]) -> String {
        let mut patch = Vec::new();
        push_lines(&mut patch, data);
        String::from_utf8(patch).unwrap()
    }

    #[test]
    fn the_empty_stream_looks_as_git_writes_it() {
        // The zlib stream of nothing, part of every binary patch that adds a file.
        assert_eq!(
            lines(&[0x78, 0x01, 0x03, 0, 0, 0, 0, 0x01]),
            "HcmV?d00001\n"
        );
    }

    #[test]
    fn a_line_holds_52_bytes() {
        let shown = lines(&[0xff; 53]);
        let lengths: Vec<(char, usize)> = shown
            .lines()
            .map(|l| (l.chars().next().unwrap(), l.len()))
            .collect();
        assert_eq!(lengths, [('z', 66), ('A', 6)]);
        assert!(shown.starts_with("z|NsC0|NsC0"), "{shown}");
    }
}
