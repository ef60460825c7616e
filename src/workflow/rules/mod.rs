//! The rules of runs: state and transitions. Pure: no file, no clock, no store.

pub mod advice;
pub mod change;
pub mod dialog;
pub mod observation;
pub mod validate;
pub mod workflow;
