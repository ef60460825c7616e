//! `hook`: works on an event of an agent, and never fails.

use std::io::BufRead as _;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use strum::VariantArray as _;

use crate::agent::dialect;
use crate::agent::hook::{self, EventWork};
use crate::agent::marks::Beginning;
use crate::agent::{AgentEvent, AgentName, HookAnswer, Marks};
use crate::answer::place::PlaceWords;
use crate::answer::words;
use crate::base::Interrupt;
use crate::base::json::is_json;
use crate::commands::prelude::*;
use crate::config::environment::base;
use crate::model::Moment;
use crate::ops::Place;
use crate::shell::terminal::printer;
use crate::shell::{GlobalArgs, command_context};

/// Handle one event of an agent, read as JSON from stdin
///
/// Agents call it; 'checkpoint setup' arranges that. Whatever happens, it ends with 0, so that it
/// stops nothing, and prints nothing but an answer for the agent.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct HookArgs {
    /// Agent that sends the event [default: recognized by its words]
    #[arg(long, value_name = "NAME", value_parser = names())]
    pub agent: Option<AgentName>,
    /// Only make the first checkpoint of a directory, for which there is more time
    #[arg(long)]
    pub first: bool,
}

fn names() -> impl TypedValueParser<Value = AgentName> {
    let agents = AgentName::VARIANTS.iter().filter(|name| name.has_hooks());
    let names = agents.map(AgentName::into_str);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<AgentName>())
}

impl RunAnywhere for HookArgs {
    fn run(self, cmd: &mut CommandContext<'_>, _environment: Environment) -> Result<u8> {
        self.answer(cmd.global.clone(), cmd.started);
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

/// What the working thread reports.
enum Report {
    /// The time for this event, and the answer if the work does not end in it.
    Limit(Duration, Option<String>),
    Answer(Option<String>),
}

impl HookArgs {
    /// Works on the event in a thread, and prints its answer if that comes in time.
    pub fn answer(self, global: GlobalArgs, started: Instant) {
        let interrupt = Interrupt::default();
        let (sender, reports) = mpsc::channel();
        let of_thread = interrupt.clone();
        let work = move || {
            let text = self.respond(global, started, of_thread, &sender);
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
                Err(RecvTimeoutError::Timeout) if interrupt.check().is_ok() => {
                    interrupt.set(ALARM);
                }
                Err(_) => return printer::to_stdout(&at_least.unwrap_or_default()),
            }
        }
    }

    /// Reads the event and works on it; returns the document for the agent.
    fn respond(
        self,
        global: GlobalArgs,
        started: Instant,
        interrupt: Interrupt,
        reports: &Sender<Report>,
    ) -> Option<String> {
        let event = dialect::parse(&read_event()?, self.agent)?;
        let limit = match event.moment {
            _ if self.first => FIRST_LIMIT,
            Moment::Interrupted | Moment::SessionEnd => SHORT_LIMIT,
            _ => USUAL_LIMIT,
        };
        let mut whole = HookAnswer {
            ask: hook::question(&event),
            ..HookAnswer::default()
        };
        let message =
            "checkpoint: this prompt may not be recorded: it takes longer than a hook may";
        let late = HookAnswer {
            message: (event.moment == Moment::Prompt).then(|| message.to_owned()),
            ..whole.clone()
        };
        let _ = reports.send(Report::Limit(limit, dialect::render(&event, &late)));
        let environment = environment::read();
        let base = base(global.base.as_deref(), &environment).unwrap_or_default();
        let call = PlacedEvent {
            mark: Beginning::of(&environment::temporary_dir(), &base, &event),
            first: self.first,
            global,
            event,
            environment,
            interrupt,
        };
        for place in call.places() {
            let left = limit.saturating_sub(LAST_PART + started.elapsed());
            let answer = call.respond_in(&place, left);
            whole.message = whole.message.or(answer.message);
            whole.context = whole.context.or(answer.context);
        }
        dialect::render(&call.event, &whole)
    }
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

/// An event that is worked on.
struct PlacedEvent {
    global: GlobalArgs,
    first: bool,
    event: AgentEvent,
    environment: Environment,
    /// Where its session began.
    mark: Option<Beginning>,
    interrupt: Interrupt,
}

impl PlacedEvent {
    fn open(&self, place: &Place) -> Result<Context> {
        let (global, environment) = (&self.global, self.environment.clone());
        command_context::open(place, global, environment, "hook")
    }

    /// Returns where the event belongs.
    fn places(&self) -> Vec<Place> {
        let (event, environment) = (&self.event, &self.environment);
        let place = match command_context::place(&self.global, environment) {
            Ok(place) if !place.is_exact => place,
            other => return other.into_iter().collect(),
        };
        let project = environment.folders.get("CLAUDE_PROJECT_DIR").cloned();
        let project = project.filter(|dir| event.agent.names_project() && dir.is_absolute());
        let began = || {
            let mark = self.mark.as_ref().filter(|_| !event.begins)?;
            mark.read(environment::now_ms().ok()?)
        };
        let known = project.or_else(began);
        // Where that is gone, a store in which the shell stands still takes what is done there.
        let here = event.dirs.places(None, &place.dir);
        let has_store = |place: &Place| {
            let context = self.open(place);
            context.is_ok_and(|context| matches!(context.find_store(), Ok(Some(_))))
        };
        if known.as_ref().is_some_and(|known| !known.is_dir()) && here.iter().all(has_store) {
            return here;
        }
        let places = event.dirs.places(known.as_deref(), &place.dir).into_iter();
        let or_above = |place: Place| {
            let mut dirs = place.dir.ancestors();
            let above = dirs
                .find(|dir| dir.is_dir())
                .filter(|above| *above != place.dir);
            let above = above.map(|above| Place::searched(above.to_path_buf()));
            above.filter(has_store).unwrap_or(place)
        };
        places.map(or_above).collect()
    }

    /// Works on the event in one place, and logs it.
    fn respond_in(&self, place: &Place, left: Duration) -> HookAnswer {
        let began = Instant::now();
        let event = &self.event;
        let temporary = environment::temporary_dir();
        let words = |error: &Error| {
            let words = words::error(error, &PlaceWords::default(), Paint::default());
            words.trim().trim_start_matches("checkpoint: ").to_owned()
        };
        let opened = self.open(place).and_then(|context| {
            if context.root.exists() {
                return Ok(context);
            }
            Err(Error::root_missing(context.root.path()))
        });
        let mut context = match opened {
            Ok(context) => context,
            // A directory that is gone gets nothing, and only the user's next prompt would miss it.
            Err(error) if error.code == Code::ROOT_MISSING && event.moment != Moment::Prompt => {
                return HookAnswer::default();
            }
            Err(error) => {
                let marks = Marks::of(&temporary, &place.dir, event);
                return hook::unopened(&marks, &error, &words(&error));
            }
        };
        if let Some(mark) = &self.mark
            && (event.begins || mark.read(context.now_ms).is_none())
        {
            mark.note(context.root.path());
        }
        (context.lock_wait, context.interrupt) = (left, self.interrupt.clone());
        let work = EventWork {
            context: &context,
            event,
            first: self.first,
            temporary: &temporary,
            words,
        };
        let mut handled = work.handle();
        for warning in context.pending_warnings.take() {
            if matches!(warning, Warning::StoreReinitialized { .. }) {
                handled.answer.message = Some(format!("checkpoint: {warning}"));
            }
        }
        hook::log(&context, event, &handled.done, began.elapsed());
        handled.answer
    }
}
