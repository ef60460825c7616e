//! Stand-in for `sqlite` in a build without SQLite.

use std::path::Path;
use std::time::Duration;

use crate::base::{Interrupt, Interrupted};

pub const IS_BUILT_IN: bool = false;

#[derive(Clone, Copy, Debug)]
pub struct BusyWait<'i> {
    pub wait: Duration,
    pub interrupt: &'i Interrupt,
}

#[derive(Debug)]
pub enum Refusal {
    Interrupted(Interrupted),
    Failed(String),
}

#[derive(Debug)]
pub struct Watched;

pub fn copy_out(
    _live: &Path,
    _copy: &Path,
    _may_recover: bool,
    _patience: &BusyWait<'_>,
) -> Result<Watched, Refusal> {
    refuse().map(|()| Watched)
}

pub fn content(_live: &Path, _interrupt: &Interrupt) -> Option<Vec<u8>> {
    None
}

pub fn check_kind(_live: &Path) -> Result<(), Refusal> {
    refuse()
}

pub fn check(_copy: &Path) -> Result<(), Refusal> {
    refuse()
}

pub fn restore(
    _copy: &Path,
    _live: &Path,
    _watched: Option<Watched>,
    busy_wait: &BusyWait<'_>,
) -> Result<(), Refusal> {
    busy_wait.interrupt.check().map_err(Refusal::Interrupted)?;
    refuse()
}

fn refuse() -> Result<(), Refusal> {
    Err(Refusal::Failed(
        "this program was built without SQLite".to_owned(),
    ))
}
