//! Adds single paths that a rule left out to a listing, so that a safety checkpoint can hold them.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::error::Result;
use crate::model::state::rel_path::is_dot_git;
use crate::model::{Kind, ListedDir, ListedFile, ListedUncaptured, Listing, Name, RelPath, WhyNot};
use crate::worktree::scan::scan_dir::{insert_uncaptured, is_store};
use crate::worktree::scan::walk::STORES_RULE;
use crate::worktree::sys::{self, Access, Dir, ItemKind};
use crate::worktree::{Rules, WorkTree};

/// Reason recorded for siblings of an added path in a directory that no scan has judged.
const NOT_SCANNED: &str = "not scanned";

/// Adds each path that exists as a regular file, symlink or directory and is not in the listing;
/// others are skipped. What cannot be looked into on the way is noted in the listing.
///
/// Left-out parent directories are added too, but hold only the added paths: all else in them is
/// recorded as uncaptured, under the rule that left the directory out. Not added: the content of
/// mounts, unreadable directories, stores and other worktrees, anything at or below a `.git`, and paths whose kind
/// changed since the listing, so that no name is both file and directory.
///
/// # Errors
/// No descriptors left.
pub fn add_paths(
    work: &WorkTree,
    rules: &Rules,
    listing: &mut Listing,
    paths: &[RelPath],
) -> Result<()> {
    let mut added = Added::default();
    for path in paths {
        if path.is_root() || path.components().any(is_dot_git) {
            continue;
        }
        match add_path(work, rules, listing, path, &mut added) {
            Err(error) if sys::is_exhausted(&error) => {
                return Err(work.io("read", path, error));
            }
            Err(error) if !sys::is_absent(&error) => {
                let why = WhyNot::Unreadable(sys::reason(&error));
                note_barrier(listing, path, &added, why);
            }
            _ => {}
        }
    }
    let mut dirs: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for ((above, _), index) in added.dirs {
        dirs.entry(above).or_default().push(index);
    }
    for (above, new) in dirs {
        listing.add_children(above, new);
    }
    for (at, files) in added.files {
        settle(listing, at, files);
    }
    Ok(())
}

/// What was added, sorted in once at the end.
#[derive(Default)]
struct Added {
    /// By the index of their directory, which may have new directories alone.
    files: BTreeMap<usize, Vec<ListedFile>>,
    /// Indexes of directories, by that of the one above and name.
    dirs: HashMap<(usize, Name), usize>,
}

fn settle(listing: &mut Listing, at: usize, added: Vec<ListedFile>) {
    let is_dir: HashSet<Name> = listing.dirs[at]
        .dirs
        .iter()
        .map(|child| listing.dirs[*child].name.clone())
        .collect();
    let dir = &mut listing.dirs[at];
    (dir.unchanged, dir.decided_by_names) = (false, false);
    let files = dir.files.make_listed();
    files.extend(
        added
            .into_iter()
            .filter(|file| !is_dir.contains(&file.name)),
    );
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files.dedup_by(|later, kept| later.name == kept.name);
    dir.uncaptured
        .retain(|item| !is_dir.contains(&item.name) && dir.files.get(&item.name).is_none());
}

fn add_path(
    work: &WorkTree,
    rules: &Rules,
    listing: &mut Listing,
    path: &RelPath,
    added: &mut Added,
) -> std::io::Result<()> {
    let parent = path.parent().unwrap_or_default();
    let last = work.root().open_below(&parent, Access::Search)?;
    let kind = sys::kind_of(&last.stat_child(path.name())?);
    let way = match kind {
        ItemKind::File | ItemKind::Symlink => &parent,
        ItemKind::Dir => path,
        _ => return Ok(()),
    };
    let mut at = 0;
    let mut reached = RelPath::root();
    let mut opened: Option<Dir> = None;
    for name in way.components() {
        reached = reached.join(name);
        let added_before = || added.dirs.get(&(at, Name::from(name))).copied();
        if let Some(known) = listing.child(at, name).or_else(added_before) {
            at = known;
            continue;
        }
        if listing.dirs[at].files.get(name).is_some() {
            return Ok(());
        }
        let dir = match &opened {
            Some(above) => above.open_child(name, Access::Read)?,
            None => work.root().open_below(&reached, Access::Read)?,
        };
        match add_uncaptured_dir(work, rules, listing, at, name, &dir)? {
            Some(index) => {
                added.files.entry(at).or_default();
                added.dirs.insert((at, name.into()), index);
                at = index;
            }
            None => return Ok(()),
        }
        opened = Some(dir);
    }
    if kind != ItemKind::Dir
        && let Some(file) = file_to_add(listing, at, &last, path.name())?
    {
        added.files.entry(at).or_default().push(file);
    }
    Ok(())
}

/// Notes what bars the way to a path, at the first directory on it that is not in the listing.
fn note_barrier(listing: &mut Listing, path: &RelPath, added: &Added, why: WhyNot) {
    let mut at = 0;
    for name in path.components() {
        let added_before = || added.dirs.get(&(at, Name::from(name))).copied();
        if let Some(known) = listing.child(at, name).or_else(added_before) {
            at = known;
            continue;
        }
        let items = &mut listing.dirs[at].uncaptured;
        if let Ok(found) = items.binary_search_by(|item| (*item.name).cmp(name)) {
            let item = &mut items[found];
            let is_left_out = match &item.why {
                WhyNot::LeftOut(rule) => rule != STORES_RULE,
                other => matches!(other, WhyNot::Secret(_) | WhyNot::Cache),
            };
            if item.is_dir && is_left_out {
                item.why = why;
            }
        }
        return;
    }
}

/// Adds a directory to the listing with all its entries uncaptured; `None` if it must stay out. One
/// with an owner of its own is noted as such.
fn add_uncaptured_dir(
    work: &WorkTree,
    rules: &Rules,
    listing: &mut Listing,
    above: usize,
    name: &[u8],
    dir: &Dir,
) -> std::io::Result<Option<usize>> {
    let found = listing.dirs[above]
        .uncaptured
        .binary_search_by(|item| (*item.name).cmp(name));
    let why = match found.map(|at| listing.dirs[above].uncaptured[at].why.clone()) {
        Ok(WhyNot::LeftOut(rule)) if rule == STORES_RULE => return Ok(None),
        Ok(why @ (WhyNot::LeftOut(_) | WhyNot::Secret(_))) => why,
        Ok(why @ WhyNot::Cache) => WhyNot::LeftOut(why.in_words().into()),
        Ok(_) => return Ok(None),
        Err(_) => WhyNot::LeftOut(NOT_SCANNED.into()),
    };
    let (stat, mount) = dir.stat_with_mount()?;
    let is_mount = work.is_other_mount(&stat, mount);
    let mut items = if is_mount { Vec::new() } else { dir.list()? };
    let path = listing.path_of(above).join(name);
    let owner = if is_mount {
        Some(WhyNot::Mount)
    } else if is_store(&items) {
        Some(WhyNot::LeftOut(STORES_RULE.into()))
    } else {
        rules.owner(&path, &work.shown(&path), &items)
    };
    if let Some(owner) = owner {
        if let Ok(at) = found {
            listing.dirs[above].uncaptured[at].why = owner;
        }
        return Ok(None);
    }
    let index = listing.dirs.len();
    let mut listed = ListedDir::empty(above, name.into(), stat);
    sys::sort_items(&mut items);
    for item in items {
        let why = if is_dot_git(&item.name) {
            dot_git_reason(&item.name)
        } else {
            why.clone()
        };
        let is_dir = match item.kind {
            ItemKind::Unknown => dir
                .stat_child(&item.name)
                .is_ok_and(|stat| sys::kind_of(&stat) == ItemKind::Dir),
            kind => kind == ItemKind::Dir,
        };
        insert_uncaptured(
            &mut listed.uncaptured,
            ListedUncaptured {
                name: item.name,
                why,
                is_dir,
            },
        );
    }
    listing.dirs.push(listed);
    Ok(Some(index))
}

fn dot_git_reason(name: &[u8]) -> WhyNot {
    if name == b".git" {
        WhyNot::DotGit
    } else {
        WhyNot::ReservedName
    }
}

fn file_to_add(
    listing: &Listing,
    at: usize,
    dir: &Dir,
    name: &[u8],
) -> std::io::Result<Option<ListedFile>> {
    if listing.dirs[at].files.get(name).is_some() || listing.child(at, name).is_some() {
        return Ok(None);
    }
    let stat = dir.stat_child(name)?;
    let kind = match sys::kind_of(&stat) {
        ItemKind::File => Kind::File,
        ItemKind::Symlink => Kind::Symlink,
        _ => return Ok(None),
    };
    Ok(Some(ListedFile {
        name: Name::from(name),
        kind,
        stat,
        id: None,
        racy: false,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tests::place;
    use crate::model::tests::{listing, path};
    use crate::worktree::rules::rule_set::RuleSources;

    /// What is found of paths in a place of which a scan listed something else.
    fn found(words: &str, listed: &str, paths: &[&str]) -> Listing {
        let temp = place(words);
        let work = WorkTree::open(temp.path()).unwrap();
        let mut listing = listing(listed);
        for path in paths.iter().map(|text| path(text)) {
            let rules = Rules::new(RuleSources::default());
            add_paths(&work, &rules, &mut listing, &[path]).unwrap();
        }
        listing
    }

    #[test]
    fn what_was_a_file_when_it_was_scanned_is_no_directory_too() {
        assert_eq!(found("d/f=1", "d@", &["d"]).dirs.len(), 1);
        assert_eq!(found("d/f=1", "d@", &["d", "d/f"]).dirs.len(), 1);
    }

    #[test]
    fn what_was_a_directory_when_it_was_scanned_is_no_file_too() {
        let listing = found("d=1", "d/", &["d"]);
        assert!(listing.dirs[0].files.get(b"d").is_none());
    }
}
