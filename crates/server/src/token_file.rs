//! Token files: named tokens with roles.

use std::path::Path;

use serde::Deserialize;

use crate::access::{Identity, Role};
use crate::limits::TOKEN_CHARACTERS_MIN;

/// A token file that is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TokenFileError {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// Others than its owner may read it.
    #[error("others than its owner may read it (mode {0:o}); `chmod 600` changes that")]
    Shared(u32),
    /// It is not TOML of the form.
    #[error("{0}")]
    Form(String),
    /// It has no token.
    #[error("it has no [[token]]")]
    Empty,
    /// A token is too short.
    #[error("the token of {name:?} has {found} characters, expected at least {TOKEN_CHARACTERS_MIN}")]
    Short {
        /// The name.
        name: String,
        /// The number of characters.
        found: usize,
    },
    /// A role is unknown.
    #[error("{name:?} has the unknown role {role:?}; roles are read, answer and review")]
    Role {
        /// The name.
        name: String,
        /// The word.
        role: String,
    },
    /// A name is missing or occurs twice.
    #[error("every token needs a name of its own, found {0:?}")]
    Name(String),
    /// Two people have the same token.
    #[error("{0:?} has the token of somebody else")]
    Twice(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    token: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    #[serde(default)]
    roles: Vec<String>,
    token: String,
}

/// Reads a token file.
///
/// # Errors
/// [`TokenFileError`].
pub fn read_token_file(path: &Path) -> Result<Vec<(String, Identity)>, TokenFileError> {
    let unreadable = |error: std::io::Error| TokenFileError::Unreadable(error.to_string());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(path).map_err(unreadable)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(TokenFileError::Shared(mode));
        }
    }
    read_tokens(&std::fs::read_to_string(path).map_err(unreadable)?)
}

fn read_tokens(text: &str) -> Result<Vec<(String, Identity)>, TokenFileError> {
    // The message of the parser alone: it could quote a line, and a line has a secret.
    let file: File =
        toml::from_str(text).map_err(|error| TokenFileError::Form(error.message().to_owned()))?;
    let mut tokens: Vec<(String, Identity)> = Vec::new();
    for Entry { name, roles, token } in file.token {
        if name.trim().is_empty() || tokens.iter().any(|(_, known)| known.name() == name) {
            return Err(TokenFileError::Name(name));
        }
        let found = token.chars().count();
        if found < TOKEN_CHARACTERS_MIN {
            return Err(TokenFileError::Short { name, found });
        }
        if tokens.iter().any(|(known, _)| *known == token) {
            return Err(TokenFileError::Twice(name));
        }
        let mut known = Vec::new();
        for role in roles {
            known.push(Role::find(&role).ok_or_else(|| TokenFileError::Role { name: name.clone(), role })?);
        }
        let identity = Identity::new(&name, known);
        tokens.push((token, identity));
    }
    if tokens.is_empty() { Err(TokenFileError::Empty) } else { Ok(tokens) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(letter: char) -> String {
        letter.to_string().repeat(TOKEN_CHARACTERS_MIN)
    }

    #[test]
    fn tokens_have_names_and_roles() {
        let text = format!(
            "[[token]]\nname = \"ada\"\nroles = [\"answer\"]\ntoken = \"{}\"\n[[token]]\nname = \"bob\"\ntoken = \"{}\"\n",
            token('a'),
            token('b')
        );
        let tokens = read_tokens(&text).expect("a token file");
        assert_eq!(tokens.len(), 2);
        assert!(tokens[0].1.has(Role::Answer) && !tokens[0].1.has(Role::Review));
        assert_eq!(tokens[1].1.roles(), [Role::Read]);
    }

    #[test]
    fn what_is_not_understood_is_refused_without_its_secret() {
        let entry = |name: &str, roles: &str, token: &str| {
            format!("[[token]]\nname = \"{name}\"\nroles = [{roles}]\ntoken = \"{token}\"\n")
        };
        let short = "s".repeat(TOKEN_CHARACTERS_MIN - 1);
        let cases = [
            ("", "no [[token]]"),
            (&entry("ada", "", &short), "31 characters"),
            (&entry("ada", "\"admin\"", &token('a')), "unknown role"),
            (&entry(" ", "", &token('a')), "a name of its own"),
            (&[entry("ada", "", &token('a')), entry("ada", "", &token('b'))].concat(), "a name of its own"),
            (&[entry("ada", "", &token('a')), entry("bob", "", &token('a'))].concat(), "somebody else"),
            ("[[token]]\nname = \"ada\"\nsecret = 1\n", "secret"),
            ("not toml", ""),
        ];
        for (text, expected) in cases {
            let error = read_tokens(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(!error.contains(&token('a')), "{error}");
        }
    }
}
