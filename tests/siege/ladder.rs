//! Creates in a row on one disk, whose power is cut in the moment in which an id is printed.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::choice::Choice;
use super::disk::{Disk, Format, Loss};
use super::field::{Field, Moved};
use super::judge::{leftovers, same};
use super::options::Options;
use super::scenario::{checkpoints, held};
use super::tally::Tally;
use crate::bench::{Tree, limit};

/// Number of earlier checkpoints restored after each cut.
const LOOKED_AT: usize = 3;
/// Upper bound on the creates, so that none is evicted.
const RUNGS: usize = 30;
/// One rung in this many follows an undisturbed create, whose manifest is on disk and names all.
const AT_REST_EVERY: usize = 2;

pub fn besiege(options: &Options, tally: &Tally) {
    let until = Instant::now() + Duration::from_secs_f64(options.seconds);
    std::thread::scope(|scope| {
        for format in Format::ALL {
            scope.spawn(move || {
                let mut choice = Choice(options.seed);
                let mut cuts = 0;
                while Instant::now() < until {
                    match climb(format, &mut choice, until, tally) {
                        Ok(rungs) => cuts += rungs,
                        Err(why) => tally.lost(format!(
                            "create, cut as the id is printed, {}: {why}",
                            format.name()
                        )),
                    }
                }
                println!("  printed ids: {cuts} cuts on {}", format.name());
            });
        }
    });
}

fn climb(
    format: Format,
    choice: &mut Choice,
    until: Instant,
    tally: &Tally,
) -> Result<usize, String> {
    let disk = Disk::new(format)?;
    let field = Field::moved(Moved::ALL[choice.below(Moved::ALL.len())], &disk.top());
    let (mut promised, mut cuts): (Vec<(String, Tree)>, usize) = Default::default();
    for rung in 0..RUNGS {
        if rung > 0 && Instant::now() > until {
            break;
        }
        if rung.is_multiple_of(AT_REST_EVERY) {
            edit(&field, choice);
            let work = Tree::capture(&field.work());
            let made = field.run(&[], &["create", "-q", "-r", "at rest"]);
            promised.push((made.stdout.trim_end().to_owned(), work));
        }
        edit(&field, choice);
        // The user's own files are flushed before; what the program writes is not.
        disk.flush();
        let work = Tree::capture(&field.work());
        promised.push((printed(&field, &disk)?, work));
        tally.power_cuts.fetch_add(1, Ordering::Relaxed);
        cuts += 1;
        disk.power_up()?;
        all_there(&field, &promised, choice).map_err(|why| format!("after rung {rung}: {why}"))?;
    }
    let made = field.run(&[], &["create", "-r", "last"]);
    let verified = field.run(&[], &["verify", "--full"]);
    if made.code != 0 || verified.code != 0 {
        return Err(format!("in the end: {made}\n{verified}"));
    }
    leftovers(&field)?;
    Ok(cuts)
}

fn edit(field: &Field, choice: &mut Choice) {
    for _ in 0..=choice.below(4) {
        field.write(
            &format!("d{}/{}", choice.below(3), choice.below(5)),
            choice.next().to_string(),
        );
    }
}

/// The id that a create printed; the power is cut before it can do anything more.
fn printed(field: &Field, disk: &Disk) -> Result<String, String> {
    let switch = disk.switch();
    let mut command = field.command(&[], &["create", "-q", "-r", "rung"]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let stdout = child.stdout.take().expect("it is piped");
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(BufReader::new(stdout).lines().next()));
    let line = receiver.recv_timeout(limit::LIMIT);
    let cut = switch.cut(Loss::All);
    limit::output_of("create", child);
    cut?;
    let id = line.ok().flatten().and_then(Result::ok).unwrap_or_default();
    if id.len() == 8 {
        Ok(id)
    } else {
        Err(format!("no id was printed but {id:?}"))
    }
}

/// Checks that every id is listed, and restores the last, the first and some between.
fn all_there(
    field: &Field,
    promised: &[(String, Tree)],
    choice: &mut Choice,
) -> Result<(), String> {
    let listed = checkpoints(field);
    let is_listed = |id: &str| listed.iter().any(|(full, _)| full.starts_with(id));
    if let Some((id, _)) = promised.iter().find(|(id, _)| !is_listed(id)) {
        return Err(format!("{id} was printed and is not listed"));
    }
    let some = (0..LOOKED_AT).map(|_| choice.below(promised.len()));
    for at in some.chain([0, promised.len() - 1]) {
        let (id, work) = &promised[at];
        same(&held(field, id)?, work, id)?;
    }
    Ok(())
}
