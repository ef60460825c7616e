//! `ls`: lists the files of a checkpoint.

use std::ffi::OsString;

use crate::base::text::escape_bytes;
use crate::commands::args::{GlobArgs, typed_words};
use crate::commands::prelude::*;
use crate::model::Kind;
use crate::ops::browse::ls::{LsEntry, ls};
use crate::ops::restore::restore_paths;
use crate::ops::{LsKind, LsOptions, LsOutcome};

/// List the files of a checkpoint
///
/// Without SEL it is @, where the directory stands; without PATH, what it holds of the current
/// directory. Paths are printed as restore and cat accept them there. A directory is listed one level
/// deep; names of directories end in /.
#[derive(Clone, Debug, clap::Args)]
pub struct LsArgs {
    /// A checkpoint (an id, @, latest~N, a reason, or a time), then paths; or SEL:PATH
    #[arg(value_name = "SEL|PATH")]
    pub words: Vec<OsString>,
    /// List modes and sizes too
    #[arg(short, long)]
    pub long: bool,
    /// End each path with NUL and print it as it is, for 'restore @-'
    #[arg(short = 'z', conflicts_with = "long")]
    pub z: bool,
    /// List everything below, not only what is directly in a directory
    #[arg(short = 'R', long)]
    pub recursive: bool,
    #[command(flatten)]
    pub globs: GlobArgs,
    /// Only these files and directories; literal names, for patterns see --glob
    #[arg(value_name = "PATH", last = true)]
    pub paths: Vec<OsString>,
}

impl Command for LsArgs {
    type Answer = LsOutcome;
    const TRAITS: Properties = Properties::USUAL;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<LsOutcome>> {
        let options = LsOptions {
            words: typed_words(self.words, self.paths),
            globs: self.globs.resolve(),
            recursive: self.recursive,
            sizes: self.long || cmd.printer.json,
        };
        let (outcome, warnings) = ls(context, &options)?;
        if !cmd.printer.json {
            let width = outcome.entries.iter().map(|entry| size(entry).len()).max();
            let lines = outcome.entries.iter().flat_map(|entry| {
                let path = restore_paths::as_typed(&context.root, &entry.path);
                let is_dir = entry.kind == LsKind::Directory;
                let slash = if is_dir { "/" } else { "" };
                if self.z {
                    return [&*path, slash.as_bytes(), b"\0"].concat();
                }
                let columns = self.long.then(|| columns(entry, width.unwrap_or_default()));
                let (columns, path) = (columns.unwrap_or_default(), escape_bytes(&path));
                format!("{columns}{path}{slash}\n").into_bytes()
            });
            let _ = cmd.page(context, &lines.collect::<Vec<u8>>());
        }
        Ok(Done::new(outcome, warnings))
    }
}

impl Text for LsOutcome {
    /// The names are bytes, which are written already.
    fn write(&self, out: &mut Out<'_>) {
        if self.entries.is_empty() {
            talkln!(out, "nothing there in {}", self.checkpoint.id.short());
        }
    }
}

fn size(entry: &LsEntry) -> String {
    let bytes = entry.size_bytes.map(|bytes| bytes.to_string());
    bytes.unwrap_or_else(|| "-".to_owned())
}

/// Formats kind and permissions as `ls -l` does, and the size.
fn columns(entry: &LsEntry, width: usize) -> String {
    let kind = match entry.kind {
        LsKind::Directory => 'd',
        LsKind::Entry(Kind::File) => '-',
        LsKind::Entry(Kind::Symlink) => 'l',
    };
    let is_set = |bit: u32| entry.mode.0 >> bit & 1 == 1;
    let bits = (0..9).rev().zip("rwxrwxrwx".chars());
    let bits: String = bits
        .map(|(bit, letter)| if is_set(bit) { letter } else { '-' })
        .collect();
    format!("{kind}{bits}  {:>width$}  ", size(entry))
}
