//! Leaving out what looks like a secret.

/// What stands in the place of a secret.
const REDACTED: &str = "[redacted]";

/// Beginnings of tokens that services hand out.
const TOKENS: &[&str] = &[
    "AKIA",
    "ASIA",
    "AIza",
    "eyJhbGciOi",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "sk-",
    "sk_live_",
    "rk_live_",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "npm_",
    "pypi-",
    "hf_",
];

/// Tokens are longer than words that merely begin alike.
const TOKEN_CHARS_MIN: usize = 16;

/// Names whose values are secrets.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "secret",
    "api_key",
    "apikey",
    "api-key",
    "access_token",
    "auth_token",
    "private_key",
];

/// Replaces tokens of known services, values of secret names, and what follows `Bearer`.
pub(super) fn redact(text: &str) -> String {
    if let Some(start) = text.find("-----BEGIN ").filter(|_| text.contains("PRIVATE KEY-----")) {
        let before = text.get(..start).unwrap_or("");
        return format!("{}{REDACTED}", redact(before));
    }
    let mut after_bearer = false;
    let words = text.split(' ').map(|word| {
        let hide = after_bearer && !word.is_empty();
        after_bearer = word.trim_matches(['"', '\'', ':']).eq_ignore_ascii_case("bearer");
        if hide { REDACTED.to_owned() } else { redact_word(word) }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn redact_word(word: &str) -> String {
    let token = TOKENS.iter().filter_map(|token| word.find(token)).min();
    if let Some(start) = token {
        let (before, secret) = word.split_at_checked(start).unwrap_or(("", word));
        let length = secret
            .chars()
            .take_while(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(*letter))
            .count();
        let starts_a_word = before.chars().last().is_none_or(|letter| !letter.is_ascii_alphanumeric());
        if length >= TOKEN_CHARS_MIN && starts_a_word {
            let rest: String = secret.chars().skip(length).collect();
            return format!("{before}{REDACTED}{rest}");
        }
    }
    if let Some(split) = word.find(['=', ':']) {
        let (name, value) = word.split_at_checked(split).unwrap_or((word, ""));
        let lower = name.to_ascii_lowercase();
        if value.chars().count() > 1 && NAMES.iter().any(|secret| lower.ends_with(secret)) {
            let separator: String = value.chars().take(1).collect();
            return format!("{name}{separator}{REDACTED}");
        }
    }
    word.to_owned()
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
        ] {
            assert_eq!(redact(text), clean);
        }
    }
}
