//! A path's part of a patch: its versions as far as they can be read, its hunks, or its bytes in
//! git's binary form. The hunks are as `git diff` prints them, by libgit2's xdiff alone: no repository
//! is opened, so no configuration, attribute or filter applies.

use crate::base::text::BINARY_PROBE_BYTES;
use crate::error::{Error, Result};
use crate::model::json::{JsonSchema, Serialize};
use crate::model::state::entry::TYPE_BITS;
use crate::model::{ChangeKind, Entry, ObjectId, Octal, RelPath, WhyNot};
use crate::store::Deflater;

/// Usual upper bound on text held in memory, in bytes; more is binary. As git's `core.bigFileThreshold`.
pub const LARGEST_TEXT_BYTES: u64 = 512 << 20;

/// A file as read on one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileVersion {
    pub seen: SeenFile,
    /// `None` above the bound on text.
    pub bytes: Option<Vec<u8>>,
}

/// Result of reading a file.
pub enum LoadedVersion {
    Version(Box<FileVersion>),
    /// It vanished since the capture.
    Gone,
    Unknown(WhyNot),
    Damaged(String),
}

/// What a patch says about one version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SeenFile {
    /// Type and mode as git writes them: `100644`.
    pub mode: Octal,
    pub id: ObjectId,
    /// Null if only names are compared.
    pub size_bytes: Option<u64>,
}

impl SeenFile {
    pub fn of(entry: &Entry, size_bytes: Option<u64>) -> Self {
        Self {
            mode: Octal(entry.git_mode()),
            id: entry.id,
            size_bytes,
        }
    }
}

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
pub struct PatchOptions {
    pub detail: Detail,
    /// Unchanged lines around each change.
    pub context: u32,
    /// Include binary contents in the patch.
    pub binary: bool,
}

/// A path that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "FileChange")]
pub struct FileDiff {
    #[serde(flatten)]
    pub path: RelPath,
    pub change: ChangeKind,
    pub before: Option<SeenFile>,
    pub after: Option<SeenFile>,
    /// Lines added; null for binary content, or if only names are compared.
    pub insertions: Option<usize>,
    pub deletions: Option<usize>,
    #[serde(rename = "binary")]
    pub is_binary: bool,
    /// Pieces of the patch: one, or two if a file became a symlink or vice versa.
    #[serde(skip)]
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
    options: PatchOptions,
) -> Result<FileDiff> {
    let (before, after) = (one.map(|v| v.seen), two.map(|v| v.seen));
    let change = change_of(before, after);
    let is_named = options.detail == Detail::Names;
    let mut both = [one, two].into_iter().flatten();
    let is_binary = !is_named && both.any(FileVersion::is_binary);
    let mut diff = FileDiff {
        path,
        change,
        before,
        after,
        insertions: None,
        deletions: None,
        is_binary,
        pieces: Vec::new(),
    };
    if is_named {
        return Ok(diff);
    }
    if options.detail == Detail::Patch && change == ChangeKind::Type {
        diff.pieces = vec![piece(one, None, options)?.0, piece(None, two, options)?.0];
        return Ok(diff);
    }
    let (piece, counts) = piece(one, two, options)?;
    (diff.insertions, diff.deletions) = counts.unzip();
    if options.detail == Detail::Patch {
        diff.pieces.push(piece);
    }
    Ok(diff)
}

fn change_of(before: Option<SeenFile>, after: Option<SeenFile>) -> ChangeKind {
    match (before, after) {
        (None, _) => ChangeKind::Added,
        (_, None) => ChangeKind::Deleted,
        (Some(one), Some(two)) if (one.mode.0 ^ two.mode.0) & TYPE_BITS != 0 => ChangeKind::Type,
        (Some(one), Some(two)) if one.id == two.id => ChangeKind::Mode,
        _ => ChangeKind::Modified,
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
    options: PatchOptions,
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
            let found = text_diff(old, new, options.context)?;
            let counts = (found.insertions, found.deletions);
            Ok((with(Body::Text(found.hunks)), Some(counts)))
        }
        (Some(old), Some(new)) if options.binary && options.detail == Detail::Patch => {
            Ok((with(Body::Binary(Some(binary_patch(old, new)))), None))
        }
        _ => Ok((with(Body::Binary(None)), None)),
    }
}

/// Makes a binary patch with both contents whole, so that it can be applied forwards and backwards.
fn binary_patch(old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut patch = b"GIT binary patch\n".to_vec();
    let mut deflater = Deflater::default();
    for content in [new, old] {
        patch.extend_from_slice(format!("literal {}\n", content.len()).as_bytes());
        push_lines(&mut patch, deflater.compress(content));
        patch.push(b'\n');
    }
    patch
}

/// Upper bound on context lines; libgit2 doubles the number in 32 bits on some systems.
const MOST_CONTEXT: u32 = 1 << 28;

/// Hunks from `@@` on, and the numbers of lines added and deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextDiff {
    pub hunks: Vec<u8>,
    pub insertions: usize,
    pub deletions: usize,
}

pub fn is_binary(content: &[u8]) -> bool {
    content[..content.len().min(BINARY_PROBE_BYTES)].contains(&0)
}

/// Compares two texts line by line, with `context` unchanged lines around each change.
pub fn text_diff(old: &[u8], new: &[u8], context: u32) -> Result<TextDiff> {
    let (old, new) = if context == 0 {
        without_common_tail(old, new)
    } else {
        (old, new)
    };
    let mut options = git2::DiffOptions::new();
    options
        .context_lines(context.min(MOST_CONTEXT))
        .interhunk_lines(0)
        .indent_heuristic(true)
        .force_text(true);
    let patch = git2::Patch::from_buffers(old, None, new, None, Some(&mut options))
        .map_err(|cause| failed(&cause))?;
    let mut found = TextDiff::default();
    for at in 0..patch.num_hunks() {
        let (hunk, lines) = patch.hunk(at).map_err(|cause| failed(&cause))?;
        found.hunks.extend_from_slice(header(hunk.header()));
        found.hunks.push(b'\n');
        for line in 0..lines {
            let line = patch
                .line_in_hunk(at, line)
                .map_err(|cause| failed(&cause))?;
            let sign = line.origin();
            match sign {
                '+' => found.insertions += 1,
                '-' => found.deletions += 1,
                _ => {}
            }
            // Other origins mark a missing final line break, whose content is complete.
            if matches!(sign, '+' | '-' | ' ') {
                found.hunks.push(sign as u8);
            }
            found.hunks.extend_from_slice(line.content());
        }
    }
    Ok(found)
}

/// Returns the header of a hunk as git has it: of a heading that fills its place, the blanks at the end
/// are off, but not those before a character that was cut.
fn header(of_libgit2: &[u8]) -> &[u8] {
    const PLACE_BYTES: usize = 80;
    let whole = of_libgit2.strip_suffix(b"\n").unwrap_or(of_libgit2);
    let lines = whole.windows(4).position(|four| four == b" @@ ");
    let is_full = lines.is_some_and(|at| whole.len() - at - 4 == PLACE_BYTES);
    valid_start(if is_full {
        whole.trim_ascii_end()
    } else {
        whole
    })
}

fn failed(cause: &git2::Error) -> Error {
    let why = cause.message();
    Error::unexpected(format!("libgit2 cannot compare two texts: {why}"))
}

/// Drops the common tail: without context git does so first, which may choose other lines.
fn without_common_tail<'t>(old: &'t [u8], new: &'t [u8]) -> (&'t [u8], &'t [u8]) {
    const TRIMMED_BYTES: usize = 1024;
    let blocks = old
        .rchunks_exact(TRIMMED_BYTES)
        .zip(new.rchunks_exact(TRIMMED_BYTES));
    let trimmed = blocks.take_while(|(one, two)| one == two).count() * TRIMMED_BYTES;
    let tail = &old[old.len() - trimmed..];
    let kept = tail
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(trimmed, |at| at + 1);
    let cut = trimmed - kept;
    (&old[..old.len() - cut], &new[..new.len() - cut])
}

/// Returns the bytes before the first that git does not accept as UTF-8.
fn valid_start(bytes: &[u8]) -> &[u8] {
    let valid = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let end = valid.find(['\u{fffe}', '\u{ffff}']).unwrap_or(valid.len());
    &bytes[..end]
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
    use super::{push_lines, *};

    fn hunks(old: &str, new: &str, context: u32) -> String {
        String::from_utf8(
            text_diff(old.as_bytes(), new.as_bytes(), context)
                .unwrap()
                .hunks,
        )
        .unwrap()
    }

    #[test]
    fn the_end_without_a_line_break_is_told() {
        let expected = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n";
        assert_eq!(hunks("a", "a\n", 3), expected);
        let found = hunks("", "a", 3);
        assert_eq!(found, "@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n");
    }

    #[test]
    fn a_heading_is_the_nearest_definition_above_the_hunk() {
        let old = "fn one() {  \n    1\n    2\n    3\n    4\n    5\n}\n";
        assert!(
            hunks(old, &old.replace('5', "x"), 1)
                .starts_with("@@ -5,3 +5,3 @@ fn one() {\n     4\n-    5\n+    x\n")
        );
        for (line, heading) in [
            ("long ".repeat(20), "long ".repeat(16).trim_end().to_owned()),
            ("caf\u{ffff} x".to_owned(), "caf".to_owned()),
            // Cut within the arrow.
            (format!("{:x<77} → y", ""), format!("{:x<77} ", "")),
        ] {
            let old = format!("{line}\n1\n2\n");
            let expected = format!("@@ -3 +3 @@ {heading}\n");
            let found = hunks(&old, &old.replace('2', "x"), 0);
            assert!(found.starts_with(&expected), "{found:?}\n{expected:?}");
        }
        assert!(hunks(" indented\n1\n", " indented\n2\n", 0).starts_with("@@ -2 +2 @@\n"));
    }

    #[test]
    fn counts_are_those_of_the_lines() {
        let found = text_diff(b"a\nb\nc\n", b"a\nx\ny\nc\n", 3).unwrap();
        assert_eq!((found.insertions, found.deletions), (2, 1));
        assert!(is_binary(b"a\0b") && !is_binary(b"") && !is_binary(&[b'a'; 9000]));
    }

    #[test]
    fn equal_tails_are_left_out_in_blocks_and_to_the_next_line() {
        let tail = "line\n".repeat(1000);
        let (old, new) = (format!("a\n{tail}"), format!("b\n{tail}"));
        let (old, new) = without_common_tail(old.as_bytes(), new.as_bytes());
        assert!(old.len() < 1024 + 16 && old.len() == new.len() && old.ends_with(b"\n"));
    }

    fn lines(data: &[u8]) -> String {
        let mut patch = Vec::new();
        push_lines(&mut patch, data);
        String::from_utf8(patch).unwrap()
    }

    #[test]
    fn the_empty_stream_looks_as_git_writes_it() {
        // The zlib stream of nothing, part of every binary patch that adds a file.
        let found = lines(&[0x78, 0x01, 0x03, 0, 0, 0, 0, 0x01]);
        assert_eq!(found, "HcmV?d00001\n");
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
