//! A store that a newer program wrote: read as far as possible, never written.
