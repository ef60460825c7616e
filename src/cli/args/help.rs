//! `checkpoint help`.

/// Show the help of a command, or a page about a topic
///
/// Without a word it is that of checkpoint --help, which names the topics.
#[derive(Debug, clap::Args)]
pub struct HelpArgs {
    /// A command such as restore or 'workflow init', or a topic such as
    /// recovery
    #[arg(value_name = "COMMAND|TOPIC")]
    pub words: Vec<String>,
}
