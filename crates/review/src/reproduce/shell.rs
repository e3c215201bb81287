//! Splitting a command line as a shell does, as far as it can be run without one.

use std::iter::Peekable;
use std::str::Chars;

/// One program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Simple {
    /// Variables set for this program alone.
    pub assignments: Vec<(String, String)>,
    /// The program and its arguments, quotes removed.
    pub words: Vec<String>,
}

/// Programs joined by pipes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// The programs from left to right.
    pub stages: Vec<Simple>,
    /// Whether some word has variables or file patterns that only a shell would expand.
    pub expands: bool,
}

/// A part of a command line that needs a shell, or that a shell would not accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShellRefusal {
    /// `;`, `&&`, `||`, `&`, or a second line.
    #[error("several commands in one line")]
    Chain,
    /// `$( )`, backquotes, or a group.
    #[error("a command inside a command")]
    Substitution,
    /// `<`, `>`, `>>`, `<<`, `2>&1`.
    #[error("a redirection")]
    Redirection,
    /// A quote without its end, a pipe without a program, or an escape at the end.
    #[error("an incomplete command")]
    Incomplete,
}

/// Splits a command line into programs joined by pipes.
///
/// # Errors
/// [`ShellRefusal`] for anything beyond quoted words, assignments and pipes.
pub fn parse_pipeline(line: &str) -> Result<Pipeline, ShellRefusal> {
    let mut reader = Reader { rest: line.trim().chars().peekable(), expands: false };
    let mut stages = Vec::new();
    loop {
        let (words, ended_by_pipe) = reader.words()?;
        if words.is_empty() && (ended_by_pipe || !stages.is_empty()) {
            return Err(ShellRefusal::Incomplete);
        }
        stages.push(simple(words));
        if !ended_by_pipe {
            return Ok(Pipeline { stages, expands: reader.expands });
        }
    }
}

/// A word, and the index of its unquoted `=`, which makes it an assignment if a name precedes it.
struct Word {
    text: String,
    equals: Option<usize>,
}

fn simple(words: Vec<Word>) -> Simple {
    let mut simple = Simple::default();
    for word in words {
        let assigned = word.equals.filter(|_| simple.words.is_empty()).and_then(|equals| {
            let (name, value) = word.text.split_at_checked(equals)?;
            is_name(name).then(|| (name.to_owned(), value.chars().skip(1).collect()))
        });
        match assigned {
            Some(assignment) => simple.assignments.push(assignment),
            None => simple.words.push(word.text),
        }
    }
    simple
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    expands: bool,
}

impl Reader<'_> {
    /// Reads words up to the end or a pipe; the flag is true for a pipe.
    fn words(&mut self) -> Result<(Vec<Word>, bool), ShellRefusal> {
        let mut words = Vec::new();
        while let Some(letter) = self.rest.peek().copied() {
            match letter {
                ' ' | '\t' => {
                    self.rest.next();
                }
                '#' => {
                    self.comment()?;
                    return Ok((words, false));
                }
                '|' => {
                    self.rest.next();
                    return match self.rest.peek() {
                        Some('|' | '&') => Err(ShellRefusal::Chain),
                        _ => Ok((words, true)),
                    };
                }
                _ => words.push(self.word()?),
            }
        }
        Ok((words, false))
    }

    /// A comment runs to the end of the line; a line after it would be another command.
    fn comment(&mut self) -> Result<(), ShellRefusal> {
        if self.rest.any(|letter| letter == '\n') { Err(ShellRefusal::Chain) } else { Ok(()) }
    }

    fn word(&mut self) -> Result<Word, ShellRefusal> {
        let mut word = Word { text: String::new(), equals: None };
        while let Some(letter) = self.rest.peek().copied() {
            match letter {
                ' ' | '\t' | '|' => break,
                ';' | '&' | '\n' | '\r' => return Err(ShellRefusal::Chain),
                '<' | '>' => return Err(ShellRefusal::Redirection),
                '(' | ')' | '`' => return Err(ShellRefusal::Substitution),
                _ => {}
            }
            self.rest.next();
            match letter {
                '\'' => self.single_quoted(&mut word.text)?,
                '"' => self.double_quoted(&mut word.text)?,
                '\\' => word.text.push(self.rest.next().ok_or(ShellRefusal::Incomplete)?),
                '$' => self.dollar(&mut word.text)?,
                '=' => {
                    word.equals.get_or_insert(word.text.len());
                    word.text.push('=');
                }
                '*' | '?' | '[' => {
                    self.expands = true;
                    word.text.push(letter);
                }
                plain => word.text.push(plain),
            }
        }
        Ok(word)
    }

    fn single_quoted(&mut self, text: &mut String) -> Result<(), ShellRefusal> {
        for letter in self.rest.by_ref() {
            if letter == '\'' {
                return Ok(());
            }
            text.push(letter);
        }
        Err(ShellRefusal::Incomplete)
    }

    fn double_quoted(&mut self, text: &mut String) -> Result<(), ShellRefusal> {
        while let Some(letter) = self.rest.next() {
            match letter {
                '"' => return Ok(()),
                '`' => return Err(ShellRefusal::Substitution),
                '$' => self.dollar(text)?,
                '\\' => match self.rest.next().ok_or(ShellRefusal::Incomplete)? {
                    escaped @ ('"' | '\\' | '$' | '`') => text.push(escaped),
                    other => text.extend(['\\', other]),
                },
                plain => text.push(plain),
            }
        }
        Err(ShellRefusal::Incomplete)
    }

    /// Reads what follows a dollar: a command is refused, a variable is noted, anything else is a plain dollar.
    fn dollar(&mut self, text: &mut String) -> Result<(), ShellRefusal> {
        match self.rest.peek() {
            Some('(' | '[') => return Err(ShellRefusal::Substitution),
            // `$'…'` and `${…}` have grammars of their own; a plain program needs neither.
            Some('\'' | '{') => return Err(ShellRefusal::Substitution),
            Some(next) if next.is_ascii_alphanumeric() || "_@*#?$!-".contains(*next) => self.expands = true,
            _ => {}
        }
        text.push('$');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<Vec<String>> {
        parse_pipeline(line).unwrap().stages.into_iter().map(|stage| stage.words).collect()
    }

    #[test]
    fn quotes_join_and_protect() {
        assert_eq!(words(r#"grep "a b"'c;d'\ e f"#), [["grep", "a bc;d e", "f"]]);
        assert_eq!(words(r#"echo "\$x \n" '' # done"#), [["echo", "$x \\n", ""]]);
        assert_eq!(words("git log | cat"), [vec!["git", "log"], vec!["cat"]]);
    }

    #[test]
    fn assignments_precede_the_program() {
        let pipeline = parse_pipeline("A=1 _B='x y' make A=2").unwrap();
        let [stage] = pipeline.stages.as_slice() else { panic!("one stage") };
        assert_eq!(stage.assignments, [("A".into(), "1".into()), ("_B".into(), "x y".into())]);
        assert_eq!(stage.words, ["make", "A=2"]);
    }

    #[test]
    fn a_line_that_needs_a_shell_is_refused() {
        for (line, refusal) in [
            ("a; b", ShellRefusal::Chain),
            ("a && b", ShellRefusal::Chain),
            ("a || b", ShellRefusal::Chain),
            ("a & ", ShellRefusal::Chain),
            ("a |& b", ShellRefusal::Chain),
            ("a\nb", ShellRefusal::Chain),
            ("a # x\nb", ShellRefusal::Chain),
            ("a $(b)", ShellRefusal::Substitution),
            ("a \"$(b)\"", ShellRefusal::Substitution),
            ("a `b`", ShellRefusal::Substitution),
            ("a <(b)", ShellRefusal::Redirection),
            ("(a)", ShellRefusal::Substitution),
            ("a ${IFS}b", ShellRefusal::Substitution),
            ("a $'\\x3b'", ShellRefusal::Substitution),
            ("a >b", ShellRefusal::Redirection),
            ("a 2>&1", ShellRefusal::Redirection),
            ("a 'b", ShellRefusal::Incomplete),
            ("a \\", ShellRefusal::Incomplete),
            ("| a", ShellRefusal::Incomplete),
            ("a |", ShellRefusal::Incomplete),
        ] {
            assert_eq!(parse_pipeline(line), Err(refusal), "{line:?}");
        }
    }

    #[test]
    fn variables_and_patterns_are_noted() {
        for line in ["ls *.rs", "cat $HOME/x", "ls a?"] {
            assert!(parse_pipeline(line).unwrap().expands, "{line}");
        }
        assert!(!parse_pipeline("grep 'a*' \"b?\" c$").unwrap().expands);
    }
}
