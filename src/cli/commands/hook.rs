//! `hook`: works on an event of an agent, and never fails.

use std::ffi::OsString;
use std::io::BufRead as _;
use std::panic;
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use clap::builder::PossibleValue;
use strum::VariantArray as _;

use crate::agent::dialect::answer::{self, HookAnswer};
use crate::agent::dialect::event::{AgentEvent, AgentName};
use crate::agent::dialect::read;
use crate::agent::hook::handle::{self, HookOptions};
use crate::agent::hook::marks::Beginning;
use crate::base::interrupt::Interrupt;
use crate::base::json::is_json;
use crate::cli::command_context::{self, CommandContext};
use crate::cli::commands::{AnyCommand, OtherCommand};
use crate::cli::global::GlobalArgs;
use crate::cli::run::RunAnywhere;
use crate::cli::terminal::printer;
use crate::cli::{environment, exit_code, parse, signals};
use crate::config::environment::{Environment, base};
use crate::config::settings::OwnFile;
use crate::error::{Code, Error, Result};
use crate::model::session::provenance::Moment;
use crate::ops::find_root::Place;
use crate::ops::warning::Warning;
use crate::view::format::Paint;
use crate::view::words;

/// Handle one event of an agent, read as JSON from stdin
///
/// Agents call it; 'checkpoint setup' arranges that. Whatever happens, it ends with 0, so that it
/// stops nothing, and prints nothing but an answer for the agent.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct HookArgs {
    /// Agent that sends the event [default: recognized by its words]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<AgentName>,
    /// Only make the first checkpoint of a directory, for which there is more time
    #[arg(long)]
    pub first: bool,
}

impl ValueEnum for AgentName {
    fn value_variants<'a>() -> &'a [Self] {
        Self::VARIANTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        self.has_hooks()
            .then(|| PossibleValue::new(self.into_str()))
    }
}

impl RunAnywhere for HookArgs {
    fn run(self, cmd: &CommandContext<'_>, _environment: Environment) -> Result<u8> {
        run_in_time(cmd.global.clone(), self, cmd.started);
        Ok(exit_code::DONE)
    }
}

/// Upper bound on an event, in bytes; a larger one is passed over.
const LARGEST_EVENT: u64 = 8 << 20;
/// Time from the start to the end, for each kind of event.
const USUAL_LIMIT: Duration = Duration::from_secs(2);
const SHORT_LIMIT: Duration = Duration::from_secs(1);
const FIRST_LIMIT: Duration = Duration::from_secs(20);
/// Part of the limit in which work that was told to stop can still end and be reported.
const LAST_PART: Duration = Duration::from_millis(300);
/// Number of the signal that work is told to stop by, as an alarm clock would.
const ALARM: usize = 14;

/// Runs the hook; the exit code is 0 whatever happens.
pub fn run(args: &[OsString]) -> ExitCode {
    let started = Instant::now();
    panic::set_hook(Box::new(|_| signals::end_at_once()));
    if let Ok(cli) = parse::parse(args)
        && let Some(AnyCommand::Anywhere(OtherCommand::Hook(hook))) = cli.command
    {
        run_in_time(cli.global, hook, started);
    }
    // Threads that are still at work must not be waited for.
    signals::end_at_once()
}

/// What the working thread reports.
enum Report {
    /// The time for this event, and the answer if the work does not end in it.
    Limit(Duration, Option<String>),
    Answer(Option<String>),
}

/// Works on the event in a thread, and prints its answer if that comes in time.
fn run_in_time(global: GlobalArgs, args: HookArgs, started: Instant) {
    let interrupt = Interrupt::default();
    let (sender, reports) = mpsc::channel();
    let of_thread = interrupt.clone();
    let work = move || {
        let text = respond(&global, &args, started, &of_thread, &sender);
        let _ = sender.send(Report::Answer(text));
    };
    if thread::Builder::new().spawn(work).is_err() {
        return;
    }
    let (mut limit, mut at_least) = (USUAL_LIMIT, None);
    loop {
        let stops_at = if interrupt.check().is_ok() {
            limit.saturating_sub(LAST_PART)
        } else {
            limit
        };
        match reports.recv_timeout(stops_at.saturating_sub(started.elapsed())) {
            Ok(Report::Limit(known, answer)) => (limit, at_least) = (known, answer),
            Ok(Report::Answer(text)) => {
                return printer::to_stdout(&text.unwrap_or_default());
            }
            Err(RecvTimeoutError::Timeout) if interrupt.check().is_ok() => interrupt.set(ALARM),
            Err(_) => return printer::to_stdout(&at_least.unwrap_or_default()),
        }
    }
}

/// Reads the event and works on it; returns the document for the agent.
fn respond(
    global: &GlobalArgs,
    args: &HookArgs,
    started: Instant,
    interrupt: &Interrupt,
    reports: &Sender<Report>,
) -> Option<String> {
    let event = read::parse(&read_event()?, args.agent)?;
    let limit = match event.moment {
        _ if args.first => FIRST_LIMIT,
        Moment::Interrupted | Moment::SessionEnd => SHORT_LIMIT,
        _ => USUAL_LIMIT,
    };
    let mut whole = HookAnswer {
        ask: handle::question(&event),
        ..HookAnswer::default()
    };
    let _ = reports.send(Report::Limit(limit, answer::render(&event, &whole)));
    let environment = environment::read();
    let base = base(global.base.as_deref(), &environment).unwrap_or_default();
    let mark = Beginning::of(&environment::temporary_dir(), &base, &event);
    for place in places(global, &event, &environment, mark.as_ref()) {
        let left = limit.saturating_sub(LAST_PART + started.elapsed());
        let answer = respond_in(global, args, &event, &place, mark.as_ref(), left, interrupt);
        whole.message = whole.message.or(answer.message);
        whole.context = whole.context.or(answer.context);
    }
    answer::render(&event, &whole)
}

/// Reads the document on stdin, which some agents leave open behind it. One that is too large is read
/// to its end, so that its writer does not fail, and is passed over.
fn read_event() -> Option<Vec<u8>> {
    let mut stdin = std::io::stdin().lock();
    let mut bytes = Vec::new();
    while (bytes.len() as u64) <= LARGEST_EVENT {
        let read = stdin.fill_buf().ok()?;
        let length = read.len();
        bytes.extend_from_slice(read);
        stdin.consume(length);
        if length == 0 || (bytes.trim_ascii_end().ends_with(b"}") && is_json(&bytes)) {
            return Some(bytes);
        }
    }
    let _ = std::io::copy(&mut stdin, &mut std::io::sink());
    None
}

/// Returns where the event belongs.
fn places(
    global: &GlobalArgs,
    event: &AgentEvent,
    environment: &Environment,
    mark: Option<&Beginning>,
) -> Vec<Place> {
    let place = match command_context::place(global, environment) {
        Ok(place) if !place.is_exact => place,
        other => return other.into_iter().collect(),
    };
    let project = environment.claude_project_dir.clone();
    let project = project.filter(|dir| event.agent.names_project() && dir.is_absolute());
    let began = || {
        mark?
            .read(environment::now_ms().ok()?)
            .filter(|_| !event.begins)
    };
    let known = project.or_else(began);
    // Where that is gone, a store in which the shell stands still takes what is done there.
    let here = event.dirs.places(None, &place.dir);
    let has_store = |place: &Place| {
        let context = command_context::open(
            place,
            global,
            environment.clone(),
            "hook",
            OwnFile::MayBeBad,
        );
        context.is_ok_and(|context| matches!(context.find_store(), Ok(Some(_))))
    };
    if known.as_ref().is_some_and(|known| !known.exists()) && here.iter().all(has_store) {
        return here;
    }
    event.dirs.places(known.as_deref(), &place.dir)
}

/// Works on the event in one place, and logs it.
fn respond_in(
    global: &GlobalArgs,
    args: &HookArgs,
    event: &AgentEvent,
    place: &Place,
    mark: Option<&Beginning>,
    left: Duration,
    interrupt: &Interrupt,
) -> HookAnswer {
    let began = Instant::now();
    let options = HookOptions {
        first: args.first,
        temporary: &environment::temporary_dir(),
        words: |error| {
            let words = words::error(error, Paint::default());
            words.trim().trim_start_matches("checkpoint: ").to_owned()
        },
    };
    let environment = environment::read();
    let opened = command_context::open(place, global, environment, "hook", OwnFile::MayBeBad);
    let mut context = match opened {
        Ok(context) if context.root.exists() => context,
        // A directory that is gone gets nothing, and only the user's next prompt would miss it.
        Ok(_) if event.moment != Moment::Prompt => return HookAnswer::default(),
        Err(error) if error.code == Code::ROOT_MISSING && event.moment != Moment::Prompt => {
            return HookAnswer::default();
        }
        Ok(context) => {
            let root = context.root.path().to_path_buf();
            let error = Error::root_missing(&root);
            return handle::unopened(event, &options, &place.dir, &error);
        }
        Err(error) => return handle::unopened(event, &options, &place.dir, &error),
    };
    if let Some(mark) = mark
        && (event.begins || mark.read(context.now_ms).is_none())
    {
        mark.note(context.root.path());
    }
    (context.lock_wait, context.interrupt) = (left, interrupt.clone());
    let mut handled = handle::handle(&context, event, &options);
    for warning in context.pending_warnings.take() {
        if matches!(warning, Warning::StoreReinitialized { .. }) {
            handled.answer.message = Some(format!("checkpoint: {warning}"));
        }
    }
    if let Some(mark) = mark
        && event.moment == Moment::SessionEnd
    {
        mark.forget();
    }
    handle::log(&context, event, &handled.done, began.elapsed());
    handled.answer
}
