//! Links the program of a debug build at a fixed address: the tests start it tens of thousands of
//! times, and its relocations are a fifth of the time of a start.

use std::env::var;

#[expect(
    clippy::disallowed_methods,
    reason = "what is built is in the environment"
)]
fn main() {
    println!("cargo::rerun-if-changed=.cargo/build.rs");
    let is = |name: &str, value: &str| var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "debug")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
    {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
