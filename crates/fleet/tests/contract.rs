//! The contract of a queue, on each queue of this crate.

mod memory {
    hence_fleet::contract_tests!(hence_fleet::contract::MemoryPlace::new());
}

mod folder {
    hence_fleet::contract_tests!(hence_fleet::contract::FolderPlace::new(
        tempfile::tempdir().expect("a folder")
    ));
}
