//! What is ours in a file of JSON that others may write too: hooks, our server, a manifest; and the
//! command line that calls `hook`, by which ours are known.

use serde_json::{Map, Value, json};

use crate::agent::AgentName;
use crate::agent::setup::json_edit;
use crate::error::{Error, Result};

const HOOKS: &str = "hooks";
const VERSION: &str = "version";
const COMMAND: &str = "command";
/// The name of our server in settings.
pub const NAME: &str = "checkpoint";
/// The subcommand that serves.
const SUBCOMMAND: &str = "mcp";
/// The keys under which a handler has its command line.
const COMMAND_KEYS: [&str; 2] = [COMMAND, "bash"];

/// What should be in a file.
#[derive(Clone, Debug, Default)]
pub struct OurJson {
    /// Keys and values of the file itself.
    pub members: Vec<(&'static str, Value)>,
    pub hooks: Option<HookEntries>,
    pub server: Option<ServerEntry>,
}

#[derive(Clone, Debug)]
pub struct HookEntries {
    pub agent: AgentName,
    /// Whether the list of an event has groups with a matcher and a list `hooks` of handlers.
    pub is_grouped: bool,
    /// The `version` that the file must name.
    pub version: Option<u64>,
    /// The elements of each event's list.
    pub events: Vec<(String, Vec<Value>)>,
}

#[derive(Clone, Debug)]
pub struct ServerEntry {
    /// The key of all servers.
    pub key: String,
    pub program: String,
    pub entry: Value,
}

impl OurJson {
    /// Puts all of it into a file, in place of what another version wrote.
    ///
    /// # Errors
    /// The file is not JSON, or not of the form that the agent reads.
    pub fn put_into(&self, text: &str) -> Result<String> {
        json_edit::edited(text, &Value::Null, |root| {
            let members = self.members.iter();
            root.extend(members.map(|(key, value)| ((*key).to_owned(), value.clone())));
            if let Some(hooks) = &self.hooks {
                hooks.put_into(root)?;
            }
            let server = self.server.as_ref();
            server.map_or(Ok(()), |server| server.put_into(root))
        })
    }

    /// Takes out all that calls us, and what is empty then unless it was in the text `before`.
    ///
    /// # Errors
    /// As [`Self::put_into`].
    pub fn take_out_of(&self, text: &str, before: &str) -> Result<String> {
        let before = json_edit::value(before).unwrap_or_default();
        json_edit::edited(text, &before, |root| {
            let mut members = self.members.iter();
            let mut is_ours =
                members.any(|(key, value)| *key == "author" && root.get(*key) == Some(value));
            if let Some(server) = &self.server {
                is_ours |= server.take_out_of(root);
            }
            if let Some(hooks) = &self.hooks {
                is_ours |= hooks.take_out_of(root, &before)?;
            }
            for (key, _) in self.members.iter().filter(|_| is_ours) {
                root.remove(*key);
            }
            Ok(())
        })
    }
}

impl HookEntries {
    fn put_into(&self, root: &mut Map<String, Value>) -> Result<()> {
        if let Some(version) = self.version {
            root.entry(VERSION).or_insert(version.into());
        }
        let hooks = object(root, HOOKS)?;
        for (event, wanted) in &self.events {
            let Value::Array(list) = hooks.entry(event).or_insert_with(|| json!([])) else {
                let why = format!("its \"hooks\".\"{event}\" is no list");
                return Err(Error::unexpected(why));
            };
            self.update(list, wanted);
        }
        for (event, list) in hooks {
            let is_wanted = self.events.iter().any(|(wanted, _)| wanted == event);
            if let (false, Value::Array(list)) = (is_wanted, list) {
                self.update(list, &[]);
            }
        }
        Ok(())
    }

    /// Returns whether anything was ours. A version that was not there before goes with the last hooks.
    fn take_out_of(&self, root: &mut Map<String, Value>, before: &Value) -> Result<bool> {
        if !root.contains_key(HOOKS) {
            return Ok(false);
        }
        let hooks = object(root, HOOKS)?;
        let mut is_ours = false;
        // Some agents keep switches beside the lists.
        for list in hooks.values_mut().filter_map(Value::as_array_mut) {
            is_ours |= self.update(list, &[]);
        }
        let is_taken = |list: &Vec<Value>| !list.is_empty() && list.iter().all(Value::is_null);
        let mut events = hooks.values();
        let is_new = before.get(VERSION).is_none();
        if is_ours && is_new && events.all(|event| event.as_array().is_some_and(is_taken)) {
            self.version.and_then(|_| root.remove(VERSION));
        }
        Ok(is_ours)
    }

    /// Makes our elements of an event these ones, at the places where they stood. Returns whether
    /// there were any.
    fn update(&self, list: &mut Vec<Value>, wanted: &[Value]) -> bool {
        let mut wanted = wanted.iter();
        let mut is_ours = false;
        for element in list.iter_mut() {
            let handlers = match (self.is_grouped, &mut *element) {
                (false, handler) => std::slice::from_mut(handler),
                (true, group) => match group.get_mut(HOOKS).and_then(Value::as_array_mut) {
                    Some(handlers) => handlers.as_mut_slice(),
                    None => continue,
                },
            };
            let number = handlers.len();
            let ours = handlers.iter_mut().filter(|one| self.is_ours(one));
            let taken = ours.map(|one| *one = Value::Null).count();
            is_ours |= taken > 0;
            if taken > 0 && taken == number {
                *element = wanted.next().cloned().unwrap_or_default();
            }
        }
        list.extend(wanted.cloned());
        is_ours
    }

    fn is_ours(&self, handler: &Value) -> bool {
        let lines = COMMAND_KEYS.iter().filter_map(|key| handler[*key].as_str());
        let mut calls = lines.filter_map(HookCall::parse);
        calls.any(|call| call.agent == self.agent)
    }
}

impl ServerEntry {
    /// An entry of ours that is there keeps what its user changed, but calls this program.
    fn put_into(&self, root: &mut Map<String, Value>) -> Result<()> {
        let servers = object(root, &self.key)?;
        let found = servers.entry(NAME).or_insert_with(|| self.entry.clone());
        called_program(found).ok_or_else(|| of_another(&self.key))?;
        let command = &mut found[COMMAND];
        let command = if command.is_array() {
            &mut command[0]
        } else {
            command
        };
        *command = Value::from(&*self.program);
        Ok(())
    }

    fn take_out_of(&self, root: &mut Map<String, Value>) -> bool {
        let servers = root.get_mut(&self.key).and_then(Value::as_object_mut);
        servers.is_some_and(|servers| {
            let is_ours = servers.get(NAME).and_then(called_program).is_some();
            is_ours && servers.remove(NAME).is_some()
        })
    }
}

/// Returns the object at a key, a new one if there is none.
fn object<'r>(root: &'r mut Map<String, Value>, key: &str) -> Result<&'r mut Map<String, Value>> {
    let found = root.entry(key).or_insert_with(|| json!({}));
    found
        .as_object_mut()
        .ok_or_else(|| Error::unexpected(format!("its \"{key}\" is no JSON object")))
}

/// Returns the program of an entry that calls our server, with whatever arguments.
pub fn called_program(entry: &Value) -> Option<&str> {
    let (program, arguments) = match entry.get(COMMAND)? {
        Value::Array(words) => (words.first()?.as_str()?, words.get(1..)?),
        command => (command.as_str()?, entry["args"].as_array()?.as_slice()),
    };
    let serves = arguments.iter().any(|argument| argument == SUBCOMMAND);
    (serves && is_our_name(program)).then_some(program)
}

pub fn of_another(key: &str) -> Error {
    Error::unexpected(format!(
        "its {key}.{NAME} is another server; give that another name"
    ))
}

/// A call of `hook` as an agent makes it.
///
/// The shell throws stderr away and ends with 0, so that a program that is gone, foreign or too old
/// to know `hook` stops no agent. It never changes between versions: Codex trusts it by its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCall {
    /// The program by the path at which it was found; links are not resolved, as an upgrade changes
    /// what they point to.
    pub program: String,
    pub agent: AgentName,
    /// Whether it makes the first checkpoint of a directory, which may take longer.
    pub is_first: bool,
}

impl HookCall {
    /// Returns the line for PowerShell, or for sh and its kin.
    pub fn line(&self, is_powershell: bool) -> String {
        let (open, quote, nowhere) = if is_powershell {
            ("& ", "''", "$null")
        } else {
            ("", "'\\''", "/dev/null")
        };
        let program = self.program.replace('\'', quote);
        let agent = self.agent.into_str();
        let first = if self.is_first { " --first" } else { "" };
        format!("{open}'{program}' hook --agent {agent}{first} 2>{nowhere}; exit 0")
    }

    /// Reads a line that this or another version wrote; `None` for every other line.
    pub fn parse(line: &str) -> Option<Self> {
        let powershell = line.strip_prefix("& ");
        let quote = powershell.map_or("'\\''", |_| "''");
        let quoted = powershell.unwrap_or(line).strip_prefix('\'')?;
        let (program, arguments) = quoted.rsplit_once("' hook --agent ")?;
        let mut words = arguments.split(' ');
        let call = Self {
            program: program.replace(quote, "'"),
            agent: words.next()?.parse().ok()?,
            is_first: words.next()? == "--first",
        };
        let is_same = call.line(powershell.is_some()) == line;
        (is_same && is_our_name(&call.program)).then_some(call)
    }
}

/// Whether a path ends in the name of this program.
pub fn is_our_name(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next();
    name.is_some_and(|name| name.strip_suffix(".exe").unwrap_or(name) == "checkpoint")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tests::rows;

    #[test]
    fn each_written_line_is_recognized_and_no_other() {
        for program in [
            "/usr/bin/checkpoint",
            "/it's here/checkpoint",
            "C:\\Program Files\\checkpoint.exe",
            "/a' hook --agent x/checkpoint",
        ] {
            for (agent, is_first) in [(AgentName::Codex, false), (AgentName::Gemini, true)] {
                let call = HookCall {
                    program: program.to_owned(),
                    agent,
                    is_first,
                };
                for line in [call.line(false), call.line(true)] {
                    assert_eq!(HookCall::parse(&line).as_ref(), Some(&call), "{line}");
                    assert_eq!(HookCall::parse(&format!("{line} ")), None);
                    assert_eq!(HookCall::parse(&format!(" {line}")), None);
                }
            }
        }
        for line in rows::<&str>(include_str!("tests/settings_json.json"), "others") {
            assert_eq!(HookCall::parse(line), None, "{line}");
        }
    }
}
