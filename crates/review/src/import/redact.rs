//! Redaction of texts that look like secrets.

/// The replacement of a secret.
const REDACTED: &str = "[redacted]";

/// Prefixes of tokens that services issue.
#[rustfmt::skip]
const TOKENS: &[&str] = &[
    "AKIA", "ASIA", "AIza", "eyJhbGciOi", "ghp_", "gho_", "ghs_", "ghu_", "github_pat_", "glpat-", "sk-",
    "sk_live_", "rk_live_", "xoxb-", "xoxp-", "xoxa-", "npm_", "pypi-", "hf_",
];

/// The least length of a token: shorter words merely have the same prefix.
const TOKEN_CHARS_MIN: usize = 16;

/// Names whose values are secrets.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "password", "passwd", "secret", "api_key", "apikey", "api-key", "access_token", "auth_token",
    "private_key",
];

/// The beginning of a private key, and the end of its first line, once white space is collapsed.
pub(super) const KEY_BEGINS: &str = "-----BEGIN";
pub(super) const KEY_NAMED: &str = "PRIVATE KEY-----";

/// Replaces tokens of known services, values of secret names, the word after `Bearer`, and private keys.
pub fn redact(text: &str) -> String {
    let begins = text.find("-----BEGIN ").filter(|_| text.contains(KEY_NAMED));
    let shown = begins.and_then(|start| text.get(..start)).unwrap_or(text);
    let mut clean = String::with_capacity(shown.len());
    let mut redactor = Redactor::default();
    for (index, word) in shown.split(' ').enumerate() {
        if index > 0 {
            clean.push(' ');
        }
        redactor.push(word, &mut clean);
    }
    if begins.is_some() {
        clean.push_str(REDACTED);
    }
    clean
}

/// Returns whether a text holds something that would be replaced.
pub fn holds_secret(text: &str) -> bool {
    redact(text) != text
}

/// Redacts a text word by word.
#[derive(Default)]
pub(super) struct Redactor {
    after_bearer: bool,
}

impl Redactor {
    /// Appends a word with its secrets replaced.
    pub(super) fn push(&mut self, word: &str, clean: &mut String) {
        let hide = self.after_bearer && !word.is_empty();
        self.after_bearer = word.trim_matches(['"', '\'', ':']).eq_ignore_ascii_case("bearer");
        if hide {
            clean.push_str(REDACTED);
        } else if let Some((before, after)) = token(word) {
            clean.extend([before, REDACTED, after]);
        } else if let Some(name) = named(word) {
            clean.extend([name, REDACTED]);
        } else {
            clean.push_str(word);
        }
    }

    /// Appends the replacement of a private key.
    pub(super) fn push_key(&mut self, clean: &mut String) {
        clean.push_str(REDACTED);
    }
}

/// Returns the texts before and after the first token in a word.
fn token(word: &str) -> Option<(&str, &str)> {
    // Most words are shorter than any token and need no search.
    let last = word.len().checked_sub(TOKEN_CHARS_MIN)?;
    let bytes = word.as_bytes();
    let begins = |start: &usize| {
        let rest = bytes.get(*start..).unwrap_or_default();
        TOKENS.iter().any(|token| rest.starts_with(token.as_bytes()))
    };
    let start = (0..=last).find(begins)?;
    let (before, secret) = word.split_at_checked(start)?;
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let length = secret.bytes().take_while(is_part).count();
    let starts_a_word = before.chars().last().is_none_or(|letter| !letter.is_ascii_alphanumeric());
    let (_, after) = secret.split_at_checked(length)?;
    (length >= TOKEN_CHARS_MIN && starts_a_word).then_some((before, after))
}

/// Returns a secret name with its separator, if the word gives it a value.
fn named(word: &str) -> Option<&str> {
    let split = word.bytes().position(|byte| matches!(byte, b'=' | b':'))?;
    let (name, value) = word.split_at_checked(split)?;
    let ends_with = |secret: &&str| {
        let start = name.len().checked_sub(secret.len());
        start
            .and_then(|start| name.as_bytes().get(start..))
            .is_some_and(|end| end.eq_ignore_ascii_case(secret.as_bytes()))
    };
    if value.len() > 1 && NAMES.iter().any(ends_with) { word.get(..=split) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_left_out_and_words_are_not() {
        for (text, clean) in [
            ("export KEY=sk-abcdefghijklmnop1234 now", "export KEY=[redacted] now"),
            ("curl -H 'Authorization: Bearer abc.def' x", "curl -H 'Authorization: Bearer [redacted] x"),
            ("DB_PASSWORD=hunter2 make", "DB_PASSWORD=[redacted] make"),
            ("a task-list and sk-short", "a task-list and sk-short"),
            ("the password: is unknown", "the password: is unknown"),
            ("see -----BEGIN RSA PRIVATE KEY----- MII", "see [redacted]"),
            ("see -----BEGIN CERTIFICATE----- MII", "see -----BEGIN CERTIFICATE----- MII"),
            ("'ghp_0123456789abcdef', Api-Key:x secret=", "'[redacted]', Api-Key:[redacted] secret="),
            ("bearer: ghp_0123456789abcde é=sk-abcdefghijklmnopé", "bearer: [redacted] é=[redacted]é"),
        ] {
            assert_eq!(redact(text), clean);
        }
    }
}
