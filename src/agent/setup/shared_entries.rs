//! All that is ours in one file that others write too: hooks, our server, or both.

use std::path::Path;

use crate::agent::dialect::event::AgentName;
use crate::agent::setup::hook_tables;
use crate::agent::setup::json_edit::SettingsFlaw;
use crate::agent::setup::servers::ServerEntry;
use crate::agent::setup::shared_hooks::{HookEntries, WithEntries, WithoutEntries};

/// What is ours in a file.
#[derive(Clone, Debug, Default)]
pub struct SharedEntries {
    pub hooks: Option<HookEntries>,
    pub server: Option<ServerEntry>,
}

impl SharedEntries {
    /// Returns all that may be ours in a file of an agent, for a file that this version does not
    /// write.
    pub fn of_file(agent: AgentName, path: &Path) -> Self {
        let is_json = path
            .extension()
            .is_some_and(|end| end == "json" || end == "jsonc");
        Self {
            hooks: is_json.then(|| hook_tables::entries(agent, "")),
            server: Some(ServerEntry::of_agent(agent, "")),
        }
    }

    /// Puts all of it into a file. `made` are the keys that were put in before.
    ///
    /// # Errors
    /// The file cannot be edited safely.
    pub fn put_into(
        &self,
        text: Option<&str>,
        made: &[String],
    ) -> Result<WithEntries, SettingsFlaw> {
        let mut with = WithEntries {
            text: text.unwrap_or_default().to_owned(),
            made: made.to_vec(),
        };
        if let Some(hooks) = &self.hooks {
            with = hooks.put_into(text, made)?;
        }
        if let Some(server) = &self.server {
            with = server.put_into(Some(&with.text), &with.made)?;
        }
        Ok(with)
    }

    /// Takes all of it out of a file; `before` is its text without us, if that is known.
    ///
    /// # Errors
    /// As [`Self::put_into`].
    pub fn take_out_of(
        &self,
        text: &str,
        made: &[String],
        before: Option<&str>,
    ) -> Result<WithoutEntries, SettingsFlaw> {
        let mut without = WithoutEntries {
            text: text.to_owned(),
            is_empty: false,
        };
        if let Some(server) = &self.server {
            without = server.take_out_of(text, made)?;
        }
        if let Some(hooks) = &self.hooks {
            without = hooks.take_out_of(&without.text, made, before)?;
        }
        Ok(without)
    }
}
