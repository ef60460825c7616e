//! Joins the parts of a scan into one list of directories, level by level, children sorted by name.

use std::collections::{BTreeMap, HashMap};

use crate::model::{ListedDir, Name, RelPath};
use crate::worktree::scan::scan_dir::{insert_file, insert_uncaptured};

/// Number of folders named when there are too many files.
const LARGEST_SHOWN: usize = 3;

/// A directory in a part: number of the part and index in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DirPlace {
    pub segment: usize,
    pub dir: usize,
}

/// The part that one walk listed. Its first directory is where it began; except in the first part,
/// that entry only adds to the same directory in another part.
#[derive(Debug)]
pub struct Segment {
    pub number: usize,
    /// The directory in another part that the first one adds to.
    pub within: Option<DirPlace>,
    pub dirs: Vec<ListedDir>,
}

/// Joins all parts and renumbers their directories.
pub fn assemble(mut segments: Vec<Segment>) -> Vec<ListedDir> {
    segments.sort_unstable_by_key(|segment| segment.number);
    let index_of: HashMap<usize, usize> = segments
        .iter()
        .enumerate()
        .map(|(index, segment)| (segment.number, index))
        .collect();
    let mut brought: HashMap<DirPlace, Vec<DirPlace>> = HashMap::new();
    // A part is numbered after the part that gave it away.
    for index in (1..segments.len()).rev() {
        let Segment {
            number,
            within: Some(within),
            dirs,
        } = &mut segments[index]
        else {
            continue;
        };
        let (number, within, first) = (*number, *within, std::mem::replace(&mut dirs[0], empty()));
        let more = first.dirs.iter().map(|dir| DirPlace {
            segment: number,
            dir: *dir,
        });
        let deeper = brought
            .remove(&DirPlace {
                segment: number,
                dir: 0,
            })
            .unwrap_or_default();
        brought
            .entry(within)
            .or_default()
            .extend(more.chain(deeper));
        let Some(holder) = index_of.get(&within.segment) else {
            continue;
        };
        bring(&mut segments[*holder].dirs[within.dir], first);
    }
    number_by_level(segments, &index_of, &brought)
}

/// Merges files and uncaptured items of a part's first directory.
fn bring(to: &mut ListedDir, first: ListedDir) {
    to.unchanged &= first.unchanged;
    let mut first_files = first.files;
    for file in std::mem::take(first_files.make_listed()) {
        insert_file(to.files.make_listed(), file);
    }
    for item in first.uncaptured {
        insert_uncaptured(&mut to.uncaptured, item);
    }
}

fn number_by_level(
    mut segments: Vec<Segment>,
    index_of: &HashMap<usize, usize>,
    brought: &HashMap<DirPlace, Vec<DirPlace>>,
) -> Vec<ListedDir> {
    let count = segments.iter().map(|segment| segment.dirs.len()).sum();
    let (mut places, mut dirs) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let mut take = |place: DirPlace| {
        let segment = index_of
            .get(&place.segment)
            .map(|index| &mut segments[*index]);
        segment.map_or_else(empty, |segment| {
            std::mem::replace(&mut segment.dirs[place.dir], empty())
        })
    };
    places.push(DirPlace { segment: 0, dir: 0 });
    dirs.push(take(places[0]));
    let mut at = 0;
    while at < dirs.len() {
        let place = places[at];
        let own = std::mem::take(&mut dirs[at].dirs);
        let own = own.into_iter().map(|dir| DirPlace {
            segment: place.segment,
            dir,
        });
        let more = brought.get(&place).into_iter().flatten().copied();
        let mut children: Vec<(DirPlace, ListedDir)> =
            own.chain(more).map(|place| (place, take(place))).collect();
        if !children.is_sorted_by(|one, other| one.1.name <= other.1.name) {
            children.sort_by(|one, other| one.1.name.cmp(&other.1.name));
        }
        for (place, mut child) in children {
            child.parent = at;
            let index = dirs.len();
            dirs[at].dirs.push(index);
            places.push(place);
            dirs.push(child);
        }
        at += 1;
    }
    dirs
}

fn empty() -> ListedDir {
    ListedDir::empty(
        0,
        Name::default(),
        crate::model::state::entry::Stat::default(),
    )
}

/// Returns the top-level folders with most files, largest first.
pub fn largest(dirs: &[ListedDir]) -> Vec<(RelPath, u64)> {
    let mut tops: Vec<usize> = Vec::with_capacity(dirs.len());
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    for (index, dir) in dirs.iter().enumerate() {
        let top = if dir.parent == 0 {
            index
        } else {
            tops[dir.parent]
        };
        tops.push(top);
        if top != 0 && dir.file_count() > 0 {
            *counts.entry(top).or_default() += dir.file_count() as u64;
        }
    }
    let named = counts
        .into_iter()
        .map(|(top, count)| (RelPath::root().join(&dirs[top].name), count));
    let mut largest: Vec<(RelPath, u64)> = named.collect();
    largest.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    largest.truncate(LARGEST_SHOWN);
    largest
}
