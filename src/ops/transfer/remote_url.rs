//! URLs of remotes: which of them git may be given, and what it may use for each.

use std::path::Path;

use crate::base::malformed::Malformed;
use crate::worktree::root::canonical;

/// Transports of git that run a command out of the URL.
const COMMANDS: [&str; 2] = ["ext", "fd"];
/// Schemes for which git needs no helper of others.
const NATIVE: [&str; 7] = ["file", "git", "git+ssh", "http", "https", "ssh", "ssh+git"];
const MASK: &str = "***";

/// A URL that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteUrl {
    pub text: String,
    /// Value of `GIT_ALLOW_PROTOCOL` for it: a redirect to another transport is refused.
    pub protocols: String,
    /// Whether git itself carries objects there. The helpers of other transports may need the whole
    /// history of what they send.
    pub is_native: bool,
}

impl RemoteUrl {
    /// Accepts a URL; a path is made absolute from `here`.
    ///
    /// # Errors
    /// It could be taken for an option, runs a command, or has control signs.
    pub fn parse(typed: &str, here: &Path) -> Result<Self, Malformed> {
        if typed.is_empty() || typed.chars().any(char::is_control) {
            return Err("it is empty or has control signs".into());
        }
        if typed.starts_with('-') {
            return Err("git could take it for an option".into());
        }
        let (helper, address) = split_helper(typed);
        if let Some(helper) = helper {
            refuse_command(helper)?;
            let inner = Self::parse(address, here)?;
            return Ok(Self {
                text: format!("{helper}::{}", inner.text),
                protocols: format!("{helper}:{}", inner.protocols),
                is_native: false,
            });
        }
        let Some(scheme) = scheme(typed) else {
            let path = here.join(typed);
            let path = canonical(&path).unwrap_or(path);
            let text = path.to_str().ok_or("its path is not UTF-8")?;
            if text.chars().any(char::is_control) {
                return Err("its path has control signs".into());
            }
            return Ok(Self {
                text: text.to_owned(),
                protocols: "file".to_owned(),
                is_native: true,
            });
        };
        refuse_command(scheme)?;
        // The user's own `url.….insteadOf` may lead from one of these to another.
        let protocols = match scheme {
            "http" => "http:https:ssh",
            "https" => "https:ssh",
            "ssh" | "git+ssh" | "ssh+git" => "ssh:https",
            "git" => "git:ssh:https",
            other => other,
        };
        Ok(Self {
            text: typed.to_owned(),
            protocols: protocols.to_owned(),
            is_native: NATIVE.contains(&scheme),
        })
    }

    /// The URL without a password.
    pub fn shown(&self) -> String {
        match self.password() {
            Some(password) => self.text.replacen(password, MASK, 1),
            None => self.text.clone(),
        }
    }

    /// Masks the password in what git says.
    pub fn masked(&self, text: &str) -> String {
        match self.password() {
            Some(password) => text.replace(password, MASK),
            None => text.to_owned(),
        }
    }

    /// The password between `user:` and `@`.
    fn password(&self) -> Option<&str> {
        let (_, address) = split_helper(&self.text);
        scheme(address)?;
        let (_, rest) = address.split_once("://").unwrap_or(("", address));
        let authority = rest.split('/').next()?;
        let (user, _) = authority.rsplit_once('@')?;
        let (_, password) = user.split_once(':')?;
        Some(password).filter(|password| !password.is_empty())
    }
}

/// Splits `helper::address`, as git does.
fn split_helper(url: &str) -> (Option<&str>, &str) {
    let end = url
        .find(|sign: char| !is_scheme_sign(sign))
        .unwrap_or(url.len());
    match url[end..].strip_prefix("::") {
        Some(address) if end > 0 => (Some(&url[..end]), address),
        _ => (None, url),
    }
}

fn is_scheme_sign(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || "+-.".contains(sign)
}

/// The scheme of a URL, `ssh` for `host:path`; `None` for a path.
fn scheme(url: &str) -> Option<&str> {
    if let Some((scheme, _)) = url.split_once("://") {
        let is_scheme = !scheme.is_empty() && scheme.chars().all(is_scheme_sign);
        return is_scheme.then_some(scheme);
    }
    let (host, _) = url.split_once(':')?;
    let is_drive = host.len() == 1 && cfg!(windows);
    (!host.contains(['/', '\\']) && !is_drive && !host.is_empty()).then_some("ssh")
}

fn refuse_command(transport: &str) -> Result<(), Malformed> {
    if COMMANDS
        .iter()
        .any(|one| transport.eq_ignore_ascii_case(one))
    {
        return Err(format!("the transport {transport} runs commands").into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(typed: &str) -> Result<RemoteUrl, String> {
        RemoteUrl::parse(typed, Path::new("/here")).map_err(|why| why.to_string())
    }

    #[test]
    fn each_url_allows_its_own_transport() {
        for (typed, protocols) in [
            ("https://host/x.git", "https:ssh"),
            ("http://host/x.git", "http:https:ssh"),
            ("git@host:x.git", "ssh:https"),
            ("ssh://host/x", "ssh:https"),
            ("git://host/x", "git:ssh:https"),
            ("s3://bucket/x", "s3"),
            ("gcrypt::ssh://host/x", "gcrypt:ssh:https"),
            ("gcrypt::s3://x", "gcrypt:s3"),
            ("file:///x", "file"),
        ] {
            let url = parse(typed).unwrap();
            assert_eq!((&*url.text, &*url.protocols), (typed, protocols));
            assert_eq!(
                url.is_native,
                !typed.contains("gcrypt") && !typed.starts_with("s3")
            );
        }
        #[cfg(unix)]
        for (typed, text) in [
            ("x.git", "/here/x.git"),
            ("./a:b", "/here/./a:b"),
            ("/a/b", "/a/b"),
            ("gcrypt::../x", "gcrypt::/here/../x"),
        ] {
            assert_eq!(parse(typed).unwrap().text, text);
        }
    }

    #[test]
    fn what_runs_commands_or_looks_like_an_option_is_refused() {
        for typed in [
            "",
            "--upload-pack=touch x",
            "-x",
            "ext::sh -c true",
            "EXT::sh",
            "fd::3",
            "ext://x",
            "gcrypt::ext::sh -c true",
            "gcrypt::--x",
            "https://host/a\nb",
            "host:\u{1b}[2J",
        ] {
            assert!(parse(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        let url = parse("https://me:s3cret@host/x").unwrap();
        assert_eq!(url.shown(), "https://me:***@host/x");
        assert_eq!(url.masked("fatal: s3cret"), "fatal: ***");
        for (typed, shown) in [
            ("me:s3cret@host:x.git", "me:***@host:x.git"),
            ("gcrypt::me:s3cret@host:x/y", "gcrypt::me:***@host:x/y"),
        ] {
            assert_eq!(parse(typed).unwrap().shown(), shown);
        }
        for typed in ["https://me@host/x", "https://host/a:b@c", "git@host:x"] {
            assert_eq!(parse(typed).unwrap().shown(), typed);
        }
    }
}
