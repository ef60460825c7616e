//! Ignore rules and the index, compared with the git that is installed here.

mod corpus;
mod index;
mod oracle;
mod random;
