//! `hence import FORMAT FILE`: convert another agent's log to a trace.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use hence_canon::Value;
use hence_review::import::{
    Format, ImportError, Imported, Importer, LOG_DOCUMENT_BYTES_MAX, Surroundings, describe, detect,
};
use hence_review::validate::validate;

use crate::args::ImportArgs;
use crate::input::shown_name;
use crate::new_file::{self, Existing, Mode};
use crate::prelude::*;

/// The bytes of a log that are examined to detect its format, and the bytes read at a time.
const CHUNK_BYTES: usize = 1024 * 1024;
/// The number of skipped lines printed on the terminal.
const SKIPPED_SHOWN_MAX: usize = 10;

/// An imported log.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LogReport {
    /// The file.
    log: String,
    /// The format it was read as.
    format: &'static str,
    /// The traces made.
    traces: Vec<TraceRow>,
    /// The number of lines that could not be read.
    lines_skipped: usize,
    /// The first of them, each with the reason.
    skipped: Vec<SkippedRow>,
}

/// One trace made from a log.
#[derive(Serialize, JsonSchema)]
struct TraceRow {
    /// Its id.
    trace_id: String,
    /// The file it was written to.
    file: String,
    /// The number of actions.
    actions: usize,
    /// The number of artifacts.
    artifacts: usize,
    /// The number of units of intent.
    units: usize,
    /// The number of validation errors that come from the log itself, such as an artifact used before it was made.
    findings: usize,
}

/// A line that could not be read.
#[derive(Serialize, JsonSchema)]
struct SkippedRow {
    /// Its number, from 1.
    line: usize,
    /// The reason.
    reason: String,
}

impl Text for LogReport {
    fn text(&self) -> String {
        let mut rows = vec![("log", format!("{} ({})", escape(&self.log), self.format))];
        for trace in &self.traces {
            let counts = [(trace.actions, "action"), (trace.artifacts, "artifact"), (trace.units, "unit")]
                .map(|(count, noun)| counted(count as u64, noun))
                .join(", ");
            rows.push(("trace", format!("{}: {counts}", escape(&trace.trace_id))));
            rows.push(("file", escape(&trace.file)));
        }
        pairs(&rows)
    }
}

pub(super) fn run(
    context: &Context,
    format: Option<Format>,
    name: &str,
    args: &ImportArgs,
) -> Result<Exit, CliError> {
    let (format, mut imported) = read(format, name, args)?;
    if let Some(id) = &args.trace {
        imported.traces.retain(|trace| text(trace, "trace_id") == *id);
    }
    let report = |traces: Vec<TraceRow>| LogReport {
        log: shown_name(name).to_owned(),
        format: format.as_str(),
        traces,
        lines_skipped: imported.skipped_count,
        skipped: imported
            .skipped
            .iter()
            .map(|line| SkippedRow { line: line.line, reason: line.reason.clone() })
            .collect(),
    };
    let list_is_empty =
        |trace: &Value, key: &str| trace.get(key).and_then(Value::as_array).is_none_or(<[Value]>::is_empty);
    let is_nothing = |trace: &Value| list_is_empty(trace, "actions") && list_is_empty(trace, "artifacts");
    if !imported.traces.is_empty() && imported.traces.iter().all(is_nothing) {
        report_skipped(context, &imported);
        let message = format!(
            "nothing in {} was read as a session of {}; nothing was written",
            shown_name(name),
            format.as_str()
        );
        return Err(CliError::new(Code::NotALog, message).with_hint(hint::OTHER_FORMAT));
    }
    match (imported.traces.as_slice(), &args.out) {
        ([], _) => return Err(no_trace_error(name, args)),
        ([trace], None) => context.write(trace_text(trace).as_bytes())?,
        ([trace], Some(path)) if !path.is_dir() => {
            new_file::write(path, trace_text(trace).as_bytes(), Mode::Plain, args.replace.existing())?;
            context.print(&report(vec![row(trace, path)]))?;
        }
        (traces, Some(folder)) => {
            context.print(&report(into_folder(traces, folder, args.replace.existing())?))?
        }
        (traces, None) => return Err(several_traces_error(name, traces)),
    }
    report_skipped(context, &imported);
    if imported.traces.iter().all(|trace| list_is_empty(trace, "actions")) {
        // Policies pass a trace in which nothing happened, so it must not be mistaken for a session.
        context.say(format_args!(
            "nothing in {} was read as an action of {}",
            shown_name(name),
            format.as_str()
        ));
        context.hint(hint::OTHER_FORMAT);
        return Ok(Exit::Partial);
    }
    Ok(if imported.skipped_count > 0 { Exit::Partial } else { Exit::Yes })
}

/// The largest log. One of a session has megabytes; a device that never ends has more.
const LOG_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Refuses a log that is too large.
fn check_size(name: &str, bytes: u64) -> Result<(), CliError> {
    if bytes <= LOG_BYTES_MAX {
        return Ok(());
    }
    let message = format!("{} has more than {LOG_BYTES_MAX} bytes, the limit of a log", shown_name(name));
    Err(CliError::new(Code::NotALog, message))
}

/// Reads a log piece by piece.
fn read(format: Option<Format>, name: &str, args: &ImportArgs) -> Result<(Format, Imported), CliError> {
    let path = Path::new(shown_name(name));
    let unread = |error: std::io::Error| CliError::file("read", path, error);
    let mut source: Box<dyn Read> = match name {
        "-" => Box::new(std::io::stdin().lock()),
        file => {
            let file = std::fs::File::open(file).map_err(|error| CliError::file("open", path, error))?;
            // A file of a known size is refused without reading it.
            check_size(name, file.metadata().map(|found| found.len()).unwrap_or_default())?;
            Box::new(file)
        }
    };
    let mut head = Vec::new();
    source.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut head).map_err(unread)?;
    let format = match format {
        Some(format) => format,
        None => detect_format(name, &mut head, &mut source)?,
    };
    let mut importer = Importer::new(format);
    importer.push(&head).map_err(|error| not_a_log(name, error))?;
    let mut length = head.len() as u64;
    drop(head);
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = match source.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(unread(error)),
        };
        length += count as u64;
        check_size(name, length)?;
        let bytes = chunk.get(..count).unwrap_or_default();
        importer.push(bytes).map_err(|error| not_a_log(name, error))?;
    }
    let surroundings = Surroundings { working_directory: args.cwd.clone(), home: args.home.clone() };
    let imported = importer.finish(&surroundings).map_err(|error| not_a_log(name, error))?;
    Ok((format, imported))
}

/// Detects the format of a log by its beginning; a single document may have to be read to its end.
fn detect_format(name: &str, head: &mut Vec<u8>, source: &mut dyn Read) -> Result<Format, CliError> {
    if let Some(format) = detect(head) {
        return Ok(format);
    }
    if head.len() >= CHUNK_BYTES {
        let left = LOG_DOCUMENT_BYTES_MAX.saturating_sub(head.len()) as u64;
        let path = Path::new(shown_name(name));
        let read = source.take(left).read_to_end(head);
        read.map_err(|error| CliError::file("read", path, error))?;
        if let Some(format) = detect(head) {
            return Ok(format);
        }
    }
    let seen = describe(head);
    let message = if head.len() < LOG_DOCUMENT_BYTES_MAX {
        format!("{}: no format is recognised; it holds {seen}", shown_name(name))
    } else {
        format!(
            "{}: no format is recognised in its first {LOG_DOCUMENT_BYTES_MAX} bytes; they hold {seen}",
            shown_name(name)
        )
    };
    Err(CliError::new(Code::NotALog, message))
}

fn not_a_log(name: &str, error: ImportError) -> CliError {
    CliError::at(Code::NotALog, shown_name(name), error)
}

fn no_trace_error(name: &str, args: &ImportArgs) -> CliError {
    let message = match &args.trace {
        Some(id) => format!("{}: no trace of it is called {id:?}", shown_name(name)),
        None => format!("{}: it holds no span", shown_name(name)),
    };
    CliError::new(Code::NotALog, message)
}

fn several_traces_error(name: &str, traces: &[Value]) -> CliError {
    let message =
        format!("{} holds {} traces, and standard output takes one", shown_name(name), traces.len());
    let ids = traces.iter().take(SKIPPED_SHOWN_MAX).map(|trace| text(trace, "trace_id"));
    CliError::new(Code::SeveralTraces, message).with_findings(ids)
}

fn text(trace: &Value, key: &str) -> String {
    trace.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn trace_text(trace: &Value) -> String {
    format!("{}\n", escape_json(&hence_canon::pretty(trace)))
}

fn row(trace: &Value, path: &Path) -> TraceRow {
    let count = |key: &str| trace.get(key).and_then(Value::as_array).map_or(0, <[Value]>::len);
    TraceRow {
        trace_id: text(trace, "trace_id"),
        file: path.display().to_string(),
        actions: count("actions"),
        artifacts: count("artifacts"),
        units: count("meta_actions"),
        findings: validate(trace).errors().count(),
    }
}

/// Writes each trace into a folder, under a name made of its id.
fn into_folder(traces: &[Value], folder: &Path, existing: Existing) -> Result<Vec<TraceRow>, CliError> {
    std::fs::create_dir_all(folder).map_err(|error| CliError::file("make the folder", folder, error))?;
    let mut taken = BTreeSet::new();
    let mut rows = Vec::new();
    for trace in traces {
        let path = file_name(&text(trace, "trace_id"), &mut taken);
        let path = folder.join(path);
        new_file::write(&path, trace_text(trace).as_bytes(), Mode::Plain, existing)?;
        rows.push(row(trace, &path));
    }
    Ok(rows)
}

/// Makes a file name from an id, which can contain anything, that stays in its folder.
fn file_name(id: &str, taken: &mut BTreeSet<String>) -> PathBuf {
    let plain: String = id
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || "-_".contains(letter) { letter } else { '_' })
        .take(100)
        .collect();
    let mut name = plain.clone();
    let mut number = 1;
    // Some file systems do not tell letters of different case apart.
    while !taken.insert(name.to_ascii_lowercase()) {
        number += 1;
        name = format!("{plain}-{number}");
    }
    PathBuf::from(format!("{name}.json"))
}

fn report_skipped(context: &Context, imported: &Imported) {
    for line in imported.skipped.iter().take(SKIPPED_SHOWN_MAX) {
        context.say(format_args!("line {} was skipped: {}", line.line, escape(&line.reason)));
    }
    let more = imported.skipped_count.saturating_sub(SKIPPED_SHOWN_MAX);
    if more > 0 {
        context.say(format_args!("{more} more lines were skipped"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_stay_in_their_folder_and_are_unique() {
        let mut taken = BTreeSet::new();
        let names: Vec<String> = ["../../etc/x", "a", "A", ""]
            .iter()
            .map(|id| file_name(id, &mut taken).display().to_string())
            .collect();
        assert_eq!(names, ["______etc_x.json", "a.json", "A-2.json", ".json"]);
    }
}
