//! The prompts of the agents that worked in a directory, and what `prompt:` and `session:` name.

use crate::config::AgentEnvironment;
use crate::model::checkpoint::record::MIN_PREFIX;
use crate::model::{AgentSession, Checkpoint, Line, Mismatch, Moment, PromptNote, SessionNotes};
use crate::ops::Context;
use crate::store::Inventory;

const PROMPT: &str = "prompt:";
const SESSION: &str = "session:";
/// What an agent is called that only says that it is one.
const ANY_AGENT: &str = "agent";
/// The session of the agent in whose shell this runs; in no agent's shell, the newest.
pub const CURRENT: &str = "current";

/// The sessions of a directory.
pub struct Timeline<'c> {
    line: &'c Line,
    sessions: Vec<AgentSession>,
    /// The agent in whose shell this runs.
    agent: Option<AgentEnvironment>,
}

impl<'c> Timeline<'c> {
    /// Reads the notes of the store, and what the checkpoints say of sessions that it does not know.
    pub fn of(context: &Context, inventory: &'c Inventory) -> Self {
        let line = &inventory.checkpoints;
        let store = context.find_store().ok().flatten();
        let mut sessions = from_checkpoints(line).sessions;
        let noted = store.map(|store| store.session_notes().sessions);
        let noted = noted.unwrap_or_default();
        sessions.retain(|told| noted.iter().all(|known| known.name() != told.name()));
        sessions.extend(noted);
        let agent = context.environment.agent.clone();
        let agent = agent.filter(|agent| agent.name != ANY_AGENT);
        Self {
            line,
            sessions,
            agent,
        }
    }

    /// Returns the session of this name, or else the newest of those that begin so. The name of its
    /// agent and a colon may come before it.
    pub fn session(&self, name: &str) -> Option<&AgentSession> {
        if name == CURRENT {
            return self.current();
        }
        let of_agent = || {
            let (agent, name) = name.split_once(':')?;
            self.named(name, |session| session.agent == agent)
        };
        self.named(name, |_| true).or_else(of_agent)
    }

    /// Where several agents use one name, the agent in whose shell this runs comes first.
    fn named(&self, name: &str, is_meant: impl Fn(&AgentSession) -> bool) -> Option<&AgentSession> {
        let meant = || self.sessions.iter().filter(|session| is_meant(session));
        let exact = meant().filter(|session| session.id == name);
        let begins =
            |session: &&AgentSession| name.len() >= MIN_PREFIX && session.id.starts_with(name);
        let of_prefix = || latest(meant().filter(begins));
        exact.max_by_key(|it| self.is_own(it)).or_else(of_prefix)
    }

    fn is_own(&self, session: &AgentSession) -> bool {
        let agent = self.agent.as_ref();
        agent.is_some_and(|agent| agent.name == session.agent)
    }

    /// Returns the session of the agent in whose shell this runs; in no agent's shell, the newest.
    fn current(&self) -> Option<&AgentSession> {
        let Some(agent) = &self.agent else {
            return latest(self.with_prompts());
        };
        match &agent.session {
            Some(name) => self.named(name, |session| session.id == *name),
            None => latest(self.with_prompts().filter(|session| self.is_own(session))),
        }
    }

    /// Returns the session of the agent in whose shell this runs, or else the one with the newest
    /// prompt.
    pub fn newest(&self) -> Option<&AgentSession> {
        let current = self.current().filter(|session| !session.prompts.is_empty());
        current.or_else(|| latest(self.with_prompts()))
    }

    /// Returns the sessions that have prompts.
    pub fn with_prompts(&self) -> impl Iterator<Item = &AgentSession> {
        let sessions = self.sessions.iter();
        sessions.filter(|session| !session.prompts.is_empty())
    }

    /// Returns the last checkpoint that was made after a prompt, in its turn.
    pub fn end_of(&self, session: &AgentSession, prompt: &PromptNote) -> Option<&'c Checkpoint> {
        let number = format!("#{}", prompt.number);
        let name = prompt.id.as_deref().unwrap_or(&number);
        self.line.rev().find(|checkpoint| {
            let of = &checkpoint.record.provenance;
            session.made(of)
                && of.prompt.as_deref() == Some(name)
                && of.event != Some(Moment::Prompt)
        })
    }

    /// Returns the checkpoint of the state before a prompt; `None` if there is none any more.
    pub fn before(&self, prompt: &PromptNote) -> Option<&'c Checkpoint> {
        prompt.checkpoint.and_then(|id| self.line.find(id))
    }

    /// Finds the first checkpoint of a session.
    ///
    /// # Errors
    /// It is gone, but not all of that session.
    fn first_of(&self, name: &str) -> Result<Option<&'c Checkpoint>, Mismatch> {
        let Some(session) = self.session(name) else {
            return Ok(None);
        };
        let oldest = oldest_of(self.line, session);
        match (oldest, session.first) {
            (Some(oldest), Some(first)) if self.line.find(first).is_none() => {
                Err(Mismatch::FirstGone { oldest: oldest.id })
            }
            (None, Some(_)) => Ok(None),
            (Some(oldest), _) => Ok(Some(oldest)),
            (None, None) => Ok(session.prompts.first().and_then(|it| self.before(it))),
        }
    }

    /// Finds what `prompt:…` names; `None` for any other word.
    fn find_prompt(&self, query: &str) -> Option<&'c Checkpoint> {
        let name = query.strip_prefix(PROMPT)?;
        let newest = self.newest().map(|session| session.prompts.as_slice());
        let newest = newest.unwrap_or_default();
        let of_number = |number: u32| newest.iter().find(|prompt| prompt.number == number);
        let found = match name.strip_prefix('~') {
            Some("") => newest.last(),
            Some(steps) => newest
                .iter()
                .nth_back(steps.parse::<usize>().ok()?.checked_sub(1)?),
            None => name
                .parse()
                .ok()
                .and_then(of_number)
                .or_else(|| self.by_id(name)),
        };
        self.before(found?)
    }

    fn by_id(&self, name: &str) -> Option<&PromptNote> {
        let is_named = |id: &str| id == name || (name.len() >= MIN_PREFIX && id.starts_with(name));
        let sessions = self.sessions.iter().rev();
        let mut prompts = sessions.flat_map(|session| session.prompts.iter().rev());
        prompts.find(|prompt| prompt.id.as_deref().is_some_and(is_named))
    }
}

/// Returns the session with the newest prompt.
fn latest<'s>(sessions: impl Iterator<Item = &'s AgentSession>) -> Option<&'s AgentSession> {
    sessions.max_by_key(|session| session.prompts.last().map_or(i64::MIN, |it| it.time_ms))
}

/// Finds the checkpoint of a moment in the session of an agent; `None` for any other word.
///
/// # Errors
/// It is gone.
pub fn find<'c>(
    context: &Context,
    inventory: &'c Inventory,
    query: &str,
) -> Result<Option<&'c Checkpoint>, Mismatch> {
    if let Some(name) = query.strip_prefix(SESSION) {
        return Timeline::of(context, inventory).first_of(name);
    }
    let is_prompt = query.starts_with(PROMPT);
    let found = is_prompt.then(|| Timeline::of(context, inventory).find_prompt(query));
    Ok(found.flatten())
}

/// Returns the oldest checkpoint of a session that is kept.
pub fn oldest_of<'c>(line: &'c Line, session: &AgentSession) -> Option<&'c Checkpoint> {
    line.iter()
        .find(|checkpoint| session.made(&checkpoint.record.provenance))
}

/// Makes notes of what the checkpoints say of their sessions: only of prompts that have one.
pub fn from_checkpoints(line: &Line) -> SessionNotes {
    let mut notes = SessionNotes::default();
    for checkpoint in line.iter() {
        let record = &checkpoint.record;
        let of = &record.provenance;
        let (Some(agent), Some(session)) = (&of.agent, &of.session) else {
            continue;
        };
        let session = notes.touch(agent, session, record.time_ms);
        if of.event == Some(Moment::Prompt) {
            let reason = record.reason.strip_prefix("before: ");
            session.add_prompt(PromptNote {
                number: 0,
                id: of.prompt.clone(),
                time_ms: record.time_ms,
                checkpoint: Some(checkpoint.id),
                rewound_to: None,
                line: reason.unwrap_or(&record.reason).to_owned(),
                end_ms: None,
            });
        } else if of.event.is_some_and(Moment::ends_turn) {
            session.end_turn(record.time_ms);
        }
    }
    notes
}
