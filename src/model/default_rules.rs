//! The rule list of a new store, in `.gitignore` syntax.

/// The lines of the shell recipe that this program replaces.
macro_rules! recipe {
    () => {
        "\
node_modules/
.env
.env.*
__pycache__/
.git/
venv/
.venv/
dist/
build/
.next/
*.pyc
.DS_Store
"
    };
}

/// Rule list of a store made by hand.
pub const RECIPE_LIST: &str = recipe!();

/// Default rule list: files that tools regenerate, and environment files.
pub const DEFAULT_STORE_LIST: &str = concat!(
    recipe!(),
    "\
!.env.example
!.env.sample
!.env.template
"
);

/// Name of the ignore file in any directory.
pub const IGNORE_FILE: &[u8] = b".gitignore";
