//! The contract that every store must pass, on PostgreSQL.

mod cluster;

hence_store::contract_tests!(crate::cluster::TestPlace::new());
