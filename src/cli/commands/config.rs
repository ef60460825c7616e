//! `config`: works without a store, with a bad file, and without a base.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use clap::Subcommand;

use crate::agent::setup::act;
use crate::base::read_regular;
use crate::base::text::{escape, escape_path};
use crate::cli::command_context::{self, CommandContext, print_answer};
use crate::cli::global::{Color, GlobalArgs};
use crate::cli::run::RunAnywhere;
use crate::cli::{environment, exit_code};
use crate::config::edit;
use crate::config::environment::{ColorChoice, Environment, Origin, base_and_origin, no_base};
use crate::error::{Error, Result};
use crate::ops::browse::config::{self as config_op, ConfigOptions, Setting, SettingValue};
use crate::ops::find_root::RootSearch;
use crate::view::words::Output;
use crate::view::{config as config_view, words};

/// Show each setting and its origin, or set one
///
/// --json shows the environment variables that are not set too.
#[derive(Clone, Debug, clap::Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub command: Option<ConfigCommand>,
}

#[derive(Clone, Debug, Subcommand)]
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
}

/// Writes the value, and returns what to say of it.
fn set(environment: &Environment, key: &str, value: &str) -> Result<String> {
    let dir = environment
        .config_dir
        .as_ref()
        .ok_or_else(|| no_base(environment))?;
    let file = dir.join("config.toml");
    let text = match read_regular::read_linked_text(&file) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => String::new(),
        read => read.map_err(Error::io("read", &file))?,
    };
    let (text, written) = edit::set(&file, &text, key, value)?;
    act::write_settings(&file, &text)?;
    Ok(format!(
        "{}: {key} = {}\n",
        escape_path(&file),
        escape(&written)
    ))
}

impl RunAnywhere for ConfigArgs {
    fn run(self, cmd: &CommandContext<'_>, environment: Environment) -> Result<u8> {
        let said = match &self.command {
            Some(ConfigCommand::Set { key, value }) => Some(set(&environment, key, value)?),
            None => None,
        };
        let global = cmd.global;
        let base = base_and_origin(global.base.as_deref(), &environment);
        let base = base
            .map(|(base, origin)| Ok::<_, Error>((environment::absolute(&base)?, origin)))
            .transpose()?;
        let search = RootSearch {
            base: base.as_ref().map_or(Path::new(""), |(base, _)| base),
            home: environment.home.as_deref(),
        };
        let root = search.find(&command_context::place(global, &environment)?)?;
        let flags = flags(global, &environment);
        let outcome = config_op::config(ConfigOptions {
            root,
            base,
            environment,
            variables: environment::variables(),
            flags,
        });
        let code = outcome
            .problems
            .first()
            .map_or(exit_code::DONE, exit_code::of_error);
        let name = if said.is_some() {
            "config.set"
        } else {
            "config"
        };
        let words = || match said {
            Some(talk) => Output {
                talk,
                ..Output::default()
            },
            None => config_view::human(&outcome, cmd.printer.out_paint()),
        };
        print_answer(
            cmd,
            || config_view::json(name, &outcome, code),
            words,
            &outcome.warnings,
        );
        for problem in &outcome.problems {
            cmd.printer
                .failure(&words::error(problem, cmd.printer.err_paint()));
        }
        Ok(code)
    }
}

/// Returns settings that no file can contain.
fn flags(global: &GlobalArgs, environment: &Environment) -> Vec<Setting> {
    let from = |given: bool, origin: Origin| vec![if given { origin } else { Origin::Default }];
    let source = environment
        .source
        .clone()
        .unwrap_or_else(|| "cli".to_owned());
    let color = match global.color {
        Color::Auto => match environment.color {
            ColorChoice::Auto => ("auto", Origin::Default),
            ColorChoice::Never => ("never", Origin::Environment("NO_COLOR")),
            ColorChoice::Always(name) => ("always", Origin::Environment(name)),
        },
        Color::Always => ("always", Origin::Flag("--color")),
        Color::Never => ("never", Origin::Flag("--color")),
    };
    let wait = Duration::from_secs(global.lock_timeout);
    let waits_longer = global.lock_timeout != crate::cli::global::LOCK_TIMEOUT_SECONDS;
    vec![
        Setting {
            name: "source",
            value: SettingValue::Text(source),
            origins: from(
                environment.source.is_some(),
                Origin::Environment("CHECKPOINT_SOURCE"),
            ),
        },
        Setting {
            name: "disabled",
            value: SettingValue::Switch(environment.disabled),
            origins: from(
                environment.disabled,
                Origin::Environment("CHECKPOINT_DISABLE"),
            ),
        },
        Setting {
            name: "color",
            value: SettingValue::Text(color.0.to_owned()),
            origins: vec![color.1],
        },
        Setting {
            name: "lock_timeout",
            value: SettingValue::Seconds(wait.as_secs()),
            origins: from(waits_longer, Origin::Flag("--lock-timeout")),
        },
    ]
}
