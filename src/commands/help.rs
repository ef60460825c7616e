//! `help`: shows the help of a command, or a page of `src/docs`.

use clap::Command as Grammar;

use crate::base::Interrupt;
use crate::commands::prelude::*;
use crate::shell::{PagerOutput, grammar, signals};

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
    fn run(self, cmd: &mut CommandContext<'_>, environment: Environment) -> Result<u8> {
        let text = text(&self.words, &(cmd.grammar)())?;
        if cmd.printer.json {
            cmd.print_text(&text);
            return Ok(exit_code::DONE);
        }
        let interrupt = Interrupt::default();
        signals::install(&interrupt, false);
        let (printer, pager) = (cmd.printer.clone(), environment.pager.as_deref());
        let mut output = PagerOutput::new(printer, pager, &interrupt);
        let _ = output.write(text.as_bytes());
        Ok(exit_code::DONE)
    }
}

fn text(words: &[String], whole: &Grammar) -> Result<String> {
    let page = match words {
        [topic] if topic == "options" => Some(grammar::help_of_options(whole)),
        [topic] if topic == "topics" => Some(overview()),
        [topic] => page_of(topic),
        _ => None,
    };
    let of_synonym = |at: usize| {
        let meant = grammar::synonym(&words[at], &words[..at].join(" "))?;
        let name = meant.split([' ', ',']).next()?.to_owned();
        grammar::help_of(whole, &[&words[..at], &[name]].concat())
    };
    page.or_else(|| grammar::help_of(whole, words))
        .or_else(|| page_of(&grammar::synonym(&words.join("-"), "help")?))
        .or_else(|| (0..words.len()).find_map(of_synonym))
        .ok_or_else(|| {
            Error::usage(format!(
                "'{}' is neither a command nor a topic; the topics: {}",
                words.join(" "),
                topic_names().join(", ")
            ))
        })
}

macro_rules! pages {
    ($($name:literal)*) => { &[$(($name, include_str!(concat!("../docs/", $name, ".md")))),*] };
}

/// Topics and pages, in the order in which a newcomer needs them. None has the name of a command.
const TOPICS: &[(&str, &str)] = pages! {
    "selectors" "history" "recovery" "what-is-captured" "scoped" "workflows" "agents" "watching" "browser"
    "json" "configuration" "performance" "platforms" "remotes"
};

pub fn topic_names() -> Vec<&'static str> {
    TOPICS.iter().map(|(name, _)| *name).collect()
}

pub fn page_of(topic: &str) -> Option<String> {
    let mut topics = TOPICS.iter();
    let (_, page) = topics.find(|(name, _)| *name == topic)?;
    Some((*page).to_owned())
}

/// Returns a page that names all the others.
fn overview() -> String {
    let mut page = "Pages of 'checkpoint help TOPIC':\n\n".to_owned();
    for (name, title) in titles() {
        page.push_str(&format!("  {name:<17} {title}\n"));
    }
    page + "\nOther commands: man, schema, and for workflows: phase, task\n"
}

/// Returns the topics with the titles of their pages.
pub fn titles() -> impl Iterator<Item = (&'static str, &'static str)> {
    TOPICS.iter().map(|(name, page)| {
        let title = page.lines().next().unwrap_or_default();
        (*name, title.trim_start_matches("# "))
    })
}
