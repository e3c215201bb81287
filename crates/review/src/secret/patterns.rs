//! The forms of secrets, and the places where they are written.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use super::value::{is_cased, is_code, is_id, is_mixed, is_name, is_path, is_random, is_reference};

/// A form: its kind, the pattern, whose first group is the secret if it has one, and a test of the secret.
struct Form {
    kind: &'static str,
    pattern: &'static str,
    accepts: fn(&str, &str) -> bool,
}

/// Accepts whatever has the form.
fn always(_: &str, _: &str) -> bool {
    true
}

fn has_digit(_: &str, secret: &str) -> bool {
    secret.bytes().any(|byte| byte.is_ascii_digit())
}

/// A password in an address or an option: anything but a variable.
fn is_given(_: &str, secret: &str) -> bool {
    !is_reference(secret) || matches!(secret, "secret" | "password" | "admin" | "changeme")
}

/// A text at the place of a secret: no variable, no path and no code.
fn is_given_text(_: &str, secret: &str) -> bool {
    !is_reference(secret)
        && !is_path(secret)
        && !is_code(secret)
        && !is_id(secret)
        && !secret.contains(super::REDACTED)
}

/// Accepts the text after `Bearer` or `Authorization`: a token, not a word of a sentence.
fn is_credential(_: &str, secret: &str) -> bool {
    let looks_issued =
        secret.bytes().any(|byte| byte.is_ascii_digit() || b"._~+/=".contains(&byte)) || secret.len() >= 24;
    looks_issued && !is_reference(secret) && !secret.ends_with('.')
}

/// Accepts the text of a header after its scheme.
fn is_header_value(whole: &str, secret: &str) -> bool {
    let has_scheme =
        whole.trim_end_matches(secret).ends_with(char::is_whitespace) && whole.split_whitespace().count() > 1;
    is_credential(whole, secret)
        || has_scheme && secret.len() >= 8 && !is_reference(secret) && is_issued(secret)
}

/// Returns whether a text has both cases, which words of a sentence have not.
fn is_issued(text: &str) -> bool {
    let inside = text.get(1..).unwrap_or("");
    inside.bytes().any(|byte| byte.is_ascii_uppercase()) && text.bytes().any(|byte| byte.is_ascii_lowercase())
}

fn is_option_value(_: &str, secret: &str) -> bool {
    !is_reference(secret)
        && !is_path(secret)
        && !secret.starts_with('-')
        && (is_mixed(secret) || secret.len() >= 12)
}

/// A token in the place of a user's name: what a person would not choose as a name.
fn is_user_token(_: &str, secret: &str) -> bool {
    !is_reference(secret)
        && (is_random(secret) || secret.len() >= 20 && is_mixed(secret) || secret.len() >= 32)
}

/// The value of a name that says that it is a secret.
fn is_assigned(whole: &str, secret: &str) -> bool {
    if is_reference(secret)
        || is_code(secret)
        || is_path(secret)
        || is_id(secret)
        || secret.contains(super::REDACTED)
    {
        return false;
    }
    let before = whole.strip_suffix(['"', '\'']).unwrap_or(whole).strip_suffix(secret).unwrap_or(whole);
    let is_quoted = before.ends_with(['"', '\'']);
    let sign = before.trim_end_matches(['"', '\'']);
    let is_spaced = sign.ends_with(char::is_whitespace);
    let name = sign.trim_end().trim_end_matches(['=', ':', '>']).trim_end().trim_end_matches(['"', '\'']);
    // `NAME=value` is how a shell sets a variable; `name = value` may be any program.
    let is_variable = !is_spaced && name.chars().all(|letter| !letter.is_ascii_lowercase());
    if is_quoted {
        is_mixed(secret) && secret.len() >= 6 || is_random(secret) || is_cased(secret) || is_variable
    } else if is_spaced {
        is_mixed(secret) && secret.len() >= 6
    } else {
        is_variable || is_mixed(secret) || is_cased(secret) || sign.ends_with(':')
    }
}

/// A text that a program gives to a name of a secret: a password or a token, no word of a language.
fn is_written_text(whole: &str, secret: &str) -> bool {
    is_given_text(whole, secret) && (is_mixed(secret) || is_cased(secret))
}

/// An id that stands for a secret because of its name. One of an example, which has few different digits, is none.
fn is_issued_id(_: &str, secret: &str) -> bool {
    let mut digits: Vec<u8> = secret.bytes().filter(|byte| *byte != b'-').collect();
    digits.sort_unstable();
    digits.dedup();
    digits.len() >= 8 && !secret.starts_with("123e4567-e89b-12d3") && !secret.starts_with("00000000")
}

/// A token of a bot: the first part is a number in base 64, so it has both cases and digits.
fn is_bot_token(_: &str, secret: &str) -> bool {
    let has = |test: fn(&u8) -> bool| secret.as_bytes().iter().any(test);
    has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && is_random(secret)
}

/// A token at a place where one is usual: random, with both cases and digits, and no id, path or code.
fn is_issued_token(whole: &str, secret: &str) -> bool {
    is_bot_token(whole, secret) && is_random_value(whole, secret) && !is_name(secret)
}

/// The value of a name that may be that of a secret: only what is random counts.
fn is_random_value(_: &str, secret: &str) -> bool {
    let is_commit = secret.len() == 40 && secret.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_other = is_commit || is_reference(secret) || is_id(secret) || is_path(secret) || is_code(secret);
    is_random(secret) && !is_other
}

#[rustfmt::skip]
const FORMS: &[Form] = &[
    Form { kind: "private_key", accepts: always, pattern: r"(?s)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:.*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|.*)" },
    Form { kind: "aws_access_key", accepts: always, pattern: r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}\b" },
    Form { kind: "github_token", accepts: always, pattern: r"\b(?:gh[pousr]_[A-Za-z0-9]{12,}|github_pat_[A-Za-z0-9_]{16,})" },
    Form { kind: "gitlab_token", accepts: always, pattern: r"\bgl(?:pat|ptt|dt|rt|cbt|soat|ft|imt|agent|oas)-[A-Za-z0-9_-]{12,}" },
    Form { kind: "api_token", accepts: has_digit, pattern: r"\bsk-(?:ant-|proj-|svcacct-|admin-|or-v1-|lf-)?[A-Za-z0-9_-]{13,}" },
    Form { kind: "stripe_key", accepts: always, pattern: r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{8,}|\bwhsec_[A-Za-z0-9+/=]{16,}" },
    Form { kind: "slack_token", accepts: always, pattern: r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}" },
    Form { kind: "webhook", accepts: always, pattern: r"https://hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]+" },
    Form { kind: "webhook", accepts: always, pattern: r"https://(?:[a-z]+\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d+/[A-Za-z0-9_-]+" },
    Form { kind: "webhook", accepts: always, pattern: r"https://[\w.-]+\.webhook\.office\.com/[^\s\x22'<>]+|https://hooks\.zapier\.com/hooks/catch/[^\s\x22'<>]+|https://chat\.googleapis\.com/v1/spaces/[^\s\x22'<>]+token=[^\s\x22'<>]+|https://[\w.-]+\.logic\.azure\.com[^\s\x22'<>]*sig=[^\s\x22'<>]+" },
    Form { kind: "google_key", accepts: always, pattern: r"\bAIza[A-Za-z0-9_-]{16,}|\bya29\.[A-Za-z0-9_-]{16,}|\bGOCSPX-[A-Za-z0-9_-]{16,}" },
    Form { kind: "package_token", accepts: always, pattern: r"\bnpm_[A-Za-z0-9]{16,}|\bpypi-[A-Za-z0-9_-]{16,}|\bdckr_pat_[A-Za-z0-9_-]{16,}|\brubygems_[a-f0-9]{32,}" },
    Form { kind: "service_token", accepts: has_digit, pattern: r"\b(?:hf_[A-Za-z0-9]{16,}|dop_v1_[a-f0-9]{32,}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|SK[a-f0-9]{32}\b|key-[0-9a-f]{32}\b|glsa_[A-Za-z0-9_]{20,}|ATATT[A-Za-z0-9_=-]{20,}|lin_api_[A-Za-z0-9]{20,}|ntn_[A-Za-z0-9]{20,}|hv[sb]\.[A-Za-z0-9_-]{20,}|AGE-SECRET-KEY-1[0-9A-Z]{20,}|dp\.(?:pt|st|ct)\.[A-Za-z0-9.]{20,}|pat[A-Za-z0-9]{14}\.[a-f0-9]{32,}|r8_[A-Za-z0-9]{20,}|gsk_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,}|pplx-[A-Za-z0-9]{20,}|tvly-[A-Za-z0-9-]{16,}|sbp_[a-f0-9]{32,}|figd_[A-Za-z0-9_-]{20,}|PMAK-[a-f0-9-]{20,}|NRAK-[A-Z0-9]{20,})" },
    Form { kind: "telegram_token", accepts: always, pattern: r"(?:\b|bot)(\d{8,10}:AA[A-Za-z0-9_-]{30,})" },
    Form { kind: "jwt", accepts: always, pattern: r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?|\beyJhbGciOi[A-Za-z0-9_.-]{6,}" },
    Form { kind: "connection_string", accepts: is_given, pattern: r"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s:/@'\x22]*:([^\s/'\x22]+)@" },
    Form { kind: "connection_string", accepts: is_user_token, pattern: r"\b(?:https?|git|ssh)://([^\s:/@'\x22]{8,})@" },
    Form { kind: "authorization", accepts: is_given, pattern: r"(?i)\b(?:x-[a-z-]*(?:key|token|secret|auth)|api-key|apikey|private-token|proxy-authorization|x-auth)\s*:\s*([^\s\x22',;]{4,})" },
    Form { kind: "cookie", accepts: is_given, pattern: r"(?i)\b(?:set-)?cookie:\s*[\w.-]+=([^\s;\x22']{6,})" },
    Form { kind: "cookie", accepts: is_given, pattern: r"\bcurl\b[^|;&\n]*?\s(?:-b|--cookie)[ =]?[\x22']?[\w.-]+=([^\s;\x22']{6,})" },
    Form { kind: "signed_address", accepts: is_credential, pattern: r"(?i)[?&](?:access_?token|auth_?token|id_token|token|api_?key|key|sig|signature|x-amz-signature|x-amz-credential|x-amz-security-token|secret|client_secret|password|pwd|code|jwt)=([^\s&\x22'#<>]{6,})" },
    Form { kind: "authorization", accepts: is_header_value, pattern: r"(?i)\bauthorization[\x22']?\s*[:=]\s*[\x22']?(?:(?:bearer|basic|token|digest|apikey|negotiate)\s+)?([^\s\x22',;]+)" },
    Form { kind: "authorization", accepts: is_credential, pattern: r"(?i)\bbearer[:\s]\s*[\x22']?([A-Za-z0-9._~+/=-]{6,})" },
    Form { kind: "password", accepts: is_given, pattern: r"(?:^|\s)(?:-u|--user)[ =][\x22']?[^\s:'\x22/]+:([^\s'\x22/]+)" },
    Form { kind: "password", accepts: is_option_value, pattern: r"(?i)(?:^|\s)--?(?:(?:[a-z]+-)?(?:password|passwd|passphrase|pass|pwd|token|api-?key|secret|secret-key|access-key|secret-access-key|auth-?token|client-secret|private-key|requirepass|storepass|keypass))[ =][\x22']?([^\s\x22']+)" },
    Form { kind: "password", accepts: is_given, pattern: r"\bsshpass\s+-p\s*[\x22']?([^\s\x22']+)" },
    Form { kind: "password", accepts: is_given, pattern: r"\bmysql(?:dump|admin)?\b[^|;&\n]*?\s-p([^\s'\x22]+)" },
    Form { kind: "password", accepts: is_given, pattern: r"\b(?:docker|podman|az|helm registry)\s+login\b[^|;&\n]*?\s-p[ =]?[\x22']?([^\s'\x22]+)" },
    Form { kind: "password", accepts: is_given, pattern: r"\b(?:redis-cli|valkey-cli|mongo(?:sh|dump|restore)?|cqlsh|sqlcmd|isql|ldapsearch|ldapmodify|smbclient|winrm|expect|7z|7za|unrar|zip|unzip)\b[^|;&\n]*?\s(?:-a|-p|-P|-w|--pass)[ =]?[\x22']?([^\s'\x22-][^\s'\x22]{3,})" },
    Form { kind: "password", accepts: is_given, pattern: r"\bconfigure\s+set\s+(?:[\w.-]+\.)?(?:aws_)?(?:secret_access_key|session_token)\s+[\x22']?([^\s'\x22]+)" },
    Form { kind: "password", accepts: is_given, pattern: r"--from-literal[ =][\x22']?[\w.-]+=[\x22']?([^\s'\x22]+)" },
    Form { kind: "password", accepts: is_given, pattern: r"\b(?:pass|passin|passout)[: ]+pass:([^\s'\x22]+)" },
    Form { kind: "password", accepts: is_given, pattern: r"\bhtpasswd\b[^|;&\n]*?\s-\w*b\w*\s+\S+\s+\S+\s+([^\s'\x22]+)|\bchpasswd\b[^|;&\n]*?\s\S+:([^\s'\x22]+)" },
    Form { kind: "package_token", accepts: is_given, pattern: r"_(?:authToken|auth|password)\s*=\s*[\x22']?([^\s'\x22]{6,})" },
    Form { kind: "password", accepts: is_given, pattern: r"\bmachine\s+\S+\s+login\s+\S+\s+password\s+(\S+)" },
    Form { kind: "password", accepts: is_given_text, pattern: r"(?i)\b[A-Z0-9_]+_PWD=[\x22']?([^\s'\x22;]+)" },
    Form { kind: "password", accepts: is_given_text, pattern: r"(?i);\s*(?:pwd|password)\s*=\s*([^;\x22'\n]{2,})" },
    Form { kind: "password", accepts: is_given_text, pattern: r"(?i)(?:password|passwd|passphrase|secret|token|api[_-]?key|private[_-]?key)\w*\\+\x22\s*:\s*\\+\x22([^\\\x22]{3,})" },
    Form { kind: "assignment", accepts: is_given_text, pattern: r"(?i)\b(?:name|key)[\x22']?\s*:\s*[\x22']?[\w.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|_pass|_pwd)[\w.-]*[\x22']?\s*,?\s*[\x22']?value[\x22']?\s*:\s*[\x22']?([^\s\x22',}]{3,})" },
    Form { kind: "assignment", accepts: is_given_text, pattern: r"(?i)\b(?:key|name)=[\x22'][\w.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|_pass|_pwd)[\w.-]*[\x22']\s+value=[\x22']([^\x22']{3,})[\x22']" },
    Form { kind: "assignment", accepts: is_given_text, pattern: r"(?i)<(?:[\w:.-]*(?:password|passwd|passphrase|secret|token|api-?key|privatekey))>\s*([^<\s]{3,})\s*</" },
    Form { kind: "service_token", accepts: always, pattern: r"\bhf_[A-Za-z]{20,}|\bdapi[a-f0-9]{32}\b" },
    Form { kind: "service_token", accepts: has_digit, pattern: r"\bsecret_[A-Za-z0-9]{20,}" },
    Form { kind: "assignment", accepts: is_given_text, pattern: r"(?i)\b(?:setx|set\s+-\w*x\w*)\s+[\w.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|_pass|_pwd)[\w.-]*\s+[\x22']?([^\s\x22']{3,})" },
    Form { kind: "password", accepts: is_given, pattern: r"\bcurl\b[^|;&\n]*?\s-[a-zA-Z]*u[\x22']?[^\s:'\x22/-][^\s:'\x22/]*:([^\s'\x22/]+)" },
    Form { kind: "password", accepts: is_given, pattern: r"\bgh\s+secret\s+set\b[^|;&\n]*?\s(?:--body|-b)[ =][\x22']?([^\s\x22']+)" },
    Form { kind: "password", accepts: is_given, pattern: r"\b(?:echo|printf)\s+(?:-\w+\s+|[\x22']?%s(?:\\n)?[\x22']?\s+)*[\x22']?([^\s\x22'|]+)[\x22']?\s*\|\s*(?:sudo\s+-\w*S|(?:sudo\s+)?(?:docker|podman|helm|skopeo|oras|crane|gh|az|vault|npm)\b[^|\n]*(?:login|--password-stdin|--with-token|secret set))" },
    Form { kind: "password", accepts: is_given, pattern: r"\b[\w.-]+:([^\s\x22'|]+)[\x22']?\s*\|\s*(?:sudo\s+)?chpasswd" },
    Form { kind: "password", accepts: is_given, pattern: r"\s-U[ =]?[\x22']?[^\s%\x22']+%([^\s\x22']+)" },
    Form { kind: "password", accepts: is_given, pattern: r"\bopenssl\b[^|;&\n]*?\s-[kK]\s+[\x22']?([^\s\x22']+)" },
    Form { kind: "password", accepts: is_given, pattern: r"(?:^|\s)[\w.*-]+:(?:\d{4,5}|\*):[\w*-]+:[\w*.-]+:([^\s:]{3,})" },
    Form { kind: "private_key", accepts: always, pattern: r"(?s)PuTTY-User-Key-File-\d:.*?Private-Lines:\s*\d+\s+([A-Za-z0-9+/=\s]+?)\s*(?:Private-MAC|$)" },
    Form { kind: "assignment", accepts: is_given_text, pattern: r"(?i)\b[\w.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|_pass|_pwd)[\w.-]*=((?:\x22[^\x22\s]+\x22|'[^'\s]+'){2,})" },
    Form { kind: "assignment", accepts: is_given_text, pattern: r"(?i)\b[\w.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|_pass|_pwd)[\w.-]*=[\x22']?([^\s\x22'\\]+\\\n\s*[^\s\x22']+)" },
    Form { kind: "service_token", accepts: has_digit, pattern: r"\b(?:tskey-(?:auth|api|client|webhook|scim)-[A-Za-z0-9]{6,}-[A-Za-z0-9]{16,}|pcsk_[A-Za-z0-9_]{30,}|lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{8,}|sntry[su]_[A-Za-z0-9_=+/-]{30,}|pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{20,}|bkua_[a-f0-9]{40}|nfp_[A-Za-z0-9]{30,}|ph[xs]_[A-Za-z0-9]{30,}|pul-[a-f0-9]{40}|HRKU-[A-Za-z0-9_-]{30,}|CCIPAT_[A-Za-z0-9]{16,}_[a-f0-9]{32,}|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}|fo1_[A-Za-z0-9_-]{40,}|fm[12]_[A-Za-z0-9+/=_-]{60,}|rnd_[A-Za-z0-9]{24,}|sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}|sk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{16,})" },
    Form { kind: "service_token", accepts: has_digit, pattern: r"\bSSWS\s+(00[A-Za-z0-9_-]{30,})" },
    Form { kind: "service_token", accepts: is_bot_token, pattern: r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}\b" },
    Form { kind: "private_key", accepts: always, pattern: r"\bclient-key-data:\s*[\x22\x27]?([A-Za-z0-9+/=]{40,})" },
    Form { kind: "connection_string", accepts: is_given, pattern: r"\b[\w.-]+:([^\s:@/\x27\x22]{3,})@(?:tcp|udp|unix)\(" },
    Form { kind: "assignment", accepts: is_issued_id, pattern: r"\b[A-Z][A-Z0-9_]*(?:API_KEY|SECRET|TOKEN|PASSWORD|PRIVATE|PRIVATE_KEY|ACCESS_KEY)=[\x22\x27]?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b" },
    Form { kind: "assignment", accepts: is_written_text, pattern: r"(?i)\[[\x22\x27][\w.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|_key|_pass|_pwd)[\x22\x27]\]\s*=\s*[\x22\x27]([^\x22\x27\s]{6,})[\x22\x27]" },
    Form { kind: "assignment", accepts: is_written_text, pattern: r"(?i)\b(?:setenv|putenv|set_var|setproperty|setenvironmentvariable|env\.set)\(\s*[\x22\x27][\w.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|_key|_pass|_pwd)[\x22\x27]\s*,\s*[\x22\x27]([^\x22\x27\s]{6,})[\x22\x27]" },
    Form { kind: "assignment", accepts: is_written_text, pattern: r"(?m)^\s*(?:ENV|ARG)\s+\w*(?i:(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|_key|_pass|_pwd))\w*[ \t]+[\x22\x27]?([^\s\x22\x27=]{6,})" },
    Form { kind: "assignment", accepts: is_written_text, pattern: r"(?i)\b\w*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|_key|_pass|_pwd)\s*:\s*(?:&\s*(?:\x27static\s+)?)?(?:str|string|final\s+string)\s*=\s*[\x22\x27]([^\x22\x27\s]{8,})[\x22\x27]" },
    Form { kind: "password", accepts: is_written_text, pattern: r"(?i)[\x22\x27]pwd[\x22\x27]\s*:\s*[\x22\x27]([^\x22\x27\s]{6,})[\x22\x27]" },
    Form { kind: "password", accepts: is_written_text, pattern: r"(?im)^\s*[\x22\x27]?pass[\x22\x27]?[ \t]*:[ \t]+[\x22\x27]?([^\s\x22\x27,]{8,})" },
    Form { kind: "password", accepts: is_written_text, pattern: r"(?i)\b[\w.-]*_pw[\x22\x27]?\s*[:=]\s*[\x22\x27]?([^\s\x22\x27,;]{6,})" },
    Form { kind: "assignment", accepts: is_written_text, pattern: r"(?i)\b[\w.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|private[_-]?key)[\x22\x27]?[ \t]*:[ \t]*[|>][+-]?[ \t]*\n[ \t]+(\S{6,})" },
    Form { kind: "assignment", accepts: is_assigned, pattern: r"(?i)[A-Z0-9_.-]*(?:password|passwd|passphrase|pgpass|(?:db|root|user|admin|smtp|mail|redis|mysql|postgres|pg|ftp|ldap|sudo|login)_?pass|_pass|secret(?:s|_?key|_?key_?base|_?access_?key|_?token)?|api[_-]?key|apikey|access[_-]?key(?:[_-]?id)?|account[_-]?key|auth[_-]?token|access[_-]?token|refresh[_-]?token|session[_-]?token|bot[_-]?token|private[_-]?key|signing[_-]?key|encryption[_-]?key|credentials?|webhook[_-]?url)[\x22']?\s*(?::=|=>|=|:)\s*[\x22']?([^\s\x22',;]+)[\x22']?" },
    Form { kind: "password", accepts: is_issued_token, pattern: r"(?:^|\s)(?:-[a-zA-Z]|/p|--?[\w-]*(?:key|pass|pw|secret|token|auth|cred)[\w-]*)[ =:]?[\x22\x27]?([A-Za-z0-9+/=_.~-]{16,})" },
    Form { kind: "password", accepts: is_issued_token, pattern: r"(?i)\b(?:password|passwd|passphrase|token|login|secret|api-?key|ssid \S+|wpa_passphrase \S+|send(?:line)?)\s+[\x22\x27]?([A-Za-z0-9+/=_.~-]{16,})" },
    Form { kind: "password", accepts: is_issued_token, pattern: r"<<<\s*[\x22\x27]?([A-Za-z0-9+/=_.~-]{16,})" },
    Form { kind: "password", accepts: is_issued_token, pattern: r"\b(?:echo|printf)\s+(?:-\w+\s+)*[\x22\x27]?([A-Za-z0-9+/=_.~-]{16,})" },
    Form { kind: "password", accepts: is_issued_token, pattern: r"(?:^|\s)-[a-zA-Z][ =]?[\x22\x27]?[\w.@-]+[,:]([A-Za-z0-9+/=_.~-]{16,})" },
    Form { kind: "password", accepts: is_given, pattern: r"(?:^|\s)--[a-z-]*user(?:name)?[ =][\x22\x27]?[^\s:\x27\x22/]+:([^\s\x27\x22/]+)" },
    Form { kind: "password", accepts: is_given, pattern: r"\bcurl\b[^|;&\n]*?\s(?:-E|--cert|--proxy-cert)[ =]?[\x22\x27]?[^\s:\x27\x22]+:([^\s\x27\x22/\\]+)" },
    Form { kind: "password", accepts: is_written_text, pattern: r"(?:^|[\s;&|(])(?:PASS|PW|PASSWORD|PASSPHRASE|PASSWD)=[\x22\x27]?([^\s\x22\x27;&|]{5,})" },
    Form { kind: "password", accepts: always, pattern: r"(?i)\bpassphrase=(?:\x22([^\x22$\n]*\s[^\x22$\n]*)\x22|\x27[^\x27\n]*\s[^\x27\n]*\x27)" },
    Form { kind: "service_token", accepts: has_digit, pattern: r"\bshp(?:at|ca|pa|ss)_[A-Za-z0-9]{24,}" },
    Form { kind: "assignment", accepts: is_random_value, pattern: r"(?i)[A-Z0-9_.-]*(?:token|key|pwd|pass|auth|sig|signature|dsn|cookie|sessionid|session_id)[\x22']?\s*(?::=|=>|=|:)\s*[\x22']?([A-Za-z0-9+/=_.~-]{16,})" },
];

static SET: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new(FORMS.iter().map(|form| form.pattern)).expect("the patterns are written here and tested")
});

static SINGLE: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let pattern = |form: &Form| Regex::new(form.pattern).expect("the patterns are written here and tested");
    FORMS.iter().map(pattern).collect()
});

/// Commands that store several secrets, each given as `NAME=VALUE` after them.
static STORED: LazyLock<Regex> = LazyLock::new(|| {
    let commands = r"\b(?:vault\s+(?:kv\s+(?:put|patch)|write)|(?:fly|flyctl|doppler)\s+secrets\s+(?:set|import)|heroku\s+config:set|supabase\s+secrets\s+set)\b((?:\x22[^\x22]*\x22|'[^']*'|[^|;&\n\x22'])*)";
    Regex::new(commands).expect("the pattern is written here and tested")
});

/// A name and its value among the arguments of a command; the quotes may be around both.
static STORED_VALUE: LazyLock<Regex> = LazyLock::new(|| {
    let pair = r"\s(?:[\w./-]+=(?:\x22([^\x22]*)\x22|'([^']*)'|([^\s\x22']+))|\x22[\w./-]+=([^\x22]*)\x22|'[\w./-]+=([^']*)')";
    Regex::new(pair).expect("the pattern is written here and tested")
});

/// Adds every secret that a command stores. One form finds one secret of a command, and these have many.
fn add_stored(text: &str, found: &mut Vec<(Range<usize>, usize, &'static str)>) {
    for command in STORED.captures_iter(text) {
        let Some(arguments) = command.get(1) else { continue };
        for pair in STORED_VALUE.captures_iter(arguments.as_str()) {
            let Some(value) = pair.iter().skip(1).flatten().next() else { continue };
            // Options of the command, such as `-cas=0`, are no secrets.
            let is_option = pair.get(0).is_some_and(|whole| whole.as_str().trim_start().starts_with('-'));
            if !value.is_empty() && !is_option && is_given_text("", value.as_str()) {
                let start = arguments.start() + value.start();
                found.push((start..start + value.len(), FORMS.len(), "password"));
            }
        }
    }
}

/// Returns the secrets of a text with the rank of their form: a lower rank tells more.
pub(super) fn matches(text: &str) -> Vec<(Range<usize>, usize, &'static str)> {
    let mut found = Vec::new();
    for rank in SET.matches(text) {
        let (Some(form), Some(pattern)) = (FORMS.get(rank), SINGLE.get(rank)) else { continue };
        for captures in pattern.captures_iter(text) {
            let Some(whole) = captures.get(0) else { continue };
            let secret = captures.get(1).unwrap_or(whole);
            if !secret.is_empty() && (form.accepts)(whole.as_str(), secret.as_str()) {
                found.push((secret.range(), rank, form.kind));
            }
        }
    }
    add_stored(text, &mut found);
    found
}

/// Names of members whose texts are secrets.
static SECRET_NAME: LazyLock<Regex> = LazyLock::new(|| {
    let names = r"(?i)(?:^|[_-]|[a-z])(?:password|passwd|passphrase|secret|api[_-]?key|apikey|access[_-]?token|auth[_-]?token|refresh[_-]?token|private[_-]?key|client[_-]?secret|authorization|secret[_-]?access[_-]?key|credentials?)$";
    Regex::new(names).expect("the pattern is written here and tested")
});

/// Returns whether a name is that of a secret, as in a pair of a name and a value.
pub(super) fn is_secret_name(name: &str) -> bool {
    SECRET_NAME.is_match(name) || PAIR_NAME.is_match(name)
}

static PAIR_NAME: LazyLock<Regex> = LazyLock::new(|| {
    let names = r"(?i)(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|_pass$|_pwd$)";
    Regex::new(names).expect("the pattern is written here and tested")
});

/// Returns whether the text of a member is a secret by the member's name.
pub(super) fn is_secret_member(name: &str, text: &str) -> bool {
    SECRET_NAME.is_match(name)
        && !text.is_empty()
        && !is_reference(text)
        && !is_path(text)
        && !text.contains(' ')
}
