//! Runs one command line, from its words to the exit code.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::panic;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Instant;

use crate::answer::{Answer, ContractDocument, ContractForm, ErrorJson};
use crate::cli::command_list::{AnyCommand, DirCommand, OtherCommand};
use crate::cli::completion;
use crate::cli::parse::{self, Cli};
use crate::commands::args;
use crate::config::Environment;
use crate::error::{Code, Error, Result, exit_code};
use crate::ops::maintain::{moved, room};
use crate::ops::{Context, Place, Warning};
use crate::shell::command_context::{self, Services};
use crate::shell::run;
use crate::shell::terminal::printer::{self, AnswerBuffer};
use crate::shell::{
    CommandContext, ParseRefusal, Printer, Prompt, Properties, Showing, environment, signals,
};

/// Runs one command line and returns its exit code.
pub fn run(args: impl IntoIterator<Item = OsString>, services: Services) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    if parse::calls(&args, "hook") || parse::calls(&args, "statusline") {
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
        Err(refusal) => {
            let printer = Printer::for_a_program(is_json(&args), None);
            return ExitCode::from(refuse(&args, &refusal, printer));
        }
    };
    let environment = environment::read();
    let printer = Printer::new(&cli.global, &environment);
    let call = Invocation {
        args: &args,
        environment,
        printer,
        place: None,
        services,
        enter: &|context, properties, printer| {
            let keep_ignored = properties.is_wrapper;
            signals::install(&context.interrupt, keep_ignored);
            let is_watched = properties.may_take_long && printer.talks_to_a_person();
            Ok(is_watched.then(|| printer.show_progress(context)).flatten())
        },
    };
    ExitCode::from(call.answer(cli))
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

/// Answers one command line for a program, in a process that goes on. Returns the exit code and what
/// would have been printed.
pub fn answer(
    args: &[OsString],
    place: &Place,
    environment: Environment,
    enter: &Enter<'_>,
) -> (u8, Vec<u8>) {
    let kept = AnswerBuffer::default();
    let printer = |json| Printer::for_a_program(json, Some(Rc::clone(&kept)));
    let code = match parse::parse(args) {
        Ok(cli) => {
            let call = Invocation {
                args,
                environment,
                printer: printer(cli.global.json),
                place: Some(place),
                services: Services::default(),
                enter,
            };
            call.answer(cli)
        }
        Err(refusal) => refuse(args, &refusal, printer(is_json(args))),
    };
    (code, kept.take())
}

fn is_json(args: &[OsString]) -> bool {
    args.iter().any(|arg| arg == "--json")
}

/// Prepares a command that was opened in its directory; what it returns is dropped at the end.
pub type Enter<'e> =
    dyn Fn(&mut Context, &Properties, &mut Printer) -> Result<Option<Showing>> + 'e;

/// A command line, and where its answer goes.
struct Invocation<'c> {
    /// The whole line, beginning with the program name.
    args: &'c [OsString],
    environment: Environment,
    printer: Printer,
    /// Where it acts, unless its words say so.
    place: Option<&'c Place>,
    services: Services,
    enter: &'c Enter<'c>,
}

impl Invocation<'_> {
    /// Runs the command; returns its exit code.
    fn answer(self, cli: Cli) -> u8 {
        let mut printer = self.printer;
        let Cli { global, command } = cli;
        let command = command.unwrap_or_default();
        let name = command.name();
        let properties = match &command {
            AnyCommand::InDirectory(command) => command.properties(),
            AnyCommand::Anywhere(_) => Properties::USUAL,
        };
        let (failed, left) = (properties.failure_code, properties.left_by_a_signal);
        printer.place = parse::place(global.dir.as_deref(), global.base.as_deref(), left);
        let prompt = Prompt::new(&global, properties.has_dry_run, printer.err_paint());
        let mut cmd = CommandContext {
            name,
            printer,
            prompt,
            global: &global,
            words: self.args,
            grammar: parse::command,
            services: self.services,
            started: Instant::now(),
            warned_of_settings: Cell::default(),
            pages: RefCell::default(),
        };
        let mut warnings = Vec::new();
        let code = match command {
            AnyCommand::Anywhere(command) => command.run(&mut cmd, self.environment),
            AnyCommand::InDirectory(command) => {
                let environment = self.environment;
                let typed = || command_context::place(&global, &environment);
                let place = self.place.cloned().map_or_else(typed, Ok);
                place.and_then(|place| {
                    let mut context = command_context::open(&place, &global, environment, name)?;
                    if self.place.is_some() {
                        // Advice must hold wherever its reader stands.
                        let top = Some(context.root.path());
                        cmd.printer.place = parse::place(top, global.base.as_deref(), left);
                    } else {
                        place.check(&context.root)?;
                    }
                    let _showing = (self.enter)(&mut context, &properties, &mut cmd.printer)?;
                    run_in_directory(command, &context, &cmd, &mut warnings)
                })
            }
        };
        let mut printer = cmd.printer;
        let code = code.unwrap_or_else(|error| {
            if error.code == Code::USAGE {
                Rc::make_mut(&mut printer.place).help_of = Some(parse::help_of(self.args));
            }
            let refused = |form| (args::refused(name, self.args, &error, &printer.place), form);
            let contract = properties.contract.map(refused);
            report(&printer, name, failed, &error, contract.as_ref(), &warnings)
        });
        printer::lost().map_or(code, |why| {
            printer.error(&Error::unanswered(why));
            run::unanswered(code, failed)
        })
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
    // What is for a prompt has one line, and a command that is run talks alone.
    let is_silent = match &command {
        DirCommand::Status(status) => status.brief,
        command => matches!(command, DirCommand::Run(_)),
    };
    if !up.is_empty() && !is_silent {
        cmd.printer.talk(&format!("(in {up})\n"));
    }
    let code = command
        .run(context, cmd)
        .map_err(|error| moved::named_in(context, error))
        .map_err(|error| room::named_in(context, error));
    warnings.extend(cmd.print_pending_warnings(context));
    if !matches!(&code, Err(refusal) if refusal.code == Code::BAD_CONFIG) {
        let remarks: Vec<_> = context.settings.remarks.iter().map(Warning::from).collect();
        if !cmd.printer.json && !cmd.warned_of_settings.get() {
            cmd.warn(&remarks);
        }
        warnings.extend(remarks);
    }
    code
}

/// Reports a failure: as JSON or a contract if requested, and always as one line.
fn report(
    printer: &Printer,
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
        let contract = contract.map(|(document, _)| document);
        let failed = Some(ErrorJson::new(error, contract, &printer.place));
        let told = (warnings, &*printer.place);
        printer.document(&Answer::<()>::new(command, code, None, failed, told));
    } else if let Some((document, form)) = contract {
        printer.result(&document.text(*form));
    }
    printer.error(error);
    code
}

/// Prints help and version as answers; other messages of clap are usage errors.
fn refuse(args: &[OsString], refusal: &ParseRefusal, mut printer: Printer) -> u8 {
    if !refusal.is_failure {
        printer.data(&refusal.text);
        return exit_code::DONE;
    }
    let help_of = parse::help_of(args);
    let command = help_of.split(' ').nth(1).unwrap_or("usage");
    let below = |meant| format!("{help_of} {meant}");
    let line = refusal.meant.as_ref().map_or(help_of.clone(), below);
    Rc::make_mut(&mut printer.place).help_of = Some(line);
    let error = Error::usage(refusal.text.clone());
    let refused = |form| (args::refused(command, args, &error, &printer.place), form);
    let contract = args::asked_for(command, args).map(refused);
    let (code, contract) = (exit_code::USAGE, contract.as_ref());
    report(&printer, command, code, &error, contract, &[])
}
