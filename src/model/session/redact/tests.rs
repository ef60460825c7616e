//! Secrets that go, sentences that stay.

use proptest::prelude::*;

use sentences::INNOCENT;

use super::*;
use crate::cases::properties;

mod sentences;

/// Sentences with one secret each, between `⟦` and `⟧`. No secret is written out, so that nothing
/// takes this file for a leak: `<a8>` are 8 letters and digits, `<d8>` digits, `<h8>` hex digits,
/// `<l8>` small letters and digits, `<u8>` capitals and digits, `<b8>` signs of base64.
const SECRETS: &[&str] = &[
    "use ⟦sk-<a48>⟧ for now",
    "set it to ⟦sk-proj-<a40>_<a40>⟧.",
    "⟦sk-svcacct-<a60>⟧ works",
    "call it with ⟦sk-ant-api03-<a60>-<a30>AA⟧, please",
    "{\"k\": \"⟦sk-ant-api03-<a60>⟧\"}",
    "⟦sk-or-v1-<h64>⟧",
    "(⟦gsk_<a52>⟧)",
    "⟦xai-<a80>⟧",
    "⟦pplx-<a48>⟧",
    "⟦r8_<a37>⟧",
    "⟦nvapi-<a64>⟧",
    "⟦lsv2_pt_<h32>_<h10>⟧",
    "`⟦hf_<a34>⟧`",
    "push with ⟦ghp_<a36>⟧ to the fork",
    "⟦gho_<a36>⟧",
    "⟦ghu_<a36>⟧",
    "⟦ghs_<a36>⟧",
    "⟦ghr_<a76>⟧",
    "⟦github_pat_<a22>_<a59>⟧",
    "line\\n⟦ghp_<a36>⟧\\n",
    "⟦glpat-<a20>⟧",
    "⟦glptt-<h40>⟧",
    "⟦GR1348941<a20>⟧",
    "⟦ATBB<a32>⟧",
    "⟦ATATT3xFfGF0<a60>=<u8>⟧",
    "⟦npm_<a36>⟧",
    "//registry.npmjs.org/:_authToken=⟦<h36>⟧",
    "⟦pypi-AgEIcHlwaS5vcmc<a60>⟧",
    "⟦rubygems_<h48>⟧",
    "⟦cio<a32>⟧",
    "⟦oy2<l43>⟧",
    "⟦dckr_pat_<a27>⟧",
    "{\"auths\":{\"x\":{\"auth\": \"⟦<b38>==⟧\"}}}",
    "⟦AKCp<a69>⟧",
    "⟦xoxb-<d12>-<d13>-<a24>⟧",
    "⟦xoxp-<d12>-<d12>-<d12>-<h32>⟧",
    "⟦xapp-1-A<u10>-<d13>-<h64>⟧",
    "post to https://⟦hooks.slack.com/services/T<u8>/B<u8>/<a24>⟧ now",
    "https://⟦discord.com/api/webhooks/<d18>/<a68>⟧",
    "M<u23>.<a6>.⟦<a38>⟧",
    "<d10>:⟦AA<a33>⟧",
    "https://api.telegram.org/bot<d10>:⟦AA<a33>⟧",
    "⟦AKIA<u16>⟧ is the id",
    "⟦ASIA<u16>⟧",
    "AWS_SECRET_ACCESS_KEY=⟦<b40>⟧",
    "aws_secret_access_key = ⟦<b20>7q<b18>⟧",
    "AWS_SECRET_ACCESS_KEY ⟦<b20>7q<b18>⟧",
    "export AWS_SESSION_TOKEN=⟦<b200>⟧",
    "⟦AIzaSyD-<a8>_<a23>⟧",
    "⟦ya29.a0A<a60>⟧",
    "⟦GOCSPX-<a28>⟧",
    "⟦1//0<a60>⟧",
    "{\"private_key\": \"⟦-----BEGIN PRIVATE KEY-----\\n<b64>\\n<b64>\\n-----END PRIVATE KEY-----\\n⟧\"}",
    "AccountName=x;AccountKey=⟦<b86>==⟧;EndpointSuffix=y",
    "https://x.blob.core.windows.net/c?sv=2022&sig=⟦<a40>%3D⟧&se=2030",
    "Endpoint=sb://x;SharedAccessKey=⟦<b43>=⟧",
    "<a3>8Q~⟦<a34>⟧",
    "⟦dop_v1_<h64>⟧",
    "CLOUDFLARE_API_TOKEN=⟦<a40>⟧",
    "X-Auth-Key: ⟦1f<h35>⟧",
    "⟦HRKU-<h8>-<h4>-<h4>-<h4>-<h12>⟧",
    "FlyV1 ⟦fm2_<b120>⟧",
    "⟦nfp_<a36>⟧",
    "⟦sbp_<h40>⟧",
    "⟦pscale_tkn_<a43>⟧",
    "⟦tskey-auth-<a12>-<a32>⟧",
    "⟦dapi<h32>⟧",
    "oc login --token=⟦sha256~<a43>⟧",
    "⟦pul-<h40>⟧",
    "⟦hvs.<a90>⟧",
    "<a14>.atlasv1.⟦<a67>⟧",
    "⟦dp.pt.<a43>⟧",
    "⟦AGE-SECRET-KEY-1<u58>⟧",
    "⟦SG.<a22>.<a43>⟧",
    "⟦key-<h32>⟧",
    "⟦xkeysib-<h64>-<a16>⟧",
    "⟦sk_live_<a24>⟧",
    "⟦rk_live_<a24>⟧",
    "⟦whsec_<a32>⟧",
    "⟦sq0atp-<a22>⟧",
    "⟦EAAA<a60>⟧",
    "⟦shpat_<h32>⟧",
    "⟦access-sandbox-<h8>-<h4>-<h4>-<h4>-<h12>⟧",
    "⟦amzn.mws.<h8>-<h4>-<h4>-<h4>-<h12>⟧",
    "⟦SK<h32>⟧",
    "TWILIO_AUTH_TOKEN=⟦<h32>⟧",
    "DD_API_KEY=⟦<h32>⟧",
    "dd-application-key: ⟦7a<h38>⟧",
    "⟦NRAK-<u27>⟧",
    "⟦sntrys_<a80>⟧",
    "https://⟦<h32>⟧@o1.ingest.sentry.io/2",
    "⟦glsa_<a32>_<h8>⟧",
    "⟦lin_api_<a40>⟧",
    "⟦ntn_<a46>⟧",
    "⟦secret_<a43>⟧",
    "⟦figd_<a40>⟧",
    "⟦sk.eyJ1Ijoi<a60>.<a22>⟧",
    "⟦sl.B<a130>⟧",
    "⟦PMAK-<h24>-<h34>⟧",
    "⟦pat-na1-<h8>-<h4>-<h4>-<h4>-<h12>⟧",
    "⟦EAA<a100>⟧",
    "⟦eyJ<a33>.eyJ<a60>.<a43>⟧ is expired",
    "curl -H 'Authorization: Bearer ⟦<a40>⟧' x",
    "Authorization: bearer ⟦1q<l8>⟧",
    "Authorization: Basic ⟦dXNlcjpwYXNzd29yZA==⟧",
    "Authorization: Token ⟦9e<h38>⟧",
    "Cookie: sessionid=⟦<l32>⟧; theme=dark",
    "here -----x\n⟦-----BEGIN RSA PRIVATE KEY-----\n<b64>\n<b64>\n-----END RSA PRIVATE KEY-----⟧ and more",
    "key ⟦-----BEGIN EC PRIVATE KEY-----\\n<b64>\\n-----END EC PRIVATE KEY-----⟧",
    "⟦-----BEGIN OPENSSH PRIVATE KEY-----\n<b70>\n-----END OPENSSH PRIVATE KEY-----⟧\nthanks",
    "⟦-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n<b64>\n=<b4>\n-----END PGP PRIVATE KEY BLOCK-----⟧",
    "it is ⟦-----BEGIN PRIVATE KEY-----\n<b64>\n<b64>⟧",
    "⟦---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n<b64>\n---- END SSH2 ENCRYPTED PRIVATE KEY ----⟧",
    "postgres://app:⟦hunter⟧@db.example.com:5432/app",
    "mongodb+srv://app:⟦p@ss<a4>⟧@cluster0.example.net/db",
    "git clone https://oauth2:⟦<a20>⟧@git.example.com/a/b.git",
    "https://⟦<a26>⟧@git.example.com/a/b.git",
    "amqp://guest:⟦guest⟧@rabbit:5672/",
    "PASSWORD=⟦hunter⟧",
    "PGPASSWORD=⟦tr0ub4dor⟧ psql -h db",
    "export DB_PASS='⟦correct horse⟧' && run",
    "password: ⟦hunter2⟧",
    "password: ⟦swordfish⟧",
    "{\"password\": \"⟦swordfish⟧\", \"user\": \"me\"}",
    "{\\\"passwd\\\": \\\"⟦swordfish⟧\\\"}",
    "client_secret = \"⟦<a24>⟧\"",
    "'api_key' => '⟦<l24>⟧'",
    "connect(user='me', password='⟦swordfish⟧')",
    "<password>⟦swordfish⟧</password>",
    "https://x.example/?user=me&token=⟦abcdef⟧&page=2",
    "Server=db;User Id=sa;Password=⟦Str0ng!Pass⟧;Encrypt=true",
    "deploy --password ⟦swordfish⟧ --force",
    "deploy --api-key=⟦abcdef123⟧ --force",
    "API key: ⟦<l24>7x⟧",
    "kubectl create secret generic x --from-literal=password=⟦swordfish⟧",
    "APP_KEY=⟦base64:<b43>=⟧",
    "SECRET_KEY_BASE=⟦<h128>⟧",
    "pw: ⟦hunter2⟧",
    "Passwort: ⟦geheim⟧",
    "have ⟦q7Rt2Lp9Xw4Zk8Nv3Bm6Yc1Hd5Jf0GsA⟧ here",
];

/// Makes up the parts of a template, the same each time.
fn expand(template: &str) -> String {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('<') {
        text.push_str(before);
        let number = behind.get(1..).and_then(|it| it.split_once('>'));
        let number = number.and_then(|(number, rest)| Some((number.parse::<usize>().ok()?, rest)));
        let Some((count, tail)) = number else {
            text.push('<');
            rest = behind;
            continue;
        };
        let signs = match behind.as_bytes()[0] {
            b'd' => "0123456789",
            b'h' => "0123456789abcdef",
            b'l' => "0123456789abcdefghijklmnopqrstuvwxyz",
            b'u' => "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            b'a' => "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
            _ => "+/0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        };
        for _ in 0..count {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = usize::try_from(seed >> 33).unwrap() % signs.len();
            text.push(char::from(signs.as_bytes()[at]));
        }
        rest = tail;
    }
    text + rest
}

#[test]
fn secrets_go_and_the_words_around_them_stay() {
    let mut wrong = Vec::new();
    for template in SECRETS {
        let text = expand(template);
        let (before, rest) = text.split_once('⟦').unwrap();
        let (secret, behind) = rest.split_once('⟧').unwrap();
        let found = redact(&format!("{before}{secret}{behind}"));
        if found != format!("{before}{REMOVED}{behind}") {
            wrong.push(format!("{text}\n    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn sentences_without_a_secret_stay_as_they_are() {
    for text in INNOCENT {
        assert_eq!(redact(text), *text);
    }
    assert_eq!(redact(&INNOCENT.join("\n")), INNOCENT.join("\n"));
}

#[test]
fn mail_addresses_go() {
    for (text, expected) in [
        ("ask jane.doe+x@example.com.", "ask «mail»."),
        ("<a@b.co>, jörg@müller.de", "<«mail»>, «mail»"),
        ("mailto:me@163.com?x", "mailto:«mail»?x"),
        (
            "{\"user_email\":\"me@example.org\"}",
            "{\"user_email\":\"«mail»\"}",
        ),
        ("https://me@example.org/x", "https://me@example.org/x"),
    ] {
        assert_eq!(redact(text), expected);
    }
}

#[test]
fn several_secrets_in_one_text_all_go() {
    let parts: Vec<String> = SECRETS
        .iter()
        .filter(|template| !template.contains("PRIVATE KEY"))
        .map(|template| expand(template))
        .collect();
    let text: String = parts.join("\n").replace(['⟦', '⟧'], "");
    let found = redact(&text);
    for part in &parts {
        let secret = part.split(['⟦', '⟧']).nth(1).unwrap();
        // What is short may stand elsewhere as a word.
        assert!(secret.len() < 12 || !found.contains(secret), "{part}");
    }
    assert_eq!(found.matches(REMOVED).count(), parts.len());
}

/// Pieces of which hostile texts are made.
const PIECES: &[&str] = &[
    "password",
    "token",
    "key",
    "=",
    ":",
    ": ",
    " ",
    "\"",
    "'",
    "\\",
    "\n",
    "://",
    "@",
    "/",
    "«removed»",
    "«mail»",
    "sk-",
    "ghp_",
    "AKIA",
    "abcdefgh12345678ABCDEFGH",
    "example.com",
    ".",
    "a",
    "7",
    "-----BEGIN PRIVATE KEY-----",
    "-----END ",
    " -p",
    "bearer ",
    "Basic ",
    "é",
    "%20",
    "<",
    ">",
    "{",
    "$",
    "bot12345678",
    "hooks.slack.com/services/",
    "(",
    ",",
    ";",
    "-",
];

proptest! {
    #![proptest_config(properties(4_000))]

    #[test]
    fn a_result_is_its_own_result(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        let once = redact(&pieces.concat());
        prop_assert_eq!(redact(&once), once);
    }

    #[test]
    fn a_result_with_secrets_is_its_own_result(templates in prop::collection::vec(prop::sample::select(SECRETS), 0..4), gaps in prop::collection::vec(prop::sample::select(PIECES), 4)) {
        let text: String = templates.iter().zip(&gaps).map(|(template, gap)| expand(template) + gap).collect();
        let once = redact(&text.replace(['⟦', '⟧'], ""));
        prop_assert_eq!(redact(&once), once);
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let once = redact(&text);
        prop_assert_eq!(redact(&once), once);
    }
}

#[test]
fn a_mebibyte_takes_little_time() {
    let text: String = SECRETS
        .iter()
        .chain(INNOCENT)
        .map(|text| expand(text) + "\n")
        .collect();
    let text = text.replace(['⟦', '⟧'], "").replace("PRIVATE KEY", "");
    let text = text.repeat((1 << 20) / text.len() + 1);
    assert_takes_little_time(&text);
}

/// With time that grows with the square of the length, this is minutes.
fn assert_takes_little_time(text: &str) {
    let started = std::time::Instant::now();
    redact(text);
    let taken = started.elapsed();
    let shown = &text[..text.floor_char_boundary(100)];
    assert!(taken.as_secs() < 20, "{shown:?}: {taken:?}");
}

/// The value behind the word would reach to the end each time.
#[test]
fn words_for_a_password_that_are_schemes_of_urls_take_little_time() {
    for word in ["password", "token", "pwd"] {
        let text = format!("{word}://");
        assert_takes_little_time(&text.repeat((1 << 18) / text.len()));
    }
    assert_eq!(redact("password://host/path"), "password://host/path");
    assert_eq!(redact("password: //x9Kq2"), "password: «removed»");
}

proptest! {
    #![proptest_config(properties(8))]

    #[test]
    fn the_same_over_and_over_takes_little_time(pieces in prop::collection::vec(prop::sample::select(PIECES), 1..4)) {
        let text = pieces.concat();
        assert_takes_little_time(&text.repeat((1 << 18) / text.len()));
    }
}
