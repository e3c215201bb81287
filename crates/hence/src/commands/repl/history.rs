//! The history of lines, across prompts.
//!
//! A value can be a secret, which must not get into a history file: lines with a value are remembered while
//! the prompt lasts and never saved. Lines that begin with a blank are not remembered at all.

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The largest number of saved lines: enough to find last week's command, little enough to read at every start.
const LINES_MAX: usize = 1000;

/// Commands without a value, prompt or reason in their line.
const WITHOUT_VALUES: [&str; 13] = [
    "get",
    "list",
    "checkpoints",
    "status",
    "history",
    "diff",
    "tree",
    "result",
    "rollback",
    "export",
    "watch",
    "help",
    "rename",
];

/// Returns the history file: `hence/repl-history` below `XDG_STATE_HOME`, or below `~/.local/state`.
pub(super) fn history_file() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("hence/repl-history"))
}

/// Returns whether a line may be saved.
pub(super) fn may_be_saved(line: &str) -> bool {
    let carries_text = ["--reason", "--source", "--description"].into_iter().any(|word| line.contains(word));
    let command = line.split_whitespace().next().unwrap_or_default();
    !line.starts_with(char::is_whitespace) && WITHOUT_VALUES.contains(&command) && !carries_text
}

/// Reads the lines of earlier prompts, oldest first. An unreadable file counts as empty.
pub(super) fn read(place: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(place).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Writes the lines of earlier prompts and of this one, newest last.
///
/// # Errors
/// Any I/O error; the prompt works without a history.
pub(super) fn write(place: &Path, lines: &[String]) -> std::io::Result<()> {
    let Some(folder) = place.parent() else { return Ok(()) };
    std::fs::create_dir_all(folder)?;
    let fresh = place.with_extension(format!("{}.new", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let kept: Vec<&String> = lines.iter().filter(|line| may_be_saved(line)).collect();
    let mut file = options.open(&fresh)?;
    for line in kept.iter().skip(kept.len().saturating_sub(LINES_MAX)) {
        writeln!(file, "{line}")?;
    }
    std::fs::rename(&fresh, place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_a_value_is_never_written() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("deep/history");
        let lines =
            ["get token", "set token s3cret", "final s3cret", " get hidden", "rename a b --reason s3cret"];
        write(&place, &lines.map(str::to_owned)).unwrap();
        assert_eq!(read(&place), ["get token"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn only_the_newest_lines_are_saved() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("history");
        let lines: Vec<String> = (0..=LINES_MAX).map(|n| format!("get v{n}")).collect();
        write(&place, &lines[1..]).unwrap();
        assert_eq!(read(&place).len(), LINES_MAX);
        write(&place, &lines).unwrap();
        let kept = read(&place);
        assert_eq!((kept.len(), &*kept[0]), (LINES_MAX, "get v1"));
    }
}
