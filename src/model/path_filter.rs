//! Patterns that narrow what a command acts on: `--glob` and `--exclude`.

use crate::base::Malformed;
use crate::model::{RelPath, Scope};

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
    use crate::model::state::scope::ScopePart;

    fn scope(globs: &[&str]) -> Option<Scope> {
        let parts = globs
            .iter()
            .map(|glob| ScopePart::glob(glob.as_bytes()).unwrap());
        (!globs.is_empty()).then(|| Scope::new(parts.collect()))
    }

    fn filter(only: &[&str], except: &[&str]) -> PathFilter {
        let (only, except) = (scope(only), scope(except));
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
