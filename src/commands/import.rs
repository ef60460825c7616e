//! `import`: adds the checkpoints of a git bundle.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal as _, stdin};
use std::path::PathBuf;

use crate::commands::prelude::*;
use crate::commands::remote::transferred;
use crate::ops::ImportOutcome;
use crate::ops::transfer::bundle::import;

/// Bytes read from a bundle at a time.
const READ_BYTES: usize = 1 << 20;

/// Add the checkpoints of a file made by export
///
/// Everything is checked first: a bad checkpoint is left out and named. Ids stay, what is here
/// already is passed over, and the order is that of the times. Files of the directory do not
/// change; 'checkpoint restore' brings them.
#[derive(Clone, Debug, clap::Args)]
pub struct ImportBundleArgs {
    /// The file to read, or - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Safety checkpoints of restores too
    #[arg(long)]
    pub safety: bool,
    /// Begin a store even for the home directory or a temporary folder
    #[arg(long)]
    pub force: bool,
}

impl Command for ImportBundleArgs {
    type Answer = ImportOutcome;

    fn run(self, context: &Context, _: &CommandContext<'_>) -> Result<Done<ImportOutcome>> {
        let is_stream = self.file.as_os_str() == "-";
        let mut input: Box<dyn BufRead> = if !is_stream {
            let file = File::open(&self.file).map_err(Error::io("open", &self.file))?;
            Box::new(BufReader::with_capacity(READ_BYTES, file))
        } else if stdin().is_terminal() {
            return Err(Error::usage("standard input is a terminal, not a bundle"));
        } else {
            Box::new(BufReader::with_capacity(READ_BYTES, stdin()))
        };
        let name = if is_stream {
            "the bundle of standard input".to_owned()
        } else {
            format!("the bundle {}", escape_path(&self.file))
        };
        import(context, &name, self.safety, self.force, &mut input).map(transferred)
    }
}

impl Text for ImportOutcome {
    fn write(&self, out: &mut Out<'_>) {
        let taken = &self.taken;
        let from = taken.origin.as_ref().map(|origin| format!(" of {origin}"));
        let from = from.unwrap_or_default();
        let new = checkpoints(taken.checkpoints.len());
        outln!(out, "Imported {new}{from}");
        let were = |number: usize| count(number, "checkpoint was", "checkpoints were");
        if taken.already_here > 0 {
            outln!(out, "{} here already.", were(taken.already_here));
        }
        if !taken.healed_checkpoints.is_empty() {
            let healed = were(taken.healed_checkpoints.len());
            outln!(out, "{healed} damaged here, and can be read again.");
        }
        if taken.safety_left_out > 0 {
            let number = taken.safety_left_out;
            let left = count(number, "safety checkpoint", "safety checkpoints");
            outln!(out, "Left out: {left}, which only --safety imports.");
        }
        write_evictions(self.to_be_evicted, out);
    }
}

/// Says what the next `create` evicts.
pub fn write_evictions(number: usize, out: &mut Out<'_>) {
    if number > 0 {
        let many = checkpoints(number);
        let more = match out.context.settings.max_store_size_bytes {
            Some(_) => ", and more until the store fits into max_store_size",
            None => "",
        };
        outln!(
            out,
            "The next create or restore evicts {many}{more}, as the settings say; 'checkpoint pin SEL' keeps one."
        );
    }
}
