//! The machine on which all this was measured.

use std::path::Path;

use crate::contender::{Contenders, Who};
use crate::job::Job;

/// One line: processor, memory, kernel, file system, versions.
pub fn line(work: &Path, contenders: &Contenders) -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| -> Option<String> {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let unknown = || "unknown".to_owned();
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let cpu = field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(unknown);
    let memory = field(&read("/proc/meminfo"), "MemTotal")
        .and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    let memory = memory.map_or_else(unknown, |kib| format!("{} GiB", (kib + (1 << 19)) >> 20));
    let said = |job: Job| job.run().map_or_else(|_| unknown(), |done| done.text());
    let kernel = said(Job::new("uname", work).arg("-sr"));
    let disk = said(Job::new("df", work).arg("--output=fstype").arg(work));
    let disk = disk.lines().last().unwrap_or_default();
    let version = |who: Who| {
        contenders
            .get(who)
            .and_then(|one| Some(said(one.version()?)))
            .unwrap_or_else(unknown)
    };
    format!(
        "{cpu}, {cores} cores, {memory}; {kernel}, {disk}; {}, {}",
        version(Who::Recipe),
        version(Who::Checkpoint)
    )
}
