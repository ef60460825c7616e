//! Passwords behind the short options of programs that take them so.

use std::ops::Range;

use crate::model::session::redact::value_text::{is_placeholder, quoted, run};

/// A program that takes a password by a short option.
pub struct Tool {
    names: &'static [&'static str],
    options: &'static [&'static str],
    form: ValueForm,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueForm {
    /// `-pVALUE`
    Attached,
    /// `-p VALUE`
    Separate,
    Either,
    /// `-u NAME:VALUE`
    AfterName,
}

static TOOLS: [Tool; 7] = [
    Tool {
        names: &[
            "mysql",
            "mysqldump",
            "mysqladmin",
            "mysqlimport",
            "mariadb",
            "mariadb-dump",
            "7z",
            "7za",
        ],
        options: &["-p"],
        form: ValueForm::Attached,
    },
    Tool {
        names: &[
            "sshpass",
            "mongo",
            "mongosh",
            "mongodump",
            "mongorestore",
            "mongoexport",
            "cqlsh",
        ],
        options: &["-p"],
        form: ValueForm::Either,
    },
    Tool {
        names: &["curl"],
        options: &["-u", "--user", "-U", "--proxy-user"],
        form: ValueForm::AfterName,
    },
    Tool {
        names: &["redis-cli"],
        options: &["-a"],
        form: ValueForm::Separate,
    },
    Tool {
        names: &["zip", "unzip", "sqlcmd", "bcp"],
        options: &["-P"],
        form: ValueForm::Either,
    },
    Tool {
        names: &["ldapsearch", "ldapmodify", "ldapadd"],
        options: &["-w"],
        form: ValueForm::Separate,
    },
    // Only their `login` takes one.
    Tool {
        names: &[
            "docker", "podman", "nerdctl", "buildah", "skopeo", "helm", "az",
        ],
        options: &[],
        form: ValueForm::Separate,
    },
];
static LOGIN: Tool = Tool {
    names: &["login"],
    options: &["-p"],
    form: ValueForm::Separate,
};

/// Returns the tool of a command line after one more word.
pub fn tool_after(tool: Option<&'static Tool>, word: &str) -> Option<&'static Tool> {
    if word == "login" && tool.is_some_and(|tool| tool.options.is_empty()) {
        return Some(&LOGIN);
    }
    let named = TOOLS.iter().find(|tool| tool.names.contains(&word));
    named.or(tool)
}

impl Tool {
    /// Returns the password that the option at a place announces.
    pub fn value(&self, text: &str, at: usize) -> Option<Range<usize>> {
        if !text[..at]
            .chars()
            .next_back()
            .is_none_or(char::is_whitespace)
        {
            return None;
        }
        let options = self.options.iter();
        let behind = options
            .filter_map(|option| text[at..].strip_prefix(option))
            .min_by_key(|it| it.len())?;
        let gap = behind.len() - behind.trim_start_matches([' ', '\t', '=']).len();
        let is_apt = match self.form {
            ValueForm::Attached => gap == 0,
            ValueForm::Separate => gap > 0,
            ValueForm::Either | ValueForm::AfterName => true,
        };
        let start = text.len() - behind.len() + gap;
        let value = quoted(text, start).unwrap_or_else(|| run(text, start));
        let shown = &text[value.clone()];
        let name = match self.form {
            ValueForm::AfterName => shown.find(':')? + 1,
            _ => 0,
        };
        let secret = value.start + name..value.end;
        let is_secret = is_apt && !shown.starts_with('-') && !secret.is_empty();
        (is_secret && !is_placeholder(&text[secret.clone()])).then_some(secret)
    }
}
