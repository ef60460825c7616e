//! A path's part of a patch: its versions as far as they can be read, its hunks, or its bytes in
//! git's binary form.

use crate::base::base85;
use crate::error::Result;
use crate::model::json::{JsonSchema, Serialize};
use crate::model::state::entry::TYPE_BITS;
use crate::model::{ChangeKind, Entry, ObjectId, Octal, RelPath, WhyNot};
use crate::ops::browse::diff::text_diff::{is_binary, text_diff};
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
        base85::push_lines(&mut patch, deflater.compress(content));
        patch.push(b'\n');
    }
    patch
}
