//! `list`: a table for people, markdown for pipes.

use std::ffi::OsString;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};

use crate::answer::table::{aligned, change_words, cut, story_parts, width, wrapped};
use crate::base::text::thousands;
use crate::base::time::{DAY_MS, age, local_minutes};
use crate::commands::args::{PeriodArgs, bytes_of};
use crate::commands::prelude::*;
use crate::commands::stores;
use crate::model::checkpoint::manifest;
use crate::model::json::published_as;
use crate::model::{
    ChangeCounts, Checkpoint, CheckpointKind, CheckpointRow, DamagedCheckpoint, Expiry, ObjectId,
    RestoreStory, Verb,
};
use crate::ops::browse::list::{ListFilter, list};
use crate::ops::select::checkpoint;
use crate::ops::{ListOptions, ListOutcome, StoreList};

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
    ("TIME", false, 30),
    ("AGE", true, 60),
    ("CHANGES", false, 0),
    ("FILES", true, 100),
    ("SIZE", true, 120),
    ("REASON", false, 0),
    ("SOURCE", false, 70),
    ("NOTE", false, 30),
];

/// One checkpoint of the table.
struct Row {
    day: String,
    is_marked: bool,
    is_safety: bool,
    cells: [String; 9],
}

/// List the checkpoints, newest first
///
/// To a pipe, prints a markdown table in a stable format.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Maximum number of checkpoints
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,
    /// Only checkpoints whose reason matches this pattern of * and ?
    #[arg(long, value_name = "GLOB")]
    pub reason: Option<String>,
    /// Only checkpoints whose reason contains this text, in upper or lower case
    #[arg(long, value_name = "TEXT")]
    pub grep: Option<String>,
    /// Only checkpoints that changed this file or directory; may be repeated
    #[arg(long, value_name = "PATH")]
    pub path: Vec<OsString>,
    /// Only checkpoints of this source
    #[arg(long, value_name = "TEXT")]
    pub source: Option<String>,
    /// Only checkpoints made in this session of an agent [without ID: the current one]
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = checkpoint::CURRENT)]
    pub session: Option<String>,
    #[command(flatten)]
    pub period: PeriodArgs,
    /// Only checkpoints of this kind
    #[arg(long, value_parser = PossibleValuesParser::new(["checkpoint", "safety"]).try_map(|kind| kind.parse::<CheckpointKind>()))]
    pub kind: Option<CheckpointKind>,
    /// On a terminal, also show the safety checkpoints of restores, undos and redos
    #[arg(long)]
    pub safety: bool,
    /// Also show how many files each one added, changed and deleted
    #[arg(long)]
    pub stat: bool,
    /// List what was fetched from a remote
    #[arg(long, value_name = "NAME")]
    pub remote: Option<String>,
    /// List the stores of all directories, with their state
    #[arg(long, conflicts_with_all = ["limit", "reason", "grep", "path", "source", "session", "since", "until", "kind", "safety", "stat", "remote"])]
    pub all: bool,
}

impl Command for ListArgs {
    type Answer = Either<ListOutcome, StoreList>;

    fn properties(&self) -> Properties {
        Properties {
            name: self.all.then_some("list.all"),
            ..Properties::USUAL
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<Self::Answer>> {
        if self.all {
            return Ok(stores::list(context)?.map(Either::Second));
        }
        let is_for_a_person = cmd.printer.for_a_person() && !cmd.printer.json;
        let is_safety = self.kind == Some(CheckpointKind::Safety);
        let options = ListOptions {
            remote: self.remote,
            limit: self.limit,
            filter: ListFilter {
                reason: self.reason,
                grep: self.grep,
                source: self.source,
                session: self.session,
                agent: None,
                period: self.period.resolve(context.now_ms)?,
                kind: self.kind,
                paths: bytes_of(self.path),
            },
            hides_safety: is_for_a_person && !self.safety && !is_safety,
            tells: is_for_a_person,
            counts_changes: self.stat,
        };
        let done = Done::from(list(context, &options)?);
        Ok(done.map(Either::First))
    }
}

impl Text for ListOutcome {
    fn write(&self, out: &mut Out<'_>) {
        if !self.exists {
            out.no_store();
        } else if self.checkpoints.is_empty() {
            if out.is_for_a_person || self.is_filtered {
                out.talk = nothing(self);
            }
        } else if out.is_for_a_person {
            out.talk = footer(self, out.columns);
        }
        if out.is_for_a_person {
            return write_table(self, out);
        }
        // Byte for byte the table of the manifest, newest first; with the changes if they were counted.
        let rendered = manifest::render(&self.checkpoints);
        let changes = self.changes.iter();
        let counts = changes.map(|counts| counts.map(change_words));
        if self.changes.is_empty() {
            out.result = rendered;
            return;
        }
        let titles = ["Changes", "---"].map(|title| Some(title.to_owned()));
        let mut cells = titles.into_iter().chain(counts);
        for line in rendered.lines() {
            let cell = cells.next().flatten().unwrap_or_default();
            outln!(out, "{line} {cell} |");
        }
    }
}

/// The checkpoints of the directory.
#[derive(Serialize, JsonSchema)]
pub struct ListAnswer {
    /// Newest first.
    checkpoints: Vec<ListedCheckpoint>,
    /// Checkpoints that cannot be read.
    damaged: Vec<DamagedCheckpoint>,
    store: String,
}

/// A checkpoint, with what changed in it.
#[derive(Serialize, JsonSchema)]
struct ListedCheckpoint {
    #[serde(flatten)]
    row: CheckpointRow,
    /// Whether the directory stands here: what `@` names.
    is_current: bool,
    /// Null without `--stat`.
    counts: Option<ChangeCounts>,
}

published_as! { ListOutcome, ListAnswer, |outcome| {
    let mut counts = outcome.changes.iter().copied();
    let position = outcome.position.as_ref().map(|c| c.id);
    let listed = |row: &Checkpoint| ListedCheckpoint {
        row: CheckpointRow::new(row),
        is_current: position == Some(row.id),
        counts: counts.next().flatten(),
    };
    ListAnswer {
        checkpoints: outcome.checkpoints.iter().map(listed).collect(),
        damaged: outcome.damaged.clone(),
        store: outcome.store.display().to_string(),
    }
}; }

/// Writes one line per checkpoint, below the day that it was made on, then the damaged ones. No line
/// is wider than the screen.
fn write_table(outcome: &ListOutcome, out: &mut Out<'_>) {
    let rows = rows(outcome, out.context.now_ms);
    let lines = lines(&rows, out.columns);
    let (paint, mut lines, mut day) = (out.paint, lines.lines(), "");
    if let (Some(titles), false) = (lines.next(), rows.is_empty()) {
        outln!(out, "{}", paint.faint(&format!("  {titles}")));
    }
    for (row, line) in rows.iter().zip(lines) {
        if row.day != day {
            day = &row.day;
            outln!(out, "{}", paint.bold(day));
        }
        let lead = if row.is_marked { MARK } else { " " };
        if row.is_safety {
            outln!(out, "{}", paint.faint(&format!("{lead} {line}")));
        } else {
            let (id, rest) = line.split_at(row.cells[0].len());
            outln!(out, "{lead} {}{rest}", paint.yellow(id));
        }
    }
    for lost in &outcome.damaged {
        let shown = format!("  {}  damaged: {}", lost.id.short(), escape(&lost.why));
        outln!(out, "{}", paint.red(&cut(&shown, out.columns)));
    }
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

/// Names below the table what it leaves out, and the place of the directory unless that is the newest.
fn footer(outcome: &ListOutcome, columns: usize) -> String {
    let listed = &outcome.checkpoints;
    let safeties = listed.iter().filter(|c| c.is_safety()).count();
    let named = listed.len() - safeties;
    let is_cut = named < outcome.total && !outcome.is_filtered;
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
    } else if let (None, Some(position), false) = (marked, &outcome.position, outcome.is_filtered) {
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
fn nothing(outcome: &ListOutcome) -> String {
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

fn rows(outcome: &ListOutcome, now_ms: i64) -> Vec<Row> {
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

fn notes(checkpoint: &Checkpoint, story: Option<&RestoreStory>, now_ms: i64) -> String {
    let taken_back = story.filter(|story| story.is_taken_back);
    let taken_back = taken_back.map(|story| match story.verb {
        Verb::Undo => "redone",
        _ => "undone",
    });
    let expiry = checkpoint.record.terms.expiry.map(|expiry| match expiry {
        Expiry::At(end_ms) if end_ms <= now_ms => "expired".to_owned(),
        Expiry::At(end_ms) => format!("expires in {}", age(now_ms, end_ms)),
        Expiry::Never => "never expires".to_owned(),
    });
    let is_part = checkpoint.record.during_pending;
    let notes = [
        taken_back,
        checkpoint.is_partial().then_some("partial"),
        checkpoint.is_scoped().then_some("scoped"),
        checkpoint.pinned.then_some("pinned"),
        is_part.then_some("interrupted restore"),
        expiry.as_deref(),
    ];
    notes.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
