//! Messages of clap in our format: help, version, or a usage error.

use clap::Command;

/// Joins the error and clap's tips, if any: `what; a similar subcommand exists: 'list'`.
fn in_one_line(said: &str) -> String {
    let mut paragraphs = said.split("\n\n");
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let what = joined(
        paragraphs
            .next()
            .unwrap_or_default()
            .trim_start_matches("error: "),
    );
    let tips = paragraphs
        .flat_map(str::lines)
        .filter_map(|line| line.trim_start().strip_prefix("tip: "));
    let parts: Vec<String> = std::iter::once(what).chain(tips.map(joined)).collect();
    parts.join("; ")
}

/// Removes trailing spaces that clap leaves on empty lines.
fn trimmed(text: &str) -> String {
    text.lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

/// A message of clap instead of parsed arguments: help or version for stdout, or a failure.
pub struct ParseRefusal {
    pub text: String,
    pub is_failure: bool,
}

/// Returns the help of a command such as `workflow init`, or of the program; `None` if there is no
/// such command.
pub fn help_of(whole: &Command, words: &[String]) -> Option<String> {
    let mut at = whole;
    for word in words {
        at = at.find_subcommand(word)?;
    }
    let line = ["checkpoint"]
        .into_iter()
        .chain(words.iter().map(String::as_str))
        .chain(["--help"]);
    let refusal = ParseRefusal::from(whole.clone().try_get_matches_from(line).err()?);
    Some(refusal.text).filter(|_| !refusal.is_failure)
}

impl From<clap::Error> for ParseRefusal {
    fn from(error: clap::Error) -> Self {
        let (said, is_failure) = (error.render().to_string(), error.use_stderr());
        Self {
            text: if is_failure {
                in_one_line(&said)
            } else {
                trimmed(&said)
            },
            is_failure,
        }
    }
}

/// Returns the short help, for a call without a command.
pub fn short_help(whole: &mut Command) -> String {
    trimmed(&whole.render_help().to_string())
}
