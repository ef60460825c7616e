//! Kills at random moments, on every system: the state is one of those that a command could leave,
//! the store is sound, and what was acknowledged comes back. `tests/siege` does so at each system
//! call, on Linux.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::bench::cases::cases;
use crate::bench::sample::Draw;
use crate::bench::{Sandbox, Tree, limit};

/// Two states with their ids, and the time that the longest command takes.
struct Story {
    sandbox: Sandbox,
    states: [(String, Tree); 2],
    longest: Duration,
}

fn story() -> Story {
    let sandbox = Sandbox::new();
    let state = |number: usize| {
        for at in 0..120 {
            let text = format!("{number} {at}\n").repeat(at * 10 + 1);
            sandbox.write(format!("d{}/f{at}", (at + number) % 7), text);
        }
        sandbox.write("large", format!("{number} ").repeat(300_000));
        let id = sandbox.create(&format!("state {number}"));
        sandbox.ok(format!("pin {id}"));
        (id, sandbox.tree())
    };
    let first = state(1);
    for dir in 0..7 {
        sandbox.remove(format!("d{dir}"));
    }
    let second = state(2);
    let began = Instant::now();
    sandbox.restore(&first.0).success();
    let longest = began.elapsed();
    Story {
        sandbox,
        states: [first, second],
        longest,
    }
}

impl Story {
    /// Runs a command and kills it at some moment of the time that the longest one takes.
    fn killed(&self, draw: &mut Draw, args: &[&str]) {
        let mut command = self.sandbox.command(&[], args);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().expect("it can be started");
        let most = usize::try_from(self.longest.as_micros()).expect("seconds");
        std::thread::sleep(Duration::from_micros(draw.below(most) as u64));
        let _ = child.kill();
        limit::output_of("a killed command", child);
    }

    /// Brings what was interrupted to its end, as the next user would.
    fn settle(&self) {
        if !self.sandbox.status()["pending"].is_null() {
            self.sandbox.ok("restore --resume");
        }
        // What a killed command staged goes with the next one that writes.
        self.sandbox.ok("prune");
        self.sandbox.ok("verify --full");
    }

    fn assert_whole(&self, what: &str) {
        let tree = self.sandbox.tree();
        let is_one = self
            .states
            .iter()
            .any(|(_, state)| tree.diff(state).is_empty());
        assert!(
            is_one,
            "{what}: neither state: {:?}",
            tree.diff(&self.states[0].1)
        );
    }
}

#[test]
fn a_kill_at_any_moment_leaves_a_whole_state_and_a_sound_store() {
    let story = story();
    let (mut draw, sandbox) = (Draw::new(), &story.sandbox);
    for round in 0..cases(12) {
        let (id, state) = &story.states[round % 2];
        match draw.below(4) {
            0 => {
                sandbox.restore(id).success();
                story.killed(&mut draw, &["undo", "--yes"]);
            }
            1 => story.killed(&mut draw, &["create", "--reason", "killed"]),
            2 => {
                sandbox.restore(id).success();
                story.killed(&mut draw, &["prune", "--keep", "4"]);
                sandbox.tree().assert_is(state, "prune changes no file");
            }
            _ => story.killed(&mut draw, &["restore", id, "--yes"]),
        }
        story.settle();
        story.assert_whole(&format!("round {round}"));
        for (id, state) in &story.states {
            sandbox.restore(id).success();
            sandbox.tree().assert_is(state, id);
        }
    }
}
