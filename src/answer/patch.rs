//! Patches in the format of git, raw for programs, coloured and escaped for a terminal; and their
//! statistics.

use crate::answer::format::Paint;
use crate::answer::table::padded;
use crate::base::git_quoting::quoted;
use crate::base::text::escape_content;
use crate::model::ObjectId;
use crate::ops::browse::diff::file_diff::Piece;
use crate::ops::{Body, FileDiff, SeenFile};

/// Hex digits of ids in a header. A patch with binary data has full ids, as git requires.
const ID_DIGITS: usize = 10;
/// Maximum width of a name.
const NAME_COLUMNS: usize = 48;
/// Maximum number of signs in a line.
const GRAPH_COLUMNS: usize = 20;

#[derive(Clone, Copy, Debug)]
pub struct PatchStyle {
    pub paint: Paint,
    /// The content is escaped for a terminal.
    pub is_for_terminal: bool,
}

/// Renders the patch of one path.
pub fn render(file: &FileDiff, style: PatchStyle) -> Vec<u8> {
    let mut patch = Vec::new();
    for piece in &file.pieces {
        for line in header(file, piece).lines() {
            patch.extend_from_slice(style.paint.bold(line).as_bytes());
            patch.push(b'\n');
        }
        match &piece.body {
            Body::Same => {}
            Body::Text(hunks) => push_hunks(&mut patch, hunks, style),
            Body::Binary(Some(data)) => patch.extend_from_slice(data),
            Body::Binary(None) => {
                let [before, after] = labels(file, piece);
                let line = format!("Binary files {before} and {after} differ\n");
                patch.extend_from_slice(line.as_bytes());
            }
        }
    }
    patch
}

fn header(file: &FileDiff, piece: &Piece) -> String {
    let path = file.path.as_bytes();
    let mut header = format!("diff --git {} {}\n", quoted("a/", path), quoted("b/", path));
    let mut mode_at_end = String::new();
    match (piece.before, piece.after) {
        (None, Some(after)) => header.push_str(&format!("new file mode {:06o}\n", after.mode.0)),
        (Some(before), None) => {
            header.push_str(&format!("deleted file mode {:06o}\n", before.mode.0));
        }
        (Some(before), Some(after)) if before.mode != after.mode => {
            let (old, new) = (before.mode.0, after.mode.0);
            header.push_str(&format!("old mode {old:06o}\nnew mode {new:06o}\n"));
        }
        (Some(before), _) => mode_at_end = format!(" {:06o}", before.mode.0),
        (None, None) => {}
    }
    if piece.body != Body::Same {
        let has_data = matches!(piece.body, Body::Binary(Some(_)));
        let id = |side: Option<SeenFile>| {
            let id = side.map_or(ObjectId::from_bytes([0; 20]), |seen| seen.id);
            let hex = id.to_hex();
            let digits = if has_data { hex.len() } else { ID_DIGITS };
            hex[..digits].to_owned()
        };
        let [before, after] = [piece.before, piece.after].map(id);
        header.push_str(&format!("index {before}..{after}{mode_at_end}\n"));
    }
    if matches!(&piece.body, Body::Text(hunks) if !hunks.is_empty()) {
        let [before, after] = labels(file, piece).map(|label| {
            let end = if label.contains(' ') { "\t" } else { "" };
            label + end
        });
        header.push_str(&format!("--- {before}\n+++ {after}\n"));
    }
    header
}

fn labels(file: &FileDiff, piece: &Piece) -> [String; 2] {
    let label = |prefix, side: Option<SeenFile>| match side {
        Some(_) => quoted(prefix, file.path.as_bytes()),
        None => "/dev/null".to_owned(),
    };
    [label("a/", piece.before), label("b/", piece.after)]
}

fn push_hunks(patch: &mut Vec<u8>, hunks: &[u8], style: PatchStyle) {
    if !style.is_for_terminal && !style.paint.enabled {
        patch.extend_from_slice(hunks);
        return;
    }
    for line in hunks.split_inclusive(|byte| *byte == b'\n') {
        let shown = escape_content(line);
        let text = shown.trim_end_matches('\n');
        let painted = match line.first() {
            Some(b'@') => paint_hunk_head(text, style.paint),
            Some(b'-') => style.paint.red(text),
            Some(b'+') => style.paint.green(text),
            _ => text.to_owned(),
        };
        patch.extend_from_slice(painted.as_bytes());
        patch.push(b'\n');
    }
}

/// Colours the ranges cyan, and leaves the heading after them plain.
fn paint_hunk_head(text: &str, paint: Paint) -> String {
    let end = text[2..].find("@@").map_or(text.len(), |at| at + 4);
    format!("{}{}", paint.cyan(&text[..end]), &text[end..])
}

/// Renders one line for each path with a graph, in 80 columns.
pub fn stat(files: &[FileDiff], paint: Paint) -> String {
    let numbers = files.iter().map(|file| lines(file).iter().sum::<usize>());
    let Some(most) = numbers.max() else {
        return String::new();
    };
    let paths = files.iter().map(|file| quoted("", file.path.as_bytes()));
    let names: Vec<String> = paths.map(|path| shortened(&path)).collect();
    let width = names.iter().map(String::len).max().unwrap_or_default();
    let has_binary = files.iter().any(|file| file.is_binary);
    let digits = most.to_string().len().max(if has_binary { 3 } else { 1 });
    let line = |(file, name): (&FileDiff, &String)| {
        let change = change(file, most, digits, paint);
        format!(" {} | {change}\n", padded(name, width, false))
    };
    let lines: String = files.iter().zip(&names).map(line).collect();
    lines + &summary(files)
}

/// Formats the number of changed lines with their graph, or the sizes of a binary file.
fn change(file: &FileDiff, most: usize, digits: usize, paint: Paint) -> String {
    if file.is_binary {
        let size = |side: Option<SeenFile>| side.and_then(|seen| seen.size_bytes);
        let [before, after] =
            [file.before, file.after].map(|side| size(side).unwrap_or(0).to_string());
        let (before, after) = (paint.red(&before), paint.green(&after));
        return format!("Bin {before} -> {after} bytes");
    }
    let [added, deleted] = lines(file);
    // At least one sign unless zero.
    let signs = |lines: usize, sign: &str| {
        sign.repeat((lines * GRAPH_COLUMNS.min(most)).div_ceil(most.max(1)))
    };
    let graph = match (added, deleted) {
        (0, 0) => String::new(),
        (_, 0) => paint.green(&signs(added, "+")),
        (0, _) => paint.red(&signs(deleted, "-")),
        _ => paint.green(&signs(added, "+")) + &paint.red(&signs(deleted, "-")),
    };
    format!("{:>digits$} {graph}", added + deleted)
        .trim_end()
        .to_owned()
}

/// Cuts a long name at the front, at a `/` if possible. Quoted names are ASCII.
fn shortened(name: &str) -> String {
    if name.len() <= NAME_COLUMNS {
        return name.to_owned();
    }
    let end = &name[name.len() - (NAME_COLUMNS - 3)..];
    format!("...{}", end.find('/').map_or(end, |at| &end[at..]))
}

fn summary(files: &[FileDiff]) -> String {
    let all = files.iter().map(lines);
    let (added, deleted) = all.fold((0, 0), |sum, [added, deleted]| {
        (sum.0 + added, sum.1 + deleted)
    });
    let s = |number: usize| if number == 1 { "" } else { "s" };
    let mut text = format!(" {} file{} changed", files.len(), s(files.len()));
    if added > 0 || deleted == 0 {
        text.push_str(&format!(", {added} insertion{}(+)", s(added)));
    }
    if deleted > 0 || added == 0 {
        text.push_str(&format!(", {deleted} deletion{}(-)", s(deleted)));
    }
    text + "\n"
}

/// Returns the number of added and of deleted lines.
fn lines(file: &FileDiff) -> [usize; 2] {
    [file.insertions, file.deletions].map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tests::rows;
    use crate::model::tests::id;
    use crate::model::{Octal, RelPath};
    use crate::ops::browse::diff::file_diff::{Detail, FileVersion, PatchOptions, compare};

    const OPTIONS: PatchOptions = PatchOptions {
        detail: Detail::Patch,
        context: 3,
        binary: false,
    };

    /// The patch from one version to another, each given by its mode and bytes.
    fn patch(path: &[u8], versions: [Option<(u32, &str)>; 2], style: PatchStyle) -> String {
        let version = |number: u8| {
            let (mode, text) = versions[usize::from(number)]?;
            let seen = SeenFile {
                mode: Octal(mode),
                id: id(number + 1),
                size_bytes: Some(text.len() as u64),
            };
            let bytes = Some(text.as_bytes().to_vec());
            Some(FileVersion { seen, bytes })
        };
        let (before, after) = (version(0), version(1));
        let path = RelPath::new(path).unwrap();
        let file = compare(path, before.as_ref(), after.as_ref(), OPTIONS).unwrap();
        String::from_utf8(render(&file, style)).unwrap()
    }

    fn style(enabled: bool, is_for_terminal: bool) -> PatchStyle {
        PatchStyle {
            paint: Paint { enabled },
            is_for_terminal,
        }
    }

    #[test]
    fn each_change_is_told_as_git_does() {
        let tables = include_str!("tests/patch.json");
        for (why, path, before, after, expected) in
            rows::<(&str, &str, _, _, &str)>(tables, "patches")
        {
            let shown = patch(path.as_bytes(), [before, after], style(false, false));
            assert_eq!(shown, expected, "{why}");
        }
        let shown = patch(b"\xff", [None, Some((0o100_644, ""))], style(false, false));
        assert!(
            shown.starts_with("diff --git \"a/\\377\" \"b/\\377\"\nnew"),
            "{shown}"
        );
    }

    #[test]
    fn content_cannot_act_on_a_terminal_painted_or_not() {
        for enabled in [true, false] {
            let versions = ["\x1b]0;x\x07\n", "a\rb\n"].map(|text| Some((0o100_644, text)));
            let shown = patch(b"f", versions, style(enabled, true));
            let is_harmless = shown.contains("-\\x1b]0;x\\x07") && shown.contains("+a\\x0db");
            assert!(is_harmless, "{shown}");
            assert_eq!(shown.contains("\x1b[31m-"), enabled);
            assert_eq!(shown.contains("\x1b[36m@@ -1 +1 @@\x1b[0m"), enabled);
        }
    }
}
