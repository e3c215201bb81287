//! Splits a line into words.

use crate::code::Code;
use crate::error::CliError;

/// Splits a line at blanks. Quotes group words; a backslash takes the next character literally.
pub(crate) fn words(line: &str) -> Result<Vec<String>, CliError> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None::<char>);
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(characters.next()),
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    match quote {
        None => Ok(words),
        Some(open) => Err(CliError::new(Code::Line, format!("the quote {open} is not closed"))),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_split_as_a_shell_would() {
        let words = |line: &str| super::words(line).map_err(|error| error.message);
        assert_eq!(
            words("set  n 'a b' \"c\\\"d\" e\\ f ''").unwrap(),
            ["set", "n", "a b", "c\"d", "e f", ""]
        );
        assert_eq!(words("").unwrap(), Vec::<String>::new());
        assert!(words("set 'a").is_err());
    }
}
