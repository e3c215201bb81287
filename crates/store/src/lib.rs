//! Storage of runs: journals, attachments and blobs.
//!
//! [`Store`] is a contract: a run is created as a whole, one writer appends to it by compare-and-append, readers read from
//! any record on, blobs are stored by their SHA-256. [`FileStore`] implements it in a folder, [`MemoryStore`] in memory,
//! `hence-store-postgres` in a database, and the module `contract` (feature `contract`) tests any implementation. Layers above
//! hold a [`StoreHandle`] and never assume a local file.
//!
//! A store does not interpret its bytes, except for the end of a journal, which `hence_journal` reads; the chain is
//! verified there. A store chooses no folder, reads no environment and prints nothing.
//!
//! ```
//! use hence_journal::RecordIndex;
//! use hence_store::{Durability, MemoryStore, NewRun, RunId, Store};
//!
//! # fn line(index: u64, byte: char) -> Vec<u8> {
//! #     let hash = byte.to_string().repeat(64);
//! #     format!("{{\"index\":{index},\"record_hash\":\"{hash}\"}}\n").into_bytes()
//! # }
//! let store = MemoryStore::new();
//! let id = RunId::new("refund-42")?;
//! let mut writer = store.create(NewRun { id: id.clone(), attachments: Vec::new(), lines: line(0, 'a') })?;
//! let head = writer.append(writer.head(), &line(1, 'b'), Durability::Synced)?;
//! assert_eq!(head.records.get(), 2);
//!
//! let mut rest = Vec::new();
//! std::io::Read::read_to_end(&mut store.read_journal(&id, RecordIndex::new(1))?, &mut rest)?;
//! assert_eq!(rest, line(1, 'b'));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attachment;
mod confined;
#[cfg(any(test, feature = "contract"))]
pub mod contract;
mod doctor;
mod error;
mod file;
mod handle;
pub mod implementation;
mod lines;
mod memory;
mod newest;
mod run_id;
mod store;
mod summary;
#[cfg(any(test, feature = "contract"))]
mod testing;
mod view;

pub use attachment::{ATTACHMENT_NAME_BYTES_MAX, AttachmentName, InvalidAttachmentName};
pub use confined::{ConfinedError, read_confined};
pub use doctor::{Doctor, Finding, Gravity, Repair, Repaired, Report, named_blobs};
pub use error::{
    Action, AppendError, CANDIDATES_MAX, Damage, DatabaseError, DatabaseErrorKind, DiskError, DiskErrorKind,
    StoreError,
};
pub use file::{FileStore, VIEW_FILE};
pub use handle::StoreHandle;
pub use hence_journal::Durability;
pub use lines::{APPEND_BYTES_MAX, InvalidLines};
pub use memory::MemoryStore;
pub use newest::{DatedView, NewestPage, NewestPlace, NewestRequest, NewestRun, NewestRuns};
pub use run_id::{InvalidRunId, RUN_ID_BYTES_MAX, RunId};
pub use store::{BLOB_BYTES_MAX, Cut, Holder, Lease, NewRun, Opened, RunWriter, SideLog, Store};
pub use summary::{Condition, RunSummary, SUMMARY_HEADER_BYTES_MAX};
pub use view::{Listed, Listing, RunView, Stamp, Stamps, VIEW_RECORDS_MIN, ViewBinding};
