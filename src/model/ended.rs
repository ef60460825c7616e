//! How a command that the user asked for came to its end.

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

    /// One number for both, as a shell tells it: 128 and the signal.
    pub fn code(self) -> i32 {
        match self {
            Self::Exit(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }

    pub fn in_words(self) -> String {
        match self {
            Self::Exit(code) => format!("exit {code}"),
            Self::Signal(signal) => format!("signal {signal}"),
        }
    }
}
