//! The command line: every test runs the binary in a folder and an environment of its own.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test that cannot continue should stop"
)]

#[cfg(feature = "models")]
mod action_types;
mod again;
#[cfg(all(feature = "models", target_os = "linux"))]
mod altered;
#[cfg(unix)]
mod altered_views;
mod approvals;
mod authoring;
mod begun_calls;
mod bound;
mod bound_effects;
mod budgets;
mod bundle;
mod callees;
mod capabilities;
mod changed;
mod check;
mod check_files;
mod commands_in_runs;
mod concurrent_variables;
mod descendants;
mod document;
mod effects;
mod examples;
mod fixtures;
mod fleet;
#[cfg(target_os = "linux")]
mod fleet_kill;
mod fleet_operator;
mod fleet_telemetry;
mod foreign;
mod forged;
mod forks;
mod front_door;
mod functions;
mod guard;
mod guard_positions;
mod hash;
mod help;
mod honest;
mod housekeeping;
mod import;
mod inspect;
mod kill;
mod killed;
mod known_times;
mod linked;
#[cfg(feature = "models")]
mod llm;
mod long_runs;
#[cfg(feature = "models")]
mod model;
mod partial;
mod people;
mod pipe;
mod places;
mod policies_hold_back;
mod policies_nested;
mod policies_per_call;
mod policy;
mod positions;
#[cfg(target_os = "linux")]
mod postgres;
mod printed_words;
mod problems;
mod recorded_effects;
mod retry;
mod review;
mod run;
mod same_bytes;
mod schema;
mod screens;
mod second_look;
mod secrets;
#[cfg(unix)]
mod serve;
mod shared_nested;
mod shipped_policies;
mod skill;
mod store;
mod store_copy;
mod strange_ids;
mod times;
mod trace;
mod trace_change;
mod trace_examples;
mod trace_hostile;
mod trace_outside;
mod truthful;
mod variable_snapshots;
mod variables;
mod variables_export;
mod variables_skills;
mod variables_time;
mod verify;
