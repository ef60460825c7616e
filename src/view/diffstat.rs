//! `diff --stat`: one line per path with a graph, in 80 columns.

use crate::base::quoting::quoted;
use crate::ops::browse::diff::file_diff::FileDiff;
use crate::ops::browse::diff::version::SeenFile;
use crate::view::columns::padded;
use crate::view::format::Paint;

/// Maximum width of a name.
const NAME_COLUMNS: usize = 48;
/// Maximum number of signs in a line.
const GRAPH_COLUMNS: usize = 20;

pub fn render(files: &[FileDiff], paint: Paint) -> String {
    let Some(most) = files.iter().map(changed).max() else {
        return String::new();
    };
    let names: Vec<String> = files
        .iter()
        .map(|file| shortened(&quoted("", file.path.as_bytes())))
        .collect();
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
        let [before, after] = [file.before, file.after].map(size);
        return format!(
            "Bin {} -> {} bytes",
            paint.red(&before),
            paint.green(&after)
        );
    }
    let (added, deleted) = file.counts.unwrap_or_default();
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
    let (mut added, mut deleted) = (0, 0);
    for counts in files.iter().filter_map(|file| file.counts) {
        (added, deleted) = (added + counts.0, deleted + counts.1);
    }
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

fn changed(file: &FileDiff) -> usize {
    file.counts.map_or(0, |(added, deleted)| added + deleted)
}

fn size(side: Option<SeenFile>) -> String {
    side.map_or(0, |seen| seen.size_bytes).to_string()
}
