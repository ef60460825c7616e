//! `remote remove --line`: removes a line at a remote, such as a bad one, which makes every fetch fail.

use crate::base::text::escape;
use crate::error::{Code, Error, Result, Sentence};
use crate::ops::transfer::remote;
use crate::ops::{Context, GitLimits, Pushed, RemoteChange, RemoteGit, RemoteOutcome};
use crate::store::LineName;

/// Removes a line at a remote, with consent given the ref. What was fetched of it stays here.
///
/// # Errors
/// There is no such remote or line, the consent is missing, or git is missing or fails.
pub fn remove_line(
    context: &Context,
    name: &str,
    line: &str,
    limits: GitLimits,
    consent: impl FnOnce(&str) -> Result<()>,
) -> Result<RemoteOutcome> {
    let store = context.require_store()?;
    let remote = remote::named(&store, Some(name))?;
    let wanted = LineName::of_ref(line).or_else(|| LineName::of_text(line));
    let wanted = wanted.ok_or_else(|| {
        let line = escape(line);
        Error::usage(format!(
            "'{line}' names no line: refs/lines/ and twice sixteen hex digits do"
        ))
    })?;
    let git = RemoteGit::open(context, &store, &remote, limits)?;
    let there = git.lines()?;
    let Some(tip) = there.get(&wanted) else {
        let what = format!("{name} has no {}; nothing was changed", wanted.on_server());
        let next = Sentence::new("'checkpoint fetch {}' brings what it has", &[&name]);
        return Err(Error::new(Code::NOTHING_FOUND, what).next(next));
    };
    consent(&wanted.on_server())?;
    let pushed = git.push(&wanted, "", Some(*tip)).map_err(|why| {
        let line = wanted.on_server();
        // The git there names what it cannot read, and ends.
        let how = if why.what.contains(&tip.to_hex()) {
            format!("'git update-ref -d {line}' removes it")
        } else if why.what.contains("reference broken") {
            format!("removing the file {line} does it")
        } else {
            return why;
        };
        why.next(Sentence::text(format!(
            "nothing was changed; in that repository, {how}"
        )))
    });
    match pushed? {
        Pushed::Done => Ok(RemoteOutcome {
            remotes: vec![remote::row(&store, &remote)?],
            line: Some(wanted.on_server()),
            change: Some(RemoteChange::Removed),
        }),
        Pushed::Stale => Err(Error::unexpected(format!(
            "another process wrote {} at {name} meanwhile; nothing was changed",
            wanted.on_server()
        ))),
    }
}
