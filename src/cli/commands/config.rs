//! `config`: works without a store, with a bad file, and without a base.

use std::path::Path;
use std::time::Duration;

use crate::cli::command_context::{self, CommandContext, print_answer};
use crate::cli::global::{Color, GlobalArgs};
use crate::cli::run::RunAnywhere;
use crate::cli::{environment, exit_code};
use crate::config::environment::{ColorChoice, Environment, Origin, base_and_origin};
use crate::error::{Error, Result};
use crate::ops::browse::config::{self as config_op, ConfigOptions, Setting, SettingValue};
use crate::ops::find_root::RootSearch;
use crate::view::{config as config_view, words};

/// Show each setting and its origin
#[derive(Clone, Debug, clap::Args)]
pub struct ConfigArgs {}

impl RunAnywhere for ConfigArgs {
    fn run(self, cmd: &CommandContext<'_>, environment: Environment) -> Result<u8> {
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
        let words = || config_view::human(&outcome, cmd.printer.out_paint());
        print_answer(
            cmd,
            || config_view::json(&outcome, code),
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
