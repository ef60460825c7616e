//! What is left in the folder for temporary files, since there may be no store that can be written:
//! marks of what a session has shown its user, prompts that could not be noted, and where the session
//! began.

use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use crate::agent::AgentEvent;
use crate::base::json;
use crate::model::PromptNote;
use crate::store::files::{atomic_file, read_regular};
use crate::worktree::git::find_index::path_from;

const TOLD: &str = ".checkpoint-told-";
const LOST: &str = ".checkpoint-lost-";
const BEGAN: &str = ".checkpoint-began-";
/// Upper bound on the lost prompts of a session that wait to be noted.
const MOST_LOST: usize = 32;
/// Upper bound on the file of one, in bytes.
const LONGEST_LOST: u64 = 16 << 10;
/// Time for which a mark is kept.
const KEPT: Duration = Duration::from_hours(7 * 24);
/// Upper bounds on what one run looks at: names in the folder, and marks of ours.
const MOST_NAMES: usize = 4096;
const MOST_MARKS: usize = 100;

/// The marks of one session in one directory.
pub struct Marks<'t> {
    folder: &'t Path,
    root: &'t Path,
    event: &'t AgentEvent,
}

/// A prompt that could not be noted, and the file that remembers it.
pub struct LostPrompt {
    pub note: PromptNote,
    file: PathBuf,
}

impl<'t> Marks<'t> {
    pub fn of(folder: &'t Path, root: &'t Path, event: &'t AgentEvent) -> Self {
        Self {
            folder,
            root,
            event,
        }
    }

    /// Whether a cause is told for the first time in this session; marks it as told.
    pub fn is_new(&self, cause: &str) -> bool {
        let mark = mark(self.folder, TOLD, (&self.event.session, cause, self.root));
        !create(&mark).is_err_and(|why| why.kind() == ErrorKind::AlreadyExists)
    }

    /// Remembers a prompt that could not be noted. Returns whether it was not remembered before.
    pub fn keep(&self, note: &PromptNote) -> bool {
        let agent = self.event.agent.into_str();
        for file in lost_files(self.folder, self.root, agent, &self.event.session) {
            match create(&file) {
                Ok(mut made) => {
                    // Half a note is none.
                    if made
                        .write_all(json::document(note, false).as_bytes())
                        .is_err()
                    {
                        let _ = atomic_file::remove_if_there(&file);
                    }
                    return true;
                }
                Err(why) if why.kind() == ErrorKind::AlreadyExists => {
                    let known = read_own(&file).and_then(|note| json::read::<PromptNote>(&note));
                    if known.is_some_and(|known| known.is_same(note)) {
                        return false;
                    }
                }
                Err(_) => return true,
            }
        }
        true
    }
}

/// Returns the prompts of a session that wait to be noted, oldest first.
pub fn lost(folder: &Path, root: &Path, agent: &str, session: &str) -> Vec<LostPrompt> {
    let read = |file: PathBuf| {
        let note = json::read(&read_own(&file)?)?;
        Some(LostPrompt { note, file })
    };
    let files = lost_files(folder, root, agent, session);
    let mut lost: Vec<LostPrompt> = files.filter_map(read).collect();
    lost.sort_by_key(|lost| lost.note.time_ms);
    lost
}

fn lost_files(
    folder: &Path,
    root: &Path,
    agent: &str,
    session: &str,
) -> impl Iterator<Item = PathBuf> + use<> {
    let stem = mark(folder, LOST, (agent, session, root));
    (0..MOST_LOST).map(move |at| stem.with_extension(at.to_string()))
}

/// Returns the path of a mark.
fn mark(folder: &Path, kind: &str, of: impl Hash) -> PathBuf {
    folder.join(format!("{kind}{:016x}", digest(of)))
}

pub fn digest(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// Where a session began, for one user and base.
pub struct Beginning(PathBuf);

impl Beginning {
    /// `None` if the session has no name.
    pub fn of(folder: &Path, base: &Path, event: &AgentEvent) -> Option<Self> {
        let of = (event.agent.into_str(), &event.session, base);
        let mark = mark(folder, BEGAN, of);
        (!event.session.is_empty()).then_some(Self(mark))
    }

    /// Returns the root in which the session began, and keeps the mark young.
    pub fn read(&self, now_ms: i64) -> Option<PathBuf> {
        let root = path_from(&read_own(&self.0)?)?;
        let now = Duration::from_millis(u64::try_from(now_ms).ok()?);
        let _ = read_regular::open(&self.0).and_then(|mark| mark.set_modified(UNIX_EPOCH + now));
        root.is_absolute().then_some(root)
    }

    /// Without it, later events belong to where their shell stands.
    pub fn note(&self, root: &Path) {
        let _ = atomic_file::remove_if_there(&self.0);
        let root = root.as_os_str().as_encoded_bytes();
        let _ = create(&self.0).and_then(|mut mark| mark.write_all(root));
    }
}

/// Forgets prompts that were noted.
pub fn forget(noted: &[LostPrompt]) {
    for lost in noted {
        // It is told apart from a new one by its words and time.
        let _ = atomic_file::remove_if_there(&lost.file);
    }
}

/// Removes marks of this user that are older than a week. That this failed is nothing to report.
pub fn remove_old(folder: &Path, now_ms: i64) {
    let now = UNIX_EPOCH + Duration::from_millis(now_ms.unsigned_abs());
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let names = entries.flatten().take(MOST_NAMES);
    let marks = names.filter(|entry| {
        let name = entry.file_name();
        let is_of = |kind: &str| name.as_encoded_bytes().starts_with(kind.as_bytes());
        is_of(TOLD) || is_of(LOST) || is_of(BEGAN)
    });
    for mark in marks.take(MOST_MARKS).map(|entry| entry.path()) {
        let Ok(Some(found)) = read_regular::lstat(&mark) else {
            continue;
        };
        let is_old = |written| now.duration_since(written).is_ok_and(|age| age > KEPT);
        let is_old = found.modified().is_ok_and(is_old);
        if is_old && found.is_file() && read_regular::is_ours(&found) {
            let _ = atomic_file::remove_if_there(&mark);
        }
    }
}

/// Makes a file for this user alone; what is there already, a link too, is not opened.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Reads a file of this user; what another one left there is not trusted.
fn read_own(path: &Path) -> Option<Vec<u8>> {
    let file = read_regular::open(path).ok()?;
    let found = file.metadata().ok()?;
    if !found.is_file() || !read_regular::is_ours(&found) {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LONGEST_LOST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
