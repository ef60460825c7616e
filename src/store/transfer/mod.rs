//! Checkpoints on the way between stores. A bundle is one file: `header` is the text in front,
//! `write_bundle` streams the objects out, `receive` takes it into a quarantine and checks it there,
//! `take_over` adds it to the store. On a remote a store has a line of commits: `carrier` is one of
//! them and what it says, `transport` the repository from which git sends them, `fetched` takes over
//! what came back, `remotes` names them all.

pub mod carrier;
pub mod fetched;
pub mod header;
pub mod receive;
pub mod remotes;
pub mod take_over;
pub mod transport;
pub mod write_bundle;
