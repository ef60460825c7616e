//! `ui`: the checkpoints as a page in the browser.
//!
//! `server` takes connections, `door` refuses what does not come from the page,
//! `allow` lists the commands that it may run and `front` runs them; `reply` makes the answers, and
//! `events` reports to it each change of the store. `page` holds the files of the page, which are part
//! of the program, and `report` makes one file of them with its data.

pub mod allow;
pub mod door;
pub mod events;
pub mod front;
pub mod page;
pub mod reply;
pub mod report;
pub mod server;

use std::path::Path;

use crate::config::Environment;
use crate::config::environment::base;
use crate::error::Result;
use crate::ops::RootSearch;
use crate::shell::command_context::place;
use crate::shell::environment::absolute;
use crate::shell::{CommandContext, PageOptions};
use crate::ui::front::Runner;

/// Serves the page until a signal comes, or no page was open for the idle time.
///
/// # Errors
/// No directory is there, or the port is taken.
pub fn serve(
    cmd: &CommandContext<'_>,
    environment: Environment,
    options: &PageOptions,
    tell: &dyn Fn(&str, &Path),
) -> Result<u8> {
    let given = cmd.global.base.as_deref();
    let base = absolute(&base(given, &environment)?)?;
    let home = environment.home.as_deref();
    let search = RootSearch { base: &base, home };
    let root = search.find_here(&place(cmd.global, &environment)?)?;
    let runner = Runner {
        root: root.path().to_path_buf(),
        given_base: given.map(absolute).transpose()?,
        lock_timeout: cmd.global.lock_timeout,
        base,
        environment,
        may_change: options.may_change,
    };
    if options.is_reader {
        return front::answer_one(&runner, &cmd.printer);
    }
    server::serve(runner, options, cmd.printer.talks_to_a_person(), tell)
}
