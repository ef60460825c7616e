//! Names of secret files, compiled in so that no file in a project can disable them, and headers
//! that make any file a secret.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// Sensitivity of a path by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensitive {
    /// Secret by name; `rule` is as shown to the user.
    Named { rule: &'static str },
    /// `.env` and the like: secret even if the project's git tracks it.
    Environment { rule: &'static str },
    /// Secret depending on its content.
    ByContent(Peek),
}

/// A content check of a file's first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peek {
    rule: &'static str,
    form: SecretForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SecretForm {
    KeyFile,
    /// Lines of `key = value` or `key: value` for a package registry.
    Registry,
    /// Any name: only a line that is nothing but a header counts.
    AnyFile,
}

/// What a name says of its content.
#[derive(Clone, Copy)]
enum NameClass {
    /// Samples, which list variables without their values.
    Sample,
    /// See [`Sensitive::Environment`].
    Environment,
    Secret,
    ByContent(SecretForm),
}

/// The names of secrets, as rules are shown: with `*` at one end, in a directory of a name, or with
/// `/` at the end for a directory with everything in it. The first class with a match counts.
const NAMES: &[(NameClass, &[&str])] = &[
    (
        NameClass::Sample,
        &[
            ".env.example",
            ".env.sample",
            ".env.template",
            "example.env",
            "sample.env",
            "template.env",
        ],
    ),
    (NameClass::Environment, &[".env", ".env.*"]),
    (
        NameClass::Secret,
        &[
            ".ssh/",
            ".gnupg/",
            ".envrc",
            "id_rsa",
            "id_dsa",
            "id_ecdsa",
            "id_ed25519",
            "id_ecdsa_sk",
            "id_ed25519_sk",
            "deploy_key",
            "master.key",
            "private.asc",
            ".flaskenv",
            ".dev.vars",
            ".my.cnf",
            "terraform.tfstate",
            "terraform.tfstate.backup",
            ".netrc",
            "_netrc",
            ".pgpass",
            ".git-credentials",
            ".htpasswd",
            ".vault-token",
            ".credentials.json",
            "credentials.json",
            "application_default_credentials.json",
            "*.p12",
            "*.pfx",
            "*.jks",
            "*.keystore",
            "*.kdbx",
            "*.ppk",
            "*.p8",
            "*.ovpn",
            "*.env",
            ".aws/credentials",
            ".kube/config",
            ".docker/config.json",
            ".cargo/credentials",
            ".cargo/credentials.toml",
            "gh/hosts.yml",
        ],
    ),
    (
        NameClass::ByContent(SecretForm::KeyFile),
        &["*.pem", "*.key"],
    ),
    (
        NameClass::ByContent(SecretForm::Registry),
        &[".npmrc", ".pypirc", ".yarnrc.yml"],
    ),
];

/// Judges a name and that of its directory, ignoring ASCII case.
pub fn sensitive(dir_name: &[u8], name: &[u8], is_dir: bool) -> Option<Sensitive> {
    for (class, globs) in NAMES {
        let is_of_any_kind = matches!(class, NameClass::Sample | NameClass::Environment);
        let is_it = |glob: &&&str| {
            let of_dir = glob.strip_suffix('/');
            (is_of_any_kind || of_dir.is_some() == is_dir)
                && matches(of_dir.unwrap_or(glob), dir_name, name)
        };
        if let Some(rule) = globs.iter().find(is_it).copied() {
            return match *class {
                NameClass::Sample => None,
                NameClass::Environment => Some(Sensitive::Environment { rule }),
                NameClass::Secret => Some(Sensitive::Named { rule }),
                NameClass::ByContent(form) => Some(Sensitive::ByContent(Peek { rule, form })),
            };
        }
    }
    None
}

fn matches(glob: &str, dir_name: &[u8], name: &[u8]) -> bool {
    if let Some(end) = glob.strip_prefix('*') {
        return ends_with(name, end);
    }
    if let Some(start) = glob.strip_suffix('*') {
        let found = name.get(..start.len());
        return found.is_some_and(|found| found.eq_ignore_ascii_case(start.as_bytes()));
    }
    match glob.split_once('/') {
        None => name.eq_ignore_ascii_case(glob.as_bytes()),
        Some((dir, file)) => {
            name.eq_ignore_ascii_case(file.as_bytes())
                && dir_name.eq_ignore_ascii_case(dir.as_bytes())
        }
    }
}

/// Whether a file of this name may be a secret.
pub fn may_be_secret(dir_name: &[u8], name: &[u8]) -> bool {
    sensitive(dir_name, name, false).is_some()
}

fn ends_with(name: &[u8], end: &str) -> bool {
    let start = name.len().checked_sub(end.len());
    start.is_some_and(|start| name[start..].eq_ignore_ascii_case(end.as_bytes()))
}

impl Peek {
    /// Check for any other file, done when it is read anyway.
    pub const ANY_FILE: Self = Self {
        rule: "a private key by its header",
        form: SecretForm::AnyFile,
    };

    /// Returns the number of leading bytes to check.
    pub fn len_bytes(&self) -> usize {
        match self.form {
            SecretForm::KeyFile | SecretForm::AnyFile => 4 << 10,
            SecretForm::Registry => 64 << 10,
        }
    }

    /// Returns the rule as shown to the user.
    pub fn rule(&self) -> &'static str {
        self.rule
    }

    /// Judges the first [`Self::len_bytes`] bytes of the file, or all of a shorter one.
    pub fn is_secret(&self, beginning: &[u8]) -> bool {
        let looked_at = &beginning[..beginning.len().min(self.len_bytes())];
        if self.form == SecretForm::AnyFile {
            return has_header_line(looked_at);
        }
        // Text in UTF-16, as some shells write it, is ASCII with NULs between.
        let plain: Vec<u8> = looked_at
            .iter()
            .copied()
            .filter(|byte| *byte != 0)
            .collect();
        let mut lines = plain.split(|byte| matches!(byte, b'\n' | b'\r'));
        match self.form {
            SecretForm::KeyFile | SecretForm::AnyFile => lines.any(has_private_key_header),
            SecretForm::Registry => {
                lines.any(|line| has_private_key_header(line) || sets_a_token(line))
            }
        }
    }
}

/// Words of which every header contains one.
static WORDS: LazyLock<[Finder<'static>; 2]> = LazyLock::new(|| {
    [
        Finder::new(b"PRIVATE KEY"),
        Finder::new(b"AGE-SECRET-KEY-1"),
    ]
});

/// Whether a line is nothing but a header. Runs for every file read, so most are ruled out by
/// lacking a word, and most other lines by their first byte. UTF-16 has NULs between.
fn has_header_line(mut text: &[u8]) -> bool {
    let may_be_wide = || memchr::memchr(0, text).is_some();
    if !WORDS.iter().any(|word| word.find(text).is_some()) && !may_be_wide() {
        return false;
    }
    loop {
        let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
        let first = text[..end].iter().find(|byte| byte.is_ascii_graphic());
        if matches!(first, Some(b'-' | b'A')) && is_header(&text[..end]) {
            return true;
        }
        match text.get(end + 1..) {
            Some(rest) => text = rest,
            None => return false,
        }
    }
}

/// Whether a line is a private key header of PEM, OpenSSH, PGP, SSH2 or age.
fn is_header(line: &[u8]) -> bool {
    // Drops a byte order mark and the NULs of UTF-16.
    let plain: Vec<u8> = line
        .iter()
        .copied()
        .filter(|byte| byte.is_ascii() && *byte != 0)
        .collect();
    let plain = plain.trim_ascii();
    if let Some(key) = plain.strip_prefix(b"AGE-SECRET-KEY-1") {
        return !key.is_empty() && key.iter().all(u8::is_ascii_alphanumeric);
    }
    plain.starts_with(b"----") && plain.ends_with(b"----") && has_private_key_header(plain)
}

/// Whether a line has `-----BEGIN … PRIVATE KEY`, as in PEM, PGP, OpenSSH and SSH2.
fn has_private_key_header(line: &[u8]) -> bool {
    find(line, b"BEGIN ")
        .is_some_and(|at| line[..at].contains(&b'-') && find(&line[at..], b"PRIVATE KEY").is_some())
}

/// Whether a line assigns a value to a key called token, password or the like; comments count, as
/// they may hold a real one.
fn sets_a_token(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    // In `//host:8080/:_authToken=x` the colons belong to the key, in `npmAuthIdent: "user:pass="`
    // all after the first belongs to the value; in `password: x` there is no `=` before the colon.
    let equals = line.iter().position(|byte| *byte == b'=');
    let separators = [
        find(line, b": "),
        equals.or_else(|| line.iter().rposition(|byte| *byte == b':')),
    ];
    separators
        .into_iter()
        .flatten()
        .any(|at| names_a_token(&line[..at]) && !line[at + 1..].trim_ascii().is_empty())
}

fn names_a_token(key: &[u8]) -> bool {
    const ENDS: &[&str] = &[
        "authtoken",
        "authident",
        "_auth",
        "password",
        "token",
        "passwd",
        "secret",
    ];
    let key = key.trim_ascii();
    let key = key.strip_suffix(b"[]").unwrap_or(key);
    let key = key.strip_suffix(b"\"").unwrap_or(key);
    ENDS.iter().any(|end| ends_with(key, end))
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len())
        .position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_list_is_known_in_either_case() {
        let files = ".env .env.local .env. .ENV .envrc id_rsa ID_ED25519 id_dsa id_ecdsa .netrc \
            _netrc .pgpass .git-credentials .htpasswd .vault-token a.p12 a.PFX a.jks \
            a.keystore a.kdbx a.ppk .credentials.json credentials.json Credentials.JSON \
            application_default_credentials.json .env.example.bak .p12 id_ed25519_sk \
            id_ecdsa_sk deploy_key AuthKey_1.p8 private.asc client.ovpn prod.env Prod.ENV \
            .flaskenv .dev.vars .my.cnf terraform.tfstate terraform.tfstate.backup \
            master.key";
        for name in files.split_whitespace() {
            let found = sensitive(b"x", name.as_bytes(), false);
            assert!(
                matches!(
                    found,
                    Some(Sensitive::Named { .. } | Sensitive::Environment { .. })
                ),
                "{name}"
            );
        }
        for (dir, name) in [
            (".aws", "credentials"),
            (".Kube", "config"),
            (".docker", "config.json"),
            (".cargo", "credentials"),
            (".cargo", "credentials.toml"),
            ("gh", "hosts.yml"),
        ] {
            assert!(matches!(
                sensitive(dir.as_bytes(), name.as_bytes(), false),
                Some(Sensitive::Named { .. })
            ));
            assert_eq!(sensitive(b"x", name.as_bytes(), false), None);
        }
        for name in [".ssh", ".gnupg", ".SSH"] {
            assert!(matches!(
                sensitive(b"", name.as_bytes(), true),
                Some(Sensitive::Named { .. })
            ));
            assert_eq!(sensitive(b"", name.as_bytes(), false), None);
        }
    }

    #[test]
    fn names_beside_the_list_are_not_secret() {
        for name in ".env.example|.env.sample|.env.template|.Env.Example|.environment|env|x.envx|\
            id_rsa.pub|id_ed25519_sk.pub|deploy_key.pub|prod.env.example|example.env|\
            public.asc|terraform.tfvars.json|tsconfig.json|p12|a.p12x|config.json|\
            credentials|netrc|.en|"
            .split('|')
        {
            assert_eq!(sensitive(b"dir", name.as_bytes(), false), None, "{name}");
        }
        assert_eq!(sensitive(b"", b"credentials.json", true), None);
    }

    fn peek(name: &str, content: &[u8]) -> bool {
        match sensitive(b"", name.as_bytes(), false) {
            Some(Sensitive::ByContent(peek)) => peek.is_secret(content),
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn a_private_key_is_told_by_its_header() {
        for header in [
            "-----BEGIN PRIVATE KEY-----",
            "-----BEGIN RSA PRIVATE KEY-----",
            "-----BEGIN EC PRIVATE KEY-----",
            "-----BEGIN ENCRYPTED PRIVATE KEY-----",
            "-----BEGIN OPENSSH PRIVATE KEY-----",
            "-----BEGIN PGP PRIVATE KEY BLOCK-----",
            "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----",
        ] {
            assert!(
                peek(
                    "a.pem",
                    format!("Bag Attributes\r\n{header}\nMII").as_bytes()
                ),
                "{header}"
            );
            let wide: Vec<u8> = header.encode_utf16().flat_map(u16::to_le_bytes).collect();
            assert!(peek("A.KEY", &wide), "{header}");
        }
        for text in [
            "",
            "-----BEGIN CERTIFICATE-----",
            "-----BEGIN PUBLIC KEY-----",
            "PRIVATE KEY",
            "-----BEGIN\nPRIVATE KEY",
        ] {
            assert!(!peek("a.key", text.as_bytes()), "{text}");
        }
        let late = [vec![b'\n'; 4096], b"-----BEGIN PRIVATE KEY-----".to_vec()].concat();
        assert!(!peek("a.key", &late));
    }

    #[test]
    fn in_any_file_a_header_counts_that_has_its_line_for_itself() {
        let is_secret = |text: &str| {
            let wide: Vec<u8> = format!("\u{feff}{text}")
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect();
            let answers = [text.as_bytes(), &wide].map(|bytes| Peek::ANY_FILE.is_secret(bytes));
            assert_eq!(answers[0], answers[1], "{text}");
            answers[0]
        };
        for text in [
            "-----BEGIN PRIVATE KEY-----",
            "Bag Attributes\r\n-----BEGIN ENCRYPTED PRIVATE KEY-----\r\nMII",
            "tls:\n  key: |\n    -----BEGIN RSA PRIVATE KEY-----\n    MII",
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3B",
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQ",
            "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n",
            "# created: 2026-01-01\n# public key: age1x\nAGE-SECRET-KEY-1QQQ\n",
        ] {
            assert!(is_secret(text), "{text}");
        }
        for text in [
            "",
            "\n",
            "-----BEGIN PUBLIC KEY-----\nMII",
            "-----BEGIN CERTIFICATE-----\nMII",
            "-----BEGIN PGP PUBLIC KEY BLOCK-----\n",
            "const KEY: &str = \"-----BEGIN PRIVATE KEY-----\";",
            "    \"-----BEGIN PRIVATE KEY-----\",\n",
            "// -----BEGIN PRIVATE KEY-----",
            "- a file with -----BEGIN PRIVATE KEY-----\n",
            "-----BEGIN PRIVATE KEY----- begins one",
            "AGE-SECRET-KEY-1 is what it begins with",
            "An AGE-SECRET-KEY-1QQQ",
        ] {
            assert!(!is_secret(text), "{text}");
        }
        let late = [&[b'\n'; 4096][..], b"-----BEGIN PRIVATE KEY-----"].concat();
        assert!(!Peek::ANY_FILE.is_secret(&late));
    }

    #[test]
    fn a_registry_file_is_secret_with_a_token_or_password() {
        for text in [
            "//registry.npmjs.org/:_authToken=npm_x",
            "registry=https://x/\n  //host:8080/:_authToken = x",
            "_auth=eA==",
            "; _auth=eA==",
            "//x/:_password=eA==",
            "[pypi]\nusername = u\npassword = p",
            "[pypi]\npassword: p",
            "\u{feff}_AUTHTOKEN=x",
            "npmScopes:\n  mine:\n    npmAuthToken: \"YWJj==\"",
            "npmAuthIdent: \"user:pass=\"",
        ] {
            assert!(
                peek(".npmrc", text.as_bytes()) && peek(".PyPIrc", text.as_bytes()),
                "{text}"
            );
            assert!(peek(".yarnrc.yml", text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "registry=https://x/",
            "[pypi]\nusername = token",
            "_authToken=",
            "save-exact=true",
            "npmAlwaysAuth: true",
            "npmAuthToken: ",
        ] {
            assert!(!peek(".npmrc", text.as_bytes()), "{text}");
        }
    }
}
