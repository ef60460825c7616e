//! The meta of a checkpoint, beside its git tree: permission bits, empty directories, uncaptured
//! paths, and the rules in force; and its text: one fact a line, paths and free text percent-encoded.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::base::Malformed;
use crate::base::text::{percent_decode, percent_encode};
use crate::model::stat_cache::summary::ModeClass;
use crate::model::state::entry::RWX_BITS;
use crate::model::state::rel_path::is_dot_git;
use crate::model::{Kind, ListedDir, Listing, RelPath, Snapshot, Summary, UncapturedEntry, WhyNot};

/// What a git tree cannot hold. Equal directories give equal metas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    pub usual: UsualModes,
    /// Permission bits of files and directories that differ from the usual ones of their class.
    pub unusual: BTreeMap<RelPath, u32>,
    /// Directories without captured files and subdirectories.
    pub empty_dirs: BTreeSet<RelPath>,
    /// Paths present but not captured; their parents belong to the checkpoint too.
    pub uncaptured: BTreeMap<RelPath, UncapturedEntry>,
    pub rules: RuleRecord,
}

/// Most common permission bits of each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsualModes {
    pub file: u32,
    pub executable: u32,
    pub directory: u32,
}

/// Rules from outside the tree, where they differ from the built-in ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RuleRecord {
    pub store_list: Option<Vec<u8>>,
    pub excludes: Vec<String>,
    pub sensitive_allow: Vec<String>,
    pub max_file_size_bytes: Option<u64>,
    pub above: Vec<IgnoreFileAbove>,
}

/// A `.gitignore` of the repository around the root.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IgnoreFileAbove {
    /// Path from its directory to the root.
    pub way: Vec<u8>,
    pub text: Vec<u8>,
}

/// Hashes of the rules in force. Equal stamps mean equal verdicts for equal names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RulesStamp {
    /// Hash of the lists, the settings and the version of the compiled-in rules.
    pub rules: u64,
    /// Hash of the stat of the project's git index; zero if it is not reliable.
    pub index: u64,
    /// Hash of the names in that index.
    pub names: u64,
}

impl RulesStamp {
    pub fn gives_same_verdicts(&self, other: &Self) -> bool {
        self.rules == other.rules && self.names == other.names
    }
}

impl Default for UsualModes {
    fn default() -> Self {
        Self {
            file: 0o644,
            executable: 0o755,
            directory: 0o755,
        }
    }
}

impl Meta {
    /// Makes the meta of a listing.
    pub fn of(listing: &Listing, rules: RuleRecord) -> Self {
        let (usual, all_files_are_usual) = usual_modes(listing);
        let mut meta = Self {
            usual,
            rules,
            ..Self::default()
        };
        for (index, dir) in listing.dirs.iter().enumerate() {
            meta.note_dir(listing, index, dir);
            if !all_files_are_usual {
                meta.note_files(listing, index, dir);
            }
        }
        meta
    }

    /// Records a directory; builds its path only if needed.
    fn note_dir(&mut self, listing: &Listing, index: usize, dir: &ListedDir) {
        let usual = self.usual;
        if dir.stat.perm() != usual.directory {
            self.unusual.insert(listing.path_of(index), dir.stat.perm());
        }
        if dir.files.is_empty() && dir.dirs.is_empty() && !dir.is_folded {
            self.empty_dirs.insert(listing.path_of(index));
        }
        for item in dir.uncaptured.iter().filter(|item| item.why.is_recorded()) {
            self.uncaptured
                .insert(listing.path_of(index).join(&item.name), item.into());
        }
    }

    fn note_files(&mut self, listing: &Listing, index: usize, dir: &ListedDir) {
        for file in dir.files.iter().filter(|file| file.kind == Kind::File) {
            let perm = file.stat.perm();
            if perm != self.usual.of_file(perm) {
                self.unusual
                    .insert(listing.path_of(index).join(file.name), perm);
            }
        }
    }

    /// Whether a file missing from this state may have existed nevertheless, because it or a
    /// directory above it was uncaptured.
    pub fn hides(&self, path: &RelPath) -> bool {
        path.self_and_ancestors().any(|path| {
            self.uncaptured
                .get(&path)
                .is_some_and(|entry| entry.why.may_hide_files())
        })
    }

    pub fn perm_of_dir(&self, path: &RelPath) -> u32 {
        self.perm_or(path, self.usual.directory)
    }

    fn perm_or(&self, path: &RelPath, usual: u32) -> u32 {
        self.unusual.get(path).copied().unwrap_or(usual)
    }

    /// Adds permission bits, empty directories and uncaptured paths to a state read from a tree,
    /// whose entries have git's bits. Directories are derived from the paths.
    ///
    /// # Errors
    /// The tree has a file where the meta has a directory.
    pub fn complete(&self, snapshot: &mut Snapshot) -> Result<(), Malformed> {
        if let Some(path) = self
            .bare_dirs()
            .iter()
            .find(|path| snapshot.files.contains_key(*path))
        {
            return Err(contradiction(path).into());
        }
        let files = snapshot.files.iter_mut();
        for (path, entry) in files.filter(|(_, entry)| entry.kind == Kind::File) {
            entry.perm = self.perm_or(path, self.usual.of_file(entry.perm));
        }
        snapshot.uncaptured.extend(self.uncaptured.clone());
        let mut dirs = BTreeSet::from([RelPath::root()]);
        dirs.extend(self.empty_dirs.iter().cloned());
        let holders = snapshot.files.keys().chain(&self.empty_dirs);
        for path in holders.chain(snapshot.uncaptured.keys()) {
            add_ancestors(path, &mut dirs);
        }
        for path in dirs {
            let perm = self.perm_of_dir(&path);
            snapshot.dirs.insert(path, perm);
        }
        Ok(())
    }

    /// Returns empty directories and the ancestors of these and uncaptured paths, except the root.
    pub fn bare_dirs(&self) -> BTreeSet<RelPath> {
        let mut dirs = self.empty_dirs.clone();
        for path in self.empty_dirs.iter().chain(self.uncaptured.keys()) {
            dirs.extend(path.ancestors());
        }
        dirs.retain(|path| !path.is_root());
        dirs
    }
}

/// Returns the message for a checkpoint whose meta has a directory where its tree has a file.
pub fn contradiction(path: &RelPath) -> String {
    format!("its meta says that {path} is a directory, its tree that it is a file")
}

fn add_ancestors(path: &RelPath, dirs: &mut BTreeSet<RelPath>) {
    for above in path.ancestors() {
        if !dirs.insert(above) {
            return;
        }
    }
}

impl UsualModes {
    fn of_file(&self, perm: u32) -> u32 {
        if perm & 0o100 == 0 {
            self.file
        } else {
            self.executable
        }
    }
}

const PERMS: usize = RWX_BITS as usize + 1;

/// Lists the folded directories of which the meta names something, as they are in the stat cache;
/// `None` if these cannot be read.
pub fn unfold_unusual(listing: &mut Listing) -> Option<()> {
    if listing.dirs.iter().all(|dir| !dir.is_folded) {
        return Some(());
    }
    listing.unfold(&|all| !all.is_plain)?;
    let UsualModes {
        file,
        executable,
        directory,
    } = usual_modes(listing).0;
    listing.unfold(&|all| {
        let mut classes = all.classes.iter().zip([file, executable, directory]);
        classes.any(|(class, usual)| class.count > 0 && class.perm != usual)
    })
}

/// Returns the usual modes, and whether every file has one of them. Special bits are never usual.
fn usual_modes(listing: &Listing) -> (UsualModes, bool) {
    let mut file_count = 0;
    let [mut files, mut executables, mut directories] = [[0_u64; PERMS]; 3];
    let add = |counts: &mut [u64; PERMS], class: ModeClass| {
        if let Some(count) = counts.get_mut(class.perm as usize) {
            *count += u64::from(class.count);
        }
    };
    let count = |counts: &mut [u64; PERMS], perm: u32| add(counts, ModeClass { count: 1, perm });
    for dir in &listing.dirs {
        if let Some(Summary { classes, .. }) = dir.folded() {
            let counts = [&mut files, &mut executables, &mut directories];
            counts
                .into_iter()
                .zip(*classes)
                .for_each(|(counts, class)| add(counts, class));
            file_count += u64::from(classes[0].count) + u64::from(classes[1].count);
            continue;
        }
        count(&mut directories, dir.stat.perm());
        for file in dir.files.iter().filter(|file| file.kind == Kind::File) {
            let perm = file.stat.perm();
            file_count += 1;
            match perm & 0o100 {
                0 => count(&mut files, perm),
                _ => count(&mut executables, perm),
            }
        }
    }
    // Of equally common ones, the smallest.
    let commonest = |counts: &[u64; PERMS], default: u32| {
        let met = (0..=RWX_BITS).rev().zip(counts.iter().rev());
        let met = met.filter(|(_, count)| **count > 0);
        met.max_by_key(|(_, count)| **count)
            .map_or(default, |(perm, _)| perm)
    };
    let standard = UsualModes::default();
    let usual = UsualModes {
        file: commonest(&files, standard.file),
        executable: commonest(&executables, standard.executable),
        directory: commonest(&directories, standard.directory),
    };
    let of =
        |counts: &[u64; PERMS], perm: u32| counts.get(perm as usize).copied().unwrap_or_default();
    let are_usual = of(&files, usual.file) + of(&executables, usual.executable) == file_count;
    (usual, are_usual)
}

const META_FIRST_LINE: &str = "checkpoint-meta 1";

/// Renders a meta blob. Equal metas give equal bytes.
pub fn render(meta: &Meta) -> Vec<u8> {
    let UsualModes {
        file,
        executable,
        directory,
    } = meta.usual;
    let mut text = format!("{META_FIRST_LINE}\nusual {file:o} {executable:o} {directory:o}\n");
    for (path, perm) in &meta.unusual {
        let _ = writeln!(text, "mode {perm:o} {}", encode(path));
    }
    for path in &meta.empty_dirs {
        let _ = writeln!(text, "empty {}", encode(path));
    }
    for (path, entry) in &meta.uncaptured {
        let kind = if entry.is_dir { "d" } else { "f" };
        let _ = writeln!(
            text,
            "uncaptured {} {kind} {} {}",
            entry.why.into_str(),
            detail(&entry.why),
            encode(path)
        );
    }
    render_rules(meta, &mut text);
    text.into_bytes()
}

fn render_rules(meta: &Meta, text: &mut String) {
    if let Some(list) = &meta.rules.store_list {
        let _ = writeln!(text, "store-list {}", percent_encode(list));
    }
    for pattern in &meta.rules.excludes {
        let _ = writeln!(text, "exclude {}", percent_encode(pattern.as_bytes()));
    }
    for pattern in &meta.rules.sensitive_allow {
        let _ = writeln!(
            text,
            "sensitive-allow {}",
            percent_encode(pattern.as_bytes())
        );
    }
    if let Some(limit) = meta.rules.max_file_size_bytes {
        let _ = writeln!(text, "max-file-size {limit}");
    }
    for IgnoreFileAbove { way, text: rules } in &meta.rules.above {
        let (way, rules) = (percent_encode(way), percent_encode(rules));
        let _ = writeln!(text, "above {way} {rules}");
    }
}

/// Parses a meta blob.
///
/// # Errors
/// Any line that is not understood, as a half-read meta could let a restore delete too much; also
/// any path in a `.git`, in whatever spelling.
pub fn parse(bytes: &[u8]) -> Result<Meta, Malformed> {
    let text = std::str::from_utf8(bytes).map_err(|_| "the meta is not text")?;
    let mut lines = text
        .strip_suffix('\n')
        .ok_or("the meta is cut short")?
        .split('\n');
    if lines.next() != Some(META_FIRST_LINE) {
        return Err("the meta does not begin with its format".into());
    }
    let mut meta = Meta::default();
    lines.try_for_each(|line| {
        take_line(&mut meta, line).ok_or_else(|| format!("bad line in the meta: {line}"))
    })?;
    Ok(meta)
}

fn take_line(meta: &mut Meta, line: &str) -> Option<()> {
    let (key, rest) = line.split_once(' ')?;
    match key {
        "usual" => meta.usual = parse_usual(rest)?,
        "mode" => {
            let (perm, path) = rest.split_once(' ')?;
            meta.unusual.insert(decode_ours(path)?, parse_perm(perm)?);
        }
        "empty" => {
            meta.empty_dirs.insert(decode_ours(rest)?);
        }
        "uncaptured" => {
            let mut words = rest.splitn(4, ' ');
            let (word, kind, why) = (words.next()?, words.next()?, words.next()?);
            let entry = UncapturedEntry {
                why: parse_why(word, why)?,
                is_dir: match kind {
                    "d" => true,
                    "f" => false,
                    _ => return None,
                },
            };
            let path = decode(words.next()?)?;
            // The uncaptured path itself may have such a name, but its parents are directories that
            // a restore makes.
            path.ancestors()
                .all(|above| is_ours(&above))
                .then_some(())?;
            meta.uncaptured.insert(path, entry);
        }
        "store-list" => meta.rules.store_list = Some(unescaped(rest)?),
        "exclude" => meta.rules.excludes.push(decode_text(rest)?),
        "sensitive-allow" => meta.rules.sensitive_allow.push(decode_text(rest)?),
        "max-file-size" => meta.rules.max_file_size_bytes = Some(unsigned(rest)?.parse().ok()?),
        "above" => {
            let (way, text) = rest.split_once(' ')?;
            let (way, text) = (unescaped(way)?, unescaped(text)?);
            meta.rules.above.push(IgnoreFileAbove { way, text });
        }
        _ => return None,
    }
    Some(())
}

fn parse_usual(rest: &str) -> Option<UsualModes> {
    let mut words = rest.splitn(3, ' ').map(parse_perm);
    Some(UsualModes {
        file: words.next()??,
        executable: words.next()??,
        directory: words.next()??,
    })
}

fn parse_perm(octal: &str) -> Option<u32> {
    u32::from_str_radix(unsigned(octal)?, 8)
        .ok()
        .filter(|perm| *perm <= 0o7777)
}

/// Refuses a sign, which the standard parser would accept.
fn unsigned(number: &str) -> Option<&str> {
    (!number.starts_with('+')).then_some(number)
}

fn parse_why(word: &str, detail: &str) -> Option<WhyNot> {
    let text = if detail == "-" {
        String::new()
    } else {
        decode_text(detail)?
    };
    match word.parse().ok().filter(WhyNot::is_recorded)? {
        WhyNot::Unreadable(_) => Some(WhyNot::Unreadable(text)),
        why => text.is_empty().then_some(why),
    }
}

/// Renders the text of a reason: a dash if there is none; a text that is just a dash is escaped.
fn detail(why: &WhyNot) -> String {
    match why {
        WhyNot::Unreadable(text) if text == "-" => "%2D".to_owned(),
        WhyNot::Unreadable(text) if !text.is_empty() => percent_encode(text.as_bytes()),
        _ => "-".to_owned(),
    }
}

/// Encodes a path as one word; the root is a dot.
fn encode(path: &RelPath) -> String {
    if path.is_root() {
        ".".to_owned()
    } else {
        percent_encode(path.as_bytes())
    }
}

fn decode(word: &str) -> Option<RelPath> {
    if word == "." {
        return Some(RelPath::root());
    }
    RelPath::new(&unescaped(word)?).ok()
}

/// Decodes a path that a restore may make or change.
fn decode_ours(word: &str) -> Option<RelPath> {
    decode(word).filter(is_ours)
}

fn is_ours(path: &RelPath) -> bool {
    !path.components().any(is_dot_git)
}

fn decode_text(word: &str) -> Option<String> {
    String::from_utf8(unescaped(word)?).ok()
}

/// Decodes one word; refuses spaces and other line ends, which [`render`] never writes.
fn unescaped(word: &str) -> Option<Vec<u8>> {
    word.bytes()
        .all(|b| b.is_ascii_graphic())
        .then(|| percent_decode(word))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::state::entry::git_mode;
    use crate::model::tests::{listing, path, snapshot};

    /// A meta with everything that one can hold.
    const WHOLE: &str = include_str!("tests/meta.txt");
    const STATE: &str = "d/:700 e/f q/ a b:600 c l@ s:4711 x:755 y:700 q/o!left-out q/p!fifo";

    fn text(listing: &Listing, excludes: &[&str]) -> String {
        let excludes = excludes.iter().map(ToString::to_string).collect();
        let rules = RuleRecord {
            excludes,
            ..RuleRecord::default()
        };
        String::from_utf8(render(&Meta::of(listing, rules))).unwrap()
    }

    #[test]
    fn what_is_usual_is_not_said_and_all_else_is() {
        // The smaller of two equally common modes of executables is the usual one.
        let expected = "checkpoint-meta 1\nusual 644 700 755\nmode 600 b\nmode 700 d\n\
            mode 4711 s\nmode 755 x\nempty d\nempty q\nuncaptured fifo f - q/p\nexclude a\n";
        assert_eq!(text(&listing(STATE), &["a"]), expected);
    }

    #[test]
    fn modes_that_all_have_are_usual_and_special_ones_never() {
        for (mode, facts) in [
            (0o777, "usual 644 755 777"),
            (0o2755, "usual 644 755 755\nmode 2755 ."),
        ] {
            let mut open = listing("");
            open.dirs[0].stat.mode = mode;
            let expected = format!("checkpoint-meta 1\n{facts}\nempty .\n");
            assert_eq!(text(&open, &[]), expected);
        }
    }

    #[test]
    fn a_tree_and_its_meta_give_the_directory_back() {
        let mut expected = snapshot(STATE);
        assert_eq!(Snapshot::from(&listing(STATE)), expected);
        expected.uncaptured.remove(&path("q/o"));
        let mut of_tree = Snapshot {
            files: expected.files.clone(),
            ..Snapshot::default()
        };
        let files = of_tree.files.values_mut();
        for entry in files.filter(|entry| entry.kind == Kind::File) {
            entry.perm = git_mode(entry.kind, entry.perm) & RWX_BITS;
        }
        let meta = Meta::of(&listing(STATE), RuleRecord::default());
        meta.complete(&mut of_tree).expect("they agree");
        assert_eq!(of_tree, expected);
        let deep = parse(b"checkpoint-meta 1\nempty a/b/c\n").unwrap();
        let mut completed = Snapshot::default();
        deep.complete(&mut completed).expect("they agree");
        assert_eq!(completed.dirs, snapshot("a/b/c/").dirs);
    }

    #[test]
    fn only_what_could_not_be_captured_hides_files() {
        let meta = "checkpoint-meta 1\nuncaptured mount d - m\nuncaptured fifo d - f\n";
        let meta = parse(meta.as_bytes()).unwrap();
        assert_eq!(
            ["m", "m/x/y", "f", "n", ""].map(|at| meta.hides(&path(at))),
            [true, true, false, false, false]
        );
    }

    #[test]
    fn a_meta_comes_back_whole() {
        let whole = parse(WHOLE.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(render(&whole)).unwrap(), WHOLE);
        assert_eq!(parse(&render(&Meta::default())).unwrap(), Meta::default());
    }

    #[test]
    fn every_reason_for_not_capturing_comes_back_with_its_text() {
        let plain = "fifo socket device too-large reserved-name mount collision gitlink database \
            worktree git-dir cache";
        let plain = plain.split(' ').map(|word| word.parse().unwrap());
        let texts = ["", "-", "--", "%2D", "a b\n"].map(|text| WhyNot::Unreadable(text.to_owned()));
        for why in plain.chain(texts) {
            for is_dir in [false, true] {
                let why = why.clone();
                let mut meta = Meta::default();
                let entry = UncapturedEntry { why, is_dir };
                meta.uncaptured.insert(RelPath::root(), entry);
                let text = render(&meta);
                let has_gap = text.windows(2).any(|pair| pair == b"  ");
                assert!(!has_gap, "each fact has a word: {meta:?}");
                assert_eq!(parse(&text), Ok(meta));
            }
        }
    }

    #[test]
    fn a_meta_that_is_not_understood_is_refused() {
        let rows = "future 1|mode 99999 a|empty ../x|empty .git|empty d/.GIT/x|mode 777 git~1|\
            uncaptured fifo f - .git/x||empty a\r|empty a b|exclude *.iso exclude *.o|\
            empty %+4|mode +644 a|usual 644 755|usual 644 755 755 700|max-file-size +7|\
            above a|above a b c|uncaptured fifo x - p|uncaptured fifo f text p|\
            uncaptured nothing f - p";
        let rows = rows.split('|');
        let rows = rows.map(|row| format!("checkpoint-meta 1\n{row}\n"));
        let others = ["", "checkpoint-meta 2\n", "checkpoint-meta 1\nempty a"].map(str::to_owned);
        for bad in rows.chain(others) {
            assert!(parse(bad.as_bytes()).is_err(), "{bad:?}");
        }
        let whole = parse(WHOLE.as_bytes());
        for end in 0..WHOLE.len() {
            let cut = parse(&WHOLE.as_bytes()[..end]);
            assert_ne!(cut, whole, "cut at {end}");
            let is_at_a_line = WHOLE[..end].ends_with('\n');
            assert!(is_at_a_line || cut.is_err(), "cut within a line at {end}");
        }
    }
}
