//! A command line as programs joined by pipes, as far as it can be run without a shell.

use super::lexer::{Operator, TokenKind, Tokens, Word, tokens};
use super::script::is_name;

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
    let Tokens { tokens, incomplete } = tokens(line.trim());
    let mut stages = vec![Simple::default()];
    let mut expands = false;
    let mut last_is_pipe = false;
    for token in tokens {
        last_is_pipe = false;
        match token.kind {
            TokenKind::Redirect(_) => return Err(ShellRefusal::Redirection),
            TokenKind::Operator(Operator::Open | Operator::Close) => return Err(ShellRefusal::Substitution),
            TokenKind::Operator(Operator::Pipe) => {
                if stages.last().is_none_or(Simple::is_empty) {
                    return Err(ShellRefusal::Incomplete);
                }
                stages.push(Simple::default());
                last_is_pipe = true;
            }
            TokenKind::Operator(_) => return Err(ShellRefusal::Chain),
            TokenKind::Word(word) if word.needs_shell => return Err(ShellRefusal::Substitution),
            TokenKind::Word(word) => {
                expands |= word.expands;
                if let Some(stage) = stages.last_mut() {
                    stage.push(word);
                }
            }
        }
    }
    if incomplete || last_is_pipe {
        return Err(ShellRefusal::Incomplete);
    }
    Ok(Pipeline { stages, expands })
}

impl Simple {
    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.assignments.is_empty()
    }

    /// Adds a word: an assignment before the program, or the program, or an argument.
    fn push(&mut self, word: Word) {
        let assigned = word.equals.filter(|_| self.words.is_empty()).and_then(|equals| {
            let (name, value) = word.text.split_at_checked(equals)?;
            is_name(name).then(|| (name.to_owned(), value.chars().skip(1).collect()))
        });
        match assigned {
            Some(assignment) => self.assignments.push(assignment),
            None => self.words.push(word.text),
        }
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
