//! Whether a value at the place of a secret is one.

/// Words that stand for a secret that is not there.
#[rustfmt::skip]
const PLACEHOLDERS: &[&str] = &[
    "null", "none", "nil", "true", "false", "undefined", "yes", "no", "changeme", "change_me", "placeholder", "example", "dummy",
    "todo", "tbd", "redacted", "hidden", "masked", "removed", "string", "str", "text", "secret", "password", "token", "required",
    "optional", "env", "unset", "empty", "default", "value", "admin", "bool", "int", "bytes",
];

/// Returns whether a value only refers to a secret, or stands for one.
pub(super) fn is_reference(value: &str) -> bool {
    let lower = value.to_lowercase();
    let is_masked = value.len() >= 3
        && value.chars().all(|letter| matches!(letter, '*' | 'x' | 'X' | '.' | '-' | '•' | '#'));
    value.starts_with(['$', '<', '{', '%', '*', '&', '@', '(', '[', '`', '|', '#', '!'])
        || is_masked
        || PLACEHOLDERS.contains(&lower.as_str())
        || [
            "your_", "your-", "my_", "my-", "xxx", "...", "<your", "insert", "enter_", "test_", "fake",
            "sample", "env.",
        ]
        .iter()
        .any(|beginning| lower.starts_with(beginning))
}

/// Returns whether a value looks like a dotted name, a call or a lookup of a program.
pub(super) fn is_code(value: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && part.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    let is_dotted = |text: &str| text.contains('.') && text.split('.').all(is_name);
    let bracket = value.find(['(', '[']);
    let (before, after) = value.split_at(bracket.unwrap_or(value.len()));
    match after.chars().next() {
        None => is_dotted(value) || value.split("::").count() > 1 && value.split("::").all(is_name),
        // `get()`, `os.environ[`, `Some<T>`: a password rarely closes what it opens.
        Some(_) => is_dotted(before) || is_name(before) && (after.ends_with([')', ']']) || after.len() == 1),
    }
}

/// Returns whether a value is a path, an address without a password, or a file.
pub(super) fn is_path(value: &str) -> bool {
    value.starts_with(['/', '~'])
        || value.starts_with("./")
        || value.starts_with("../")
        || value.contains("://")
        || value.contains(":\\")
}

/// Returns whether a value is an id or a hash: it identifies something and protects nothing.
pub(super) fn is_id(value: &str) -> bool {
    let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts: Vec<&str> = value.split('-').collect();
    let is_uuid =
        parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12]) && parts.iter().all(|part| is_hex(part));
    let is_digest =
        value.starts_with("sha256:") || value.starts_with("sha512-") || value.starts_with("sha1-");
    is_uuid || is_digest
}

/// Returns whether a value mixes letters with digits or signs, as a password does.
pub(super) fn is_mixed(value: &str) -> bool {
    let has = |test: fn(&char) -> bool| value.chars().any(|letter| test(&letter));
    let letters = has(|letter| letter.is_alphabetic());
    letters
        && has(|letter| {
            letter.is_numeric()
                || (letter.is_ascii_punctuation() && !matches!(letter, '-' | '_' | '.' | '/' | ',' | ':'))
        })
}

/// Returns whether the case of a value changes too often for words, which have one capital at their beginning.
pub(super) fn is_cased(value: &str) -> bool {
    let bytes = value.as_bytes();
    let is_letters = bytes.iter().all(u8::is_ascii_alphanumeric);
    let changes = bytes.windows(2).filter(|pair| match pair {
        [left, right] => left.is_ascii_uppercase() != right.is_ascii_uppercase(),
        _ => false,
    });
    is_letters && bytes.len() >= 10 && changes.count() * 5 >= bytes.len() * 2
}

/// Returns whether a value is long and random: what a person would not choose.
pub(super) fn is_random(value: &str) -> bool {
    let is_plain = value.chars().all(|letter| letter.is_ascii_alphanumeric() || "+/=_-.~".contains(letter));
    let digits = value.chars().filter(char::is_ascii_digit).count();
    value.len() >= 16
        && is_plain
        && digits >= 2
        && is_mixed(value)
        && bits_per_letter(value) >= 3.2
        && !is_words(value)
}

/// Returns whether a value is made of short words and numbers, as names of things are.
fn is_words(value: &str) -> bool {
    let parts: Vec<&str> = value.split(['-', '_', '.', '/']).filter(|part| !part.is_empty()).collect();
    let is_word = |part: &&str| -> bool {
        part.chars().all(|letter| letter.is_ascii_lowercase())
            || part.chars().all(|letter| letter.is_ascii_uppercase())
            || part.chars().all(|letter| letter.is_ascii_digit()) && part.len() <= 8
            || part.len() <= 4
    };
    parts.len() >= 3 && parts.iter().all(is_word)
}

/// Returns the entropy of the letters.
fn bits_per_letter(value: &str) -> f64 {
    let mut counts = [0_u32; 128];
    let mut total = 0_u32;
    for byte in value.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
            total += 1;
        }
    }
    let part = |count: &u32| f64::from(*count) / f64::from(total.max(1));
    counts.iter().filter(|count| **count > 0).map(part).map(|part| -part * part.log2()).sum()
}

/// Returns whether much of a value is words, as in names of things: `TestUserLogin2FactorAuth3`.
pub(super) fn is_name(value: &str) -> bool {
    let mut run = 0;
    let mut in_words = 0;
    // A word is a run of lower-case letters, with one capital before it.
    for letter in value.chars().chain(['.']) {
        if letter.is_ascii_lowercase() {
            run += 1;
        } else {
            in_words += if run >= 3 { run + 1 } else { 0 };
            run = 0;
        }
    }
    in_words * 5 >= value.len() * 2
}
