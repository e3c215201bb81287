//! `hence man`: manual pages, written from the same data as the help.

use std::path::Path;

use clap::{Arg, Command};

use crate::args::ManArgs;
use crate::new_file::{self, Existing, Mode};
use crate::prelude::*;

/// The manual pages that were written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ManReport {
    /// The folder.
    folder: String,
    /// The files in it, one for each command.
    pages: Vec<String>,
}

impl Text for ManReport {
    fn text(&self) -> String {
        let first = self.pages.first().map(String::as_str).unwrap_or_default();
        let read = format!("man {}", escape(&Path::new(&self.folder).join(first).display().to_string()));
        pairs(&[
            ("folder", escape(&self.folder)),
            ("pages", self.pages.len().to_string()),
            ("read one", read),
        ])
    }
}

pub(super) fn run(context: &Context, args: &ManArgs) -> Result<Exit, CliError> {
    let mut root = crate::help::command();
    root.build();
    let mut pages = Vec::new();
    collect(&root, &mut pages);
    let existing = Existing::forced(args.force);
    let paths: Vec<_> = pages.iter().map(|(name, _)| args.folder.join(name)).collect();
    new_file::refuse_existing(paths.iter().map(|path| &**path), existing)?;
    for (path, (_, text)) in paths.iter().zip(&pages) {
        new_file::write(path, text.as_bytes(), Mode::Plain, existing)?;
    }
    context.print(&ManReport {
        folder: args.folder.display().to_string(),
        pages: pages.into_iter().map(|(name, _)| name).collect(),
    })?;
    Ok(Exit::Yes)
}

/// Collects the name and the text of the page of a command and of those below it.
fn collect(command: &Command, pages: &mut Vec<(String, String)>) {
    let name = dashed(command);
    pages.push((format!("{name}.1"), page(command, &name)));
    for below in shown(command) {
        collect(below, pages);
    }
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
}

/// Returns the name of a page: `hence-vars-set`.
fn dashed(command: &Command) -> String {
    command.get_bin_name().unwrap_or(command.get_name()).replace(' ', "-")
}

fn page(command: &Command, name: &str) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim().strip_prefix("Usage:").unwrap_or(&usage).trim().to_owned();
    let mut out =
        format!(".TH {} 1 \"\" \"hence {}\"\n", quoted(&name.to_uppercase()), env!("CARGO_PKG_VERSION"));
    out.push_str(&format!(".SH NAME\n{} \\- {}\n", roff(name), roff(&about)));
    out.push_str(&format!(".SH SYNOPSIS\n{}\n", verbatim(&usage)));
    if let Some(long) = command.get_long_about() {
        out.push_str(&format!(".SH DESCRIPTION\n{}\n", roff(&long.to_string())));
    }
    let (options, places): (Vec<&Arg>, Vec<&Arg>) = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set())
        .partition(|argument| !argument.is_positional());
    for (title, arguments) in [("ARGUMENTS", places), ("OPTIONS", options)] {
        if !arguments.is_empty() {
            out.push_str(&format!(".SH {title}\n"));
            arguments.into_iter().for_each(|argument| out.push_str(&entry(argument)));
        }
    }
    let below: Vec<&Command> = shown(command).collect();
    if !below.is_empty() {
        out.push_str(".SH COMMANDS\n");
        for command in below {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            out.push_str(&format!(".TP\n\\fB{}\\fR(1)\n{}\n", roff(&dashed(command)), roff(&about)));
        }
    }
    if let Some(after) = command.get_after_help() {
        out.push_str(&format!(".SH EXAMPLES\n{}\n", verbatim(&after.to_string())));
    }
    out.push_str(".SH EXIT STATUS\n0 yes, 1 no or a finding, 2 usage, 3 waiting, 4 store, 5 partial\n");
    if name != "hence" {
        out.push_str(".SH SEE ALSO\n\\fBhence\\fR(1)\n");
    }
    out
}

/// Returns the entry of an argument: its names, its value, its help, its default and its words.
fn entry(argument: &Arg) -> String {
    let names = [
        argument.get_short().map(|short| format!("-{short}")),
        argument.get_long().map(|long| format!("--{long}")),
    ];
    let mut names: Vec<String> =
        names.into_iter().flatten().map(|name| format!("\\fB{}\\fR", roff(&name))).collect();
    let takes_value = argument.get_action().takes_values();
    let values: Vec<String> = match argument.get_value_names() {
        Some(values) if takes_value => {
            values.iter().map(|value| format!("\\fI{}\\fR", roff(value))).collect()
        }
        _ => Vec::new(),
    };
    if names.is_empty() {
        names.push(format!("\\fI{}\\fR", roff(&argument.get_id().as_str().to_uppercase())));
    } else if !values.is_empty() {
        names.push(values.join(" "));
    }
    let mut help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let defaults: Vec<String> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if takes_value && !defaults.is_empty() && !argument.is_hide_default_value_set() {
        help.push_str(&format!(" [default: {}]", defaults.join(", ")));
    }
    let words: Vec<String> =
        argument.get_possible_values().iter().map(|word| word.get_name().to_owned()).collect();
    if takes_value && !words.is_empty() && !argument.is_hide_possible_values_set() {
        help.push_str(&format!(" [{}]", words.join(", ")));
    }
    format!(".TP\n{}\n{}\n", names.join(" "), roff(&help))
}

/// Escapes a text: a backslash, a dash, and a control character at the start of a line mean something to roff.
fn roff(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-");
    let line = |line: &str| match line.starts_with(['.', '\'']) {
        true => format!("\\&{line}"),
        false => line.to_owned(),
    };
    escaped.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns a text whose lines stay as they are.
fn verbatim(text: &str) -> String {
    format!(".nf\n{}\n.fi", roff(text.trim_end()))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", roff(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_name_usage_and_options() {
        let mut root = crate::help::command();
        root.build();
        let mut pages = Vec::new();
        collect(&root, &mut pages);
        let page = |wanted: &str| &pages.iter().find(|(name, _)| name == wanted).unwrap().1;
        assert!(page("hence.1").contains("\\fBhence\\-run\\fR(1)"));
        let set = page("hence-vars-set.1");
        assert!(set.starts_with(".TH \"HENCE\\-VARS\\-SET\" 1"), "{set}");
        assert!(set.contains(".SH SYNOPSIS\n.nf\nhence vars set"), "{set}");
        assert!(set.contains("\\fB\\-\\-scope\\fR"), "{set}");
        assert_eq!(roff(".x\n'y \\ z"), "\\&.x\n\\&'y \\e z");
        // No line begins with a request that roff does not know.
        for (name, text) in &pages {
            for line in text.lines().filter(|line| line.starts_with('.')) {
                let request = line.split(' ').next().unwrap();
                assert!([".TH", ".SH", ".TP", ".nf", ".fi"].contains(&request), "{name}: {line}");
            }
        }
    }
}
