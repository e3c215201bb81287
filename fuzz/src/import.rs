//! Properties of importing any bytes as the log of an agent.

use hence_canon::{Value, canonical_bytes};
use hence_review::import::{Format, ImportError, Imported, Importer, Surroundings, describe, detect, import};
use hence_review::validate::{Rule, validate};

/// The sizes of the pieces in which the bytes are fed to the importer.
const WIDTHS: &[usize] = &[1, 7, 4096];

/// Importing never panics, gives traces without errors, and gives the same however the bytes come.
pub fn import_log(bytes: &[u8]) {
    assert!(!describe(bytes).is_empty());
    let _ = detect(bytes);
    let around = Surroundings { working_directory: Some("/p".to_owned()), home: Some("/".to_owned()) };
    for format in Format::ALL.iter().copied() {
        let whole = import(bytes, format, &around);
        if let Ok(imported) = &whole {
            assert!(imported.skipped.len() <= imported.skipped_count);
            imported.traces.iter().for_each(|trace| sound(trace, format));
        }
        for width in WIDTHS {
            assert_eq!(told(&whole), told(&in_pieces(bytes, *width, format, &around)), "{format:?}, {width}");
        }
    }
}

fn in_pieces(
    bytes: &[u8],
    width: usize,
    format: Format,
    around: &Surroundings,
) -> Result<Imported, ImportError> {
    let mut importer = Importer::new(format);
    bytes.chunks(width).try_for_each(|chunk| importer.push(chunk))?;
    importer.finish(around)
}

fn told(imported: &Result<Imported, ImportError>) -> Result<(Vec<u8>, usize), String> {
    match imported {
        Ok(imported) => Ok((canonical_bytes(&imported.traces.clone().into()), imported.skipped_count)),
        Err(error) => Err(error.to_string()),
    }
}

/// A log can tell that something was used before it was made; that is a fact about it. Anything else would be ours.
fn sound(trace: &Value, format: Format) {
    let report = validate(trace);
    let wrong: Vec<_> = report.errors().filter(|finding| finding.rule != Rule::FlowOrder).collect();
    assert!(wrong.is_empty(), "{format:?}: {wrong:?}");
}
