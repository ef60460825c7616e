//! The list of rules that a new store gets, as text in the syntax of a `.gitignore`.

/// What is left out unless the project or the user says otherwise: what tools make anew, and environment files.
pub const DEFAULT_STORE_LIST: &str = "\
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
!.env.example
!.env.sample
!.env.template
";
