//! `hence --help`: the commands by task, the ones that people need first on top.

use clap::builder::StyledStr;
use clap::{Command, CommandFactory as _};

use crate::args::Args;
use crate::layout::wrap;
use crate::terminal;

/// The widest help, which is easier to read than a wider one.
const COLUMNS_MAX: usize = 100;

/// The commands by task. A command that is in no group is listed at the end.
const GROUPS: &[(&str, &[&str])] = &[
    ("Begin with", &["new", "check", "run", "runs", "show", "why", "answer", "verify", "import", "view"]),
    ("Run", &["solve", "resume", "retry", "fork", "checkpoint", "rollback", "replay"]),
    ("Fleet", &["submit", "worker", "queue", "fleet", "cancel"]),
    ("Inspect", &["log", "watch", "state", "blame", "impact", "diff", "stats"]),
    ("Review", &["trace", "review"]),
    ("Rules", &["policy", "capabilities"]),
    ("Variables", &["vars", "repl"]),
    ("Store", &["init", "export", "store", "doctor", "gc", "rm", "serve", "hash"]),
    ("Help", &["explain", "schema", "completions", "man", "help"]),
];

/// Returns the command line with its help.
pub(crate) fn command() -> Command {
    let mut command = Args::command();
    command.build();
    let listed = listed(&command);
    Args::command().help_template(StyledStr::from(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{listed}\nOptions:\n{{options}}{{after-help}}"
    )))
}

/// Lists the commands by group, each with the first line of its help.
fn listed(command: &Command) -> String {
    let all: Vec<(&str, String)> = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| (command.get_name(), command.get_about().map(ToString::to_string).unwrap_or_default()))
        .collect();
    let width = all.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let columns = terminal::find_width().unwrap_or(COLUMNS_MAX).min(COLUMNS_MAX);
    let indent = width + 4;
    let line = |(name, about): &(&str, String)| {
        format!("  {name:width$}  {}\n", wrap(about, columns.checked_sub(indent), indent))
    };
    let mut text = String::new();
    for (title, names) in GROUPS {
        let found = names.iter().filter_map(|name| all.iter().find(|(known, _)| known == name));
        let lines: String = found.map(line).collect();
        if !lines.is_empty() {
            text.push_str(&format!("\n{title}:\n{lines}"));
        }
    }
    let is_grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let others: String = all.iter().filter(|(name, _)| !is_grouped(name)).map(line).collect();
    if !others.is_empty() {
        text.push_str(&format!("\nMore:\n{others}"));
    }
    text
}
