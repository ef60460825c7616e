//! Every path in a store, and where the store of a root lies. Only here is a root's path hashed.
//!
//! ```text
//! <base>/projects/<key>/checkpoints/<dir-hash>/     the git directory, bare
//! ├── HEAD  config  info/attributes                 constants, rewritten when they differ
//! ├── refs/checkpoints/<commit>                     a checkpoint: the file's name is its content
//! ├── refs/meta/<commit>                            keeps the meta blob alive for git's own gc
//! ├── refs/pins/<commit>                            a pin
//! ├── refs/workflows/<id>                          a run: its newest transition; the others are its ancestors
//! ├── refs/remotes/<name>/<dir-hash>/<device>       the newest carrier fetched from a line of a remote
//! ├── packed-refs                                   only what plain git packed, until the next writer
//! ├── refs/heads/main                               the newest checkpoint of any kind
//! ├── objects/pack/pack-*.pack, .idx                of a checkpoint one, or one a thread; merged later
//! ├── .gitignore                                    the exclusion list, written once, the user's to edit
//! ├── checkpoint-manifest.md                        the table for people
//! └── checkpoint/                                   what git has no place for
//!     ├── description  lock  journal  holds  adopted  rewords  origins  remotes  watcher
//!     ├── stat-cache  stat-cache-head  left-out  size-gate    derived, may be lost
//!     ├── agent-sessions  hook-log  hook-log-former   likewise, of the agents that work here
//!     ├── index                                     likewise, the file of `commit_index`
//!     ├── delta-packs  tidied                       likewise: packs of deltas, and the checkpoint at the last gc
//!     ├── transport/<name>/                         the repository by which git talks to a remote
//!     ├── used-<commit>-<16 hex>/                   likewise of a `run`, that may go back to this commit
//!     └── bisect-<16 hex>/                          scratch of a running bisect, locked by it; swept once it is not
//! ```

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Longest key in UTF-16 code units; a longer one is cut and gets a hash.
const LONGEST_KEY: usize = 200;

/// Returns the store directory of a root under a base. `root` is canonical and absolute.
pub fn store_dir(base: &Path, root: &Path) -> PathBuf {
    base.join("projects")
        .join(key(root))
        .join("checkpoints")
        .join(dir_hash(root))
}

/// Whether a store has been used: a hook that may record nothing leaves an empty one.
pub fn is_begun(store: &Path) -> bool {
    let names = [
        "checkpoint-manifest.md",
        "packed-refs",
        "checkpoint/remotes",
    ];
    let has_packs =
        || std::fs::read_dir(store.join("objects/pack")).is_ok_and(|mut it| it.next().is_some());
    names.iter().any(|name| store.join(name).exists()) || has_packs()
}

/// Hex digits in the name of a store directory; copies and leftovers begin with them.
pub const NAME_DIGITS: usize = 16;

/// Returns the first hex digits of SHA-256 over the path's bytes.
pub fn dir_hash(root: &Path) -> String {
    sha256_hex(root)[..NAME_DIGITS].to_owned()
}

/// Returns the folder name under which Claude Code keeps a project: each UTF-16 code unit outside
/// `[A-Za-z0-9]` becomes `-`. A key over 200 units: its first 200, `-`, and 8 hex digits of SHA-256
/// over the path's bytes.
pub fn key(root: &Path) -> String {
    let bytes = path_bytes(root);
    let mut key = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_ascii_alphanumeric() {
                key.push(c);
            } else {
                key.extend(std::iter::repeat_n('-', c.len_utf16()));
            }
        }
        key.extend(std::iter::repeat_n('-', chunk.invalid().len()));
    }
    if key.len() > LONGEST_KEY {
        key.truncate(LONGEST_KEY);
        key = format!("{key}-{}", &sha256_hex(root)[..8]);
    }
    key
}

fn sha256_hex(root: &Path) -> String {
    hex::encode(Sha256::digest(path_bytes(root)))
}

fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// Makes a function of [`Layout`] for each path, and a list of all files with a fixed name.
macro_rules! paths {
    ($($(#[$other_doc:meta])* $other:ident $other_path:literal,)* ; $($(#[$doc:meta])* $file:ident $path:literal,)*) => {
        impl Layout {
            $($(#[$other_doc])* pub fn $other(&self) -> PathBuf { self.below($other_path) })*
            $($(#[$doc])* pub fn $file(&self) -> PathBuf { self.below($path) })*

            /// The names of all files with a fixed name, from the store.
            pub const FILES: &[&str] = &[$($path),*];
        }
    };
}

/// Paths inside one store.
#[derive(Clone, Debug)]
pub struct Layout {
    dir: PathBuf,
}

impl Layout {
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Returns the files that are made anew from the others.
    pub fn caches(&self) -> [PathBuf; 5] {
        [
            self.stat_cache(),
            self.stat_cache_head(),
            self.checkpoint_index(),
            self.left_out(),
            self.size_gate(),
        ]
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the name of a path below the store, with slashes on every system.
    pub fn name_of(&self, path: &Path) -> Option<PathBuf> {
        let name = path.strip_prefix(&self.dir).ok()?;
        match name.to_str() {
            Some(text) if cfg!(windows) => Some(text.replace('\\', "/").into()),
            _ => Some(name.to_path_buf()),
        }
    }

    /// `name` has slashes on every system.
    pub fn below(&self, name: &str) -> PathBuf {
        let mut path = self.dir.clone();
        path.extend(name.split('/'));
        path
    }

    /// The repository by which git talks to a remote.
    pub fn transport(&self, remote: &str) -> PathBuf {
        self.own().join("transport").join(remote)
    }

    /// Returns the directories in which a new checkpoint makes files.
    pub fn written_directories(&self) -> [PathBuf; 4] {
        let refs = self.refs();
        let (heads, checkpoints) = (refs.join("heads"), refs.join("checkpoints"));
        [self.own(), self.packs(), heads, checkpoints]
    }

    /// The names of the directories below a store, parents first.
    pub const DIRECTORIES: [&str; 10] = [
        "info",
        "objects",
        "objects/info",
        "objects/pack",
        "refs/heads",
        "refs/checkpoints",
        "refs/meta",
        "refs/pins",
        "refs",
        "checkpoint",
    ];

    /// Returns the directories of a store, parents first.
    pub fn directories(&self) -> Vec<PathBuf> {
        let below = Self::DIRECTORIES.map(|name| self.below(name));
        std::iter::once(self.dir.clone()).chain(below).collect()
    }
}

paths! {
    // Directories, and files of git that come and go.
    objects "objects",
    packs "objects/pack",
    refs "refs",
    packed_refs_lock "packed-refs.lock",
    /// Plain git's own index, where it is used with a work tree on this store.
    git_index "index",
    own "checkpoint",
    ;
    // Files with a fixed name.
    head "HEAD",
    config "config",
    attributes "info/attributes",
    /// A file that keeps `objects/info/` non-empty, lest Claude Code's clean-up remove it.
    objects_keeper "objects/info/keep",
    packed_refs "packed-refs",
    exclusion_list ".gitignore",
    manifest "checkpoint-manifest.md",
    description "checkpoint/description",
    lock "checkpoint/lock",
    journal "checkpoint/journal",
    stat_cache "checkpoint/stat-cache",
    stat_cache_head "checkpoint/stat-cache-head",
    /// Why the monitor of the directory is not to be used.
    monitor_off "checkpoint/monitor-off",
    checkpoint_index "checkpoint/index",
    /// Refs whose objects a kept copy of the store may hold.
    left_behind "checkpoint/left-behind",
    left_out "checkpoint/left-out",
    size_gate "checkpoint/size-gate",
    rewords "checkpoint/rewords",
    origins "checkpoint/origins",
    remotes "checkpoint/remotes",
    agent_sessions "checkpoint/agent-sessions",
    /// The log of the hooks that agents ran.
    hook_log "checkpoint/hook-log",
    /// The part of the log before the present one.
    former_hook_log "checkpoint/hook-log-former",
    holds "checkpoint/holds",
    workflow_roll "checkpoint/workflows",
    /// The transition whose files are being written.
    prepared "checkpoint/prepared",
    /// The packs of deltas that `prune` made.
    delta_packs "checkpoint/delta-packs",
    adopted "checkpoint/adopted",
    last_gc "checkpoint/tidied",
    /// Locked by a `watch` at work, whose process it names.
    watcher "checkpoint/watcher",
    main "refs/heads/main",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_the_folder_of_claude_code() {
        for (root, expected) in [
            ("/home/u/my_app", "-home-u-my-app"),
            ("/a.b c", "-a-b-c"),
            ("/gr\u{fc}n", "-gr-n"),
            ("/\u{1f600}", "---"),
        ] {
            assert_eq!(key(Path::new(root)), expected, "{root}");
        }
    }

    #[test]
    fn a_long_key_is_cut_and_told_apart_by_a_hash() {
        let long = format!("/{}", "a".repeat(250));
        let made = key(Path::new(&long));
        assert_eq!(made.len(), 200 + 1 + 8);
        assert_ne!(made, key(Path::new(&format!("{long}b"))));
        assert_eq!(key(Path::new(&format!("/{}", "a".repeat(199)))).len(), 200);
    }

    #[test]
    fn the_dir_hash_is_what_the_shell_formula_gives() {
        // printf %s /absolute/path/to/project | sha256sum | cut -c1-16
        let found = dir_hash(Path::new("/absolute/path/to/project"));
        assert_eq!(found, SHELL_FORMULA);
    }

    const SHELL_FORMULA: &str = "85672760c9f4d4dc";
}
