//! Tests of edited documents, and of runs whose documents have unknown fields.

mod edited;
mod phases;
mod pipeline;
mod registry;
mod round;
