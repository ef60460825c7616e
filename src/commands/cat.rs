//! `cat`: prints one file of a checkpoint.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};

use crate::commands::prelude::*;
use crate::model::checkpoint::selector::CURRENT;
use crate::model::state::rel_path::hex_of;
use crate::ops::browse::cat::{CatOutcome, cat};
use crate::shell::StdoutSink;

/// Print the content of one file of a checkpoint
///
/// SEL:PATH and SEL PATH mean the same; a PATH alone is that of @, where the directory stands. With
/// several colons, the last one that gives an existing file is used. A symlink is printed as its
/// target.
#[derive(Clone, Debug, clap::Args)]
pub struct CatArgs {
    /// Checkpoint, a colon, and a path from the current directory
    #[arg(value_name = "SEL:PATH", required_unless_present = "only")]
    pub what: Option<OsString>,
    /// Path, if the first word is a checkpoint alone
    #[arg(value_name = "PATH")]
    pub path: Option<OsString>,
    /// Path (where the word could be a checkpoint too)
    #[arg(value_name = "PATH", last = true, conflicts_with = "path")]
    pub only: Option<OsString>,
    /// Number of bytes at the start that are left out
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub skip: u64,
    /// Maximum number of bytes to print
    #[arg(long, value_name = "N")]
    pub bytes: Option<u64>,
}

/// A file of a checkpoint, with its content.
#[derive(Serialize, JsonSchema)]
pub struct CatAnswer {
    #[serde(flatten)]
    file: CatOutcome,
    /// The content; null if it is not UTF-8.
    text: Option<String>,
    /// The content as hex digits; null if it is UTF-8.
    hex: Option<String>,
}

/// Passes on a part of a content; after its end, the reader counts as gone.
struct ContentPart<'s> {
    sink: &'s mut dyn Write,
    skip: u64,
    left: u64,
}

impl Write for ContentPart<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let within = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        if self.left == 0 {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let skipped = bytes.len().min(within(self.skip));
        self.skip -= skipped as u64;
        let wanted = &bytes[skipped..];
        let wanted = &wanted[..wanted.len().min(within(self.left))];
        self.sink.write_all(wanted)?;
        self.left -= wanted.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

impl Command for CatArgs {
    type Answer = CatAnswer;
    const TRAITS: Properties = Properties::USUAL;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<CatAnswer>> {
        let what = self.what.as_deref().unwrap_or(OsStr::new(CURRENT));
        let path = self.only.as_ref().or(self.path.as_ref());
        let path = path.map(|path| path.as_encoded_bytes());
        let (mut bytes, mut stdout) = (Vec::new(), StdoutSink::new(cmd.printer.clone()));
        let mut part = ContentPart {
            sink: if cmd.printer.json {
                &mut bytes
            } else {
                &mut stdout
            },
            skip: self.skip,
            left: self.bytes.unwrap_or(u64::MAX),
        };
        let (file, warnings) = cat(context, what.as_encoded_bytes(), path, &mut part)?;
        stdout.finish();
        // The beginning of a letter at the end of a text that was cut there.
        if self.bytes.is_some()
            && let Err(flaw) = std::str::from_utf8(&bytes)
            && flaw.error_len().is_none()
        {
            bytes.truncate(flaw.valid_up_to());
        }
        let (text, hex) = match String::from_utf8(bytes) {
            Ok(text) => (Some(text), None),
            Err(binary) => (None, Some(hex_of(binary.as_bytes()))),
        };
        Ok(Done::new(CatAnswer { file, text, hex }, warnings))
    }
}

impl Text for CatAnswer {
    /// The content is written already.
    fn write(&self, _: &mut Out<'_>) {}
}
