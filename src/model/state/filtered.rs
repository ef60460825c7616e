//! Filters a listing by path: files, uncaptured items, and the directories above them.

use crate::model::{FileView, ListedDir, Listing, RelPath};

/// Returns the part of a listing that `wants` accepts, with parent directories. Trees are unknown
/// in it, and no later scan may rely on it.
pub fn filtered(listing: &Listing, wants: &dyn Fn(&RelPath) -> bool) -> Listing {
    let paths = listing.paths();
    let mut parts: Vec<ListedDir> = listing
        .dirs
        .iter()
        .zip(&paths)
        .map(|(dir, path)| part_of(dir, path, wants))
        .collect();
    let mut stays = vec![false; parts.len()];
    // Children come after their parents.
    for index in (0..parts.len()).rev() {
        let has_something = !parts[index].files.is_empty() || !parts[index].uncaptured.is_empty();
        if index == 0 || stays[index] || has_something || wants(&paths[index]) {
            stays[index] = true;
            stays[parts[index].parent] = true;
        }
    }
    let mut numbers = vec![0; parts.len()];
    let mut kept: Vec<ListedDir> = Vec::new();
    for (index, mut dir) in parts
        .drain(..)
        .enumerate()
        .filter(|(index, _)| stays[*index])
    {
        numbers[index] = kept.len();
        dir.parent = numbers[dir.parent];
        kept.push(dir);
    }
    for dir in &mut kept {
        dir.dirs.retain(|child| stays[*child]);
        dir.dirs
            .iter_mut()
            .for_each(|child| *child = numbers[*child]);
    }
    Listing {
        dirs: kept,
        started_ns: listing.started_ns,
        cached: None,
    }
}

fn part_of(dir: &ListedDir, path: &RelPath, wants: &dyn Fn(&RelPath) -> bool) -> ListedDir {
    let files = dir
        .files
        .iter()
        .filter(|file| wants(&path.join(file.name)))
        .map(FileView::to_listed);
    let uncaptured = dir
        .uncaptured
        .iter()
        .filter(|item| wants(&path.join(&item.name)));
    ListedDir {
        files: files.collect::<Vec<_>>().into(),
        dirs: dir.dirs.clone(),
        uncaptured: uncaptured.cloned().collect(),
        ..ListedDir::empty(dir.parent, dir.name.clone(), dir.stat)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::state::entry::Kind;
    use crate::model::state::entry::WhyNot;
    use crate::model::state::stat::ListedFile;
    use crate::model::state::stat::ListedUncaptured;
    use crate::model::state::stat::Stat;

    fn listing() -> Listing {
        let mut listing = Listing::of_empty_root(Stat::default(), 7);
        for (parent, name) in [(0, "a"), (0, "b"), (1, "deep"), (2, "empty")] {
            let index = listing.dirs.len();
            listing.dirs.push(ListedDir::empty(
                parent,
                name.as_bytes().into(),
                Stat::default(),
            ));
            listing.dirs[parent].dirs.push(index);
        }
        let file = |name: &str| {
            let (name, kind, stat) = (name.as_bytes().into(), Kind::File, Stat::default());
            ListedFile {
                name,
                kind,
                stat,
                id: None,
                racy: false,
            }
        };
        listing.dirs[0].files = vec![file("top")].into();
        listing.dirs[3].files = vec![file("one.rs"), file("two.txt")].into();
        listing.dirs[2].uncaptured = vec![ListedUncaptured {
            name: b"pipe".as_slice().into(),
            why: WhyNot::Fifo,
            is_dir: false,
        }];
        listing
    }

    fn narrowed(wanted: &[&str]) -> Vec<String> {
        let wanted: Vec<RelPath> = wanted
            .iter()
            .map(|path| RelPath::new(path.as_bytes()).unwrap())
            .collect();
        let listing = filtered(&listing(), &|path| {
            wanted.iter().any(|limit| path.is_at_or_below(limit))
        });
        let mut found: Vec<String> = Vec::new();
        for (dir, path) in listing.dirs.iter().zip(listing.paths()) {
            found.push(format!("{path}/"));
            found.extend(
                dir.files
                    .iter()
                    .map(|file| path.join(file.name).to_string()),
            );
            found.extend(
                dir.uncaptured
                    .iter()
                    .map(|item| format!("{}?", path.join(&item.name))),
            );
        }
        for (index, dir) in listing.dirs.iter().enumerate() {
            assert!(
                dir.dirs
                    .iter()
                    .all(|child| listing.dirs[*child].parent == index)
            );
        }
        found
    }

    #[test]
    fn what_is_asked_for_stays_with_the_directories_above_it_and_nothing_else() {
        assert_eq!(
            narrowed(&["a/deep/one.rs"]),
            ["./", "a/", "a/deep/", "a/deep/one.rs"]
        );
        assert_eq!(narrowed(&["b"]), ["./", "b/", "b/pipe?", "b/empty/"]);
        assert_eq!(narrowed(&["b/pipe", "top"]), ["./", "top", "b/", "b/pipe?"]);
        assert_eq!(narrowed(&["none"]), ["./"]);
        assert_eq!(narrowed(&[""]).len(), 9);
    }
}
