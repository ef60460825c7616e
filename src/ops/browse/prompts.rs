//! `rewind`: the prompts of a session, and the checkpoints of the states before them.

use std::cmp::Reverse;

use crate::base::text::escape;
use crate::error::{Code, CommandWords, Error, Result, Sentence};
use crate::model::json::{self, JsonSchema, PromptJson, Serialize, SessionJson};
use crate::model::{AgentSession, ChangeCounts, Checkpoint, ObjectId, PromptNote};
use crate::ops::browse::list::{no_session, reader_warnings};
use crate::ops::{Context, Timeline, Warning};
use crate::store::TreeMemo;

/// The prompts of one session.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PromptsOutcome {
    #[serde(flatten, serialize_with = "json::session")]
    #[schemars(with = "SessionJson")]
    pub session: AgentSession,
    /// Whether the session was named, so that it has to be named again.
    #[serde(skip)]
    pub is_named: bool,
    /// Newest first.
    pub prompts: Vec<ListedPrompt>,
    /// The checkpoint at which the directory stands.
    #[serde(skip)]
    pub here: Option<Checkpoint>,
    /// The newest prompt before whose state the directory stands, which `@` names; null if elsewhere.
    pub position: Option<u32>,
    /// The other sessions in this directory that have prompts, newest first.
    #[serde(serialize_with = "json::sessions")]
    #[schemars(with = "Vec<SessionJson>")]
    pub others: Vec<AgentSession>,
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

/// A prompt, and the states around it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedPrompt {
    #[serde(flatten, serialize_with = "json::prompt")]
    #[schemars(with = "PromptJson")]
    pub note: PromptNote,
    /// The state before it; null if no checkpoint of that is kept.
    pub before: Option<Checkpoint>,
    /// What changed until the end of its turn; null if that is not known.
    #[serde(rename = "counts")]
    pub changes: Option<ChangeCounts>,
}

/// Returns the prompts of a session, by default of the newest; `lost` are those that could not be
/// noted in its store yet.
///
/// # Errors
/// There is no store, or no such session.
pub fn prompts(
    context: &Context,
    session: Option<&str>,
    lost: impl Fn(&AgentSession) -> Vec<PromptNote>,
) -> Result<PromptsOutcome> {
    let (store, inventory) = context.read()?;
    let timeline = Timeline::of(context, &inventory);
    let found = match session {
        Some(typed) => timeline.session(typed).ok_or_else(|| no_session(typed))?,
        None => timeline.newest().ok_or_else(|| {
            Error::new(Code::NOTHING_FOUND, "no agent session recorded here")
                .advise("'checkpoint setup' sets an agent up")
        })?,
    };
    let mut found = found.clone();
    for note in lost(&found) {
        found.add_lost(&note);
    }
    let line = &inventory.checkpoints;
    let mut memo = TreeMemo::new(store.objects());
    let mut changes = |before: &Checkpoint, after: &Checkpoint| {
        let found = memo.diff(Some(before.tree), Some(after.tree), &|_| true);
        found.ok().as_deref().map(ChangeCounts::of)
    };
    let prompts = found.prompts.iter().enumerate().map(|(at, prompt)| {
        let before = timeline.before(prompt).cloned();
        let next = found.prompts.get(at + 1);
        let next = next.filter(|next| next.rewound_to.is_none());
        let end = timeline.end_of(&found, prompt);
        let after = end.or_else(|| timeline.before(next?));
        ListedPrompt {
            changes: before.as_ref().zip(after).and_then(|(b, a)| changes(b, a)),
            note: prompt.clone(),
            before,
        }
    });
    let mut prompts: Vec<ListedPrompt> = prompts.collect();
    prompts.reverse();
    let here = line.baseline().cloned();
    let is_here = |prompt: &&ListedPrompt| {
        let both = prompt.before.as_ref().zip(here.as_ref());
        both.is_some_and(|(before, here)| before.id == here.id || before.holds_the_same(here))
    };
    let position = prompts.iter().find(is_here).map(|it| it.note.number);
    let others = timeline
        .with_prompts()
        .filter(|other| other.name() != found.name());
    let mut others: Vec<AgentSession> = others.cloned().collect();
    others.sort_by_key(|other| Reverse(other.last_ms));
    Ok(PromptsOutcome {
        is_named: session.is_some(),
        session: found,
        warnings: reader_warnings(context, &store, &inventory)?,
        prompts,
        here,
        position,
        others,
    })
}

/// Returns the checkpoint of the state before a prompt.
///
/// # Errors
/// There is no such prompt, or no checkpoint of the state before it.
pub fn before(known: &PromptsOutcome, number: u32) -> Result<(&ListedPrompt, ObjectId)> {
    let mut prompts = known.prompts.iter();
    let prompt = prompts.find(|prompt| prompt.note.number == number);
    if let Some(found) = prompt.and_then(|prompt| Some((prompt, prompt.before.as_ref()?.id))) {
        return Ok(found);
    }
    let what = match prompt.map(|prompt| prompt.note.checkpoint) {
        None => format!("this session has no prompt {number}"),
        Some(None) => format!("nothing was recorded before prompt {number}"),
        Some(Some(_)) => format!("no checkpoint is kept of the state before prompt {number}"),
    };
    Err(Error::new(Code::NOTHING_FOUND, what).next(earlier(known, number)))
}

/// Names the nearest earlier prompt that can be gone back to.
fn earlier(known: &PromptsOutcome, number: u32) -> Sentence {
    let mut earlier = known.prompts.iter();
    let nearest = earlier.find(|prompt| prompt.note.number < number && prompt.before.is_some());
    let Some(nearest) = nearest else {
        return Sentence::new("'checkpoint rewind' lists the prompts", &[]);
    };
    let number = nearest.note.number.to_string();
    let command = known.rewind_command(&number);
    Sentence::default()
        .then_command(command)
        .then(format!(" goes back to before prompt {number}"))
}

impl PromptsOutcome {
    /// What going back to before a prompt takes back of other sessions in this directory.
    pub fn also_before(&self, number: u32) -> Vec<Warning> {
        let mut prompts = self.prompts.iter();
        let prompt = prompts.find(|prompt| prompt.note.number == number);
        let since_ms = prompt.map_or(i64::MAX, |prompt| prompt.note.time_ms);
        let also = self.others.iter().map(|other| Warning::AlsoBefore {
            of: format!("{}, session {}", escape(&other.agent), escape(&other.id)),
            prompts: other.count_prompts_since(since_ms),
        });
        let is_none = |warning: &Warning| matches!(warning, Warning::AlsoBefore { prompts: 0, .. });
        also.filter(|warning| !is_none(warning)).collect()
    }

    /// Returns the command that goes back to before a prompt of this session.
    pub fn rewind_command(&self, number: &str) -> CommandWords {
        let mut words = vec!["rewind", number];
        let name = self.name_of(&self.session);
        if self.is_named {
            words.extend(["--session", &name]);
        }
        CommandWords::new(words)
    }

    /// Returns what names a session here: with its agent where another one has the same id.
    pub fn name_of(&self, session: &AgentSession) -> String {
        let mut all = self.others.iter().chain([&self.session]);
        let is_twin = |it: &AgentSession| it.id == session.id && it.agent != session.agent;
        if all.any(is_twin) {
            return format!("{}:{}", session.agent, session.id);
        }
        session.id.clone()
    }
}
