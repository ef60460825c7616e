//! Marks files of a listing that are held as databases: present, but not captured as files.

use crate::model::{ListedUncaptured, Listing, RelPath, WhyNot};

/// Marks those of `paths` that would be captured or were left out as databases. Returns whether
/// anything changed; if so, the trees above are unknown and no stat cache may be made.
pub fn exclude(listing: &mut Listing, paths: &[RelPath]) -> bool {
    paths
        .iter()
        .filter(|path| exclude_one(listing, path))
        .count()
        > 0
}

fn exclude_one(listing: &mut Listing, path: &RelPath) -> bool {
    let Some(index) = path.parent().and_then(|parent| listing.index_of(&parent)) else {
        return false;
    };
    let (dir, name) = (&mut listing.dirs[index], path.name());
    let at = dir
        .uncaptured
        .binary_search_by(|item| (*item.name).cmp(name));
    match at {
        Ok(at) if dir.uncaptured[at].is_dir => return false,
        Ok(at) => dir.uncaptured[at].why = WhyNot::Database,
        Err(_) if dir.files.get(name).is_none() => return false,
        Err(at) => {
            dir.files.make_listed().retain(|file| *file.name != *name);
            dir.uncaptured.insert(
                at,
                ListedUncaptured {
                    name: name.into(),
                    why: WhyNot::Database,
                    is_dir: false,
                },
            );
        }
    }
    (dir.unchanged, dir.decided_by_names) = (false, false);
    forget_trees(listing, index);
    true
}

fn forget_trees(listing: &mut Listing, mut index: usize) {
    loop {
        listing.dirs[index].tree = None;
        if index == 0 {
            return;
        }
        index = listing.dirs[index].parent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::state::entry::Kind;
    use crate::model::state::listing::ListedDir;
    use crate::model::state::stat::ListedFile;
    use crate::model::state::stat::Stat;

    #[test]
    fn a_file_is_set_apart_wherever_it_stands_and_nothing_else_is() {
        let mut listing = Listing::of_empty_root(Stat::default(), 7);
        listing.dirs.push(ListedDir::empty(
            0,
            b"data".as_slice().into(),
            Stat::default(),
        ));
        listing.dirs[0].dirs.push(1);
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
        listing.dirs[1].files = vec![file("a"), file("b"), file("c")].into();
        let left_out = ListedUncaptured {
            name: b"d".as_slice().into(),
            why: WhyNot::LeftOut("d".into()),
            is_dir: false,
        };
        listing.dirs[1].uncaptured = vec![left_out];
        let paths = ["data/b", "data/d", "data/none", "other/x", "data"]
            .map(|p| RelPath::new(p.as_bytes()).unwrap());
        assert!(exclude(&mut listing, &paths));
        let files: Vec<&[u8]> = listing.dirs[1].files.iter().map(|file| file.name).collect();
        assert_eq!(files, [b"a", b"c"]);
        let uncaptured: Vec<&[u8]> = listing.dirs[1]
            .uncaptured
            .iter()
            .map(|item| &*item.name)
            .collect();
        assert_eq!(uncaptured, [b"b", b"d"]);
        assert!(
            listing.dirs[1]
                .uncaptured
                .iter()
                .all(|item| item.why == WhyNot::Database)
        );
        assert!(!exclude(
            &mut listing,
            &[RelPath::root(), RelPath::new(b"x").unwrap()]
        ));
    }
}
