//! `run`: a checkpoint, then the user's command; if that fails, what it changed and the way back.

use std::ffi::{OsStr, OsString};
use std::process::Stdio;

use crate::answer::table::cut;
use crate::answer::words::{count_files, message};
use crate::base::shell_word::{shell_line, shell_word};
use crate::commands::args::{ContractArgs, needs_plan};
use crate::commands::create::{insist, source};
use crate::commands::prelude::*;
use crate::commands::restore::{self, RestoreAnswer};
use crate::commands::status::change_words;
use crate::config::ScanMonitor;
use crate::model::session::redact::redact;
use crate::model::{ChangeCounts, Checkpoint, CommandEnd};
use crate::ops::browse::status::{ChangedSince, changed_since, drift};
use crate::ops::create::command::create;
use crate::ops::create::options::{check_names_nothing_else, checked_text};
use crate::ops::restore::commands as restore_op;
use crate::ops::session::refuse_pending;
use crate::ops::{
    CommonOptions, CreateOptions, CreateOutcome, DedupPolicy, RestoreOptions, Skipped, TypedWords,
};
use crate::shell::terminal::prompt::TerminalSettings;

/// Exit codes of a shell for a command that it cannot run or find.
const CANNOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Upper bound on a reason made of the command, in columns.
const LONGEST_REASON: usize = 60;

/// Save the directory, run a command, and if it fails show what it changed and how to go back
///
/// The command runs in the current directory, or in that of -C, with this terminal as its own, and
/// gets the signals that are sent to this process. The exit code is that of the command: 127 if it is
/// not found, 128 and its number for a signal. It is not run if no checkpoint can be made, unless
/// they are switched off.
#[derive(Clone, Debug, clap::Args)]
pub struct RunArgs {
    /// If the command fails, restore the checkpoint: a terminal asks, --yes does it
    #[arg(long)]
    pub restore_on_failure: bool,
    /// Reason of the checkpoint [default: before: CMD]
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    #[arg(visible_alias = "message", visible_short_alias = 'm')]
    pub reason: Option<String>,
    /// Command and its arguments, after --
    #[arg(value_name = "CMD", trailing_var_arg = true, required = true)]
    pub command: Vec<OsString>,
}

/// What a command did before which a checkpoint was made.
#[derive(Serialize, JsonSchema)]
pub struct RunAnswer {
    /// Null if checkpoints are switched off.
    checkpoint: Option<Checkpoint>,
    /// The exit code of the command; null if it could not be started.
    command_exit: Option<CommandEnd>,
    /// What changed since the checkpoint; null if it is not known.
    changed: Option<ChangeCounts>,
    /// Number of files of the checkpoint in whose place is something that is not captured; null if it
    /// is not known.
    uncaptured_count: Option<usize>,
    /// The restore after a failure; null if there was none.
    restored: Option<RestoreAnswer>,
}

impl Command for RunArgs {
    type Answer = RunAnswer;
    const TRAITS: Properties = Properties {
        is_wrapper: true,
        ..Properties::LONG
    };

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<RunAnswer>> {
        self.check_consent(context, cmd)?;
        let mut made = self.save(context)?;
        let mut warnings = std::mem::take(&mut made.warnings);
        warnings.retain(|warning| !matches!(warning, Warning::Dedup { .. }));
        let _mark = made.mark.take();
        if !cmd.printer.json {
            cmd.warn(&warnings);
            insist(cmd, &made, &warnings);
            warnings.clear();
        }
        if let Some(checkpoint) = made.checkpoint.as_ref().filter(|_| cmd.global.verbose) {
            cmd.printer.talk(&format!("saved {}\n", checkpoint.named()));
        }
        let settings = TerminalSettings::now();
        let stdout = stdout_of_command(cmd.printer.json);
        let (children, dir) = (cmd.children(context), cmd.global.dir.as_deref());
        let ended = children.in_our_place(&self.command, dir, stdout, || (), || ());
        let answer = RunAnswer {
            checkpoint: made.checkpoint,
            command_exit: ended.as_ref().ok().copied(),
            changed: None,
            uncaptured_count: None,
            restored: None,
        };
        let mut done = Done::new(answer, warnings);
        match ended {
            Ok(ended) => {
                let error = self.after_command(context, cmd, ended, &settings, &mut done);
                let error = error.err();
                let code = u8::try_from(ended.code()).unwrap_or(exit_code::FAILED);
                Ok(done.but(error).exit_if(true, code))
            }
            Err(why) => Ok(done.but(Some(cannot_start(&self.command[0], &why)))),
        }
    }
}

/// Where the command writes to: with an answer in JSON, beside it.
pub fn stdout_of_command(is_json: bool) -> fn() -> Stdio {
    if is_json {
        || Stdio::from(std::io::stderr())
    } else {
        Stdio::inherit
    }
}

/// Says that a program cannot be started, with the exit code of a shell.
pub fn cannot_start(program: &OsStr, why: &std::io::Error) -> Error {
    let is_missing = why.kind() == std::io::ErrorKind::NotFound;
    let exit = if is_missing { NOT_FOUND } else { CANNOT_RUN };
    let what = format!(
        "cannot start {}: {why}",
        shell_word(program.as_encoded_bytes())
    );
    Error::new(Code { exit, ..Code::IO }, what)
}

impl RunArgs {
    fn program(&self) -> String {
        shell_word(self.command[0].as_encoded_bytes())
    }

    /// Refuses what would have to be refused after the command.
    fn check_consent(&self, context: &Context, cmd: &CommandContext<'_>) -> Result<()> {
        if !self.restore_on_failure {
            return Ok(());
        }
        refuse_pending(context)?;
        if needs_plan(context) {
            let what = "not confirmed: by the user's setting agent_restore, an agent needs the plan of a dry run";
            let next = "nothing was run; without --restore-on-failure, the way back is shown";
            return Err(Error::new(Code::CONSENT_NEEDED, what).advise(next));
        }
        if cmd.global.yes || cmd.prompt.may_ask {
            return Ok(());
        }
        let what = format!("restore the directory if {} fails", self.program());
        Err(Error::consent_needed(&what, false).advise("nothing was run; add --yes to confirm"))
    }

    /// Makes the checkpoint, unless checkpoints are switched off.
    fn save(&self, context: &Context) -> Result<CreateOutcome> {
        let words = self.command.iter().map(|word| word.as_encoded_bytes());
        // What a list shows and a push sends on is no place for a password.
        let default = format!("before: {}", redact(&shell_line(words)));
        let default = cut(&default, LONGEST_REASON);
        let reason = checked_text(self.reason.as_ref().unwrap_or(&default), "reason")?;
        check_names_nothing_else(context, &reason)?;
        // To run tests again and again leaves the others their room.
        let unnamed = DedupPolicy::SameState;
        let options = CreateOptions {
            reason,
            source: source(context, None)?,
            dedup: self
                .reason
                .as_ref()
                .map_or(unnamed, |_| DedupPolicy::Recent),
            is_marked: true,
            ..CreateOptions::default()
        };
        let program = self.program();
        let made = create(context, &options).map_err(|mut error| {
            if error.signal().is_none() {
                error.what = format!("{program} was not run: {}", error.what);
            }
            error
        })?;
        if made.skipped == Some(Skipped::TooManyFiles) {
            let what = format!("{program} was not run: there are more files than max_files");
            let next = "'checkpoint create' names the largest folders, 'checkpoint config set max_files 0' lifts the limit";
            return Err(Error::new(Code::NOT_RECORDED, what).advise(next));
        }
        Ok(made)
    }

    /// Shows what a command changed if it failed, and restores if that is wanted; fails as that does.
    fn after_command(
        &self,
        context: &Context,
        cmd: &CommandContext<'_>,
        ended: CommandEnd,
        settings: &TerminalSettings,
        done: &mut Done<RunAnswer>,
    ) -> Result<()> {
        let Some(checkpoint) = done.answer.checkpoint.clone() else {
            return Ok(());
        };
        if ended.is_success() && !cmd.printer.json {
            return Ok(());
        }
        // It may have run for hours.
        let mut context = Context {
            now_ms: environment::now_ms()?,
            progress: context.progress.clone(),
            ..context.stopped_by(&context.interrupt)
        };
        // A restore depends on it.
        context.settings.fsmonitor = ScanMonitor::Off;
        let context = &context;
        let changed = changed_since(context, &checkpoint);
        if let Ok(changed) = &changed {
            done.answer.changed = Some(drift(&changed.changes));
            done.answer.uncaptured_count = Some(changed.uncaptured);
        }
        if ended.is_success() {
            return Ok(());
        }
        let (program, how, id) = (self.program(), ended.in_words(), checkpoint.id.short());
        let words = match &changed {
            Ok(changed) => words_of(changed, &id),
            Err(why) => {
                let why = message(why, &cmd.printer.place);
                format!("what changed since {id} is not known: {why}")
            }
        };
        let lead = cmd.printer.err_paint().red("checkpoint:");
        let line = format!("{lead} {program} failed with {how}; {words}\n");
        cmd.printer.failure(&line);
        match changed {
            Ok(changed) if changed.changes.is_empty() && changed.uncaptured == 0 => return Ok(()),
            Err(gone) if [Code::EVICTED_MEANWHILE, Code::NO_STORE].contains(&gone.code) => {
                let is_failure = self.restore_on_failure;
                return if is_failure { Err(gone) } else { Ok(()) };
            }
            _ => {}
        }
        let restored = if self.restore_on_failure {
            if !cmd.global.yes {
                settings.set();
            }
            restore(context, cmd, &checkpoint, done)
        } else {
            Err(Error::declined())
        };
        // What is to be done first was said.
        if restored.is_err() && refuse_pending(context).is_ok() {
            let back = CommandWords::new(["restore", &id]);
            let back = cmd.printer.place.command(back);
            cmd.printer.failure(&format!("to go back: {back}\n"));
        }
        match restored {
            Err(why) if why.code == Code::DECLINED => Ok(()),
            restored => restored,
        }
    }
}

fn words_of(changed: &ChangedSince, id: &str) -> String {
    let uncaptured = (changed.uncaptured > 0).then(|| {
        format!(
            "{} not captured any more",
            count_files(changed.uncaptured as u64)
        )
    });
    let known = (!changed.changes.is_empty()).then(|| change_words(&changed.changes));
    match known.into_iter().chain(uncaptured).collect::<Vec<_>>() {
        none if none.is_empty() => format!("nothing changed since {id}"),
        words => format!("since {id}: {}", words.join(", ")),
    }
}

/// Restores the checkpoint, with consent.
fn restore(
    context: &Context,
    cmd: &CommandContext<'_>,
    checkpoint: &Checkpoint,
    done: &mut Done<RunAnswer>,
) -> Result<()> {
    let options = RestoreOptions {
        words: TypedWords::of_checkpoint(checkpoint.id.to_hex()),
        common: CommonOptions {
            yes: cmd.global.yes,
            ..CommonOptions::default()
        },
        ..RestoreOptions::default()
    };
    let again = options.words.again();
    let mut consent = |planned: &_| restore::consent(context, cmd, planned, None, None);
    let outcome = restore_op::restore(context, &options, &mut consent)?;
    let wants = ContractArgs::default();
    let restored = restore::answer(context, cmd, wants, again, outcome)?;
    done.warnings.extend(restored.warnings);
    done.answer.restored = Some(restored.answer);
    Ok(())
}

impl Text for RunAnswer {
    /// Standard output is that of the command.
    fn write(&self, out: &mut Out<'_>) {
        if let Some(restored) = &self.restored {
            restored.write(out);
            out.remark = std::mem::take(&mut out.result);
        }
    }

    fn failures(&self, paint: Paint) -> String {
        let restored = self.restored.as_ref();
        restored.map_or_else(String::new, |restored| restored.failures(paint))
    }
}
