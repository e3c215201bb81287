//! Whether an output is what was recorded.

/// How many characters of a recorded result are looked for: summaries are cut, outputs are not.
const COMPARED_CHARS: usize = 60;

/// What comparing gave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reproduction {
    /// The output contains the recorded result.
    Reproduced,
    /// It does not.
    Diverged,
    /// Nothing was recorded to compare with, so nothing is shown.
    NothingRecorded,
}

/// Compares an output with the recorded result, white space aside.
pub fn compare(expected: Option<&str>, output: &str) -> Reproduction {
    let recorded = collapse(expected.unwrap_or(""));
    let recorded = recorded.strip_prefix("ERROR: ").unwrap_or(&recorded);
    let recorded = recorded.trim_end_matches('…');
    let beginning: String = recorded.chars().take(COMPARED_CHARS).collect();
    if beginning.is_empty() {
        Reproduction::NothingRecorded
    } else if collapse(output).contains(&beginning) {
        Reproduction::Reproduced
    } else {
        Reproduction::Diverged
    }
}

fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_and_cuts_do_not_matter() {
        assert_eq!(compare(Some("24 passed"), "\n== 24\n  passed in 1s"), Reproduction::Reproduced);
        assert_eq!(compare(Some("ERROR: no such file…"), "cat: no such file or"), Reproduction::Reproduced);
        assert_eq!(compare(Some("24 passed"), "23 passed, 1 failed"), Reproduction::Diverged);
        assert_eq!(compare(Some("  "), "anything"), Reproduction::NothingRecorded);
        assert_eq!(compare(None, ""), Reproduction::NothingRecorded);
    }

    #[test]
    fn exactly_the_first_sixty_characters_count() {
        let recorded = format!("{}y", "x".repeat(COMPARED_CHARS));
        assert_eq!(compare(Some(&recorded), &"x".repeat(COMPARED_CHARS)), Reproduction::Reproduced);
        assert_eq!(compare(Some(&recorded), &"x".repeat(COMPARED_CHARS - 1)), Reproduction::Diverged);
    }
}
