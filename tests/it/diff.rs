//! `diff`.
