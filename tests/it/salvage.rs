//! A store that cannot be used at all, and what is brought over into a fresh one.
