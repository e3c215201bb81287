//! `applies_when`: the actions and artifacts a policy is about, and the path patterns in it.

use hence_canon::{Object, Value};
use hence_review::vocabulary::{ActionType, ArtifactType};
use hence_review::wire::{Action, Artifact};

use crate::eval::Subject;

/// The actions and artifacts a trace must have for a policy to apply to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    action_type: Option<String>,
    category: Option<String>,
    artifact_type: Option<String>,
    artifact_role: Option<String>,
    /// One of these must match; an empty list matches every path.
    paths: Vec<Glob>,
}

/// An error in a selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`applies_when{path}` is {found}; expected {expected}")]
pub struct SelectorError {
    /// The member, as `.key`, or empty for the selector itself.
    pub path: String,
    /// The value found.
    pub found: String,
    /// The values allowed.
    pub expected: &'static str,
}

impl Selector {
    /// Reads a selector.
    ///
    /// # Errors
    /// [`SelectorError`] for a member that is unknown or not a text: a condition is never dropped.
    pub fn read(value: &Value) -> Result<Self, SelectorError> {
        let fault = |path: &str, found: &Value, expected| SelectorError {
            path: path.to_owned(),
            found: found.kind().to_string(),
            expected,
        };
        let object: &Object = value.as_object().ok_or_else(|| fault("", value, "an object"))?;
        let mut selector = Self::default();
        for (key, found) in object.iter().filter(|(_, found)| !found.is_null()) {
            let path = format!(".{key}");
            let text = || found.as_str().map(str::to_owned).ok_or_else(|| fault(&path, found, "a text"));
            match &**key {
                "action_type" => selector.action_type = Some(text()?),
                "category" => selector.category = Some(text()?),
                "artifact_type" => selector.artifact_type = Some(text()?),
                "artifact_role" => selector.artifact_role = Some(text()?),
                "path_matches" => selector.paths.push(Glob::new(&text()?)),
                "path_matches_any" => {
                    let items = found.as_array().ok_or_else(|| fault(&path, found, "a list of texts"))?;
                    for item in items {
                        let pattern = item.as_str().ok_or_else(|| fault(&path, item, "a text"))?;
                        selector.paths.push(Glob::new(pattern));
                    }
                }
                _ => {
                    return Err(SelectorError {
                        path,
                        found: "unknown".to_owned(),
                        expected: "action_type, artifact_type, artifact_role, category, path_matches or path_matches_any",
                    });
                }
            }
        }
        Ok(selector)
    }

    /// Returns whether some action or artifact of the trace satisfies the selector.
    ///
    /// Conditions on actions must hold of one action, conditions on artifacts of one artifact; when both are
    /// given, of an action and something it produced.
    pub fn matches(&self, subject: &Subject) -> bool {
        let about_artifacts = self.artifact_type.is_some() || self.artifact_role.is_some();
        let about_actions = self.action_type.is_some() || self.category.is_some();
        let trace = subject.trace();
        if about_artifacts && !about_actions {
            return trace
                .artifacts()
                .iter()
                .any(|artifact| self.is_artifact(artifact) && self.is_path_of(artifact));
        }
        trace.actions().iter().any(|action| {
            let mut produced = action.outputs().filter_map(|output| trace.artifact_by_id_or_name(output));
            self.is_action(action)
                && (!about_artifacts || produced.any(|artifact| self.is_artifact(artifact)))
                && self.is_path_at(subject, action)
        })
    }

    fn is_action(&self, action: &Action) -> bool {
        let of_type = self.action_type.as_deref().is_none_or(|wanted| {
            let known = ActionType::from_word(wanted);
            wanted == action.type_word() || (known.is_some() && known == action.action_type())
        });
        let in_category =
            self.category.as_deref().is_none_or(|wanted| action.text("category") == Some(wanted));
        of_type && in_category
    }

    fn is_artifact(&self, artifact: &Artifact) -> bool {
        let of_type = self.artifact_type.as_deref().is_none_or(|wanted| {
            let known = ArtifactType::from_word(wanted);
            wanted == artifact.type_word() || (known.is_some() && known == artifact.artifact_type())
        });
        let in_role = self.artifact_role.as_deref().is_none_or(|wanted| artifact.role() == Some(wanted));
        of_type && in_role
    }

    fn is_path(&self, path: &str) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|glob| glob.matches(path))
    }

    fn is_path_of(&self, artifact: &Artifact) -> bool {
        let named = artifact.name().is_some_and(|name| self.is_path(name));
        self.paths.is_empty() || named || artifact.text("content_ref").is_some_and(|path| self.is_path(path))
    }

    fn is_path_at(&self, subject: &Subject, action: &Action) -> bool {
        self.is_path(subject.lineage().target(action.position()))
            || action.file_refs().any(|path| self.is_path(path))
            || action.inputs().chain(action.outputs()).any(|id| {
                let found = subject.trace().artifact_by_id_or_name(id);
                found.is_some_and(|artifact| self.is_path_of(artifact))
            })
    }
}

/// A path pattern: `*` and `?` match within one segment, `**` across segments; every other character is itself.
///
/// A pattern without `/` is matched against the last segment too, so `*.sql` finds files in any folder. Every text is a
/// pattern: `[`, `{` and `\` have no special meaning, `?` matches one character of any width, and `a**b` crosses
/// segments. The crate `globset` reads all of these differently, so this matcher is our own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Glob {
    tokens: Vec<GlobToken>,
    has_slash: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GlobToken {
    Literal(char),
    /// `?`
    One,
    /// `*`
    Within,
    /// `**`
    Across,
    /// `**/`: nothing, or any text that ends with a slash.
    Folders,
}

impl Glob {
    /// Reads a pattern.
    pub fn new(pattern: &str) -> Self {
        let mut tokens = Vec::new();
        let mut rest = pattern;
        while let Some(first) = rest.chars().next() {
            let (token, length) = match first {
                '*' if rest.starts_with("**/") => (GlobToken::Folders, 3),
                '*' if rest.starts_with("**") => (GlobToken::Across, 2),
                '*' => (GlobToken::Within, 1),
                '?' => (GlobToken::One, 1),
                letter => (GlobToken::Literal(letter), letter.len_utf8()),
            };
            tokens.push(token);
            rest = rest.get(length..).unwrap_or_default();
        }
        Self { tokens, has_slash: pattern.contains('/') }
    }

    /// Returns whether a path matches.
    pub fn matches(&self, path: &str) -> bool {
        let last = path.rsplit('/').next().unwrap_or(path);
        self.matches_whole(path) || (!self.has_slash && self.matches_whole(last))
    }

    /// Matches with one pass over the path per token, so no pattern is slow.
    fn matches_whole(&self, path: &str) -> bool {
        let path: Vec<char> = path.chars().collect();
        // reached[i]: the tokens so far match the first i characters of the path.
        let mut reached: Vec<bool> = (0..=path.len()).map(|at| at == 0).collect();
        for token in &self.tokens {
            let mut next = Vec::with_capacity(reached.len());
            // Whether the token, begun at some place before, can still go on.
            let mut open = false;
            for (at, here) in reached.iter().enumerate() {
                let letter = at.checked_sub(1).and_then(|last| path.get(last)).copied();
                let before = at.checked_sub(1).and_then(|last| reached.get(last)) == Some(&true);
                open |= before;
                next.push(match token {
                    GlobToken::Literal(wanted) => before && letter == Some(*wanted),
                    GlobToken::One => before && letter != Some('/'),
                    GlobToken::Within => {
                        open &= letter != Some('/');
                        open || *here
                    }
                    GlobToken::Across => open || *here,
                    GlobToken::Folders => *here || (open && letter == Some('/')),
                });
            }
            reached = next;
        }
        reached.last() == Some(&true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_shells_do() {
        let cases = [
            ("payments/**", "payments/a/b.py", true),
            ("payments/**", "src/payments/a.py", false),
            ("**/payments/**", "src/payments/a.py", true),
            ("**/payments/**", "payments/a.py", true),
            ("src/**/a.py", "src/a.py", true),
            ("src/**/a.py", "src/x/y/a.py", true),
            ("src/*.py", "src/a.py", true),
            ("src/*.py", "src/x/a.py", false),
            ("stripe_*.py", "src/stripe_flow.py", true),
            ("stripe_?low.py", "stripe_flow.py", true),
            ("stripe_*", "payment_x", false),
            ("", "", true),
            ("", "a", false),
            ("a**b", "a/x/b", true),
            ("a**b", "ab", true),
            ("a/**", "a", false),
            ("a/**", "a/", true),
            ("**/a", "xa", false),
            ("**/a", "/a", true),
            ("**/**/a", "a", true),
            ("a/**/**/b", "a/b", true),
            ("a/***/b", "a/b", false),
            ("a/***/b", "a/x/y/b", true),
            ("*/a", "x/y/a", false),
            ("caf?", "café", true),
            ("a?b", "a/b", false),
            ("[a]", "[a]", true),
            ("[a]", "a", false),
            ("{a,b}", "a", false),
            ("\\*", "\\x", true),
            ("*", "", true),
            ("a", "", false),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(Glob::new(pattern).matches(path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn a_pattern_made_to_be_slow_is_not() {
        for part in ["*a", "**a", "**/a"] {
            assert!(!Glob::new(&part.repeat(60)).matches(&"a/".repeat(50)), "{part}");
        }
    }
}
