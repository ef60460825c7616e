//! What the settings that an organization manages leave to us in Claude Code.
//!
//! Keys as Claude Code documents them. A list `strictKnownMarketplaces` without `skills-dir`, or
//! `blockedMarketplaces` with it, stops plugins in the folder of skills; hooks in the user's settings
//! still run. `allowManagedHooksOnly` and `disableAllHooks` stop both, and so does
//! `strictPluginOnlyCustomization` where it comes on top. Settings that a server or the system's own
//! policies deliver are not seen here.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::agent::setup::json_edit;
use crate::base::read_regular;

/// A managed setting that forbids something of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagedKey {
    pub file: PathBuf,
    pub key: &'static str,
}

/// Where our hooks for Claude Code can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leeway {
    /// In a plugin in the folder of skills.
    Plugin,
    /// In the settings only.
    Settings(ManagedKey),
    Nowhere(ManagedKey),
}

/// Returns the folder of the managed settings on this system.
pub fn usual_folder() -> PathBuf {
    PathBuf::from(if cfg!(target_os = "macos") {
        "/Library/Application Support/ClaudeCode"
    } else if cfg!(windows) {
        "C:\\Program Files\\ClaudeCode"
    } else {
        "/etc/claude-code"
    })
}

/// Whether a file is one of the managed settings of this system.
pub fn holds(path: &Path) -> bool {
    path.starts_with(usual_folder())
}

/// Reads the managed settings in a folder. A file that cannot be read counts as empty: Claude Code
/// tells of it.
pub fn leeway(folder: &Path) -> Leeway {
    let drop_ins = std::fs::read_dir(folder.join("managed-settings.d"));
    let drop_ins = drop_ins.into_iter().flatten().flatten();
    let mut drop_ins: Vec<PathBuf> = drop_ins.map(|entry| entry.path()).collect();
    drop_ins.retain(|path| {
        let is_hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
        path.extension().is_some_and(|end| end == "json") && !is_hidden
    });
    drop_ins.sort();
    let files = std::iter::once(folder.join("managed-settings.json")).chain(drop_ins);
    let values = files.filter_map(|path| {
        let text = read_regular::read_linked_text(&path).ok()?;
        Some((path, json_edit::value(&text).ok()?))
    });
    of_files(&values.collect::<Vec<_>>())
}

/// Merges the files as Claude Code does: of a switch the last one counts, lists are joined.
fn of_files(files: &[(PathBuf, Value)]) -> Leeway {
    let named = |key: &'static str| {
        let mut files = files.iter().rev();
        let found = files.find_map(|(file, value)| Some((file, value.get(key)?)))?;
        let key = ManagedKey {
            file: found.0.clone(),
            key,
        };
        Some((key, found.1))
    };
    let has = |key: &str, wanted: &dyn Fn(&Value) -> bool| {
        let mut lists = files
            .iter()
            .filter_map(|(_, value)| value.get(key)?.as_array());
        lists.any(|list| list.iter().any(wanted))
    };
    // One of these that is no boolean counts as set.
    let switches = ["allowManagedHooksOnly", "disableAllHooks"];
    let mut switches = switches.into_iter().filter_map(named);
    if let Some((key, _)) = switches.find(|(_, value)| **value != Value::Bool(false)) {
        return Leeway::Nowhere(key);
    }
    let is_skills_dir = |source: &Value| source["source"] == "skills-dir";
    let allowed = named("strictKnownMarketplaces").or_else(|| named("allowedMarketplaces"));
    let forbids = allowed.filter(|(key, _)| !has(key.key, &is_skills_dir));
    let blocks = named("blockedMarketplaces").filter(|(key, _)| has(key.key, &is_skills_dir));
    let Some((no_plugin, _)) = forbids.or(blocks) else {
        return Leeway::Plugin;
    };
    let strict = named("strictPluginOnlyCustomization");
    let strict = strict.filter(|(key, value)| {
        **value == Value::Bool(true) || has(key.key, &|surface| surface == "hooks")
    });
    match strict {
        Some((key, _)) => Leeway::Nowhere(key),
        None => Leeway::Settings(no_plugin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leeway_of(texts: &[&str]) -> Leeway {
        let folder = tempfile::tempdir().unwrap();
        let drop_ins = folder.path().join("managed-settings.d");
        std::fs::create_dir(&drop_ins).unwrap();
        std::fs::write(drop_ins.join(".hidden.json"), "{\"disableAllHooks\": true}").unwrap();
        std::fs::write(drop_ins.join("1.txt"), "{\"disableAllHooks\": true}").unwrap();
        for (number, text) in texts.iter().enumerate() {
            let path = match number {
                0 => folder.path().join("managed-settings.json"),
                _ => drop_ins.join(format!("{number}.json")),
            };
            std::fs::write(path, text).unwrap();
        }
        leeway(folder.path())
    }

    #[test]
    fn each_key_that_forbids_something_of_ours_is_named() {
        for free in [
            &[][..],
            &["{}"],
            &["no JSON"],
            &["{\"allowManagedHooksOnly\": false}"],
            &[
                "{\"allowManagedHooksOnly\": true}",
                "{\"allowManagedHooksOnly\": false}",
            ],
            &["{\"strictKnownMarketplaces\": [{\"source\": \"skills-dir\"}]}"],
            &[
                "{\"strictKnownMarketplaces\": []}",
                "{\"strictKnownMarketplaces\": [{\"source\": \"skills-dir\"}]}",
            ],
            &["{\"blockedMarketplaces\": [{\"source\": \"github\", \"repo\": \"a/b\"}]}"],
            &["{\"strictPluginOnlyCustomization\": true}"],
        ] {
            assert_eq!(leeway_of(free), Leeway::Plugin, "{free:?}");
        }
        for (texts, expected) in [
            (
                &["{\"strictKnownMarketplaces\": []}"][..],
                "strictKnownMarketplaces",
            ),
            (&["{\"allowedMarketplaces\": []}"], "allowedMarketplaces"),
            (
                &[
                    "{}",
                    "{\"blockedMarketplaces\": [{\"source\": \"skills-dir\"}]}",
                ],
                "blockedMarketplaces",
            ),
            (
                &[
                    "{\"strictKnownMarketplaces\": [], \"strictPluginOnlyCustomization\": [\"skills\"]}",
                ],
                "strictKnownMarketplaces",
            ),
        ] {
            let found = leeway_of(texts);
            assert!(
                matches!(&found, Leeway::Settings(key) if key.key == expected),
                "{found:?}"
            );
        }
        for (texts, expected, file) in [
            (
                &["{\"allowManagedHooksOnly\": true}"][..],
                "allowManagedHooksOnly",
                "managed-settings.json",
            ),
            (
                &["{\"allowManagedHooksOnly\": \"yes\"}"],
                "allowManagedHooksOnly",
                "managed-settings.json",
            ),
            (
                &["{}", "{\"disableAllHooks\": true}"],
                "disableAllHooks",
                "1.json",
            ),
            (
                &[
                    "{\"strictKnownMarketplaces\": []}",
                    "{\"strictPluginOnlyCustomization\": [\"hooks\"]}",
                ],
                "strictPluginOnlyCustomization",
                "1.json",
            ),
        ] {
            let Leeway::Nowhere(key) = leeway_of(texts) else {
                panic!("{texts:?}");
            };
            assert_eq!(
                (key.key, key.file.ends_with(file)),
                (expected, true),
                "{key:?}"
            );
        }
    }
}
