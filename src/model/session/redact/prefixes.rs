//! Secrets that are known by how they begin.

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
const PREFIXES: [(&str, Need); 159] = [
    // Models.
    ("sk-ant-", Within(10)),
    ("sk-proj-", Within(10)),
    ("sk-svcacct-", Within(10)),
    ("sk-admin-", Within(10)),
    ("sk-or-", Within(10)),
    ("sk-lf-", Within(8)),
    ("sess-", Within(24)),
    ("sk-", Within(18)),
    ("gsk_", Within(18)),
    ("xai-", Within(18)),
    ("pplx-", Within(18)),
    ("r8_", Within(18)),
    ("hf_", Within(20)),
    ("api_org_", Within(20)),
    ("tvly-", Within(12)),
    ("nvapi-", Within(10)),
    ("csk-", Within(20)),
    ("jina_", Within(20)),
    ("fw_", Within(20)),
    ("tgp_v1_", Within(10)),
    ("lsv2_", Within(10)),
    ("pcsk_", Within(10)),
    ("wandb_v1_", Within(10)),
    ("KGAT_", Within(10)),
    // Clouds.
    ("AKIA", Here(16)),
    ("ASIA", Here(16)),
    ("ABIA", Here(16)),
    ("ACCA", Here(16)),
    ("ABSK", Here(30)),
    ("AIza", Within(8)),
    ("ya29.", Within(10)),
    ("GOCSPX-", Within(8)),
    ("dop_v1_", Within(10)),
    ("doo_v1_", Within(10)),
    ("dor_v1_", Within(10)),
    ("LTAI", Here(12)),
    ("AKID", Here(28)),
    ("v1.0-", Within(40)),
    ("cfut_", Within(10)),
    ("cfat_", Within(10)),
    ("fm1r_", Within(10)),
    ("fm1a_", Within(10)),
    ("fm2_", Within(10)),
    ("fo1_", Within(10)),
    ("HRKU-", Within(8)),
    ("rnd_", Within(20)),
    ("vcp_", Within(20)),
    ("vercel_", Within(20)),
    ("nfp_", Within(10)),
    ("nfc_", Within(20)),
    ("nfo_", Within(20)),
    ("sbp_", Within(20)),
    ("sb_secret_", Within(10)),
    ("pscale_tkn_", Within(10)),
    ("pscale_pw_", Within(10)),
    ("pscale_oauth_", Within(10)),
    ("tskey-", Within(8)),
    ("sha256~", Within(10)),
    ("dapi", Here(32)),
    ("pul-", Within(20)),
    ("K00", Here(28)),
    // Places of source code and packages.
    ("ghp_", Within(10)),
    ("gho_", Within(10)),
    ("ghu_", Within(10)),
    ("ghs_", Within(10)),
    ("ghr_", Within(10)),
    ("github_pat_", Within(10)),
    ("glpat-", Within(8)),
    ("gldt-", Within(8)),
    ("glrt-", Within(8)),
    ("glcbt-", Within(8)),
    ("glptt-", Within(8)),
    ("glft-", Within(8)),
    ("glsoat-", Within(8)),
    ("glimt-", Within(8)),
    ("glagent-", Within(8)),
    ("gloas-", Within(8)),
    ("glffct-", Within(8)),
    ("GR1348941", Within(8)),
    ("npm_", Within(20)),
    ("pypi-", Within(20)),
    ("rubygems_", Within(20)),
    ("CLOJARS_", Within(20)),
    ("cio", Here(32)),
    ("oy2", Here(43)),
    ("dckr_pat_", Within(8)),
    ("dckr_oat_", Within(8)),
    ("AKCp", Here(20)),
    ("ATATT3x", Within(10)),
    ("ATCTT3x", Within(10)),
    ("ATBB", Here(20)),
    ("bkua_", Within(10)),
    ("CCIPAT_", Within(8)),
    ("sntrys_", Within(10)),
    ("sntryu_", Within(10)),
    ("PMAK-", Within(10)),
    ("rdme_", Within(20)),
    // Secrets of secret stores.
    ("hvs.", Within(10)),
    ("hvb.", Within(10)),
    ("hvr.", Within(10)),
    ("dp.pt.", Within(10)),
    ("dp.st.", Within(10)),
    ("dp.ct.", Within(10)),
    ("dp.sa.", Within(10)),
    ("dp.scim.", Within(10)),
    ("dp.audit.", Within(10)),
    ("AGE-SECRET-KEY-", Within(10)),
    ("AGE-PLUGIN-", Within(10)),
    ("ops_ey", Within(10)),
    // Messages and mail.
    ("xoxb-", Within(8)),
    ("xoxp-", Within(8)),
    ("xoxa-", Within(8)),
    ("xoxr-", Within(8)),
    ("xoxs-", Within(8)),
    ("xoxo-", Within(8)),
    ("xoxc-", Within(8)),
    ("xoxd-", Within(8)),
    ("xoxe-", Within(8)),
    ("xoxe.xox", Within(8)),
    ("xapp-", Within(8)),
    ("xwfp-", Within(8)),
    ("SG.", Within(12)),
    ("key-", Within(20)),
    ("xkeysib-", Within(10)),
    ("xsmtpsib-", Within(10)),
    ("re_", Within(20)),
    // Shops and payment.
    ("sk_live_", Within(8)),
    ("sk_test_", Within(8)),
    ("rk_live_", Within(8)),
    ("rk_test_", Within(8)),
    ("sk_", Within(20)),
    ("whsec_", Within(10)),
    ("shpat_", Within(10)),
    ("shpca_", Within(10)),
    ("shppa_", Within(10)),
    ("shpss_", Within(10)),
    ("sq0atp-", Within(8)),
    ("sq0csp-", Within(8)),
    ("EAAA", Within(30)),
    ("EAA", Here(40)),
    ("EZAK", Here(40)),
    ("EZTK", Here(40)),
    ("access-sandbox-", Within(8)),
    ("access-production-", Within(8)),
    ("access_token$", Within(8)),
    ("amzn.mws.", Within(8)),
    // Work and watching.
    ("lin_api_", Within(10)),
    ("lin_oauth_", Within(10)),
    ("ntn_", Within(20)),
    ("secret_", Within(20)),
    ("figd_", Within(10)),
    ("glsa_", Within(10)),
    ("glc_", Within(20)),
    ("NRAK-", Within(10)),
    ("phx_", Within(20)),
    ("pat-", Within(12)),
    ("sk.", Within(20)),
    ("sl.", Within(20)),
    ("eyJ", Here(10)),
];

/// From this many letters and digits on, a digit must be among them: long names of source code have
/// none.
const NEEDS_A_DIGIT: usize = 18;

/// Returns the length of the key at the beginning of a text, if there is one.
pub fn token(text: &str) -> Option<usize> {
    let first = text.as_bytes().first()?;
    let mut likely = PREFIXES
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
