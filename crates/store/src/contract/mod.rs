//! Tests that every [`Store`] must pass.
//!
//! An implementation provides a [`Place`] for stores of its kind and declares one test module:
//!
//! ```
//! # #[cfg(test)]
//! mod contract {
//!     hence_store::contract_tests!(hence_store::MemoryStore::new());
//! }
//! ```
//!
//! Each test asks for a fresh place, so tests may run at the same time. A test fails by panicking.

mod blobs;
mod runs;
mod writing;

use hence_journal::Head;

use crate::testing::{head_of, journal};
use crate::{AttachmentName, FileStore, MemoryStore, NewRun, RunId, RunWriter, Store};

/// A place that holds one store and can be opened any number of times.
pub trait Place {
    /// Opens the store. Stores opened at one place share their content.
    fn open(&self) -> Box<dyn Store>;
}

impl Place for MemoryStore {
    fn open(&self) -> Box<dyn Store> {
        Box::new(self.clone())
    }
}

impl<P: AsRef<std::path::Path>> Place for FolderPlace<P> {
    fn open(&self) -> Box<dyn Store> {
        let folder = self.0.as_ref().join("store");
        Box::new(FileStore::open_or_create(folder).expect("a folder for tests can hold a store"))
    }
}

/// A folder that holds a [`FileStore`].
#[derive(Debug)]
pub struct FolderPlace<P>(pub P);

/// One test of the contract.
pub type Test = fn(&dyn Place);

macro_rules! contract {
    ($($module:ident: $($name:ident),+;)+) => {
        /// Every test of the contract with its name.
        pub const ALL: &[(&str, Test)] = &[$($((stringify!($name), $module::$name)),+),+];

        $($(
            #[doc = concat!("See the test's name: ", stringify!($name), ".")]
            pub fn $name(place: &dyn Place) {
                $module::$name(place);
            }
        )+)+

        /// Declares a `#[test]` for each test of the contract. The argument creates a fresh [`Place`](crate::contract::Place).
        #[macro_export]
        macro_rules! contract_tests {
            ($place:expr) => {
                $($(
                    #[test]
                    fn $name() {
                        $crate::contract::$name(&$place);
                    }
                )+)+
            };
        }
    };
}

contract! {
    runs:
        a_created_run_reads_back,
        creating_a_run_twice_says_whether_it_is_the_same,
        runs_that_are_created_together_are_there_with_their_blobs,
        a_refused_run_leaves_nothing,
        of_many_that_create_one_run_exactly_one_does,
        ids_of_every_kind_name_different_runs,
        a_missing_run_is_named_by_every_operation,
        a_journal_reads_from_every_record,
        reading_does_not_need_the_lease,
        attachments_are_replaced_and_removed_whole,
        runs_are_listed_in_order_with_their_heads,
        a_prefix_finds_the_only_run_it_fits,
        an_ambiguous_prefix_names_some_candidates,
        a_run_that_came_from_elsewhere_is_told_apart,
        parts_of_an_attachment_are_read_with_its_size,
        a_removed_run_leaves_its_tombstone,
        a_run_in_use_is_not_removed,
        a_section_is_a_store_of_its_own,
        a_stamp_changes_when_what_it_is_of_changes,
        a_sound_store_has_no_findings;
    writing:
        an_append_moves_the_head,
        an_append_on_another_head_changes_nothing,
        a_batch_is_appended_or_refused_as_a_whole,
        lines_that_do_not_continue_the_journal_are_refused,
        both_durabilities_store_the_same_bytes,
        appended_records_are_there_when_opened_again,
        a_run_has_one_writer,
        creating_a_run_takes_its_lease,
        a_lease_ends_with_its_writer,
        of_many_that_open_one_run_at_most_one_writes,
        lines_of_a_side_log_stay_in_order,
        a_side_log_is_written_by_many_threads,
        a_torn_line_of_a_side_log_is_cut,
        writers_of_different_runs_do_not_disturb_each_other,
        readers_see_a_beginning_of_the_journal;
    blobs:
        a_blob_reads_back_by_its_digest,
        storing_a_blob_again_is_no_change,
        a_blob_is_shared_by_everyone,
        a_blob_that_no_run_names_is_found;
}

fn run_id(text: &str) -> RunId {
    RunId::new(text).expect("a valid run id")
}

fn name(text: &str) -> AttachmentName {
    AttachmentName::new(text).expect("a valid attachment name")
}

/// A run with `records` records and a problem as attachment.
fn new_run(id: &str, records: u64) -> NewRun {
    let attachments = vec![(name("problem.json"), br#"{"id":"p"}"#.to_vec())];
    NewRun { id: run_id(id), attachments, lines: journal(records) }
}

fn create(store: &dyn Store, id: &str, records: u64) -> Box<dyn RunWriter> {
    store.create(new_run(id, records)).expect("a new run is created")
}

fn assert_journal(store: &dyn Store, id: &str, expected: &[u8]) {
    let found = store.journal_bytes(&run_id(id)).expect("the journal is readable");
    assert_eq!(String::from_utf8_lossy(&found), String::from_utf8_lossy(expected));
}

fn head_after(records: u64) -> Head {
    head_of(&journal(records))
}
