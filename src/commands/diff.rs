//! `diff`: a patch, a table of counts, or names.

use std::ffi::OsString;
use std::ops::ControlFlow;

use crate::answer::patch::{self, PatchStyle};
use crate::base::git_quoting::quoted;
use crate::commands::args::{GlobArgs, typed_words};
use crate::commands::prelude::*;
use crate::model::state::entry::RWX_BITS;
use crate::model::{ChangeKind, Octal, OtherDifferences, WhyNot};
use crate::ops::browse::diff::diff;
use crate::ops::restore::restore_paths;
use crate::ops::{Detail, DiffOutcome, FileDiff, PatchOptions};

/// Compare two checkpoints, or a checkpoint with the directory
///
/// Without SEL, compares @, where it stands, with the directory; with one SEL, that checkpoint
/// with the directory; with two, the first with the second. PATHs follow, or SEL:PATH; a word that
/// could be both is a checkpoint, and a path behind --.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(skip)]
#[expect(clippy::struct_excessive_bools, reason = "flags of one line")]
pub struct DiffArgs {
    /// Up to two checkpoints (an id, @, latest~N, a reason, or a time), then paths
    #[arg(value_name = "SEL|PATH")]
    pub words: Vec<OsString>,
    /// Only these files and directories; literal names, for patterns see --glob
    #[arg(value_name = "PATH", last = true)]
    pub paths: Vec<OsString>,
    #[command(flatten)]
    pub globs: GlobArgs,
    /// Show the number of added and deleted lines of each file
    #[arg(long, group = "form")]
    pub stat: bool,
    /// Show only the names of the files that differ
    #[arg(long, group = "form")]
    pub name_only: bool,
    /// Show only the names, with A, D, M or T for the kind of change
    #[arg(long, group = "form")]
    pub name_status: bool,
    /// Exit with 1 if there are differences, and with 128 on failure
    #[arg(long)]
    pub exit_code: bool,
    /// Include binary content in the patch, for 'git apply'
    #[arg(long)]
    pub binary: bool,
    /// Number of unchanged lines around each change [default: 3]
    #[arg(short = 'U', long, value_name = "N")]
    pub unified: Option<u32>,
    /// End each name with NUL and print it as it is, for 'restore @-'
    #[arg(short = 'z', requires = "form", conflicts_with = "stat")]
    pub z: bool,
}

/// What differs between two states.
#[derive(Serialize, JsonSchema)]
pub struct DiffAnswer {
    #[serde(flatten)]
    outcome: DiffOutcome,
    /// With `--binary` or `-U`: the patch, in which what is not UTF-8 is replaced; else null.
    patch: Option<String>,
    #[serde(skip)]
    is_stat: bool,
    #[serde(skip)]
    is_verbose: bool,
}

impl Command for DiffArgs {
    type Answer = DiffAnswer;

    fn properties(&self) -> Properties {
        Properties {
            failure_code: if self.exit_code {
                exit_code::FAILED_TO_COMPARE
            } else {
                exit_code::FAILED
            },
            ..Properties::LONG
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<DiffAnswer>> {
        let json = cmd.printer.json;
        let names = self.name_only || self.name_status;
        let has_patch = self.binary || self.unified.is_some();
        let detail = match self {
            _ if names => Detail::Names,
            Self { stat: true, .. } if !json => Detail::Counts,
            _ if json && !has_patch => Detail::Counts,
            _ => Detail::Patch,
        };
        let options = PatchOptions {
            detail,
            context: self.unified.unwrap_or(3),
            binary: self.binary,
        };
        let words = typed_words(self.words.clone(), self.paths.clone());
        let globs = self.globs.clone().resolve();
        let mut patch = PatchWriter::new(context, cmd);
        let outcome = diff(context, &words, &globs, options, &mut |file| {
            if names && !json {
                cmd.page(context, &self.name(context, file))
            } else {
                patch.write(file)
            }
        })?;
        let asked_and_different = self.exit_code && outcome.is_different();
        Ok(done(outcome, asked_and_different, |outcome| DiffAnswer {
            outcome,
            patch: patch.text(detail),
            is_stat: self.stat,
            is_verbose: cmd.global.verbose,
        }))
    }
}

/// Ends a comparison: damage comes first, then differences, then what is partial.
pub fn done<A>(
    mut outcome: DiffOutcome,
    asked_and_different: bool,
    answer: impl FnOnce(DiffOutcome) -> A,
) -> Done<A> {
    let (error, is_partial) = (outcome.failure(), outcome.is_partial());
    let warnings = std::mem::take(&mut outcome.warnings);
    Done::new(answer(outcome), warnings)
        .exit_if(is_partial, exit_code::PARTIAL)
        .exit_if(asked_and_different, exit_code::DIFFERENT)
        .but(error)
}

/// Prints a patch file by file, or keeps it for an answer in JSON.
pub struct PatchWriter<'c> {
    context: &'c Context,
    cmd: &'c CommandContext<'c>,
    kept: Vec<u8>,
}

impl<'c> PatchWriter<'c> {
    pub fn new(context: &'c Context, cmd: &'c CommandContext<'c>) -> Self {
        Self {
            context,
            cmd,
            kept: Vec::new(),
        }
    }

    pub fn write(&mut self, file: &FileDiff) -> ControlFlow<()> {
        let printer = &self.cmd.printer;
        let style = PatchStyle {
            paint: printer.out_paint(),
            is_for_terminal: printer.for_a_person(),
        };
        let part = patch::render(file, style);
        if !printer.json {
            return self.cmd.page(self.context, &part);
        }
        self.kept.extend(part);
        ControlFlow::Continue(())
    }

    /// Returns what was kept, if patches were made.
    pub fn text(self, detail: Detail) -> Option<String> {
        (detail == Detail::Patch).then(|| String::from_utf8_lossy(&self.kept).into_owned())
    }
}

impl DiffArgs {
    /// Formats a path as it is called from here, on a line or, with `-z`, as it is and ended by NUL.
    fn name(&self, context: &Context, file: &FileDiff) -> Vec<u8> {
        let [gap, end] = [["\t", "\n"], ["\0"; 2]][usize::from(self.z)];
        let mut path = restore_paths::from_here(&context.root, &file.path);
        if !self.z {
            path = quoted("", &path).into_bytes();
        }
        let letter = match file.change {
            ChangeKind::Added => "A",
            ChangeKind::Deleted => "D",
            ChangeKind::Modified | ChangeKind::Mode => "M",
            ChangeKind::Type => "T",
        };
        let has_lead = self.name_status;
        let lead = if has_lead { [letter, gap] } else { [""; 2] };
        [lead.concat().as_bytes(), &path, end.as_bytes()].concat()
    }
}

impl Text for DiffAnswer {
    fn write(&self, out: &mut Out<'_>) {
        let outcome = &self.outcome;
        if self.is_stat {
            out.result = patch::stat(&outcome.files, out.paint);
        }
        write_missing(outcome, out);
        out.talk = not_compared(outcome, out.context, false);
        for path in &outcome.secrets {
            let path = out.context.shown(path);
            talkln!(out, "content not shown: {path} (a secret)");
        }
        if self.is_verbose {
            return write_other(&outcome.other, out);
        }
        let other = &outcome.other;
        let (new, gone) = (other.empty_dirs_added.len(), other.empty_dirs_deleted.len());
        let (is, are) = ("path that was not captured", "paths that were not captured");
        let parts = counts(&[
            (other.modes.len(), "mode", "modes"),
            (new, "new empty directory", "new empty directories"),
            (gone, "deleted empty directory", "deleted empty directories"),
            (other.uncaptured.len(), is, are),
        ]);
        if !parts.is_empty() {
            talkln!(out, "also differ: {} (-v lists them)", parts.join(", "));
        }
    }
}

/// Names the paths that are missing from the result.
pub fn write_missing(outcome: &DiffOutcome, out: &mut Out<'_>) {
    out.remark = not_compared(outcome, out.context, true);
    for path in &outcome.too_large {
        let path = out.context.shown(path);
        out.remark
            .push_str(&format!("not in the patch: {path} (over 512 MiB)\n"));
    }
}

fn not_compared(outcome: &DiffOutcome, context: &Context, is_lack: bool) -> String {
    let paths = outcome.not_compared.iter();
    let named = paths.filter(|(_, why)| why.makes_partial() == is_lack);
    let lines = named.map(|(path, why)| {
        let detail = match why {
            WhyNot::Unreadable(detail) => detail,
            why => why.in_words(),
        };
        format!("not compared: {} ({detail})\n", context.shown(path))
    });
    lines.collect()
}

/// Lists what a patch cannot show.
fn write_other(other: &OtherDifferences, out: &mut Out<'_>) {
    for mode in &other.modes {
        let path = out.context.shown(&mode.path);
        let (before, after) = (octal(mode.before), octal(mode.after));
        talkln!(out, "mode {before} -> {after}: {path}");
    }
    for path in &other.empty_dirs_added {
        talkln!(out, "new directory: {}/", out.context.shown(path));
    }
    for path in &other.empty_dirs_deleted {
        talkln!(out, "deleted directory: {}/", out.context.shown(path));
    }
    for sides in &other.uncaptured {
        let words =
            |why: &Option<WhyNot>| why.as_ref().map_or("captured or absent", WhyNot::in_words);
        let path = out.context.shown(&sides.path);
        let (before, after) = (words(&sides.before), words(&sides.after));
        talkln!(out, "not captured: {path} ({before} -> {after})");
    }
}

/// Formats permission bits in octal: three digits, or four with a special bit.
fn octal(perm: Octal) -> String {
    let width = if perm.0 & !RWX_BITS == 0 { 3 } else { 4 };
    format!("{:0width$o}", perm.0)
}
