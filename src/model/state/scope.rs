//! What a scoped checkpoint or a command is limited to: paths, each with everything below, and patterns.

use crate::base::Malformed;
use crate::base::text::{escape_bytes, percent_decode, percent_encode};
use crate::model::path_pattern::has_marks;
use crate::model::{PathPattern, RelPath};

/// Limits of a scoped checkpoint: nothing else is captured or restored. A scope without parts
/// covers no file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Sorted, paths before patterns.
    parts: Vec<ScopePart>,
    path_count: usize,
}

/// One path or pattern of a scope.
#[derive(Clone, Debug)]
pub struct ScopePart {
    kind: PartKind,
    pattern: PathPattern,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PartKind {
    /// A literal path.
    Path(RelPath),
    Glob(Vec<u8>),
}

/// Field for a scope without parts, as an empty list means no scope.
const NOTHING: &str = "nothing";

impl Scope {
    /// Makes a scope; order and repetition of parts do not matter.
    pub fn new(mut parts: Vec<ScopePart>) -> Self {
        parts.sort_by(|one, other| one.kind.cmp(&other.kind));
        parts.dedup();
        Self {
            path_count: parts.iter().filter(|part| part.as_path().is_some()).count(),
            parts,
        }
    }

    pub fn parts(&self) -> &[ScopePart] {
        &self.parts
    }

    pub fn covers(&self, path: &RelPath) -> bool {
        let (paths, patterns) = self.parts.split_at(self.path_count);
        let has = |wanted: &RelPath| {
            paths
                .binary_search_by(|part| part.as_path().cmp(&Some(wanted)))
                .is_ok()
        };
        // A list of paths can be long.
        let is_named =
            !paths.is_empty() && (has(path) || path.ancestors().any(|above| has(&above)));
        is_named || patterns.iter().any(|part| part.covers(path))
    }

    /// As [`Self::covers`], for a file; a pattern that ends in a slash means directories.
    pub fn covers_file(&self, file: &RelPath) -> bool {
        let is_covered = |part: &ScopePart| part.pattern.matches_file(file);
        self.parts.iter().any(is_covered)
    }

    /// Whether this scope covers everything that `other` covers; a pattern counts if it is itself a
    /// part or lies below a path.
    pub fn holds(&self, other: &Scope) -> bool {
        let held = |wanted: &ScopePart| match &wanted.kind {
            PartKind::Path(path) => self.covers(path),
            PartKind::Glob(_) => self.parts.contains(wanted) || self.covers(&wanted.top()),
        };
        other.parts.iter().all(held)
    }

    /// Encodes one field for each part, for line-based documents; never empty.
    pub fn to_fields(&self) -> Vec<String> {
        if self.parts.is_empty() {
            vec![NOTHING.to_owned()]
        } else {
            self.parts.iter().map(ScopePart::field).collect()
        }
    }

    /// Parses a scope from its fields; `None` without fields.
    ///
    /// # Errors
    /// An invalid field.
    pub fn from_fields<'f>(
        fields: impl Iterator<Item = &'f str>,
    ) -> Result<Option<Self>, Malformed> {
        let fields: Vec<&str> = fields.collect();
        match fields.as_slice() {
            [] => Ok(None),
            [NOTHING] => Ok(Some(Self::default())),
            some => {
                let parts = some.iter().map(|field| ScopePart::from_field(field));
                Ok(Some(Self::new(parts.collect::<Result<_, _>>()?)))
            }
        }
    }
}

impl ScopePart {
    pub fn path(path: RelPath) -> Self {
        Self {
            pattern: PathPattern::of_path(path.clone()),
            kind: PartKind::Path(path),
        }
    }

    /// Makes a pattern part; `None` if it can never match.
    pub fn glob(typed: &[u8]) -> Option<Self> {
        let pattern = PathPattern::of_glob(typed, None);
        pattern.can_match().then(|| Self {
            pattern,
            kind: PartKind::Glob(typed.to_vec()),
        })
    }

    pub fn covers(&self, path: &RelPath) -> bool {
        self.pattern.matches(path)
    }

    /// Returns the path, unless this is a pattern.
    pub fn as_path(&self) -> Option<&RelPath> {
        match &self.kind {
            PartKind::Path(path) => Some(path),
            PartKind::Glob(_) => None,
        }
    }

    /// Returns the path itself, or the directory that contains all possible matches of the pattern:
    /// its part before the first glob character, if it is a path pattern.
    pub fn top(&self) -> RelPath {
        let PartKind::Glob(typed) = &self.kind else {
            return self.as_path().cloned().unwrap_or_default();
        };
        let body = typed.strip_prefix(b"./").unwrap_or(typed);
        let names: Vec<&[u8]> = body
            .strip_prefix(b"/")
            .unwrap_or(body)
            .split(|byte| *byte == b'/')
            .collect();
        let is_literal = |name: &&&[u8]| !has_marks(name) && !name.contains(&b'\\');
        let above = names[..names.len() - 1].iter().take_while(is_literal);
        let above: Vec<&[u8]> = above.copied().collect();
        RelPath::new(&above.join(&b'/')).unwrap_or_default()
    }

    /// Returns the bytes by which the part can be named again.
    pub fn typed(&self) -> &[u8] {
        match &self.kind {
            PartKind::Path(path) if path.is_root() => b".",
            PartKind::Path(path) => path.as_bytes(),
            PartKind::Glob(typed) => typed,
        }
    }

    /// Returns the part as the user types it, escaped.
    pub fn shown(&self) -> String {
        match &self.kind {
            PartKind::Path(path) if path.is_root() => ".".to_owned(),
            PartKind::Path(path) => path.to_string(),
            PartKind::Glob(typed) => escape_bytes(typed),
        }
    }

    fn field(&self) -> String {
        match &self.kind {
            PartKind::Path(path) => format!("path {}", percent_encode(path.as_bytes())),
            PartKind::Glob(typed) => format!("glob {}", percent_encode(typed)),
        }
    }

    fn from_field(field: &str) -> Result<Self, Malformed> {
        let (kind, encoded) = field
            .split_once(' ')
            .ok_or("a part of the scope has no kind")?;
        let bytes = percent_decode(encoded).ok_or("a part of the scope is not percent-encoded")?;
        match kind {
            "path" => RelPath::new(&bytes)
                .map(Self::path)
                .map_err(|why| format!("a part of the scope: {why}").into()),
            "glob" => {
                Self::glob(&bytes).ok_or_else(|| "a part of the scope can match nothing".into())
            }
            _ => Err("a part of the scope is of an unknown kind".into()),
        }
    }
}

impl PartialEq for ScopePart {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl Eq for ScopePart {}

/// Which of the paths that a command covers it acts on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathFilter {
    /// If given, only paths that one of these covers.
    pub only: Option<Scope>,
    /// Paths left as they are.
    pub except: Option<Scope>,
}

impl PathFilter {
    pub fn is_empty(&self) -> bool {
        self.only.is_none() && self.except.is_none()
    }

    /// Whether it acts on this file.
    pub fn passes(&self, file: &RelPath) -> bool {
        let is_covered = |scope: &Scope| scope.covers_file(file);
        self.only.as_ref().is_none_or(is_covered) && !self.except.as_ref().is_some_and(is_covered)
    }

    /// Whether it acts on this directory.
    pub fn passes_dir(&self, dir: &RelPath) -> bool {
        let is_covered = |scope: &Scope| scope.covers(dir);
        self.only.as_ref().is_none_or(is_covered) && !self.except.as_ref().is_some_and(is_covered)
    }

    /// Encodes one field for each pattern, for line-based documents.
    pub fn to_fields(&self) -> Vec<String> {
        let fields = |lead: &'static str, scope: &Option<Scope>| {
            let parts = scope.as_ref().map(Scope::to_fields).unwrap_or_default();
            parts
                .into_iter()
                .map(move |field| format!("{lead} {field}"))
        };
        fields("only", &self.only)
            .chain(fields("except", &self.except))
            .collect()
    }

    /// # Errors
    /// An invalid field.
    pub fn from_fields<'f>(fields: impl Iterator<Item = &'f str>) -> Result<Self, Malformed> {
        let fields: Vec<&str> = fields.collect();
        let part = |lead: &str| {
            let of_it = fields
                .iter()
                .filter_map(|field| field.strip_prefix(lead)?.strip_prefix(' '));
            Scope::from_fields(of_it)
        };
        let (only, except) = (part("only")?, part("except")?);
        Ok(Self { only, except })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::new(text.as_bytes()).unwrap()
    }

    fn scope(paths: &[&str], globs: &[&str]) -> Scope {
        let paths = paths.iter().map(|text| ScopePart::path(path(text)));
        Scope::new(
            paths
                .chain(
                    globs
                        .iter()
                        .map(|text| ScopePart::glob(text.as_bytes()).unwrap()),
                )
                .collect(),
        )
    }

    #[test]
    fn a_path_covers_itself_and_all_below_it_a_glob_what_it_matches() {
        let scope = scope(&["docs", "[id].tsx"], &["src/*.rs"]);
        for covered in ["docs", "docs/a/b", "src/a.rs", "[id].tsx"] {
            assert!(scope.covers(&path(covered)), "{covered}");
        }
        for outside in ["doc", "docs2/a", "src/deep/a.rs", "i.tsx", "src", ""] {
            assert!(!scope.covers(&path(outside)), "{outside}");
        }
        assert!(!Scope::default().covers(&path("")) && !Scope::default().covers(&path("a")));
    }

    #[test]
    fn a_scope_comes_back_from_its_fields_whatever_its_names_hold() {
        for scope in [
            Scope::default(),
            scope(&["", "a b\n%41"], &["*.rs", "a\u{fc}*"]),
            scope(&["nothing"], &[]),
        ] {
            let fields = scope.to_fields();
            assert!(!fields.is_empty() && fields.iter().all(|field| !field.contains('\n')));
            assert_eq!(
                Scope::from_fields(fields.iter().map(String::as_str)),
                Ok(Some(scope))
            );
        }
        assert_eq!(Scope::from_fields(std::iter::empty()), Ok(None));
        for bad in ["path", "path ../x", "path %zz", "glob [", "tree x", ""] {
            assert!(Scope::from_fields(std::iter::once(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_scope_holds_another_only_where_that_is_certain() {
        let all = scope(&[""], &[]);
        let some = scope(&["src"], &["*.md"]);
        assert!(all.holds(&some) && some.holds(&some) && some.holds(&Scope::default()));
        assert!(some.holds(&scope(&["src/a.rs", "x/y.md"], &["*.md"])));
        for held in [
            "src/*.py",
            "./src/a/?.rs",
            "/src/**",
            "src/[ab]/",
            "src/a*/**/x",
        ] {
            assert!(some.holds(&scope(&[], &[held])), "{held}");
        }
        for free in "*.py s*/a **/src/a src* src\\*/a* src*/ ./*.py".split(' ') {
            assert!(!some.holds(&scope(&[], &[free])), "{free}");
        }
        assert!(
            !some.holds(&all)
                && !some.holds(&scope(&[], &["a*.md"]))
                && !some.holds(&scope(&["lib"], &[]))
        );
    }

    fn patterns(globs: &[&str]) -> Option<Scope> {
        let parts = globs
            .iter()
            .map(|glob| ScopePart::glob(glob.as_bytes()).unwrap());
        (!globs.is_empty()).then(|| Scope::new(parts.collect()))
    }

    fn filter(only: &[&str], except: &[&str]) -> PathFilter {
        let (only, except) = (patterns(only), patterns(except));
        PathFilter { only, except }
    }

    #[test]
    fn a_path_passes_that_is_wanted_and_not_excluded() {
        for (only, except, path, expected) in [
            (&[][..], &[][..], "a", true),
            (&["*.rs"], &[], "src/a.rs", true),
            (&["*.rs"], &[], "src/a.md", false),
            (&["src"], &[], "src/a.md", true),
            (&[], &["*.log"], "x/a.log", false),
            (&[], &["*.log"], "x/a", true),
            (&["src/*"], &["*.log"], "src/a.log", false),
            (&["src/"], &[], "src/deep/a", true),
            (&["src/"], &[], "x/src", false),
            (&[], &["src/"], "x/src", true),
            (&["a/src/"], &[], "a/src", false),
        ] {
            let path = RelPath::new(path.as_bytes()).unwrap();
            assert_eq!(
                filter(only, except).passes(&path),
                expected,
                "{only:?} {except:?} {path}"
            );
        }
        let (src, x) = (RelPath::new(b"x/src").unwrap(), RelPath::new(b"x").unwrap());
        for filter in [filter(&["src/"], &[]), filter(&["src"], &[])] {
            assert!(filter.passes_dir(&src) && !filter.passes_dir(&x));
        }
    }

    #[test]
    fn a_filter_comes_back_from_its_fields() {
        for filter in [
            filter(&[], &[]),
            filter(&["*.rs", "a b\n"], &[]),
            filter(&["only"], &["except", "*"]),
        ] {
            let fields = filter.to_fields();
            let read = PathFilter::from_fields(fields.iter().map(String::as_str));
            assert_eq!(read, Ok(filter));
        }
        assert!(PathFilter::from_fields(["only glob ["].into_iter()).is_err());
    }
}
