//! `watch`: makes checkpoints by itself.

use std::collections::HashSet;
use std::ffi::OsString;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use crate::answer::words::{count_files, eviction_lines, message};
use crate::base::Malformed;
use crate::base::shell_word::shell_word;
use crate::base::time::parse_span;
use crate::commands::prelude::*;
use crate::commands::run::{cannot_start, stdout_of_command};
use crate::model::CheckpointRef;
use crate::ops::create::command::tidy;
use crate::ops::create::watched::{self, WatchedRoot, watcher};
use crate::ops::{CreateOutcome, Place, Skipped};
use crate::shell::file_events::FileEvents;
use crate::shell::{command_context, environment, signals};

/// Make checkpoints by itself, whenever the directory has been still for a moment
///
/// It goes on until Ctrl-C or --stop. What the system tells of changes are hints: each checkpoint is
/// a whole create, and an unchanged directory gets none. With a command it goes on for as long as
/// that runs, with this terminal as its own, and ends with its exit code. They are automatic: all of the last hour
/// stay, then one each hour, then one each day.
#[derive(Clone, Debug, clap::Args)]
pub struct WatchArgs {
    /// Time without a change before a checkpoint is made
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "2s")]
    pub settle: Duration,
    /// Shortest time between two checkpoints
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "1m")]
    pub at_most: Duration,
    /// Time after which it looks without a hint of a change
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "15m")]
    pub every: Duration,
    /// End the watcher of this directory; one with a command ends with that
    #[arg(long, conflicts_with = "command")]
    pub stop: bool,
    /// Command and its arguments, after --
    #[arg(value_name = "CMD", last = true)]
    pub command: Vec<OsString>,
}

fn span(typed: &str) -> std::result::Result<Duration, Malformed> {
    let span = parse_span(typed).and_then(|ms| u64::try_from(ms).ok());
    let span = span.map(Duration::from_millis);
    let span = span.filter(|span| !span.is_zero() && *span <= LONGEST);
    Ok(span.ok_or("write a duration such as 10s, 5m or 2h, of at most a year")?)
}

/// No time that is asked for is longer.
const LONGEST: Duration = Duration::from_hours(365 * 24);

/// What a watcher did.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct WatchOutcome {
    /// Number of checkpoints that were made.
    pub made_count: usize,
    /// The last of them; all null if there is none.
    pub latest: CheckpointRef,
    /// The watcher that was ended with `--stop`; else null.
    pub stopped: Option<String>,
    /// Why the last look beside a command saved nothing; else null.
    pub failed: Option<String>,
}

impl Command for WatchArgs {
    type Answer = WatchOutcome;

    fn properties(&self) -> Properties {
        Properties {
            is_wrapper: !self.command.is_empty(),
            ..Properties::USUAL
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<WatchOutcome>> {
        if self.stop {
            return stop(context);
        }
        if cmd.words.last().is_some_and(|last| last == "--") {
            return Err(Error::usage("a command is missing after '--'"));
        }
        let _shield = context.interrupt.shield();
        let (tell, happenings) = mpsc::channel();
        let mut watch = Watch::new(self, context, cmd, tell.clone());
        watch.root.keep(context)?;
        if let Some(error) = watch.inspect() {
            // These pass.
            if ![Code::HELD, Code::BUSY].contains(&error.code) {
                return Err(error);
            }
            watch.complain(&error);
        }
        watch.root.keep(context)?;
        let stop = move || drop(tell.send(Happening::Stop));
        let mut failed = None;
        let command = std::mem::take(&mut watch.args.command);
        let ended = if let Some(program) = command.first() {
            let stdout = stdout_of_command(cmd.printer.json);
            let (children, dir) = (cmd.children(context), cmd.global.dir.as_deref());
            let go = || failed = watch.go(&happenings);
            let ended = children.in_our_place(&command, dir, stdout, stop, go);
            Some(ended.map_err(|why| cannot_start(program, &why))?)
        } else {
            let stopper = signals::on_stop(&context.interrupt, stop);
            stopper.map_err(|why| Error::unexpected(format!("signals cannot be had: {why}")))?;
            failed = watch.go(&happenings);
            None
        };
        if let (Some(error), true) = (&failed, ended.is_some()) {
            watch.complain(error);
            watch.outcome.failed = Some(message(error, &cmd.printer.place));
        }
        let done = Done::new(watch.outcome, watch.warnings);
        let Some(ended) = ended else {
            return Ok(done.but(failed));
        };
        let code = u8::try_from(ended.code()).unwrap_or(exit_code::FAILED);
        Ok(done.exit_if(true, code))
    }
}

impl Text for WatchOutcome {
    fn write(&self, out: &mut Out<'_>) {
        if let Some(stopped) = &self.stopped {
            outln!(out, "Ended {stopped}.");
        }
    }
}

/// Time that a watcher may take to end, and between two looks at whether it has.
const LONGEST_STOP: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(20);

/// Ends the watcher of this root, which makes a last checkpoint.
fn stop(context: &Context) -> Result<Done<WatchOutcome>> {
    let store = context.require_store()?;
    let Some(name) = watcher(&store) else {
        let none = Error::new(Code::NO_WATCHER, "no process watches this directory");
        return Err(none.advise("'checkpoint watch' begins"));
    };
    if watched::has_command(&name) {
        let what = format!("{name} goes on for as long as its command runs");
        return Err(Error::new(Code::WATCHED, what).advise("end that command"));
    }
    let number = name.split(' ').nth(1).and_then(|word| word.parse().ok());
    let asked = signals::ask_to_stop(number.unwrap_or_default());
    asked.map_err(|why| Error::unexpected(format!("{name} cannot be asked to stop: {why}")))?;
    let asked = Instant::now();
    while watcher(&store).is_some() {
        if asked.elapsed() > LONGEST_STOP {
            return Err(Error::unexpected(format!("{name} has not ended yet")));
        }
        std::thread::sleep(PAUSE);
    }
    let outcome = WatchOutcome {
        stopped: Some(name),
        ..WatchOutcome::default()
    };
    // If the last checkpoint failed, only the terminal of the watcher shows it.
    let failed = watched::create_if_changed(context).err();
    Ok(Done::new(outcome, Vec::new()).but(failed))
}

/// What a watcher waits for.
enum Happening {
    Change,
    Stop,
}

/// Housekeeping after a checkpoint takes no longer.
const TIDY_TIME: Duration = Duration::from_millis(200);
/// Time between two looks at whether root and store are still the same.
const BETWEEN_CHECKS: Duration = Duration::from_secs(2);
/// Number of settles after which it looks though the directory was never still.
const MOST_SETTLES: u32 = 10;
/// The pause after a look, in lengths of that look: a large tree is not scanned all the time.
const PAUSE_FACTOR: u32 = 10;

struct Watch<'w> {
    args: WatchArgs,
    context: &'w Context,
    cmd: &'w CommandContext<'w>,
    place: Place,
    /// Whether the terminal is that of a command.
    is_behind: bool,
    root: WatchedRoot,
    tell: Sender<Happening>,
    events: Option<FileEvents>,
    /// When something first, and when it last seemed to change that no checkpoint holds yet.
    changed: Option<(Instant, Instant)>,
    looked: Instant,
    /// The earliest time of the next checkpoint.
    next: Instant,
    /// What was said already.
    said: HashSet<String>,
    /// What failed since the last look that did not.
    failed: HashSet<&'static str>,
    outcome: WatchOutcome,
    /// Those that the answer has.
    warnings: Vec<Warning>,
}

impl<'w> Watch<'w> {
    fn new(
        args: WatchArgs,
        context: &'w Context,
        cmd: &'w CommandContext<'w>,
        tell: Sender<Happening>,
    ) -> Self {
        let now = Instant::now();
        let dir = context.root.path().to_path_buf();
        let mut name = context.holder.clone();
        if let Some(program) = args.command.first() {
            let program = shell_word(program.as_encoded_bytes());
            name = environment::holder(&format!("watch -- {program}"));
        }
        let mut watch = Self {
            root: WatchedRoot::of(context, name),
            tell,
            is_behind: !args.command.is_empty() || cmd.printer.json,
            args,
            context,
            cmd,
            place: Place {
                dir,
                is_exact: true,
            },
            events: None,
            changed: None,
            looked: now,
            next: now,
            said: HashSet::new(),
            failed: HashSet::new(),
            outcome: WatchOutcome::default(),
            warnings: Vec::new(),
        };
        watch.await_events();
        watch
    }

    fn await_events(&mut self) {
        let tell = self.tell.clone();
        let events = FileEvents::new(move || drop(tell.send(Happening::Change)));
        self.events = events.map_err(|why| self.fall_back(&why)).ok();
    }

    /// Watches another directory that is at the path of the root by now: of the former one no event tells.
    fn follow_root(&mut self) {
        if self.root.is_another(self.context) {
            self.await_events();
            self.note_change();
        }
    }

    fn note_change(&mut self) {
        let now = Instant::now();
        let first = self.changed.map_or(now, |(first, _)| first);
        self.changed = Some((first, now));
    }

    /// Looks whenever it is due, until it is asked to stop; then looks once more. Returns why that
    /// failed.
    fn go(&mut self, happenings: &Receiver<Happening>) -> Option<Error> {
        self.begin();
        loop {
            let pause = self.due().saturating_duration_since(Instant::now());
            match happenings.recv_timeout(pause.min(BETWEEN_CHECKS)) {
                Ok(Happening::Change) => {
                    if let Some(events) = &self.events {
                        events.is_told.store(false, Ordering::SeqCst);
                    }
                    self.note_change();
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.follow_root();
                    match self.root.keep(self.context) {
                        Err(another) if another.code == Code::WATCHED => return Some(another),
                        kept => kept.unwrap_or_else(|why| self.complain(&why)),
                    }
                    let is_due = Instant::now() >= self.due();
                    if let Some(error) = is_due.then(|| self.inspect()).flatten() {
                        self.complain(&error);
                    }
                }
                Ok(Happening::Stop) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.context.interrupt.set(0);
        self.inspect()
    }

    fn due(&self) -> Instant {
        let at_the_latest = self.looked + self.args.every;
        let longest = self.args.at_most.max(self.args.settle * MOST_SETTLES);
        let changed = self.changed.map(|(first, last)| {
            let settled = (last + self.args.settle).min(first + longest);
            settled.max(self.next)
        });
        changed.map_or(at_the_latest, |at| at.min(at_the_latest))
    }

    /// Makes a checkpoint of what changed, and watches what there is now. Returns what failed.
    fn inspect(&mut self) -> Option<Error> {
        let begun = Instant::now();
        self.changed = None;
        if self.is_behind {
            // A Ctrl-C was for the command.
            self.context.interrupt.set(0);
        }
        let made = self.save();
        self.looked = Instant::now();
        self.next = self.looked + (self.looked - begun) * PAUSE_FACTOR;
        match made {
            Ok(mut outcome) => {
                self.failed.clear();
                self.begin();
                self.answer(&mut outcome);
                self.follow(outcome);
                None
            }
            Err(error) => {
                // What is in the way now may be gone then.
                self.note_change();
                let is_asked = error.signal().is_some();
                self.next += if is_asked {
                    Duration::ZERO
                } else {
                    self.args.at_most
                };
                (!is_asked).then_some(error)
            }
        }
    }

    /// Settings, root and clock may be others than at the last look.
    fn save(&self) -> Result<CreateOutcome> {
        let environment = self.context.environment.clone();
        let opened = command_context::open(&self.place, self.cmd.global, environment, "watch")?;
        let context = Context {
            interrupt: self.context.interrupt.clone(),
            ..opened
        };
        if context.root.path() != self.context.root.path() {
            let what = format!(
                "nothing is watched: {} leads elsewhere now",
                escape_path(&self.place.dir)
            );
            return Err(Error::new(Code::NOT_RECORDED, what));
        }
        let mut outcome = watched::create_if_changed(&context)?;
        let missing = match outcome.skipped {
            Some(Skipped::Disabled) => "nothing is watched: CHECKPOINT_DISABLE is set",
            Some(Skipped::TooManyFiles) => {
                "nothing is recorded: there are too many files; max_files raises the limit, an exclude leaves folders out"
            }
            _ => "",
        };
        if !missing.is_empty() {
            return Err(Error::new(Code::NOT_RECORDED, missing));
        }
        let begun = Instant::now();
        let late = tidy(&context, &outcome, &|| begun.elapsed() > TIDY_TIME);
        outcome.warnings.extend(late);
        Ok(outcome)
    }

    /// Says once that it watches.
    fn begin(&mut self) {
        if self.said.insert("watching".to_owned()) {
            let root = escape_path(self.context.root.path());
            self.say(&format!("watching {root}; Ctrl-C ends this\n"));
        }
    }

    /// Says what was made.
    fn answer(&mut self, outcome: &mut CreateOutcome) {
        for warning in std::mem::take(&mut outcome.warnings) {
            let is_new = self.said.insert(format!("{warning:?}"));
            if matches!(warning, Warning::Dedup { .. }) || !is_new {
                continue;
            }
            if self.cmd.printer.json {
                self.warnings.push(warning);
            } else {
                self.cmd.printer.warning(&warning);
            }
        }
        let made = outcome.checkpoint.as_ref();
        let Some(made) = made.filter(|_| outcome.skipped.is_none()) else {
            return;
        };
        self.next = self.looked + self.args.at_most;
        self.outcome.made_count += 1;
        self.outcome.latest = CheckpointRef::new(made);
        let counts = &outcome.counts;
        let (added, modified, deleted) = (counts.added, counts.modified, counts.deleted);
        let files = count_files(counts.files);
        if !self.is_behind {
            self.cmd.printer.result(&format!("{}\n", made.id.short()));
        }
        self.say(&format!("+{added} ~{modified} -{deleted}, {files}\n"));
        self.say(&eviction_lines("evicted", &outcome.evicted));
    }

    /// Watches the directories that were found. Between that and this, something may have changed in
    /// new ones.
    fn follow(&mut self, outcome: CreateOutcome) {
        let Some(events) = &mut self.events else {
            return;
        };
        let (is_new, failure) = events.watch(self.context.root.path(), outcome.directories);
        if is_new && failure.is_none() {
            self.note_change();
        }
        if let Some(why) = failure {
            self.fall_back(&why);
        }
    }

    fn fall_back(&mut self, why: &Error) {
        let what = format!("not all changes are told: {why}");
        if self.said.insert(what.clone()) {
            let rarely = "it looks from time to time too, see --every";
            let error = Error::unexpected(what).advise(rarely);
            self.cmd.printer.error(&error);
        }
    }

    /// Says what failed, once until a look succeeds.
    fn complain(&mut self, error: &Error) {
        if self.failed.insert(error.code.name) {
            self.cmd.printer.error(error);
        }
    }

    fn say(&self, what: &str) {
        if !self.is_behind {
            self.cmd.printer.talk(what);
        }
    }
}
