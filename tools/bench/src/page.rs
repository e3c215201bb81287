//! `docs/benchmarks.md`.

use std::path::Path;

use crate::table::Table;
use crate::{Error, machine};

/// The heading of the part that another measurement wrote, which stays.
const IN_A_BROWSER: &str = "\n## In a browser\n";

/// Writes the page of the last complete run.
pub(crate) fn write(table: &Table) -> Result<(), Error> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/benchmarks.md");
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let old = std::fs::read_to_string(&path).unwrap_or_default();
    let kept = old.split_once(IN_A_BROWSER).map(|(_, kept)| format!("{IN_A_BROWSER}{kept}"));
    std::fs::write(path, text(table) + &kept.unwrap_or_default())?;
    Ok(())
}

/// The last comparison with another runtime of the loop, which is measured by a script of its own.
const COMPARED: &str = include_str!("../solve-compared.md");

fn text(table: &Table) -> String {
    format!(
        "# Benchmarks\n\n\
         Written by `cargo run --release -p bench` (after `cargo build --release`, which makes the binary that is started). Machine: {}.\n\n\
         Figures are ratios between two things timed turn by turn in one run (medians of 11 to 201 turns), so that they \
         carry over to other machines; the absolute times beside them do not. \"Raw SHA-256\" is the library's \
         hash of the same bytes on one thread. The page is measured [in a browser](#in-a-browser), apart from these.\n\n{}\n{COMPARED}",
        machine::describe(),
        table.as_markdown(),
    )
}
