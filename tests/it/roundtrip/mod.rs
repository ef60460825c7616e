//! Random edits, kind changes, names and rules between checkpoints, judged by a naive picture of
//! the directory.
//!
//! The seed is printed; `CHECKPOINT_SEED` repeats it, `CHECKPOINT_CASES` scales how many.

pub mod generator;
pub mod oracle;

use crate::bench::{Sandbox, cases, sample};
use generator::{KINDS, Random};
use oracle::State;

/// Number of cases in one directory, so that old files do not pile up.
const CASES_PER_SANDBOX: usize = 25;

struct Story {
    sandbox: Sandbox,
    /// Every checkpoint that a restore may choose.
    known: Vec<(String, State)>,
    told: Vec<String>,
}

impl Story {
    fn new(real_clock: bool) -> Self {
        let sandbox = Sandbox::new();
        sandbox.user_config("keep = 1000\n");
        if real_clock {
            sandbox.real_clock();
        }
        Self {
            sandbox,
            known: Vec::new(),
            told: Vec::new(),
        }
    }

    fn now(&self) -> State {
        State::observe(self.sandbox.root())
    }

    fn tell(&mut self, what: String) {
        self.told.push(what);
    }

    fn create(&mut self) {
        let state = self.now();
        let id = self.sandbox.create("case");
        self.tell(format!("create {id}"));
        assert_eq!(self.now().tree, state.tree, "create changed the directory");
        self.known.push((id, state));
    }

    /// Runs a restore, undo or redo towards `target`, compares, and returns what its safety
    /// checkpoint must hold.
    ///
    /// `None` if it was refused, with reason and without any change, or had nothing to do, which is
    /// no step.
    fn go(&mut self, args: &[&str], target: &State) -> Option<State> {
        let before = self.now();
        let safety = before.saved_for(target);
        let run = self.sandbox.run(args);
        self.tell(format!("{args:?} gave {}", run.code));
        let after = self.now();
        let verdict = oracle::expected(&before, &safety, target);
        match run.code {
            0 => {
                let lines = verdict.differences(&after.tree);
                assert!(
                    lines.is_empty(),
                    "{}\n{run}\n{}",
                    lines.join("\n"),
                    self.told.join("\n")
                );
                assert!(
                    verdict.must_refuse.is_empty(),
                    "{:?} went unseen\n{}",
                    verdict.must_refuse,
                    self.told.join("\n")
                );
                let is_step = !run.stdout.starts_with("Already at ");
                assert!(is_step || before.tree.diff(&after.tree).is_empty(), "{run}");
                is_step.then_some(safety)
            }
            4 => {
                let lines = before.tree.diff(&after.tree);
                assert!(
                    lines.is_empty(),
                    "a refusal changed\n{}\n{}",
                    lines.join("\n"),
                    self.told.join("\n")
                );
                assert!(
                    verdict.may_refuse(),
                    "refused without need\n{run}\n{}",
                    self.told.join("\n")
                );
                None
            }
            _ => panic!("{run}\n{}", self.told.join("\n")),
        }
    }

    /// Restores, undoes and redoes.
    fn restore_undo_redo(&mut self, id: &str, target: &State, between: impl FnOnce(&mut Self)) {
        let Some(former) = self.go(&["restore", id, "--yes"], target) else {
            return;
        };
        between(self);
        let Some(before_undo) = self.go(&["undo", "--yes"], &former) else {
            return;
        };
        self.go(&["redo", "--yes"], &before_undo);
    }
}

fn random_case(story: &mut Story, random: &mut Random) {
    for _ in 0..=random.below(6) {
        let told = random.edit(story.sandbox.root());
        story.tell(told);
    }
    story.create();
    for _ in 0..random.below(4) {
        let told = random.edit(story.sandbox.root());
        story.tell(told);
    }
    if random.below(3) > 0 {
        let (id, target) = random.pick(&story.known).clone();
        let edits = random.below(3);
        story.restore_undo_redo(&id, &target, |story| {
            for _ in 0..edits {
                let told = random.edit(story.sandbox.root());
                story.tell(told);
            }
        });
    }
}

#[test]
fn random_stories_come_back_byte_for_byte() {
    let mut random = Random::from_environment();
    let mut left = cases(75);
    while left > 0 {
        let mut story = Story::new(random.below(2) == 0);
        for _ in 0..left.min(CASES_PER_SANDBOX) {
            random_case(&mut story, &mut random);
        }
        left = left.saturating_sub(CASES_PER_SANDBOX);
    }
}

#[test]
fn every_kind_turns_back_into_every_other() {
    let pairs = KINDS
        .iter()
        .flat_map(|was| KINDS.iter().map(|is| (*was, *is)));
    for (was, is) in sample(pairs, 36, |(was, is)| {
        vec![format!("was {was:?}"), format!("is {is:?}")]
    }) {
        let mut random = Random::new(7);
        let mut story = Story::new(false);
        story
            .sandbox
            .write("neighbour", "1")
            .write("dir/neighbour", "1");
        for path in [&b"x"[..], b"dir/x"] {
            generator::place(story.sandbox.root(), path, was, &mut random);
        }
        story.create();
        for path in [&b"x"[..], b"dir/x"] {
            generator::place(story.sandbox.root(), path, is, &mut random);
        }
        story.sandbox.write("neighbour", "2");
        story.tell(format!("{was:?} became {is:?}"));
        let (id, target) = story.known[0].clone();
        story.restore_undo_redo(&id, &target, |_| {});
    }
}
