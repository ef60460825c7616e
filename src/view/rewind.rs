//! `rewind` as text and as JSON.

use crate::base::text::escape;
use crate::base::time::age;
use crate::error::sentence::CommandWords;
use crate::model::difference::ChangeCounts;
use crate::model::json::{CheckpointRef, TimeText};
use crate::model::session::notes::{AgentSession, PromptNote};
use crate::ops::browse::prompts::{ListedPrompt, PromptsOutcome};
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::format::count;
use crate::view::place::placed_command;
use crate::view::plan;
use crate::view::table::change_words;
use crate::view::words::Output;

/// Maximum number of other sessions that are named.
const NAMED_SESSIONS: usize = 5;

/// Formats one line for each prompt, newest first.
pub fn human(outcome: &PromptsOutcome, now_ms: i64) -> Output {
    let line = |prompt: &ListedPrompt| {
        let id = prompt.before.as_ref().map(|before| before.id.short());
        let note = &prompt.note;
        let lead = if outcome.position == Some(note.number) {
            "*"
        } else {
            " "
        };
        let branch = note
            .rewound_to
            .map(|number| format!(" (again from before {number})"));
        let changes = prompt.changes.map(change_words).unwrap_or_default();
        format!(
            "{lead}{:>3}  {:<8}  {:>6}  {changes:<8}  {}{}\n",
            note.number,
            id.as_deref().unwrap_or("-"),
            age(note.time_ms, now_ms),
            line_of(note),
            branch.unwrap_or_default(),
        )
    };
    let AgentSession { agent, id, .. } = &outcome.session;
    let mut talk = format!("prompts of {}, session {}\n", escape(agent), escape(id));
    let mut prompts = outcome.prompts.iter();
    if outcome.prompts.is_empty() {
        "no prompt of this session is known\n".clone_into(&mut talk);
    } else if let Some(prompt) = prompts.find(|prompt| prompt.before.is_some()) {
        let number = prompt.note.number.to_string();
        let command = placed_command(outcome.rewind_command(&number));
        talk += &format!("'{command}' restores the state before prompt {number}\n");
    }
    talk += &match (outcome.position, &outcome.here) {
        (Some(_), _) => "* you are here\n".to_owned(),
        (None, Some(here)) => format!("you are at {}\n", plan::named(here)),
        (None, None) => String::new(),
    };
    for other in outcome.others.iter().take(NAMED_SESSIONS) {
        let command = CommandWords::new(["rewind", "--session", &*other.id]);
        let prompts = count(other.prompts.len(), "prompt", "prompts");
        let (agent, command) = (escape(&other.agent), placed_command(command));
        talk += &format!("{agent} had {prompts} here too: '{command}'\n");
    }
    Output {
        result: outcome.prompts.iter().map(line).collect(),
        talk,
    }
}

/// The first line of a prompt.
pub fn line_of(prompt: &PromptNote) -> String {
    match prompt.line.as_str() {
        "" => "(not recorded)".to_owned(),
        line => escape(line),
    }
}

/// Formats `before prompt 2 (Now rewrite everything)`.
pub fn named(prompt: &PromptNote) -> String {
    format!("before prompt {} ({})", prompt.number, line_of(prompt))
}

/// Says how the conversation of an agent follows the files.
pub fn conversation(agent: &str) -> String {
    let how = match agent {
        "claude" => "for the conversation: /rewind, Restore conversation",
        "codex" => "for the conversation: Esc Esc",
        "gemini" => "for the conversation: /rewind, Rewind conversation",
        "opencode" => "for the conversation: /undo",
        _ => "the conversation goes on as it is",
    };
    format!("only files went back; {how}\n")
}

/// The prompts of one session of an agent.
#[derive(Serialize, JsonSchema)]
pub struct RewindListAnswer {
    agent_name: String,
    session: String,
    /// Whether the agent said that the session has ended.
    is_over: bool,
    /// Newest first.
    prompts: Vec<PromptJson>,
    /// The prompt before whose state the directory stands, which `@` names; null if elsewhere.
    position: Option<u32>,
    /// The other sessions that had prompts in this directory, newest first.
    others: Vec<OtherSession>,
}

/// Another session in the same directory.
#[derive(Serialize, JsonSchema)]
struct OtherSession {
    agent_name: String,
    session: String,
    prompt_count: usize,
}

/// One prompt.
#[derive(Serialize, JsonSchema)]
struct PromptJson {
    /// Position in the session, from 1.
    number: u32,
    /// The agent's own name of it; null if it has none.
    prompt_id: Option<String>,
    given_at: TimeText,
    /// Its first line without secrets; null if prompts are not recorded.
    line: Option<String>,
    /// The state before it; null if no checkpoint of that is kept.
    before: Option<CheckpointRef>,
    /// What changed until the end of its turn; null if that is not known.
    counts: Option<ChangeCounts>,
    /// The prompt before which the directory was again when this one was given; null for none.
    rewound_to: Option<u32>,
}

pub fn json(outcome: &PromptsOutcome) -> String {
    let prompt = |ListedPrompt {
                      note,
                      before,
                      changes,
                  }: &ListedPrompt| PromptJson {
        number: note.number,
        prompt_id: note.id.clone(),
        given_at: TimeText::new(note.time_ms),
        line: Some(note.line.clone()).filter(|line| !line.is_empty()),
        before: before.as_ref().map(CheckpointRef::new),
        counts: changes.map(Into::into),
        rewound_to: note.rewound_to,
    };
    let other = |other: &AgentSession| OtherSession {
        agent_name: other.agent.clone(),
        session: other.id.clone(),
        prompt_count: other.prompts.len(),
    };
    let data = RewindListAnswer {
        agent_name: outcome.session.agent.clone(),
        session: outcome.session.id.clone(),
        is_over: outcome.session.is_over,
        prompts: outcome.prompts.iter().map(prompt).collect(),
        position: outcome.position,
        others: outcome.others.iter().map(other).collect(),
    };
    envelope("rewind.list", 0, &data, &outcome.warnings)
}
