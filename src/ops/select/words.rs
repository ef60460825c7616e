//! Tells selectors and paths apart among the words of a command: `SEL`, `SEL:PATH` and plain PATHs.
//!
//! A word that could be either means the checkpoint, but a restore refuses it; behind `--` it means
//! the path.

use std::path::Path;

use crate::base::shell_word::shell_word;
use crate::base::text::{escape, escape_bytes};
use crate::error::{Code, CommandWords, Error, Result, Sentence};
use crate::model::checkpoint::record::is_alias;
use crate::model::checkpoint::selector::CURRENT;
use crate::model::{
    Checkpoint, Database, ObjectId, PathFilter, RelPath, Scope, ScopePart, SelectorProblem,
};
use crate::ops::database::backup;
use crate::ops::find_root::is_worktree_of;
use crate::ops::restore::restore_paths;
use crate::ops::select::checkpoint::{certain, current, explain, path_in_directory, resolve};
use crate::ops::{Context, LazySnapshot, Target};
use crate::store::{Inventory, Store};
use crate::worktree::rules::rule_set::may_be_secret;
use crate::worktree::{Root, WorkTree};

/// The words as typed, and the paths behind `--`.
#[derive(Clone, Debug, Default)]
pub struct TypedWords {
    pub words: Vec<Vec<u8>>,
    pub paths: Vec<Vec<u8>>,
    /// The paths of lists; `options` name the lists.
    pub listed: Vec<Vec<u8>>,
    /// Whether `--` was typed: no word before it is a path alone.
    pub has_dashes: bool,
    /// Options without which a suggested command would do something else.
    pub options: Vec<Vec<u8>>,
    /// The same, for what a dry run does not do.
    pub act_options: Vec<Vec<u8>>,
}

impl TypedWords {
    /// Names one checkpoint and nothing else.
    pub fn of_checkpoint(selector: impl Into<Vec<u8>>) -> Self {
        Self {
            words: vec![selector.into()],
            ..Self::default()
        }
    }

    /// Returns a restore of the same.
    pub fn again(&self) -> CommandWords {
        let before = [b"restore".to_vec()].into_iter().chain(self.words.clone());
        let before = before.chain(self.options.clone());
        let end = (!self.paths.is_empty()).then(|| b"--".to_vec());
        CommandWords::new(before.chain(end).chain(self.paths.clone()))
    }

    /// Checks the form of all paths, those after the first word.
    ///
    /// # Errors
    /// One of them cannot be a path.
    pub fn check_paths(&self, root: &Root) -> Result<()> {
        let words = self.words.get(1..).unwrap_or_default();
        for paths in [words, &self.paths, &self.listed] {
            restore_paths::parse(root, paths)?;
        }
        Ok(())
    }
}

/// What words name.
#[derive(Debug, Default)]
pub struct Named {
    pub checkpoints: Vec<Checkpoint>,
    /// Sorted.
    pub paths: Vec<RelPath>,
}

/// The checkpoint and the path that a single word names, one of them at least.
type Meaning = (Option<Checkpoint>, Option<RelPath>);

/// The store in which words are looked up.
pub struct Lookup<'s> {
    pub context: &'s Context,
    pub store: &'s Store,
    pub inventory: &'s Inventory,
}

impl<'s> Lookup<'s> {
    pub fn new(context: &'s Context, store: &'s Store, inventory: &'s Inventory) -> Self {
        Self {
            context,
            store,
            inventory,
        }
    }

    /// Reads the words of a command that takes up to `most` checkpoints, then paths.
    ///
    /// # Errors
    /// A word names nothing, or a checkpoint where a path is needed.
    pub fn read(&self, given: &TypedWords, most: usize) -> Result<Named> {
        let typed = [&*given.paths, &*given.listed].concat();
        let mut named = Named {
            checkpoints: Vec::new(),
            paths: restore_paths::parse(&self.context.root, &typed)?,
        };
        let (mut has_paths, mut inside) = (false, None);
        for word in &given.words {
            if has_paths || named.checkpoints.len() == most {
                named.paths.push(self.path(word, &named)?);
                has_paths = true;
                continue;
            }
            let (found, path) = self.meaning(word, &named)?;
            has_paths = found.is_none();
            let within = path.clone().filter(|_| !has_paths);
            if inside.is_some() && within.is_some() && inside != within {
                return Err(Error::usage(
                    "two checkpoints are compared in the same path",
                ));
            }
            inside = inside.or(within);
            named.checkpoints.extend(found);
            named.paths.extend(path);
        }
        named.paths.sort();
        named.paths.dedup();
        Ok(named)
    }

    /// Reads the words of a command that takes one checkpoint, `SEL` or `SEL:PATH`, and paths;
    /// without a checkpoint it is where the directory stands.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_one(&self, given: &TypedWords) -> Result<(Checkpoint, Vec<RelPath>)> {
        let mut named = self.read(given, 1)?;
        let current = || current(self.context, self.inventory);
        let checkpoint = named.checkpoints.pop().map_or_else(current, Ok)?;
        Ok((checkpoint, named.paths))
    }

    /// As [`Self::read_one`], for a restore: of a word that is both a checkpoint and a path, the
    /// wrong one would replace files.
    ///
    /// # Errors
    /// As [`Self::read_one`], or the first word is both.
    pub fn read_restored(&self, given: &TypedWords) -> Result<(Checkpoint, Vec<RelPath>)> {
        let word = given.words.first().filter(|_| !given.has_dashes);
        match word.and_then(|word| self.unclear(word, given)) {
            Some(unclear) => Err(unclear),
            None => self.read_one(given),
        }
    }

    /// Returns the error for a word that is both. What is printed of a checkpoint names it, whatever
    /// files are called so.
    fn unclear(&self, word: &[u8], given: &TypedWords) -> Option<Error> {
        let typed = std::str::from_utf8(word).unwrap_or_default();
        let (found, inside) = match (self.resolve(typed), self.inside(word)) {
            (Ok(found), _) => (found, Vec::new()),
            (_, Ok(Some((found, path, true)))) => {
                let path = restore_paths::as_typed(&self.context.root, &path);
                (found, [b":", &*path].concat())
            }
            _ => return None,
        };
        let short = found.id.short();
        let is_printed = typed.starts_with(&short) || is_alias(typed);
        if is_printed || typed.starts_with(CURRENT) {
            return None;
        }
        self.known_path(word, &Named::default()).ok().flatten()?;
        let options = || given.options.iter().chain(&given.act_options);
        let rest = given.words[1..].iter().chain(options());
        let short = [short.as_bytes(), &inside].concat();
        let [restore, short, dashes] = [b"restore".to_vec(), short, b"--".to_vec()];
        let checkpoint = [&restore, &short].into_iter().chain(rest);
        let path = [&restore].into_iter().chain(options());
        let path = path.chain([&dashes]).chain(&given.words);
        let what = format!("{} is a checkpoint and a path", shell_word(word));
        let hint = Sentence::default()
            .then_command(CommandWords::new(checkpoint))
            .then(" takes the checkpoint, ")
            .then_command(CommandWords::new(path))
            .then(" the path");
        Some(Error::usage(what).next(hint))
    }

    /// Checks that every path of a restore is in its target or in the directory, before anything
    /// is read: what is only in the directory may be left out by a rule.
    ///
    /// # Errors
    /// It is in neither, or in a linked worktree.
    pub fn check_known(&self, target: &Target<'_>, paths: &[RelPath]) -> Result<()> {
        let mut paths_in_worktrees = paths.iter();
        if let Some(refused) = paths_in_worktrees.find_map(|path| in_worktree(self.context, path)) {
            return Err(refused);
        }
        let work = WorkTree::open_root(&self.context.root).ok();
        let is_there = |path: &&RelPath| {
            let dir = path.parent().unwrap_or_default();
            let found = work.as_ref().map(|work| work.stat(path));
            // A secret is in no checkpoint, so no plan deletes it.
            matches!(found, Some(Ok(Some(_)))) && !may_be_secret(dir.name(), path.name())
        };
        let gone: Vec<RelPath> = paths.iter().filter(|it| !is_there(it)).cloned().collect();
        self.check_held(target, &gone)
    }

    /// Checks that a checkpoint that is written elsewhere holds every path.
    ///
    /// # Errors
    /// It does not.
    pub fn check_held(&self, target: &Target<'_>, paths: &[RelPath]) -> Result<()> {
        for path in paths {
            if !target.holds(path)? {
                return Err(self.missing_path(target.id(), path));
            }
        }
        Ok(())
    }

    /// Returns the error for a path that a checkpoint does not hold.
    pub fn missing_path(&self, checkpoint: ObjectId, path: &RelPath) -> Error {
        if let Some(refused) = in_worktree(self.context, path) {
            return refused;
        }
        if let Err(linked) = restore_paths::refuse_linked(&self.context.root, path, &|_| false) {
            return linked;
        }
        let typed = restore_paths::from_here(&self.context.root, path);
        let typed = std::str::from_utf8(&typed).unwrap_or_default();
        if let Ok(other) = self.resolve(typed) {
            let (typed, short, other) = (escape(typed), checkpoint.short(), other.id.short());
            let what = format!("'{typed}' is a checkpoint, and no path in {short}");
            let next = if other == short {
                "'checkpoint show {}' shows it"
            } else {
                "'checkpoint show {}' shows it, 'checkpoint diff {} {}' compares the two"
            };
            let next = Sentence::new(next, &[&other, &short, &other]);
            return Error::new(Code::NO_SUCH_PATH, what).next(next);
        }
        let error = no_such_path(checkpoint, &path.to_string());
        self.counted_from_root(checkpoint, path, error)
    }

    /// Returns the error for a path that is not there, but would be if it were counted from the root.
    pub fn counted_from_root(&self, checkpoint: ObjectId, path: &RelPath, error: Error) -> Error {
        let root = &self.context.root;
        let from_root = RelPath::new(&restore_paths::from_here(root, path)).ok();
        let held = self.inventory.get(checkpoint);
        let is_held =
            |path: &RelPath| held.is_some_and(|held| self.holds(held, path).unwrap_or(false));
        let from_root = from_root.filter(|_| !root.current().is_root());
        match from_root.filter(is_held) {
            Some(from_root) => error.next(did_you_mean(root, &from_root)),
            None => error,
        }
    }

    /// Returns the error for a path to be looked for that names a checkpoint, or is one inside.
    pub fn in_place_of_path(&self, typed: &[u8]) -> Option<Error> {
        let shown = escape_bytes(typed);
        let (what, command) = if let Ok(Some((_, path, true))) = self.inside(typed) {
            let path = restore_paths::as_typed(&self.context.root, &path);
            let what =
                format!("'{shown}' names a path of one checkpoint, and all are searched here");
            (what, CommandWords::new([b"find".as_slice(), &path]))
        } else {
            let found = self.resolve(std::str::from_utf8(typed).ok()?).ok()?;
            let what = format!("no checkpoint holds '{shown}'; it names a checkpoint itself");
            (what, CommandWords::new(["show", &found.id.short()]))
        };
        let error = Error::new(Code::NOTHING_FOUND, what);
        Some(error.next(Sentence::command(command)))
    }

    /// Whether a checkpoint holds something at or below a path.
    pub fn holds(&self, checkpoint: &Checkpoint, path: &RelPath) -> Result<bool> {
        let databases = self.store.databases(checkpoint)?;
        let mut files = databases.keys().filter_map(Database::path);
        if files.any(|file| file.is_at_or_below(path)) {
            return Ok(true);
        }
        let state = LazySnapshot::new(self.store, checkpoint.tree, self.store.meta(checkpoint)?);
        let found = state.holds(path);
        found.map_err(|why| self.store.damage(checkpoint.id, why))
    }

    fn resolve(&self, word: &str) -> Result<Checkpoint, SelectorProblem> {
        resolve(self.context, self.inventory, word)
    }

    fn meaning(&self, word: &[u8], named: &Named) -> Result<Meaning> {
        let typed = String::from_utf8_lossy(word);
        let (query, why) = match self.resolve(&typed) {
            Ok(found) => {
                let found = certain(self.inventory, &typed, found)?;
                return Ok((Some(found), None));
            }
            Err(SelectorProblem::NoMatch { query, why }) => (query, why.or_path()),
            Err(problem) => return Err(problem.into()),
        };
        let inside = self.inside(word)?;
        if let Some((found, path, true)) = inside {
            return Ok((Some(found), Some(path)));
        }
        if let Some(path) = self.known_path(word, named)? {
            return Ok((None, Some(path)));
        }
        if let Some((found, path, _)) = inside {
            if word.ends_with(b":") && path.is_root() {
                return Err(no_path());
            }
            return Err(self.missing_path(found.id, &path));
        }
        if !word.is_empty() {
            self.refuse_place(word)?;
        }
        if std::str::from_utf8(word).is_err() {
            return Err(Error::no_such_checkpoint(&escape_bytes(word), &why));
        }
        let problem = SelectorProblem::NoMatch { query, why };
        Err(explain(self.inventory, problem))
    }

    /// Refuses a word that names nothing, but would if it were typed otherwise, or by no means.
    fn refuse_place(&self, word: &[u8]) -> Result<()> {
        let path = self.parse(word);
        let in_worktree = || in_worktree(self.context, path.as_ref().ok()?);
        if let Some(refused) = self.ambiguous(word).or_else(in_worktree) {
            return Err(refused);
        }
        path?;
        let root = &self.context.root;
        let Some(from_root) = RelPath::new(word)
            .ok()
            .filter(|_| !root.current().is_root())
        else {
            return Ok(());
        };
        let there = backup::live(self.context, &from_root).symlink_metadata();
        let current = current(self.context, self.inventory);
        if there.is_err() && !current.is_ok_and(|c| self.holds(&c, &from_root).unwrap_or(false)) {
            return Ok(());
        }
        let typed = escape_bytes(word);
        let what = format!("no checkpoint and no path is '{typed}'");
        Err(Error::new(Code::NO_SUCH_CHECKPOINT, what).next(did_you_mean(root, &from_root)))
    }

    /// Returns the error for `SEL:PATH` with an id of several checkpoints.
    fn ambiguous(&self, word: &[u8]) -> Option<Error> {
        let colons = (0..word.len()).rev().filter(|at| word[*at] == b':');
        let mut selectors = colons.filter_map(|at| std::str::from_utf8(&word[..at]).ok());
        selectors.find_map(|selector| match self.resolve(selector) {
            Err(problem @ SelectorProblem::Ambiguous { .. }) => Some(problem.into()),
            _ => None,
        })
    }

    /// Splits `SEL:PATH` at the last colon that leaves a checkpoint and a path in it. If the path is
    /// nowhere, returns false with the longest selector.
    fn inside(&self, word: &[u8]) -> Result<Option<(Checkpoint, RelPath, bool)>> {
        let mut missing = None;
        for at in (0..word.len()).rev().filter(|at| word[*at] == b':') {
            let Ok(selector) = std::str::from_utf8(&word[..at]) else {
                continue;
            };
            let Ok(checkpoint) = self.resolve(selector) else {
                continue;
            };
            let typed = &word[at + 1..];
            if typed.is_empty() {
                missing = missing.or(Some((checkpoint, RelPath::root(), false)));
                continue;
            }
            let path = self.parse(typed)?;
            if self.holds(&checkpoint, &path)? {
                let checkpoint = certain(self.inventory, selector, checkpoint)?;
                return Ok(Some((checkpoint, path, true)));
            }
            missing = missing.or(Some((checkpoint, path, false)));
        }
        Ok(missing)
    }

    /// Returns the path that a word names in the directory or in one of the checkpoints concerned.
    fn known_path(&self, word: &[u8], named: &Named) -> Result<Option<RelPath>> {
        let Ok(path) = self.parse(word) else {
            return Ok(None);
        };
        let is_there = std::str::from_utf8(word)
            .is_ok_and(|word| path_in_directory(self.context, word).is_some());
        if is_there {
            return Ok(Some(path));
        }
        let newest = match named.checkpoints.as_slice() {
            [] => current(self.context, self.inventory).ok(),
            _ => None,
        };
        for checkpoint in named.checkpoints.iter().chain(&newest) {
            if self.holds(checkpoint, &path)? {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// Reads a word that must be a path; `SEL:PATH` of a checkpoint named before is one.
    fn path(&self, word: &[u8], named: &Named) -> Result<RelPath> {
        if word.contains(&b':')
            && self.known_path(word, named)?.is_none()
            && let Some((checkpoint, path, true)) = self.inside(word)?
            && named.checkpoints.iter().any(|c| c.id == checkpoint.id)
        {
            return Ok(path);
        }
        self.parse(word)
    }

    fn parse(&self, typed: &[u8]) -> Result<RelPath> {
        restore_paths::parse_one(&self.context.root, typed)
    }
}

/// Returns the error for `SEL:` without a path: an empty variable must not mean everything.
pub fn no_path() -> Error {
    Error::usage("no PATH stands after the colon; '.' is the whole checkpoint")
}

/// A side that is not given is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Period {
    /// Milliseconds since 1970.
    pub since_ms: Option<i64>,
    pub until_ms: Option<i64>,
}

impl Period {
    pub fn holds(&self, checkpoint: &Checkpoint) -> bool {
        let time_ms = checkpoint.record.time_ms;
        self.since_ms.is_none_or(|since| time_ms >= since)
            && self.until_ms.is_none_or(|until| time_ms <= until)
    }
}

/// Patterns as typed.
#[derive(Clone, Debug, Default)]
pub struct Globs {
    pub only: Vec<Vec<u8>>,
    pub except: Vec<Vec<u8>>,
}

impl Globs {
    /// # Errors
    /// A pattern can match nothing.
    pub fn parse(&self, root: &Root) -> Result<PathFilter> {
        let part = |typed: &Vec<u8>| {
            let typed = &*restore_paths::with_slashes(typed);
            check_is_inside(root, typed)?;
            let whole = &*restore_paths::pattern(root, typed);
            let names_something = |typed: &[u8]| !matches!(typed, b"" | b"." | b"./" | b"/");
            let glob = ScopePart::glob(whole);
            let glob = glob.filter(|_| names_something(typed) && names_something(whole));
            let shown = || escape_bytes(typed);
            let odd = || Error::usage(format!("the pattern '{}' can match nothing", shown()));
            glob.ok_or_else(odd)
        };
        let scope = |typed: &[Vec<u8>]| -> Result<Option<Scope>> {
            let parts = typed.iter().map(part).collect::<Result<Vec<_>>>()?;
            Ok((!parts.is_empty()).then(|| Scope::new(parts)))
        };
        let (only, except) = (scope(&self.only)?, scope(&self.except)?);
        Ok(PathFilter { only, except })
    }
}

/// Refuses a pattern of another place, which would silently match nothing. One that begins with a
/// slash counts from the root, unless it is the path of something else.
fn check_is_inside(root: &Root, typed: &[u8]) -> Result<()> {
    let wrong = |why: &str| Error::usage(format!("the pattern '{}' {why}", escape_bytes(typed)));
    if typed.starts_with(b"!") {
        return Err(wrong(
            "begins with !: --exclude leaves paths out, and \\! is the sign itself",
        ));
    }
    let from_root = restore_paths::pattern(root, typed);
    if from_root
        .split(|byte| *byte == b'/')
        .any(|name| name == b"..")
    {
        return Err(wrong("has '..' in it"));
    }
    let Some(rest) = typed.strip_prefix(b"/").filter(|_| *from_root == *typed) else {
        return Ok(());
    };
    let first = rest.split(|byte| *byte == b'/').next().unwrap_or_default();
    // On some systems not every name is possible.
    let first = std::str::from_utf8(first).unwrap_or_default();
    let is_there = |dir: &Path| !first.is_empty() && dir.join(first).symlink_metadata().is_ok();
    if is_there(Path::new("/")) && !is_there(root.path()) {
        return Err(wrong(
            "lies outside the root; from the root on, leave out the first slash",
        ));
    }
    Ok(())
}

/// A path that a checkpoint does not hold, in the words of the user.
pub fn no_such_path(checkpoint: ObjectId, path: &str) -> Error {
    let short = checkpoint.short();
    let what = format!("checkpoint {short} does not hold '{path}'");
    Error::new(Code::NO_SUCH_PATH, what).next(if is_named_as_secret(path) {
        Sentence::new(
            "it looks like a secret, which is left out; 'checkpoint create \
             --include-sensitive={}' records it",
            &[&path],
        )
    } else if path.contains(['*', '?', '[']) {
        Sentence::text("PATHs are literal; give a pattern with --glob")
    } else {
        Sentence::new("'checkpoint ls {}' lists what it holds", &[&short])
    })
}

/// Whether the name of a path makes it a secret, perhaps depending on its content.
fn is_named_as_secret(path: &str) -> bool {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    let dir_name = dir.rsplit('/').next().unwrap_or_default();
    may_be_secret(dir_name.as_bytes(), name.as_bytes())
}

/// Names a path that was counted from the root as it is called here.
pub fn did_you_mean(root: &Root, path: &RelPath) -> Sentence {
    let path = shell_word(&restore_paths::as_typed(root, path));
    let quoted = if path.starts_with(['\'', '"', '$']) {
        path
    } else {
        format!("'{path}'")
    };
    Sentence::text(format!(
        "PATHs count from the current directory; did you mean {quoted}?"
    ))
}

/// Returns the error for a path in a linked worktree, which belongs to another root.
pub fn in_worktree(context: &Context, path: &RelPath) -> Option<Error> {
    let root = &context.root;
    let mut dirs = path.self_and_ancestors().filter(|dir| !dir.is_root());
    let is_one = |dir: &RelPath| is_worktree_of(&backup::live(context, dir), root.path());
    let worktree = dirs.find(is_one)?;
    let [path, name] =
        [path, &worktree].map(|path| escape_bytes(&restore_paths::from_here(root, path)));
    let dir = backup::live(context, &worktree);
    let dir = dir.as_os_str().as_encoded_bytes();
    let what = format!("{path} is in the linked worktree {name}, which has its own checkpoints");
    let next = Sentence::new("'checkpoint -C {} list' lists those", &[&dir]);
    Some(Error::new(Code::NOTHING_FOUND, what).next(next))
}
