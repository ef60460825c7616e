//! What rules left out of a checkpoint: counted by rule, and named where there are few.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::model::json::{JsonSchema, Serialize, paths, published_as};
use crate::model::{Listing, PathName, RelPath, WhyNot};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    pub directories: BTreeSet<RelPath>,
    pub files: BTreeSet<RelPath>,
    pub secrets: BTreeSet<RelPath>,
    /// Not captured in a complete checkpoint: special files, too large ones, names that git
    /// refuses; with the reason.
    pub not_captured: BTreeMap<RelPath, &'static str>,
    /// Number of files and directories that each rule left out.
    pub by_rule: BTreeMap<String, u64>,
}

impl LeftOut {
    pub fn of(listing: &Listing) -> Self {
        let mut left_out = Self::default();
        for (path, item) in listing.uncaptured(|_| true) {
            let rule = match &item.why {
                WhyNot::Secret(rule) => {
                    left_out.secrets.insert(path);
                    rule
                }
                WhyNot::LeftOut(rule) if item.is_dir => {
                    left_out.directories.insert(path);
                    rule
                }
                WhyNot::LeftOut(rule) => {
                    left_out.files.insert(path);
                    rule
                }
                why if why.is_recorded() && !why.makes_partial() => {
                    left_out.not_captured.insert(path, why.in_words());
                    continue;
                }
                _ => continue,
            };
            *left_out.by_rule.entry(rule.clone()).or_default() += 1;
        }
        left_out
    }

    pub fn is_empty(&self) -> bool {
        self.directories.is_empty()
            && self.files.is_empty()
            && self.secrets.is_empty()
            && self.not_captured.is_empty()
    }

    /// Returns one line per path, which is `shown` so; compared to tell whether the set changed.
    pub fn to_text(&self, shown: &dyn Fn(&RelPath) -> String) -> String {
        let mut text = String::new();
        for (word, paths) in [
            ("dir", &self.directories),
            ("file", &self.files),
            ("secret", &self.secrets),
        ] {
            for path in paths {
                let _ = writeln!(text, "{word} {}", shown(path));
            }
        }
        for (path, why) in &self.not_captured {
            let _ = writeln!(text, "not-captured {} ({why})", shown(path));
        }
        text
    }
}

published_as! { LeftOut, LeftOutJson, |left_out| LeftOutJson::new(left_out, false); }

/// What the rules left out.
#[derive(Serialize, JsonSchema)]
pub struct LeftOutJson {
    pub directories: Vec<PathName>,
    /// Number of single files.
    pub file_count: usize,
    /// These files; null unless `status -v` asks for them.
    pub files: Option<Vec<PathName>>,
    pub secrets: Vec<PathName>,
    pub by_rule: Vec<RuleCount>,
}

/// How many paths a rule left out.
#[derive(Serialize, JsonSchema)]
pub struct RuleCount {
    pub rule: String,
    pub count: u64,
}

impl LeftOutJson {
    pub fn new(left_out: &LeftOut, has_files: bool) -> Self {
        let rule = |(rule, count): (&String, &u64)| RuleCount {
            rule: rule.clone(),
            count: *count,
        };
        Self {
            directories: paths(&left_out.directories),
            file_count: left_out.files.len(),
            files: has_files.then(|| paths(&left_out.files)),
            secrets: paths(&left_out.secrets),
            by_rule: left_out.by_rule.iter().map(rule).collect(),
        }
    }
}
