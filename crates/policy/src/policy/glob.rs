//! Path patterns.

/// A path pattern: `*` and `?` within one segment, `**` across segments.
///
/// A pattern without `/` is matched against the last segment too, so `*.sql` finds files in any folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Glob {
    pattern: Vec<char>,
}

impl Glob {
    /// Reads a pattern; every text is one.
    pub fn new(pattern: &str) -> Self {
        Self { pattern: pattern.chars().collect() }
    }

    /// Returns whether a path matches.
    pub fn matches(&self, path: &str) -> bool {
        let whole: Vec<char> = path.chars().collect();
        if matches(&self.pattern, &whole) {
            return true;
        }
        let last = path.rsplit('/').next().unwrap_or(path);
        !self.pattern.contains(&'/')
            && last != path
            && matches(&self.pattern, &last.chars().collect::<Vec<_>>())
    }
}

/// Matches by filling one row per pattern character, so no pattern makes it slow.
fn matches(pattern: &[char], path: &[char]) -> bool {
    // reached[i]: the pattern so far matches the first i characters of the path.
    let mut reached: Vec<bool> = (0..=path.len()).map(|at| at == 0).collect();
    let mut rest = pattern;
    while let Some((first, after)) = rest.split_first() {
        let across = *first == '*' && after.first() == Some(&'*');
        rest = if across { after.get(1..).unwrap_or_default() } else { after };
        // `a/**/b` also means `a/b`: the second slash is then part of what matches nothing.
        let closes = across && rest.first() == Some(&'/');
        let before = reached.clone();
        let mut open = false;
        for (at, slot) in reached.iter_mut().enumerate() {
            let came = at.checked_sub(1).and_then(|last| Some((*before.get(last)?, *path.get(last)?)));
            *slot = match first {
                '*' => {
                    open = (open && came.is_none_or(|(_, letter)| across || letter != '/'))
                        || before.get(at) == Some(&true);
                    open
                }
                '?' => came.is_some_and(|(held, letter)| held && letter != '/'),
                wanted => came.is_some_and(|(held, letter)| held && letter == *wanted),
            };
        }
        if closes {
            let skipped = matches_from(&before, rest.get(1..).unwrap_or_default(), path);
            if skipped {
                return true;
            }
        }
    }
    reached.last() == Some(&true)
}

/// Returns whether `pattern` matches the rest of the path from any place reached.
fn matches_from(reached: &[bool], pattern: &[char], path: &[char]) -> bool {
    let starts = reached.iter().enumerate().filter(|(_, held)| **held);
    starts.filter_map(|(at, _)| path.get(at..)).any(|rest| matches(pattern, rest))
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
            ("*", "", true),
            ("a", "", false),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(Glob::new(pattern).matches(path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn a_pattern_made_to_be_slow_is_not() {
        let pattern = "*a".repeat(60);
        assert!(!Glob::new(&pattern).matches(&"a".repeat(50)));
    }
}
