//! A temporary repository in which real git is asked, and the same tree judged by our rules.

use crate::bench::os::{OsStrExt as _, OsStringExt as _};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use checkpoint::worktree::rules::rule_set::{DirRules, RuleSources, RuleVerdict, Rules};
use tempfile::TempDir;

use crate::bench::limit;

pub struct Oracle {
    dir: TempDir,
}

/// A path below the root, and whether it is a directory (a symlink to one is not).
pub type Found = (Vec<u8>, bool);

impl Oracle {
    /// Makes a repository; `None`, with a printed line, where git is not installed.
    pub fn new() -> Option<Self> {
        Self::with_init_args(&[])
    }

    pub fn with_init_args(args: &[&str]) -> Option<Self> {
        if limit::output(Command::new("git").arg("--version")).is_err() {
            crate::bench::skipped("needs git");
            return None;
        }
        let oracle = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir(oracle.root()).unwrap();
        std::fs::create_dir(oracle.home()).unwrap();
        oracle.git(&[&["init", "-q", "--template="], args].concat(), b"");
        Some(oracle)
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Writes a file and the directories above it; a path that ends with `/` is a directory.
    pub fn write(&self, path: &[u8], content: &[u8]) {
        let full = self.root().join(OsStr::from_bytes(path));
        if path.ends_with(b"/") {
            std::fs::create_dir_all(full).unwrap();
        } else {
            std::fs::create_dir_all(full.parent().unwrap()).unwrap();
            std::fs::write(full, content).unwrap();
        }
    }

    /// Runs git with no configuration but the repository's own, and returns what it printed.
    pub fn git(&self, args: &[&str], stdin: &[u8]) -> Vec<u8> {
        let mut command = Command::new("git");
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"GIT_"))
        {
            command.env_remove(name);
        }
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        command
            .env("HOME", self.home())
            .env("XDG_CONFIG_HOME", self.home())
            .current_dir(self.root());
        command
            .args([
                "-c",
                "core.excludesFile=",
                "-c",
                "user.name=x",
                "-c",
                "user.email=x",
            ])
            .args(args);
        let output = limit::output_fed(&mut command, stdin).unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code().is_some_and(|code| code <= 1) && complaint.is_empty(),
            "{args:?}: {complaint}"
        );
        output.stdout
    }

    /// Everything in the tree but ignore files and `.git`.
    pub fn walk(&self) -> Vec<Found> {
        let mut found = Vec::new();
        let mut pending = vec![Vec::new()];
        while let Some(dir) = pending.pop() {
            for entry in std::fs::read_dir(self.root().join(OsStr::from_bytes(&dir))).unwrap() {
                let entry = entry.unwrap();
                let name = entry.file_name().into_vec();
                if name == b".git" || name == b".gitignore" {
                    continue;
                }
                let path = if dir.is_empty() {
                    name
                } else {
                    [&dir, b"/".as_slice(), &name].concat()
                };
                let is_dir = entry.file_type().unwrap().is_dir();
                if is_dir {
                    pending.push(path.clone());
                }
                found.push((path, is_dir));
            }
        }
        found
    }

    /// Those of the paths that git ignores.
    pub fn ignored_by_git(&self, paths: &[Found]) -> BTreeSet<Vec<u8>> {
        // With `./` in front git takes no leading colon for magic; it repeats paths as it got them.
        let asked: Vec<u8> = paths
            .iter()
            .flat_map(|(path, _)| [b"./", path.as_slice(), b"\0"].concat())
            .collect();
        let answer = self.git(&["check-ignore", "--no-index", "-z", "--stdin"], &asked);
        answer
            .split(|byte| *byte == 0)
            .filter_map(|path| path.strip_prefix(b"./"))
            .map(<[u8]>::to_vec)
            .collect()
    }

    /// Those of the paths that our rules leave out, with `.git/info/exclude` in place of the
    /// store's list.
    pub fn ignored_by_us(&self, paths: &[Found]) -> BTreeSet<Vec<u8>> {
        let store_list = std::fs::read(self.root().join(".git/info/exclude")).unwrap_or_default();
        let rules = Rules::new(RuleSources {
            store_list,
            ..RuleSources::default()
        });
        paths
            .iter()
            .filter(|(path, is_dir)| self.is_left_out(&rules, path, *is_dir))
            .map(|(path, _)| path.clone())
            .collect()
    }

    fn is_left_out(&self, rules: &Rules, path: &[u8], is_dir: bool) -> bool {
        let names: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        let mut at = self.root();
        let mut dir: DirRules = rules.enter_root(ignore_file(&at).as_deref());
        for (depth, name) in names.iter().enumerate() {
            let is_last = depth + 1 == names.len();
            match rules.judge(&dir, name, is_dir || !is_last) {
                RuleVerdict::Capture => {}
                RuleVerdict::LeaveOut(_) => return true,
                other => panic!("{other:?} for {:?}", String::from_utf8_lossy(path)),
            }
            at.push(OsStr::from_bytes(name));
            if !is_last {
                dir = rules.enter(&dir, name, ignore_file(&at).as_deref());
            }
        }
        false
    }

    /// Compares all verdicts on the tree; returns how many there were, and how many of them left a
    /// path out.
    pub fn compare(&self, about: &str) -> (usize, usize) {
        let paths = self.walk();
        let (git, us) = (self.ignored_by_git(&paths), self.ignored_by_us(&paths));
        let shown = |bytes: &[u8]| bytes.escape_ascii().to_string();
        let only = |a: &BTreeSet<Vec<u8>>, b| {
            a.difference(b)
                .map(|path| shown(path))
                .collect::<Vec<String>>()
        };
        assert!(
            git == us,
            "{about}\nonly git ignores {:?}\nonly we ignore {:?}",
            only(&git, &us),
            only(&us, &git)
        );
        (paths.len(), git.len())
    }
}

fn ignore_file(dir: &Path) -> Option<Vec<u8>> {
    std::fs::read(dir.join(".gitignore")).ok()
}
