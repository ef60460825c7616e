//! `remote`: names the places to which checkpoints are pushed, and from which they are fetched; which
//! URLs git may be given for them, and what it may use for each.

use std::ops::Range;
use std::path::Path;

use crate::base::Malformed;
use crate::base::text::escape;
use crate::error::{Code, Error, Result};
use crate::model::json::{JsonSchema, Serialize};
use crate::ops::open_store::{open_usable, refuse_below_top};
use crate::ops::{Context, Warning, session};
use crate::store::transfer::remotes;
use crate::store::{Remote, Store};
use crate::worktree::root::canonical;

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
        let name = escape(name);
        return Err(Error::usage(format!(
            "'{name}' cannot name a remote: letters, digits, '-' and '_' can, at most 64"
        )));
    }
    let url = RemoteUrl::parse(url, here).map_err(|why| {
        let url = escape(&masked(url));
        Error::usage(format!("the URL '{url}' is refused: {why}"))
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
            let taken = &taken.name;
            let what = format!("the remote {taken} is known with another URL; nothing was changed");
            let hint =
                "give this one another name, or forget that one: 'checkpoint remote remove NAME'";
            return Err(Error::new(Code::REMOTE_NAME_TAKEN, what).advise(hint));
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
        let (wanted, known) = (escape(wanted), names.join(", "));
        let what = match names.as_slice() {
            [] => "no remote is known here".to_owned(),
            _ => format!("there is no remote '{wanted}'; known here: {known}"),
        };
        let hint = "'checkpoint remote add NAME URL' names one";
        Error::new(Code::NOTHING_FOUND, what).advise(hint)
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

/// Transports of git that run a command out of the URL.
const COMMANDS: [&str; 2] = ["ext", "fd"];
/// Schemes for which git needs no helper of others.
const NATIVE: [&str; 7] = ["file", "git", "git+ssh", "http", "https", "ssh", "ssh+git"];
const MASK: &str = "***";
/// Bytes from which the name of a user is taken for a key.
const SHORTEST_KEY: usize = 20;
/// Bytes from which a secret is looked for in what git says.
const SHORTEST_TELLING: usize = 4;

/// A URL that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteUrl {
    pub text: String,
    /// Value of `GIT_ALLOW_PROTOCOL` for it: a redirect to another transport is refused.
    pub protocols: String,
    /// Whether git itself carries objects there. The helpers of other transports may need the whole
    /// history of what they send.
    pub is_native: bool,
}

impl RemoteUrl {
    /// Accepts a URL; a path is made absolute from `here`.
    ///
    /// # Errors
    /// It could be taken for an option, runs a command, or has control signs.
    pub fn parse(typed: &str, here: &Path) -> Result<Self, Malformed> {
        if typed.is_empty() || typed.chars().any(char::is_control) {
            return Err("it is empty or has control signs".into());
        }
        if typed.starts_with('-') {
            return Err("git could take it for an option".into());
        }
        let (helper, address) = split_helper(typed);
        if let Some(helper) = helper {
            refuse_command(helper)?;
            let inner = Self::parse(address, here)?;
            return Ok(Self {
                text: format!("{helper}::{}", inner.text),
                protocols: format!("{helper}:{}", inner.protocols),
                is_native: false,
            });
        }
        let Some(scheme) = scheme(typed) else {
            let path = here.join(typed);
            let path = canonical(&path).unwrap_or(path);
            let text = path.to_str().ok_or("its path is not UTF-8")?;
            if text.chars().any(char::is_control) {
                return Err("its path has control signs".into());
            }
            return Ok(Self {
                text: text.to_owned(),
                protocols: "file".to_owned(),
                is_native: true,
            });
        };
        refuse_command(scheme)?;
        // The user's own `url.….insteadOf` may lead from one of these to another.
        let protocols = match scheme {
            "http" => "http:https:ssh",
            "https" => "https:ssh",
            "ssh" | "git+ssh" | "ssh+git" => "ssh:https",
            "git" => "git:ssh:https",
            other => other,
        };
        Ok(Self {
            text: typed.to_owned(),
            protocols: protocols.to_owned(),
            is_native: NATIVE.contains(&scheme),
        })
    }

    /// The URL without what lets someone in.
    pub fn shown(&self) -> String {
        masked(&self.text)
    }

    /// Masks in what git says what lets someone in.
    pub fn masked(&self, text: &str) -> String {
        let secrets = secrets(&self.text).into_iter().map(|at| &self.text[at]);
        // Where signs should be escaped, git takes a part of a password for something else.
        let secrets = secrets.flat_map(|all| [all].into_iter().chain(all.split(['/', '@', ':'])));
        let is_telling = |secret: &&str| secret.len() >= SHORTEST_TELLING;
        let rests = secrets.clone().map(|piece| format!("//{piece}@"));
        let text = rests.fold(text.to_owned(), |text, rest| {
            text.replace(&rest, &format!("//{MASK}@"))
        });
        secrets
            .filter(is_telling)
            .fold(text, |text, secret| text.replace(secret, MASK))
    }
}

/// Returns a URL without what lets someone in.
pub fn masked(url: &str) -> String {
    let mut shown = url.to_owned();
    for at in secrets(url).into_iter().rev() {
        shown.replace_range(at, MASK);
    }
    shown
}

/// Where a URL lets someone in, in order: a password up to the last `@` (it may have signs that should
/// be escaped), a token in the place of a user, and the values of a query.
fn secrets(url: &str) -> Vec<Range<usize>> {
    let (_, address) = split_helper(url);
    let Some(scheme) = scheme(address) else {
        return Vec::new();
    };
    let begin = address.find("://").map_or(0, |at| at + "://".len());
    let (begin, rest) = (url.len() - address.len() + begin, &address[begin..]);
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let colon = authority.find(':').filter(|_| !rest.starts_with('['));
    let is_port = |colon: usize| {
        let port = &authority[colon + 1..];
        !port.contains('@') && port.bytes().all(|byte| byte.is_ascii_digit())
    };
    let user = authority.find('@').unwrap_or(usize::MAX);
    let password = colon.filter(|colon| *colon < user && !is_port(*colon));
    let password = password.and_then(|at| Some(at + 1..at + 1 + rest[at + 1..].rfind('@')?));
    let user = ..password.as_ref().map_or(user, |at| at.start - 1);
    let is_web = !matches!(scheme, "ssh" | "git+ssh" | "ssh+git" | "git" | "file");
    let token = authority.get(user).filter(|user| is_web && is_token(user));
    let end = password.as_ref().map_or(0, |at| at.end);
    let query = rest[end..].find(['?', '#']);
    let query = query.map_or(rest.len(), |at| end + at + 1);
    let mut at = query;
    let values = rest[query..].split(['&', '#', '?']).map(|part| {
        let value = part.find('=').map_or(0, |equals| equals + 1);
        let found = at + value..at + part.len();
        at += part.len() + 1;
        found
    });
    let token = token.map(|token| 0..token.len());
    let found = token.into_iter().chain(password).chain(values);
    let found = found.filter(|at| !at.is_empty());
    found.map(|at| begin + at.start..begin + at.end).collect()
}

/// Whether a user of the web is a token: names are short words.
fn is_token(user: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || b"-_.".contains(&byte);
    user.len() >= SHORTEST_KEY || !user.bytes().all(is_word)
}

/// Splits `helper::address`, as git does.
fn split_helper(url: &str) -> (Option<&str>, &str) {
    let end = url
        .find(|sign: char| !is_scheme_sign(sign))
        .unwrap_or(url.len());
    match url[end..].strip_prefix("::") {
        Some(address) if end > 0 => (Some(&url[..end]), address),
        _ => (None, url),
    }
}

fn is_scheme_sign(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || "+-.".contains(sign)
}

/// The scheme of a URL, `ssh` for `host:path`; `None` for a path.
fn scheme(url: &str) -> Option<&str> {
    if let Some((scheme, _)) = url.split_once("://") {
        let is_scheme = !scheme.is_empty() && scheme.chars().all(is_scheme_sign);
        return is_scheme.then_some(scheme);
    }
    let (host, _) = url.split_once(':')?;
    let is_drive = host.len() == 1 && cfg!(windows);
    (!host.contains(['/', '\\']) && !is_drive && !host.is_empty()).then_some("ssh")
}

fn refuse_command(transport: &str) -> Result<(), Malformed> {
    if COMMANDS
        .iter()
        .any(|one| transport.eq_ignore_ascii_case(one))
    {
        return Err(format!("the transport {transport} runs commands").into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tests::rows;

    const TABLES: &str = include_str!("tests/remote.json");

    fn parse(typed: &str) -> Result<RemoteUrl, String> {
        RemoteUrl::parse(typed, Path::new("/here")).map_err(|why| why.to_string())
    }

    #[test]
    fn each_url_allows_its_own_transport() {
        for (typed, protocols) in rows(TABLES, "transports") {
            let url = parse(typed).unwrap();
            assert_eq!((&*url.text, &*url.protocols), (typed, protocols));
            assert_eq!(
                url.is_native,
                !typed.contains("gcrypt") && !typed.starts_with("s3")
            );
        }
        #[cfg(unix)]
        for (typed, text) in [
            ("x.git", "/here/x.git"),
            ("./a:b", "/here/./a:b"),
            ("/a/b", "/a/b"),
            ("gcrypt::../x", "gcrypt::/here/../x"),
        ] {
            assert_eq!(parse(typed).unwrap().text, text);
        }
    }

    #[test]
    fn what_runs_commands_or_looks_like_an_option_is_refused() {
        for typed in rows(TABLES, "refused") {
            assert!(parse(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        let url = parse("https://me:s3cret@host/x").unwrap();
        assert_eq!(url.shown(), "https://me:***@host/x");
        assert_eq!(url.masked("fatal: s3cret"), "fatal: ***");
        for (typed, shown) in rows::<(&str, &str)>(TABLES, "shown") {
            assert_eq!(parse(typed).unwrap().shown(), shown);
        }
        let url = parse("https://host/x?v=1&t=s3cret").unwrap();
        assert_eq!(url.masked("1: s3cret"), "1: ***");
        let url = RemoteUrl::parse("http://me:long@abc@h/x", Path::new("/")).unwrap();
        assert_eq!(url.masked("at 'http://abc@h/x'"), "at 'http://***@h/x'");
    }
}
