//! Sets or unsets one key in the text of a configuration file; comments and all else stay.

use std::path::Path;

use toml::de::DeTable;

use crate::base::text::escape;
use crate::config::keys;
use crate::config::settings::problems_of;
use crate::config::{Owner, file};
use crate::error::{Error, Result};

const PAGE: &str = include_str!("../docs/configuration.md");

/// Returns the text with the value set, and the value as it is written there: quotes may be left
/// out by the user, and brackets around one item of a list.
///
/// # Errors
/// The key is none that is set in one line, or the value is bad. The text has an error that leaves
/// the effect open.
pub fn set(file: &Path, text: &str, key: &str, typed: &str) -> Result<(String, String)> {
    check_key(key)?;
    let quoted = format!("\"{}\"", typed.replace('\\', "\\\\").replace('"', "\\\""));
    let listed = format!("[{quoted}]");
    let mut complaint = None;
    for value in [typed, &quoted, &listed] {
        let line = format!("{key} = {value}\n");
        let problems = problems_of(file, &line);
        let table = line.parse::<toml::Table>();
        let is_one = table.is_ok_and(|table| table.len() == 1);
        match problems.into_iter().find(|problem| problem.key.is_some()) {
            None if is_one && !value.contains(['\n', '\r', '#']) => {
                return Ok((put(file, text, key, value)?, value.to_owned()));
            }
            found => complaint = complaint.or(found),
        }
    }
    let other = format!("'{typed}' is no value of {key}");
    let what = complaint.map_or(other, |bad| bad.what);
    // The page has a line for each key, with a remark.
    let start = format!("{key} = ");
    let line = PAGE.lines().find(|line| line.starts_with(&start));
    let example = line.and_then(|line| line.split(" #").next());
    let example = example.unwrap_or_default().trim_end();
    Err(Error::usage(format!("{what}; for example: {example}")))
}

/// Returns the text without a key; `None` if it is not there.
///
/// # Errors
/// The key is none that is set in one line. The text has an error that leaves the effect open.
pub fn unset(file: &Path, text: &str, key: &str) -> Result<Option<String>> {
    check_key(key)?;
    let (table, _) = DeTable::parse_recoverable(text);
    let Some((name, value)) = table.get_ref().get_key_value(key) else {
        return Ok(None);
    };
    let start = text[..name.span().start].rfind('\n').map_or(0, |at| at + 1);
    let rest = &text[value.span().end..];
    let rest = rest.find('\n').map_or("", |end| &rest[end + 1..]);
    checked(file, key, format!("{}{rest}", &text[..start])).map(Some)
}

fn check_key(key: &str) -> Result<()> {
    if key == "database" {
        let what = "a database has several keys: write its table into the file that 'checkpoint config' names";
        return Err(Error::usage(what));
    }
    if !keys::keys(Owner::User).any(|known| known == key) {
        let hint = "'checkpoint help configuration' lists all";
        let hint = match file::did_you_mean(key, Owner::User) {
            none if none.is_empty() => format!("; {hint}"),
            meant => format!("{meant} {hint}"),
        };
        let what = format!("'{}' is no key of a file{hint}", escape(key));
        return Err(Error::usage(what));
    }
    Ok(())
}

fn put(file: &Path, text: &str, key: &str, value: &str) -> Result<String> {
    let mut new = text.to_owned();
    let (table, _) = DeTable::parse_recoverable(text);
    let table = table.get_ref();
    let line = format!("{key} = {value}\n");
    if let Some(found) = table.get(key) {
        new.replace_range(found.span(), value);
    } else if table.values().any(|value| value.get_ref().is_table()) {
        // What follows the head of a table belongs to it.
        new.insert_str(0, &line);
    } else {
        let is_open = !(text.is_empty() || text.ends_with('\n'));
        new.push_str(if is_open { "\n" } else { "" });
        new.push_str(&line);
    }
    checked(file, key, new)
}

fn checked(file: &Path, key: &str, new: String) -> Result<String> {
    let mut problems = problems_of(file, &new).into_iter();
    let problem = problems.find(|problem| problem.key.is_none_or(|of| of == key));
    problem.map_or(Ok(new), |problem| Err(problem.error()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tests::rows;

    const TABLES: &str = include_str!("tests/edit.json");

    #[test]
    fn one_value_changes_and_all_else_stays_or_it_is_refused() {
        for (before, key, typed, after) in rows::<(&str, &str, &str, Option<&str>)>(TABLES, "set") {
            let set = set(Path::new("config.toml"), before, key, typed);
            let text = set.ok().map(|(text, _)| text);
            assert_eq!(text.as_deref(), after, "{before} {key} {typed}");
        }
    }

    #[test]
    fn one_key_goes_with_its_lines_and_all_else_stays() {
        for (before, key, after) in rows::<(&str, &str, Option<&str>)>(TABLES, "unset") {
            let gone = unset(Path::new("config.toml"), before, key);
            assert_eq!(gone.is_err(), after.is_none(), "{before} {key}");
            assert_eq!(gone.ok().flatten().as_deref(), after, "{before}");
            let twice = after.map(|after| unset(Path::new("config.toml"), after, key).unwrap());
            assert_eq!(twice.flatten(), None, "{before}");
        }
    }
}
