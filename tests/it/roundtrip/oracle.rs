//! The naive judge: the expected directory after a restore, computed from plain pictures alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::bench::tree::{Kind, Node, Tree, ancestors_and_self, at_or_below};

/// A directory at one moment, and what a checkpoint of it holds.
#[derive(Clone, Debug)]
pub struct State {
    pub tree: Tree,
    rules: Rules,
    held: BTreeSet<Vec<u8>>,
    /// Paths that a safety checkpoint examined whatever the rules say, and whether each is a
    /// directory in the target: one that it does not hold was not there.
    looked_at: BTreeMap<Vec<u8>, bool>,
}

impl State {
    pub fn observe(root: &Path) -> Self {
        let tree = Tree::capture(root).without(|path| path == b".git");
        let rules =
            Rules::parse(&std::fs::read_to_string(root.join(".gitignore")).unwrap_or_default());
        let is_held =
            |path: &[u8], node: &Node| !node.is_special() && !rules.leave_out(path, node.is_dir());
        let held = tree
            .nodes
            .iter()
            .filter(|(path, node)| is_held(path, node))
            .map(|(path, _)| path.clone())
            .collect();
        Self {
            tree,
            rules,
            held,
            looked_at: BTreeMap::new(),
        }
    }

    /// The same moment as held by the safety checkpoint before a restore of `target`: whatever the
    /// target holds or examined is saved too, even if it is ignored now.
    pub fn saved_for(&self, target: &Self) -> Self {
        let mut saved = self.clone();
        let known =
            |path: &Vec<u8>| target.held.contains(path) || target.looked_at.contains_key(path);
        let also = self
            .tree
            .nodes
            .iter()
            .filter(|(path, node)| !node.is_special() && known(path));
        saved.held.extend(also.map(|(path, _)| path.clone()));
        saved.looked_at = target
            .held
            .iter()
            .map(|path| (path.clone(), target.tree.nodes[path].is_dir()))
            .collect();
        saved
    }

    /// Whether this state's own rules would have captured such a path.
    fn would_hold(&self, path: &[u8], is_dir: bool) -> bool {
        let judged =
            self.looked_at.get(path) == Some(&is_dir) || !self.rules.leave_out(path, is_dir);
        judged && !self.tree.nodes.get(path).is_some_and(Node::is_special)
    }

    /// The nodes below a directory of this state.
    fn below<'s>(&'s self, dir: &'s [u8]) -> impl Iterator<Item = (&'s Vec<u8>, &'s Node)> {
        let inside = move |path: &[u8]| path != dir && at_or_below(path, dir);
        self.tree.nodes.iter().filter(move |(path, _)| inside(path))
    }
}

/// The expected result of a restore.
#[derive(Debug, Default)]
pub struct Verdict {
    tree: Tree,
    /// Paths about and below which nothing is asserted: the target could not hold what was here.
    unsaid: Vec<Vec<u8>>,
    /// Reasons to refuse: something in no checkpoint is where the target needs room.
    pub must_refuse: Vec<String>,
    /// Paths for which the promise allows either outcome.
    either_way: Vec<String>,
}

impl Verdict {
    pub fn may_refuse(&self) -> bool {
        !self.must_refuse.is_empty() || !self.either_way.is_empty()
    }

    pub fn differences(&self, found: &Tree) -> Vec<String> {
        let said =
            |tree: &Tree| tree.without(|path| self.unsaid.iter().any(|top| path == top.as_slice()));
        said(&self.tree).diff(&said(found))
    }
}

/// The result of a restore of `now` to `target`, when `saved` is what the safety checkpoint holds.
pub fn expected(now: &State, saved: &State, target: &State) -> Verdict {
    let mut verdict = Verdict::default();
    for path in &target.held {
        find_obstacles(path, now, saved, target, &mut verdict);
    }
    let mut nodes: BTreeMap<Vec<u8>, Node> = target
        .held
        .iter()
        .map(|path| (path.clone(), target.tree.nodes[path].clone()))
        .collect();
    // The deepest first: a directory is removed only if nothing below it stays.
    for (path, node) in now.tree.nodes.iter().rev() {
        if target.held.contains(path) || replaced_above(path, target) {
            continue;
        }
        // A link may stand for a directory that was left out, unless the restore to undo wrote it.
        let is_link = matches!(node.kind, Kind::Symlink(_))
            && target.looked_at.get(path.as_slice()) != Some(&false);
        let goes = saved.held.contains(path)
            && target.would_hold(path, node.is_dir())
            && (!is_link || target.would_hold(path, true));
        let keeps_something = nodes
            .keys()
            .any(|other| other != path && at_or_below(other, path));
        if !goes || (node.is_dir() && keeps_something) {
            nodes.insert(path.clone(), node.clone());
        }
    }
    verdict.tree = Tree { nodes };
    verdict.unsaid = target
        .tree
        .nodes
        .iter()
        .filter(|(_, node)| node.is_special())
        .map(|(path, _)| path.clone())
        .collect();
    verdict
}

/// Whether the target has a file or link at a directory above this path.
fn replaced_above(path: &[u8], target: &State) -> bool {
    ancestors_and_self(path)
        .filter(|above| above.len() < path.len())
        .any(|above| target.held.contains(above) && !target.tree.nodes[above].is_dir())
}

fn find_obstacles(path: &[u8], now: &State, saved: &State, target: &State, verdict: &mut Verdict) {
    let Some(standing) = now.tree.nodes.get(path) else {
        return;
    };
    let wanted = &target.tree.nodes[path];
    let name = path.escape_ascii().to_string();
    if standing.is_special() {
        verdict.must_refuse.push(name);
    } else if !wanted.is_dir() && standing.is_dir() {
        for (below, node) in now.below(path) {
            let name = below.escape_ascii().to_string();
            if node.is_special() || (!saved.held.contains(below) && !node.is_dir()) {
                verdict.must_refuse.push(name);
            } else if !saved.held.contains(below) || !target.would_hold(below, node.is_dir()) {
                verdict.either_way.push(name);
            }
        }
    } else if wanted.is_dir() && !standing.is_dir() && now.rules.leave_out(path, false) {
        verdict.either_way.push(name);
    }
}

/// The rules of one `.gitignore` at the root, in the few forms that the generator writes.
#[derive(Clone, Debug, Default)]
struct Rules(Vec<Rule>);

#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "any of the marks of a rule goes with any other"
)]
struct Rule {
    name: Vec<u8>,
    suffix_only: bool,
    at_root_only: bool,
    directories_only: bool,
    takes_back: bool,
}

impl Rules {
    fn parse(text: &str) -> Self {
        let rule = |line: &str| {
            let (takes_back, line) = line
                .strip_prefix('!')
                .map_or((false, line), |rest| (true, rest));
            let (directories_only, line) = line
                .strip_suffix('/')
                .map_or((false, line), |rest| (true, rest));
            let (at_root_only, line) = line
                .strip_prefix('/')
                .map_or((false, line), |rest| (true, rest));
            let (suffix_only, line) = line
                .strip_prefix('*')
                .map_or((false, line), |rest| (true, rest));
            Rule {
                name: line.into(),
                suffix_only,
                at_root_only,
                directories_only,
                takes_back,
            }
        };
        Self(text.lines().map(rule).collect())
    }

    /// Whether the path or a directory above it is left out.
    fn leave_out(&self, path: &[u8], is_dir: bool) -> bool {
        ancestors_and_self(path).any(|part| self.match_one(part, part.len() < path.len() || is_dir))
    }

    fn match_one(&self, path: &[u8], is_dir: bool) -> bool {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        let matches = |rule: &&Rule| {
            (is_dir || !rule.directories_only)
                && (!rule.at_root_only || name.len() == path.len())
                && if rule.suffix_only {
                    name.ends_with(&rule.name)
                } else {
                    name == rule.name.as_slice()
                }
        };
        self.0
            .iter()
            .rev()
            .find(matches)
            .is_some_and(|rule| !rule.takes_back)
    }
}

#[test]
fn the_last_matching_rule_decides_and_a_directory_left_out_hides_all_below() {
    let rules = Rules::parse("*.log\n!keep.log\nign2/\n/a");
    for (path, is_dir, out) in [
        ("x.log", false, true),
        ("d/keep.log", false, false),
        ("ign2", false, false),
        ("ign2", true, true),
        ("d/ign2/keep.log", false, true),
        ("a", false, true),
        ("d/a", false, false),
        ("a/b", false, true),
    ] {
        assert_eq!(rules.leave_out(path.as_bytes(), is_dir), out, "{path}");
    }
}

#[test]
fn a_directory_restored_to_itself_stays_as_it_is() {
    let sandbox = crate::bench::Sandbox::new();
    let mut random = super::generator::Random::new(11);
    for _ in 0..crate::bench::cases(200) {
        let told = random.edit(sandbox.root());
        let now = State::observe(sandbox.root());
        let verdict = expected(&now, &now.saved_for(&now), &now);
        assert!(
            verdict.must_refuse.is_empty(),
            "{told}: {:?}",
            verdict.must_refuse
        );
        assert!(
            verdict.differences(&now.tree).is_empty(),
            "{told}: {:?}",
            verdict.differences(&now.tree)
        );
    }
}
