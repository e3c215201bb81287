//! White space and digits as the public Python engine sees them.

/// Returns whether a character is white space: Unicode's White_Space plus the four ASCII separators.
fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

/// Returns whether a text is empty or only white space.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(is_space)
}

/// Returns `text` with every run of white space turned into one space and none at the ends.
pub fn collapse_blank(text: &str) -> String {
    let words: Vec<&str> = text.split(is_space).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// The zero of each run of ten decimal digits (general category Nd, Unicode 14), in order.
const ZEROS: &[u32] = &[
    0x0030, 0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6, 0x0d66,
    0x0de6, 0x0e50, 0x0ed0, 0x0f20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50,
    0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30,
    0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0,
    0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec,
    0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// Returns the value of a decimal digit of any script, which lax typing accepts wherever it expects a digit.
pub(crate) fn decimal_digit(character: char) -> Option<u8> {
    if character.is_ascii() {
        return character.to_digit(10).and_then(|digit| u8::try_from(digit).ok());
    }
    let code = u32::from(character);
    let run = ZEROS.partition_point(|zero| *zero <= code).checked_sub(1)?;
    let offset = code - ZEROS.get(run)?;
    u8::try_from(offset).ok().filter(|digit| *digit < 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_count_as_space_and_zero_width_characters_do_not() {
        assert_eq!(collapse_blank("\u{1c} a\u{a0}\u{3000}b\t\n c\u{1f}"), "a b c");
        for space in ["\u{85}", "\u{1680}", "\u{2000}", "\u{2028}", "\u{202f}", "\u{205f}", ""] {
            assert!(is_blank(space), "{space:?}");
        }
        for visible in ["\u{200b}", "\u{200d}", "\u{2060}", "\u{feff}", "\u{180e}", "\0"] {
            assert!(!is_blank(visible), "{visible:?}");
        }
    }

    #[test]
    fn digits_of_any_script_have_their_value() {
        for (character, digit) in [('0', 0), ('9', 9), ('٢', 2), ('१', 1), ('７', 7), ('𝟡', 9)] {
            assert_eq!(decimal_digit(character), Some(digit), "{character}");
        }
        for character in ['a', '/', ':', '²', '½', 'Ⅳ', '\u{10ffff}', '\0'] {
            assert_eq!(decimal_digit(character), None, "{character}");
        }
        assert!(ZEROS.is_sorted());
    }
}
