//! The work on one event: what is done for it, what is noted of it in its session, and what its agent
//! is answered.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use crate::agent::event_place::unsuited;
use crate::agent::marks::{self, digest};
use crate::agent::shell_calls::asks_consent;
use crate::agent::{AgentEvent, HookAnswer, Marks};
use crate::base::text::escape_line;
use crate::base::time::{age, utc_seconds};
use crate::config::PromptWords;
use crate::config::keys::AutoCheckpoints;
use crate::error::{Code, CommandWords, Error, Result};
use crate::model::checkpoint::selector;
use crate::model::session::notes::{SeenEvent, UNNAMED};
use crate::model::session::redact::redact;
use crate::model::{AgentSession, Checkpoint, Line, Moment, PromptNote, Provenance, SessionNotes};
use crate::ops::contract::audit;
use crate::ops::create::command::create_in;
use crate::ops::open_store::open_usable;
use crate::ops::select::checkpoint::{from_checkpoints, oldest_of};
use crate::ops::{Context, CreateOptions, CreateOutcome, DedupPolicy, Session, Skipped, session};
use crate::store::small_files::hook_log;
use crate::store::{Inventory, Store};
use crate::workflow::engine::transact::step;
use crate::workflow::{Change, Run, Runs, StepOptions};

/// What was done, and what the agent is told.
#[derive(Debug, Default)]
pub struct Handled {
    pub answer: HookAnswer,
    /// For the log.
    pub done: String,
}

/// Tells the user that nothing can be made in a directory, such as without a home directory. `what`
/// is the failure with its next step.
pub fn unopened(marks: &Marks<'_>, error: &Error, what: &str) -> HookAnswer {
    Handled::nothing(marks.is_new(error.code.name), what).answer
}

/// Returns why the user is to be asked before a shell call, if it calls us to change something.
pub fn question(event: &AgentEvent) -> Option<String> {
    let command = event.command.as_deref()?;
    let is_before_call = event.moment == Moment::PreTool && !event.waives_questions;
    let verb = asks_consent(command).filter(|_| is_before_call)?;
    let what = match verb {
        "delete" | "rm" => "drops checkpoints",
        _ => "overwrites files",
    };
    Some(format!(
        "this calls checkpoint to {verb}, which {what} and needs the user's consent; show the user a dry run first"
    ))
}

/// An event, and where it is worked on.
pub struct EventWork<'c> {
    pub context: &'c Context,
    pub event: &'c AgentEvent,
    /// Make the first checkpoint of a directory, and nothing else.
    pub first: bool,
    /// Folder for temporary files, where marks are left of what a user was told.
    pub temporary: &'c Path,
    /// Renders a failure with its next step.
    pub words: fn(&Error) -> String,
}

impl EventWork<'_> {
    /// Works on the event; a failure becomes part of what was done.
    pub fn handle(&self) -> Handled {
        let (context, event) = (self.context, self.event);
        if context.environment.disabled {
            return Handled::done("checkpoints are disabled");
        }
        if event.agent_id.is_some() && event.moment == Moment::SessionStart {
            return Handled::done("within a subagent");
        }
        if event.moment == Moment::FileEdited {
            return match audit::note_edits(context, &event.edited) {
                Ok(()) => Handled::default(),
                Err(error) => Handled::done(&format!("failed: {error}")),
            };
        }
        if let Some(why) = unsuited(context) {
            let why = format!("this is {why}; 'checkpoint create' begins here all the same");
            let is_new = event.moment == Moment::Prompt && self.marks().is_new(&why);
            return Handled::nothing(is_new, &why);
        }
        self.work().unwrap_or_else(|error| self.failed(&error))
    }

    fn marks(&self) -> Marks<'_> {
        Marks::of(self.temporary, self.context.root.path(), self.event)
    }

    /// Whether a session begins, of which no more than that is noted.
    fn begins(&self) -> bool {
        self.event.moment == Moment::SessionStart && !self.first
    }

    /// Makes the checkpoint of a moment; at the start of a session, tells what is here.
    fn work(&self) -> Result<Handled> {
        let (context, moment) = (self.context, self.event.moment);
        let begins = self.begins();
        if begins {
            marks::remove_old(self.temporary, context.now_ms);
        }
        let ends = matches!(
            moment,
            Moment::SubagentStart | Moment::SubagentEnd | Moment::SessionEnd
        );
        let store = if !begins && !ends && context.settings.unread.is_none() {
            open_usable(context, false)?
        } else if let Some(store) = context.find_store()? {
            store
        } else {
            if !begins {
                context.settings.require_readable()?;
            }
            return Ok(Handled::done("no store"));
        };
        let has_whole = |known: Inventory| known.checkpoints.rev().any(Checkpoint::is_whole);
        if self.first && store.inventory().map(has_whole)? {
            return Ok(Handled::done("not the first"));
        }
        let done = match session::begin(context, &store) {
            Ok(mut session) => self.record(&mut session),
            // The process that holds the lock heals the store too.
            Err(error) if begins && error.code == Code::BUSY => Ok(Some(Handled::default())),
            Err(error) => Err(error),
        };
        let has_failed = matches!(moment, Moment::TurnFailed | Moment::Interrupted);
        let marks_run = has_failed && !matches!(done, Ok(None));
        let interrupted = marks_run.then(|| self.interrupt_run()).transpose();
        let mut handled = done?.unwrap_or_else(|| Handled::done("repeated"));
        if begins {
            handled.answer.context = start_line(context, &store);
        }
        interrupted.map(|_| handled)
    }

    /// Marks the open workflow as interrupted.
    fn interrupt_run(&self) -> Result<()> {
        let store = self.context.require_store()?;
        let runs = Runs::live(&store)?;
        let is_under_way =
            |run: &&Run| run.workflow.status.is_open() && run.workflow.interrupted.is_none();
        let Some(run) = runs.runs.iter().find(is_under_way) else {
            return Ok(());
        };
        let mut options = StepOptions::of_run(&run.workflow.id);
        options.actor = Some(self.event.agent.into_str().to_owned());
        let words = self.context.settings.agents.prompts;
        let cut = Change::new("interrupt").noting(turn_cause(self.event, words));
        step(self.context, &options, &cut).map(drop)
    }

    fn failed(&self, error: &Error) -> Handled {
        let event = self.event;
        let what = if error.code == Code::INTERRUPTED {
            "it took longer than a hook may".to_owned()
        } else {
            (self.words)(error)
        };
        // During a hold, only a prompt must not pass unsaved without a word.
        let is_held = error.code == Code::HELD && event.moment != Moment::Prompt;
        if is_held || error.code == Code::ROOT_MISSING {
            return Handled::done(&what);
        }
        let is_to_be_recorded = event.moment == Moment::Prompt
            && event.agent_id.is_none()
            && !self.first
            && self.context.settings.agents.auto != AutoCheckpoints::Off;
        let mut is_new = self.marks().is_new(error.code.name);
        if is_to_be_recorded && is_passing(error) {
            is_new = self.marks().keep(&self.unnoted());
        }
        Handled::nothing(is_new, &what)
    }

    /// Works on an event under the lock of the store; `None` if it came a moment ago, from this
    /// agent or another.
    ///
    /// # Errors
    /// The checkpoint cannot be made; what was noted of the event stays.
    fn record(&self, session: &mut Session<'_>) -> Result<Option<Handled>> {
        let (context, event) = (self.context, self.event);
        let mut notes = notes_of(session);
        let is_of_subagent = matches!(event.moment, Moment::SubagentStart | Moment::SubagentEnd);
        if event.agent_id.is_some() && !is_of_subagent {
            return Ok(Some(Handled::done("within a subagent")));
        }
        let agent = event.agent.into_str();
        let root = context.root.path();
        let lost = marks::lost(self.temporary, root, agent, &event.session);
        let known = notes.touch(agent, &event.session, context.now_ms);
        // The prompt at hand is noted by itself.
        let is_prompt = event.moment == Moment::Prompt;
        let now = (is_prompt && event.prompt.is_some()).then(|| self.unnoted());
        for lost in &lost {
            if !now.as_ref().is_some_and(|now| now.is_same(&lost.note)) {
                known.add_lost(&lost.note);
            }
        }
        let prompts = if is_prompt {
            known.turns
        } else {
            known.next_number()
        };
        let is_start = event.moment == Moment::SessionStart;
        let seen = seen(context, event, prompts);
        // The same words are an event of their own if something changed between, unless its name is
        // the same too.
        let is_named = event.prompt_id.is_some() || event.tool_use.is_some();
        let may_be_new =
            (is_prompt || event.moment == Moment::PreTool) && !(is_named && notes.has_seen(&seen));
        let is_repeated = !is_start && notes.is_repeated(seen);
        if is_repeated && !may_be_new {
            return Ok(None);
        }
        let known = notes.touch(agent, &event.session, context.now_ms);
        note_of_subagents(known, event, context.now_ms);
        let done = match self.refusal(known) {
            Some(why) => Ok(Some(Handled::done(why))),
            None => self.anchor(session, known, is_repeated),
        };
        // The notes help to tell prompts apart; without them, the trailers still do.
        if session.locked.write_session_notes(&notes).is_ok() {
            marks::forget(&lost);
        }
        done
    }

    /// Returns why there is no checkpoint at this moment.
    fn refusal(&self, session: &AgentSession) -> Option<&'static str> {
        let event = self.event;
        let auto = self.context.settings.agents.auto;
        let now_ms = self.context.now_ms;
        let has_subagents = event.has_subagents || session.has_running_subagent(now_ms);
        let last = session.prompts.last();
        let is_known = last.is_some_and(|last| last.id.is_some() && last.id == event.prompt_id);
        match event.moment {
            Moment::SubagentStart | Moment::SubagentEnd | Moment::SessionEnd => Some("noted"),
            _ if self.begins() => Some("noted"),
            // Qwen Code tells the prompt of a turn again after each call of a tool, without its text.
            Moment::Prompt if event.prompt.is_none() && is_known => Some("the prompt goes on"),
            _ if auto == AutoCheckpoints::Off => Some("auto is off"),
            Moment::PreTool if auto == AutoCheckpoints::Prompts => Some("auto is prompts"),
            Moment::PreTool | Moment::TurnEnd if has_subagents => Some("a subagent runs"),
            _ => None,
        }
    }

    /// Makes the checkpoint; before a prompt, notes it.
    fn anchor(
        &self,
        session: &mut Session<'_>,
        known: &mut AgentSession,
        is_repeated: bool,
    ) -> Result<Option<Handled>> {
        let (context, event) = (self.context, self.event);
        let words = context.settings.agents.prompts;
        let is_prompt = event.moment == Moment::Prompt;
        let last = known.prompts.last();
        let text = event.prompt.as_deref().unwrap_or_default();
        let (number, line) = match last {
            _ if is_prompt => (known.next_number(), line_of(text, words)),
            Some(last) if words == PromptWords::Off => (last.number, String::new()),
            Some(last) => (last.number, last.line.clone()),
            None => (0, String::new()),
        };
        let known_id = last.and_then(|prompt| prompt.id.clone());
        let id = event.prompt_id.clone().or(known_id.filter(|_| !is_prompt));
        let agent = event.agent.into_str();
        let reason = reason(event, number, &line, words);
        let options = CreateOptions {
            dedup: DedupPolicy::SameState,
            provenance: Some(Provenance {
                agent: Some(agent.to_owned()),
                session: Some(event.session.clone()),
                prompt: (number > 0).then(|| id.clone().unwrap_or(format!("#{number}"))),
                tool: event.tool.clone(),
                tool_use: event.tool_use.clone(),
                agent_id: event.agent_id.clone(),
                event: Some(event.moment),
            }),
            prompt: recorded(text, words).filter(|_| is_prompt),
            ..CreateOptions::automatic(&reason, agent)?
        };
        let made = create_in(context, session, &options);
        let is_new = made.as_ref().is_ok_and(|made| made.skipped.is_none());
        if is_repeated && !is_new {
            return Ok(None);
        }
        let checkpoints = &session.locked.inventory().checkpoints;
        if is_new && known.first.is_none() {
            known.first = oldest_of(checkpoints, known).map(|first| first.id);
        }
        if is_prompt {
            let checkpoint = made.as_ref().ok().and_then(|made| made.checkpoint.as_ref());
            let back = checkpoint.filter(|_| is_new);
            known.add_prompt(PromptNote {
                number,
                id,
                time_ms: context.now_ms,
                rewound_to: back.and_then(|now| rewound_to(known, checkpoints, now)),
                checkpoint: checkpoint.map(|checkpoint| checkpoint.id),
                line,
                end_ms: None,
            });
        }
        made.map(|outcome| Some(self.made(&outcome)))
    }

    /// Tells what was made, to the user only if nothing could be.
    fn made(&self, outcome: &CreateOutcome) -> Handled {
        let id = outcome.checkpoint.as_ref().map(|made| made.id.short());
        match (id, outcome.skipped) {
            (Some(id), None) => {
                let mut handled = Handled::done(&format!("made {id}"));
                if outcome.is_partial() && self.marks().is_new("partial") {
                    handled.answer.message = Some(format!(
                        "checkpoint: {id} is partial, some files cannot be read: 'checkpoint show {id}' names them"
                    ));
                }
                handled
            }
            (Some(id), Some(_)) => Handled::done(&format!("unchanged since {id}")),
            (None, Some(Skipped::TooManyFiles)) => {
                let warnings: Vec<String> =
                    outcome.warnings.iter().map(ToString::to_string).collect();
                let is_new = self.marks().is_new("too_many_files");
                Handled::nothing(is_new, &warnings.join("; "))
            }
            (None, _) => Handled::done("checkpoints are disabled"),
        }
    }

    /// Returns the note of a prompt of which nothing was recorded.
    fn unnoted(&self) -> PromptNote {
        /// Upper bound on an agent's name of a prompt, in bytes.
        const LONGEST_ID: usize = 256;
        let text = self.event.prompt.as_deref().unwrap_or_default();
        let id = self.event.prompt_id.clone();
        PromptNote {
            id: id.filter(|id| id.len() <= LONGEST_ID),
            time_ms: self.context.now_ms,
            line: line_of(text, self.context.settings.agents.prompts),
            ..PromptNote::default()
        }
    }
}

impl Handled {
    fn done(what: &str) -> Self {
        Self {
            done: what.to_owned(),
            ..Self::default()
        }
    }

    /// What is logged of a failure, and told to the user if it is new.
    fn nothing(is_new: bool, what: &str) -> Self {
        let mut handled = Self::done(&format!("failed: {what}"));
        handled.answer.message =
            is_new.then(|| format!("checkpoint: nothing was recorded: {what}"));
        handled
    }
}

/// Whether a failure says nothing of the next prompt, so that each prompt lost by it is told.
fn is_passing(error: &Error) -> bool {
    use ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    let is_closed = matches!(error.io_kind(), Some(PermissionDenied | ReadOnlyFilesystem));
    [Code::BUSY, Code::INTERRUPTED].contains(&error.code) || error.is_full() || is_closed
}

/// Returns the notes of the store; lost ones are made of what the checkpoints say.
fn notes_of(session: &Session<'_>) -> SessionNotes {
    let notes = session.locked.store().session_notes();
    if notes.sessions.is_empty() {
        return from_checkpoints(&session.locked.inventory().checkpoints);
    }
    notes
}

/// `prompts` is how many came before, which tells the ends of two turns apart.
fn seen(context: &Context, event: &AgentEvent, prompts: u32) -> SeenEvent {
    let agent = event.agent.into_str();
    let text = (&event.prompt, &event.command);
    let has_text = event.prompt.is_some() || event.command.is_some();
    let ids = (&event.prompt_id, &event.tool_use, &event.agent_id);
    let named = (agent, &event.session, ids, &event.stamp, prompts);
    SeenEvent {
        time_ms: context.now_ms,
        agent: agent.to_owned(),
        event: digest((event.moment, named, text)),
        text: has_text.then(|| digest((event.moment, text))),
    }
}

fn note_of_subagents(session: &mut AgentSession, event: &AgentEvent, now_ms: i64) {
    let id = event.agent_id.as_deref();
    session.is_over = event.moment == Moment::SessionEnd;
    if event.moment.ends_turn() {
        session.turns = session.turns.saturating_add(1);
        session.end_turn(now_ms);
    }
    match event.moment {
        Moment::SubagentStart => session.begin_subagent(id.unwrap_or(UNNAMED), now_ms),
        Moment::SubagentEnd => session.end_subagent(id),
        Moment::SessionStart | Moment::SessionEnd | Moment::Interrupted => {
            session.end_all_subagents();
        }
        _ => {}
    }
}

/// Returns the newest earlier prompt before which the directory was as it is now.
fn rewound_to(session: &AgentSession, line: &Line, now: &Checkpoint) -> Option<u32> {
    let mut earlier = session.prompts.iter().rev();
    let is_same = |prompt: &&PromptNote| {
        let found = prompt.checkpoint.and_then(|id| line.find(id));
        found.is_some_and(|then: &Checkpoint| then.id != now.id && then.tree == now.tree)
    };
    earlier.find(is_same).map(|prompt| prompt.number)
}

/// Adds a line to the log of the store, if there is one. That this failed is nothing to report.
pub fn log(context: &Context, event: &AgentEvent, done: &str, took: Duration) {
    let (Ok(Some(store)), false) = (context.find_store(), done.is_empty()) else {
        return;
    };
    let (agent, moment) = (event.agent.into_str(), event.moment.into_str());
    let (time, took) = (utc_seconds(context.now_ms), took.as_millis());
    let done = done.replace('\n', " ");
    let line = format!("{time} {agent} {moment} {took} ms: {done}");
    let _ = hook_log::append(store.layout(), &line);
}

/// Lengths in characters of what is recorded of a prompt, of one in a reason, and of a command.
const PROMPT_LINE: usize = 200;
const PROMPT_IN_REASON: usize = 80;
const COMMAND_IN_REASON: usize = 60;
/// Upper bound on the text of a whole prompt, in characters.
const WHOLE_PROMPT: usize = 100_000;

/// Returns the first line of a prompt as it may be noted; empty if prompts are not recorded.
fn line_of(prompt: &str, words: PromptWords) -> String {
    match words {
        PromptWords::Off => String::new(),
        _ => first_line(prompt, PROMPT_LINE),
    }
}

/// Returns the text of a prompt as it may be recorded.
fn recorded(prompt: &str, words: PromptWords) -> Option<String> {
    let text = match words {
        PromptWords::Full => cut(&redact(prompt), WHOLE_PROMPT),
        _ => line_of(prompt, words),
    };
    Some(text).filter(|text| !text.is_empty())
}

/// Returns the reason of the checkpoint for an event; `line` is that of the prompt at hand.
fn reason(event: &AgentEvent, number: u32, line: &str, words: PromptWords) -> String {
    let prompt = if line.is_empty() {
        format!("prompt {number}")
    } else {
        cut(line, PROMPT_IN_REASON)
    };
    match event.moment {
        Moment::Prompt => format!("before: {prompt}"),
        Moment::PreTool => {
            let tool = event.tool.as_deref().unwrap_or("a command");
            let tool = first_line(tool, COMMAND_IN_REASON);
            let command = event.command.as_deref().unwrap_or_default();
            match first_line(command, COMMAND_IN_REASON) {
                line if line.is_empty() || words == PromptWords::Off => format!("before {tool}"),
                line => format!("before {tool}: {line}"),
            }
        }
        Moment::TurnEnd => format!("after: {prompt}"),
        Moment::TurnFailed => format!("turn failed ({})", turn_cause(event, words)),
        Moment::Interrupted => "turn interrupted".to_owned(),
        Moment::PreCompact => "before compaction".to_owned(),
        Moment::SessionStart => "session start".to_owned(),
        other => other.into_str().to_owned(),
    }
}

/// Returns why a turn failed.
fn turn_cause(event: &AgentEvent, words: PromptWords) -> String {
    let cause = event.cause.as_deref().unwrap_or_default();
    // A sentence may repeat words of the prompt, the name of an error does not.
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if words == PromptWords::Off && !cause.chars().all(is_name) {
        return event.moment.into_str().to_owned();
    }
    match first_line(cause, COMMAND_IN_REASON) {
        line if line.is_empty() => event.moment.into_str().to_owned(),
        line => line,
    }
}

/// Returns the first line with words. Secrets are looked for in the whole text, since one may begin
/// before the line.
fn first_line(text: &str, most: usize) -> String {
    let text = redact(&cut(text, WHOLE_PROMPT));
    let mut lines = text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
    let line = lines.find(|line| !line.trim().is_empty()).map(str::trim);
    cut(line.unwrap_or_default(), most)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}\u{2026}", text[..at].trim_end()),
        None => text.to_owned(),
    }
}

/// Upper bound on the line, and on a reason or name in it, in characters.
const LONGEST_LINE: usize = 600;
const LONGEST_NAME: usize = 80;

/// Returns what a new session is told: facts about the checkpoints here, in one line. `None` where there is no checkpoint and no open workflow.
fn start_line(context: &Context, store: &Store) -> Option<String> {
    let inventory = store.inventory().ok()?;
    let checkpoints = &inventory.checkpoints;
    let count = checkpoints.regular_count();
    let mut facts = Vec::new();
    if let Some(latest) = selector::latest(checkpoints, 0) {
        let (id, record) = (latest.id.short(), &latest.record);
        let age = age(record.time_ms, context.now_ms);
        let s = if count == 1 { "" } else { "s" };
        facts.push(format!(
            "checkpoint has {count} checkpoint{s} of this directory; the latest, {id}, is {age} old ({}).",
            short(&record.reason)
        ));
    }
    let runs = Runs::live(store).ok()?;
    let open = runs.runs.iter().find(|run| run.workflow.status.is_open());
    if let Some(run) = open {
        let command = CommandWords::new(["workflow", "status", &run.workflow.id]);
        let phase = run.workflow.next();
        let at = phase.map_or_else(String::new, |phase| format!(" at {}", short(&phase.name)));
        facts.push(format!(
            "The workflow {} is unfinished{at}; {command} shows it.",
            short(run.workflow.named())
        ));
    }
    let line: String = facts.join(" ").chars().take(LONGEST_LINE).collect();
    Some(line).filter(|line| !line.is_empty())
}

fn short(text: &str) -> String {
    escape_line(text).chars().take(LONGEST_NAME).collect()
}
