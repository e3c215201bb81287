//! `hence capabilities import`: the contracts and bindings of ORCA registries as a capabilities file.

use std::path::{Path, PathBuf};

use hence_capabilities::orca::{Allowed, DocumentKind, Imported, PYTHONCALL, PYTHONCALL_NAME, Registry};

use crate::args::skill::ImportCapabilitiesArgs;
use crate::new_file::{self, Existing, Mode};
use crate::prelude::*;
use crate::{input, skills};

/// The most files that are looked at.
const FILES_MAX: usize = 20_000;

/// The most folders inside each other that are looked at.
const DEPTH_MAX: usize = 16;

/// The largest file that is looked at: people write these documents.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The most reasons that are printed as text.
const REASONS_MAX: usize = 12;

/// The result of an import.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CapabilitiesImportReport {
    /// The capabilities file that was written.
    file: String,
    /// The program that calls Python modules, if one was written.
    program: Option<String>,
    /// The number of capabilities.
    capabilities: usize,
    /// The number of capabilities that can be called.
    bound: usize,
    /// Every capability, by id.
    rows: Vec<ImportedRow>,
    /// The ids of capabilities that have bindings and no contract. They were left out.
    without_contract: Vec<String>,
    /// Files that could not be read or used, with the reason.
    skipped: Vec<SkippedRow>,
}

/// One imported capability.
#[derive(Serialize, JsonSchema)]
struct ImportedRow {
    /// Its id.
    id: String,
    /// The kind of its provider: `command`, `http`, `llm` or `unbound`.
    provider: &'static str,
    /// The binding that became its provider.
    binding: Option<String>,
    /// The reason why it has none.
    reason: Option<String>,
}

/// A file that was not used.
#[derive(Serialize, JsonSchema)]
struct SkippedRow {
    /// The file.
    file: String,
    /// The reason.
    reason: String,
}

impl Text for CapabilitiesImportReport {
    fn text(&self) -> String {
        let unbound = self.capabilities - self.bound;
        let mut rows = vec![
            ("file", escape(&self.file)),
            ("capabilities", format!("{} ({} bound, {unbound} unbound)", self.capabilities, self.bound)),
        ];
        rows.extend(self.program.as_ref().map(|program| ("program", escape(program))));
        if !self.without_contract.is_empty() {
            rows.push(("left out", format!("{} with bindings and no contract", self.without_contract.len())));
        }
        rows.extend(
            self.skipped
                .iter()
                .map(|skipped| ("skipped", escape(&format!("{}: {}", skipped.file, skipped.reason)))),
        );
        let reasons = self.rows.iter().filter_map(|row| Some((&row.id, row.reason.as_ref()?)));
        let reasons: Vec<String> = reasons.map(|(id, reason)| escape(&format!("  {id}: {reason}"))).collect();
        let mut text = pairs(&rows);
        if !reasons.is_empty() {
            let more = reasons.len().saturating_sub(REASONS_MAX);
            let shown = reasons.iter().take(REASONS_MAX).cloned().collect::<Vec<_>>().join("\n");
            text.push_str(&format!("\nunbound\n{shown}\n"));
            if more > 0 {
                text.push_str(&format!("  … and {more} more; --json lists all\n"));
            }
        }
        text
    }
}

/// The documents found in folders.
#[derive(Default)]
struct Found {
    registry: Registry,
    skipped: Vec<SkippedRow>,
    files: usize,
}

impl Found {
    /// Reads the documents of a folder and of the folders in it, in the order of their names. Links are not followed.
    fn read(&mut self, folder: &Path, depth: usize) -> Result<(), CliError> {
        let failed = |error| CliError::file("read", folder, error);
        let entries = std::fs::read_dir(folder).map_err(failed)?;
        let mut entries = entries.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if kind.is_dir() && !name.starts_with('.') {
                match depth < DEPTH_MAX {
                    true => self.read(&path, depth + 1)?,
                    false => self.skip(&path, format!("more than {DEPTH_MAX} folders inside each other")),
                }
            } else if kind.is_file() && [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end)) {
                self.files += 1;
                if self.files > FILES_MAX {
                    let message = format!("more than {FILES_MAX} files: name a smaller folder");
                    return Err(CliError::new(Code::File, message));
                }
                self.take(&path);
            }
        }
        Ok(())
    }

    /// Adds a document. Other documents of a repository are passed over in silence; a document that cannot be read is not.
    fn take(&mut self, path: &Path) {
        match path.metadata() {
            Ok(found) if found.len() > FILE_BYTES_MAX => return,
            Ok(_) => {}
            Err(error) => return self.skip(path, error.to_string()),
        }
        let bytes = match input::read_file(path) {
            Ok(bytes) => bytes,
            Err(error) => return self.skip(path, error.message),
        };
        match hence_yaml::parse_value(&bytes) {
            Ok(document) => match self.registry.add(&document) {
                Ok(
                    None
                    | Some(
                        DocumentKind::Selection
                        | DocumentKind::Service
                        | DocumentKind::Binding
                        | DocumentKind::Contract,
                    ),
                ) => {}
                Err(repeated) => self.skip(path, repeated.to_string()),
            },
            Err(error) => self.skip(path, error.to_string()),
        }
    }

    fn skip(&mut self, path: &Path, reason: String) {
        self.skipped.push(SkippedRow { file: path.display().to_string(), reason });
    }
}

/// Reads the folders and writes the capabilities file. Nothing in the folders is executed.
pub(super) fn run(context: &Context, args: &ImportCapabilitiesArgs) -> Result<Exit, CliError> {
    let existing = Existing::forced(args.force);
    let program: PathBuf = args.out.with_file_name(PYTHONCALL_NAME);
    // The program is ours: one that is there already is the same, or of another version.
    new_file::refuse_existing([args.out.as_path()], existing)?;
    let mut found = Found::default();
    for folder in &args.folders {
        found.read(folder, 0)?;
    }
    if found.registry.contracts_count() == 0 {
        let folders: Vec<_> = args.folders.iter().map(|folder| folder.display().to_string()).collect();
        let message = format!(
            "{}: no document has `id`, `inputs` and `outputs`, as a contract does",
            folders.join(", ")
        );
        return Err(CliError::new(Code::NoSuchPlace, message).with_hint(hint::NAME_A_REGISTRY));
    }
    let python = match &args.allow_python {
        Some(folder) => Some(folder.canonicalize().map_err(|error| CliError::file("open", folder, error))?),
        None => None,
    };
    let allowed = Allowed { python, hosts: args.allow_host.iter().cloned().collect() };
    let Imported { document, rows, without_contract } =
        found.registry.declarations(&allowed, &skills::kinds());
    let needs_program = rows.iter().any(|row| row.provider == "command");
    if needs_program {
        new_file::write(&program, PYTHONCALL.as_bytes(), Mode::Program, Existing::Replace)?;
    }
    let text = format!("{}\n", hence_canon::pretty(&document));
    new_file::write(&args.out, text.as_bytes(), Mode::Plain, existing)?;
    let bound = rows.iter().filter(|row| row.binding.is_some()).count();
    context.print(&CapabilitiesImportReport {
        file: args.out.display().to_string(),
        program: needs_program.then(|| program.display().to_string()),
        capabilities: rows.len(),
        bound,
        rows: rows.into_iter().map(ImportedRow::of).collect(),
        without_contract,
        skipped: found.skipped,
    })?;
    if allowed.python.is_none() && allowed.hosts.is_empty() {
        context.hint(hint::ALLOW_BINDINGS);
    }
    Ok(Exit::Yes)
}

impl ImportedRow {
    fn of(row: hence_capabilities::orca::Row) -> Self {
        let reason = Some(row.reason).filter(|reason| !reason.is_empty());
        Self { id: row.id, provider: row.provider, binding: row.binding, reason }
    }
}
