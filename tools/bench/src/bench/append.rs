//! Appending a batch of records durably, against writing and syncing the same bytes.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use hence_store::{Durability, FileStore, NewRun, RunId, RunWriter, Store};

use crate::measure::compare;
use crate::table::{Budget, Row, Table};
use crate::{Error, sample};

/// The number of records one append holds.
const BATCH: usize = 64;
/// The number of batches to append: more than there are turns.
const BATCHES: usize = 256;

pub(crate) fn run(table: &mut Table) -> Result<(), Error> {
    // Beside the build, because a folder for temporary files may lie in memory, where syncing costs nothing.
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let folder = build.join(format!("bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let measured = measure(&folder);
    std::fs::remove_dir_all(&folder)?;
    table.push(measured?);
    Ok(())
}

fn measure(folder: &Path) -> Result<Row, Error> {
    let journal = sample::journal(sample::trivial_steps(BATCH * BATCHES)?)?;
    let lines: Vec<&[u8]> = journal.split_inclusive(|byte| *byte == b'\n').collect();
    let (header, steps) = lines.split_first().ok_or("a journal begins with a header")?;
    let batches: Vec<Vec<u8>> = steps.chunks_exact(BATCH).map(<[&[u8]]>::concat).collect();
    let bytes = batches.iter().map(Vec::len).max().unwrap_or(0);

    let store = FileStore::open_or_create(folder.join("store"))?;
    let new = NewRun { id: RunId::new("bench")?, attachments: Vec::new(), lines: header.to_vec() };
    let mut writer = store.create(new)?;
    let mut file = File::create(folder.join("plain"))?;
    let (mut next, mut next_plain) = (batches.iter(), batches.iter());
    let mut append = |batch: Option<&Vec<u8>>| append(&mut *writer, batch);
    let mut failed = None;
    let compared = compare(
        || next.next(),
        |batch| {
            if let Err(error) = append(batch) {
                failed = Some(error);
            }
        },
        || {
            let batch = next_plain.next().map_or(&[][..], Vec::as_slice);
            file.write_all(batch).and_then(|()| file.sync_data())
        },
    );
    match failed {
        Some(error) => Err(error),
        None => Ok(Row {
            path: "durable append, batch of 64 records, speed / write and fdatasync of the same bytes"
                .to_owned(),
            figure: Some(compared.ratio.recip()),
            unit: "×",
            budget: Some(Budget::AtLeast(0.8)),
            detail: format!("{:.0?} against {:.0?} for {bytes} bytes", compared.subject, compared.baseline),
        }),
    }
}

fn append(writer: &mut dyn RunWriter, batch: Option<&Vec<u8>>) -> Result<(), Error> {
    let batch = batch.ok_or("there are more turns than batches")?;
    let head = writer.head();
    writer.append(head, batch, Durability::Synced)?;
    Ok(())
}
