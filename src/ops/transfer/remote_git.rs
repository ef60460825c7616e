//! Calls of git that reach a remote, by the repository kept for it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::base::text::escape;
use crate::error::{Code, Error, More, Result, Sentence};
use crate::model::ObjectId;
use crate::ops::transfer::remote::{self, RemoteUrl};
use crate::ops::{Context, GitCommand, GitEnd};
use crate::store::transfer::transport::{FETCHED, Transport};
use crate::store::{BadLine, LineName, Remote, Store};

/// What git says of a ref that another process is writing there, and how long that is waited for.
const LOCKED: [&str; 2] = ["cannot lock ref", "failed to update ref"];
const LOCK_PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// What git says where a server is a clone with a depth; it ends as if all were well.
const SHALLOW: &str = "shallow roots are not allowed";
/// What git says if it is killed or finds no room here. The last two tell no cause.
const HERE: [&str; 8] = [
    "died of signal",
    "No space left on device",
    "File too large",
    "Disk quota exceeded",
    "Read-only file system",
    "Cannot allocate memory",
    "Out of diskspace",
    "unable to create directory for",
];
/// In place of the words of git if there are none.
const WITHOUT_A_WORD: &str = "git failed without a word";
/// Lines that git is asked for at once, by name: not every system takes long commands.
const MOST_AT_ONCE: usize = 200;
/// Lines of git's output that are shown of a failure.
const LAST_LINES: usize = 10;

/// How long git may take, and whether it may ask.
#[derive(Clone, Copy, Debug)]
pub struct GitLimits {
    pub limit: Duration,
    pub may_ask: bool,
}

/// A remote, with the repository by which git reaches it, locked.
pub struct RemoteGit<'c> {
    context: &'c Context,
    limits: GitLimits,
    name: String,
    url: RemoteUrl,
    pub transport: Transport,
}

/// Newest carriers of lines.
pub type Tips = BTreeMap<LineName, ObjectId>;

/// What became of a push.
pub enum Pushed {
    Done,
    /// Another process wrote the ref since.
    Stale,
}

impl<'c> RemoteGit<'c> {
    /// # Errors
    /// The repository cannot be made, or another process talks to this remote for too long.
    pub fn open(
        context: &'c Context,
        store: &Store,
        remote: &Remote,
        limits: GitLimits,
    ) -> Result<Self> {
        let wait = context.lock_wait();
        Ok(Self {
            context,
            limits,
            name: remote.name.clone(),
            url: remote::url(remote)?,
            transport: Transport::open(store, &remote.name, wait, &context.holder)?,
        })
    }

    /// Whether a carrier may build on another that is not here.
    pub fn takes_increments(&self) -> bool {
        self.url.is_native
    }

    /// Asks for the newest carriers of all lines there.
    pub fn lines(&self) -> Result<Tips> {
        let end = self.git(&["ls-remote", "--refs", "--", &self.url.text, "refs/lines/*"])?;
        Ok(tips(&self.succeeded(end)?))
    }

    /// Pushes what has this name to a line, or with an empty name deletes the line. `before` is what
    /// must be there now.
    pub fn push(&self, line: &LineName, carrier: &str, before: Option<ObjectId>) -> Result<Pushed> {
        let name = line.on_server();
        // A helper does not compare by itself what is there.
        let force = match self.url.is_native || carrier.is_empty() {
            true => "",
            false if self.lines()?.get(line) != before.as_ref() => return Ok(Pushed::Stale),
            false => "+",
        };
        let before = before.map(ObjectId::to_hex).unwrap_or_default();
        let lease = format!("--force-with-lease={name}:{before}");
        let what = format!("{force}{carrier}:{name}");
        let push = [
            "push",
            "--porcelain",
            "--no-verify",
            "--no-signed",
            "--no-follow-tags",
            "--recurse-submodules=no",
            &lease,
        ];
        let push = [&push[..], &["--", &self.url.text, &what]].concat();
        let mut end = self.git(&push)?;
        for pause in LOCK_PAUSES {
            // The git of a push that was killed may still be at it there.
            let is_locked = LOCKED
                .iter()
                .any(|word| end.stdout.contains(word) || end.stderr.contains(word));
            if end.is_success || !is_locked {
                break;
            }
            std::thread::sleep(pause);
            self.context.check_interrupt()?;
            end = self.git(&push)?;
        }
        let is_stale = |line: &str| line.starts_with('!') && line.ends_with("(stale info)");
        if !end.is_success && end.stdout.lines().any(is_stale) {
            return Ok(Pushed::Stale);
        }
        let said = self.succeeded(end).map_err(|why| match carrier {
            "" => why,
            _ => after_push(why, &self.name),
        })?;
        if said.contains(&name) {
            return Ok(Pushed::Done);
        }
        Err(self.failure("git ended without a word of what it pushed".to_owned()))
    }

    /// Fetches all lines but those of `own`. Returns the newest carriers that are there.
    pub fn fetch(&self, own: &[LineName]) -> Result<Tips> {
        let all = format!("+refs/lines/*:{FETCHED}*");
        let not = own.iter().map(|line| format!("^{}", line.on_server()));
        self.fetch_refs(std::iter::once(all).chain(not))?;
        self.transport.fetched()
    }

    /// Fetches each line that is there but the bad ones, to which it adds those that git cannot
    /// bring.
    pub fn fetch_each(&self, bad: &mut Vec<BadLine>) -> Result<Tips> {
        let mut there: Vec<LineName> = self.lines()?.into_keys().collect();
        there.retain(|line| bad.iter().all(|(bad, _)| bad != line));
        let mut pending: Vec<&[LineName]> = there.chunks(MOST_AT_ONCE).collect();
        while let Some(lines) = pending.pop() {
            let refspec = |line: &LineName| format!("+{}:{FETCHED}{line}", line.on_server());
            let Err(failed) = self.fetch_refs(lines.iter().map(refspec)) else {
                continue;
            };
            let why = failed.why().unwrap_or_default().trim();
            if failed.code != Code::REMOTE_FAILED || failed_here(why) {
                return Err(failed);
            }
            if let [line] = lines {
                // Else it is not the line that fails.
                self.lines()?;
                let why = if why.contains(SHALLOW) {
                    "the server is a shallow clone and has only a part of it".to_owned()
                } else {
                    why.replace('\n', "; ")
                };
                bad.push((line.clone(), why));
            } else {
                let (some, others) = lines.split_at(lines.len() / 2);
                pending.extend([others, some]);
            }
        }
        let mut fetched = self.transport.fetched()?;
        fetched.retain(|line, _| bad.iter().all(|(bad, _)| bad != line));
        Ok(fetched)
    }

    fn fetch_refs(&self, refspecs: impl Iterator<Item = String>) -> Result<()> {
        let refspecs: Vec<String> = refspecs.collect();
        let fetch = [
            "fetch",
            "--quiet",
            "--prune",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--no-recurse-submodules",
            "--",
            &self.url.text,
        ];
        let refspecs = refspecs.iter().map(String::as_str);
        let mut end = self.git(&fetch.into_iter().chain(refspecs).collect::<Vec<_>>())?;
        end.is_success &= !end.stderr.contains(SHALLOW);
        self.succeeded(end).map(drop)
    }

    /// The name of a line of this store.
    pub fn line(store: &Store, device: &str) -> LineName {
        let name = store.layout().dir().file_name().unwrap_or_default();
        LineName::new(&name.to_string_lossy(), device)
    }

    fn git(&self, arguments: &[&str]) -> Result<GitEnd> {
        let _shield = self.context.interrupt.shield();
        let command = GitCommand {
            repository: self.transport.dir(),
            arguments,
            protocols: &self.url.protocols,
            limit: self.limits.limit,
            may_ask: self.limits.may_ask,
        };
        (self.context.run_git)(&self.context.interrupt, &command)
    }

    fn succeeded(&self, end: GitEnd) -> Result<String> {
        if end.is_success {
            return Ok(end.stdout);
        }
        let refused = end.stdout.lines().filter(|line| line.starts_with('!'));
        let said = end.stderr.split(['\n', '\r']).map(str::trim_end);
        let is_word = |line: &&str| !line.is_empty() && !line.starts_with("hint:");
        let mut said: Vec<&str> = said.chain(refused).filter(is_word).collect();
        said.drain(..said.len().saturating_sub(LAST_LINES));
        let said: Vec<String> = said
            .into_iter()
            .map(|line| escape(&self.url.masked(&line.replace('\t', " "))))
            .collect();
        Err(self.failure(match said.as_slice() {
            [] => WITHOUT_A_WORD.to_owned(),
            [one] => one.clone(),
            said => format!("\n{}", said.join("\n")),
        }))
    }

    fn failure(&self, why: String) -> Error {
        let (name, url) = (&self.name, escape(&self.url.shown()));
        let what = format!("the remote {name} ({url}): {why}");
        let failure = Error::new(Code::REMOTE_FAILED, what);
        failure
            .advise("nothing was changed here; fix this, then run the command again")
            .more(More::Why(why))
    }
}

fn failed_here(why: &str) -> bool {
    let is_there = why.contains("remote: ") || why.contains("upload-pack");
    // What it finds bad it names first.
    why.trim() == "fatal: fetch-pack: invalid index-pack output"
        || !is_there && HERE.iter().any(|words| why.contains(words))
}

/// Git refuses every push where something that a ref there needs is missing.
fn after_push(why: Error, remote: &str) -> Error {
    if ["died of signal", WITHOUT_A_WORD]
        .iter()
        .any(|words| why.what.contains(words))
    {
        let words = "it may have been sent all the same; 'checkpoint push {}' completes it";
        return why.next(Sentence::new(words, &[&remote]));
    }
    if !why.what.contains("missing necessary objects") {
        let words = "nothing was sent; fix this, then run 'checkpoint push {}' again";
        return why.next(Sentence::new(words, &[&remote]));
    }
    let named = why.what.split_once("bad object refs/");
    let named = named.and_then(|(_, rest)| rest.split_whitespace().next());
    let next = match named.map(|name| format!("refs/{name}")) {
        Some(line) if LineName::of_ref(&line).is_some() => {
            let line = line.as_str();
            let words = "nothing was sent; 'checkpoint remote remove {} --line {}' removes the broken line there";
            Sentence::new(words, &[&remote, &line])
        }
        Some(other) => Sentence::text(format!(
            "nothing was sent; {other} is broken there: remove or repair it in that repository"
        )),
        None => Sentence::new(
            "nothing was sent; a line there is broken: 'checkpoint fetch {} --refetch' names it",
            &[&remote],
        ),
    };
    why.next(next)
}

/// Reads lines of ids and refs; what is no line is passed over.
fn tips(text: &str) -> Tips {
    let line = |row: &str| {
        let (id, name) = row.split_once('\t')?;
        Some((LineName::of_ref(name)?, ObjectId::from_hex(id)?))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_here_is_no_bad_line() {
        for (is_here, said) in [
            (
                true,
                "fatal: sha1 file 'tmp_rev_1' write error. Out of diskspace",
            ),
            (
                true,
                "error: cannot lock ref 'refs/fetched/1/2': unable to create directory for 2",
            ),
            (
                true,
                "error: unable to write file 1: No space left on device",
            ),
            (
                false,
                "remote: error: unable to write file 1: No space left on device",
            ),
            (true, "error: index-pack died of signal 9"),
            (false, "error: git upload-pack died of signal 9"),
            (true, "fatal: fetch-pack: invalid index-pack output"),
            (
                false,
                "fatal: pack has bad object\nfatal: fetch-pack: invalid index-pack output",
            ),
            (false, "fatal: bad object 1"),
        ] {
            assert_eq!(failed_here(said), is_here, "{said}");
        }
    }
}
