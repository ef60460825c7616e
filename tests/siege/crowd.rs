//! Many processes at once in one directory, some of them killed: what was promised to one of them
//! holds for all.

use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::choice::Choice;
use super::companions;
use super::field::Field;
use super::options::Options;
use super::scenario::{checkpoints, held};
use super::tally::Tally;
use crate::bench::tree::at_or_below;
use crate::bench::{Tree, limit};

const PROCESSES: u64 = 16;
/// One operation in this many is killed.
const KILLED_EVERY: usize = 8;
const LONGEST_LIFE_MS: usize = 30;
/// Allowed exit codes: done, done in part, or refused: a directory that changes under a restore, an
/// interrupted restore, a lock that others hold.
const FAIR_CODES: [i32; 4] = [0, 4, 5, 7];
/// Number of checkpoints restored at the end.
const LOOKED_AT: usize = 40;

pub fn besiege(options: &Options, tally: &Tally) {
    let field = Field::new();
    for at in 0..20 {
        field.write(&format!("d{}/{at}", at % 3), format!("{at}"));
    }
    companions::planned_for_many(&field);
    let config = field.home().join(".config/checkpoint");
    std::fs::create_dir_all(&config).expect("a directory");
    std::fs::write(config.join("config.toml"), "keep = 100000\n").expect("nothing is evicted");
    let until = Instant::now() + Duration::from_secs_f64(options.seconds);
    let promised: Mutex<Promised> = Mutex::default();
    std::thread::scope(|scope| {
        for member in 0..PROCESSES {
            let (field, promised) = (&field, &promised);
            scope.spawn(move || {
                let mut choice = Choice(options.seed.wrapping_add(member));
                while Instant::now() < until {
                    operation(field, member, &mut choice, promised, tally);
                }
            });
        }
    });
    let promised = promised.into_inner().expect("no panic");
    if let Err(why) = settled(&field, &promised) {
        tally.lost(format!("crowd: {why}"));
    }
}

/// The promises that commands of the crowd made in their output.
#[derive(Default)]
struct Promised {
    ids: Vec<String>,
    decisions: Vec<String>,
}

fn operation(
    field: &Field,
    member: u64,
    choice: &mut Choice,
    promised: &Mutex<Promised>,
    tally: &Tally,
) {
    let known = promised.lock().expect("no panic").ids.clone();
    let some = if known.is_empty() {
        "latest".to_owned()
    } else {
        known[choice.below(known.len())].clone()
    };
    let number = choice.next();
    let word = format!("w{number}");
    let drawn = choice.below(20);
    let step = ["start", "done"][choice.below(2)];
    let line = match drawn {
        0..=5 => {
            // A restore by another process may be writing this file, or removing the directory.
            let file = field.work().join(format!("d{}/{member}", number % 3));
            let _ = std::fs::write(file, number.to_string());
            "create -q -r crowd"
        }
        6 | 7 => "list",
        8 | 9 => &format!("restore {some} --yes"),
        10 => "prune",
        11 => "status",
        12 => &format!("workflow note --decision {word}"),
        13 => &format!("task add {word} --phase one"),
        14 => &format!("phase {step} one --force"),
        15 => "workflow rewind one --files --yes",
        16 => &format!("hold {word} --for 3s"),
        17 => "release",
        18 => "create -q --type file_backup --copies --scope d0 -r copies",
        _ => "create -q --db data/shop.db -r savepoint",
    };
    let args: Vec<&str> = line.split(' ').collect();
    if drawn >= 12 {
        tally.companions.fetch_add(1, Ordering::Relaxed);
    }
    tally.concurrent_operations.fetch_add(1, Ordering::Relaxed);
    let mut command = field.command(&[], &args);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program can be started");
    let killed = choice.below(KILLED_EVERY) == 0;
    if killed {
        std::thread::sleep(Duration::from_millis(choice.below(LONGEST_LIFE_MS) as u64));
        let _ = child.kill();
    }
    let output = limit::output_of(&format!("{args:?}"), child);
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let id = out.trim();
    if args[0] == "create" && id.len() == 8 {
        promised.lock().expect("no panic").ids.push(id.to_owned());
    }
    if args.contains(&"note") && output.status.success() {
        promised
            .lock()
            .expect("no panic")
            .decisions
            .push(word.clone());
    }
    // Another process of the crowd wrote to a file between its restore and the verification.
    let is_written_over = err.contains("is not what was written");
    // While no id was printed, there may be no checkpoint; no hold may exist, no phase begun.
    let is_too_early = output.status.code() == Some(3) && (known.is_empty() || drawn >= 12);
    let is_fair = output
        .status
        .code()
        .is_some_and(|code| FAIR_CODES.contains(&code))
        || is_written_over
        || is_too_early;
    if !killed && !is_fair {
        tally.lost(format!(
            "crowd: {args:?} ended with {}: {err}",
            output.status
        ));
    }
}

/// Checks the end of the crowd: interrupted work is reverted, nothing is damaged, and every promise
/// is kept.
fn settled(field: &Field, promised: &Promised) -> Result<(), String> {
    if !field.cmd("status --json").data()["pending"].is_null() {
        let undone = field.cmd("undo --yes");
        if undone.code != 0 {
            return Err(format!("what was cut off cannot be taken back: {undone}"));
        }
    }
    for hold in field.cmd("status --json").data()["holds"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let name = hold["name"].as_str().unwrap_or_default();
        field.cmd(&format!("release {name}"));
    }
    let made = field.cmd("create -r last");
    if made.code != 0 {
        return Err(format!("nothing can be created any more: {made}"));
    }
    let verified = field.cmd("verify --full");
    if verified.code != 0 {
        return Err(format!("damage: {verified}"));
    }
    let listed = checkpoints(field);
    let run = field.cmd("workflow status --json");
    let known = if run.code == 0 {
        run.data()["key_decisions"].to_string()
    } else {
        run.to_string()
    };
    if let Some(lost) = promised
        .decisions
        .iter()
        .find(|decision| !known.contains(*decision))
    {
        return Err(format!(
            "the decision {lost} was noted and is gone: {known}"
        ));
    }
    for id in &promised.ids {
        if !listed.iter().any(|(full, _)| full.starts_with(id.as_str())) {
            return Err(format!("{id} was promised and is not listed"));
        }
    }
    for id in promised.ids.iter().rev().take(LOOKED_AT) {
        held(field, id)?;
    }
    let is_apart = |path: &[u8]| {
        [&b"memory"[..], b".checkpoints", b"data"]
            .iter()
            .any(|top| at_or_below(path, top))
    };
    let last = held(field, &listed[0].0)?.without(is_apart);
    let work = Tree::capture(&field.work()).without(is_apart);
    if last == work {
        Ok(())
    } else {
        Err(format!(
            "the last create is not the directory: {:?}",
            last.diff(&work)
        ))
    }
}
