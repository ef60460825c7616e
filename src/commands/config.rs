//! `config`: works without a store, with a bad file, and without a base.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Subcommand;

use crate::agent::setup;
use crate::answer::table::{cut, padded, width};
use crate::base::read_regular;
use crate::commands::prelude::*;
use crate::config::environment::{base_and_origin, no_base};
use crate::config::keys::keys;
use crate::config::{ColorChoice, Origin, Owner, edit};
use crate::ops::browse::config::{Setting, SettingValue, config};
use crate::ops::{ConfigOutcome, RootSearch};
use crate::shell::environment::LOCK_TIMEOUT_SECONDS;
use crate::shell::{Color, GlobalArgs, Printer, command_context};

/// Value of a variable that is not set.
const NOT_SET: &str = "not set";

/// Show each setting and its origin, or set or unset one
///
/// A setting that is no key of a file comes from an option or a variable. Variables of completion
/// scripts are shown with --json alone.
#[derive(Clone, Debug, clap::Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub command: Option<ConfigCommand>,
}

#[derive(Clone, Debug, Subcommand, strum::IntoStaticStr)]
#[strum(const_into_str, prefix = "config.", serialize_all = "snake_case")]
pub enum ConfigCommand {
    /// Set a key in your own file
    ///
    /// Comments and all other lines stay. A list is replaced, not extended.
    Set {
        #[arg(value_name = "KEY")]
        key: String,
        /// The value as in the file; quotes may be left out
        #[arg(value_name = "VALUE", allow_hyphen_values = true)]
        value: String,
    },
    /// Take a key out of your own file, so that its default holds again
    Unset {
        #[arg(value_name = "KEY")]
        key: String,
    },
}

/// Writes what a command asks for, and returns a line on it.
fn edited(environment: &Environment, command: &ConfigCommand) -> Result<String> {
    let dir = environment.config_dir.as_ref();
    let dir = dir.ok_or_else(|| no_base(environment))?;
    let file = dir.join("config.toml");
    let text = match read_regular::read_linked_text(&file) {
        Err(cause) if cause.kind() == ErrorKind::NotFound && file.is_symlink() => {
            let what = format!("{} is a link to nothing", escape_path(&file));
            let next = "make what it leads to, or remove it";
            return Err(Error::new(Code::BAD_CONFIG, what).advise(next));
        }
        Err(cause) if cause.kind() == ErrorKind::NotFound => String::new(),
        read => read.map_err(Error::io("read", &file))?,
    };
    let (text, done) = match command {
        ConfigCommand::Set { key, value } => {
            let (text, written) = edit::set(&file, &text, key, value)?;
            (Some(text), format!("{key} = {}", escape(&written)))
        }
        ConfigCommand::Unset { key } => {
            (edit::unset(&file, &text, key)?, format!("{key} is not set"))
        }
    };
    text.map_or(Ok(()), |text| setup::write(&file, &text, None))?;
    Ok(format!("{}: {done}\n", escape_path(&file)))
}

impl RunAnywhere for ConfigArgs {
    fn name(&self) -> Option<&'static str> {
        self.command.as_ref().map(ConfigCommand::into_str)
    }

    fn run(self, cmd: &mut CommandContext<'_>, environment: Environment) -> Result<u8> {
        let command = self.command.as_ref();
        let written = command.map(|command| edited(&environment, command));
        let written = written.transpose()?;
        let global = cmd.global;
        let base = base_and_origin(global.base.as_deref(), &environment);
        let base = base
            .map(|(base, origin)| Ok::<_, Error>((environment::absolute(&base)?, origin)))
            .transpose()?;
        let search = RootSearch {
            base: base.as_ref().map_or(Path::new(""), |(base, _)| base),
            home: environment.home.as_deref(),
        };
        let root = search.find_here(&command_context::place(global, &environment)?)?;
        let (variables, flags) = (environment::variables(), flags(global, &environment));
        let (outcome, warnings) = config(&root, base, &environment, variables, flags);
        let failure = outcome.failures.first();
        // What is wrong elsewhere in the file does not undo what was set.
        let code = match failure {
            None => exit_code::DONE,
            Some(_) if written.is_some() => exit_code::PARTIAL,
            Some(error) => error.code.exit,
        };
        let printer = &cmd.printer;
        if printer.json {
            cmd.document(code, &outcome, &warnings, failure);
        } else if let Some(written) = written {
            printer.talk(&written);
        } else {
            printer.result(&text(&outcome, printer));
        }
        cmd.warn(&warnings);
        for problem in &outcome.failures {
            printer.error(problem);
        }
        Ok(code)
    }
}

/// Returns settings that no file can contain.
fn flags(global: &GlobalArgs, environment: &Environment) -> Vec<Setting> {
    let word = |word: &str| SettingValue::Text(word.to_owned());
    let of = |name, value, is_given, origin| {
        let origin = if is_given { origin } else { Origin::Default };
        Setting::new(name, value, vec![origin])
    };
    let source = environment.source.as_deref();
    let (disabled, wait) = (environment.disabled, global.lock_timeout);
    let (color, color_origin) = match (global.color, environment.color) {
        (Color::Always, _) => ("always", Origin::Flag("--color")),
        (Color::Never, _) => ("never", Origin::Flag("--color")),
        (Color::Auto, ColorChoice::Auto) => ("auto", Origin::Default),
        (Color::Auto, ColorChoice::Never) => ("never", Origin::Environment("NO_COLOR")),
        (Color::Auto, ColorChoice::Always(name)) => ("always", Origin::Environment(name)),
    };
    let source_word = word(source.unwrap_or("cli"));
    let of_source = Origin::Environment("CHECKPOINT_SOURCE");
    let of_switch = Origin::Environment("CHECKPOINT_DISABLE");
    let of_wait = Origin::Flag("--lock-timeout");
    let switch = SettingValue::Switch(disabled);
    let waits_longer = wait != LOCK_TIMEOUT_SECONDS;
    let wait = SettingValue::Milliseconds(wait.saturating_mul(1000));
    vec![
        of("source", source_word, source.is_some(), of_source),
        of("disabled", switch, disabled, of_switch),
        of("color", word(color), true, color_origin),
        of("lock_timeout", wait, waits_longer, of_wait),
    ]
}

fn text(outcome: &ConfigOutcome, printer: &Printer) -> String {
    let row = |name: &str, value: String, remark: &str| [name.into(), value, remark.into()];
    let place = |path: Option<&PathBuf>| path.map_or("none".to_owned(), |path| escape_path(path));
    let rows = |setting: &Setting| {
        let origins: Vec<String> = setting.origins.iter().map(origin_words).collect();
        let mut names = [(setting.name, origins.join(", "))].into_iter();
        let lines = value(&setting.value);
        let line = |line: &str| {
            let (name, origins) = names.next().unwrap_or_default();
            row(name, line.to_owned(), &origins)
        };
        lines.lines().map(line).collect::<Vec<_>>()
    };
    let is_key = |setting: &&Setting| keys(Owner::User).any(|key| key == setting.name);
    let (in_files, others): (Vec<_>, Vec<_>) = outcome.settings.iter().partition(is_key);
    let origin = outcome.base_origin.as_ref().map(origin_words);
    let is_missing = outcome.store.as_ref().is_some_and(|store| !store.is_dir());
    let missing = if is_missing { "not there yet" } else { "" };
    let places = [
        ("root", Some(&outcome.root), ""),
        ("base", outcome.base.as_ref(), &origin.unwrap_or_default()),
        ("store", outcome.store.as_ref(), missing),
    ];
    // A long path breaks at the edge of the terminal, behind what is said of it.
    let places = places.map(|(name, path, remark)| row(name, remark.to_owned(), &place(path)));
    let files = outcome.files.iter().map(|file| {
        let found = if file.found { "found" } else { "not there" };
        row("file", found.to_owned(), &escape_path(&file.path))
    });
    let variables = outcome.environment.iter();
    let variables = variables.filter(|variable| !variable.name.starts_with("_CLAP_"));
    let variables = variables.map(|variable| {
        let value = variable.value.as_deref().map(escape_line);
        let value = value.unwrap_or_else(|| NOT_SET.to_owned());
        row(variable.name, value, variable.purpose)
    });
    let table = |settings: Vec<_>| settings.into_iter().flat_map(rows).collect::<Vec<_>>();
    let (paint, columns) = (printer.out_paint(), printer.columns());
    let widest = columns / 3 * 2;
    let sections = [
        ("Settings", table(in_files), widest, columns),
        ("Options and variables", table(others), widest, columns),
        ("Places", places.into(), widest, usize::MAX),
        ("Files", files.collect(), widest, usize::MAX),
        ("Environment", variables.collect(), NOT_SET.len(), columns),
    ];
    let section = |(title, rows, widest, columns): &(&str, Vec<[String; 3]>, usize, usize)| {
        let lines = lines(rows, *widest, *columns, paint);
        format!("{}\n{lines}", paint.bold(title))
    };
    sections.iter().map(section).collect::<Vec<_>>().join("\n")
}

/// Formats names, values and remarks, each line cut to the width of a terminal. A value wider than
/// `widest` moves its own remark alone.
fn lines(rows: &[[String; 3]], widest: usize, columns: usize, paint: Paint) -> String {
    let width_of = |at: usize, widest: usize| {
        let widths = rows.iter().map(|row| width(&row[at]));
        let fitting = widths.filter(|width| *width <= widest);
        fitting.max().unwrap_or_default()
    };
    let (names, values) = (width_of(0, usize::MAX), width_of(1, widest));
    let line = |[name, value, remark]: &[String; 3]| {
        let (name, value) = (padded(name, names, false), padded(value, values, false));
        let start = format!("  {name}  {value}");
        let remark = cut(remark, columns.saturating_sub(width(&start) + 2));
        if remark.is_empty() {
            return cut(start.trim_end(), columns) + "\n";
        }
        format!("{start}  {}\n", paint.faint(&remark))
    };
    rows.iter().map(line).collect()
}

/// Formats a value; each member of a list on a line of its own.
fn value(value: &SettingValue) -> String {
    match value {
        SettingValue::Off => "off".to_owned(),
        SettingValue::Number(number) => number.to_string(),
        SettingValue::Milliseconds(ms) if ms % 1000 == 0 => format!("{} s", ms / 1000),
        SettingValue::Milliseconds(ms) => format!("{ms} ms"),
        SettingValue::Bytes(bytes) => size(*bytes),
        SettingValue::Switch(on) => on.to_string(),
        SettingValue::Text(text) => escape(text),
        SettingValue::List(list) if list.is_empty() => "none".to_owned(),
        SettingValue::List(list) => {
            let list: Vec<String> = list.iter().map(|one| escape(one)).collect();
            list.join("\n")
        }
    }
}

fn origin_words(origin: &Origin) -> String {
    let layer = origin.into_str().replace('_', " ");
    match origin.place() {
        Some(place) => format!("{layer} {place}"),
        None => layer,
    }
}
