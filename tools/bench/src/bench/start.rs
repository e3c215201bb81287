//! Starting the binary.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::Error;
use crate::measure::time_of;
use crate::table::{Budget, Row, Table};

const TURNS: usize = 41;

/// Returns where the binary lies when it is built: beside this one.
pub(super) fn binary() -> Result<PathBuf, Error> {
    let here = std::env::current_exe()?;
    Ok(here.with_file_name(format!("hence{}", std::env::consts::EXE_SUFFIX)))
}

pub(crate) fn run(table: &mut Table) -> Result<(), Error> {
    let binary = binary()?;
    let start = || Command::new(&binary).arg("--version").stdout(Stdio::null()).status();
    let (figure, detail) = match start() {
        Ok(status) if status.success() => {
            let time = time_of(TURNS, start);
            (Some(time.as_secs_f64() * 1e3), "process start to end of `hence --version`".to_owned())
        }
        _ => (None, "the binary is not built: `cargo build --release`".to_owned()),
    };
    table.push(Row {
        path: "start of the binary".to_owned(),
        figure,
        unit: " ms",
        budget: Some(Budget::AtMost(20.0)),
        detail,
    });
    Ok(())
}
