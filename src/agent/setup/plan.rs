//! What `setup` would change: pure but for reading the files.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::agent::dialect::event::AgentName;
use crate::agent::setup::agent_files::{self, AgentFile, AgentFiles, FileContent};
use crate::agent::setup::json_edit::SettingsFlaw;
use crate::agent::setup::managed::{self, Leeway};
use crate::agent::setup::places::SetupPlaces;
use crate::agent::setup::record::{RecordedFile, SetupRecord};
use crate::agent::setup::shared_entries::SharedEntries;
use crate::base::read_regular;
use crate::ops::find_root::canonical_or_gone;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct SetupRequest {
    pub places: SetupPlaces,
    /// The program that the entries call.
    pub program: String,
    /// Whether our entries and files go, and do not come.
    pub removes: bool,
}

/// What would be done for one agent.
#[derive(Clone, Debug)]
pub struct AgentPlan {
    pub agent: AgentName,
    /// In the order in which they are made.
    pub changes: Vec<SettingsChange>,
    /// Files that are as they would be written.
    pub unchanged: Vec<SettingsChange>,
    pub left: Vec<LeftAlone>,
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
    /// What the record would say of it; `None` to forget it.
    pub entry: Option<RecordedFile>,
}

/// A file that is not touched, and why.
#[derive(Clone, Debug)]
pub struct LeftAlone {
    pub path: PathBuf,
    pub why: String,
}

/// What stands at a path.
enum SettingsText {
    Missing,
    Text(String),
    /// Nothing that can be edited, and why.
    Unusable(String),
}

/// Plans for one agent.
pub fn plan(request: &SetupRequest, agent: AgentName, record: &SetupRecord) -> AgentPlan {
    let leeway = managed::leeway(&request.places.managed);
    let wanted = agent_files::of_agent(agent, &request.places, &request.program);
    let mut plan = AgentPlan {
        agent,
        changes: Vec::new(),
        unchanged: Vec::new(),
        left: Vec::new(),
        notes: Vec::new(),
    };
    if let (AgentName::Claude, false, Leeway::Nowhere(managed)) = (agent, request.removes, leeway) {
        let why = format!(
            "its {} forbids our hooks, so nothing of ours can run",
            managed.key
        );
        plan.left.push(LeftAlone {
            path: managed.file,
            why,
        });
        return plan;
    }
    if !request.removes
        && let Some(folder) = foreign_folder(&wanted, record)
    {
        plan.left.push(LeftAlone {
            path: folder,
            why: "it is there already and is not ours; move it away".to_owned(),
        });
        return plan;
    }
    if wanted.files.is_empty() && !request.removes {
        plan.left.push(LeftAlone {
            path: request.places.folder(agent).to_path_buf(),
            why: "it keeps no settings in a project, only those of the user".to_owned(),
        });
    }
    let outcomes = if request.removes {
        removal(request, agent, &wanted, record)
    } else {
        installation(request, agent, &wanted, record)
    };
    for (path, outcome) in outcomes {
        let project = request.places.project.as_deref();
        if project.is_some_and(|root| leads_out(&path, root)) {
            plan.left.push(LeftAlone {
                path,
                why: "a link on its way leads out of the project".to_owned(),
            });
            continue;
        }
        match outcome {
            Ok(Some(same)) if same.entry.is_some() && same.found == same.wanted => {
                plan.unchanged.push(same);
            }
            Ok(change) => plan.changes.extend(change),
            Err(flaw) => plan.left.push(LeftAlone {
                path,
                why: flaw.why,
            }),
        }
    }
    if !request.removes {
        plan.notes = wanted.notes;
    }
    plan
}

/// Whether a file below a directory lies elsewhere, by a link on the way to it.
fn leads_out(path: &Path, root: &Path) -> bool {
    let real = canonical_or_gone(path).unwrap_or_else(|| path.to_path_buf());
    canonical_or_gone(root).is_none_or(|root| !real.starts_with(root))
}

type Outcomes = Vec<(PathBuf, Result<Option<SettingsChange>, SettingsFlaw>)>;

fn installation(
    request: &SetupRequest,
    agent: AgentName,
    wanted: &AgentFiles,
    record: &SetupRecord,
) -> Outcomes {
    let project = request.places.project.as_deref();
    let of_file = |file: &AgentFile| {
        let known = record.files.get(&file.path);
        let new = |before, is_shared, made, copy| RecordedFile {
            agent: <&str>::from(agent).to_owned(),
            project: project.map(Path::to_path_buf),
            is_shared,
            before,
            written: Vec::new(),
            made,
            copy,
        };
        let outcome = match &file.content {
            FileContent::Own(text) => put_own(file, text, known, || new(None, false, vec![], None)),
            FileContent::Shared(entries) => {
                let copy = known.and_then(|known| known.copy.clone());
                put_shared(file, entries, known, |before, made| {
                    new(before, true, made, copy)
                })
            }
        };
        (file.path.clone(), outcome)
    };
    let folder = request.places.folder(agent);
    // Files of an earlier version that are no longer wanted.
    let old = recorded(record, agent, project).filter(|(path, _)| {
        path.starts_with(folder) && !wanted.files.iter().any(|file| file.path == **path)
    });
    let old = old.map(|(path, known)| (path.clone(), take_out(path, None, agent, Some(known))));
    let gone = unrecorded(&wanted.gone, agent, record);
    let files = wanted.files.iter().map(of_file);
    files.chain(gone).chain(old).collect()
}

/// Plans to take ours out of files that are not recorded.
fn unrecorded(
    files: &[AgentFile],
    agent: AgentName,
    record: &SetupRecord,
) -> impl Iterator<Item = (PathBuf, Result<Option<SettingsChange>, SettingsFlaw>)> {
    let files = files.iter().rev();
    let files = files.filter(|file| !record.files.contains_key(&file.path));
    files.map(move |file| {
        let outcome = take_out(&file.path, Some(&file.content), agent, None);
        (file.path.clone(), outcome)
    })
}

fn removal(
    request: &SetupRequest,
    agent: AgentName,
    wanted: &AgentFiles,
    record: &SetupRecord,
) -> Outcomes {
    let project = request.places.project.as_deref();
    let of_file = |file: &AgentFile| {
        let known = record.files.get(&file.path);
        let outcome = take_out(&file.path, Some(&file.content), agent, known);
        (file.path.clone(), outcome)
    };
    let old = recorded(record, agent, project)
        .filter(|(path, _)| !wanted.files.iter().any(|file| file.path == **path));
    let old = old.map(|(path, known)| (path.clone(), take_out(path, None, agent, Some(known))));
    let gone = unrecorded(&wanted.gone, agent, record);
    let files = wanted.files.iter().rev().map(of_file);
    files.chain(gone).chain(old).collect()
}

fn recorded<'r>(
    record: &'r SetupRecord,
    agent: AgentName,
    project: Option<&'r Path>,
) -> impl Iterator<Item = (&'r PathBuf, &'r RecordedFile)> {
    let files = record.files.iter();
    files.filter(move |(_, file)| file.is_of(agent, project))
}

/// Returns the folder that should be ours alone, if something else is in it.
fn foreign_folder(wanted: &AgentFiles, record: &SetupRecord) -> Option<PathBuf> {
    let folder = wanted.own_folder.as_deref()?;
    let has_entries = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    let is_ours = |file: &AgentFile| match (read_text(&file.path), &file.content) {
        _ if record.files.contains_key(&file.path) => true,
        (SettingsText::Text(found), FileContent::Own(text)) => found == *text,
        _ => false,
    };
    // Plain skills of ours stand there where a plugin was forbidden.
    let mut recorded = record.files.keys();
    let is_foreign = has_entries
        && !wanted.files.iter().any(is_ours)
        && !recorded.any(|path| path.starts_with(folder));
    is_foreign.then(|| folder.to_path_buf())
}

fn put_own(
    file: &AgentFile,
    text: &str,
    known: Option<&RecordedFile>,
    entry: impl FnOnce() -> RecordedFile,
) -> Result<Option<SettingsChange>, SettingsFlaw> {
    let found = match read_own(&file.path) {
        SettingsText::Missing => None,
        SettingsText::Text(found) if found == text || is_written(known, &found) => Some(found),
        SettingsText::Text(_) => {
            let why = "it is not as it was written, or not ours; move it away";
            return Err(SettingsFlaw::new(why));
        }
        SettingsText::Unusable(why) => return Err(SettingsFlaw::new(why)),
    };
    let mut entry = entry();
    entry.written = found.iter().cloned().chain([text.to_owned()]).collect();
    Ok(Some(SettingsChange {
        path: file.path.clone(),
        found,
        wanted: Some(text.to_owned()),
        entry: Some(entry),
    }))
}

fn put_shared(
    file: &AgentFile,
    entries: &SharedEntries,
    known: Option<&RecordedFile>,
    entry: impl FnOnce(Option<String>, Vec<String>) -> RecordedFile,
) -> Result<Option<SettingsChange>, SettingsFlaw> {
    let found = match read_text(&file.path) {
        SettingsText::Missing => None,
        SettingsText::Text(found) => Some(found),
        SettingsText::Unusable(why) => return Err(SettingsFlaw::new(why)),
    };
    let made = known.filter(|_| found.is_some());
    let made = made.map_or(&[][..], |known| &known.made);
    let with = entries.put_into(found.as_deref(), made)?;
    let mut written = Vec::new();
    let before = match &found {
        None => None,
        Some(same) if *same == with.text => None,
        Some(found) if is_written(known, found) => {
            written.push(found.clone());
            known.and_then(|known| known.before.clone())
        }
        Some(found) => without(entries, found, known)?,
    };
    let mut entry = entry(before, with.made);
    written.push(with.text.clone());
    entry.written = written;
    Ok(Some(SettingsChange {
        path: file.path.clone(),
        found,
        wanted: Some(with.text),
        entry: Some(entry),
    }))
}

/// Returns a text without our entries; `None` if the file was made for them.
fn without(
    entries: &SharedEntries,
    found: &str,
    known: Option<&RecordedFile>,
) -> Result<Option<String>, SettingsFlaw> {
    let is_blank = found.trim_start_matches('\u{feff}').trim().is_empty();
    if is_blank {
        return Ok(Some(found.to_owned()));
    }
    let made = known.map_or(&[][..], |known| &known.made);
    let before = known.and_then(|known| known.before.as_deref());
    let without = entries.take_out_of(found, made, before)?;
    let is_ours = without.is_empty && known.is_some_and(|known| known.before.is_none());
    Ok((!is_ours).then_some(without.text))
}

/// Plans the removal of a file, or of our entries in it. `content` is what this version writes.
fn take_out(
    path: &Path,
    content: Option<&FileContent>,
    agent: AgentName,
    known: Option<&RecordedFile>,
) -> Result<Option<SettingsChange>, SettingsFlaw> {
    let is_shared = match content {
        Some(content) => matches!(content, FileContent::Shared(_)),
        None => known.is_some_and(|known| known.is_shared),
    };
    let read = if is_shared {
        read_text(path)
    } else {
        read_own(path)
    };
    let change = |found, wanted| {
        Ok(Some(SettingsChange {
            path: path.to_path_buf(),
            found,
            wanted,
            entry: None,
        }))
    };
    let found = match read {
        SettingsText::Missing if known.is_some() => return change(None, None),
        SettingsText::Missing => return Ok(None),
        SettingsText::Unusable(_) if known.is_none() => return Ok(None),
        SettingsText::Unusable(_) if !is_shared && path.is_symlink() => {
            let why = "it was written as a file and is a link now; remove it by hand, \
                       with the file that it leads to";
            return Err(SettingsFlaw::new(why));
        }
        SettingsText::Unusable(why) => return Err(SettingsFlaw::new(why)),
        SettingsText::Text(found) => found,
    };
    if is_shared {
        let of_file = SharedEntries::of_file(agent, path);
        let entries = match content {
            Some(FileContent::Shared(entries)) => entries,
            _ => &of_file,
        };
        let wanted = match text_without(path, entries, &found, known) {
            // Others' files are looked at only to find entries of ours.
            Err(_) if known.is_none() => return Ok(None),
            wanted => wanted?,
        };
        let is_changed = wanted.as_ref() != Some(&found);
        return if is_changed || known.is_some() {
            change(Some(found), wanted)
        } else {
            Ok(None)
        };
    }
    if is_written(known, &found) {
        return change(Some(found), None);
    }
    match content {
        Some(FileContent::Own(text)) if found == *text => change(Some(found), None),
        _ if known.is_none() => Ok(None),
        _ => Err(SettingsFlaw::new(
            "it was changed since it was written; remove it by hand",
        )),
    }
}

/// Returns what is left of a file without our entries; `None` if that is nothing.
fn text_without(
    path: &Path,
    entries: &SharedEntries,
    found: &str,
    known: Option<&RecordedFile>,
) -> Result<Option<String>, SettingsFlaw> {
    let wanted = if is_written(known, found) {
        known.and_then(|known| known.before.clone())
    } else {
        without(entries, found, known)?
    };
    if wanted.is_some() || !path.is_symlink() {
        return Ok(wanted);
    }
    // What the user keeps behind a link is emptied, and not removed.
    let made = known.map_or(&[][..], |known| &known.made);
    Ok(Some(entries.take_out_of(found, made, None)?.text))
}

fn is_written(known: Option<&RecordedFile>, found: &str) -> bool {
    known.is_some_and(|known| known.written.iter().any(|text| text == found))
}

/// Looks at a file that others write too; a link is followed.
fn read_text(path: &Path) -> SettingsText {
    let unusable = |why: String| SettingsText::Unusable(why);
    match read_regular::read_linked_text(path) {
        Ok(text) => SettingsText::Text(text),
        Err(why) if matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            if path.symlink_metadata().is_ok() {
                return unusable("it is a link to nothing".to_owned());
            }
            SettingsText::Missing
        }
        Err(why) => unusable(why.to_string()),
    }
}

/// Looks at a file of ours alone.
fn read_own(path: &Path) -> SettingsText {
    if path.is_symlink() {
        return SettingsText::Unusable("it is a link, and not ours".to_owned());
    }
    read_text(path)
}
