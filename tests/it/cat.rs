//! `cat`: the bytes of one file.
