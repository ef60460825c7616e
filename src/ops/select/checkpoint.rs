//! Finds the checkpoint that a selector names, also by the prompts of the agents that worked in the
//! directory: `prompt:` and `session:`.

use crate::base::text::escape;
use crate::config::AgentEnvironment;
use crate::error::{Code, Error, Result};
use crate::model::checkpoint::record::MIN_PREFIX;
use crate::model::checkpoint::selector;
use crate::model::{
    AgentSession, Checkpoint, Line, Mismatch, Moment, PromptNote, RelPath, SelectorProblem,
    SessionNotes,
};
use crate::ops::Context;
use crate::ops::restore::restore_paths;
use crate::store::transfer::remotes;
use crate::store::{Inventory, Remote};
use crate::worktree::WorkTree;

/// Finds the checkpoint that a selector names; an unreadable one is damage, not absence.
///
/// # Errors
/// It names none or several; a path in the directory is called one.
pub fn find(context: &Context, inventory: &Inventory, query: &str) -> Result<Checkpoint> {
    let error = match resolve(context, inventory, query) {
        Ok(found) => return certain(inventory, query, found),
        Err(problem) => explain(inventory, problem),
    };
    if error.code != Code::NO_SUCH_CHECKPOINT || path_in_directory(context, query).is_none() {
        return Err(error);
    }
    let what = format!("'{}' is a path, not a checkpoint", escape(query));
    let error = Error::new(Code::NO_SUCH_CHECKPOINT, what);
    Err(error.advise("'checkpoint list' shows the checkpoints"))
}

/// Resolves a selector, also one that names a moment in the session of an agent.
///
/// # Errors
/// It names none or several.
pub fn resolve(
    context: &Context,
    inventory: &Inventory,
    query: &str,
) -> Result<Checkpoint, SelectorProblem> {
    let of_session = of_session(context, inventory, query);
    let of_session = of_session.map_err(|why| SelectorProblem::NoMatch {
        query: query.to_owned(),
        why,
    })?;
    if let Some(found) = of_session {
        return Ok(found.clone());
    }
    if query.contains('/')
        && let Some(Ok(found)) = of_remote(context, inventory, query)
    {
        return Ok(found);
    }
    match selector::resolve(query, &inventory.checkpoints, context.now_ms) {
        Ok(found) => Ok(found.clone()),
        Err(problem) => of_remote(context, inventory, query).unwrap_or(Err(problem)),
    }
}

/// Resolves `NAME/SEL`, and names that of an id which only a remote has. `None` if no remote is meant,
/// or what it has cannot be read.
fn of_remote(
    context: &Context,
    inventory: &Inventory,
    query: &str,
) -> Option<Result<Checkpoint, SelectorProblem>> {
    let store = context.find_store().ok()??;
    let remotes = remotes::read(store.layout()).ok()?;
    let no_match = |why| SelectorProblem::NoMatch {
        query: query.to_owned(),
        why,
    };
    let Some((name, selector)) = query.split_once('/') else {
        return remotes.iter().find_map(|Remote { name, .. }| {
            let line = store.fetched(name).ok()?.checkpoints;
            let found = selector::resolve(query, &line, context.now_ms).ok()?;
            let is_id = found.id.to_hex().starts_with(&query.to_ascii_lowercase());
            let meant = format!("{name}/{}", found.id.short());
            is_id.then(|| Err(no_match(Mismatch::OtherWord { meant })))
        });
    };
    let name = remotes.into_iter().find(|remote| remote.name == name)?.name;
    let line = store.fetched(&name).ok()?.checkpoints;
    let found = selector::resolve(selector, &line, context.now_ms);
    Some(match found.cloned() {
        Ok(found) => Ok(inventory.get(found.id).cloned().unwrap_or(found)),
        Err(_) if line.is_empty() => Err(no_match(Mismatch::NotFetched { name })),
        Err(SelectorProblem::NoMatch {
            why: Mismatch::Unknown { .. },
            ..
        }) => Err(no_match(Mismatch::OfRemote { name })),
        Err(SelectorProblem::NoMatch { why, .. }) => Err(no_match(why)),
        Err(problem) => Err(problem),
    })
}

/// Finds a checkpoint of this store, for a command that changes it.
///
/// # Errors
/// As [`find`], or it is one of a remote.
pub fn find_own(context: &Context, inventory: &Inventory, query: &str) -> Result<Checkpoint> {
    let found = find(context, inventory, query)?;
    if inventory.checkpoints.holds(found.id) {
        return Ok(found);
    }
    let query = escape(query);
    let what =
        format!("'{query}' is a checkpoint of a remote, which is only read; nothing was changed");
    let hint = "'checkpoint restore' brings its files here, and a checkpoint made then is yours";
    Err(Error::new(Code::NOT_OWN, what).advise(hint))
}

/// Returns the checkpoint found for a selector.
///
/// # Errors
/// It was found by its reason, and the reasons given later cannot be read.
pub fn certain(inventory: &Inventory, query: &str, found: Checkpoint) -> Result<Checkpoint> {
    if inventory.unread_rewords.is_none() || found.record.reason != query {
        return Ok(found);
    }
    let (query, short) = (escape(query), found.id.short());
    Err(Error::damaged(
        "the file of reasons given by reword",
        format!("'{query}' may name another checkpoint than {short}; give an id"),
    ))
}

/// Finds the checkpoint at which the directory stands.
///
/// # Errors
/// There is none.
pub fn current(context: &Context, inventory: &Inventory) -> Result<Checkpoint> {
    find(context, inventory, selector::CURRENT)
}

/// Returns the error for a selector. A damaged checkpoint has no readable reason or time, so any of
/// them may be the one meant.
pub fn explain(inventory: &Inventory, problem: SelectorProblem) -> Error {
    let SelectorProblem::NoMatch { query, .. } = &problem else {
        return problem.into();
    };
    if let Some(damaged) = inventory.damaged_by_prefix(query) {
        return Error::damaged(format!("checkpoint {}", damaged.id.short()), &damaged.why);
    }
    let Some(damaged) = inventory.damaged.first() else {
        return problem.into();
    };
    let (query, short) = (escape(query), damaged.id.short());
    let what = format!("no readable checkpoint is '{query}', and checkpoint {short}");
    Error::damaged(what, &damaged.why)
}

/// Returns the path that a word names in the directory, if something is there.
pub fn path_in_directory(context: &Context, word: &str) -> Option<RelPath> {
    let path = restore_paths::parse_one(&context.root, word.as_bytes()).ok()?;
    let tree = WorkTree::open_root(&context.root).ok()?;
    matches!(tree.stat(&path), Ok(Some(_))).then_some(path)
}

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
pub fn of_session<'c>(
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
