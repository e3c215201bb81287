//! Known words that resemble a misspelt one.

/// The longest word that is compared, in characters. Names are short; a longer text is no slip of the keyboard.
const COMPARED_CHARACTERS_MAX: usize = 64;

/// Returns the known word that a word was probably meant to be: the nearest one, if it differs in few letters.
///
/// Of words equally near, the first in the order of the alphabet is returned, so the answer depends on nothing else.
pub fn meant<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    if length > COMPARED_CHARACTERS_MAX {
        return None;
    }
    // Two letters of a long word are a slip; two of a short one make it another word.
    let most = match length {
        0..=2 => return None,
        3..=4 => 1,
        _ => 2,
    };
    let near = known.into_iter().filter(|known| {
        *known != word && !known.is_empty() && known.chars().count().abs_diff(length) <= most
    });
    near.map(|known| (letters_between(word, known), known))
        .filter(|(letters, _)| *letters <= most)
        .min()
        .map(|(_, known)| known)
}

/// Returns the end of a message about an unknown word: the question whether a known one was meant, or nothing.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    meant(word, known).map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default()
}

/// Returns the number of letters to add, drop, change or swap with a neighbor to get from one word to the other.
fn letters_between(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let at = |row: &[usize], place: usize| row.get(place).copied().unwrap_or(usize::MAX / 2);
    let (mut before_last, mut last): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..=right.len()).collect());
    let mut previous = None;
    for (i, from) in left.chars().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in right.iter().enumerate() {
            let changed = at(&last, j) + usize::from(from != *to);
            let mut least = changed.min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            let is_swapped = j > 0 && previous == Some(*to) && right.get(j - 1) == Some(&from);
            if is_swapped {
                least = least.min(at(&before_last, j - 1) + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
        previous = Some(from);
    }
    at(&last, right.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_counted() {
        for (left, right, letters) in [
            ("evidence_bacth", "evidence_batch", 1),
            ("limts", "limits", 1),
            ("rnu", "run", 1),
            ("abc", "abc", 0),
            ("", "ab", 2),
            ("äb", "bä", 1),
        ] {
            assert_eq!(letters_between(left, right), letters, "{left}");
        }
    }

    #[test]
    fn only_a_word_that_is_near_was_meant() {
        assert_eq!(meant("strng", ["integer", "string"]), Some("string"));
        assert_eq!(meant("txt", ["text", "test"]), Some("text"));
        assert_eq!(meant("x", ["y"]), None);
        assert_eq!(meant("string", ["string"]), None);
        assert_eq!(meant(&"a".repeat(10_000), ["a"]), None);
        assert_eq!(did_you_mean("valus", ["values"]), "; did you mean `values`?");
        assert_eq!(did_you_mean("other", ["values"]), "");
    }
}
