//! Both stores of this crate keep the contract.

mod file_store {
    use hence_store::contract::FolderPlace;

    hence_store::contract_tests!(FolderPlace(tempfile::tempdir().expect("a folder for the test")));
}

mod memory_store {
    hence_store::contract_tests!(hence_store::MemoryStore::new());
}
