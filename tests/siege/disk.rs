//! A disk whose power can be cut: ext4 or XFS in an image. What was not flushed by then is gone
//! after the next mount.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::field;
use super::mounts;
use crate::bench::limit;

#[derive(Clone, Copy, Debug)]
pub enum Format {
    Ext4,
    Xfs,
}

impl Format {
    pub const ALL: [Self; 2] = [Self::Ext4, Self::Xfs];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
        }
    }

    /// Size of the image; the least that XFS accepts.
    fn size_mib(self) -> u64 {
        match self {
            Self::Ext4 => 64,
            Self::Xfs => 320,
        }
    }

    /// Mount options. ext4 is kept from flushing a file that is renamed over another: other file
    /// systems do not either.
    fn options(self) -> &'static str {
        match self {
            Self::Ext4 => "loop,noatime,noauto_da_alloc",
            Self::Xfs => "loop,noatime",
        }
    }
}

/// Tools that it needs.
pub const TOOLS: [&str; 3] = ["mkfs.ext4", "mkfs.xfs", "xfs_io"];

/// Data lost with the power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Everything that was not flushed.
    All,
    /// The bytes of files, but not their names.
    Bytes,
}

pub struct Disk {
    place: TempDir,
    format: Format,
}

impl Disk {
    pub fn new(format: Format) -> Result<Self, String> {
        let disk = Self {
            place: field::place("disk"),
            format,
        };
        let image =
            File::create(disk.image()).and_then(|image| image.set_len(format.size_mib() << 20));
        image.map_err(|error| error.to_string())?;
        mounts::done(
            Command::new(format!("mkfs.{}", format.name()))
                .arg("-q")
                .arg(disk.image()),
        )?;
        std::fs::create_dir(disk.top()).map_err(|error| error.to_string())?;
        disk.mount()?;
        Ok(disk)
    }

    fn image(&self) -> PathBuf {
        self.place.path().join("image")
    }

    /// The mount point.
    pub fn top(&self) -> PathBuf {
        self.place.path().join("disk")
    }

    fn mount(&self) -> Result<(), String> {
        mounts::mount(
            self.format.options(),
            &[&self.image().display().to_string()],
            &self.top(),
        )
    }

    /// Flushes everything written so far.
    pub fn flush(&self) {
        let top = File::open(self.top()).expect("it is mounted");
        rustix::fs::syncfs(&top).expect("it can be flushed");
    }

    /// Starts the process that will cut the power, before it is needed.
    pub fn switch(&self) -> Switch {
        let mut command = Command::new("xfs_io");
        command
            .arg("-x")
            .arg(self.top())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        Switch(command.spawn().expect("xfs_io can be started"))
    }

    /// Restores the power and mounts again, which replays the journal.
    pub fn power_up(&self) -> Result<(), String> {
        mounts::unmount(&self.top())?;
        self.mount()
    }

    /// Whether a cut here loses what was not flushed, and no more.
    pub fn forgets(&self) -> bool {
        let write = |name: &str| std::fs::write(self.top().join(name), "1").is_ok();
        let is_there = |name: &str| self.top().join(name).exists();
        let is_kept = write("flushed");
        self.flush();
        let is_written = is_kept && write("not flushed");
        let is_cut = self.switch().cut(Loss::All).is_ok() && self.power_up().is_ok();
        is_written && is_cut && is_there("flushed") && !is_there("not flushed")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if mounts::unmount(&self.top()).is_err() {
            mounts::detach(&self.top());
        }
    }
}

pub struct Switch(Child);

impl Switch {
    pub fn cut(mut self, loss: Loss) -> Result<(), String> {
        let word: &[u8] = if loss == Loss::All {
            b"shutdown\n"
        } else {
            b"shutdown -f\n"
        };
        let mut stdin = self.0.stdin.take().expect("it is piped");
        let told = stdin.write_all(word);
        drop(stdin);
        let output = limit::output_of("xfs_io", self.0);
        let said = String::from_utf8_lossy(&output.stderr);
        if told.is_ok() && said.is_empty() {
            Ok(())
        } else {
            Err(format!("the power cannot be cut: {said}"))
        }
    }
}
