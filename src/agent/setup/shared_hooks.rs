//! Our entries in a file of hooks that others write too: put in, brought up to date, taken out.

use serde_json::{Map, Value};

use crate::agent::dialect::event::AgentName;
use crate::agent::setup::command_line::HookCall;
use crate::agent::setup::json_edit::{JsonEdit, JsonStep, SettingsFlaw, pretty};

const HOOKS: &str = "hooks";
const VERSION: &str = "version";
/// The keys under which a handler has its command line.
const COMMAND_KEYS: [&str; 2] = ["command", "bash"];

/// How the list of an event is made up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookShape {
    /// Of handlers.
    Plain,
    /// Of groups with a matcher and a list `hooks` of handlers.
    Groups,
}

/// What should stand below `hooks`.
#[derive(Clone, Debug)]
pub struct HookEntries {
    pub agent: AgentName,
    pub shape: HookShape,
    /// The `version` that the file must name.
    pub version: Option<u64>,
    /// The elements of each event's list.
    pub events: Vec<(&'static str, Vec<Value>)>,
}

/// A file with our entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithEntries {
    pub text: String,
    /// The keys that were not there before, such as `hooks/Stop`.
    pub made: Vec<String>,
}

/// A file without our entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithoutEntries {
    pub text: String,
    /// Whether nothing but an empty object is left.
    pub is_empty: bool,
}

/// Whose an element of an event's list is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Ours,
    /// A group with handlers of ours and of others.
    Mixed,
    Others,
}

impl HookEntries {
    /// Returns the text of a file that has nothing else.
    pub fn alone(&self) -> String {
        let mut root = Map::new();
        if let Some(version) = self.version {
            root.insert(VERSION.to_owned(), version.into());
        }
        root.insert(HOOKS.to_owned(), self.hooks());
        pretty(&Value::Object(root), "  ") + "\n"
    }

    fn alone_as_file(&self) -> WithEntries {
        let version = self.version.map(|_| VERSION.to_owned());
        WithEntries {
            text: self.alone(),
            made: version.into_iter().chain(self.keys()).collect(),
        }
    }

    /// Returns the key of the hooks, and that of each event.
    fn keys(&self) -> impl Iterator<Item = String> {
        let events = self.events.iter();
        let events = events.map(|(event, _)| format!("{HOOKS}/{event}"));
        std::iter::once(HOOKS.to_owned()).chain(events)
    }

    fn hooks(&self) -> Value {
        let events = self.events.iter();
        let events = events.map(|(event, list)| ((*event).to_owned(), list.clone().into()));
        Value::Object(events.collect())
    }

    /// Puts the entries into a file, in place of those that another version wrote. `made` are the
    /// keys that were put in then.
    ///
    /// # Errors
    /// The file is not JSON, or not of the form that the agent reads.
    pub fn put_into(
        &self,
        text: Option<&str>,
        made: &[String],
    ) -> Result<WithEntries, SettingsFlaw> {
        let is_blank = |text: &&str| text.trim_start_matches('\u{feff}').trim().is_empty();
        let Some(text) = text.filter(|text| !is_blank(text)) else {
            return Ok(self.alone_as_file());
        };
        let mut file = HookFile::read(text, self.agent, self.shape)?;
        if file.edit.is_empty() {
            return Ok(self.alone_as_file());
        }
        let mut made = made.to_vec();
        if let (Some(version), None) = (self.version, file.value()?.get(VERSION)) {
            file.edit.append(&[], Some(VERSION), &version.into())?;
            made.push(VERSION.to_owned());
        }
        if file.value()?.get(HOOKS).is_none() {
            file.edit.append(&[], Some(HOOKS), &self.hooks())?;
            made.extend(self.keys());
        }
        for (event, wanted) in &self.events {
            let path = [JsonStep::Key(HOOKS), JsonStep::Key(event)];
            if file.event(event)?.is_none() {
                let list = Value::Array(wanted.clone());
                file.edit.append(&path[..1], Some(event), &list)?;
                made.push(format!("{HOOKS}/{event}"));
            }
            file.bring_up_to_date(event, wanted)?;
        }
        let is_wanted = |event: &String| self.events.iter().any(|(wanted, _)| wanted == event);
        for event in file.events()?.iter().filter(|event| !is_wanted(event)) {
            file.take_out(event)?;
        }
        file.cut_empty(&mut made)?;
        made.sort();
        made.dedup();
        Ok(WithEntries {
            text: file.edit.into_text(),
            made,
        })
    }

    /// Takes out every entry that calls us for this agent, and the keys of `made` that are empty
    /// then. A version that we put in goes with them, unless hooks are left that were not in the text
    /// `before` ours: those may need it.
    ///
    /// # Errors
    /// As [`Self::put_into`].
    pub fn take_out_of(
        &self,
        text: &str,
        made: &[String],
        before: Option<&str>,
    ) -> Result<WithoutEntries, SettingsFlaw> {
        let mut file = HookFile::read(text, self.agent, self.shape)?;
        for event in file.events()? {
            file.take_out(&event)?;
        }
        file.cut_empty(&mut made.to_vec())?;
        let is_ours = made.iter().any(|key| key == VERSION);
        let root = file.value()?;
        let before = before.and_then(|before| JsonEdit::read(before).ok()?.value().ok());
        let before = before.as_ref().and_then(|before| before.get(HOOKS));
        let is_needed = root
            .get(HOOKS)
            .is_some_and(|left| Some(left) != before && has_any(left));
        if is_ours && !is_needed && root.get(VERSION).is_some() {
            file.edit.remove(&[JsonStep::Key(VERSION)])?;
        }
        Ok(WithoutEntries {
            is_empty: file.edit.is_empty(),
            text: file.edit.into_text(),
        })
    }
}

/// A file of hooks that is being edited.
struct HookFile {
    edit: JsonEdit,
    agent: AgentName,
    shape: HookShape,
}

impl HookFile {
    fn read(text: &str, agent: AgentName, shape: HookShape) -> Result<Self, SettingsFlaw> {
        let edit = JsonEdit::read(text)?;
        let file = Self { edit, agent, shape };
        let root = file.value()?;
        let hooks = root.get(HOOKS);
        if !root.is_object() {
            return Err(SettingsFlaw::new("it is no JSON object"));
        }
        if hooks.is_some_and(|hooks| !hooks.is_object()) {
            return Err(SettingsFlaw::new("its \"hooks\" are no JSON object"));
        }
        Ok(file)
    }

    fn value(&self) -> Result<Value, SettingsFlaw> {
        self.edit.value()
    }

    /// Returns the events with a list. Some agents keep switches beside them.
    fn events(&self) -> Result<Vec<String>, SettingsFlaw> {
        let root = self.value()?;
        let hooks = root.get(HOOKS).and_then(Value::as_object);
        let lists = hooks
            .into_iter()
            .flatten()
            .filter(|(_, list)| list.is_array());
        Ok(lists.map(|(event, _)| event.clone()).collect())
    }

    fn event(&self, event: &str) -> Result<Option<Vec<Value>>, SettingsFlaw> {
        match self.value()?[HOOKS].get(event) {
            None => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list.clone())),
            Some(_) => Err(SettingsFlaw::new(format!(
                "its \"hooks\".\"{event}\" is no list"
            ))),
        }
    }

    fn is_our_handler(&self, handler: &Value) -> bool {
        let lines = COMMAND_KEYS.iter().filter_map(|key| handler[*key].as_str());
        let mut calls = lines.filter_map(HookCall::parse);
        calls.any(|call| call.agent == self.agent)
    }

    fn whose(&self, element: &Value) -> Whose {
        let handlers = match (self.shape, &element[HOOKS]) {
            (HookShape::Groups, Value::Array(handlers)) => handlers.as_slice(),
            (HookShape::Groups, _) => &[],
            (HookShape::Plain, _) => std::slice::from_ref(element),
        };
        let ours = handlers.iter().filter(|one| self.is_our_handler(one));
        match ours.count() {
            0 => Whose::Others,
            ours if ours == handlers.len() => Whose::Ours,
            _ => Whose::Mixed,
        }
    }

    /// Returns the places in an event's list of the elements that are this one's.
    fn places_of(&self, event: &str, whose: Whose) -> Result<Vec<usize>, SettingsFlaw> {
        let list = self.event(event)?.unwrap_or_default();
        let places = (0..list.len()).filter(|at| self.whose(&list[*at]) == whose);
        Ok(places.collect())
    }

    /// Takes our handlers out of groups that others share.
    fn take_out_of_mixed(&mut self, event: &str) -> Result<(), SettingsFlaw> {
        while let Some(at) = self.places_of(event, Whose::Mixed)?.first().copied() {
            let group = self.event(event)?.unwrap_or_default().swap_remove(at);
            let handlers = group[HOOKS].as_array().map_or(&[][..], Vec::as_slice);
            let Some(ours) = handlers.iter().position(|one| self.is_our_handler(one)) else {
                return Ok(());
            };
            let path = element(event, at);
            let path = [&path[..], &[JsonStep::Key(HOOKS), JsonStep::At(ours)]].concat();
            self.edit.remove(&path)?;
        }
        Ok(())
    }

    /// Takes our elements from the given one on out of an event's list.
    fn take_out_from(&mut self, event: &str, first: usize) -> Result<(), SettingsFlaw> {
        while let Some(at) = self.places_of(event, Whose::Ours)?.get(first).copied() {
            self.edit.remove(&element(event, at))?;
        }
        Ok(())
    }

    fn take_out(&mut self, event: &str) -> Result<(), SettingsFlaw> {
        self.take_out_of_mixed(event)?;
        self.take_out_from(event, 0)
    }

    /// Makes our elements of an event these ones, at the places where they stood.
    fn bring_up_to_date(&mut self, event: &str, wanted: &[Value]) -> Result<(), SettingsFlaw> {
        self.take_out_of_mixed(event)?;
        self.take_out_from(event, wanted.len())?;
        let places = self.places_of(event, Whose::Ours)?;
        for (number, element_wanted) in wanted.iter().enumerate() {
            let Some(at) = places.get(number) else {
                let list = [JsonStep::Key(HOOKS), JsonStep::Key(event)];
                self.edit.append(&list, None, element_wanted)?;
                continue;
            };
            let found = self.event(event)?.unwrap_or_default().swap_remove(*at);
            if found != *element_wanted {
                self.edit.replace(&element(event, *at), element_wanted)?;
            }
        }
        Ok(())
    }

    /// Cuts out the keys that we made and that are empty now, the inner ones first.
    fn cut_empty(&mut self, made: &mut Vec<String>) -> Result<(), SettingsFlaw> {
        made.sort_by_key(|key| std::cmp::Reverse(key.len()));
        let mut left = Vec::new();
        for key in made.drain(..) {
            let steps: Vec<JsonStep<'_>> = key.split('/').map(JsonStep::Key).collect();
            let root = self.value()?;
            let found = key.split('/').try_fold(&root, |value, key| value.get(key));
            let is_empty = found.is_some_and(|found| match found {
                Value::Array(list) => list.is_empty(),
                Value::Object(map) => map.is_empty(),
                _ => false,
            });
            if is_empty {
                self.edit.remove(&steps)?;
            } else if found.is_some() {
                left.push(key);
            }
        }
        *made = left;
        Ok(())
    }
}

/// Whether any event has an entry.
fn has_any(hooks: &Value) -> bool {
    let mut events = hooks.as_object().into_iter().flatten();
    events.any(|(_, list)| list.as_array().is_none_or(|list| !list.is_empty()))
}

fn element(event: &str, at: usize) -> [JsonStep<'_>; 3] {
    [JsonStep::Key(HOOKS), JsonStep::Key(event), JsonStep::At(at)]
}
