//! Finds credentials in a text. The rules follow the default rules of gitleaks
//! (<https://github.com/gitleaks/gitleaks>, MIT licence, © Zachary Rice): the form of a token
//! decides. Entropy alone never does; it is only a hint for the user.

use std::sync::{LazyLock, OnceLock};

use regex::{Regex, RegexSet};

/// Marks a line that a person has reviewed, as in gitleaks.
const ALLOWED: &str = "gitleaks:allow";
/// Maximum number of findings per file.
const FOUND_MAX: usize = 20;
/// Bits per character; English has about 4, and random base64 nearly 6.
const ENTROPY_MIN: f64 = 4.3;
const WORD_LETTERS_MIN: usize = 24;

/// The rule that recognises a private key by its header line.
const FRAME: &str = "private-key";

/// The name and the pattern of each rule.
const RULES: &[(&str, &str)] = &[
    (FRAME, r"-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----"),
    ("aws-access-token", r"\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    ("anthropic-api-key", r"\bsk-ant-(?:api|admin)[0-9]{2}-[A-Za-z0-9_-]{80,}"),
    (
        "openai-api-key",
        r"\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}T3BlbkFJ[A-Za-z0-9_-]{20,}|\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}\b",
    ),
    ("github-token", r"\b(?:ghp|gho|ghu|ghs|ghr)_[0-9A-Za-z]{36}\b"),
    ("github-fine-grained-pat", r"\bgithub_pat_[0-9A-Za-z_]{82}\b"),
    ("gitlab-token", r"\bgl(?:pat|ptt|dt|rt|cbt|soat|ft|imt|agent)-[0-9A-Za-z_-]{20,}"),
    ("slack-token", r"\bxox[abeprs]-(?:[0-9]{8,14}-)?[0-9A-Za-z-]{20,}"),
    (
        "slack-webhook",
        r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{43,56}",
    ),
    ("stripe-access-token", r"\b(?:sk|rk)_(?:test|live|prod)_[0-9A-Za-z]{10,99}\b"),
    ("gcp-api-key", r"\bAIza[0-9A-Za-z_-]{35}\b"),
    ("gcp-service-account", r#""type"\s*:\s*"service_account""#),
    ("google-oauth-secret", r"\bGOCSPX-[0-9A-Za-z_-]{28}\b"),
    ("azure-ad-client-secret", r"\b[0-9A-Za-z_~.]{3}[0-9]Q~[0-9A-Za-z_~.-]{31,34}"),
    ("azure-storage-key", r"AccountKey=[0-9A-Za-z+/]{86}=="),
    ("npm-access-token", r"\bnpm_[0-9A-Za-z]{36}\b"),
    ("pypi-upload-token", r"\bpypi-AgEIcHlwaS5vcmc[0-9A-Za-z_-]{50,1000}"),
    ("rubygems-api-token", r"\brubygems_[0-9a-f]{48}\b"),
    ("crates-io-token", r"\bcio[0-9A-Za-z]{32}\b"),
    ("huggingface-access-token", r"\bhf_[A-Za-z]{34}\b"),
    ("sendgrid-api-token", r"\bSG\.[0-9A-Za-z_-]{22}\.[0-9A-Za-z_-]{43}\b"),
    ("mailgun-private-api-token", r"\bkey-[0-9a-f]{32}\b"),
    ("twilio-api-key", r"\bSK[0-9a-f]{32}\b"),
    ("telegram-bot-api-token", r"\b[0-9]{8,10}:AA[0-9A-Za-z_-]{33}\b"),
    ("discord-bot-token", r"\b[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}\b"),
    ("digitalocean-token", r"\bdo[opr]_v1_[0-9a-f]{64}\b"),
    ("doppler-api-token", r"\bdp\.pt\.[0-9A-Za-z]{43}\b"),
    ("databricks-api-token", r"\bdapi[0-9a-f]{32}(?:-[0-9])?\b"),
    ("hashicorp-vault-token", r"\bhv[sbr]\.[0-9A-Za-z_-]{90,300}"),
    ("terraform-cloud-token", r"\b[0-9A-Za-z]{14}\.atlasv1\.[0-9A-Za-z_-]{60,70}"),
    ("pulumi-api-token", r"\bpul-[0-9a-f]{40}\b"),
    ("linear-api-key", r"\blin_api_[0-9A-Za-z]{40}\b"),
    ("notion-api-token", r"\bntn_[0-9]{11}[A-Za-z0-9]{35}\b"),
    ("postman-api-token", r"\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}\b"),
    ("shopify-token", r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b"),
    ("square-access-token", r"\b(?:EAAA|sq0atp-)[0-9A-Za-z_-]{22,60}\b"),
    ("new-relic-user-api-key", r"\bNRAK-[0-9A-Z]{27}\b"),
    ("grafana-token", r"\bgl(?:sa_[0-9A-Za-z]{32}_[0-9a-fA-F]{8}|c_[0-9A-Za-z+/]{32,400}={0,3})"),
    ("sentry-token", r"\bsntry[su]_[0-9A-Za-z_=/+-]{40,}"),
    ("age-secret-key", r"\bAGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}\b"),
    ("jwt", r"\bey[0-9A-Za-z]{17,}\.ey[0-9A-Za-z/_-]{17,}\.[0-9A-Za-z/_-]{10,}"),
    (
        "url-with-password",
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@'\x22<>{}$]{1,64}:[^\s:/@'\x22<>{}$*]{6,128}@[a-z0-9.-]+\.[a-z]{2,}",
    ),
];

/// Selects the rules that match a text. A test ensures that every pattern compiles.
static ANY: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new(RULES.iter().map(|(_, form)| form)).unwrap_or_else(|_| RegexSet::empty())
});

/// Each rule, compiled on first use: all together take megabytes, and most texts contain no secret.
static EACH: [OnceLock<Option<Regex>>; RULES.len()] = [const { OnceLock::new() }; RULES.len()];

/// The rules that match a text.
fn concerned(text: &str) -> impl Iterator<Item = (&'static str, &'static Regex)> {
    ANY.matches(text).into_iter().filter_map(|index| {
        let (rule, form) = RULES.get(index)?;
        let known = EACH.get(index)?.get_or_init(|| Regex::new(form).ok());
        Some((*rule, known.as_ref()?))
    })
}

/// The rule and place of a finding; never the secret itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretMatch {
    pub rule: &'static str,
    /// Starts at 1.
    pub line: usize,
}

/// All credentials in a text, by their form.
pub fn find(text: &str) -> Vec<SecretMatch> {
    let mut found = Vec::new();
    for (rule, form) in concerned(text) {
        for hit in form.find_iter(text).take(FOUND_MAX) {
            if !line_around(text, hit.start()).contains(ALLOWED) {
                found.push(SecretMatch { rule, line: line_number(text, hit.start()) });
            }
        }
    }
    found.sort_by_key(|found| found.line);
    found.truncate(FOUND_MAX);
    found
}

/// Replaces every credential with `mark`. Keeps the header and footer of a private key, which show
/// where the key ends.
pub fn cut(text: &str, mark: &str) -> String {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for (rule, form) in concerned(text) {
        if rule != FRAME {
            spans.extend(form.find_iter(text).map(|hit| (hit.start(), hit.end())));
        }
    }
    spans.retain(|(start, _)| !line_around(text, *start).contains(ALLOWED));
    spans.sort_unstable();
    let mut kept = String::with_capacity(text.len());
    let mut done = 0;
    for (start, end) in spans {
        if start >= done {
            kept.push_str(text.get(done..start).unwrap_or_default());
            kept.push_str(mark);
        }
        done = done.max(end);
    }
    kept.push_str(text.get(done..).unwrap_or_default());
    kept
}

/// Lines with a word that looks random. Only a hint for the user.
pub fn hints(text: &str) -> Vec<usize> {
    let is_part =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '/' | '=');
    let is_random = |word: &str| {
        let mixed = word.bytes().any(|byte| byte.is_ascii_digit())
            && word.bytes().any(|byte| byte.is_ascii_alphabetic());
        word.len() >= WORD_LETTERS_MIN && mixed && entropy(word) >= ENTROPY_MIN
    };
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| {
            !line.contains(ALLOWED) && line.split(|letter| !is_part(letter)).any(is_random)
        })
        .map(|(number, _)| number)
        .take(FOUND_MAX)
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of letter counts")]
fn entropy(word: &str) -> f64 {
    let mut counts = [0usize; 256];
    for byte in word.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let share = |count: usize| count as f64 / word.len() as f64;
    counts
        .into_iter()
        .filter(|count| *count > 0)
        .map(|count| -share(count) * share(count).log2())
        .sum()
}

fn line_number(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

fn line_around(text: &str, offset: usize) -> &str {
    let (before, after) = text.split_at_checked(offset).unwrap_or((text, ""));
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let end = after.find('\n').map_or(text.len(), |at| offset + at);
    text.get(start..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_compiles() {
        for (name, form) in RULES {
            assert!(Regex::new(form).is_ok(), "{name}");
        }
        assert_eq!(ANY.len(), RULES.len());
    }

    /// Built from pieces, so that secret scanners do not report them.
    #[test]
    fn recognises_credentials_by_form() {
        let letters = |count: usize| {
            "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8".chars().cycle().take(count).collect::<String>()
        };
        let capitals =
            |count: usize| "ABCDEFGH2345".chars().cycle().take(count).collect::<String>();
        let hex = |count: usize| "0123456789abcdef".chars().cycle().take(count).collect::<String>();
        for (text, rule) in [
            (format!("key = AK{}{}", "IA", capitals(16)), Some("aws-access-token")),
            (format!("token: gh{}_{}", "p", letters(36)), Some("github-token")),
            (format!("x sk-{}-api03-{}", "ant", letters(93)), Some("anthropic-api-key")),
            (format!("-----BEGIN {} KEY-----", "RSA PRIVATE"), Some("private-key")),
            (format!("xo{}-{}", "xb", letters(30)), Some("slack-token")),
            (format!("AI{}{}", "za", letters(35)), Some("gcp-api-key")),
            (format!("dapi{}", hex(32)), Some("databricks-api-token")),
            (format!("postgres://bob:{}@db.example.org/x", "hunter22"), Some("url-with-password")),
            (format!("ey{}.ey{}.{}", letters(20), letters(20), letters(20)), Some("jwt")),
            (format!("gh{}_{} # gitleaks:allow", "p", letters(36)), None),
            ("client_secret=\"secret\"".to_owned(), None),
            ("postgres://user:${PASSWORD}@db.example.org/x".to_owned(), None),
            ("assert roman(4) == 'IV'".to_owned(), None),
        ] {
            let found = find(&format!("first line\n{text}\n"));
            assert_eq!(
                found.first().map(|found| (found.rule, found.line)),
                rule.map(|rule| (rule, 2)),
                "{text}"
            );
        }
    }

    #[test]
    fn removes_credentials_and_nothing_else() {
        let token = format!("gh{}_{}", "p", "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8aB3dE5gH7");
        let text = format!("a = '{token}'\nb = 2 # {token} {token}\n");
        assert_eq!(cut(&text, "…"), "a = '…'\nb = 2 # … …\n");
        assert_eq!(cut("plain", "…"), "plain");
    }

    #[test]
    fn a_random_word_is_only_a_hint() {
        let text = "plain words\nkey = \"q7Zr2Lk9Xw4Vb8Nm1Pc6Td3Yh5Js0Gf\"\n";
        assert_eq!(hints(text), [2]);
        assert_eq!(find(text), []);
        assert!(hints("the_quick_brown_fox_jumps_over_the_lazy_dog").is_empty());
    }
}
