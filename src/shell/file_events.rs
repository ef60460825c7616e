//! Hints of the system that something changed below a directory. They may be late, lost or of nothing:
//! they say when to look, not what is there.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::base::mutex::lock;
use crate::error::{Error, Result};

/// Whether one watch serves a directory with all below it. On Linux each takes one of a limited number.
const IS_RECURSIVE: bool = !cfg!(target_os = "linux");

/// The directories that are watched.
pub struct FileEvents {
    watcher: RecommendedWatcher,
    directories: Arc<Mutex<HashSet<PathBuf>>>,
    /// Whether there was a change; the next one is reported once this is false again.
    pub is_told: Arc<AtomicBool>,
}

impl FileEvents {
    /// `tell` is called on another thread.
    ///
    /// # Errors
    /// The system has no more of them.
    pub fn new(tell: impl Fn() + Send + 'static) -> Result<Self> {
        let directories = Arc::<Mutex<HashSet<PathBuf>>>::default();
        let is_told = Arc::<AtomicBool>::default();
        let (known, told) = (Arc::clone(&directories), Arc::clone(&is_told));
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let is_change = event.map_or(true, |event| note(&event, &mut lock(&known)));
            if is_change && !told.swap(true, Ordering::SeqCst) {
                tell();
            }
        });
        Ok(Self {
            watcher: watcher.map_err(|why| in_words(&why))?,
            directories,
            is_told,
        })
    }

    /// Watches these directories below `top`, and no others. Returns whether some were not watched
    /// before, and why one cannot be.
    pub fn watch(&mut self, top: &Path, directories: Vec<PathBuf>) -> (bool, Option<Error>) {
        let wanted: HashSet<PathBuf> = directories.into_iter().collect();
        let before = lock(&self.directories).clone();
        for gone in before.difference(&wanted) {
            lock(&self.directories).remove(gone);
            let _ = self.watcher.unwatch(gone);
        }
        let mut is_new = false;
        for new in wanted.difference(&before) {
            // It is known before an event can say that it is gone.
            lock(&self.directories).insert(new.clone());
            let added = match IS_RECURSIVE {
                true if new != top => Ok(()),
                true => self.watcher.watch(new, RecursiveMode::Recursive),
                false => self.watcher.watch(new, RecursiveMode::NonRecursive),
            };
            is_new = true;
            if let Err(why) = added {
                lock(&self.directories).remove(new);
                // The directory above reports one that is gone.
                if !matches!(why.kind, ErrorKind::PathNotFound) {
                    return (is_new, Some(in_words(&why)));
                }
            }
        }
        (is_new, None)
    }
}

/// Whether something may have changed in the directories; forgets those whose watch ended with them.
fn note(event: &Event, directories: &mut HashSet<PathBuf>) -> bool {
    if event.need_rescan() {
        directories.clear();
        return true;
    }
    match event.kind {
        // A write to mapped memory has no other event.
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => {}
        EventKind::Access(_) => return false,
        EventKind::Remove(_) | EventKind::Create(_) if !IS_RECURSIVE => {
            for path in &event.paths {
                directories.remove(path);
            }
        }
        EventKind::Modify(ModifyKind::Name(RenameMode::From)) if !IS_RECURSIVE => {
            let is_below = |dir: &PathBuf| event.paths.iter().any(|path| dir.starts_with(path));
            directories.retain(|dir| !is_below(dir));
        }
        _ => {}
    }
    let is_in = |path: &PathBuf| path.parent().is_some_and(|dir| directories.contains(dir));
    !IS_RECURSIVE || event.paths.iter().any(is_in)
}

fn in_words(why: &notify::Error) -> Error {
    Error::unexpected(match &why.kind {
        ErrorKind::MaxFilesWatch => {
            "the limit of watches is reached (sysctl fs.inotify.max_user_watches)".to_owned()
        }
        _ => why.to_string(),
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use notify::event::{CreateKind, RemoveKind};

    use super::*;

    #[test]
    fn a_directory_that_went_or_came_is_forgotten() {
        let all = ["/top", "/top/a", "/top/a/b", "/top/ab"];
        let left = |kind: EventKind| {
            let mut known: HashSet<PathBuf> = all.iter().map(PathBuf::from).collect();
            assert!(note(
                &Event::new(kind).add_path("/top/a".into()),
                &mut known
            ));
            let is_left = |dir: &&str| known.contains(Path::new(dir));
            all.into_iter().filter(is_left).collect::<Vec<_>>()
        };
        let one_gone = ["/top", "/top/a/b", "/top/ab"];
        assert_eq!(left(EventKind::Remove(RemoveKind::Folder)), one_gone);
        assert_eq!(left(EventKind::Create(CreateKind::Folder)), one_gone);
        let moved = EventKind::Modify(ModifyKind::Name(RenameMode::From));
        assert_eq!(left(moved), ["/top", "/top/ab"]);
        assert_eq!(left(EventKind::Any), all);
    }

    #[test]
    fn a_file_that_was_open_for_writing_may_have_changed() {
        let told = |kind| {
            let event = Event::new(EventKind::Access(kind)).add_path("/top/a".into());
            note(&event, &mut HashSet::from(["/top".into()]))
        };
        assert!(told(AccessKind::Close(AccessMode::Write)));
        assert!(!told(AccessKind::Close(AccessMode::Read)) && !told(AccessKind::Read));
    }
}
