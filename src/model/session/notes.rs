//! Notes on the sessions of agents: their prompts, running subagents, and the last events.

use crate::base::json::{Deserialize, Serialize};
use crate::model::{ObjectId, Provenance};

/// Time in which an event that comes again counts as the same one, in milliseconds.
const SAME_EVENT_MS: i64 = 10_000;
/// Time after which a subagent counts as ended even if nothing says so, in milliseconds.
const LONGEST_SUBAGENT_MS: i64 = 30 * 60_000;
/// Upper bounds on what is kept; the oldest go first.
const MOST_SESSIONS: usize = 64;
const MOST_PROMPTS: usize = 500;
const MOST_SUBAGENTS: usize = 256;
const MOST_SEEN: usize = 256;

/// A subagent whose name is not told.
pub const UNNAMED: &str = "?";

/// The notes of one store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionNotes {
    /// By the time of their last event, newest last.
    pub sessions: Vec<AgentSession>,
    seen: Vec<SeenEvent>,
}

/// One session of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSession {
    pub agent: String,
    pub id: String,
    /// Time of its last event, in milliseconds since 1970.
    pub last_ms: i64,
    pub is_over: bool,
    /// Number of turns that have ended.
    pub turns: u32,
    /// Its first checkpoint, which may be gone; `None` if it has made none, or that is not known.
    pub first: Option<ObjectId>,
    /// By their numbers.
    pub prompts: Vec<PromptNote>,
    subagents: Vec<(String, i64)>,
}

/// One prompt of a session, and the state before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptNote {
    /// Position in the session, from 1.
    pub number: u32,
    /// The agent's own name of it.
    pub id: Option<String>,
    pub time_ms: i64,
    /// The checkpoint that holds the state before it; `None` if none could be made.
    pub checkpoint: Option<ObjectId>,
    /// The prompt before which the directory was again when this one began.
    pub rewound_to: Option<u32>,
    /// Its first line without secrets; empty if prompts are not to be recorded.
    pub line: String,
    /// When its turn ended; `None` if that is not known.
    pub end_ms: Option<i64>,
}

/// An event that was worked on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenEvent {
    pub time_ms: i64,
    pub agent: String,
    /// Digest of session, moment and what names the event.
    pub event: u64,
    /// Digest of moment and text, which another agent's form of the same event has too; `None` of
    /// one without text.
    pub text: Option<u64>,
}

impl SessionNotes {
    /// Whether the event was seen a moment ago, from the same agent or in the words of another one.
    /// Notes it otherwise.
    pub fn is_repeated(&mut self, event: SeenEvent) -> bool {
        let age = |seen: &SeenEvent| event.time_ms.saturating_sub(seen.time_ms);
        self.seen
            .retain(|seen| (0..SAME_EVENT_MS).contains(&age(seen)));
        let is_same = |seen: &SeenEvent| {
            seen.event == event.event || (comes_from_both(seen, &event) && seen.text == event.text)
        };
        let is_repeated = self.seen.iter().any(is_same);
        if !self.has_seen(&event) {
            keep_newest(&mut self.seen, MOST_SEEN - 1);
            // Another form of the next one is compared with the first form of this one alone.
            let text = event.text.filter(|_| !is_repeated);
            self.seen.push(SeenEvent { text, ..event });
        }
        is_repeated
    }

    /// Whether this very event was seen a moment ago.
    pub fn has_seen(&self, event: &SeenEvent) -> bool {
        let is_it = |seen: &SeenEvent| {
            let age_ms = event.time_ms.saturating_sub(seen.time_ms);
            seen.event == event.event && (0..SAME_EVENT_MS).contains(&age_ms)
        };
        self.seen.iter().any(is_it)
    }

    /// Returns a session as the newest one; begins it if it is unknown.
    pub fn touch(&mut self, agent: &str, id: &str, now_ms: i64) -> &mut AgentSession {
        let known = self.position(agent, id);
        let mut session = known.map_or_else(
            || AgentSession {
                agent: agent.to_owned(),
                id: id.to_owned(),
                ..AgentSession::default()
            },
            |at| self.sessions.remove(at),
        );
        session.last_ms = now_ms;
        if self.sessions.len() >= MOST_SESSIONS {
            let empty = self
                .sessions
                .iter()
                .position(|other| other.prompts.is_empty());
            self.sessions.remove(empty.unwrap_or_default());
        }
        self.sessions.push(session);
        let last = self.sessions.len() - 1;
        &mut self.sessions[last]
    }

    fn position(&self, agent: &str, id: &str) -> Option<usize> {
        self.sessions
            .iter()
            .position(|session| session.agent == agent && session.id == id)
    }
}

impl AgentSession {
    /// What tells it apart: different agents may use one id.
    pub fn name(&self) -> (&str, &str) {
        (&self.agent, &self.id)
    }

    /// Whether a checkpoint was made in this session.
    pub fn made(&self, of: &Provenance) -> bool {
        let (agent, id) = (of.agent.as_deref(), of.session.as_deref());
        agent.zip(id) == Some(self.name())
    }

    /// Adds a prompt that could not be noted, unless it is known.
    pub fn add_lost(&mut self, note: &PromptNote) {
        if !self.prompts.iter().any(|prompt| prompt.is_same(note)) {
            self.add_prompt(note.clone());
        }
    }

    /// Adds a prompt, and returns its number.
    pub fn add_prompt(&mut self, prompt: PromptNote) -> u32 {
        let number = self.next_number();
        keep_newest(&mut self.prompts, MOST_PROMPTS - 1);
        self.prompts.push(PromptNote { number, ..prompt });
        number
    }

    pub fn next_number(&self) -> u32 {
        self.prompts
            .last()
            .map_or(1, |prompt| prompt.number.saturating_add(1))
    }

    /// Notes the end of the turn of the last prompt.
    pub fn end_turn(&mut self, now_ms: i64) {
        if let Some(last) = self.prompts.last_mut() {
            last.end_ms = Some(now_ms);
        }
    }

    /// Returns how many prompts were given at a time or later, or had not ended their turns then. A
    /// turn whose end nobody noted ended with the next prompt, or soon after the last event.
    pub fn count_prompts_since(&self, since_ms: i64) -> usize {
        let grace_ms = if self.is_over { 0 } else { LONGEST_SUBAGENT_MS };
        let soon_ms = self.last_ms.saturating_add(grace_ms);
        let next_ms = self.prompts.iter().skip(1).map(|next| next.time_ms);
        let prompts = self.prompts.iter().zip(next_ms.chain([soon_ms]));
        let ends_ms = prompts.map(|(prompt, bound_ms)| prompt.end_ms.unwrap_or(bound_ms));
        ends_ms.filter(|end_ms| *end_ms >= since_ms).count()
    }

    pub fn begin_subagent(&mut self, id: &str, now_ms: i64) {
        if id != UNNAMED {
            self.end_subagent(Some(id));
        }
        keep_newest(&mut self.subagents, MOST_SUBAGENTS - 1);
        self.subagents.push((id.to_owned(), now_ms));
    }

    /// Ends a subagent; one without a name is the one that began first.
    pub fn end_subagent(&mut self, id: Option<&str>) {
        match id {
            Some(id) => self.subagents.retain(|(other, _)| other != id),
            None => drop(self.subagents.drain(..1.min(self.subagents.len()))),
        }
    }

    pub fn end_all_subagents(&mut self) {
        self.subagents.clear();
    }

    pub fn has_running_subagent(&self, now_ms: i64) -> bool {
        self.subagents
            .iter()
            .any(|(_, since)| (0..LONGEST_SUBAGENT_MS).contains(&now_ms.saturating_sub(*since)))
    }
}

impl PromptNote {
    /// Whether both are notes of one prompt that was told more than once.
    pub fn is_same(&self, other: &Self) -> bool {
        let has_line = !self.line.is_empty() && !other.line.is_empty();
        let is_line = self.line == other.line;
        if let (Some(id), Some(other_id)) = (&self.id, &other.id) {
            return id == other_id && (is_line || !has_line);
        }
        let apart_ms = self.time_ms.abs_diff(other.time_ms);
        has_line && is_line && apart_ms < SAME_EVENT_MS.unsigned_abs()
    }
}

/// Whether one of the agents also runs the hooks that the other is configured with.
fn comes_from_both(one: &SeenEvent, other: &SeenEvent) -> bool {
    let has = |name: &str| one.agent == name || other.agent == name;
    let has_text = one.text.is_some() && one.agent != other.agent;
    has_text && has("claude") && (has("cursor") || has("copilot"))
}

fn keep_newest<T>(items: &mut Vec<T>, limit: usize) {
    let surplus = items.len().saturating_sub(limit);
    items.drain(..surplus);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(line: &str) -> PromptNote {
        PromptNote {
            time_ms: 5,
            line: line.to_owned(),
            ..PromptNote::default()
        }
    }

    #[test]
    fn notes_come_back_whatever_the_words_hold() {
        let mut notes = SessionNotes::default();
        for id in ["-", "", "a b\n", "%2D", "\u{fc} session"] {
            let session = notes.touch("an agent", id, 7);
            session.is_over = id.is_empty();
            session.first = session.is_over.then(|| ObjectId::from_bytes([9; 20]));
            session.add_prompt(PromptNote {
                id: Some(id.to_owned()),
                checkpoint: Some(ObjectId::from_bytes([7; 20])),
                rewound_to: Some(1),
                ..prompt("line\nof % words - ")
            });
            session.add_prompt(prompt(""));
            session.begin_subagent(id, 9);
        }
        notes.is_repeated(SeenEvent {
            time_ms: 1,
            agent: "x".to_owned(),
            event: 2,
            text: None,
        });
        let text = serde_json::to_string(&notes).unwrap();
        assert_eq!(serde_json::from_str::<SessionNotes>(&text).unwrap(), notes);
    }

    #[test]
    fn an_event_counts_once_within_ten_seconds_in_any_form() {
        let mut notes = SessionNotes::default();
        let event = |time_ms, agent: &str, event, text| SeenEvent {
            time_ms,
            agent: agent.to_owned(),
            event,
            text: Some(text),
        };
        assert!(!notes.is_repeated(event(0, "cursor", 1, 9)));
        assert!(notes.is_repeated(event(9_999, "cursor", 1, 9)));
        assert!(notes.is_repeated(event(9_999, "claude", 2, 9)));
        assert!(!notes.is_repeated(event(9_999, "cursor", 3, 9)));
        assert!(!notes.is_repeated(event(20_000, "cursor", 1, 9)));
        assert!(!notes.is_repeated(event(-5_000, "cursor", 1, 9)));
    }

    #[test]
    fn only_the_newest_are_kept_and_numbers_go_on() {
        let mut notes = SessionNotes::default();
        for at in 0..100 {
            notes.touch("a", &at.to_string(), at);
        }
        assert_eq!(notes.sessions.len(), MOST_SESSIONS);
        assert_eq!(notes.touch("a", "50", 100).id, "50");
        assert_eq!(notes.sessions.len(), MOST_SESSIONS);
        let session = notes.touch("a", "99", 101);
        let numbers: Vec<u32> = (0..600).map(|_| session.add_prompt(prompt("x"))).collect();
        assert_eq!((numbers[0], numbers[599]), (1, 600));
        assert_eq!(session.prompts.len(), MOST_PROMPTS);
    }

    #[test]
    fn a_subagent_runs_until_its_end_or_half_an_hour() {
        let mut notes = SessionNotes::default();
        let session = notes.touch("a", "s", 0);
        session.begin_subagent("x", 0);
        session.begin_subagent("y", 5);
        session.end_subagent(Some("x"));
        assert!(session.has_running_subagent(LONGEST_SUBAGENT_MS));
        assert!(!session.has_running_subagent(5 + LONGEST_SUBAGENT_MS));
        session.end_subagent(None);
        assert!(!session.has_running_subagent(6));
    }
}
