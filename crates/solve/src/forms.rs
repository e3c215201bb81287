//! The forms of an answer that other runtimes accept, for models that were taught them.
//!
//! They count only with `--answer-forms compat`, and only outside code: a line that begins with `FINAL(` or `FINAL_VAR(`
//! and whose closing parenthesis ends the text. A form in a sentence, or inside a fence, is text.

/// An answer in one of the forms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// The text between the parentheses.
    Text(String),
    /// The name of the variable that holds the answer.
    Variable(String),
}

/// Finds the answer in the prose of a reply, which has no fences.
pub(crate) fn find(prose: &str) -> Option<Form> {
    let prose = prose.trim_end();
    let mut from = 0;
    for line in prose.split_inclusive('\n') {
        let rest = prose.get(from..).unwrap_or_default();
        from += line.len();
        for (word, is_variable) in [("FINAL_VAR(", true), ("FINAL(", false)] {
            // The form ends the reply: what follows it would be prose about it.
            let inner = rest.strip_prefix(word).and_then(|inner| inner.strip_suffix(')'));
            let Some(inner) = inner.filter(|inner| is_balanced(inner)) else { continue };
            let inner = inner.trim();
            if !is_variable {
                return Some(Form::Text(unquoted(inner).to_owned()));
            }
            let name = unquoted(inner);
            let is_name =
                !name.is_empty() && name.chars().all(|letter| letter == '_' || letter.is_alphanumeric());
            if is_name {
                return Some(Form::Variable(name.to_owned()));
            }
        }
    }
    None
}

/// Returns whether no parenthesis closes before it opens, so that the last one of the text is that of the form.
fn is_balanced(inner: &str) -> bool {
    let mut depth = 0_i64;
    inner.chars().all(|letter| {
        depth += i64::from(letter == '(') - i64::from(letter == ')');
        depth >= 0
    })
}

fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote))
            && !inner.contains(quote)
        {
            return inner;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_at_the_end_of_a_reply_counts() {
        assert_eq!(find("FINAL(42)"), Some(Form::Text("42".to_owned())));
        assert_eq!(
            find("Done.\nFINAL(\"two\nlines (both)\")\n"),
            Some(Form::Text("two\nlines (both)".to_owned()))
        );
        assert_eq!(find("FINAL_VAR('result')"), Some(Form::Variable("result".to_owned())));
    }

    #[test]
    fn a_form_in_a_sentence_does_not() {
        for prose in [
            "I will then FINAL(42)",
            "FINAL(42) is what I would say",
            "FINAL(1)\nbut let me check first",
            "FINAL(a) or FINAL(b)",
            "FINAL_VAR(not a name)",
            "FINAL",
            "",
        ] {
            assert_eq!(find(prose), None, "{prose}");
        }
    }
}
