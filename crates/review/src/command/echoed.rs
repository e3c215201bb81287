//! Lines that print the exit code of their last command: `pytest; echo $?`.

use crate::shell::{Join, RedirectKind, Script, Stage};

use super::{LineEnd, Signs};

/// Returns the line without the command that prints an exit code, and the end that the printed code says, if the line
/// ends with such a command and the output with a number.
///
/// `echo ${PIPESTATUS[0]}` prints the code of the first command of a pipe; it is read as that of the whole pipe.
pub fn echoed_end(line: &str, signs: &Signs) -> Option<(String, LineEnd)> {
    let code = signs.last_number?;
    if !line.contains("$?") && !line.contains("PIPESTATUS[0]") {
        return None;
    }
    let script = Script::read(line);
    let last = script.items.last().filter(|item| item.join == Join::Then && !item.negated)?;
    let [Stage::Command(command)] = last.stages.as_slice() else { return None };
    let writes = |kind: RedirectKind| matches!(kind, RedirectKind::Write | RedirectKind::Append);
    if command.redirects.iter().any(|redirect| writes(redirect.kind)) {
        return None;
    }
    let prints = matches!(command.words.first()?.text.as_str(), "echo" | "printf");
    let source = command.source.trim();
    let of_pipe = source.contains("PIPESTATUS[0]");
    let head =
        line.trim_end().strip_suffix(source).filter(|_| prints && (of_pipe || source.contains("$?")))?;
    let head = head.trim_end().trim_end_matches([';', '\n']).trim_end();
    let end = if code == 0 { LineEnd::Well } else { LineEnd::Badly };
    let head = if of_pipe { format!("set -o pipefail; {head}") } else { head.to_owned() };
    (!head.is_empty()).then_some((head, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_exit_code_is_that_of_the_command_before() {
        let end = |line: &str, output: &str| echoed_end(line, &Signs::of(output));
        let of = |head: &str, end: LineEnd| Some((head.to_owned(), end));
        assert_eq!(end("pytest -q; echo $?", "5 passed\n1"), of("pytest -q", LineEnd::Badly));
        assert_eq!(end("pytest -q; echo \"rc=$?\"", "5 passed\nrc=0\n"), of("pytest -q", LineEnd::Well));
        assert_eq!(end("pytest -q\necho exit: $?", "1 failed\nexit: 2"), of("pytest -q", LineEnd::Badly));
        let piped = end("pytest | tail -3; echo ${PIPESTATUS[0]}", "1 failed\n1");
        assert_eq!(piped, of("set -o pipefail; pytest | tail -3", LineEnd::Badly));
        assert_eq!(end("pytest -q; echo $?", "5 passed"), of("pytest -q", LineEnd::Badly));
        assert_eq!(end("pytest -q; echo $?", ""), None);
        assert_eq!(end("pytest -q && echo $?", "0"), None);
        assert_eq!(end("pytest -q; echo $? > code", "5"), None);
        assert_eq!(end("pytest -q; echo done", "1"), None);
    }
}
