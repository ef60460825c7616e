//! Real git as a judge, without any user's configuration; a test without it is skipped.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::limit;
use super::run::Run;
use super::sandbox::words;

pub struct Git {
    program: PathBuf,
    dir: PathBuf,
    env: Vec<(OsString, OsString)>,
}

impl Git {
    /// Finds git, to be run in `dir`; `None`, with a printed line, where there is none.
    pub fn find(dir: &Path) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path)
            .map(|dir| dir.join("git"))
            .find(|program| program.is_file());
        if found.is_none() {
            super::skipped("needs git");
        }
        let mut env: Vec<(OsString, OsString)> = vec![("PATH".into(), path)];
        for (name, value) in [
            ("HOME", "/nonexistent"),
            ("LC_ALL", "C"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "t"),
            ("GIT_AUTHOR_EMAIL", "t@example.org"),
            ("GIT_COMMITTER_NAME", "t"),
            ("GIT_COMMITTER_EMAIL", "t@example.org"),
            ("GIT_OPTIONAL_LOCKS", "0"),
        ] {
            env.push((name.into(), value.into()));
        }
        Some(Self {
            program: found?,
            dir: dir.to_path_buf(),
            env,
        })
    }

    /// The same git with one more variable, such as `GIT_DIR`.
    pub fn with(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.into(), value.as_ref().to_owned()));
        self
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args([
            "-c",
            "safe.directory=*",
            "-c",
            "core.autocrlf=false",
            "-c",
            "gc.auto=0",
        ]);
        command
            .args(args)
            .current_dir(&self.dir)
            .env_clear()
            .envs(self.env.iter().map(|(n, v)| (n, v)));
        command
    }

    pub fn run(&self, args: &[&str]) -> Run {
        Run::of(self.command(args))
    }

    /// As [`Self::run`], of a line of which words with blanks are between single quotes.
    pub fn cmd(&self, line: impl AsRef<str>) -> Run {
        self.run(&words(line.as_ref()))
    }

    #[track_caller]
    pub fn ok(&self, line: impl AsRef<str>) -> Run {
        self.cmd(line).success()
    }

    /// The output of a git command that must succeed, without the last line break.
    #[track_caller]
    pub fn output(&self, args: &[&str]) -> String {
        self.run(args)
            .success()
            .stdout
            .trim_end_matches('\n')
            .to_owned()
    }

    /// The raw output of a git command that must succeed and reads `input`.
    #[track_caller]
    pub fn filter(&self, args: &[&str], input: &[u8]) -> Vec<u8> {
        let output = limit::output_fed(&mut self.command(args), input).expect("git can be started");
        assert!(
            output.status.success(),
            "git {args:?} failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    }

    /// Adds an object as it is, whatever git thinks of it; returns its id.
    pub fn put(&self, kind: &str, bytes: &[u8]) -> String {
        let args = ["hash-object", "-t", kind, "-w", "--literally", "--stdin"];
        let id = String::from_utf8(self.filter(&args, bytes)).expect("an id");
        id.trim().to_owned()
    }

    /// The id of the tree that git itself makes of a directory: everything but `.git`, without
    /// rules and filters.
    ///
    /// The files of a nested repository count like any others, so they are handed over by name.
    pub fn write_tree_of(&self, root: &Path, scratch: &Path) -> String {
        self.write_tree_of_some(root, scratch, |_| true)
    }

    /// The same for the files whose relative path is wanted.
    pub fn write_tree_of_some(
        &self,
        root: &Path,
        scratch: &Path,
        wanted: impl Fn(&[u8]) -> bool,
    ) -> String {
        let git = Self {
            program: self.program.clone(),
            dir: root.to_path_buf(),
            env: self
                .env
                .iter()
                .filter(|(name, _)| name != "GIT_DIR")
                .cloned()
                .collect(),
        }
        .with("GIT_DIR", scratch);
        if !scratch.join("HEAD").exists() {
            git.run(&["init", "-q", "--bare"]).success();
        }
        let index = scratch.join("index");
        let _ = std::fs::remove_file(&index);
        let tree = super::Tree::capture(root);
        let (mut links, mut files, mut modes) = (Vec::new(), Vec::new(), Vec::new());
        for (path, node) in &tree.nodes {
            match &node.kind {
                super::tree::Kind::Symlink(target) if wanted(path) => {
                    links.push((path.clone(), target.clone()));
                }
                super::tree::Kind::File { .. } if wanted(path) => {
                    files.push(path.clone());
                    modes.push(if node.mode & 0o100 == 0 {
                        "100644"
                    } else {
                        "100755"
                    });
                }
                _ => {}
            }
        }
        let mut input = Vec::new();
        for (path, id) in files
            .iter()
            .zip(git.hash_files(root, &files))
            .zip(modes)
            .map(|((p, i), m)| (p, (i, m)))
        {
            input.extend_from_slice(format!("{} {}\t", id.1, id.0).as_bytes());
            input.extend_from_slice(path);
            input.push(0);
        }
        for (path, target) in links {
            let id = String::from_utf8(git.filter(&["hash-object", "-w", "--stdin"], &target))
                .expect("an id");
            input.extend_from_slice(format!("120000 {}\t", id.trim()).as_bytes());
            input.extend_from_slice(&path);
            input.push(0);
        }
        git.filter(&["update-index", "-z", "--add", "--index-info"], &input);
        git.output(&["write-tree"])
    }

    /// The blob ids of files without filters; names with line breaks go one by one.
    fn hash_files(&self, root: &Path, files: &[Vec<u8>]) -> Vec<String> {
        let plain = |path: &[u8]| !path.contains(&b'\n') && !path.starts_with(b"\"");
        if files.iter().all(|path| plain(path)) {
            let list: Vec<u8> = files
                .iter()
                .flat_map(|path| [path.as_slice(), b"\n"].concat())
                .collect();
            let ids = self.filter(
                &["hash-object", "-w", "--no-filters", "--stdin-paths"],
                &list,
            );
            return String::from_utf8(ids)
                .expect("ids")
                .lines()
                .map(str::to_owned)
                .collect();
        }
        let one = |path: &Vec<u8>| {
            let bytes =
                std::fs::read(root.join(super::os::path_of(path))).expect("a file can be read");
            String::from_utf8(self.filter(&["hash-object", "-w", "--stdin"], &bytes))
                .expect("an id")
                .trim()
                .to_owned()
        };
        files.iter().map(one).collect()
    }
}

#[test]
fn the_tree_handed_over_by_name_is_the_one_that_git_adds() {
    let sandbox = super::Sandbox::bare();
    let Some(git) = Git::find(sandbox.root()) else {
        return;
    };
    sandbox
        .write("a", "1\r\n")
        .write("d/b", "2")
        .write("d.c", "3")
        .symlink("link", "d/b")
        .write("new\nline", "4");
    sandbox
        .write("run", "x")
        .chmod("run", 0o755)
        .write("ünï", "5");
    let by_name = git.write_tree_of(sandbox.root(), &sandbox.top().join("scratch"));
    git.run(&["init", "-q"]).success();
    git.run(&["add", "-A"]).success();
    assert_eq!(git.output(&["write-tree"]), by_name);
}
