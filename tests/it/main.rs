//! Tests from outside: through the library's doors, the file system and real git.

#[cfg(unix)]
mod ignore_rules;
