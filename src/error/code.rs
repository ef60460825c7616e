//! The stable codes of failures, with their exit codes: `checkpoint help json` lists them.

/// What kind of failure it is: its name in JSON and its exit code. Codes are equal if their names are.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    pub name: &'static str,
    pub exit: u8,
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

macro_rules! codes {
    ($($code:ident $name:literal $exit:literal,)*) => {
        impl Code {
            $(pub const $code: Self = Self { name: $name, exit: $exit };)*
            /// The names of all codes, but for those of workflows.
            pub const NAMES: &'static [&'static str] = &[$($name),*];
        }
    };
}

codes! {
    AMBIGUOUS_CHECKPOINT "ambiguous_checkpoint" 3,
    AMBIGUOUS_STORE "ambiguous_store" 4,
    BAD_BUNDLE "bad_bundle" 6,
    BAD_CONFIG "bad_config" 1,
    BAD_DESTINATION "bad_destination" 4,
    BUNDLE_NEEDS "bundle_needs" 3,
    BUSY "busy" 7,
    CHANGED_MEANWHILE "changed_meanwhile" 4,
    CONFLICT "conflict" 4,
    CONSENT_NEEDED "consent_needed" 4,
    DAMAGED "damaged" 6,
    DATABASE_NOT_HELD "database_not_held" 4,
    DATABASE_NOT_TAKEN "database_not_taken" 1,
    DECLINED "declined" 4,
    DIR_NOT_ALLOWED "dir_not_allowed" 4,
    DOT_GIT_PATH "dot_git_path" 4,
    EVICTED_MEANWHILE "evicted_meanwhile" 3,
    FAILED "failed" 1,
    GIT_MISSING "git_missing" 1,
    GIT_TOO_SLOW "git_too_slow" 1,
    HELD "held" 4,
    HOSTILE_STORE "hostile_store" 1,
    // The number of the signal is added.
    INTERRUPTED "interrupted" 128,
    IO "io" 1,
    IS_A_DIRECTORY "is_a_directory" 3,
    LINKED_PATH "linked_path" 4,
    NO_BASE "no_base" 1,
    NO_PLACE_FOR_BASE "no_place_for_base" 1,
    NO_STORE "no_store" 3,
    NO_SUCH_CHECKPOINT "no_such_checkpoint" 3,
    NO_SUCH_HOLD "no_such_hold" 3,
    NO_SUCH_PATH "no_such_path" 3,
    NOT_OWN "not_own" 4,
    NOT_RECORDED "not_recorded" 4,
    NOTHING_FOUND "nothing_found" 3,
    NOTHING_HELD "nothing_held" 4,
    NOTHING_TO_TAKE_BACK "nothing_to_take_back" 3,
    PINNED "pinned" 4,
    PLAN_NOT_KNOWN "plan_not_known" 4,
    RELINK_REFUSED "relink_refused" 4,
    REMOTE_FAILED "remote_failed" 1,
    REMOTE_NAME_TAKEN "remote_name_taken" 4,
    RESTORE_NEVER_BEGAN "restore_never_began" 4,
    RESTORE_PENDING "restore_pending" 4,
    ROOT_MISSING "root_missing" 3,
    SEVERAL_HOLDS "several_holds" 4,
    STORE_GONE "store_gone" 3,
    STORE_TOO_NEW "store_too_new" 6,
    STORE_UNUSABLE "store_unusable" 6,
    UNGUARDED "unguarded" 4,
    UNSAFE_ROOT "unsafe_root" 4,
    USAGE "usage" 2,
    WORKFLOW_FILE "workflow_file" 4,
}
