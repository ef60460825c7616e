//! The facts behind the contract of a checkpoint: read back from the store after it was made, never assumed.

pub mod audit;
pub mod create_contract;
pub mod guard;
pub mod guard_cover;
pub mod hold;
pub mod restore_contract;
