//! The list of checkpoints as a table for a terminal, and rows of text in aligned columns, measured
//! as a terminal shows them.

use unicode_width::UnicodeWidthStr;

use crate::answer::format::{Paint, checkpoints, count, size};
use crate::base::text::{escape, thousands};
use crate::base::time::{DAY_MS, age, local_minutes};
use crate::model::{ChangeCounts, Checkpoint, Expiry, ObjectId, RestoreStory, Verb};
use crate::ops::ListOutcome;

/// Where a table is shown.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    pub columns: usize,
    pub paint: Paint,
    pub now_ms: i64,
}

/// Precedes advice where no path matches.
const FROM_HERE: &str = "PATHs count from the current directory; ";

/// Shows the checkpoints that the table leaves out.
const SHOWS_SAFETY: &str = "'checkpoint list --safety'";

/// Marks the row that the directory was last set to, as git marks the current branch.
const MARK: &str = "*";

/// Maximum width of a source.
const SOURCE_COLUMNS: usize = 12;

/// Place of the reason, which gets what the other columns leave.
const REASON: usize = 6;
const SOURCE: usize = 7;
const NOTE: usize = 8;
/// Title of each column, whether it holds numbers, and the narrowest screen that shows it although a
/// reason is cut off for it.
const COLUMNS: [(&str, bool, usize); 9] = [
    ("ID", false, 0),
    ("TIME", false, 0),
    ("AGE", true, 60),
    ("CHANGES", false, 0),
    ("FILES", true, 100),
    ("SIZE", true, 120),
    ("REASON", false, 0),
    ("SOURCE", false, 70),
    ("NOTE", false, 0),
];

/// One checkpoint of the table.
struct Row {
    day: String,
    is_marked: bool,
    is_safety: bool,
    cells: [String; 9],
}

/// Renders one line per checkpoint, below the day that it was made on, then the damaged ones. No
/// line is wider than the screen.
pub fn render(outcome: &ListOutcome, screen: Screen) -> String {
    let rows = rows(outcome, screen);
    let lines = lines(&rows, screen.columns);
    let mut lines = lines.lines();
    let (paint, mut text) = (screen.paint, String::new());
    if let (Some(titles), false) = (lines.next(), rows.is_empty()) {
        text = format!("{}\n", paint.faint(&format!("  {titles}")));
    }
    let mut day = "";
    for (row, line) in rows.iter().zip(lines) {
        if row.day != day {
            day = &row.day;
            text.push_str(&format!("{}\n", paint.bold(day)));
        }
        let lead = if row.is_marked { MARK } else { " " };
        text.push_str(&if row.is_safety {
            paint.faint(&format!("{lead} {line}"))
        } else {
            let (id, rest) = line.split_at(row.cells[0].len());
            format!("{lead} {}{rest}", paint.yellow(id))
        });
        text.push('\n');
    }
    for lost in &outcome.damaged {
        let shown = format!("  {}  damaged: {}", lost.id.short(), escape(&lost.why));
        text.push_str(&paint.red(&cut(&shown, screen.columns)));
        text.push('\n');
    }
    text
}

/// Aligns the titles and the rows, without columns that are empty or have no room.
fn lines(rows: &[Row], screen: usize) -> String {
    let mut cells = vec![COLUMNS.map(|(title, ..)| title.to_owned())];
    cells.extend(rows.iter().map(|row| row.cells.clone()));
    for row in &mut cells {
        row[SOURCE] = cut(&row[SOURCE], SOURCE_COLUMNS);
        row[NOTE] = cut(&row[NOTE], screen / 3);
    }
    let widest = |at: &usize| cells.iter().map(|row| width(&row[*at]) + 2).max();
    let widths: Vec<usize> = (0..COLUMNS.len()).filter_map(|at| widest(&at)).collect();
    let is_used = |at: &usize| cells[1..].iter().any(|row| !row[*at].is_empty());
    let mut order: Vec<usize> = (0..COLUMNS.len()).filter(is_used).collect();
    order.sort_by_key(|at| COLUMNS[*at].2);
    let (mut shown, mut taken) = (Vec::new(), 0);
    for at in order {
        if COLUMNS[at].2 <= screen || taken + widths[at] <= screen {
            shown.push(at);
            taken += widths[at];
        }
    }
    shown.sort_unstable();
    let room = (screen + widths[REASON]).saturating_sub(taken + 2);
    shown.retain(|at| *at != REASON || room > 0);
    let rows = cells.iter_mut().map(|row| {
        row[REASON] = cut(&row[REASON], room);
        shown.iter().map(|at| row[*at].clone()).collect()
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let is_number = |at: &usize| COLUMNS[shown[*at]].1;
    let numbers: Vec<usize> = (0..shown.len()).filter(is_number).collect();
    aligned(&rows, &numbers)
}

/// Says below the table what it leaves out, and where the directory stands unless at the newest.
pub fn footer(outcome: &ListOutcome, is_filtered: bool, columns: usize) -> String {
    let listed = &outcome.checkpoints;
    let safeties = listed.iter().filter(|c| c.is_safety()).count();
    let named = listed.len() - safeties;
    let is_cut = named < outcome.total && !is_filtered;
    let mut text = if is_cut {
        let (shown, all) = (thousands(named as u64), checkpoints(outcome.total));
        format!("{shown} of {all}")
    } else {
        checkpoints(named)
    };
    if safeties > 0 {
        let safeties = count(safeties, "safety checkpoint", "safety checkpoints");
        text.push_str(&format!(", {safeties}"));
    }
    if outcome.hidden > 0 {
        let hidden = thousands(outcome.hidden as u64);
        text = lines_of(
            &[&format!("{text}; {hidden} safety:"), SHOWS_SAFETY],
            columns,
        );
    } else if is_cut || safeties > 0 {
        text = lines_of(&[&text], columns);
    } else {
        text.clear();
    }
    let marked = marked(outcome);
    if marked.is_some() && marked != listed.first().map(|c| c.id) {
        text.push_str("* you are here\n");
    } else if let (None, Some(position), false) = (marked, &outcome.position, is_filtered) {
        let here = format!("you are at {}", position.id.short());
        let of_restore = format!("{here}, a safety checkpoint");
        let advice = format!("({SHOWS_SAFETY})");
        text.push_str(&if position.is_safety() {
            lines_of(&[&of_restore, &advice], columns)
        } else {
            here + "\n"
        });
    }
    text
}

/// Joins texts on one line if they fit; else each begins one.
fn lines_of(texts: &[&str], columns: usize) -> String {
    match texts.join(" ") {
        line if width(&line) <= columns => line + "\n",
        _ => {
            let lines = texts.iter().flat_map(|text| wrapped(text, columns));
            lines.map(|line| format!("{line}\n")).collect()
        }
    }
}

/// Says that nothing matches, and what would show more.
pub fn nothing(outcome: &ListOutcome) -> String {
    let all = thousands(outcome.total as u64);
    let lead = if outcome.is_below { FROM_HERE } else { "" };
    match (outcome.hidden, outcome.total) {
        (0, 0) => "no checkpoints yet: 'checkpoint create' makes one\n".to_owned(),
        (0, _) => format!("no checkpoint matches; {lead}'checkpoint list' shows all {all}\n"),
        (hidden, _) => {
            let do_match = count(hidden, "safety checkpoint does", "safety checkpoints do");
            format!("no checkpoint matches; {do_match}: 'checkpoint list --safety'\n")
        }
    }
}

/// The listed checkpoint that the directory was last set to, or one asked for that holds the same.
fn marked(outcome: &ListOutcome) -> Option<ObjectId> {
    let position = outcome.position.as_ref()?;
    let listed = &outcome.checkpoints;
    let mut whole = listed.iter().filter(|c| c.is_whole());
    let equal = whole.find(|c| c.holds_the_same(position));
    let found = listed.iter().find(|c| c.id == position.id);
    let itself = found.filter(|c| c.is_whole());
    itself.or(equal).or(found).map(|c| c.id)
}

fn rows(outcome: &ListOutcome, screen: Screen) -> Vec<Row> {
    let now_ms = screen.now_ms;
    let day_of = |time_ms: i64| {
        let shown = local_minutes(time_ms);
        shown.split(' ').next().unwrap_or_default().to_owned()
    };
    let (today, yesterday) = (day_of(now_ms), day_of(now_ms.saturating_sub(DAY_MS)));
    let marked = marked(outcome);
    let row = |(at, checkpoint): (usize, &Checkpoint)| {
        let record = &checkpoint.record;
        let story = outcome.stories.get(&checkpoint.id);
        let time = local_minutes(record.time_ms);
        let (day, clock) = time.split_once(' ').unwrap_or((&time, ""));
        let changes = outcome.changes.get(at).copied().flatten();
        let is_safety = checkpoint.is_safety();
        let source = if is_safety { "" } else { &*record.source };
        Row {
            day: match day {
                day if day == today => "Today".to_owned(),
                day if day == yesterday => "Yesterday".to_owned(),
                day => day.to_owned(),
            },
            is_marked: marked == Some(checkpoint.id),
            is_safety,
            cells: [
                checkpoint.id.short(),
                clock.to_owned(),
                age(record.time_ms, now_ms),
                changes.map(change_words).unwrap_or_default(),
                thousands(record.files),
                size(record.content_bytes),
                story.map_or_else(
                    || escape(&record.reason),
                    |(story, reason)| story_words(story, reason.as_deref()),
                ),
                escape(source),
                notes(checkpoint, story.map(|(story, _)| story), now_ms),
            ],
        }
    };
    outcome.checkpoints.iter().enumerate().map(row).collect()
}

/// Formats `+2 ~6 -2`.
pub fn change_words(counts: ChangeCounts) -> String {
    let ChangeCounts {
        added,
        modified,
        deleted,
    } = counts;
    format!("+{added} ~{modified} -{deleted}")
}

/// Formats `restored to f76ff8f6 (wave 1)`.
fn story_words(story: &RestoreStory, reason: Option<&str>) -> String {
    let (what, target) = story_parts(story, reason);
    let done = match story.verb {
        Verb::Restore => return format!("restored {what}{target}"),
        Verb::Undo => "undid",
        Verb::Redo => "redid",
        Verb::Resume => "finished",
    };
    let of = if what.is_empty() { "" } else { "of " };
    format!("{done} the restore {of}{what}{target}")
}

/// Formats the state that the safety checkpoint holds: `the state before the restore to f76ff8f6
/// (wave 1)`.
pub fn state_words(story: &RestoreStory, reason: Option<&str>) -> String {
    let (what, target) = story_parts(story, reason);
    let verb = match story.verb {
        Verb::Undo => "undo of the ",
        Verb::Redo => "redo of the ",
        Verb::Restore | Verb::Resume => "",
    };
    let of = if what.is_empty() { "" } else { "of " };
    format!("the state before the {verb}restore {of}{what}{target}")
}

/// The paths of a restore, if it was limited to some, and what it went to.
fn story_parts(story: &RestoreStory, reason: Option<&str>) -> (String, String) {
    let reason = reason.map_or("since dropped".to_owned(), escape);
    let target = format!("{} ({reason})", story.target.short());
    match story.paths.as_slice() {
        [] => (String::new(), format!("to {target}")),
        [one] => (format!("{one} "), format!("from {target}")),
        [first, rest @ ..] => (
            format!("{first} and {} more ", rest.len()),
            format!("from {target}"),
        ),
    }
}

fn notes(checkpoint: &Checkpoint, story: Option<&RestoreStory>, now_ms: i64) -> String {
    let taken_back = story.filter(|story| story.is_taken_back);
    let taken_back = taken_back.map(|story| story.verb);
    let expiry = match checkpoint.record.terms.expiry {
        Some(Expiry::At(end_ms)) if end_ms <= now_ms => "expired".to_owned(),
        Some(Expiry::At(end_ms)) => format!("expires in {}", age(now_ms, end_ms)),
        Some(Expiry::Never) => "never expires".to_owned(),
        None => String::new(),
    };
    let notes = [
        (taken_back == Some(Verb::Undo), "redone"),
        (taken_back.is_some_and(|verb| verb != Verb::Undo), "undone"),
        (checkpoint.is_partial(), "partial"),
        (checkpoint.is_scoped(), "scoped"),
        (checkpoint.pinned, "pinned"),
        (checkpoint.record.during_pending, "interrupted restore"),
        (!expiry.is_empty(), &*expiry),
    ];
    let notes = notes.into_iter().filter(|(is_so, _)| *is_so);
    notes.map(|(_, note)| note).collect::<Vec<_>>().join(", ")
}

/// Number of terminal columns that a text takes; wide characters take two.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Pads a text with spaces up to a width.
pub fn padded(text: &str, wanted: usize, to_the_right: bool) -> String {
    let blanks = " ".repeat(wanted.saturating_sub(width(text)));
    if to_the_right {
        format!("{blanks}{text}")
    } else {
        format!("{text}{blanks}")
    }
}

/// Cuts a text off at a width, ending in `…`.
pub fn cut(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let ending = if limit > 0 { "…" } else { "" };
    let fitting = fitting(text, limit.saturating_sub(1));
    format!("{}{ending}", &text[..fitting])
}

/// Returns the length of the beginning that fits into a width.
fn fitting(text: &str, room: usize) -> usize {
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let fitting = ends.take_while(|end| width(&text[..*end]) <= room).last();
    fitting.unwrap_or_default()
}

/// Breaks a text into lines of at most this width, at blanks where there are some.
pub fn wrapped(text: &str, room: usize) -> Vec<&str> {
    let (mut lines, mut rest) = (Vec::new(), text);
    while width(rest) > room {
        let end = match fitting(rest, room) {
            0 => break,
            end => rest[..end].rfind(' ').map_or(end, |blank| blank + 1),
        };
        lines.push(rest[..end].trim_end());
        rest = &rest[end..];
    }
    lines.push(rest);
    lines
}

/// Formats rows below their titles, as [`aligned`] does.
pub fn titled<const N: usize>(
    titles: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
    right: &[usize],
) -> String {
    let titles = std::iter::once(titles.map(str::to_owned));
    let rows: Vec<_> = titles.chain(rows).map(Vec::from).collect();
    aligned(&rows, right)
}

/// Formats one row per line, with columns padded to their widest cell; columns in `right` are
/// right-aligned. No line ends in spaces.
pub fn aligned(rows: &[Vec<String>], right: &[usize]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| width(cell)).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate();
        let cells = cells.map(|(at, cell)| padded(cell, widths[at], right.contains(&at)));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "1", "x"], ["long", "20", ""]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(aligned(&rows, &[1]), "a      1  x\nlong  20\n");
        let rows = [["波1", "x"], ["abc", "y"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(aligned(&rows, &[]), "波1  x\nabc  y\n");
    }

    #[test]
    fn a_text_that_is_cut_off_takes_no_more_than_its_room() {
        for (text, limit, expected) in [
            ("wave", 4, "wave"),
            ("wave 1", 4, "wav…"),
            ("波波波", 6, "波波波"),
            ("波波波", 5, "波波…"),
            ("波波波", 4, "波…"),
            ("🎈x", 2, "…"),
            ("x", 0, ""),
        ] {
            assert_eq!(cut(text, limit), expected, "{text} {limit}");
            assert!(width(&cut(text, limit)) <= limit, "{text} {limit}");
        }
    }
}
