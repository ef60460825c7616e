//! What `setup` would change: pure but for reading the files.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::agent::dialect::event::AgentName;
use crate::agent::setup::agent_files::{self, AgentFile, AgentFiles, FileContent, PROGRAM};
use crate::agent::setup::agents::{Agents, SetupPlaces};
use crate::agent::setup::command_line::is_our_name;
use crate::agent::setup::json_edit::SettingsFlaw;
use crate::agent::setup::managed::{self, Leeway};
use crate::agent::setup::own_text::{self, Author};
use crate::agent::setup::settings_toml;
use crate::base::read_regular;
use crate::base::text::escape_path;
use crate::error::{Error, Result};
use crate::ops::find_root::canonical_or_gone;

/// Upper bound on the copies beside one file.
const MOST_COPIES: u32 = 99;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct SetupRequest {
    pub places: SetupPlaces,
    /// The program that the entries call.
    pub program: String,
    /// Whether our entries and files go, and do not come.
    pub removes: bool,
}

/// How far `setup` came with an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupProgress {
    Planned,
    Done,
    Declined,
}

/// What would be done for one agent, or what was done.
#[derive(Debug)]
pub struct AgentPlan {
    pub agent: AgentName,
    pub progress: SetupProgress,
    /// In the order in which they are made.
    pub changes: Vec<SettingsChange>,
    /// Files that are as they would be written.
    pub unchanged: Vec<SettingsChange>,
    pub left: Vec<LeftAlone>,
    /// Files that could not be written or removed, and those that come after them.
    pub failed: Vec<LeftAlone>,
    pub failure: Option<Error>,
    pub notes: Vec<String>,
}

/// A file that would be written or removed.
#[derive(Clone, Debug)]
pub struct SettingsChange {
    pub path: PathBuf,
    /// The text as it is; `None` if there is no file.
    pub found: Option<String>,
    /// The text as it would be; `None` if there would be no file.
    pub wanted: Option<String>,
    /// The copy of what is found: one to make, or one that is back in its place and goes.
    pub copy: Option<PathBuf>,
    /// The program that the file calls as it is.
    pub calls: Option<String>,
    /// Whether ours should not be in this file at all.
    pub is_extra: bool,
}

/// A file that is not touched, and why.
#[derive(Clone, Debug)]
pub struct LeftAlone {
    pub path: PathBuf,
    pub why: String,
}

impl AgentPlan {
    fn new(agent: AgentName) -> Self {
        Self {
            agent,
            progress: SetupProgress::Planned,
            changes: Vec::new(),
            unchanged: Vec::new(),
            left: Vec::new(),
            failed: Vec::new(),
            failure: None,
            notes: Vec::new(),
        }
    }

    /// Whether there is anything to do or to say.
    pub fn is_something(&self) -> bool {
        let is_silent = self.changes.is_empty() && self.notes.is_empty();
        !is_silent || self.has_failed()
    }

    pub fn has_failed(&self) -> bool {
        self.failure.is_some() || !self.left.is_empty()
    }

    fn leave(&mut self, path: PathBuf, why: impl Into<String>) {
        let why = why.into();
        self.left.push(LeftAlone { path, why });
    }
}

/// Plans for one agent.
///
/// # Errors
/// The table of agents is wrong.
pub fn plan(request: &SetupRequest, agents: &Agents, agent: AgentName) -> Result<AgentPlan> {
    let mut plan = AgentPlan::new(agent);
    let leeway = managed::leeway(&request.places.managed);
    if let (AgentName::Claude, false, Leeway::Nowhere(managed)) = (agent, request.removes, &leeway)
    {
        let why = format!(
            "its {} forbids our hooks, so nothing of ours can run",
            managed.key
        );
        plan.leave(managed.file.clone(), why);
        return Ok(plan);
    }
    let of_agent = agents.get(agent)?;
    let (places, program) = (&request.places, &request.program);
    let mut wanted = agent_files::of_agent(agent, of_agent, places, &leeway, program)?;
    if places.is_project {
        let all = wanted.files.iter().chain(&wanted.extra);
        for file in all.filter(|file| leads_out(&file.path, &places.top)) {
            let why = "a link on its way leads out of the project";
            plan.leave(file.path.clone(), why);
        }
        let stays = |file: &AgentFile| !leads_out(&file.path, &places.top);
        wanted.files.retain(stays);
        wanted.extra.retain(stays);
    }
    if request.removes {
        for file in wanted.files.iter().rev().chain(wanted.extra.iter().rev()) {
            remove(&mut plan, file);
        }
        return Ok(plan);
    }
    if let Some(folder) = foreign_folder(&wanted) {
        plan.leave(folder, "it is there already and is not ours; move it away");
        return Ok(plan);
    }
    if wanted.files.is_empty() {
        let why = "it keeps no settings in a project, only those of the user";
        plan.leave(places.folder(of_agent), why);
    }
    for file in &wanted.files {
        put(&mut plan, file, !places.is_project);
    }
    for file in wanted.extra.iter().rev() {
        let planned = plan.changes.len();
        remove(&mut plan, file);
        plan.changes[planned..]
            .iter_mut()
            .for_each(|change| change.is_extra = true);
    }
    if !plan.changes.is_empty() {
        plan.notes.extend(wanted.notes);
    }
    Ok(plan)
}

/// Whether a file below a directory lies elsewhere, by a link on the way to it.
fn leads_out(path: &Path, top: &Path) -> bool {
    let real = canonical_or_gone(path).unwrap_or_else(|| path.to_path_buf());
    canonical_or_gone(top).is_none_or(|top| !real.starts_with(top))
}

/// Plans the plugin for Claude Code in a folder that is new or empty.
///
/// # Errors
/// The table of agents is wrong.
pub fn plugin(agents: &Agents, folder: &Path, program: &str) -> Result<AgentPlan> {
    let mut plan = AgentPlan::new(AgentName::Claude);
    let claude = agents.get(AgentName::Claude)?;
    for file in agent_files::claude_plugin(claude, folder, program)? {
        put(&mut plan, &file, false);
    }
    Ok(plan)
}

/// Returns the folder that should be ours alone, if something else is in it.
fn foreign_folder(wanted: &AgentFiles) -> Option<PathBuf> {
    let folder = wanted.own_folder.as_deref()?;
    let is_ours = |file: &AgentFile| match read(&file.path, &file.content) {
        Ok(Some(found)) => match &file.content {
            FileContent::Text { .. } => own_text::author(&found) != Author::Others,
            content => content.take_out_of(&found).is_ok_and(|left| left != found),
        },
        _ => false,
    };
    let mut files = wanted.files.iter().chain(&wanted.extra);
    (holds_files(folder) && !files.any(is_ours)).then(|| folder.to_path_buf())
}

/// Whether there is more than empty directories in one.
fn holds_files(folder: &Path) -> bool {
    let mut entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.any(|entry| {
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        !is_dir || holds_files(&entry.path())
    })
}

/// Plans to write a file, or our entries in it.
fn put(plan: &mut AgentPlan, file: &AgentFile, may_copy: bool) {
    let path = file.path.clone();
    let found = match read(&path, &file.content) {
        Ok(found) => found,
        Err(flaw) => return plan.leave(path, flaw.why),
    };
    if let FileContent::Yaml { program, paste } = &file.content {
        if found.and_then(|found| yaml_program(&found)).as_ref() != Some(program) {
            let path = escape_path(&path);
            plan.notes.push(format!("put this into {path}:\n\n{paste}"));
        }
        return;
    }
    let wanted = match file.content.put_into(found.as_deref()) {
        Ok(wanted) => wanted,
        Err(flaw) => return plan.leave(path, flaw.why),
    };
    // What has ours in it already is no longer what its user wrote.
    let is_theirs = |found: &&String| {
        let left = file.content.take_out_of(found);
        may_copy && left.is_ok_and(|left| left == **found)
    };
    let copy = found.as_ref().filter(is_theirs).and_then(|found| {
        copies(&path).find(|copy| match text_of(copy) {
            Some(there) => there == *found,
            None => copy.symlink_metadata().is_err(),
        })
    });
    let is_same = found.as_ref() == Some(&wanted);
    let change = SettingsChange {
        calls: found
            .as_ref()
            .and_then(|found| file.content.called_program(found)),
        wanted: Some(wanted),
        path,
        found,
        copy,
        is_extra: false,
    };
    let list = if is_same {
        &mut plan.unchanged
    } else {
        &mut plan.changes
    };
    list.push(change);
}

/// Plans the removal of a file, or of our entries in it.
fn remove(plan: &mut AgentPlan, file: &AgentFile) {
    let path = file.path.clone();
    let found = match read(&path, &file.content) {
        Ok(Some(found)) => found,
        Ok(None) => return,
        Err(flaw) => {
            // A link to a text of ours is none that was written.
            let is_ours = |text: String| own_text::author(&text) != Author::Others;
            if text_of(&path).is_some_and(is_ours) {
                plan.leave(path, flaw.why);
            }
            return;
        }
    };
    if let FileContent::Yaml { .. } = &file.content {
        if yaml_program(&found).is_some() {
            let path = escape_path(&path);
            plan.notes
                .push(format!("take the extension 'checkpoint' out of {path}"));
        }
        return;
    }
    let left = match file.content.take_out_of(&found) {
        Ok(left) => left,
        // Of what cannot be read, only what may be ours is named.
        Err(flaw) if found.contains("checkpoint") => return plan.leave(path, flaw.why),
        Err(_) => return,
    };
    // One of the text as it was before us, or as it is.
    let is_there = |copy: &PathBuf| copy.symlink_metadata().is_ok();
    let copy = copies(&path).take_while(is_there).find(|copy| {
        let with = |copy: &str| {
            file.content
                .put_into(Some(copy))
                .is_ok_and(|with| with == found)
        };
        text_of(copy).is_some_and(|copy| (copy == found && left == found) || with(&copy))
    });
    if copy.is_none() && left == found {
        return;
    }
    let rest: String = left
        .trim_start_matches('\u{feff}')
        .split_whitespace()
        .collect();
    let wanted = match &copy {
        Some(copy) => text_of(copy),
        // What the user keeps behind a link is emptied, and not removed.
        None => (!matches!(&*rest, "" | "{}") || path.is_symlink()).then_some(left),
    };
    plan.changes.push(SettingsChange {
        calls: file.content.called_program(&found),
        found: Some(found),
        path,
        wanted,
        copy,
        is_extra: false,
    });
}

impl FileContent {
    /// Returns a text with ours in it.
    fn put_into(&self, found: Option<&str>) -> Result<String, SettingsFlaw> {
        match self {
            Self::Text { text, .. } => match found.map(own_text::author) {
                None | Some(Author::Us) => Ok(text.clone()),
                Some(Author::UsAndOthers) => Err(SettingsFlaw::new(
                    "it was changed since it was written; move it away",
                )),
                Some(Author::Others) => Err(SettingsFlaw::new("it is not ours; move it away")),
            },
            Self::Json(json) => json.put_into(found.unwrap_or_default()),
            Self::Toml { program } => settings_toml::put_into(found.unwrap_or_default(), program),
            Self::Yaml { .. } => Ok(found.unwrap_or_default().to_owned()),
        }
    }

    /// Returns a text without what is ours in it.
    fn take_out_of(&self, found: &str) -> Result<String, SettingsFlaw> {
        match self {
            Self::Text { .. } => match own_text::author(found) {
                Author::Us => Ok(String::new()),
                Author::UsAndOthers => Err(SettingsFlaw::new(
                    "it was changed since it was written; remove it by hand",
                )),
                Author::Others => Ok(found.to_owned()),
            },
            Self::Json(json) => json.take_out_of(found),
            Self::Toml { .. } => settings_toml::take_out_of(found),
            Self::Yaml { .. } => Ok(found.to_owned()),
        }
    }

    /// Returns the program that a text calls.
    fn called_program(&self, found: &str) -> Option<String> {
        match self {
            Self::Text { template, .. } => {
                let (before, _) = template.split_once(PROGRAM)?;
                let quoted = found.strip_prefix(before)?;
                let mut strings = serde_json::Deserializer::from_str(quoted).into_iter();
                strings.next()?.ok()
            }
            Self::Json(json) => json.called_program(found),
            Self::Toml { .. } => settings_toml::called_program(found),
            Self::Yaml { .. } => yaml_program(found),
        }
    }
}

/// Returns the program of an extension that is ours, as Goose writes it.
pub fn yaml_program(text: &str) -> Option<String> {
    let lines = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("cmd:"));
    let mut programs = lines.map(|program| program.trim().trim_matches(['"', '\'']));
    programs
        .find(|program| is_our_name(program))
        .map(str::to_owned)
}

/// Returns the names beside a file for copies of it.
fn copies(path: &Path) -> impl Iterator<Item = PathBuf> {
    let name = path.file_name().unwrap_or_default().display();
    let first = format!("{name}.before-checkpoint");
    let more = (2..=MOST_COPIES).map(|number| format!("{first}-{number}"));
    let names: Vec<String> = std::iter::once(first.clone()).chain(more).collect();
    names.into_iter().map(|name| path.with_file_name(name))
}

/// Returns the text of a file; `None` if there is none.
pub fn text_of(path: &Path) -> Option<String> {
    read_regular::read_linked_text(path).ok()
}

/// Reads a file; of one that others write too, a link is followed.
fn read(path: &Path, content: &FileContent) -> Result<Option<String>, SettingsFlaw> {
    if matches!(content, FileContent::Text { .. }) && path.is_symlink() {
        return Err(SettingsFlaw::new(
            "it is a link, where a file is written; remove it by hand, with the file that it leads to",
        ));
    }
    match read_regular::read_linked_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(why) if matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            if path.symlink_metadata().is_ok() {
                return Err(SettingsFlaw::new("it is a link to nothing"));
            }
            Ok(None)
        }
        Err(why) => Err(SettingsFlaw::new(why.to_string())),
    }
}
