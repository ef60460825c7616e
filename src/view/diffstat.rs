//! `diff --stat`: one line per path with a graph, sized for 80 columns as in git.

use crate::base::quoting::quoted;
use crate::ops::browse::diff::file_diff::FileDiff;
use crate::view::format::Paint;

const COLUMNS: usize = 80;

/// Widths of the columns, in characters.
struct Measures {
    name: usize,
    number: usize,
    graph: usize,
    /// Maximum number of changed lines in one file.
    most: usize,
}

pub fn render(files: &[FileDiff], paint: Paint) -> String {
    if files.is_empty() {
        return String::new();
    }
    let names: Vec<String> = files
        .iter()
        .map(|file| quoted("", file.path.as_bytes()))
        .collect();
    let measures = Measures::of(files, &names);
    let mut text: String = files
        .iter()
        .zip(&names)
        .map(|(file, name)| line(file, name, &measures, paint))
        .collect();
    text.push_str(&summary(files));
    text
}

impl Measures {
    /// Follows git's `show_stats`: names and graph as wide as needed, else as five to three.
    fn of(files: &[FileDiff], names: &[String]) -> Self {
        let longest = names.iter().map(String::len).max().unwrap_or_default();
        let most = files.iter().map(changed).max().unwrap_or_default();
        let mut number = digits(most);
        let mut bytes_width = 0;
        for file in files.iter().filter(|file| file.is_binary) {
            let (before, after) = sizes(file);
            bytes_width = bytes_width.max(14 + digits(before) + digits(after));
            number = number.max(3);
        }
        let width = COLUMNS.max(16 + 6 + number);
        let mut name = longest;
        let mut graph = if most + 4 > bytes_width {
            most
        } else {
            bytes_width - 4
        };
        if name + number + 6 + graph > width {
            graph = graph.min((width * 3 / 8).saturating_sub(number + 6).max(6));
            if name > width - number - 6 - graph {
                name = width - number - 6 - graph;
            } else {
                graph = width - number - 6 - name;
            }
        }
        Self {
            name,
            number,
            graph,
            most,
        }
    }

    /// Scales a number of lines to graph characters; at least one unless zero.
    fn scaled(&self, lines: usize) -> usize {
        if lines == 0 {
            0
        } else {
            1 + lines * (self.graph - 1) / self.most
        }
    }

    fn signs(&self, added: usize, deleted: usize) -> (usize, usize) {
        if self.graph > self.most {
            return (added, deleted);
        }
        let both = usize::from(added > 0 && deleted > 0);
        let total = self.scaled(added + deleted).max(2 * both);
        if added < deleted {
            let plus = self.scaled(added);
            (plus, total - plus)
        } else {
            let minus = self.scaled(deleted);
            (total - minus, minus)
        }
    }
}

fn line(file: &FileDiff, name: &str, measures: &Measures, paint: Paint) -> String {
    let Measures {
        name: width,
        number,
        ..
    } = *measures;
    let name = shortened(name, width);
    if file.is_binary {
        let (before, after) = sizes(file);
        let same = before == 0 && after == 0;
        let (before, after) = (
            paint.red(&before.to_string()),
            paint.green(&after.to_string()),
        );
        let sizes = if same {
            String::new()
        } else {
            format!(" {before} -> {after} bytes")
        };
        return format!(" {name:<width$} | {:>number$}{sizes}\n", "Bin");
    }
    let (added, deleted) = file.counts.unwrap_or_default();
    let (plus, minus) = measures.signs(added, deleted);
    let graph = [(plus, "+"), (minus, "-")].map(|(times, sign)| sign.repeat(times));
    let painted = [
        if plus == 0 {
            String::new()
        } else {
            paint.green(&graph[0])
        },
        if minus == 0 {
            String::new()
        } else {
            paint.red(&graph[1])
        },
    ];
    let gap = if added + deleted > 0 { " " } else { "" };
    format!(
        " {name:<width$} | {:>number$}{gap}{}{}\n",
        added + deleted,
        painted[0],
        painted[1]
    )
}

/// Cuts a long name at the front, at a `/` if possible. Quoted names are ASCII.
fn shortened(name: &str, width: usize) -> String {
    if name.len() <= width {
        return name.to_owned();
    }
    let end = &name[name.len() - width.saturating_sub(3)..];
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

/// Returns the sizes in bytes before and after; zero if the contents are equal.
fn sizes(file: &FileDiff) -> (usize, usize) {
    let [before, after] = [file.before, file.after];
    if before.map(|seen| seen.id) == after.map(|seen| seen.id) {
        return (0, 0);
    }
    let size = |side: Option<crate::ops::browse::diff::version::SeenFile>| {
        usize::try_from(side.map_or(0, |seen| seen.size_bytes)).unwrap_or(usize::MAX)
    };
    (size(before), size(after))
}

fn digits(number: usize) -> usize {
    number.to_string().len()
}
