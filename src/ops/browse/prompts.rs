//! `rewind`: the prompts of a session, and the checkpoints of the states before them.

use crate::error::sentence::{CommandWords, Sentence};
use crate::error::{Error, Result};
use crate::model::checkpoint::record::Checkpoint;
use crate::model::session::notes::{AgentSession, PromptNote};
use crate::model::state::object_id::ObjectId;
use crate::ops::browse::list::{no_session, reader_warnings};
use crate::ops::context::Context;
use crate::ops::select::timeline::Timeline;
use crate::ops::warning::Warning;

/// The prompts of one session.
#[derive(Debug)]
pub struct PromptsOutcome {
    pub session: AgentSession,
    /// Whether the session was named, so that it has to be named again.
    pub is_named: bool,
    /// In their order; the checkpoint is missing where none was made, or it was dropped.
    pub prompts: Vec<(PromptNote, Option<Checkpoint>)>,
    pub warnings: Vec<Warning>,
}

/// Returns the prompts of a session, by default of the newest.
///
/// # Errors
/// There is no store, or no such session.
pub fn prompts(context: &Context, session: Option<&str>) -> Result<PromptsOutcome> {
    let store = context.require_store()?;
    let inventory = store.inventory()?;
    let timeline = Timeline::of(context, &inventory);
    let found = match session {
        Some(typed) => timeline.session(typed).ok_or_else(|| no_session(typed))?,
        None => timeline.newest().ok_or_else(|| Error::NothingFound {
            what: "no agent gave a prompt in this directory yet".to_owned(),
            hint: Sentence::new("'checkpoint help agents' says how agents are set up", &[]),
        })?,
    };
    let prompts = found.prompts.iter().map(|prompt| {
        let before = timeline.before(prompt);
        (prompt.clone(), before.map(std::borrow::Cow::into_owned))
    });
    Ok(PromptsOutcome {
        prompts: prompts.collect(),
        is_named: session.is_some(),
        session: found.clone(),
        warnings: reader_warnings(context, &store, &inventory)?,
    })
}

/// Returns the checkpoint of the state before a prompt.
///
/// # Errors
/// There is no such prompt, or no checkpoint of the state before it.
pub fn before(known: &PromptsOutcome, number: u32) -> Result<ObjectId> {
    let mut prompts = known.prompts.iter();
    let Some((prompt, before)) = prompts.find(|(prompt, _)| prompt.number == number) else {
        return Err(Error::NothingFound {
            what: format!("this session has no prompt {number}"),
            hint: Sentence::new("'checkpoint rewind' lists the prompts", &[]),
        });
    };
    let before = before.as_ref().map(|checkpoint| checkpoint.id);
    before.ok_or_else(|| Error::NothingFound {
        what: match prompt.checkpoint {
            None => format!("nothing was recorded before prompt {number}"),
            Some(_) => format!("no checkpoint is kept of the state before prompt {number}"),
        },
        hint: earlier(known, number),
    })
}

/// Names the nearest earlier prompt that can be gone back to.
fn earlier(known: &PromptsOutcome, number: u32) -> Sentence {
    let mut earlier = known.prompts.iter().rev();
    let nearest = earlier.find(|(prompt, before)| prompt.number < number && before.is_some());
    let Some((nearest, _)) = nearest else {
        return Sentence::new("'checkpoint rewind' lists the prompts", &[]);
    };
    let number = nearest.number.to_string();
    let command = known.rewind_command(&number);
    Sentence::default()
        .then_command(command)
        .then(format!(" goes back to before prompt {number}"))
}

impl PromptsOutcome {
    /// Returns the command that goes back to before a prompt of this session.
    pub fn rewind_command(&self, number: &str) -> CommandWords {
        let mut words = vec!["rewind", number];
        if self.is_named {
            words.extend(["--session", &self.session.id]);
        }
        CommandWords::new(words)
    }
}
