//! The lines before an output in which tools write about the run itself: exit code and duration.

/// The lines at the beginning of an output in which tools write about the run itself.
const HEADER_LINES: usize = 8;

/// Beginnings of lines that hold an exit code.
const EXIT_CODES: &[&str] = &["exit code", "process exited with code", "<exit_code>", "<error>exit code"];

/// Returns the id under which a command runs on, if a tool says that it does.
pub(super) fn background_id(output: &str) -> Option<String> {
    const NAMES: &[&str] =
        &["running in background with id:", "running with session id", "background with id:"];
    let found = header(output).find_map(|line| {
        let lower = line.to_ascii_lowercase();
        NAMES.iter().find_map(|name| lower.find(name).and_then(|at| line.get(at + name.len()..)))
    })?;
    let id = found.split_whitespace().next()?.trim_end_matches(['.', ',', ';']);
    (!id.is_empty()).then(|| id.to_owned())
}

/// Returns the lines in which a tool writes about the run, which come before the output itself.
fn header(output: &str) -> impl Iterator<Item = &str> {
    output.lines().take(HEADER_LINES).map(str::trim).take_while(|line| *line != "Output:")
}

fn begins(line: &str, words: &str) -> bool {
    line.as_bytes().get(..words.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(words.as_bytes()))
}

/// Returns the exit code that some tools write at the beginning of their output.
pub(super) fn exit_code(output: &str) -> Option<i64> {
    let line = header(output).find(|line| EXIT_CODES.iter().any(|words| begins(line, words)))?;
    line.split(|letter: char| !letter.is_ascii_digit() && letter != '-').find_map(|word| word.parse().ok())
}

/// Returns the milliseconds of `Wall time: 1.25 seconds`.
pub(super) fn wall_time(output: &str) -> Option<i64> {
    let line = header(output).find(|line| begins(line, "wall time:"))?;
    let seconds = line.split_once(':')?.1.trim().split(' ').next()?;
    super::usage::millis_of_seconds(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_found_where_tools_write_them() {
        assert_eq!(exit_code("Exit code: 3\nboom"), Some(3));
        assert_eq!(exit_code("x\nPROCESS exited with code 0\n"), Some(0));
        assert_eq!(exit_code("done"), None);
        assert_eq!(exit_code("Output:\nexit code 9 means that"), None);
        assert_eq!(exit_code(&format!("{}exit code 9", "line\n".repeat(20))), None);
        assert_eq!(wall_time("Exit code: 0\nWall time: 1.25 seconds\nOutput:\nx"), Some(1250));
    }
}
