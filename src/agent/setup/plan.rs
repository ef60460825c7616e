//! What `setup` would change: pure but for reading the files.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde_json::json;
use strum::IntoStaticStr;

use crate::agent::setup::agent_files::{
    self, AgentFile, AgentFiles, Author, FileContent, author, files_below,
};
use crate::agent::setup::agents::{leeway, managed_folder};
use crate::agent::setup::settings_json::is_our_name;
use crate::agent::setup::settings_toml;
use crate::agent::{AgentName, Agents, Leeway, SetupPlaces};
use crate::base::read_regular;
use crate::base::text::{escape, escape_path, without_numbers};
use crate::error::{Error, Result};
use crate::model::json::{self, JsonSchema, Serialize};
use crate::ops::find_root::canonical_or_gone;

/// What is added to the name of a file for the copy of it.
const COPY: &str = "before-checkpoint";

/// How far `setup` came with an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum SetupProgress {
    Planned,
    Done,
    /// It is left to the user, as the notes say.
    Manual,
    Declined,
}

/// One agent and its files: what would be done, or what was done.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgentSetup")]
pub struct AgentPlan {
    pub agent: AgentName,
    pub progress: SetupProgress,
    /// In the order in which they are written or removed.
    pub files: Vec<SettingsFile>,
    /// What is left to the user.
    pub notes: Vec<String>,
    #[serde(skip)]
    pub failure: Option<Error>,
}

/// A file in the settings of an agent.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct SettingsFile {
    /// Its path; what is not UTF-8 in it is replaced.
    #[serde(rename = "file", serialize_with = "json::path")]
    pub path: PathBuf,
    pub outcome: FileOutcome,
    /// Why it was left alone or failed; else null.
    pub why: Option<String>,
    /// The whole text as it would be, with `--print`; else null.
    pub content: Option<String>,
    /// The text as it is; `None` if there is no file.
    #[serde(skip)]
    pub found: Option<String>,
    /// The text as it would be; `None` if there would be no file.
    #[serde(skip)]
    pub wanted: Option<String>,
    /// The copy of what was there before ours: one to make, or one that goes.
    #[serde(skip)]
    pub copy: Option<PathBuf>,
    #[serde(skip)]
    pub copy_goes: bool,
    /// Whether ours should not be in this file at all.
    #[serde(skip)]
    pub is_extra: bool,
}

/// What becomes of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(const_into_str, serialize_all = "lowercase")]
#[schemars(inline)]
pub enum FileOutcome {
    Created,
    Changed,
    Removed,
    #[default]
    Unchanged,
    Left,
    Failed,
}

impl SettingsFile {
    fn new(path: PathBuf, found: Option<String>, wanted: Option<String>) -> Self {
        Self {
            outcome: match (&found, &wanted) {
                (None, Some(_)) => FileOutcome::Created,
                (_, None) => FileOutcome::Removed,
                (found, wanted) if found == wanted => FileOutcome::Unchanged,
                _ => FileOutcome::Changed,
            },
            path,
            found,
            wanted,
            ..Self::default()
        }
    }

    pub fn is_change(&self) -> bool {
        let is_kept = matches!(self.outcome, FileOutcome::Left | FileOutcome::Failed);
        !is_kept && (self.found != self.wanted || self.copy.is_some())
    }

    /// Says why it was left alone or failed.
    pub fn end(&mut self, outcome: FileOutcome, why: &str) {
        (self.outcome, self.why) = (outcome, Some(without_numbers(why)));
    }
}

impl AgentPlan {
    fn new(agent: AgentName) -> Self {
        Self {
            agent,
            progress: SetupProgress::Planned,
            files: Vec::new(),
            notes: Vec::new(),
            failure: None,
        }
    }

    pub fn changes(&self) -> impl Iterator<Item = &SettingsFile> {
        self.files.iter().filter(|file| file.is_change())
    }

    pub fn left(&self) -> Option<&SettingsFile> {
        let mut files = self.files.iter();
        files.find(|file| file.outcome == FileOutcome::Left)
    }

    /// Whether there is anything to do or to say.
    pub fn is_something(&self) -> bool {
        self.changes().next().is_some() || !self.notes.is_empty() || self.has_failed()
    }

    pub fn has_failed(&self) -> bool {
        self.failure.is_some() || self.left().is_some()
    }

    /// Names a copy that stays, if there is one.
    fn keep_copy(&mut self, copy: Option<&Path>) {
        self.notes.extend(copy.map(|copy| {
            let copy = escape_path(copy);
            format!("{copy} may be what was there before, and stays")
        }));
    }

    fn leave(&mut self, path: PathBuf, why: impl std::fmt::Display) {
        let mut file = SettingsFile::new(path, None, None);
        file.end(FileOutcome::Left, &why.to_string());
        self.files.push(file);
    }
}

/// Plans for one agent, whose entries call `program`: `removes` says that ours go, and do not come.
///
/// # Errors
/// The table of agents is wrong.
pub fn plan(
    places: &SetupPlaces,
    program: &str,
    removes: bool,
    agents: &Agents,
    agent: AgentName,
) -> Result<AgentPlan> {
    let mut plan = AgentPlan::new(agent);
    let leeway = leeway(&managed_folder());
    if let (AgentName::Claude, false, Leeway::Nowhere(managed)) = (agent, removes, &leeway) {
        let key = managed.key;
        let why = format!("its {key} forbids our hooks, so nothing of ours can run");
        plan.leave(managed.file.clone(), why);
        return Ok(plan);
    }
    let of_agent = agents.get(agent)?;
    let mut wanted = agent_files::of_agent(agent, of_agent, places, &leeway, program)?;
    wanted.files.retain(|file| {
        let leaves = places.is_project && leads_out(&file.path, &places.top);
        if leaves {
            let why = "a link on its way leads out of the project";
            plan.leave(file.path.clone(), why);
        }
        !leaves
    });
    if removes {
        wanted.files.iter().for_each(|file| remove(&mut plan, file));
        return Ok(plan);
    }
    if let Some(folder) = foreign_folder(&wanted) {
        plan.leave(folder, "it is there already and is not ours; move it away");
        return Ok(plan);
    }
    let (extra, own): (Vec<_>, Vec<_>) = wanted.files.iter().partition(|file| file.is_extra);
    if own.is_empty() && plan.left().is_none() {
        let why = "it keeps no settings in a project, only those of the user";
        plan.leave(places.folder(of_agent), why);
    }
    for file in own.into_iter().rev() {
        put(&mut plan, file, !places.is_project);
    }
    for file in extra {
        remove(&mut plan, file);
    }
    if plan.changes().next().is_some() {
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
    let layout = claude.layout("plugin")?;
    let files = files_below(folder, AgentName::Claude, claude, layout, folder, program)?;
    for file in files {
        put(&mut plan, &file, false);
    }
    Ok(plan)
}

/// Returns the folder that should be ours alone, if something else is in it.
fn foreign_folder(wanted: &AgentFiles) -> Option<PathBuf> {
    let folder = wanted.own_folder.as_deref()?;
    let is_foreign = holds_files(folder)
        && !wanted
            .files
            .iter()
            .any(|file| has_ours(file).unwrap_or_default());
    is_foreign.then(|| folder.to_path_buf())
}

/// Whether a file is ours, or has entries of ours.
///
/// # Errors
/// It cannot be read.
pub fn has_ours(file: &AgentFile) -> io::Result<bool> {
    let is_ours = |found: String| match &file.content {
        FileContent::Text(_) => author(&found) != Author::Others,
        content => content
            .take_out_of(&found, "")
            .is_ok_and(|left| left != found),
    };
    Ok(read(&file.path, &file.content)?.is_some_and(is_ours))
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
fn put(plan: &mut AgentPlan, file: &AgentFile, always_copies: bool) {
    let path = file.path.clone();
    let found = match read(&path, &file.content) {
        Ok(found) => found,
        Err(flaw) => return plan.leave(path, flaw),
    };
    if let FileContent::Yaml { program, paste } = &file.content {
        let (path, found) = (escape_path(&path), found.unwrap_or_default());
        return plan.notes.extend(by_hand(&path, &found, program, paste));
    }
    let wanted = match file.content.put_into(found.as_deref()) {
        Ok(wanted) => wanted,
        Err(flaw) => return plan.leave(path, flaw),
    };
    // What has ours in it already is no longer what its user wrote. The rest needs a copy where
    // taking ours out of it does not bring it back.
    let without = |text: &str| file.content.take_out_of(text, "");
    let is_theirs = |found: &&str| {
        let is = |left: Result<String>| left.is_ok_and(|left| left == *found);
        let needs_copy = always_copies || is_nothing(found) || !is(without(&wanted));
        needs_copy && is(without(found))
    };
    let theirs = found.as_deref().filter(is_theirs);
    let mut copy = theirs.map(|_| path.with_added_extension(COPY));
    let is_free = |copy: &Path, theirs| match text_of(copy) {
        Ok(Some(before)) => Ok(is_regular(copy) && holds(theirs, &before)),
        Ok(None) => Ok(copy.symlink_metadata().is_err()),
        Err(flaw) if is_flaw(&flaw) => Ok(false),
        Err(why) => Err(why),
    };
    let free = copy
        .as_deref()
        .zip(theirs)
        .map_or(Ok(true), |(copy, theirs)| is_free(copy, theirs));
    let is_free = match free {
        Ok(is_free) => is_free,
        Err(why) => return plan.leave(path, why),
    };
    if let (Some(taken), false) = (&copy, is_free) {
        let taken = escape_path(taken);
        let note = format!("no copy is made of what was there before: {taken} is there already");
        plan.notes.push(note);
        copy = None;
    }
    plan.files.push(SettingsFile {
        copy,
        ..SettingsFile::new(path, found, Some(wanted))
    });
}

/// Says what the user has to write into a file of YAML; `None` if it is there.
fn by_hand(path: &str, found: &str, program: &str, paste: &str) -> Option<String> {
    let key = found.lines().find(|line| line.starts_with("extensions:"));
    let (what, text) = match (called_program(found), key.map(str::trim_end)) {
        (Some(called), _) if called == program => return None,
        (Some(called), _) => {
            let (called, program) = (escape(&called), json!(program));
            return Some(format!(
                "{path} calls {called}; write there: cmd: {program}"
            ));
        }
        (None, None) => (String::new(), paste),
        (None, Some(key)) if key.ends_with("{}") => {
            (format!(", in the place of '{}'", escape(key)), paste)
        }
        (None, Some(_)) => {
            let (key, below) = paste.split_once('\n').unwrap_or_default();
            (format!(", below the '{key}' that is there"), below)
        }
    };
    Some(format!("put this into {path}{what}:\n\n{text}"))
}

/// Plans the removal of a file, or of our entries in it.
fn remove(plan: &mut AgentPlan, file: &AgentFile) {
    let path = file.path.clone();
    let copy = match copy_of(file) {
        Ok(copy) => copy,
        Err(why) => return plan.leave(path, why),
    };
    let found = match read(&path, &file.content) {
        Ok(Some(found)) => found,
        Ok(None) => return plan.keep_copy(copy.as_deref()),
        // A link to a text of ours is none that was written; what is no text is not ours.
        Err(flaw) if is_flaw(&flaw) => match text_of(&path) {
            Ok(None) => return,
            Ok(Some(text)) if author(&text) == Author::Others => return,
            Err(other) if is_flaw(&other) => return,
            _ => return plan.leave(path, flaw),
        },
        Err(why) => return plan.leave(path, why),
    };
    if let FileContent::Yaml { .. } = &file.content {
        if called_program(&found).is_some() {
            let path = escape_path(&path);
            let note = format!("take the extension 'checkpoint' out of {path}");
            plan.notes.push(note);
        }
        return;
    }
    let before = match copy.as_deref().map_or(Ok(None), text_of) {
        Ok(before) => before,
        Err(flaw) if is_flaw(&flaw) => None,
        Err(why) => return plan.leave(copy.unwrap_or(path), why),
    };
    let of_before = before.as_deref().unwrap_or_default();
    let left = match file.content.take_out_of(&found, of_before) {
        Ok(left) => left,
        // Of what cannot be read, only what may be ours is named.
        Err(flaw) if found.contains("checkpoint") => return plan.leave(path, flaw),
        Err(_) => return,
    };
    // A copy of the same beside a file without ours is what a killed removal left. Another may be all
    // that is left of what the user wrote.
    let is_same = |before: &String| *before == found || is_nothing(before) && is_nothing(&found);
    if left == found && !before.as_ref().is_some_and(is_same) {
        return plan.keep_copy(copy.as_deref());
    }
    let stays_empty = match stays_empty(&path, copy.as_deref()) {
        Ok(stays) => stays,
        Err(why) => return plan.leave(path, why),
    };
    let put_back = file.content.put_into(before.as_deref());
    let is_back = put_back.is_ok_and(|with| with == found);
    let wanted = match &before {
        Some(before) if is_back || (is_nothing(before) && is_nothing(&left)) => {
            Some(before.clone())
        }
        None if is_nothing(&left) && !stays_empty => None,
        _ => Some(left),
    };
    let after = wanted.as_deref().unwrap_or_default();
    let goes = before.is_some_and(|before| holds(after, &before));
    if !goes {
        plan.keep_copy(copy.as_deref());
    }
    plan.files.push(SettingsFile {
        copy: copy.filter(|_| goes),
        copy_goes: goes,
        is_extra: file.is_extra,
        ..SettingsFile::new(path, Some(found), wanted)
    });
}

/// Whether a file without ours is emptied and not removed: what the user keeps behind a link, and what
/// no copy could be made of.
fn stays_empty(path: &Path, copy: Option<&Path>) -> io::Result<bool> {
    let is_link = read_regular::lstat(path)?.is_some_and(|there| there.is_symlink());
    let place = path.with_added_extension(COPY);
    Ok(is_link || copy.is_none() && read_regular::lstat(&place)?.is_some())
}

/// Returns the copy of what was in a file before ours, if there is one.
fn copy_of(file: &AgentFile) -> io::Result<Option<PathBuf>> {
    let copy = file.path.with_added_extension(COPY);
    let may_have_one = !matches!(file.content, FileContent::Text(_));
    let is_one = may_have_one && read_regular::lstat(&copy)?.is_some_and(|found| found.is_file());
    Ok(is_one.then_some(copy))
}

/// Whether each word of a text is in another, in the same order.
fn holds(text: &str, part: &str) -> bool {
    let words = |text| str::split(text, |c: char| !c.is_alphanumeric());
    let mut all = words(text);
    let mut wanted = words(part).filter(|word| !word.is_empty());
    wanted.all(|word| all.any(|one| one == word))
}

fn is_regular(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file())
}

/// Whether a text says nothing.
fn is_nothing(text: &str) -> bool {
    let words = text.trim_start_matches('\u{feff}').split_whitespace();
    matches!(&*words.collect::<String>(), "" | "{}")
}

impl FileContent {
    /// Returns a text with ours in it.
    fn put_into(&self, found: Option<&str>) -> Result<String> {
        match self {
            Self::Text(text) => match found.map(author) {
                None | Some(Author::Us) => Ok(text.clone()),
                _ => Err(Error::unexpected(
                    "it is not ours, or was changed; move it away",
                )),
            },
            Self::Json(json) => json.put_into(found.unwrap_or_default()),
            Self::Toml { program } => settings_toml::put_into(found.unwrap_or_default(), program),
            Self::Yaml { .. } => Ok(found.unwrap_or_default().to_owned()),
        }
    }

    /// Returns a text without what is ours in it, but with what was in it before, though empty.
    fn take_out_of(&self, found: &str, before: &str) -> Result<String> {
        match self {
            Self::Text(_) => match author(found) {
                Author::Us => Ok(String::new()),
                Author::UsAndOthers => Err(Error::unexpected(
                    "it was changed since it was written; remove it by hand",
                )),
                Author::Others => Ok(found.to_owned()),
            },
            Self::Json(json) => json.take_out_of(found, before),
            Self::Toml { .. } => settings_toml::take_out_of(found),
            Self::Yaml { .. } => Ok(found.to_owned()),
        }
    }
}

/// Returns the program of our name that a text calls by its path. Goose writes it without quotes.
pub fn called_program(text: &str) -> Option<String> {
    let words = text.split(['"', '\'', '\n']);
    let mut words = words.map(|word| word.trim().trim_start_matches("cmd: "));
    let found = words.find(|word| word.contains(['/', '\\']) && is_our_name(word))?;
    Some(found.replace("\\\\", "\\"))
}

/// Returns the text of a file; `None` if there is none.
///
/// # Errors
/// It is no text (`InvalidData`), or cannot be read.
pub fn text_of(path: &Path) -> io::Result<Option<String>> {
    match read_regular::read_linked_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(why) if matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(why) => Err(why),
    }
}

/// Reads a file; of one that others write too, a link is followed.
fn read(path: &Path, content: &FileContent) -> io::Result<Option<String>> {
    let is_link = read_regular::lstat(path)?.is_some_and(|found| found.is_symlink());
    if is_link && matches!(content, FileContent::Text(_)) {
        let why = "it is a link, where a file is written; remove it by hand, with the file that it leads to";
        return Err(io::Error::new(ErrorKind::InvalidData, why));
    }
    match text_of(path)? {
        None if is_link => {
            let why = "it is a link to nothing";
            Err(io::Error::new(ErrorKind::InvalidData, why))
        }
        text => Ok(text),
    }
}

/// Whether what is there is the reason, and not how it was read.
fn is_flaw(why: &io::Error) -> bool {
    why.kind() == ErrorKind::InvalidData
}
