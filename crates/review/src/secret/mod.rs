//! Texts that look like secrets: keys and tokens of known services, passwords in addresses, headers and assignments.
//!
//! A secret is found by a form that its issuer gave it, or by the place it is written at together with how random it
//! looks. A hash of a commit, an id or a path at no such place is none. The values of secrets that a run was given are
//! another matter: they are known, and `hence_capabilities` removes them wherever they occur.

mod patterns;
mod value;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use hence_canon::{Digest, Object, Value};

/// Names of files that hold a secret.
const PRIVATE_NAMES: [&str; 11] = [
    ".git-credentials",
    ".htpasswd",
    ".netrc",
    ".pgpass",
    ".pypirc",
    "_netrc",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "master.key",
];

/// Ends of the names of files that hold private keys or passwords.
const PRIVATE_ENDS: [&str; 8] = ["jks", "kdbx", "key", "keystore", "p12", "pfx", "pkcs12", "ppk"];

/// Parts of the name of a file that shows only how a private one looks.
const EXAMPLES: [&str; 8] =
    ["defaults", "dist", "example", "examples", "sample", "schema", "template", "tpl"];

/// The text that replaces a secret.
pub const REDACTED: &str = "[redacted]";

/// The secrets that were removed, by kind: each value counts once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redactions {
    found: BTreeMap<&'static str, BTreeSet<Digest>>,
}

impl Redactions {
    /// Returns whether nothing was removed.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns how many different secrets of each kind were removed.
    pub fn to_object(&self) -> Object {
        self.found.iter().map(|(kind, values)| (*kind, Value::from(values.len()))).collect()
    }

    fn add(&mut self, kind: &'static str, secret: &str) {
        self.found.entry(kind).or_default().insert(Digest::of(secret.as_bytes()));
    }
}

/// Returns whether the name of a file says that it holds secrets: environments, private keys and stored passwords. Examples of
/// such files do not.
pub fn is_private_file(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_lowercase();
    let parts: Vec<&str> = name.split('.').collect();
    if parts.iter().any(|part| EXAMPLES.contains(part)) {
        return false;
    }
    let is_environment = matches!(parts.as_slice(), ["", "env", ..]) || name.ends_with(".env");
    let is_store = parts.len() > 1 && parts.last().is_some_and(|end| PRIVATE_ENDS.contains(end));
    is_environment || is_store || PRIVATE_NAMES.contains(&name.as_str())
}

/// Returns whether a text holds a secret.
pub fn contains(text: &str) -> bool {
    !found(text).is_empty()
}

/// Replaces every secret in a text, and counts it.
pub fn redact<'a>(text: &'a str, removed: &mut Redactions) -> Cow<'a, str> {
    let secrets = found(text);
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut end = 0;
    for (range, kind) in secrets {
        removed.add(kind, text.get(range.clone()).unwrap_or_default());
        clean.push_str(text.get(end..range.start).unwrap_or_default());
        clean.push_str(REDACTED);
        end = range.end;
    }
    clean.push_str(text.get(end..).unwrap_or_default());
    Cow::Owned(clean)
}

/// Returns a text with every secret replaced.
pub fn without_secrets(text: &str) -> String {
    redact(text, &mut Redactions::default()).into_owned()
}

/// Replaces every secret in the words of a command. A word may be a secret because of the word before it, as in
/// `-u name:password`, so the words are searched as one line.
pub fn words_without_secrets(words: &[String]) -> Vec<String> {
    let line = words.join(" ");
    let secrets = found(&line);
    let mut start = 0;
    let mut clean = Vec::with_capacity(words.len());
    for word in words {
        let (mut at, end) = (start, start + word.len());
        let mut text = String::with_capacity(word.len());
        for (range, _) in &secrets {
            let (from, to) = (range.start.max(start), range.end.min(end));
            if from < to {
                text.push_str(line.get(at..from).unwrap_or_default());
                text.push_str(REDACTED);
                at = to;
            }
        }
        text.push_str(line.get(at..end).unwrap_or_default());
        clean.push(without_secrets(&text));
        start = end + 1;
    }
    clean
}

/// Replaces every secret in the texts of a value. The value of a member whose name is that of a secret is one.
pub fn redact_value(value: &Value, removed: &mut Redactions) -> Value {
    match value {
        Value::String(text) => redact(text, removed).into_owned().into(),
        Value::Array(items) => match items.iter().map(Value::as_str).collect::<Option<Vec<_>>>() {
            // A list of texts may be the words of a command.
            Some(words) if words.len() > 1 => {
                let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
                redact(&words.join(" "), removed);
                words_without_secrets(&words).into_iter().map(Value::from).collect()
            }
            _ => items.iter().map(|item| redact_value(item, removed)).collect(),
        },
        Value::Object(object) => {
            let mut members = Vec::with_capacity(object.len());
            // `{"name": "DB_PASSWORD", "value": …}` names the secret beside it.
            let pair = ["name", "key"].iter().find_map(|key| object.get(key)?.as_str());
            let pair = pair.filter(|name| patterns::is_secret_name(name));
            for (name, member) in object.iter() {
                let by_pair = |text: &str| {
                    &**name == "value"
                        && pair
                            .is_some_and(|pair| patterns::is_secret_member(&format!("{pair}_secret"), text))
                };
                let secret =
                    member.as_str().filter(|text| patterns::is_secret_member(name, text) || by_pair(text));
                let member = match secret {
                    Some(text) => {
                        removed.add("assignment", text);
                        REDACTED.into()
                    }
                    None => redact_value(member, removed),
                };
                members.push((name.clone(), member));
            }
            members.into_iter().collect::<Object>().into()
        }
        other => other.clone(),
    }
}

/// Returns the secrets of a text in order, none inside of another.
fn found(text: &str) -> Vec<(Range<usize>, &'static str)> {
    let mut all = patterns::matches(text);
    // Of two that overlap, the one that begins first counts, then the longer one, then the more telling kind.
    all.sort_by_key(|(range, rank, _)| (range.start, std::cmp::Reverse(range.end), *rank));
    let mut kept: Vec<(Range<usize>, &'static str)> = Vec::new();
    for (range, _, kind) in all {
        match kept.last_mut() {
            Some((last, _)) if range.start < last.end => last.end = last.end.max(range.end),
            _ => kept.push((range, kind)),
        }
    }
    kept
}

#[cfg(test)]
mod tests;
