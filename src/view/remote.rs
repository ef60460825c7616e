//! `remote`, `push`, `fetch` and `clone` as text and as JSON.

use std::path::Path;

use crate::base::text::{escape, escape_path};
use crate::model::json::CheckpointRef;
use crate::ops::transfer::clone::CloneOutcome;
use crate::ops::transfer::drop_line::DropOutcome;
use crate::ops::transfer::fetch::FetchOutcome;
use crate::ops::transfer::push::PushOutcome;
use crate::ops::transfer::remote::{RemoteOutcome, RemoteRow};
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::format::count;
use crate::view::import::will_evict;
use crate::view::words::Output;

/// Says what `remote add`, `list` or `remove` did.
pub fn human(command: &str, outcome: &RemoteOutcome) -> Output {
    let row = |remote: &RemoteRow| {
        let RemoteRow { name, url, lines } = remote;
        let url = escape(url);
        match command {
            "remote.add" => format!("Remote {name} is {url}\n"),
            "remote.remove" => format!(
                "Removed {name} ({url}) from this store; nothing was deleted on the server\n"
            ),
            _ if *lines > 0 => format!(
                "{name}  {url}  ({} fetched)\n",
                count(*lines, "line", "lines")
            ),
            _ => format!("{name}  {url}\n"),
        }
    };
    Output {
        result: outcome.remotes.iter().map(row).collect(),
        talk: if outcome.remotes.is_empty() {
            "no remotes; 'checkpoint remote add NAME URL' names one\n".to_owned()
        } else {
            String::new()
        },
    }
}

/// Remotes that were added, removed or listed.
#[derive(Serialize, JsonSchema)]
pub struct RemoteAnswer {
    remotes: Vec<RemoteJson>,
}

/// A remote.
#[derive(Serialize, JsonSchema)]
struct RemoteJson {
    name: String,
    /// Without passwords and tokens.
    url: String,
    /// Number of lines that were fetched: one for each store that pushed.
    fetched_lines: usize,
}

pub fn json(command: &str, outcome: &RemoteOutcome) -> String {
    let remote = |row: &RemoteRow| RemoteJson {
        name: row.name.clone(),
        url: row.url.clone(),
        fetched_lines: row.lines,
    };
    let data = RemoteAnswer {
        remotes: outcome.remotes.iter().map(remote).collect(),
    };
    envelope(command, 0, &data, &outcome.warnings)
}

/// What is at stake, and the question.
pub fn drop_question(remote: &str, line: &str) -> (String, String) {
    let what = format!("{line} would be removed at {remote}");
    let question =
        format!("This removes {line} at {remote}, with what only it has.\nRemove it? [y/N] ");
    (what, question)
}

pub fn dropped(outcome: &DropOutcome) -> Output {
    let DropOutcome { remote, line } = outcome;
    Output {
        result: format!("Removed {line} at {remote}\n"),
        talk: String::new(),
    }
}

/// A line that was removed at a remote.
#[derive(Serialize, JsonSchema)]
pub struct DroppedLineAnswer {
    remote: String,
    /// The ref that was removed there.
    line: String,
}

pub fn dropped_json(outcome: &DropOutcome) -> String {
    let data = DroppedLineAnswer {
        remote: outcome.remote.clone(),
        line: outcome.line.clone(),
    };
    envelope("remote.drop", 0, &data, &[])
}

pub fn pushed(outcome: &PushOutcome) -> Output {
    let (remote, total) = (&outcome.remote, checkpoints(outcome.total));
    let mut result = match outcome.sent.len() {
        _ if !outcome.is_changed => format!("{remote} is up to date: {total}\n"),
        0 => format!("Pushed pins, reasons or workflows to {remote}: {total}\n"),
        sent => format!("Pushed {} to {remote}\n", checkpoints(sent)),
    };
    if outcome.removed > 0 {
        let removed = count(outcome.removed, "former line", "former lines");
        result.push_str(&format!("Removed {removed} there.\n"));
    }
    if !outcome.prompts_left.is_empty() {
        let left = checkpoints(outcome.prompts_left.len());
        result.push_str(&format!(
            "Left out: {left} with the text of a prompt, which only --with-prompts pushes.\n"
        ));
    }
    Output {
        result,
        talk: String::new(),
    }
}

/// What was pushed.
#[derive(Serialize, JsonSchema)]
pub struct PushAnswer {
    remote: String,
    /// Those that were sent, oldest first.
    checkpoints: Vec<CheckpointRef>,
    /// Number of checkpoints of this store that are there.
    checkpoint_count: usize,
    workflow_count: usize,
    /// Number of checkpoints left out because they have the text of a prompt.
    left_out_for_prompts: usize,
    /// Number of former lines of this store that were removed there.
    removed_lines: usize,
    /// True if all was there already.
    nothing_to_do: bool,
}

pub fn push_json(outcome: &PushOutcome) -> String {
    let data = PushAnswer {
        remote: outcome.remote.clone(),
        checkpoints: outcome.sent.iter().map(CheckpointRef::new).collect(),
        checkpoint_count: outcome.total,
        workflow_count: outcome.runs,
        left_out_for_prompts: outcome.prompts_left.len(),
        removed_lines: outcome.removed,
        nothing_to_do: !outcome.is_changed,
    };
    envelope("push", 0, &data, &outcome.warnings)
}

pub fn fetched(outcome: &FetchOutcome) -> Output {
    let remote = &outcome.remote;
    let mut result = match outcome.added.len() {
        _ if outcome.is_again => {
            let all = checkpoints(outcome.total);
            let own = if outcome.has_own {
                ", and what was pushed from here"
            } else {
                ""
            };
            format!("Fetched all of {remote} again: {all}{own}\n")
        }
        0 if outcome.is_changed => {
            format!("Fetched pins, reasons or workflows from {remote}\n")
        }
        0 => format!("Nothing new at {remote}: {}\n", checkpoints(outcome.total)),
        added => format!("Fetched {} from {remote}\n", checkpoints(added)),
    };
    if outcome.forgotten > 0 {
        let lines = count(outcome.forgotten, "line that is", "lines that are");
        result.push_str(&format!("Forgot {lines} no longer there.\n"));
    }
    if outcome.gone > 0 {
        let gone = count(outcome.gone, "line is", "lines are");
        result.push_str(&format!(
            "{gone} here and no longer there; 'checkpoint fetch {remote} --prune' forgets what is gone.\n"
        ));
    }
    Output {
        result,
        talk: String::new(),
    }
}

/// What was fetched.
#[derive(Serialize, JsonSchema)]
pub struct FetchAnswer {
    remote: String,
    /// Those that are new from there, oldest first; all of them, if everything was brought again.
    checkpoints: Vec<CheckpointRef>,
    /// Number of all checkpoints of the remote that are here.
    checkpoint_count: usize,
    /// Number of lines that are here and no longer there.
    gone_lines: usize,
    /// Number of such lines that were forgotten.
    forgotten_lines: usize,
}

pub fn fetch_json(outcome: &FetchOutcome) -> String {
    let data = FetchAnswer {
        remote: outcome.remote.clone(),
        checkpoints: outcome.added.iter().map(CheckpointRef::new).collect(),
        checkpoint_count: outcome.total,
        gone_lines: outcome.gone,
        forgotten_lines: outcome.forgotten,
    };
    envelope("fetch", 0, &data, &outcome.warnings)
}

pub fn cloned(outcome: &CloneOutcome, directory: &Path) -> Output {
    let restored = &outcome.restored;
    Output {
        result: format!(
            "Cloned {} into {}, restored to {} ({})\n{}",
            checkpoints(outcome.checkpoints.len()),
            escape_path(directory),
            restored.id.short(),
            escape(&restored.record.reason),
            will_evict(outcome.too_many)
        ),
        talk: String::new(),
    }
}

/// A project that was cloned.
#[derive(Serialize, JsonSchema)]
pub struct CloneAnswer {
    directory: String,
    /// Those of the new store, oldest first.
    checkpoints: Vec<CheckpointRef>,
    /// The one whose files are in the directory.
    restored: CheckpointRef,
    /// Number of checkpoints that the next create will evict.
    to_be_evicted: usize,
}

pub fn clone_json(outcome: &CloneOutcome, directory: &Path) -> String {
    let data = CloneAnswer {
        directory: directory.display().to_string(),
        checkpoints: outcome.checkpoints.iter().map(CheckpointRef::new).collect(),
        restored: CheckpointRef::new(&outcome.restored),
        to_be_evicted: outcome.too_many,
    };
    envelope("clone", 0, &data, &outcome.warnings)
}

fn checkpoints(number: usize) -> String {
    count(number, "checkpoint", "checkpoints")
}
