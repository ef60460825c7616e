//! `remote`: names the places to which checkpoints are pushed, and from which they are fetched.

use std::path::Path;

use crate::base::text::escape;
use crate::error::{Code, Error, Result, Sentence};
use crate::model::json::{JsonSchema, Serialize};
use crate::ops::open_store::{open_usable, refuse_below_top};
use crate::ops::transfer::remote_url::{RemoteUrl, masked};
use crate::ops::{Context, Warning, session};
use crate::store::transfer::remotes;
use crate::store::{Remote, Store};

/// The remote that is meant without a name, if there are several.
pub const USUAL: &str = "origin";

const BELOW_TOP: &str = "nothing was changed; 'checkpoint -C {} remote add NAME URL' acts on all of it, 'checkpoint --here remote add NAME URL' on this directory";

/// A remote as it is shown.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RemoteRow {
    pub name: String,
    /// Without passwords and tokens.
    pub url: String,
    /// Number of lines that were fetched: one for each store that pushed.
    pub fetched_lines: usize,
}

/// Remotes that were added, removed or listed.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct RemoteOutcome {
    pub remotes: Vec<RemoteRow>,
    /// The ref that was removed there, if only one line was.
    pub line: Option<String>,
    #[serde(skip)]
    pub change: Option<RemoteChange>,
}

#[derive(Clone, Copy, Debug)]
pub enum RemoteChange {
    Added,
    Removed,
}

/// Names a remote; another remote of this name is not replaced.
///
/// # Errors
/// Name or URL is refused, or the name is taken.
pub fn add(
    context: &Context,
    name: &str,
    url: &str,
    here: &Path,
) -> Result<(RemoteOutcome, Vec<Warning>)> {
    if !remotes::is_legal(name) {
        return Err(Error::usage(format!(
            "'{}' cannot name a remote: letters, digits, '-' and '_' can, at most 64",
            escape(name)
        )));
    }
    let url = RemoteUrl::parse(url, here).map_err(|why| {
        Error::usage(format!(
            "the URL '{}' is refused: {why}",
            escape(&masked(url))
        ))
    })?;
    refuse_below_top(context, BELOW_TOP)?;
    let store = open_usable(context, false)?;
    let session = session::begin(context, &store)?;
    let mut known = read(&store)?;
    // Each has a directory of its name, and not every disk tells letters apart.
    let is_like = |remote: &&Remote| remote.name.eq_ignore_ascii_case(name);
    let added = match known.iter().find(is_like) {
        Some(same) if same.name == name && same.url == url.text => same.clone(),
        Some(taken) => {
            return Err(Error::new(
                Code::REMOTE_NAME_TAKEN,
                format!(
                    "the remote {} is known with another URL; nothing was changed",
                    taken.name
                ),
            )
            .advise(
                "give this one another name, or forget that one: 'checkpoint remote remove NAME'",
            ));
        }
        None => {
            let added = Remote::new(name.to_owned(), url.text);
            known.push(added.clone());
            session.locked.write_remotes(&known)?;
            added
        }
    };
    let outcome = RemoteOutcome {
        remotes: vec![row(&store, &added)?],
        change: Some(RemoteChange::Added),
        ..RemoteOutcome::default()
    };
    Ok((outcome, session.warnings))
}

/// Lists all remotes.
///
/// # Errors
/// The store cannot be read.
pub fn list(context: &Context) -> Result<RemoteOutcome> {
    let mut outcome = RemoteOutcome::default();
    if let Some(store) = context.find_store()? {
        for remote in read(&store)? {
            outcome.remotes.push(row(&store, &remote)?);
        }
    }
    Ok(outcome)
}

/// Forgets a remote and what was fetched from it. What was pushed there stays there.
///
/// # Errors
/// There is no such remote, or a file cannot be written.
pub fn remove(context: &Context, name: &str) -> Result<(RemoteOutcome, Vec<Warning>)> {
    let store = context.require_store()?;
    let session = session::begin(context, &store)?;
    let removed = named(&store, Some(name))?;
    let removed_row = row(&store, &removed)?;
    for line in remotes::fetched(store.layout(), name)?.keys() {
        session.locked.remove_fetched(name, line)?;
    }
    session.locked.remove_transport(name)?;
    let mut known = read(&store)?;
    known.retain(|remote| remote.name != name);
    session.locked.write_remotes(&known)?;
    let outcome = RemoteOutcome {
        remotes: vec![removed_row],
        change: Some(RemoteChange::Removed),
        ..RemoteOutcome::default()
    };
    Ok((outcome, session.warnings))
}

/// Returns the remote of this name; without a name the only one, or `origin`.
///
/// # Errors
/// There is none.
pub fn named(store: &Store, name: Option<&str>) -> Result<Remote> {
    let known = read(store)?;
    let wanted = name.unwrap_or(USUAL);
    if let (None, [only]) = (name, known.as_slice()) {
        return Ok(only.clone());
    }
    let names: Vec<&str> = known.iter().map(|remote| &*remote.name).collect();
    let found = known.iter().find(|remote| remote.name == wanted);
    found.cloned().ok_or_else(|| {
        Error::new(
            Code::NOTHING_FOUND,
            match names.as_slice() {
                [] => "no remote is known here".to_owned(),
                names => format!(
                    "there is no remote '{}'; known here: {}",
                    escape(wanted),
                    names.join(", ")
                ),
            },
        )
        .next(Sentence::new(
            "'checkpoint remote add NAME URL' names one",
            &[],
        ))
    })
}

/// Whether a remote has the URL that was typed.
pub(super) fn is_url_of(row: &RemoteRow, typed: &str, here: &Path) -> bool {
    RemoteUrl::parse(typed, here).is_ok_and(|url| url.shown() == row.url)
}

/// Reads the remotes of a store.
pub(super) fn read(store: &Store) -> Result<Vec<Remote>> {
    remotes::read(store.layout()).map_err(|why| Error::damaged("the file of remotes", why))
}

/// Reads the URL that `add` accepted.
pub(super) fn url(remote: &Remote) -> Result<RemoteUrl> {
    let here = Path::new(if cfg!(windows) { r"C:\" } else { "/" });
    RemoteUrl::parse(&remote.url, here)
        .map_err(|why| Error::damaged(format!("the URL of the remote {}", remote.name), why))
}

pub fn row(store: &Store, remote: &Remote) -> Result<RemoteRow> {
    Ok(RemoteRow {
        name: remote.name.clone(),
        url: url(remote)?.shown(),
        fetched_lines: remotes::fetched(store.layout(), &remote.name)?.len(),
    })
}
