//! The command line that agents are given to call `hook`, and how it is recognized again.

use crate::agent::dialect::event::AgentName;

/// A call of `hook` as an agent makes it.
///
/// The shell throws stderr away and ends with 0, so that a program that is gone, foreign or too old
/// to know `hook` stops no agent. It never changes between versions: Codex trusts it by its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCall {
    /// The program by the path at which it was found; links are not resolved, as an upgrade changes
    /// what they point to.
    pub program: String,
    pub agent: AgentName,
    /// Whether it makes the first checkpoint of a directory, which may take longer.
    pub is_first: bool,
}

impl HookCall {
    /// Returns the line for sh and its kin.
    pub fn shell(&self) -> String {
        let program = self.program.replace('\'', "'\\''");
        format!("'{program}' {} 2>/dev/null; exit 0", self.arguments())
    }

    /// Returns the line for PowerShell.
    pub fn powershell(&self) -> String {
        let program = self.program.replace('\'', "''");
        format!("& '{program}' {} 2>$null; exit 0", self.arguments())
    }

    /// Returns the line for the shell that agents use on this system.
    pub fn native(&self) -> String {
        if cfg!(windows) {
            self.powershell()
        } else {
            self.shell()
        }
    }

    fn arguments(&self) -> String {
        let agent: &str = self.agent.into();
        let first = if self.is_first { " --first" } else { "" };
        format!("hook --agent {agent}{first}")
    }

    /// Reads a line that this or another version wrote; `None` for every other line.
    pub fn parse(line: &str) -> Option<Self> {
        let (quoted, quote) = match line.strip_prefix("& ") {
            Some(rest) => (rest, "''"),
            None => (line, "'\\''"),
        };
        let quoted = quoted.strip_prefix('\'')?;
        let (program, arguments) = quoted.rsplit_once("' hook --agent ")?;
        let mut words = arguments.split(' ');
        let call = Self {
            program: program.replace(quote, "'"),
            agent: words.next()?.parse().ok()?,
            is_first: words.next()? == "--first",
        };
        let is_same = call.shell() == line || call.powershell() == line;
        (is_same && is_our_name(&call.program)).then_some(call)
    }
}

/// Whether a path ends in the name of this program.
pub fn is_our_name(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next();
    name.is_some_and(|name| name.strip_suffix(".exe").unwrap_or(name) == "checkpoint")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_written_line_is_recognized_and_no_other() {
        for program in [
            "/usr/bin/checkpoint",
            "/it's here/checkpoint",
            "C:\\Program Files\\checkpoint.exe",
            "/a' hook --agent x/checkpoint",
        ] {
            for (agent, is_first) in [(AgentName::Codex, false), (AgentName::Gemini, true)] {
                let call = HookCall {
                    program: program.to_owned(),
                    agent,
                    is_first,
                };
                for line in [call.shell(), call.powershell()] {
                    assert_eq!(HookCall::parse(&line).as_ref(), Some(&call), "{line}");
                    assert_eq!(HookCall::parse(&format!("{line} ")), None);
                    assert_eq!(HookCall::parse(&format!(" {line}")), None);
                }
            }
        }
        for line in [
            "",
            "checkpoint hook --agent codex",
            "'/usr/bin/checkpoint' hook --agent codex 2>/dev/null",
            "'/usr/bin/checkpoint' hook --agent codex 2>/dev/null; exit 1",
            "'/usr/bin/checkpoint' hook --agent nobody 2>/dev/null; exit 0",
            "'/usr/bin/checkpoint' hook --agent codex --last 2>/dev/null; exit 0",
            "'/usr/bin/checkpointer' hook --agent codex 2>/dev/null; exit 0",
            "'/usr/bin/git-ai' hook --agent codex 2>/dev/null; exit 0",
            "'/usr/bin/checkpoint' hook --agent codex 2>/dev/null; rm -r x; exit 0",
            "'/a'; rm -r x; '/checkpoint' hook --agent codex 2>/dev/null; exit 0",
        ] {
            assert_eq!(HookCall::parse(line), None, "{line}");
        }
    }
}
