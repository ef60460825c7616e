//! The list of rules that a new store gets, as text in the syntax of a `.gitignore`.

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

/// What a store made by hand leaves out.
pub const RECIPE_LIST: &str = recipe!();

/// What is left out unless the project or the user says otherwise: what tools make anew, and environment files.
pub const DEFAULT_STORE_LIST: &str = concat!(
    recipe!(),
    "\
!.env.example
!.env.sample
!.env.template
"
);

/// In any directory, the file with the rules for what is below it.
pub const IGNORE_FILE: &[u8] = b".gitignore";
