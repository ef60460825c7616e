//! System calls of one run: which were made how often, and how the tracer disturbs one of them.

use std::collections::BTreeMap;

use super::field::Field;

const TRACER: &str = "/usr/bin/strace";

/// Calls that change the disk. A kill between two of them finds what it finds before the second.
const CHANGING: &str = "write pwrite64 openat openat2 mkdir mkdirat rename renameat renameat2 unlink unlinkat rmdir link \
    linkat symlinkat ftruncate fchmod fchmodat fchmodat2 fchown chmod utimensat fsync fdatasync syncfs exit_group \
    copy_file_range fallocate flock fcntl";

/// One system call of a run.
#[derive(Clone, Debug)]
pub struct Call {
    pub name: String,
    /// Number among the calls of that name in a thread, from 1.
    pub nth: usize,
}

impl Call {
    pub fn changes_something(&self) -> bool {
        CHANGING.split_whitespace().any(|name| name == self.name)
    }
}

/// Every call of a run, by name and number, but those of the loader of shared libraries. The field
/// is put back before.
pub fn of(field: &Field, line: &str) -> Vec<Call> {
    field.put_back();
    let log = field.beside("calls");
    let words = [TRACER, "-f", "-qq", "-o", &log.display().to_string()];
    let _ = field.disturbed(&words.map(str::to_owned), line);
    let text = std::fs::read_to_string(&log).expect("the tracer wrote its log");
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut loading: BTreeMap<&str, usize> = BTreeMap::new();
    let mut is_loaded = false;
    for line in text.lines() {
        let call = line.split_once(' ').and_then(|(thread, rest)| {
            let (name, _) = rest.trim_start().split_once('(')?;
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            name.bytes().all(is_name).then_some((name, thread))
        });
        let Some(call) = call else { continue };
        *counts.entry(call).or_default() += 1;
        // The first call of the program itself.
        is_loaded |= ["poll", "ppoll"].contains(&call.0);
        if !is_loaded {
            *loading.entry(call.0).or_default() += 1;
        }
    }
    let mut most: BTreeMap<&str, usize> = BTreeMap::new();
    for ((name, _), count) in counts {
        let known = most.entry(name).or_default();
        *known = count.max(*known);
    }
    most.remove("execve");
    let calls = most.into_iter().flat_map(|(name, count)| {
        let first = loading.get(name).map_or(1, |count| count + 1);
        (first..=count).map(|nth| Call {
            name: name.to_owned(),
            nth,
        })
    });
    calls.collect()
}

/// Wrapper for a run in which the tracer does `what` (`error=EIO`) at one call, or from it on.
pub fn disturbing(call: &Call, what: &str, from_then_on: bool) -> Vec<String> {
    let Call { name, nth } = call;
    let plus = if from_then_on { "+" } else { "" };
    injecting(name, &format!("{what}:when={nth}{plus}"))
}

/// Wrapper for a run in which each of these calls begins late.
pub fn delaying(name: &str, micros: usize) -> Vec<String> {
    injecting(name, &format!("delay_enter={micros}"))
}

fn injecting(name: &str, what: &str) -> Vec<String> {
    let options = "-f --seccomp-bpf -qq -o /dev/null";
    let words = format!("{TRACER} {options} -e trace={name} -e inject={name}:{what}");
    words.split(' ').map(str::to_owned).collect()
}
