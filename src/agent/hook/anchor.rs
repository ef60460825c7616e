//! The checkpoint of an event, and what is noted of it in its session.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::agent::dialect::event::AgentEvent;
use crate::agent::hook::marks::{self, LostPrompt, Marks};
use crate::agent::hook::text;
use crate::config::agents::{AutoCheckpoints, PromptWords};
use crate::error::Result;
use crate::model::checkpoint::line::Line;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::session::notes::{AgentSession, PromptNote, SeenEvent, SessionNotes, UNNAMED};
use crate::model::session::provenance::{Moment, Provenance};
use crate::ops::context::Context;
use crate::ops::create::command::create_in;
use crate::ops::create::options::{CreateOptions, DedupPolicy, PromptOrigin};
use crate::ops::create::outcome::{CreateOutcome, Skipped};
use crate::ops::select::timeline::{from_checkpoints, oldest_of};
use crate::ops::session::Session;

/// What was done for an event.
#[derive(Debug)]
pub enum Anchor {
    /// It came a moment ago, from this agent or another.
    Repeated,
    /// There is nothing to record at this moment, for this reason.
    Nothing(&'static str),
    Made(Checkpoint),
    /// The newest checkpoint holds this state already.
    Unchanged(Checkpoint),
    /// The directory has more files than are recorded unasked, in these words.
    TooManyFiles(String),
}

/// Works on an event under the lock of the store.
///
/// # Errors
/// The checkpoint cannot be made; what was noted of the event stays.
pub fn work(
    context: &Context,
    session: &mut Session<'_>,
    event: &AgentEvent,
    marks: &Marks<'_>,
) -> Result<Anchor> {
    let mut notes = notes_of(session);
    let is_within_subagent = event.agent_id.is_some();
    if is_within_subagent && !matches!(event.moment, Moment::SubagentStart | Moment::SubagentEnd) {
        return Ok(Anchor::Nothing("within a subagent"));
    }
    let agent = event.agent.into_str();
    let lost = marks.lost();
    let known = notes.touch(agent, &event.session, context.now_ms);
    let is_given = event.moment == Moment::Prompt && event.prompt.is_some();
    let now = is_given.then(|| unnoted(context, event));
    note_lost(known, &lost, now.as_ref());
    let prompts = if event.moment == Moment::Prompt {
        known.turns
    } else {
        known.next_number()
    };
    // The same words without a name are a prompt of their own if something changed between.
    let is_repeated = notes.is_repeated(seen(context, event, prompts));
    let may_be_new = event.moment == Moment::Prompt && event.prompt_id.is_none();
    if is_repeated && !may_be_new {
        return Ok(Anchor::Repeated);
    }
    let known = notes.touch(agent, &event.session, context.now_ms);
    note_of_subagents(known, event, context.now_ms);
    let done = match refusal(context, known, event) {
        Some(why) => Ok(Anchor::Nothing(why)),
        None => anchor(context, session, known, event, is_repeated),
    };
    // The notes help to tell prompts apart; without them, the trailers still do.
    if session.locked.write_session_notes(&notes).is_ok() {
        marks::forget(&lost);
    }
    done
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
    let digest = |of: &dyn Fn(&mut DefaultHasher)| {
        let mut hasher = DefaultHasher::new();
        event.moment.hash(&mut hasher);
        of(&mut hasher);
        hasher.finish()
    };
    let agent = event.agent.into_str();
    let text = (&event.prompt, &event.command);
    let has_text = event.prompt.is_some() || event.command.is_some();
    let ids = (&event.prompt_id, &event.tool_use, &event.agent_id);
    let named = (agent, &event.session, ids, &event.stamp, prompts);
    SeenEvent {
        time_ms: context.now_ms,
        agent: agent.to_owned(),
        event: digest(&|hasher| (named, text).hash(hasher)),
        text: has_text.then(|| digest(&|hasher| text.hash(hasher))),
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

/// Returns why there is no checkpoint at this moment.
fn refusal(context: &Context, session: &AgentSession, event: &AgentEvent) -> Option<&'static str> {
    let auto = context.settings.agents.auto;
    let has_subagents = event.has_subagents || session.has_running_subagent(context.now_ms);
    match event.moment {
        Moment::SubagentStart | Moment::SubagentEnd | Moment::SessionEnd => Some("noted"),
        // Qwen Code tells the prompt of a turn again after each call of a tool, without its text.
        Moment::Prompt if event.prompt.is_none() && is_known_prompt(session, event) => {
            Some("the prompt goes on")
        }
        _ if auto == AutoCheckpoints::Off => Some("auto is off"),
        Moment::PreTool if auto == AutoCheckpoints::Prompts => Some("auto is prompts"),
        Moment::PreTool | Moment::TurnEnd if has_subagents => Some("a subagent runs"),
        _ => None,
    }
}

fn is_known_prompt(session: &AgentSession, event: &AgentEvent) -> bool {
    let last = session.prompts.last();
    last.is_some_and(|last| last.id.is_some() && last.id == event.prompt_id)
}

/// Makes the checkpoint; before a prompt, notes it.
fn anchor(
    context: &Context,
    session: &mut Session<'_>,
    known: &mut AgentSession,
    event: &AgentEvent,
    is_repeated: bool,
) -> Result<Anchor> {
    let words = context.settings.agents.prompts;
    let is_prompt = event.moment == Moment::Prompt;
    let last = known.prompts.last();
    let number = if is_prompt {
        known.next_number()
    } else {
        last.map_or(0, |prompt| prompt.number)
    };
    let text = event.prompt.as_deref().unwrap_or_default();
    let line = if is_prompt {
        text::line_of(text, words)
    } else {
        let last = last.filter(|_| words != PromptWords::Off);
        last.map(|prompt| prompt.line.clone()).unwrap_or_default()
    };
    let known_id = last.and_then(|prompt| prompt.id.clone());
    let id = event.prompt_id.clone().or(known_id.filter(|_| !is_prompt));
    let options = CreateOptions {
        reason: Some(text::reason(event, number, &line, words)),
        source: Some(event.agent.into_str().to_owned()),
        dedup: DedupPolicy::SameState,
        is_automatic: true,
        origin: Some(PromptOrigin {
            provenance: Provenance {
                agent: Some(event.agent.into_str().to_owned()),
                session: Some(event.session.clone()),
                prompt: (number > 0).then(|| id.clone().unwrap_or(format!("#{number}"))),
                tool: event.tool.clone(),
                tool_use: event.tool_use.clone(),
                agent_id: event.agent_id.clone(),
                event: Some(event.moment),
            },
            prompt: text::recorded(text, words).filter(|_| is_prompt),
        }),
        ..CreateOptions::default()
    };
    let made = create_in(context, session, &options);
    let is_new = made.as_ref().is_ok_and(|made| made.skipped.is_none());
    if is_repeated && !is_new {
        return Ok(Anchor::Repeated);
    }
    if is_new && known.first.is_none() {
        let first = oldest_of(&session.locked.inventory().checkpoints, &event.session);
        known.first = first.map(|first| first.id);
    }
    if is_prompt {
        let checkpoint = made.as_ref().ok().and_then(|made| made.checkpoint.clone());
        let line_of_store = &session.locked.inventory().checkpoints;
        let back = checkpoint.as_ref().filter(|_| is_new);
        known.add_prompt(PromptNote {
            number,
            id,
            time_ms: context.now_ms,
            rewound_to: back.and_then(|now| rewound_to(known, line_of_store, now)),
            checkpoint: checkpoint.map(|checkpoint| checkpoint.id),
            line,
            end_ms: None,
        });
    }
    made.map(|outcome| Anchor::of(&outcome))
}

/// Notes the beginning of a session.
///
/// # Errors
/// The notes cannot be written.
pub fn note_start(
    context: &Context,
    session: &Session<'_>,
    event: &AgentEvent,
    marks: &Marks<'_>,
) -> Result<()> {
    let mut notes = notes_of(session);
    let lost = marks.lost();
    let known = notes.touch(event.agent.into_str(), &event.session, context.now_ms);
    note_lost(known, &lost, None);
    note_of_subagents(known, event, context.now_ms);
    session.locked.write_session_notes(&notes)?;
    marks::forget(&lost);
    Ok(())
}

/// Notes prompts that could not be noted when they were given. `now` is the prompt at hand, which
/// is noted by itself.
fn note_lost(session: &mut AgentSession, lost: &[LostPrompt], now: Option<&PromptNote>) {
    for LostPrompt { note, .. } in lost {
        let mut known = session.prompts.iter().chain(now);
        if !known.any(|known| known.is_same(note)) {
            session.add_prompt(note.clone());
        }
    }
}

/// Returns the note of a prompt of which nothing was recorded.
pub fn unnoted(context: &Context, event: &AgentEvent) -> PromptNote {
    /// Upper bound on an agent's name of a prompt, in bytes.
    const LONGEST_ID: usize = 256;
    let text = event.prompt.as_deref().unwrap_or_default();
    let id = event.prompt_id.clone().filter(|id| id.len() <= LONGEST_ID);
    PromptNote {
        number: 0,
        id,
        time_ms: context.now_ms,
        checkpoint: None,
        rewound_to: None,
        line: text::line_of(text, context.settings.agents.prompts),
        end_ms: None,
    }
}

/// Whether the store has a note of a prompt at hand.
pub fn is_noted(context: &Context, event: &AgentEvent, prompt: &PromptNote) -> bool {
    let Ok(Some(store)) = context.find_store() else {
        return false;
    };
    let notes = store.session_notes();
    let agent = event.agent.into_str();
    let mut sessions = notes.sessions.iter();
    let session = sessions.find(|known| known.agent == agent && known.id == event.session);
    let is_it = |known: &PromptNote| known.time_ms == prompt.time_ms && known.line == prompt.line;
    session.is_some_and(|session| session.prompts.iter().any(is_it))
}

/// Returns the newest earlier prompt before which the directory was as it is now.
fn rewound_to(session: &AgentSession, line: &Line, now: &Checkpoint) -> Option<u32> {
    let mut earlier = session.prompts.iter().rev();
    let is_same = |prompt: &&PromptNote| {
        let found = prompt.checkpoint.and_then(|id| line.find(id));
        found.is_some_and(|then: Cow<'_, Checkpoint>| then.id != now.id && then.tree == now.tree)
    };
    earlier.find(is_same).map(|prompt| prompt.number)
}

impl Anchor {
    pub fn of(outcome: &CreateOutcome) -> Self {
        match (outcome.checkpoint.clone(), outcome.skipped) {
            (Some(checkpoint), None) => Self::Made(checkpoint),
            (Some(checkpoint), Some(_)) => Self::Unchanged(checkpoint),
            (None, Some(Skipped::TooManyFiles)) => {
                let warnings = outcome.warnings.iter().map(ToString::to_string);
                Self::TooManyFiles(warnings.collect::<Vec<_>>().join("; "))
            }
            (None, _) => Self::Nothing("checkpoints are disabled"),
        }
    }
}
