//! What is ours in a file of JSON that others may write too: hooks, our server, a manifest.

use serde_json::{Map, Value};

use crate::agent::dialect::event::AgentName;
use crate::agent::setup::command_line::{HookCall, is_our_name};
use crate::agent::setup::json_edit::{JsonEdit, JsonStep, SettingsFlaw, is_blank, pretty};

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
    /// Returns the text of a file that has nothing else.
    fn alone(&self) -> String {
        let mut root = Map::new();
        for (key, value) in &self.members {
            root.insert((*key).to_owned(), value.clone());
        }
        if let Some(hooks) = &self.hooks {
            let version = hooks
                .version
                .map(|version| (VERSION.to_owned(), version.into()));
            root.extend(version);
            root.insert(HOOKS.to_owned(), hooks.value());
        }
        if let Some(server) = &self.server {
            root.insert(server.key.clone(), server.servers());
        }
        pretty(&Value::Object(root), "  ") + "\n"
    }

    /// Puts all of it into a file, in place of what another version wrote.
    ///
    /// # Errors
    /// The file is not JSON, or not of the form that the agent reads.
    pub fn put_into(&self, text: &str) -> Result<String, SettingsFlaw> {
        if is_blank(text) {
            return Ok(self.alone());
        }
        let mut edit = JsonEdit::read(text)?;
        if edit.is_empty() {
            return Ok(self.alone());
        }
        let root = edit.value()?;
        for (key, value) in &self.members {
            match root.get(*key) {
                None => edit.append(&[], Some(key), value)?,
                Some(found) if found == value => {}
                Some(_) => edit.replace(&[JsonStep::Key(key)], value)?,
            }
        }
        if let Some(hooks) = &self.hooks {
            hooks.put_into(&mut edit)?;
        }
        if let Some(server) = &self.server {
            server.put_into(&mut edit)?;
        }
        Ok(edit.into_text())
    }

    /// Takes out all that calls us, and what is empty then.
    ///
    /// # Errors
    /// As [`Self::put_into`].
    pub fn take_out_of(&self, text: &str) -> Result<String, SettingsFlaw> {
        if is_blank(text) {
            return Ok(text.to_owned());
        }
        let mut edit = JsonEdit::read(text)?;
        let mut is_ours = false;
        if let Some(server) = &self.server {
            is_ours |= server.take_out_of(&mut edit)?;
        }
        if let Some(hooks) = &self.hooks {
            is_ours |= hooks.take_out_of(&mut edit)?;
        }
        let root = edit.value()?;
        let mut members = self.members.iter();
        is_ours |= members.any(|(key, value)| *key == "author" && root.get(*key) == Some(value));
        for (key, _) in self.members.iter().filter(|_| is_ours) {
            edit.remove_if_there(&[JsonStep::Key(key)])?;
        }
        Ok(edit.into_text())
    }

    /// Returns a program that is called in a text.
    pub fn called_program(&self, text: &str) -> Option<String> {
        let root = JsonEdit::read(text).and_then(|edit| edit.value()).ok()?;
        let hook = self
            .hooks
            .as_ref()
            .and_then(|hooks| hooks.called_program(&root[HOOKS]));
        hook.or_else(|| {
            let server = self.server.as_ref()?;
            called_program(&root[&server.key][NAME]).map(str::to_owned)
        })
    }
}

/// Where one of our handlers stands in an event's list.
#[derive(Clone, Copy)]
enum HookPlace {
    /// An element that is ours alone.
    Whole(usize),
    /// A handler in a group with handlers of others.
    InGroup(usize, usize),
}

impl HookEntries {
    fn value(&self) -> Value {
        let events = self.events.iter();
        let events = events.map(|(event, list)| (event.clone(), list.clone().into()));
        Value::Object(events.collect())
    }

    fn put_into(&self, edit: &mut JsonEdit) -> Result<(), SettingsFlaw> {
        let root = edit.value()?;
        if let (Some(version), None) = (self.version, root.get(VERSION)) {
            edit.append(&[], Some(VERSION), &version.into())?;
        }
        let Some(hooks) = root.get(HOOKS) else {
            return edit.append(&[], Some(HOOKS), &self.value());
        };
        let hooks = events(Some(hooks))?;
        for (event, wanted) in &self.events {
            match hooks.iter().find(|(known, _)| *known == event) {
                None => {
                    let list = Value::Array(wanted.clone());
                    edit.append(&[JsonStep::Key(HOOKS)], Some(event), &list)?;
                }
                Some((_, Value::Array(list))) => {
                    self.bring_up_to_date(edit, event, list, wanted)?;
                }
                Some(_) => {
                    let why = format!("its \"hooks\".\"{event}\" is no list");
                    return Err(SettingsFlaw::new(why));
                }
            }
        }
        let is_wanted = |event: &str| self.events.iter().any(|(wanted, _)| wanted == event);
        for (event, list) in hooks.iter().filter(|(event, _)| !is_wanted(event)) {
            self.take_out_of_event(edit, event, list)?;
        }
        Ok(())
    }

    /// Makes our elements of an event these ones, at the places where they stood.
    fn bring_up_to_date(
        &self,
        edit: &mut JsonEdit,
        event: &str,
        list: &[Value],
        wanted: &[Value],
    ) -> Result<(), SettingsFlaw> {
        let mut kept = Vec::new();
        let mut others = Vec::new();
        for place in self.places(list) {
            match place {
                HookPlace::Whole(at) if kept.len() < wanted.len() => kept.push(at),
                other => others.push(other),
            }
        }
        for place in others.iter().rev() {
            edit.remove(&path(event, *place))?;
        }
        for (number, element) in wanted.iter().enumerate() {
            let event = [JsonStep::Key(HOOKS), JsonStep::Key(event)];
            match kept.get(number) {
                None => edit.append(&event, None, element)?,
                Some(at) if list[*at] == *element => {}
                Some(at) => edit.replace(&[event[0], event[1], JsonStep::At(*at)], element)?,
            }
        }
        Ok(())
    }

    /// Returns whether anything was ours. A version goes with the last hooks.
    fn take_out_of(&self, edit: &mut JsonEdit) -> Result<bool, SettingsFlaw> {
        let root = edit.value()?;
        let mut is_ours = false;
        for (event, list) in events(root.get(HOOKS))? {
            is_ours |= self.take_out_of_event(edit, event, list)?;
        }
        if is_ours && self.version.is_some() && edit.value()?.get(HOOKS).is_none() {
            edit.remove_if_there(&[JsonStep::Key(VERSION)])?;
        }
        Ok(is_ours)
    }

    fn take_out_of_event(
        &self,
        edit: &mut JsonEdit,
        event: &str,
        list: &Value,
    ) -> Result<bool, SettingsFlaw> {
        // Some agents keep switches beside the lists.
        let places = self.places(list.as_array().map_or(&[][..], Vec::as_slice));
        for place in places.iter().rev() {
            edit.cut(&path(event, *place))?;
        }
        Ok(!places.is_empty())
    }

    fn places(&self, list: &[Value]) -> Vec<HookPlace> {
        let mut places = Vec::new();
        for (at, element) in list.iter().enumerate() {
            let handlers = match (self.is_grouped, &element[HOOKS]) {
                (true, Value::Array(handlers)) => handlers.as_slice(),
                (true, _) => &[],
                (false, _) => std::slice::from_ref(element),
            };
            let ours = (0..handlers.len()).filter(|one| self.call(&handlers[*one]).is_some());
            let ours: Vec<usize> = ours.collect();
            if ours.len() == handlers.len() && !ours.is_empty() {
                places.push(HookPlace::Whole(at));
            } else {
                places.extend(ours.into_iter().map(|one| HookPlace::InGroup(at, one)));
            }
        }
        places
    }

    fn call(&self, handler: &Value) -> Option<HookCall> {
        let lines = COMMAND_KEYS.iter().filter_map(|key| handler[*key].as_str());
        let mut calls = lines.filter_map(HookCall::parse);
        calls.find(|call| call.agent == self.agent)
    }

    fn called_program(&self, hooks: &Value) -> Option<String> {
        let lists = hooks.as_object()?.values().filter_map(Value::as_array);
        let mut handlers = lists.flatten().flat_map(|element| match &element[HOOKS] {
            Value::Array(handlers) if self.is_grouped => handlers.as_slice(),
            _ => std::slice::from_ref(element),
        });
        handlers.find_map(|handler| Some(self.call(handler)?.program))
    }
}

/// Returns the events with what stands at them.
fn events(hooks: Option<&Value>) -> Result<Vec<(&String, &Value)>, SettingsFlaw> {
    match hooks {
        None => Ok(Vec::new()),
        Some(Value::Object(hooks)) => Ok(hooks.iter().collect()),
        Some(_) => Err(SettingsFlaw::new("its \"hooks\" are no JSON object")),
    }
}

fn path(event: &str, place: HookPlace) -> Vec<JsonStep<'_>> {
    let list = [JsonStep::Key(HOOKS), JsonStep::Key(event)];
    match place {
        HookPlace::Whole(at) => [&list[..], &[JsonStep::At(at)]].concat(),
        HookPlace::InGroup(at, one) => {
            let inner = [JsonStep::At(at), JsonStep::Key(HOOKS), JsonStep::At(one)];
            [&list[..], &inner].concat()
        }
    }
}

impl ServerEntry {
    fn servers(&self) -> Value {
        Value::Object(Map::from_iter([(NAME.to_owned(), self.entry.clone())]))
    }

    /// An entry of ours that is there keeps what its user changed, but calls this program.
    fn put_into(&self, edit: &mut JsonEdit) -> Result<(), SettingsFlaw> {
        let root = edit.value()?;
        let key = &*self.key;
        let servers = match root.get(key) {
            None => return edit.append(&[], Some(key), &self.servers()),
            Some(Value::Object(servers)) => servers,
            Some(_) => {
                return Err(SettingsFlaw::new(format!(
                    "its \"{key}\" is no JSON object"
                )));
            }
        };
        let Some(found) = servers.get(NAME) else {
            return edit.append(&[JsonStep::Key(key)], Some(NAME), &self.entry);
        };
        if called_program(found).ok_or_else(|| of_another(key))? == self.program {
            return Ok(());
        }
        let mut path = [key, NAME, COMMAND].map(JsonStep::Key).to_vec();
        path.extend(found[COMMAND].is_array().then_some(JsonStep::At(0)));
        edit.replace(&path, &Value::from(&*self.program))
    }

    fn take_out_of(&self, edit: &mut JsonEdit) -> Result<bool, SettingsFlaw> {
        let root = edit.value()?;
        let found = root.get(&self.key).and_then(|servers| servers.get(NAME));
        let is_ours = found.is_some_and(|found| called_program(found).is_some());
        if is_ours {
            edit.cut(&[JsonStep::Key(&self.key), JsonStep::Key(NAME)])?;
        }
        Ok(is_ours)
    }
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

pub fn of_another(key: &str) -> SettingsFlaw {
    SettingsFlaw::new(format!(
        "its {key}.{NAME} is another server; give that another name"
    ))
}
