//! Runs one command line, from its words to the exit code.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::panic;
use std::process::ExitCode;
use std::time::Instant;

use crate::answer::contract::{ContractDocument, ContractForm};
use crate::answer::envelope::{self, ErrorJson};
use crate::answer::place::{self, PlaceWords};
use crate::cli::command_list::{AnyCommand, DirCommand, OtherCommand};
use crate::cli::completion;
use crate::cli::parse::{self, Cli};
use crate::commands::args;
use crate::config::environment::Environment;
use crate::error::{Code, Error, Result, exit_code};
use crate::ops::context::Context;
use crate::ops::find_root::Place;
use crate::ops::maintain::{moved, room};
use crate::ops::warning::Warning;
use crate::shell::command_context::{self, CommandContext, Serve};
use crate::shell::grammar::ParseRefusal;
use crate::shell::run::{self, Properties};
use crate::shell::terminal::printer::{self, Printer};
use crate::shell::terminal::progress::{self, Showing};
use crate::shell::terminal::prompt::Prompt;
use crate::shell::{environment, signals};

/// Runs one command line and returns its exit code.
pub fn run(args: impl IntoIterator<Item = OsString>, serve: Option<Serve>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    if ["hook", "statusline"]
        .iter()
        .any(|name| parse::calls(&args, name))
    {
        return harmless(&args);
    }
    if let Some(shell) = environment::completing_shell(&args) {
        printer::to_stdout(&completion::answer(&shell, args[2..].to_vec()).unwrap_or_default());
        return ExitCode::from(exit_code::DONE);
    }
    if let Some(version) = parse::version_asked_for(&args) {
        printer::to_stdout(&version);
        return ExitCode::from(exit_code::DONE);
    }
    let cli = match parse::parse(&args) {
        Ok(cli) => cli,
        Err(refusal) => return ExitCode::from(refuse(&args, &refusal)),
    };
    let environment = environment::read();
    let printer = Printer::new(&cli.global, &environment);
    let call = Invocation {
        args: &args,
        environment,
        printer,
        place: None,
        serve,
        enter: &|context, properties| {
            signals::install(&context.interrupt);
            let is_watched = properties.may_take_long && printer.talks_to_a_person();
            let showing = is_watched
                .then(|| progress::show(context, printer.err_paint(), printer::last_words));
            Ok(showing.flatten())
        },
    };
    let (code, failed) = call.answer(cli);
    ExitCode::from(printer::lost().map_or(code, |why| report_lost(printer, code, failed, why)))
}

/// Runs a command that agents wait for; the exit code is 0 whatever happens.
fn harmless(args: &[OsString]) -> ExitCode {
    let started = Instant::now();
    panic::set_hook(Box::new(|_| signals::end_at_once()));
    if let Ok(cli) = parse::parse(args)
        && let Some(AnyCommand::Anywhere(command)) = cli.command
    {
        match command {
            OtherCommand::Hook(hook) => hook.answer(cli.global, started),
            OtherCommand::Statusline(line) => line.answer(&cli.global),
            _ => {}
        }
    }
    // Threads that are still at work must not be waited for.
    signals::end_at_once()
}

/// Answers one command line for a program, in a process that goes on. Returns the exit code and the
/// document.
pub fn answer(
    args: &[OsString],
    place: &Place,
    environment: Environment,
    enter: &Enter<'_>,
) -> (u8, Vec<u8>) {
    // What an earlier call on this thread left must not show.
    place::adopt(PlaceWords::default());
    printer::collect(|| match parse::parse(args) {
        Ok(cli) => {
            let call = Invocation {
                args,
                environment,
                printer: Printer::for_a_program(cli.global.json),
                place: Some(place),
                serve: None,
                enter,
            };
            call.answer(cli).0
        }
        Err(refusal) => refuse(args, &refusal),
    })
}

/// Prepares a command that was opened in its directory; what it returns is dropped at the end.
pub type Enter<'e> = dyn Fn(&mut Context, &Properties) -> Result<Option<Showing>> + 'e;

/// A command line, and where its answer goes.
struct Invocation<'c> {
    /// The whole line, beginning with the program name.
    args: &'c [OsString],
    environment: Environment,
    printer: Printer,
    /// Where it acts, unless its words say so.
    place: Option<&'c Place>,
    serve: Option<Serve>,
    enter: &'c Enter<'c>,
}

impl Invocation<'_> {
    /// Runs the command; returns its exit code, and that of failures without a code of their own.
    fn answer(self, cli: Cli) -> (u8, u8) {
        let printer = self.printer;
        let Cli { global, command } = cli;
        let command = command.unwrap_or_default();
        let name = command.name();
        let properties = match &command {
            AnyCommand::InDirectory(command) => command.properties(),
            AnyCommand::Anywhere(_) => Properties::USUAL,
        };
        let (failed, left) = (properties.failure_code, properties.left_by_a_signal);
        parse::place(global.dir.as_deref(), global.base.as_deref(), left);
        let prompt = Prompt::new(
            global.json,
            global.no_input,
            properties.has_dry_run,
            printer.err_paint(),
        );
        let cmd = CommandContext {
            name,
            printer,
            prompt,
            global: &global,
            words: self.args,
            grammar: parse::command,
            serve: self.serve,
            started: Instant::now(),
            warned_of_settings: Cell::default(),
            pages: RefCell::default(),
        };
        let mut warnings = Vec::new();
        let code = match command {
            AnyCommand::Anywhere(command) => command.run(&cmd, self.environment),
            AnyCommand::InDirectory(command) => {
                let (own_file, environment) = (properties.own_file, self.environment);
                let typed = || command_context::place(&global, &environment);
                let place = self.place.cloned().map_or_else(typed, Ok);
                let opened = place.and_then(|place| {
                    command_context::open(&place, &global, environment, name, own_file)
                });
                opened.and_then(|mut context| {
                    if self.place.is_some() {
                        // Advice must hold wherever its reader stands.
                        parse::place(Some(context.root.path()), global.base.as_deref(), left);
                    }
                    let _showing = (self.enter)(&mut context, &properties)?;
                    run_in_directory(command, &context, &cmd, &mut warnings)
                })
            }
        };
        let code = code.unwrap_or_else(|error| {
            if error.code == Code::USAGE {
                place::set_help_of(parse::help_of(self.args));
            }
            let contract = properties.contract;
            let contract = contract.map(|form| (args::refused(name, self.args, &error), form));
            report(printer, name, failed, &error, contract.as_ref(), &warnings)
        });
        (code, failed)
    }
}

/// Runs a command; `warnings` get those that a failure has to name.
fn run_in_directory(
    command: DirCommand,
    context: &Context,
    cmd: &CommandContext<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<u8> {
    // Where the directory is gone, only its store can answer.
    if context.root.identity().is_none() && matches!(context.find_store(), Ok(None)) {
        return Err(context.no_store());
    }
    let up = context.root.current().components().map(|_| "..");
    let up = up.collect::<Vec<_>>().join("/");
    if !up.is_empty() {
        cmd.printer.talk(&format!("(in {up})\n"));
    }
    let code = command
        .run(context, cmd)
        .map_err(|error| moved::named_in(context, error))
        .map_err(|error| room::named_in(context, error));
    warnings.extend(cmd.print_pending_warnings(context));
    warnings.extend(context.settings.remarks.iter().map(Warning::from));
    cmd.warn_of_settings(context);
    code
}

/// Reports a failure: as JSON or a contract if requested, and always as one line.
fn report(
    printer: Printer,
    command: &str,
    failed: u8,
    error: &Error,
    contract: Option<&(ContractDocument, ContractForm)>,
    warnings: &[Warning],
) -> u8 {
    let code = match error.code.exit {
        exit_code::FAILED => failed,
        code => code,
    };
    if printer.json {
        let failed = ErrorJson::new(error, contract.map(|(document, _)| document));
        printer.result(&envelope::failure(command, code, failed, warnings));
    } else if let Some((document, form)) = contract {
        printer.result(&document.text(*form));
    }
    printer.error(error);
    code
}

/// Reports that the command is done, but its answer could not be written.
fn report_lost(printer: Printer, code: u8, failed: u8, why: &str) -> u8 {
    printer.error(&Error::unanswered(why));
    run::unanswered(code, failed)
}

/// Prints help and version as answers; other messages of clap are usage errors.
fn refuse(args: &[OsString], refusal: &ParseRefusal) -> u8 {
    if !refusal.is_failure {
        printer::to_stdout(&refusal.text);
        return exit_code::DONE;
    }
    let help_of = parse::help_of(args);
    let command = help_of.split(' ').nth(1).map(str::to_owned);
    let command = command.as_deref();
    let below = |meant| format!("{help_of} {meant}");
    place::set_help_of(refusal.meant.as_ref().map_or(help_of.clone(), below));
    let error = Error::usage(refusal.text.clone());
    let command = command.unwrap_or("usage");
    let contract =
        args::asked_for(command, args).map(|form| (args::refused(command, args, &error), form));
    let printer = Printer::for_a_program(args.iter().any(|arg| arg == "--json"));
    report(
        printer,
        command,
        exit_code::USAGE,
        &error,
        contract.as_ref(),
        &[],
    )
}
