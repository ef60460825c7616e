//! Combines the rules for which paths are captured: compiled-in secrets, the user's patterns,
//! ignore files and the store's list.

use std::path::Path;
use std::sync::Arc;

use crate::base::text;
use crate::model::default_rules::DEFAULT_STORE_LIST;
use crate::model::state::rel_path::is_dot_git;
use crate::model::{IgnoreFileAbove, RelPath, RuleRecord, WhyNot};
use crate::worktree::Repository;
use crate::worktree::files::state_file;
use crate::worktree::git::find_index::read_plain;
use crate::worktree::rules::chain::Cover;
use crate::worktree::rules::pattern_list::{PatternList, Subject};
use crate::worktree::rules::secrets::{self, Sensitive};
use crate::worktree::sys::{Item, ItemKind};

pub use crate::worktree::rules::chain::DirRules;
pub use crate::worktree::rules::secrets::{Peek, may_be_secret};
pub use crate::worktree::rules::tracked::{Tracked, TrackedLater};

/// Directories in the root for files that this program writes for others; never captured.
const OWN_DIRECTORIES: [&[u8]; 2] = [b".checkpoints", b".audit"];
const TAG_NAME: &str = "CACHEDIR.TAG";
pub const CACHE_TAG: &[u8] = TAG_NAME.as_bytes();
const CACHE_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";
/// Upper bound in bytes on a tag; a larger file is none.
const MAX_TAG_BYTES: u64 = 64 << 10;
/// Name of the rule for this program's own files, as shown to the user.
const OWN_RULE: &str = "kept by checkpoint";

/// Sources of rules besides the project's ignore files.
#[derive(Clone, Debug, Default)]
pub struct RuleSources {
    /// The store's list in ignore file syntax; consulted last.
    pub store_list: Vec<u8>,
    /// The user's patterns, relative to the root; consulted before all ignore files.
    pub excludes: Vec<String>,
    /// Patterns of sensitive paths that the user allows.
    pub sensitive_allow: Vec<String>,
    pub max_file_size_bytes: Option<u64>,
    pub tracked: Arc<TrackedLater>,
    /// Paths that the user named: captured despite all rules except those for secrets; a left-out
    /// directory with everything below.
    pub named: Vec<RelPath>,
    /// Paths that this program writes for others; never captured, even if named.
    pub own_files: Vec<RelPath>,
    /// Ignore files of the repository around the root, nearest first.
    pub above: Vec<IgnoreFileAbove>,
    pub repository: Option<Repository>,
}

impl RuleSources {
    /// Returns the sources that were recorded.
    pub fn of(record: RuleRecord) -> Self {
        let built_in = || DEFAULT_STORE_LIST.as_bytes().to_vec();
        Self {
            store_list: record.store_list.unwrap_or_else(built_in),
            excludes: record.excludes,
            sensitive_allow: record.sensitive_allow,
            max_file_size_bytes: record.max_file_size_bytes,
            above: record.above,
            ..Self::default()
        }
    }
}

/// All rules for one root.
#[derive(Debug)]
pub struct Rules {
    /// Its paths are sorted.
    sources: RuleSources,
    store_list: PatternList,
    excludes: PatternList,
    sensitive_allow: PatternList,
    above: Vec<PatternsAbove>,
}

/// Patterns of an ignore file above the root, and the path from there to the root.
#[derive(Debug)]
struct PatternsAbove {
    way: Vec<u8>,
    patterns: PatternList,
}

/// Verdict on one path, naming rules as shown to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleVerdict {
    Capture,
    /// Captured unless a file's first bytes make it a secret; a symlink is captured.
    Peek(Peek),
    LeaveOut(String),
    Secret(String),
    /// A left-out directory with captured paths below it.
    OnlyTracked,
}

/// A verdict with its consequences for paths below.
enum Decision {
    Take,
    TakeUnless(Peek),
    /// `descend`: a directory with captured paths below it.
    Covered {
        cover: Cover,
        descend: bool,
    },
}

impl Rules {
    pub fn new(mut sources: RuleSources) -> Self {
        let from_lines = |lines: &[String]| PatternList::parse(lines.join("\n").as_bytes());
        sources.named.sort_unstable();
        sources.own_files.sort_unstable();
        Self {
            store_list: PatternList::parse(&sources.store_list),
            excludes: from_lines(&sources.excludes),
            sensitive_allow: from_lines(&sources.sensitive_allow),
            above: patterns_above(&sources.above),
            sources,
        }
    }

    /// Why a directory with these names stays out, if it is another working tree of the project's
    /// repository, or the data of a repository. `path` leads to it from the root, `dir` is the same
    /// for the system.
    pub fn owner(&self, path: &RelPath, dir: &Path, items: &[Item]) -> Option<WhyNot> {
        let has = |name: &[u8]| items.iter().any(|item| *item.name == *name);
        let own = self.sources.repository.as_ref();
        if has(b".git") && own.is_some_and(|own| own.has_worktree(dir)) {
            return Some(WhyNot::Worktree);
        }
        let is_git_dir = has(b"HEAD")
            && has(b"objects")
            && (own.is_some_and(|own| own.is_git_dir(dir))
                || (has(b"refs") && has_head(dir) && !self.is_wanted(path)));
        is_git_dir.then_some(WhyNot::GitDir)
    }

    /// Whether a directory with these names is tagged as a cache, and nothing in it is named by the
    /// user or tracked. `path` and `dir` are as in [`Self::owner`].
    pub fn is_cache(&self, path: &RelPath, dir: &Path, items: &[Item]) -> bool {
        let is_plain = |kind| matches!(kind, ItemKind::File | ItemKind::Unknown);
        let is_tag = |item: &Item| *item.name == *CACHE_TAG && is_plain(item.kind);
        items.iter().any(is_tag) && is_cache(dir) && !self.is_wanted(path)
    }

    /// Whether the user named a directory or something in it, or git tracks that.
    fn is_wanted(&self, path: &RelPath) -> bool {
        let path = path.as_bytes();
        let is_named = |named: &RelPath| named.as_bytes() == path;
        self.sources.named.iter().any(is_named)
            || self.is_any_named_below(path)
            || self.sources.tracked.any_below(path)
    }

    /// Returns the user's limit in bytes; larger files are not captured.
    pub fn max_file_size_bytes(&self) -> Option<u64> {
        self.sources.max_file_size_bytes
    }

    /// Returns the rules of the root, given the content of its `.gitignore`.
    pub fn enter_root(&self, ignore_file: Option<&[u8]>) -> DirRules {
        DirRules::root(ignore_file)
    }

    /// Returns the rules of a directory that [`Self::judge`] says to `Capture`, or `OnlyTracked`.
    pub fn enter(&self, dir: &DirRules, name: &[u8], ignore_file: Option<&[u8]>) -> DirRules {
        let path = join(&dir.path, name);
        let subject = Subject {
            path: &path,
            name,
            is_dir: true,
        };
        let cover = match self.decide(dir, subject) {
            Decision::Take | Decision::TakeUnless(_) => None,
            Decision::Covered { cover, .. } => Some(cover.into()),
        };
        // Like git, reads no ignore file in a left-out directory.
        let mut below = dir.below(&path, ignore_file.filter(|_| cover.is_none()));
        below.takes_ignored |= self.is_named_in_spite(dir, subject);
        below.cover = cover;
        below.lets_sensitive_through = self.lets_through(dir, subject);
        below
    }

    /// Returns the rules of a directory that a scan has reached; `ignore_file_of` gives the
    /// `.gitignore` of each directory on the way.
    pub fn on_the_way_to(
        &self,
        path: &RelPath,
        ignore_file_of: &dyn Fn(&RelPath) -> Option<Vec<u8>>,
    ) -> DirRules {
        let mut above = RelPath::root();
        let mut dir = self.enter_root(ignore_file_of(&above).as_deref());
        for name in path.components() {
            above = above.join(name);
            dir = self.enter(&dir, name, ignore_file_of(&above).as_deref());
        }
        dir
    }

    /// Judges one name in a directory. `is_dir` is false for a symlink, whatever it points to.
    pub fn judge(&self, dir: &DirRules, name: &[u8], is_dir: bool) -> RuleVerdict {
        let path = join(&dir.path, name);
        match self.decide(
            dir,
            Subject {
                path: &path,
                name,
                is_dir,
            },
        ) {
            Decision::Take => RuleVerdict::Capture,
            Decision::TakeUnless(peek) => RuleVerdict::Peek(peek),
            Decision::Covered { descend: true, .. } => RuleVerdict::OnlyTracked,
            Decision::Covered { cover, .. } if cover.is_secret => RuleVerdict::Secret(cover.rule),
            Decision::Covered { cover, .. } => RuleVerdict::LeaveOut(cover.rule),
        }
    }

    /// Whether these rules would have captured a path of this kind and size; `ignore_file_of` gives
    /// the `.gitignore` of a directory. A file that is secret by content only counts as captured.
    pub fn would_capture(
        &self,
        path: &RelPath,
        is_dir: bool,
        size_bytes: u64,
        ignore_file_of: &dyn Fn(&RelPath) -> Option<Vec<u8>>,
    ) -> bool {
        if path.components().any(is_dot_git) {
            return false;
        }
        if !is_dir
            && self
                .sources
                .max_file_size_bytes
                .is_some_and(|limit| size_bytes > limit)
        {
            return false;
        }
        !matches!(
            self.judge_at(path, is_dir, ignore_file_of),
            RuleVerdict::LeaveOut(_) | RuleVerdict::Secret(_)
        )
    }

    /// Judges a path from the root down, as a scan would.
    pub fn judge_at(
        &self,
        path: &RelPath,
        is_dir: bool,
        ignore_file_of: &dyn Fn(&RelPath) -> Option<Vec<u8>>,
    ) -> RuleVerdict {
        let mut above = RelPath::root();
        let mut dir = self.enter_root(ignore_file_of(&above).as_deref());
        let mut names = path.components().peekable();
        while let Some(name) = names.next() {
            let is_last = names.peek().is_none();
            let verdict = self.judge(&dir, name, is_dir || !is_last);
            if is_last || matches!(verdict, RuleVerdict::LeaveOut(_) | RuleVerdict::Secret(_)) {
                return verdict;
            }
            above = above.join(name);
            dir = self.enter(&dir, name, ignore_file_of(&above).as_deref());
        }
        RuleVerdict::Capture
    }

    /// Whether a file is captured even if it is a private key: the user allows it, or the project's
    /// git tracks it.
    pub fn takes_secret_content(&self, path: &RelPath) -> bool {
        let dir = self.on_the_way_to(&path.parent().unwrap_or_default(), &|_| None);
        let subject = Subject {
            path: path.as_bytes(),
            name: path.name(),
            is_dir: false,
        };
        self.is_tracked(subject) || self.lets_through(&dir, subject)
    }

    fn decide(&self, dir: &DirRules, subject: Subject<'_>) -> Decision {
        let covered = |rule: &str, is_secret| Decision::Covered {
            cover: Cover {
                rule: rule.to_owned(),
                is_secret,
            },
            descend: self.has_exception_below(subject, is_secret),
        };
        if self.is_ours(dir, subject) {
            return covered(OWN_RULE, false);
        }
        let mut names = dir.path.rsplit(|byte| *byte == b'/');
        let dir_name = names.next().unwrap_or_default();
        let sensitive = secrets::sensitive(dir_name, subject.name, subject.is_dir);
        // Below a directory that the user named only secrets stay out.
        let above = dir.cover.as_deref().filter(|_| !dir.takes_ignored);
        let may_be_let_through = match above {
            Some(above) => above.is_secret || self.is_named(subject),
            None => sensitive.is_some(),
        };
        if may_be_let_through && self.lets_through(dir, subject) {
            return Decision::Take;
        }
        let taken = match sensitive {
            Some(Sensitive::Environment { rule }) => return covered(rule, true),
            Some(_) if self.is_tracked(subject) => return Decision::Take,
            Some(Sensitive::Named { rule }) => return covered(rule, true),
            Some(Sensitive::ByContent(peek)) => Decision::TakeUnless(peek),
            None => Decision::Take,
        };
        let (rule, is_secret) = match above {
            Some(above) => (above.rule.clone(), above.is_secret),
            None if dir.takes_ignored => return taken,
            None => match self.leaving_out(dir, subject) {
                Some(rule) => (rule, false),
                None => return taken,
            },
        };
        if self.is_tracked(subject) {
            Decision::Take
        } else if !is_secret && self.is_named(subject) {
            taken
        } else {
            covered(&rule, is_secret)
        }
    }

    /// Whether this program keeps the path itself.
    fn is_ours(&self, dir: &DirRules, subject: Subject<'_>) -> bool {
        let is_directory =
            || dir.path.is_empty() && subject.is_dir && OWN_DIRECTORIES.contains(&subject.name);
        is_directory()
            || !subject.is_dir && state_file::is_temporary(subject.name)
            || self
                .sources
                .own_files
                .binary_search_by(|path| path.as_bytes().cmp(subject.path))
                .is_ok()
    }

    fn is_named(&self, subject: Subject<'_>) -> bool {
        self.sources
            .named
            .binary_search_by(|path| path.as_bytes().cmp(subject.path))
            .is_ok()
    }

    fn is_any_named_below(&self, dir: &[u8]) -> bool {
        let first = [dir, b"/"].concat();
        let at = self
            .sources
            .named
            .partition_point(|path| *path.as_bytes() < *first);
        self.sources
            .named
            .get(at)
            .is_some_and(|path| path.as_bytes().starts_with(&first))
    }

    /// Whether the user named this directory although a rule leaves it or an ancestor out.
    fn is_named_in_spite(&self, dir: &DirRules, subject: Subject<'_>) -> bool {
        self.is_named(subject) && (dir.cover.is_some() || self.leaving_out(dir, subject).is_some())
    }

    /// Whether the index names this file, or this directory as a nested repository.
    fn is_tracked(&self, subject: Subject<'_>) -> bool {
        if subject.is_dir {
            self.sources.tracked.is_repository(subject.path)
        } else {
            self.sources.tracked.contains(subject.path)
        }
    }

    fn has_exception_below(&self, subject: Subject<'_>, is_secret: bool) -> bool {
        subject.is_dir
            && (self.sources.tracked.any_below(subject.path)
                || self.is_any_named_below(subject.path)
                || is_secret && self.sensitive_allow.names_below(subject.path))
    }

    fn lets_through(&self, dir: &DirRules, subject: Subject<'_>) -> bool {
        let deciding = self.sensitive_allow.deciding(subject, 0);
        deciding.map_or(dir.lets_sensitive_through, |pattern| !pattern.is_negated)
    }

    /// Returns the rule that leaves a path out, if any, as shown to the user.
    fn leaving_out(&self, dir: &DirRules, subject: Subject<'_>) -> Option<String> {
        if let Some(pattern) = self.excludes.deciding(subject, 0) {
            return (!pattern.is_negated).then(|| text::escape_bytes(&pattern.text));
        }
        if let Some((pattern, base_len)) = dir.deciding(subject) {
            let base = &subject.path[..base_len];
            let slash = if base.is_empty() { "" } else { "/" };
            let shown = |bytes| text::escape_bytes(bytes);
            return (!pattern.is_negated)
                .then(|| format!("{}{slash}.gitignore: {}", shown(base), shown(&pattern.text)));
        }
        for file in &self.above {
            let path = [&*file.way, subject.path].join(&b'/');
            let subject = Subject {
                path: &path,
                ..subject
            };
            if let Some(pattern) = file.patterns.deciding(subject, 0) {
                let up = "../".repeat(file.way.split(|byte| *byte == b'/').count());
                let shown = text::escape_bytes(&pattern.text);
                return (!pattern.is_negated).then(|| format!("{up}.gitignore: {shown}"));
            }
        }
        let pattern = self.store_list.deciding(subject, 0)?;
        (!pattern.is_negated).then(|| text::escape_bytes(&pattern.text))
    }
}

/// Parses ignore files above the root, nearest first. None counts if together they leave out the
/// root itself: git then takes nothing in it for its own.
fn patterns_above(files: &[IgnoreFileAbove]) -> Vec<PatternsAbove> {
    let parse = |file: &IgnoreFileAbove| PatternsAbove {
        patterns: PatternList::parse(&file.text),
        way: file.way.clone(),
    };
    let files: Vec<PatternsAbove> = files.iter().map(parse).collect();
    let depth = |file: &PatternsAbove| file.way.split(|byte| *byte == b'/').count();
    let deepest = files.iter().map(depth).max().unwrap_or_default();
    let is_left_out = |levels_up: usize| {
        let decide = |file: &PatternsAbove| {
            let names: Vec<&[u8]> = file.way.split(|byte| *byte == b'/').collect();
            let names = &names[..names.len().checked_sub(levels_up)?];
            let (path, name) = (names.join(&b'/'), *names.last()?);
            let (path, is_dir) = (&*path, true);
            let subject = Subject { path, name, is_dir };
            file.patterns
                .deciding(subject, 0)
                .map(|pattern| !pattern.is_negated)
        };
        files.iter().find_map(decide).unwrap_or_default()
    };
    if (0..deepest).any(is_left_out) {
        return Vec::new();
    }
    files
}

/// Whether a directory has the `HEAD` of a repository: the name of a ref, or an id.
fn has_head(dir: &Path) -> bool {
    let is_id = |text: &[u8]| text.len() >= 40 && text.iter().all(u8::is_ascii_hexdigit);
    let head = read_plain(&dir.join("HEAD"), MAX_TAG_BYTES);
    let is_one = |text: Vec<u8>| text.starts_with(b"ref: ") || is_id(text.trim_ascii());
    head.is_ok_and(|text| text.is_some_and(is_one))
}

/// Whether a directory has a valid tag of <https://bford.info/cachedir/>.
fn is_cache(dir: &Path) -> bool {
    let tag = read_plain(&dir.join(TAG_NAME), MAX_TAG_BYTES);
    tag.is_ok_and(|text| text.is_some_and(|text| text.starts_with(CACHE_SIGNATURE)))
}

fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    if dir.is_empty() {
        name.to_vec()
    } else {
        [dir, b"/", name].concat()
    }
}
