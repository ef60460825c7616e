//! A store with one of everything, to be copied and damaged: merged, deltified and single packs, a
//! loose object, a pin, metas, a restore; and what each of its checkpoints must give back.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::{Git, Sandbox, Tree, fixtures};

/// The original, which stays undamaged.
pub struct Specimen {
    /// Owner of the temporary directory.
    _sandbox: Mutex<Sandbox>,
    pub root: PathBuf,
    pub store: PathBuf,
    /// The working directory at each checkpoint that is not a safety checkpoint.
    pub states: BTreeMap<String, Tree>,
    /// Every checkpoint, newest first.
    pub ids: Vec<String>,
}

/// A copy with its own root and base, and a second store under the same base that is watched.
pub struct Copy {
    pub sandbox: Sandbox,
}

impl Specimen {
    pub fn new() -> Self {
        let mut specimen = Maker {
            sandbox: Sandbox::new(),
            states: BTreeMap::new(),
        };
        let text = |at: usize| {
            (0..400)
                .map(|line| format!("line {line} of {}\n", at / (line + 1)))
                .collect::<String>()
        };
        specimen
            .sandbox
            .mkdir("empty")
            .write("run.sh", "x")
            .chmod("run.sh", 0o700)
            .symlink("link", "text");
        for at in 0..8 {
            specimen
                .sandbox
                .write("text", text(at))
                .write(format!("d/{at}"), fixtures::noise(at as u64, 3000));
            specimen.make(&format!("state {at}"));
            match at {
                2 => drop(specimen.sandbox.run(&["prune"]).success()),
                5 => specimen.deltify(),
                6 => specimen.loosen(),
                _ => {}
            }
        }
        let pinned = specimen.sandbox.shown("state 1")["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        let pin = specimen.sandbox.store().join("refs/pins").join(&pinned);
        fs::write(pin, format!("{pinned}\n")).expect("a pin can be written");
        specimen.sandbox.write("text", "edited");
        specimen.sandbox.restore("state 7").success();
        specimen
            .sandbox
            .run(&["create", "--session", "s", "-r", "with a session"])
            .success();
        specimen.states.insert(
            specimen.sandbox.listed_ids()[0].clone(),
            specimen.sandbox.tree(),
        );
        let Maker { sandbox, states } = specimen;
        let (root, store, ids) = (
            sandbox.root().to_path_buf(),
            sandbox.store(),
            sandbox.listed_ids(),
        );
        Self {
            _sandbox: Mutex::new(sandbox),
            root,
            store,
            states,
            ids,
        }
    }

    /// Makes a copy: a working directory as at the newest checkpoint, and this store as its own.
    pub fn copy(&self) -> Copy {
        let sandbox = Sandbox::bare();
        let other = sandbox.top().join("other");
        fs::create_dir(&other).expect("a directory can be made");
        fs::write(other.join("theirs"), "1").expect("a file can be written");
        sandbox.run_in(&other, &["create", "-r", "other"]).success();
        let watched = super::place::store(&sandbox.base(), &other);
        for entry in walkdir::WalkDir::new(&self.root).min_depth(1) {
            let entry = entry.expect("the root can be walked");
            let relative = entry
                .path()
                .strip_prefix(&self.root)
                .expect("below the root");
            if relative.starts_with(".git") {
                continue;
            }
            let there = sandbox.path(relative);
            if entry.file_type().is_dir() {
                fs::create_dir_all(&there).expect("a directory can be made");
            } else if entry.file_type().is_symlink() {
                sandbox.symlink(relative, fs::read_link(entry.path()).expect("a link"));
            } else {
                fs::copy(entry.path(), &there).expect("a file can be copied");
            }
        }
        fs::set_permissions(
            sandbox.root(),
            self.root.metadata().expect("a root").permissions(),
        )
        .expect("a mode");
        fixtures::copy_tree(&self.store, &sandbox.store());
        let own = |path: &Path| path.to_str().expect("UTF-8").to_owned();
        for name in ["checkpoint/description", "config"] {
            let path = sandbox.store().join(name);
            let text = fs::read_to_string(&path).expect("text");
            let text = text.replace(&own(&self.store), &own(&sandbox.store()));
            fs::write(&path, text.replace(&own(&self.root), &own(sandbox.root()))).expect("text");
        }
        let description =
            fs::read_to_string(sandbox.store().join("checkpoint/description")).expect("text");
        fixtures::write_description(&sandbox.store(), &description);
        sandbox.watch(&watched).at("2026-04-01T00:00:00Z");
        Copy { sandbox }
    }
}

struct Maker {
    sandbox: Sandbox,
    states: BTreeMap<String, Tree>,
}

impl Maker {
    fn make(&mut self, reason: &str) {
        let id = self.sandbox.create(reason);
        self.states.insert(id, self.sandbox.tree());
    }

    fn git(&self) -> Option<Git> {
        Some(Git::find(self.sandbox.root())?.with("GIT_DIR", self.sandbox.store()))
    }

    /// Lets plain git pack with deltas what is not in the merged pack.
    fn deltify(&self) {
        let Some(git) = self.git() else { return };
        let largest = |path: &&PathBuf| path.metadata().map_or(0, |meta| meta.len());
        let packs = packs_of(&self.sandbox.store());
        let keep = packs
            .iter()
            .max_by_key(largest)
            .expect("a pack")
            .with_extension("keep");
        fs::write(&keep, "").expect("a file can be written");
        git.run(&["repack", "-a", "-d", "-f", "-q"]).success();
        fs::remove_file(&keep).expect("a file can be removed");
    }

    /// Turns the newest pack into loose objects.
    fn loosen(&self) {
        let Some(git) = self.git() else { return };
        let newest = |path: &&PathBuf| {
            path.metadata()
                .and_then(|meta| meta.modified())
                .expect("a time")
        };
        let packs = packs_of(&self.sandbox.store());
        let pack = packs.iter().max_by_key(newest).expect("a pack").clone();
        let aside = self.sandbox.top().join("aside.pack");
        fs::rename(&pack, &aside).expect("a pack can be moved");
        fs::remove_file(pack.with_extension("idx")).expect("an index can be removed");
        git.filter(
            &["unpack-objects", "-q"],
            &fs::read(&aside).expect("a pack can be read"),
        );
        fs::remove_file(&aside).expect("a file can be removed");
    }
}

impl Copy {
    /// Damaged copies of the store that were kept.
    pub fn kept(&self) -> Vec<PathBuf> {
        damaged_copies(&self.sandbox.store())
    }
}

pub fn damaged_copies(store: &Path) -> Vec<PathBuf> {
    let name = store
        .file_name()
        .expect("a name")
        .to_str()
        .expect("UTF-8")
        .to_owned();
    let beside = fs::read_dir(store.parent().expect("a parent"))
        .expect("a directory")
        .flatten();
    let mut kept: Vec<PathBuf> = beside
        .map(|entry| entry.path())
        .filter(|path| {
            path.file_name().is_some_and(|found| {
                found
                    .to_string_lossy()
                    .starts_with(&format!("{name}.corrupt-"))
            })
        })
        .collect();
    kept.sort();
    kept
}

/// The packs of a store, by name.
pub fn packs_of(store: &Path) -> Vec<PathBuf> {
    let mut packs = fixtures::files_below(&store.join("objects/pack"));
    packs.retain(|path| path.extension().is_some_and(|ending| ending == "pack"));
    packs
}

/// The loose objects of a store.
pub fn loose_of(store: &Path) -> Vec<PathBuf> {
    let mut files = fixtures::files_below(&store.join("objects"));
    files.retain(|path| path.file_name().is_some_and(|name| name.len() == 38));
    files
}

/// Changes one byte of a file, whatever its mode.
pub fn flip(path: &Path, at: usize, mask: u8) {
    let mut bytes = fs::read(path).expect("a file can be read");
    bytes[at] ^= mask;
    put(path, &bytes);
}

/// Replaces a file with these bytes, without changing its other hard links.
pub fn put(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).expect("a file can be removed");
    fs::write(path, bytes).expect("a file can be written");
}
