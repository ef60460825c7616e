//! `clone`: brings a project from a remote into a new directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::commands::import::write_evictions;
use crate::commands::prelude::*;
use crate::commands::remote::{GitArgs, transferred};
use crate::ops::transfer::clone::{self as clone_op};
use crate::ops::{CloneOutcome, Place};
use crate::shell::{command_context, signals};

/// Bring a project from a remote into a new directory
///
/// The directory gets the files of the newest checkpoint, and a store with all of them; the remote
/// is called origin there.
#[derive(Clone, Debug, clap::Args)]
pub struct CloneArgs {
    /// Where 'checkpoint push' sent it
    #[arg(value_name = "URL", allow_hyphen_values = true)]
    pub url: String,
    /// A new or empty directory [default: named as the last part of the URL]
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
    #[command(flatten)]
    pub git: GitArgs,
}

impl RunAnywhere for CloneArgs {
    fn run(self, cmd: &mut CommandContext<'_>, environment: Environment) -> Result<u8> {
        let above = environment::directory(cmd.global.dir.as_deref(), &environment)?;
        // As with `remote add`, a URL that is a path does not begin at -C.
        let here = environment::absolute(Path::new("."))?;
        let named = self.directory.clone().or_else(|| last_part(&self.url));
        let directory =
            above.join(named.ok_or_else(|| Error::usage("the URL names no directory; give one"))?);
        let (dir, is_exact) = (directory.clone(), true);
        let place = Place { dir, is_exact };
        let (url, known, global) = (self.url.clone(), environment.clone(), cmd.global);
        let way_on = || {
            let context = command_context::open(&place, global, known.clone(), "clone");
            clone_op::way_on(&context.ok()?, &url, &here)
        };
        let is_made = make(&directory).map_err(|mut refused| {
            let is_taken = refused.code == Code::BAD_DESTINATION;
            if let Some(way_on) = is_taken.then(way_on).flatten() {
                refused.what = format!("{}; {way_on}", refused.what);
            }
            refused
        })?;
        let done = match self.into_directory(cmd, &place, environment, &here) {
            Err(refused) if refused.code == Code::UNSAFE_ROOT => {
                Err(refused.advise("give another directory"))
            }
            Err(refused) if refused.code != Code::RESTORE_PENDING => match way_on() {
                None => Err(refused),
                next => {
                    return Err(refused.after("the checkpoints are here, and the files not:", next));
                }
            },
            done => done,
        };
        if done.is_err() && is_made {
            // What was written into it stays; it is empty otherwise.
            let _ = fs::remove_dir(&directory);
        }
        done
    }
}

impl CloneArgs {
    fn into_directory(
        self,
        cmd: &mut CommandContext<'_>,
        place: &Place,
        environment: Environment,
        here: &Path,
    ) -> Result<u8> {
        let context = command_context::open(place, cmd.global, environment, "clone")?;
        signals::install(&context.interrupt, false);
        let is_watched = cmd.printer.talks_to_a_person();
        let _showing = is_watched.then(|| cmd.printer.show_progress(&context));
        let cloned = clone_op::clone(&context, &self.url, here, self.git.limits(cmd));
        let is_there = |error: &Error| error.code == Code::RESTORE_PENDING;
        if cloned.as_ref().err().is_none_or(is_there) {
            // What is named next is to be done there.
            Rc::make_mut(&mut cmd.printer.place).move_to(&place.dir);
        }
        let done = transferred(cloned?);
        cmd.print(&context, &done);
        cmd.print_pending_warnings(&context);
        Ok(done.exit)
    }
}

impl Text for CloneOutcome {
    fn write(&self, out: &mut Out<'_>) {
        let (number, directory) = (self.checkpoints.len(), escape_path(&self.directory));
        let (number, restored) = (checkpoints(number), self.restored.named());
        outln!(
            out,
            "Cloned {number} into {directory}, restored to {restored}"
        );
        write_evictions(self.to_be_evicted, out);
    }
}

/// Makes the directory; returns whether it is new.
fn make(directory: &Path) -> Result<bool> {
    let refuse = |why: &str| Error::bad_destination(directory, why.to_owned());
    match clone_op::is_free(directory) {
        Ok(true) => Ok(false),
        Ok(false) => Err(refuse("it is not empty")),
        Err(_) if directory.symlink_metadata().is_ok() => Err(refuse("it is no directory")),
        Err(_) => {
            let made = fs::create_dir_all(directory);
            made.map(|()| true).map_err(Error::io("make", directory))
        }
    }
}

/// The last part of a URL, without `.git`.
fn last_part(url: &str) -> Option<PathBuf> {
    // A query may have a token in it.
    let is_path = !url.contains("://");
    let url = url.split(|c| !is_path && "?#".contains(c)).next()?;
    let url = url.trim_end_matches(['/', '\\']);
    let url = url
        .strip_suffix(".git")
        .unwrap_or(url)
        .trim_end_matches(['/', '\\']);
    let last = url.rsplit(['/', '\\', ':']).next()?;
    (!last.is_empty() && last != "." && last != "..").then(|| last.into())
}
