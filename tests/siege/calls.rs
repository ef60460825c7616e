//! System calls of one run: which were made how often, and how the tracer disturbs one of them.

use std::collections::BTreeMap;

use crate::field::Field;

const TRACER: &str = "/usr/bin/strace";

/// Calls that change the disk. A kill between two of them finds what it finds before the second.
const CHANGING: &[&str] = &[
    "write",
    "pwrite64",
    "openat",
    "openat2",
    "mkdir",
    "mkdirat",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "rmdir",
    "link",
    "linkat",
    "symlinkat",
    "ftruncate",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "chmod",
    "utimensat",
    "fsync",
    "fdatasync",
    "syncfs",
    "exit_group",
    "copy_file_range",
    "fallocate",
    "flock",
    "fcntl",
];

/// One system call of a run.
#[derive(Clone, Debug)]
pub struct Call {
    pub name: String,
    /// Number among the calls of that name in a thread, from 1.
    pub nth: usize,
}

impl Call {
    pub fn changes_something(&self) -> bool {
        CHANGING.contains(&self.name.as_str())
    }
}

/// Every call of a run, by name and number. The field is put back before.
pub fn of(field: &Field, args: &[&str]) -> Vec<Call> {
    field.put_back();
    let log = field.beside("calls");
    let log = log.display().to_string();
    let _ = field.run(&[TRACER, "-f", "-qq", "-o", &log], args);
    let text = std::fs::read_to_string(&log).expect("the tracer wrote its log");
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(' ') else {
            continue;
        };
        let Some((name, _)) = rest.trim_start().split_once('(') else {
            continue;
        };
        if name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            *counts
                .entry((name.to_owned(), thread.to_owned()))
                .or_default() += 1;
        }
    }
    let mut most: BTreeMap<String, usize> = BTreeMap::new();
    for ((name, _), count) in counts {
        let known = most.entry(name).or_default();
        *known = count.max(*known);
    }
    most.retain(|name, _| name != "execve");
    most.into_iter()
        .flat_map(|(name, count)| {
            (1..=count).map(move |nth| Call {
                name: name.clone(),
                nth,
            })
        })
        .collect()
}

/// Wrapper for a run in which the tracer does `what` (`signal=KILL`, `error=EIO`) at one call, or
/// from it on.
pub fn disturbing(call: &Call, what: &str, from_then_on: bool) -> Vec<String> {
    let Call { name, nth } = call;
    let when = if from_then_on {
        format!("{nth}+")
    } else {
        nth.to_string()
    };
    let words = [
        TRACER,
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        &format!("trace={name}"),
        "-e",
        &format!("inject={name}:{what}:when={when}"),
    ];
    words.map(str::to_owned).to_vec()
}

/// Wrapper for a run in which each of these calls begins late.
pub fn delaying(name: &str, micros: usize) -> Vec<String> {
    let inject = format!("inject={name}:delay_enter={micros}");
    let words = [
        TRACER,
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        &format!("trace={name}"),
        "-e",
        &inject,
    ];
    words.map(str::to_owned).to_vec()
}

pub fn can_trace() -> bool {
    crate::bench::strace::available()
}
