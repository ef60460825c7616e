//! No watchman where it is not reached by a socket.

use crate::base::{Interrupt, Malformed};
use crate::ops::capture::monitor::{Changes, ChangesQuestion};

pub fn changes(_interrupt: &Interrupt, _asked: &ChangesQuestion<'_>) -> Result<Changes, Malformed> {
    Err("it can be relied on only on Linux".into())
}
