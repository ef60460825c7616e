//! Swaps directories and files for links that lead out, and back, repeatedly while a command runs.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, RenameFlags, openat, renameat_with, symlinkat};

use super::choice::Choice;

/// Pauses after a swap, in microseconds.
const RESTS_US: [usize; 5] = [1, 20, 100, 400, 1500];
const STAGE: &str = ".checkpoint-stage-";

/// A name and a link beside it that are exchanged.
pub struct Pair {
    /// The directory, held open, so that a swap further up does not redirect ours.
    dir: Option<File>,
    /// The directory by path, for one that may not exist yet.
    late: PathBuf,
    name: String,
    link: String,
    /// Target of the link, if it has to be made first.
    to: Option<PathBuf>,
}

impl Pair {
    pub fn held(dir: &Path, name: &str, link: &str) -> Self {
        let held = File::open(dir).expect("a directory can be opened");
        Self {
            dir: Some(held),
            late: dir.to_path_buf(),
            name: name.into(),
            link: link.into(),
            to: None,
        }
    }

    /// A pair in a directory that the program makes.
    pub fn late(dir: PathBuf, name: &str, to: &Path) -> Self {
        Self {
            dir: None,
            late: dir,
            name: name.into(),
            link: "swapped".into(),
            to: Some(to.to_path_buf()),
        }
    }

    /// Exchanges both; returns whether that succeeded.
    fn swap(&self) -> bool {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = match &self.dir {
            Some(dir) => dir.try_clone().ok(),
            None => openat(rustix::fs::CWD, &self.late, flags, Mode::empty())
                .ok()
                .map(File::from),
        };
        let Some(dir) = opened else { return false };
        if let Some(to) = &self.to {
            let _ = symlinkat(to, &dir, &self.link);
        }
        self.present_name().is_some_and(|name| {
            renameat_with(&dir, &name, &dir, &self.link, RenameFlags::EXCHANGE).is_ok()
        })
    }

    fn put_right(&self) {
        let is_link = |name: &str| {
            self.late
                .join(name)
                .symlink_metadata()
                .is_ok_and(|meta| meta.is_symlink())
        };
        let is_swapped =
            self.present_name().is_some_and(|name| is_link(&name)) && !is_link(&self.link);
        if self.to.is_none() && is_swapped {
            self.swap();
        }
    }

    fn present_name(&self) -> Option<String> {
        if self.name == STAGE {
            stage_in(&self.late)
        } else {
            Some(self.name.clone())
        }
    }
}

/// A pair for the staging directory of a restore, with an existing link in the root.
pub fn staging(root: &Path, link: &str) -> Pair {
    Pair::held(root, STAGE, link)
}

fn stage_in(root: &Path) -> Option<String> {
    let names = std::fs::read_dir(root)
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    names.into_iter().find(|name| name.starts_with(STAGE))
}

/// What happens while a command runs.
#[derive(Default)]
pub struct Meanwhile {
    pub is_running: AtomicBool,
    pub is_over: AtomicBool,
    pub swaps: AtomicU64,
}

/// Swaps until the command ends, then puts all right. In between a file of `torn` is rewritten.
pub fn swap(pairs: &[Pair], torn: &[(File, usize)], meanwhile: &Meanwhile, mut choice: Choice) {
    let rest = RESTS_US[choice.below(RESTS_US.len())];
    let mut letters = vec![0; torn.len()];
    while !meanwhile.is_over.load(Ordering::Acquire) {
        let did = pairs[choice.below(pairs.len())].swap();
        if did && meanwhile.is_running.load(Ordering::Acquire) {
            meanwhile.swaps.fetch_add(1, Ordering::Relaxed);
        }
        let at = choice.below(torn.len() + 1);
        if let Some((file, len)) = torn.get(at) {
            letters[at] = (letters[at] + 1) % 26;
            let _ = file.write_all_at(&vec![b'a' + letters[at]; *len], 0);
        }
        pause(Duration::from_micros(choice.below(rest + 1) as u64));
    }
    pairs.iter().for_each(Pair::put_right);
}

/// Waits actively: a sleep is too coarse for a few microseconds.
fn pause(time: Duration) {
    let begun = Instant::now();
    if time > Duration::from_micros(200) {
        return std::thread::sleep(time);
    }
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}
