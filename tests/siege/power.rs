//! Power cuts: during a command, at a place drawn by the seed or at some moment, and right after
//! its end.

use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::calls::{self, Call};
use super::choice::Choice;
use super::disk::{Disk, Format, Loss, TOOLS};
use super::field::{Field, Moved};
use super::judge::{captured, judge, same};
use super::options::Options;
use super::parallel::over_scenarios;
use super::scenario::{Scenario, Stage, checkpoints, held};
use super::tally::Tally;
use super::{ladder, mounts};
use crate::bench::Run;

/// One trial in this many has a second cut, in the command after the first.
const TWICE_EVERY: usize = 4;
/// Share of the time for creates that are each followed by a cut.
const LADDER_SHARE: f64 = 0.2;

pub fn besiege(options: &Options, tally: &Tally) {
    if let Some(why) = mounts::refusal(&TOOLS).or_else(powerless) {
        tally.skipped(&format!("power cuts: {why}"));
        return;
    }
    ladder::besiege(&options.with_seconds(options.seconds * LADDER_SHARE), tally);
    let rest = options.seconds * (1.0 - LADDER_SHARE);
    over_scenarios(&options.with_seconds(rest), 1, &|scenario, until| {
        besiege_scenario(scenario, options.seed, until, tally);
    });
}

/// The reason why no power can be cut here, if so.
fn powerless() -> Option<String> {
    Format::ALL
        .into_iter()
        .find_map(|format| match Disk::new(format) {
            Err(why) => Some(why),
            Ok(disk) => (!disk.forgets())
                .then(|| format!("{} survives the cut of its power", format.name())),
        })
}

/// Tries each kind of disk, with the store, the working directory or both on it, in an order drawn
/// by the seed: on a slow machine the last of them are not reached.
fn besiege_scenario(scenario: &Scenario, seed: u64, until: Instant, tally: &Tally) {
    let mut parts: Vec<(Format, Moved)> = Vec::new();
    for format in Format::ALL {
        parts.extend(Moved::ALL.map(|what| (format, what)));
    }
    let spread = seed.wrapping_add(scenario.name.bytes().map(u64::from).sum());
    Choice(spread).shuffle(&mut parts);
    let (mut cuts, mut left) = (0, u32::try_from(parts.len()).expect("few"));
    for (format, what) in parts {
        if cuts > 0 && Instant::now() > until {
            break;
        }
        let share = until.saturating_duration_since(Instant::now()) / left;
        cuts += sweep(scenario, format, what, seed, Instant::now() + share, tally);
        left -= 1;
    }
    println!("  {}: {cuts} trials on ext4 and XFS", scenario.name);
}

struct Site<'s> {
    disk: &'s Disk,
    stage: &'s Stage<'s>,
    /// Places for a cut, and the duration of an undisturbed run.
    calls: Vec<Call>,
    took: Duration,
}

fn sweep(
    scenario: &Scenario,
    format: Format,
    what: Moved,
    seed: u64,
    until: Instant,
    tally: &Tally,
) -> usize {
    let disk = Disk::new(format).expect("there was one before");
    let stage = scenario.set_up_in(Field::moved(what, &disk.top()));
    let mut calls = calls::of(&stage.field, scenario.line);
    calls.retain(Call::changes_something);
    stage.field.put_back();
    let begun = Instant::now();
    let _ = stage.field.cmd(scenario.line);
    let site = Site {
        disk: &disk,
        stage: &stage,
        calls,
        took: begun.elapsed(),
    };
    let mut choice = Choice(seed);
    for at in 0.. {
        // Whatever was set up gets a trial too, however late it is.
        if at > 0 && Instant::now() > until {
            return at;
        }
        // First of all, work that was reported as done has to last.
        let way = if at == 0 {
            Way {
                moment: Moment::Ended,
                loss: Loss::All,
            }
        } else {
            site.draw(&mut choice)
        };
        if let Err(why) = site.trial(&way, at, &mut choice, tally) {
            tally.lost(format!(
                "{}, {what:?} on {}, {way:?}: {why}",
                scenario.name,
                format.name()
            ));
        }
    }
    0
}

/// A way in which the power is cut.
#[derive(Debug)]
struct Way {
    moment: Moment,
    loss: Loss,
}

#[derive(Debug)]
enum Moment {
    At(Call),
    After(Duration),
    Ended,
}

impl Site<'_> {
    fn draw(&self, choice: &mut Choice) -> Way {
        let moment = match choice.below(5) {
            0 => Moment::Ended,
            1 => Moment::After(self.took * u32::try_from(choice.below(120)).expect("small") / 100),
            _ => Moment::At(self.calls[choice.below(self.calls.len())].clone()),
        };
        Way {
            moment,
            loss: if choice.below(3) == 0 {
                Loss::Bytes
            } else {
                Loss::All
            },
        }
    }

    fn trial(
        &self,
        way: &Way,
        at: usize,
        choice: &mut Choice,
        tally: &Tally,
    ) -> Result<(), String> {
        let (stage, field) = (self.stage, &self.stage.field);
        field.put_back();
        self.disk.flush();
        let run = self.cut_in(way, stage.scenario.line)?;
        tally.power_cuts.fetch_add(1, Ordering::Relaxed);
        if at.is_multiple_of(TWICE_EVERY) {
            self.cut_in(&self.draw(choice), "create -r afterwards -q")?;
            tally.power_cuts.fetch_add(1, Ordering::Relaxed);
        }
        // The output of a command whose disk goes away is lost; but if it reports that all is done,
        // that is durable. If it lived to see the disk go, it may warn of leftovers.
        let is_done = run.code == 0;
        let is_warned = matches!(way.moment, Moment::After(_)) && run.stderr.contains("warning: ");
        if is_done && !is_warned {
            self.durable()?;
        }
        // Code 5 says that something could not be read, and so is missing from it.
        let printed = if run.code == 5 {
            String::new()
        } else {
            run.stdout.trim().to_owned()
        };
        judge(stage, &run, !is_done, at, tally)?;
        if stage.scenario.is("create") && stage.scenario.facet.is_none() && printed.len() == 8 {
            let before = captured(&stage.before.tree);
            same(
                &stage.scenario.lasting(&held(field, &printed)?),
                &before,
                "what the printed id stands for",
            )?;
        }
        Ok(())
    }

    /// Runs the program, cuts the power and restores it.
    fn cut_in(&self, way: &Way, line: &str) -> Result<Run, String> {
        let field = &self.stage.field;
        let switch = self.disk.switch();
        let (run, cut) = match &way.moment {
            Moment::Ended => (field.cmd(line), switch.cut(way.loss)),
            Moment::At(call) => (field.killed(call, line), switch.cut(way.loss)),
            Moment::After(delay) => {
                let mut command = field.command(&[], &line.split(' ').collect::<Vec<_>>());
                command
                    .stdin(Stdio::null())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped());
                let child = command.spawn().expect("the program can be started");
                std::thread::sleep(*delay);
                let cut = switch.cut(way.loss);
                (Run::ended(line.into(), child), cut)
            }
        };
        cut?;
        self.disk.power_up()?;
        Ok(run)
    }

    /// Checks that what was reported as done is: no restore pends, and what was dropped is gone.
    fn durable(&self) -> Result<(), String> {
        let (field, scenario) = (&self.stage.field, self.stage.scenario);
        let status = field.cmd("status --json");
        if status.code != 0 || !status.data()["pending"].is_null() {
            return Err("a restore that was done counts as interrupted".into());
        }
        let is_gone = |reason: &String| scenario.may_go.contains(&reason.as_str());
        match checkpoints(field)
            .into_iter()
            .find(|(_, reason)| is_gone(reason))
        {
            Some((id, reason)) if !scenario.is("create") => Err(format!("{id} ({reason}) is back")),
            _ => Ok(()),
        }
    }
}
