//! How a command run for the user ended.

/// The end of a child process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    Exit(i32),
    /// Ended by this signal.
    Signal(i32),
}

impl CommandEnd {
    pub fn is_success(self) -> bool {
        self == Self::Exit(0)
    }

    /// Returns the exit code as a shell reports it: 128 plus the signal number for a signal.
    pub fn code(self) -> i32 {
        match self {
            Self::Exit(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }
}
