//! Those tests of the built program that CI runs again, on the release build: random stories by the thousand, and what the
//! quick paths cost. A small binary of its own, because building all tests twice takes minutes.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests make and break files directly, read their own settings, and fail loudly in helpers too"
)]

#[path = "../it/bench/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the bench serves the other tests too")]
mod bench;
#[path = "../it/eviction.rs"]
mod eviction;
#[path = "../it/roundtrip/mod.rs"]
mod roundtrip;
#[path = "../it/system_calls.rs"]
mod system_calls;
