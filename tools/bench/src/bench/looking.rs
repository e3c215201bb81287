//! Looking at a long run, and writing to a long shared scope, against short ones.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use hence_canon::canonical_bytes;

use crate::Error;
use crate::measure::compare;
use crate::sample::loop_problem;
use crate::table::{Budget, Row, Table};

/// The records of the short and of the long run.
const RECORDS: [(&str, usize); 2] = [("early", 100), ("late", 10_000)];

/// The command that looks at the newest records of a run shows this one.
const LAST: &str = "$LAST";

pub(crate) fn run(table: &mut Table) -> Result<(), Error> {
    let binary = super::start::binary()?;
    if !binary.is_file() {
        return Err("the binary is not built: `cargo build --release`".into());
    }
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let folder = build.join(format!("bench-looking-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let measured = measure(table, &binary, &folder);
    std::fs::remove_dir_all(&folder)?;
    measured
}

fn measure(table: &mut Table, binary: &Path, folder: &Path) -> Result<(), Error> {
    let hence = Hence { binary, folder };
    for (kind, document) in [("problem", problem as fn(usize) -> Vec<u8>), ("skill", skill)] {
        for (id, records) in RECORDS {
            let file = format!("{kind}-{id}.json");
            std::fs::write(folder.join(&file), document(records))?;
            // A loop that meets its limit fails, and its record is as long.
            let _ = hence.does(&["run", &file, "--run-id", &format!("{kind}-{id}")]);
        }
        for (command, more) in [("why", ""), ("state", "/status"), ("show", LAST), ("log", "--from $LAST")] {
            let budget = ["why", "state"].contains(&command).then_some(Budget::AtMost(1.5));
            table.push(hence.looked_at(kind, command, more, budget)?);
        }
    }
    table.push(hence.published()?);
    Ok(())
}

fn problem(records: usize) -> Vec<u8> {
    canonical_bytes(&loop_problem(records))
}

fn skill(records: usize) -> Vec<u8> {
    let steps: Vec<String> = (0..records)
        .map(|number| {
            format!(
                r#"{{"id":"s{number}","uses":"text.join","input":{{"parts":["inputs.q"]}},"output":{{"text":"vars.v"}},"config":{{"merge_strategy":"replace"}}}}"#
            )
        })
        .collect();
    let steps = steps.join(",");
    format!(
        r#"{{"id":"long","version":"1.0.0","name":"Long","description":"d","inputs":{{"q":{{"type":"string","default":"x"}}}},"outputs":{{}},"steps":[{steps}]}}"#
    )
    .into_bytes()
}

/// A skill that writes one variable to the scope that all runs share.
const SHARING: &str = r#"{"id":"sharing","version":"1.0.0","name":"Sharing","description":"d","inputs":{},"outputs":{},
"steps":[{"id":"w","uses":"text.join","input":{"parts":["x"]},"output":{"text":"vars.fact"},
"config":{"variables":{"fact":{"type":"text","scope":"global"}}}}]}"#;

struct Hence<'a> {
    binary: &'a Path,
    folder: &'a Path,
}

impl Hence<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.binary);
        command.current_dir(self.folder).args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn does(&self, arguments: &[&str]) -> bool {
        self.command(arguments).status().is_ok_and(|status| status.success())
    }

    /// Compares a command about the long run of a kind with the same about the short one.
    fn looked_at(&self, kind: &str, command: &str, more: &str, budget: Option<Budget>) -> Result<Row, Error> {
        let words = |id: &str| -> Result<Vec<String>, Error> {
            let run = format!("{kind}-{id}");
            let journal = self.folder.join(".hence/runs").join(&run).join("trace.ndjson");
            let lines = std::fs::read(journal)?.iter().filter(|byte| **byte == b'\n').count();
            let last = lines.saturating_sub(1).to_string();
            let more = more.split_whitespace().map(|word| word.replace(LAST, &last));
            Ok([command.to_owned(), run].into_iter().chain(more).collect())
        };
        let (late, early) = (words("late")?, words("early")?);
        let ask = |words: &[String]| self.does(&words.iter().map(String::as_str).collect::<Vec<_>>());
        if !(ask(&late) && ask(&early)) {
            return Err(format!("{late:?} fails").into());
        }
        let compared = compare(|| (), |()| ask(&late), || ask(&early));
        let shown = more.replace(LAST, "of the last record");
        Ok(Row {
            path: format!("{} a {kind}'s run, 10 000 records / 100", [command, &shown].join(" ").trim()),
            figure: Some(compared.ratio),
            unit: "×",
            budget,
            detail: format!(
                "{:.1?} against {:.1?}, the process included",
                compared.subject, compared.baseline
            ),
        })
    }

    /// Compares a run that publishes to a scope with a long history with one that publishes to a young scope.
    fn published(&self) -> Result<Row, Error> {
        std::fs::write(self.folder.join("sharing.json"), SHARING)?;
        for (store, writes) in RECORDS {
            self.does(&["--store", store, "vars", "init", "writer", "x"]);
            let lines: String =
                (0..writes).map(|number| format!("set other v{number} --scope global\n")).collect();
            let mut writer =
                self.command(&["--store", store, "repl", "writer"]).stdin(Stdio::piped()).spawn()?;
            writer.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(lines.as_bytes()))?;
            writer.wait()?;
        }
        let publish = |store: &str| self.does(&["--store", store, "run", "sharing.json"]);
        if !(publish("late") && publish("early")) {
            return Err("a skill that shares a variable fails".into());
        }
        let compared = compare(|| (), |()| publish("late"), || publish("early"));
        Ok(Row {
            path: "a run that publishes to a shared scope of 10 000 records / of 100".to_owned(),
            figure: Some(compared.ratio),
            unit: "×",
            budget: Some(Budget::AtMost(1.5)),
            detail: format!(
                "{:.1?} against {:.1?}, the process and the syncs included",
                compared.subject, compared.baseline
            ),
        })
    }
}
