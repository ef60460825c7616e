//! The contest: this program against the shell recipe and its peers, in turn, on the same trees.

fn main() {}
