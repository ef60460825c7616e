//! Every system call of one run, with the paths that descriptors stand for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{Run, Sandbox, strace};

pub struct Call {
    pub name: String,
    args: String,
    pub result: String,
}

pub struct Trace {
    pub run: Run,
    /// Calls thread by thread, each in order.
    pub calls: Vec<Call>,
}

/// Runs a command that succeeds under the tracer; `None`, with a printed line, where that is not possible.
pub fn trace(sandbox: &Sandbox, args: &[&str]) -> Option<Trace> {
    if !strace::available() {
        return None;
    }
    // A log for each thread, so that no call is split by another.
    let logs = tempfile::tempdir().expect("a directory for the logs");
    let prefix = logs.path().join("log").display().to_string();
    let tracer = ["/usr/bin/strace", "-ff", "-y", "-qq", "-o", &prefix];
    let run = sandbox.run_under(&tracer, args).success();
    let mut files: Vec<PathBuf> = std::fs::read_dir(logs.path())
        .expect("the logs")
        .map(|entry| entry.expect("a log").path())
        .collect();
    files.sort();
    let text: String = files
        .iter()
        .map(|file| String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned())
        .collect();
    // An unoptimized program checks before each close whether the descriptor is open.
    let calls = text
        .lines()
        .filter_map(Call::parse)
        .filter(|call| !call.has_flag("F_GETFD"))
        .collect();
    Some(Trace { run, calls })
}

impl Call {
    fn parse(line: &str) -> Option<Self> {
        let (call, result) = line.rsplit_once(" = ")?;
        let (name, args) = call.trim_end().strip_suffix(')')?.split_once('(')?;
        Some(Self {
            name: name.to_owned(),
            args: args.to_owned(),
            result: result.to_owned(),
        })
    }

    /// The file of the call, by name or by descriptor.
    pub fn path(&self) -> Option<PathBuf> {
        let mut args = self.args.split(", ");
        let first = args.next()?;
        if let Some(name) = quoted(first) {
            return Some(PathBuf::from(name));
        }
        let of_descriptor = PathBuf::from(first.split_once('<')?.1.strip_suffix('>')?);
        let named = args.next().and_then(quoted).filter(|_| self.takes_a_name());
        Some(named.map_or(of_descriptor.clone(), |name| {
            if name.is_empty() {
                of_descriptor
            } else {
                of_descriptor.join(name)
            }
        }))
    }

    fn takes_a_name(&self) -> bool {
        self.name.ends_with("at") || self.name.ends_with("at2") || self.name == "statx"
    }

    pub fn has_flag(&self, flag: &str) -> bool {
        self.args.contains(flag)
    }

    pub fn succeeded(&self) -> bool {
        !self.result.starts_with('-')
    }

    /// The returned number.
    fn number(&self) -> u64 {
        self.result
            .split(|sign: char| !sign.is_ascii_digit())
            .next()
            .and_then(|number| number.parse().ok())
            .unwrap_or(0)
    }

    /// The old and new path of a rename or link.
    fn renamed(&self) -> Option<(PathBuf, PathBuf)> {
        let is_one = self.name.starts_with("rename") || self.name.starts_with("link");
        let names: Vec<&str> = self.args.split(", ").filter_map(quoted).collect();
        match names.as_slice() {
            [from, to] if is_one && self.succeeded() => {
                Some((PathBuf::from(from), PathBuf::from(to)))
            }
            _ => None,
        }
    }
}

fn quoted(arg: &str) -> Option<&str> {
    arg.strip_prefix('"')?.strip_suffix('"')
}

impl Trace {
    pub fn named(&self, names: &[&str]) -> impl Iterator<Item = &Call> {
        self.calls
            .iter()
            .filter(move |call| names.contains(&call.name.as_str()))
    }

    /// Files opened below a directory with a name that ends so; no directories.
    pub fn opened(&self, below: &Path, end: &str) -> Vec<PathBuf> {
        let opens = self
            .named(&["open", "openat", "openat2"])
            .filter(|call| call.succeeded());
        let files = opens.filter(|call| !call.has_flag("O_DIRECTORY") && !call.has_flag("O_PATH"));
        let paths = files.filter_map(Call::path);
        paths
            .filter(|path| {
                path.starts_with(below) && path.to_string_lossy().ends_with(end) && path.is_file()
            })
            .collect()
    }

    /// Calls about each path below a directory, that directory included.
    pub fn calls_below(&self, below: &Path) -> BTreeMap<PathBuf, Vec<&Call>> {
        let mut found: BTreeMap<PathBuf, Vec<&Call>> = BTreeMap::new();
        for call in &self.calls {
            if let Some(path) = call.path().filter(|path| path.starts_with(below)) {
                found.entry(path).or_default().push(call);
            }
        }
        found
    }

    /// Bytes written to each file below a directory, by its final name, relative to the directory.
    pub fn written(&self, below: &Path) -> BTreeMap<String, u64> {
        let mut bytes: BTreeMap<PathBuf, u64> = BTreeMap::new();
        for call in &self.calls {
            if ["write", "pwrite64", "writev", "pwritev", "pwritev2"].contains(&call.name.as_str())
                && let Some(path) = call.path()
            {
                *bytes.entry(path).or_default() += call.number();
            }
            if let Some((from, to)) = call.renamed()
                && let Some(count) = bytes.remove(&from)
            {
                bytes.insert(to, count);
            }
            let shared =
                call.name == "mmap" && call.has_flag("PROT_WRITE") && call.has_flag("MAP_SHARED,");
            assert!(
                !shared,
                "a file is written through memory, where nobody counts: {}",
                call.args
            );
        }
        let inside = |(path, count): (PathBuf, u64)| {
            Some((path.strip_prefix(below).ok()?.display().to_string(), count))
        };
        bytes.into_iter().filter_map(inside).collect()
    }

    /// Files below a directory that were renamed there without a flush under the former names.
    pub fn named_unflushed(&self, below: &Path) -> Vec<PathBuf> {
        let syncs = self
            .named(&["fsync", "fdatasync"])
            .filter(|call| call.succeeded());
        let flushed: BTreeSet<PathBuf> = syncs.filter_map(Call::path).collect();
        let named = self.calls.iter().filter_map(Call::renamed);
        named
            .filter(|(from, to)| to.starts_with(below) && !flushed.contains(from))
            .map(|(_, to)| to)
            .collect()
    }

    pub fn threads_started(&self) -> usize {
        self.named(&["clone", "clone3", "fork", "vfork"]).count()
    }
}
