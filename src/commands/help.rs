//! `help`: shows the help of a command, or a page of `src/docs`.

use clap::Command as Grammar;

use crate::answer::{envelope as envelope_view, topics};
use crate::base::interrupt::Interrupt;
use crate::config::environment::Environment;
use crate::error::{Error, Result};
use crate::shell::command_context::CommandContext;
use crate::shell::run::RunAnywhere;
use crate::shell::terminal::pager::PagerOutput;
use crate::shell::{exit_code, grammar, signals};

/// Show the help of a command, or a page about a topic
///
/// 'checkpoint help topics' lists the topics, 'checkpoint help options' the options of every
/// command.
#[derive(Debug, clap::Args)]
pub struct HelpArgs {
    /// Command such as restore or 'workflow init', or topic such as recovery
    #[arg(value_name = "COMMAND|TOPIC", value_delimiter = ' ')]
    pub words: Vec<String>,
}

impl RunAnywhere for HelpArgs {
    fn run(self, cmd: &CommandContext<'_>, environment: Environment) -> Result<u8> {
        let text = text(&self.words, &(cmd.grammar)())?;
        if cmd.printer.json {
            cmd.printer
                .result(&envelope_view::text_answer("help", &text));
            return Ok(exit_code::DONE);
        }
        let interrupt = Interrupt::default();
        signals::install(&interrupt);
        let mut output = PagerOutput::new(cmd.printer, environment.pager.as_deref(), &interrupt);
        let _ = output.write(text.as_bytes());
        Ok(exit_code::DONE)
    }
}

fn text(words: &[String], whole: &Grammar) -> Result<String> {
    let page = match words {
        [topic] if topic == "options" => Some(grammar::help_of_options(whole)),
        [topic] if topic == "topics" => Some(topics::overview()),
        [topic] => topics::page(topic).map(str::to_owned),
        _ => None,
    };
    page.or_else(|| grammar::help_of(whole, words))
        .ok_or_else(|| {
            Error::usage(format!(
                "'{}' is neither a command nor a topic; the topics: {}",
                words.join(" "),
                topics::names().join(", ")
            ))
        })
}
