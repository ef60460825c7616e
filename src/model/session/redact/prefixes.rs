//! Secrets that are known by how they begin.

use std::sync::LazyLock;

use crate::model::session::redact::length_of;

/// What must follow a prefix: a number of letters and digits in a row.
#[derive(Clone, Copy)]
enum Need {
    /// Directly.
    Here(usize),
    /// Somewhere in the word.
    Within(usize),
}
use Need::{Here, Within};

/// Prefixes of programs' keys. Where a prefix also begins names in source code, more is needed.
const PREFIXES: [(Need, &str); 66] = [
    // Models.
    (Within(10), "sk-ant- sk-proj- sk-svcacct- sk-admin- sk-or-"),
    (Within(8), "sk-lf-"),
    (Within(24), "sess-"),
    (Within(18), "sk- gsk_ xai- pplx- r8_"),
    (Within(20), "hf_ api_org_"),
    (Within(12), "tvly-"),
    (Within(10), "nvapi-"),
    (Within(20), "csk- jina_ fw_"),
    (Within(10), "tgp_v1_ lsv2_ pcsk_ wandb_v1_ KGAT_"),
    // Clouds.
    (Here(16), "AKIA ASIA ABIA ACCA"),
    (Here(30), "ABSK"),
    (Within(8), "AIza"),
    (Within(10), "ya29."),
    (Within(8), "GOCSPX-"),
    (Within(10), "dop_v1_ doo_v1_ dor_v1_"),
    (Here(12), "LTAI"),
    (Here(28), "AKID"),
    (Within(40), "v1.0-"),
    (Within(10), "cfut_ cfat_ fm1r_ fm1a_ fm2_ fo1_"),
    (Within(8), "HRKU-"),
    (Within(20), "rnd_ vcp_ vercel_"),
    (Within(10), "nfp_"),
    (Within(20), "nfc_ nfo_ sbp_"),
    (
        Within(10),
        "sb_secret_ pscale_tkn_ pscale_pw_ pscale_oauth_",
    ),
    (Within(8), "tskey-"),
    (Within(10), "sha256~"),
    (Here(32), "dapi"),
    (Within(20), "pul-"),
    (Here(28), "K00"),
    // Places of source code and packages.
    (Within(10), "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_"),
    (
        Within(8),
        "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glimt- glagent- gloas-",
    ),
    (Within(8), "glffct- GR1348941"),
    (Within(20), "npm_ pypi- rubygems_ CLOJARS_"),
    (Here(32), "cio"),
    (Here(43), "oy2"),
    (Within(8), "dckr_pat_ dckr_oat_"),
    (Here(20), "AKCp"),
    (Within(10), "ATATT3x ATCTT3x"),
    (Here(20), "ATBB"),
    (Within(10), "bkua_"),
    (Within(8), "CCIPAT_"),
    (Within(10), "sntrys_ sntryu_ PMAK-"),
    (Within(20), "rdme_"),
    // Secrets of secret stores.
    (
        Within(10),
        "hvs. hvb. hvr. dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.",
    ),
    (Within(10), "AGE-SECRET-KEY- AGE-PLUGIN- ops_ey"),
    // Messages and mail.
    (
        Within(8),
        "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxc- xoxd- xoxe- xoxe.xox xapp- xwfp-",
    ),
    (Within(12), "SG."),
    (Within(20), "key-"),
    (Within(10), "xkeysib- xsmtpsib-"),
    (Within(20), "re_"),
    // Shops and payment.
    (Within(8), "sk_live_ sk_test_ rk_live_ rk_test_"),
    (Within(20), "sk_"),
    (Within(10), "whsec_ shpat_ shpca_ shppa_ shpss_"),
    (Within(8), "sq0atp- sq0csp-"),
    (Within(30), "EAAA"),
    (Here(40), "EAA EZAK EZTK"),
    (
        Within(8),
        "access-sandbox- access-production- access_token$ amzn.mws.",
    ),
    // Work and watching.
    (Within(10), "lin_api_ lin_oauth_"),
    (Within(20), "ntn_ secret_"),
    (Within(10), "figd_ glsa_"),
    (Within(20), "glc_"),
    (Within(10), "NRAK-"),
    (Within(20), "phx_"),
    (Within(12), "pat-"),
    (Within(20), "sk. sl."),
    (Here(10), "eyJ"),
];

static EACH: LazyLock<Vec<(&str, Need)>> = LazyLock::new(|| {
    let rows = PREFIXES.iter();
    rows.flat_map(|(need, prefixes)| prefixes.split(' ').map(|prefix| (prefix, *need)))
        .collect()
});

/// From this many letters and digits on, a digit must be among them: long names of source code have
/// none.
const NEEDS_A_DIGIT: usize = 18;

/// Returns the length of the key at the beginning of a text, if there is one.
pub fn token(text: &str) -> Option<usize> {
    let first = text.as_bytes().first()?;
    let mut likely = EACH
        .iter()
        .filter(|(prefix, _)| prefix.as_bytes()[0] == *first);
    let body = likely.find_map(|(prefix, need)| {
        let body = text.strip_prefix(prefix)?;
        need.is_met_by(beginning(body)).then_some(body)
    })?;
    let len = text.len() - body.len() + length_of(body, is_token_byte);
    Some(text[..len].trim_end_matches(['.', '/', '%', '$']).len())
}

/// Returns the part of a text that decides; the beginning of a key is enough.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(128)]
}

impl Need {
    fn is_met_by(self, body: &str) -> bool {
        match self {
            Here(least) => length_of(body, |byte| byte.is_ascii_alphanumeric()) >= least,
            Within(least) => {
                let word = &body[..length_of(body, is_plain)];
                let mut parts = word.split(|c: char| !c.is_ascii_alphanumeric());
                parts.any(|part| {
                    let has_digit = || part.bytes().any(|byte| byte.is_ascii_digit());
                    part.len() >= least && (least < NEEDS_A_DIGIT || has_digit())
                })
            }
        }
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.$".contains(&byte)
}

fn is_token_byte(byte: u8) -> bool {
    is_plain(byte) || b"/+=~%".contains(&byte)
}
