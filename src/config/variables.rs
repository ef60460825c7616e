//! Every environment variable that this program or one of its libraries reads, and its purpose.

/// An environment variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: &'static str,
    pub purpose: &'static str,
    /// Whether the value is private: then only its presence is shown.
    pub is_private: bool,
}

pub const VARIABLES: [Variable; 40] = [
    public("CHECKPOINT_HOME", "the base, under which all stores lie"),
    public(
        "CLAUDE_CONFIG_DIR",
        "the base, if CHECKPOINT_HOME is not set",
    ),
    public(
        "CHECKPOINT_SOURCE",
        "the source of a checkpoint, unless --source names one",
    ),
    public(
        "CHECKPOINT_DISABLE",
        "makes create do nothing, unless it is 0, false, no or off",
    ),
    private(
        "CLAUDE_CODE_SESSION_ID",
        "the session, unless --session names one",
    ),
    public(
        "CLAUDE_PROJECT_DIR",
        "the directory of the MCP server, if no other is named",
    ),
    public("CLAUDECODE", "tells that Claude Code runs this"),
    private(
        "CODEX_THREAD_ID",
        "tells that Codex runs this, and the session",
    ),
    public("GEMINI_CLI", "tells that Gemini CLI runs this"),
    private("GEMINI_SESSION_ID", "the session of Gemini CLI"),
    public("CURSOR_AGENT", "tells that Cursor runs this"),
    public("COPILOT_CLI", "tells that Copilot CLI runs this"),
    public("COPILOT_AGENT", "tells that a Copilot agent runs this"),
    public("OPENCODE", "tells that opencode runs this"),
    public("AI_AGENT", "tells that an agent runs this"),
    public("AGENT", "the same"),
    public("CODEX_HOME", "the folder of Codex, for setup"),
    public("COPILOT_HOME", "the folder of Copilot CLI, for setup"),
    public("PATH", "where setup finds the path of this program"),
    public("CHECKPOINT_NOW", "fixes the clock, for tests"),
    public(
        "HOME",
        "the home directory; ~/.claude is the base by default",
    ),
    public("USERPROFILE", "the home directory, where HOME is not set"),
    public(
        "XDG_CONFIG_HOME",
        "where configuration files are kept, on Linux",
    ),
    public("APPDATA", "where configuration files are kept, on Windows"),
    public("COMPUTERNAME", "the name of this machine, on Windows"),
    public("PWD", "the current directory as the shell names it"),
    public("NO_COLOR", "switches colours off"),
    public(
        "CLICOLOR_FORCE",
        "switches colours on, even in a pipe; 0 does not",
    ),
    public("FORCE_COLOR", "the same"),
    public(
        "CHECKPOINT_PAGER",
        "shows long answers on a terminal; empty or cat is none",
    ),
    public("PAGER", "the same, if CHECKPOINT_PAGER is not set"),
    public("LESS", "options of the pager less; FRX if it is not set"),
    public("COLUMNS", "the width of the help, at most 100"),
    public(
        "TERM",
        "the kind of terminal; dumb or not set: no colours, progress, pager or picker",
    ),
    public("TZ", "the time zone of times for people"),
    public(
        "CHECKPOINT_COMPLETE",
        "the shell that asks for candidates; set by completion scripts alone",
    ),
    public(
        "_CLAP_COMPLETE_INDEX",
        "which word is completed; set by completion scripts alone",
    ),
    public(
        "_CLAP_COMPLETE_COMP_TYPE",
        "how it is completed; set by completion scripts alone",
    ),
    public(
        "_CLAP_COMPLETE_SPACE",
        "whether a blank follows; set by completion scripts alone",
    ),
    public(
        "_CLAP_IFS",
        "what separates candidates; set by completion scripts alone",
    ),
];

const fn public(name: &'static str, purpose: &'static str) -> Variable {
    Variable {
        name,
        purpose,
        is_private: false,
    }
}

const fn private(name: &'static str, purpose: &'static str) -> Variable {
    Variable {
        name,
        purpose,
        is_private: true,
    }
}
