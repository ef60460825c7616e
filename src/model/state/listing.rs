//! The working directory as a scan found it: a flat list of directories, parents before children, with
//! their captured files, which were listed by the scan or are read from the stat cache.
//!
//! The flat form needs no recursion, however deep the tree, and can be processed in slices.

use std::sync::Arc;

use crate::model::{
    CachedBlock, CachedDir, CachedListing, FileView, ListedFile, ListedUncaptured, Name, ObjectId,
    RelPath, Stat, Summary, WhyNot,
};

/// One directory; `files` and `uncaptured` are sorted bytewise by name.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Clone, Debug, Default)]
pub struct ListedDir {
    /// Index of the parent; 0 for the root itself.
    pub parent: usize,
    /// Empty for the root.
    pub name: Name,
    pub stat: Stat,
    pub files: Files,
    /// Indexes of the child directories, sorted by name; each is larger than its parent's.
    pub dirs: Vec<usize>,
    pub uncaptured: Vec<ListedUncaptured>,
    /// Git tree of this directory, once computed; `None` also if there is no file below.
    pub tree: Option<ObjectId>,
    /// What the stat cache had of this directory, if it was there.
    pub cached: Option<Box<CachedDir>>,
    /// Whether stat, files and uncaptured items equal those in the stat cache.
    pub unchanged: bool,
    /// Whether names alone decide what is captured here, not content or state of left-out files.
    pub decided_by_names: bool,
    /// Whether an uncaptured ignore file applies here, so that changes to it go unnoticed.
    pub has_hidden_rules: bool,
    /// Whether it is as in the stat cache with all below it, and its content is not listed.
    pub is_folded: bool,
}

/// Result of a scan; `dirs[0]` is the root and always exists.
#[derive(Clone, Debug)]
pub struct Listing {
    pub dirs: Vec<ListedDir>,
    /// File system clock before the scan began; files not older than this are racy.
    pub started_ns: i64,
    /// The stat cache that the scan used.
    pub cached: Option<Arc<CachedListing>>,
}

impl Listing {
    /// Makes a listing of only an empty root.
    pub fn of_empty_root(stat: Stat, started_ns: i64) -> Self {
        Self {
            dirs: vec![ListedDir::empty(0, Name::default(), stat)],
            started_ns,
            cached: None,
        }
    }

    /// Returns the path of a directory by its index.
    pub fn path_of(&self, mut index: usize) -> RelPath {
        let mut names = Vec::new();
        while index != 0 {
            names.push(&*self.dirs[index].name);
            index = self.dirs[index].parent;
        }
        names.reverse();
        RelPath::new(&names.join(&b'/')).unwrap_or_default()
    }

    /// Returns the paths of all directories by index, as [`Self::path_of`] would, in one pass.
    pub fn paths(&self) -> Vec<RelPath> {
        let mut paths: Vec<RelPath> = Vec::with_capacity(self.dirs.len());
        for (index, dir) in self.dirs.iter().enumerate() {
            let path = if index == 0 {
                RelPath::root()
            } else {
                paths[dir.parent].join(&dir.name)
            };
            paths.push(path);
        }
        paths
    }

    /// Puts new directories among the children of one, all at once: each alone would move the
    /// others.
    pub fn add_children(&mut self, above: usize, new: impl IntoIterator<Item = usize>) {
        let mut children = std::mem::take(&mut self.dirs[above].dirs);
        children.extend(new);
        children.sort_by(|one, other| self.dirs[*one].name.cmp(&self.dirs[*other].name));
        self.dirs[above].dirs = children;
    }

    /// Returns the index of a subdirectory.
    pub fn child(&self, above: usize, name: &[u8]) -> Option<usize> {
        let children = &self.dirs[above].dirs;
        let named = |child: &usize| (*self.dirs[*child].name).cmp(name);
        let place = children.binary_search_by(named).ok()?;
        Some(children[place])
    }

    /// Returns the index of the directory at a path.
    pub fn index_of(&self, path: &RelPath) -> Option<usize> {
        path.components()
            .try_fold(0, |above, name| self.child(above, name))
    }

    /// Returns the directory at a path.
    pub fn dir(&self, path: &RelPath) -> Option<&ListedDir> {
        self.index_of(path).map(|index| &self.dirs[index])
    }

    /// Returns the file at a path.
    pub fn file(&self, path: &RelPath) -> Option<FileView<'_>> {
        self.dir(&path.parent()?)?.files.get(path.name())
    }

    /// Returns the items that are not captured for a reason that is wanted, each with its path.
    pub fn uncaptured(
        &self,
        is_wanted: impl Fn(&WhyNot) -> bool + Copy,
    ) -> impl Iterator<Item = (RelPath, &ListedUncaptured)> {
        let wanted = move |item: &&ListedUncaptured| is_wanted(&item.why);
        let dirs = self.dirs.iter().enumerate();
        let dirs = dirs.filter(move |(_, dir)| dir.uncaptured.iter().any(|item| wanted(&item)));
        dirs.flat_map(move |(index, dir)| {
            let path = self.path_of(index);
            let items = dir.uncaptured.iter().filter(wanted);
            items.map(move |item| (path.join(&item.name), item))
        })
    }

    /// Folds every directory that is as in the stat cache with all below it.
    pub fn fold(&mut self) {
        let mut same = vec![false; self.dirs.len()];
        for (index, dir) in self.dirs.iter().enumerate().rev() {
            same[index] = dir.is_folded || dir.has_cached_dirs(&same);
        }
        let mut numbers = vec![0; self.dirs.len()];
        let mut kept: Vec<ListedDir> = Vec::new();
        for (index, dir) in std::mem::take(&mut self.dirs).into_iter().enumerate() {
            if index != 0 && same[dir.parent] {
                continue;
            }
            numbers[index] = kept.len();
            let parent = numbers[dir.parent];
            kept.push(match dir.cached {
                Some(cached) if same[index] => ListedDir::folded_as(parent, dir.name, cached),
                cached => ListedDir {
                    parent,
                    cached,
                    ..dir
                },
            });
        }
        let children = kept.iter_mut().flat_map(|dir| &mut dir.dirs);
        children.for_each(|child| *child = numbers[*child]);
        self.dirs = kept;
    }

    /// Lists folded directories that `wants` accepts as they are in the stat cache, and those in
    /// them; `None` if these cannot be read.
    pub fn unfold(&mut self, wants: &dyn Fn(&Summary) -> bool) -> Option<()> {
        let mut index = 0;
        while index < self.dirs.len() {
            if self.dirs[index].folded().is_some_and(wants) {
                let place = self.dirs[index].cached.as_ref()?.place;
                let block = self.cached.as_ref()?.block(&place)?;
                for number in 0..block.dir_count() {
                    let (name, cached) = block.dir(number)?;
                    let child = ListedDir::folded_as(index, name.into(), Box::new(cached));
                    let at = self.dirs.len();
                    self.dirs[index].dirs.push(at);
                    self.dirs.push(child);
                }
                let dir = &mut self.dirs[index];
                dir.uncaptured = block.uncaptured()?;
                (dir.files, dir.is_folded) = (Files::cached(block), false);
            }
            index += 1;
        }
        Some(())
    }

    /// Number of directories, the root included.
    pub fn dir_count(&self) -> usize {
        let below = |dir: &ListedDir| dir.folded().map_or(1, |all| all.classes[2].count as usize);
        self.dirs.iter().map(below).sum()
    }

    pub fn file_count(&self) -> usize {
        self.dirs.iter().map(ListedDir::file_count).sum()
    }

    /// Returns the total size of captured files and symlinks in bytes.
    pub fn content_bytes(&self) -> u64 {
        let of_files = |dir: &ListedDir| dir.files.iter().map(|file| file.stat.size_bytes).sum();
        let of_dir = |dir: &ListedDir| {
            dir.folded()
                .map_or_else(|| of_files(dir), |all| all.content_bytes)
        };
        self.dirs.iter().map(of_dir).sum()
    }

    /// Whether a checkpoint of this listing is complete.
    pub fn is_complete(&self) -> bool {
        let mut items = self.dirs.iter().flat_map(|dir| &dir.uncaptured);
        !items.any(|item| item.why.makes_partial())
    }

    /// Marks those of `paths` that would be captured or were left out as databases: present, but not
    /// captured as files. Returns whether anything changed; if so, the trees above are unknown and no
    /// stat cache may be made.
    pub fn exclude(&mut self, paths: &[RelPath]) -> bool {
        paths.iter().filter(|path| self.exclude_one(path)).count() > 0
    }

    fn exclude_one(&mut self, path: &RelPath) -> bool {
        let Some(mut index) = path.parent().and_then(|parent| self.index_of(&parent)) else {
            return false;
        };
        let (dir, name) = (&mut self.dirs[index], path.name());
        let at = dir
            .uncaptured
            .binary_search_by(|item| (*item.name).cmp(name));
        match at {
            Ok(at) if dir.uncaptured[at].is_dir => return false,
            Ok(at) => dir.uncaptured[at].why = WhyNot::Database,
            Err(_) if dir.files.get(name).is_none() => return false,
            Err(at) => {
                dir.files.make_listed().retain(|file| *file.name != *name);
                let database = ListedUncaptured {
                    name: name.into(),
                    why: WhyNot::Database,
                    is_dir: false,
                };
                dir.uncaptured.insert(at, database);
            }
        }
        (dir.unchanged, dir.decided_by_names) = (false, false);
        self.dirs[0].tree = None;
        while index != 0 {
            self.dirs[index].tree = None;
            index = self.dirs[index].parent;
        }
        true
    }

    /// Returns the part that `wants` accepts, with parent directories. Trees are unknown in it, and no
    /// later scan may rely on it.
    #[must_use]
    pub fn filtered(&self, wants: &dyn Fn(&RelPath) -> bool) -> Self {
        let paths = self.paths();
        let parts = self.dirs.iter().zip(&paths);
        let parts: Vec<ListedDir> = parts.map(|(dir, path)| dir.part(path, wants)).collect();
        let mut stays = vec![false; parts.len()];
        // Children come after their parents.
        for index in (0..parts.len()).rev() {
            let has_something =
                !parts[index].files.is_empty() || !parts[index].uncaptured.is_empty();
            if index == 0 || stays[index] || has_something || wants(&paths[index]) {
                stays[index] = true;
                stays[parts[index].parent] = true;
            }
        }
        let mut numbers = vec![0; parts.len()];
        let mut kept: Vec<ListedDir> = Vec::new();
        for (index, mut dir) in parts.into_iter().enumerate() {
            if stays[index] {
                numbers[index] = kept.len();
                dir.parent = numbers[dir.parent];
                kept.push(dir);
            }
        }
        for dir in &mut kept {
            dir.dirs.retain(|child| stays[*child]);
            for child in &mut dir.dirs {
                *child = numbers[*child];
            }
        }
        Self {
            dirs: kept,
            started_ns: self.started_ns,
            cached: None,
        }
    }
}

impl ListedDir {
    pub fn empty(parent: usize, name: Name, stat: Stat) -> Self {
        Self {
            parent,
            name,
            stat,
            ..Self::default()
        }
    }

    /// Makes a directory of which all is as in the stat cache.
    pub fn folded_as(parent: usize, name: Name, cached: Box<CachedDir>) -> Self {
        let stat = cached.stat;
        Self {
            tree: cached.tree,
            unchanged: true,
            decided_by_names: cached.decided_by_names,
            has_hidden_rules: cached.has_hidden_rules,
            is_folded: true,
            cached: Some(cached),
            ..Self::empty(parent, name, stat)
        }
    }

    /// Number of files in it; if it is folded, in those below it too.
    pub fn file_count(&self) -> usize {
        self.folded()
            .map_or(self.files.len(), |all| all.files as usize)
    }

    /// Returns what a folded directory holds.
    pub fn folded(&self) -> Option<&Summary> {
        let cached = self.cached.as_deref().filter(|_| self.is_folded)?;
        Some(&cached.summary)
    }

    /// Whether it is as in the stat cache, and so are the directories in it.
    pub fn has_cached_dirs(&self, same: &[bool]) -> bool {
        let cached = self.cached.as_deref().filter(|_| self.unchanged);
        cached.is_some_and(|cached| cached.place.dirs as usize == self.dirs.len())
            && self.dirs.iter().all(|child| same[*child])
    }

    /// Its files and uncaptured items that `wants` accepts.
    fn part(&self, path: &RelPath, wants: &dyn Fn(&RelPath) -> bool) -> Self {
        let files = self.files.iter();
        let files = files.filter(|file| wants(&path.join(file.name)));
        let uncaptured = self.uncaptured.iter();
        let uncaptured = uncaptured.filter(|item| wants(&path.join(&item.name)));
        Self {
            files: files.map(FileView::to_listed).collect::<Vec<_>>().into(),
            dirs: self.dirs.clone(),
            uncaptured: uncaptured.cloned().collect(),
            ..Self::empty(self.parent, self.name.clone(), self.stat)
        }
    }
}

/// Files sorted bytewise by name; for an unchanged directory nothing is copied from the stat cache.
#[derive(Clone, Debug, Default)]
pub struct Files {
    listed: Vec<ListedFile>,
    /// The directory in the stat cache; if present, `listed` is empty.
    cached: Option<Arc<CachedBlock>>,
}

impl From<Vec<ListedFile>> for Files {
    fn from(listed: Vec<ListedFile>) -> Self {
        Self {
            listed,
            cached: None,
        }
    }
}

impl Files {
    pub fn cached(block: Arc<CachedBlock>) -> Self {
        Self {
            listed: Vec::new(),
            cached: Some(block),
        }
    }

    pub fn len(&self) -> usize {
        self.cached
            .as_ref()
            .map_or(self.listed.len(), |cached| cached.file_count())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub fn at(&self, index: usize) -> Option<FileView<'_>> {
        match &self.cached {
            None => self.listed.get(index).map(view),
            Some(cached) => (index < cached.file_count()).then(|| cached.file(index)),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = FileView<'_>> {
        (0..self.len()).filter_map(|index| self.at(index))
    }

    /// Returns the file of that name.
    pub fn get(&self, name: &[u8]) -> Option<FileView<'_>> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let found = self.at(middle)?;
            match found.name.cmp(name) {
                std::cmp::Ordering::Equal => return Some(found),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Converts to a list that can be changed.
    pub fn make_listed(&mut self) -> &mut Vec<ListedFile> {
        if self.cached.is_some() {
            let listed = self.iter().map(FileView::to_listed).collect();
            *self = Self {
                listed,
                cached: None,
            };
        }
        &mut self.listed
    }

    /// Returns the listed files; none if they are from the stat cache, with known blob ids.
    pub fn listed_mut(&mut self) -> &mut [ListedFile] {
        &mut self.listed
    }
}

fn view(file: &ListedFile) -> FileView<'_> {
    FileView {
        name: &file.name,
        kind: file.kind,
        stat: file.stat,
        id: file.id,
        racy: file.racy,
        earlier: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::{listing, path};

    const STATE: &str = "top a/deep/one.rs a/deep/two.txt b/empty/ b/pipe!fifo";

    /// What a listing holds, but for directories with other things below: `./ a/ a/f b/p?`.
    fn held(listing: &Listing) -> String {
        let mut found = Vec::new();
        for (dir, path) in listing.dirs.iter().zip(listing.paths()) {
            found.push(format!("{path}/"));
            let files = dir
                .files
                .iter()
                .map(|file| path.join(file.name).to_string());
            found.extend(files);
            let others = dir.uncaptured.iter();
            found.extend(others.map(|item| format!("{}?", path.join(&item.name))));
        }
        found.join(" ")
    }

    #[test]
    fn a_file_is_set_apart_wherever_it_stands_and_nothing_else_is() {
        let mut listing = listing("data/a data/b data/c data/d!left-out");
        let paths = ["data/b", "data/d", "data/none", "other/x", "data"].map(path);
        assert!(listing.exclude(&paths));
        assert_eq!(held(&listing), "./ data/ data/a data/c data/b? data/d?");
        let mut apart = listing.dirs[1].uncaptured.iter();
        assert!(apart.all(|item| item.why == WhyNot::Database));
        assert!(!listing.exclude(&[RelPath::root(), path("x")]));
    }

    #[test]
    fn what_is_asked_for_stays_with_the_directories_above_it_and_nothing_else() {
        for (wanted, expected) in [
            ("a/deep/one.rs", "./ a/ a/deep/ a/deep/one.rs"),
            ("b", "./ b/ b/pipe? b/empty/"),
            ("b/pipe top", "./ top b/ b/pipe?"),
            ("none", "./"),
            (
                "",
                "./ top a/ a/deep/ a/deep/one.rs a/deep/two.txt b/ b/pipe? b/empty/",
            ),
        ] {
            let wanted: Vec<RelPath> = wanted.split(' ').map(path).collect();
            let is_wanted = |path: &RelPath| wanted.iter().any(|limit| path.is_at_or_below(limit));
            let narrowed = listing(STATE).filtered(&is_wanted);
            assert_eq!(held(&narrowed), expected, "{wanted:?}");
            for (index, dir) in narrowed.dirs.iter().enumerate() {
                let mut children = dir.dirs.iter();
                assert!(children.all(|child| narrowed.dirs[*child].parent == index));
            }
        }
    }
}
