//! `ui`: the page that shows the checkpoints in a browser.

use std::time::Duration;

use crate::base::Malformed;
use crate::base::time::parse_span;
use crate::commands::prelude::*;
use crate::shell::PageOptions;

/// Show the checkpoints in the browser
///
/// Serves one page on this machine alone, until Ctrl-C or until no page was open for the idle time. The
/// address that it prints holds a secret, which lets the page read every checkpoint, and restore
/// them unless --read-only is given: do not share it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct UiArgs {
    /// Port to listen on, which should have served no other page [default: any that is free]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Only print the address; open no browser
    #[arg(long)]
    pub no_open: bool,
    /// Serve nothing that changes directory or store
    #[arg(long)]
    pub read_only: bool,
    /// Time without an open page after which the server ends, such as 2h, or never [default: 30m]
    #[arg(long, value_name = "TIME", value_parser = idle)]
    pub idle: Option<IdleTime>,
    /// Answer the one command on stdin, for a server that reads by processes of their own
    #[arg(long, hide = true)]
    pub reader: bool,
}

/// How long the server waits for a page.
#[derive(Clone, Copy, Debug)]
pub struct IdleTime(Option<Duration>);

const USUAL_IDLE: Duration = Duration::from_mins(30);

fn idle(typed: &str) -> std::result::Result<IdleTime, Malformed> {
    if typed == "never" {
        return Ok(IdleTime(None));
    }
    let span = parse_span(typed).and_then(|ms| u64::try_from(ms).ok());
    let span = span.filter(|ms| *ms > 0);
    let span = span.ok_or("write a duration such as 10m or 2h, or never")?;
    Ok(IdleTime(Some(Duration::from_millis(span))))
}

/// Where the page is.
#[derive(Serialize, JsonSchema)]
pub struct UiAnswer {
    /// The address, with the secret that the page needs.
    pub url: String,
    /// The directory whose checkpoints it shows.
    pub root: String,
    pub read_only: bool,
}

impl RunAnywhere for UiArgs {
    fn run(self, cmd: &mut CommandContext<'_>, environment: Environment) -> Result<u8> {
        let serve = cmd.services.page.ok_or_else(|| Error::no_feature("ui"))?;
        let options = PageOptions {
            port: self.port,
            opens: !self.no_open,
            may_change: !self.read_only,
            idle: self.idle.map_or(Some(USUAL_IDLE), |idle| idle.0),
            is_reader: self.reader,
        };
        serve(cmd, environment, &options, &|url, root| {
            let answer = UiAnswer {
                url: url.to_owned(),
                root: root.display().to_string(),
                read_only: self.read_only,
            };
            if cmd.printer.json {
                cmd.document(exit_code::DONE, &answer, &[], None);
            } else {
                cmd.printer.result(&format!("{url}\n"));
                let talk = "this address is a key to the checkpoints; Ctrl-C ends the server\n";
                cmd.printer.talk(talk);
            }
        })
    }
}
