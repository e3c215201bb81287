//! A deterministic simulation of a fleet: the real [`WorkerCore`](hence_fleet::WorkerCore) and the real rules of the queue, in a world
//! that loses messages, stops and kills workers, sets clocks wrong by an hour and holds runs that kill their worker.
//!
//! `HENCE_FLEET_SEEDS=1000000` sets the number of worlds; `HENCE_FLEET_SEED=42` lives one of them again and prints what happened.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests"
)]

mod check;
mod drive;
mod rng;
mod scenario;
mod store;
mod world;

use std::sync::atomic::{AtomicU64, Ordering};

use store::{Rules, SOUND};
use world::World;

/// The worlds of a test without further words.
const SEEDS: u64 = 10_000;

/// Lives one world and prints its events.
fn replay(seed: u64, rules: Rules) {
    let mut world = World::new(seed, rules);
    world.log = Some(Vec::new());
    let end = world.live();
    for line in world.log.unwrap_or_default() {
        eprintln!("{line}");
    }
    assert_eq!(end, Ok(()), "seed {seed}");
}

/// Lives so many worlds on two threads; returns the number of events, and the first seed that failed with the reason.
fn live_all(seeds: u64, rules: Rules) -> (u64, Option<(u64, String)>) {
    let next = AtomicU64::new(0);
    let (events, failed) = (AtomicU64::new(0), std::sync::Mutex::new(None::<(u64, String)>));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= seeds || failed.lock().unwrap().is_some() {
                        return;
                    }
                    let mut world = World::new(seed, rules);
                    let end = world.live();
                    events.fetch_add(world.handled, Ordering::SeqCst);
                    if let Err(reason) = end {
                        let mut failed = failed.lock().unwrap();
                        if failed.as_ref().is_none_or(|(first, _)| seed < *first) {
                            *failed = Some((seed, reason));
                        }
                        return;
                    }
                }
            });
        }
    });
    (events.into_inner(), failed.into_inner().unwrap())
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn every_run_ends_and_every_effect_happens_once() {
    if let Some(seed) = number("HENCE_FLEET_SEED") {
        return replay(seed, SOUND);
    }
    let seeds = number("HENCE_FLEET_SEEDS").unwrap_or(SEEDS);
    let (events, failed) = live_all(seeds, SOUND);
    if let Some((seed, reason)) = failed {
        panic!(
            "seed {seed}: {reason}\nHENCE_FLEET_SEED={seed} cargo test -p hence-fleet --test simulation shows what happened"
        );
    }
    eprintln!("{seeds} worlds, {events} events");
}

#[test]
fn without_fence_and_comparison_the_simulation_finds_a_writer_that_lost_its_run() {
    let (_, failed) = live_all(SEEDS, Rules { fence: false, compare: false, ..SOUND });
    let (_, reason) = failed.expect("a world shows it");
    assert!(reason.contains("was recorded as record") || reason.contains("appended in epoch"), "{reason}");
}

#[test]
fn with_a_key_for_each_attempt_the_simulation_finds_an_effect_that_happens_twice() {
    let (_, failed) = live_all(SEEDS, Rules { same_key: false, ..SOUND });
    let (_, reason) = failed.expect("a world shows it");
    assert!(reason.contains("happened 2 times"), "{reason}");
}

#[test]
fn one_seed_is_one_life() {
    for seed in 0..20 {
        let life = || {
            let mut world = World::new(seed, SOUND);
            world.log = Some(Vec::new());
            let end = world.live();
            (end, world.log, world.handled)
        };
        assert_eq!(life(), life(), "seed {seed}");
    }
}
