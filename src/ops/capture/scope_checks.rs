//! Checks of a scoped `create`: what the scope matches, whether any of it can be held, and how.

use std::fmt::Display;

use crate::base::cut_list::first_of;
use crate::base::shell_word::shell_word;
use crate::base::text::escape_bytes;
use crate::error::{Code, Error, Result, Sentence};
use crate::model::{CheckpointType, Listing, ObjectId, RelPath, Scope, WhyNot};
use crate::ops::Context;
use crate::ops::database::backup;
use crate::ops::find_root::is_worktree_of;
use crate::ops::restore::restore_paths;
use crate::worktree::Root;
use crate::worktree::git::find_index;
use crate::worktree::rules::may_be_secret;

/// Maximum number of paths that a refusal names.
const NAMED_PATHS: usize = 3;

/// Whether the name of this path makes it a secret, perhaps depending on its content.
/// A path that a checkpoint does not hold, in the words of the user.
pub fn no_such_path(checkpoint: ObjectId, path: &str) -> Error {
    let short = checkpoint.short();
    let error = Error::new(
        Code::NO_SUCH_PATH,
        format!("checkpoint {short} does not hold '{path}'"),
    );
    error.next(if is_named_as_secret(path) {
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

/// Refuses a scope with a part that matches nothing, since the user would believe it is held.
pub fn check_each_part(context: &Context, scope: &Scope, found: &Listing) -> Result<()> {
    let paths = found.paths();
    let missed = scope.parts().iter().find(|part| match part.as_path() {
        Some(path) => !exists(found, path),
        None => !present(found, &paths).any(|path| part.covers(&path)),
    });
    let Some(missed) = missed else { return Ok(()) };
    let path = missed.as_path();
    if let Some(refused) = path.and_then(|path| in_worktree(context, path)) {
        return Err(refused);
    }
    let root = &context.root;
    let from_root = path.and_then(|path| RelPath::new(&restore_paths::from_here(root, path)).ok());
    let is_there = |path: &RelPath| backup::live(context, path).symlink_metadata().is_ok();
    let from_root = from_root.filter(|path| !root.current().is_root() && is_there(path));
    let shown = missed.shown();
    let mut secrets = uncaptured(found, &paths, |why| matches!(why, WhyNot::Secret(_)));
    Err(match secrets.find(|secret| missed.covers(secret)) {
        Some(secret) => Error::new(
            Code::NOTHING_FOUND,
            format!("scope '{shown}' matches only secrets, such as {secret}"),
        )
        .next(Sentence::text("--include-sensitive captures them")),
        None => Error::new(
            Code::NOTHING_FOUND,
            format!("scope '{shown}' matches nothing that may be captured"),
        )
        .next(match from_root {
            Some(path) => did_you_mean(root, &path),
            None => Sentence::new(
                "a scope is a path or a pattern below the root; 'checkpoint status -v' lists what \
                 rules leave out",
                &[],
            ),
        }),
    })
}

/// Refuses a scope of which nothing can be held: such a checkpoint could restore nothing.
pub fn check_something_is_held(part: &Listing) -> Result<()> {
    if part.file_count() > 0 {
        return Ok(());
    }
    let paths = part.paths();
    let lost = part.dirs.iter().zip(&paths).flat_map(|(dir, path)| {
        let lost = dir.uncaptured.iter().filter(|item| item.why.is_lost());
        lost.map(move |item| format!("{} ({})", path.join(&item.name), item.why.in_words()))
    });
    let lost: Vec<String> = lost.collect();
    if lost.is_empty() {
        return Ok(());
    }
    Err(Error::nothing_held(format!(
        "nothing in the scope can be captured: {}",
        named(&lost)
    )))
}

/// Whether something is held at a path, or known to exist there.
fn exists(found: &Listing, path: &RelPath) -> bool {
    if found.dir(path).is_some() || found.file(path).is_some() {
        return true;
    }
    let holder = path.parent().and_then(|above| found.dir(&above));
    let entry = holder.and_then(|dir| {
        dir.uncaptured
            .iter()
            .find(|item| *item.name == *path.name())
    });
    entry.is_some_and(|item| item.why.is_recorded())
}

/// All paths for which [`exists`] is true.
fn present<'l>(found: &'l Listing, paths: &'l [RelPath]) -> impl Iterator<Item = RelPath> + 'l {
    found.dirs.iter().zip(paths).flat_map(|(dir, path)| {
        let recorded = dir.uncaptured.iter().filter(|item| item.why.is_recorded());
        let files = dir.files.iter().map(move |file| path.join(file.name));
        files
            .chain(recorded.map(move |item| path.join(&item.name)))
            .chain([path.clone()])
    })
}

/// Paths of the listing that are not captured for a reason for which `is_so` holds.
pub fn uncaptured<'l>(
    found: &'l Listing,
    paths: &'l [RelPath],
    is_so: fn(&WhyNot) -> bool,
) -> impl Iterator<Item = RelPath> + 'l {
    found.dirs.iter().zip(paths).flat_map(move |(dir, path)| {
        dir.uncaptured
            .iter()
            .filter(move |item| is_so(&item.why))
            .map(move |item| path.join(&item.name))
    })
}

/// Refuses files unknown to git if the type holds them as git would.
pub fn check_git_holds_all(
    context: &Context,
    checkpoint_type: Option<CheckpointType>,
    part: &Listing,
) -> Result<()> {
    if checkpoint_type != Some(CheckpointType::GitStash) {
        return Ok(());
    }
    let refuse =
        |why: String| Error::usage(format!("type git_stash takes only tracked files: {why}"));
    let tracked = find_index::load(context.root.path()).map_err(|why| refuse(why.to_string()))?;
    let paths = part.dirs.iter().zip(part.paths());
    let all = paths.flat_map(|(dir, path)| dir.files.iter().map(move |file| path.join(file.name)));
    let untracked: Vec<RelPath> = all
        .filter(|path| !tracked.contains(path.as_bytes()))
        .collect();
    if untracked.is_empty() {
        return Ok(());
    }
    Err(refuse(format!(
        "{} not tracked; use --type file_backup",
        named(&untracked)
    )))
}

fn named<T: Display>(paths: &[T]) -> String {
    first_of(paths, NAMED_PATHS, |_| " and others".to_owned())
}
