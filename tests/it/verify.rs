//! `verify`: what it finds, what it says, and that it mends without deleting.
