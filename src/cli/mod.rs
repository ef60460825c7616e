//! The command line: words to options, outcomes to text and exit codes. It knows operations and views, and no store.

use std::cell::Cell;
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use args::{Cli, Command, GlobalArgs, ParseRefusal};
use command_context::CommandContext;
use printer::Printer;
use prompt::Prompt;

use crate::base::interrupt::Interrupt;
use crate::base::progress::Progress;
use crate::config::settings::{self, Environment, OwnFile};
use crate::error::{Error, Result};
use crate::ops::context::{Context, Unsaid};
use crate::view::contract::{ContractDocument, ContractForm};
use crate::view::format::Paint;
use crate::view::{human, json};

pub mod args;
pub mod child;
pub mod command_context;
pub mod commands;
pub mod completion;
pub mod contract;
pub mod environment;
pub mod exit_code;
pub mod lists;
pub mod manual;
pub mod pager;
pub mod printer;
pub mod progress;
pub mod prompt;
pub mod signals;

/// Runs one command line and answers with its exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some(shell) = environment::completing_shell(&args) {
        printer::to_stdout(&completion::answer(&shell, args[2..].to_vec()).unwrap_or_default());
        return ExitCode::from(exit_code::DONE);
    }
    if let Some(version) = args::version_asked_for(&args) {
        printer::to_stdout(&version);
        return ExitCode::from(exit_code::DONE);
    }
    let cli = match args::parse(&args) {
        Ok(cli) => cli,
        Err(refusal) => return ExitCode::from(refuse(&args, &refusal)),
    };
    args::place(&cli.global);
    let environment = environment::read();
    let printer = Printer::new(&cli.global, environment.no_color);
    let Cli { global, command } = cli;
    let Some(command) = command else { return ExitCode::from(refuse_nothing(printer)) };
    let name = command.name();
    let asks_for_code = matches!(&command, Command::Diff(args) if args.exit_code);
    let failed = if asks_for_code { exit_code::FAILED_TO_COMPARE } else { exit_code::FAILED };
    let contract = match &command {
        Command::Create(args) if args.contract.contract => Some(ContractForm::from(args.contract)),
        _ => None,
    };
    let prompt = Prompt::new(global.json, global.no_input, command.has_dry_run(), printer.err_paint());
    let cmd = CommandContext {
        printer,
        prompt,
        global: &global,
        words: &args,
        started: Instant::now(),
        told_settings: Cell::default(),
    };
    let code = match command {
        Command::Config(_) => commands::config::config(environment, &cmd),
        Command::Completions(shell) => commands::shell::completions(&cmd, &shell, &environment::program(&args)),
        Command::Man(args) => commands::shell::man(&cmd, &args),
        Command::Schema(args) => commands::schema::schema(&cmd, &args),
        Command::Help(args) => commands::help::help(&cmd, &args, environment.pager.as_deref()),
        command => context(&global, environment, name, command.own_file()).and_then(|context| {
            signals::install(&context.interrupt);
            let is_watched = command.may_take_long() && printer.talks_to_a_person();
            let _showing = is_watched.then(|| progress::show(&context, printer.err_paint(), printer::last_words));
            let code = dispatch(command, &context, &cmd);
            cmd.tell_unsaid(&context);
            cmd.warn_of_settings(&context);
            code
        }),
    };
    let code = code.unwrap_or_else(|error| {
        let contract = contract.map(|form| (contract::refused(&args, &error), form));
        report(printer, name, failed, &error, contract.as_ref())
    });
    ExitCode::from(printer::lost().map_or(code, |why| report_lost(printer, code, failed, why)))
}

fn dispatch(command: Command, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
    match command {
        Command::Create(args) => commands::audited::with_audit(context, cmd, args),
        Command::List(args) => commands::list::list(context, cmd, args),
        Command::Show(args) => commands::show::show(context, cmd, &args),
        Command::Diff(args) => commands::diff::diff(context, cmd, &args),
        Command::Cat(args) => commands::cat::cat(context, cmd, &args),
        Command::Find(args) => commands::find::find(context, cmd, &args),
        Command::Restore(args) => commands::restore::restore(context, cmd, args),
        Command::Undo(args) => commands::restore::undo(context, cmd, &args),
        Command::Redo(args) => commands::restore::redo(context, cmd, &args),
        Command::Bisect(args) => commands::bisect::bisect(context, cmd, &args),
        Command::Guard(args) => commands::guard::guard(context, cmd, args),
        Command::Hold(args) => commands::hold::hold(context, cmd, &args),
        Command::Release(args) => commands::hold::release(context, cmd, &args),
        Command::Delete(args) => commands::delete::delete(context, cmd, &args),
        Command::Pin(args) => commands::pin::pin(context, cmd, &args),
        Command::Unpin(args) => commands::pin::unpin(context, cmd, &args),
        Command::Prune(args) => commands::prune::prune(context, cmd, args),
        Command::Verify(args) => commands::verify::verify(context, cmd, &args),
        Command::Relink(args) => commands::relink::relink(context, cmd, &args),
        Command::Status(args) => commands::status::status(context, cmd, args),
        Command::Workflow(args) => commands::workflow::workflow(context, cmd, args.command),
        Command::Phase(args) => commands::phase::phase(context, cmd, &args.command),
        Command::Task(args) => commands::phase::task(context, cmd, &args.command),
        // These need no context, and are carried out where there is none.
        Command::Config(_) | Command::Completions(_) | Command::Man(_) | Command::Schema(_) | Command::Help(_) => {
            Ok(exit_code::DONE)
        }
    }
}

fn context(global: &GlobalArgs, environment: Environment, command: &str, own: OwnFile) -> Result<Context> {
    let dir = environment::directory(global.dir.as_deref(), &environment)?;
    let logical = if global.dir.is_some() { Some(&*dir) } else { environment.logical_dir.as_deref() };
    let root = crate::ops::context::resolve_root(&dir, logical)?;
    let base = environment::absolute(&settings::base(global.base.as_deref(), &environment)?)?;
    Ok(Context {
        settings: settings::load(root.path(), &environment, own)?,
        root,
        base,
        environment,
        now_ms: environment::now_ms()?,
        lock_wait: Duration::from_secs(global.lock_timeout),
        interrupt: Interrupt::default(),
        progress: Progress::default(),
        run_database_command: child::database_command,
        holder: environment::holder(command),
        unsaid: Unsaid::default(),
        workflows: crate::workflow::port::PORT,
    })
}

/// Says what went wrong: as a document where one was asked for, and as one line in any case.
fn report(
    printer: Printer,
    command: &str,
    failed: u8,
    error: &Error,
    contract: Option<&(ContractDocument, ContractForm)>,
) -> u8 {
    let code = match exit_code::of_error(error) {
        exit_code::FAILED => failed,
        code => code,
    };
    if printer.json {
        printer.result(&json::failure(command, code, error, contract.map(|(document, _)| document)));
    } else if let Some((document, form)) = contract {
        printer.result(&document.text(*form));
    }
    printer.failure(&human::error(error, printer.err_paint()));
    code
}

/// The command is done, but its answer went nowhere.
fn report_lost(printer: Printer, code: u8, failed: u8, why: &str) -> u8 {
    let error = Error::unexpected(format!("the answer could not be written to stdout: {why}"));
    printer.failure(&human::error(&error, printer.err_paint()));
    exit_code::unanswered(code, failed)
}

/// Help and version are answers; anything else that clap says is wrong usage.
fn refuse(args: &[OsString], refusal: &ParseRefusal) -> u8 {
    if !refusal.is_failure {
        printer::to_stdout(&refusal.text);
        return exit_code::DONE;
    }
    let mut words = args.iter().filter_map(|arg| arg.to_str());
    let named = words.find_map(args::command_name);
    let command = named.as_deref();
    let what = refusal.text.clone();
    let (has, error) = (|flag: &str| args.iter().any(|arg| arg == flag), Error::Usage { what: what.clone() });
    let contract = (command == Some("create") && has("--contract")).then(|| contract::refused(args, &error));
    if has("--json") {
        let command = command.unwrap_or("usage");
        printer::to_stdout(&json::failure(command, exit_code::USAGE, &error, contract.as_ref()));
    } else if let Some(contract) = contract {
        let form = if has("json") || has("--format=json") { ContractForm::Json } else { ContractForm::Yaml };
        printer::to_stdout(&contract.text(form));
    }
    let more = command.map_or("checkpoint --help".to_owned(), |command| format!("checkpoint {command} --help"));
    printer::to_stderr(&human::wrong_usage(&what, &more), Paint::default());
    exit_code::USAGE
}

/// A call without a command: the short help for a person, a failure for a program.
fn refuse_nothing(printer: Printer) -> u8 {
    if printer.json {
        let error = Error::Usage { what: "no command was given".to_owned() };
        return report(printer, "usage", exit_code::USAGE, &error, None);
    }
    printer::to_stderr(&args::short_help(), Paint::default());
    exit_code::USAGE
}
