//! A discrete-event model of workers and databases: `scale-model PARAMETERS.toml [--runs-per-day N] [--seed N] [--seconds N]`.
//!
//! Prints for several numbers of workers and databases how much of everything is used, how long runs wait, and the largest load that
//! is kept up with. The same arguments give the same output, byte for byte. docs/scale.md explains it.

mod model;
mod parameters;
mod random;
mod station;

use std::fmt::Write as _;
use std::process::ExitCode;

use model::{Outcome, simulate};
use parameters::{Load, Parameters};

/// Workers and databases of the rows of the table.
const ROWS: [(u32, u32); 5] = [(1, 1), (10, 1), (100, 1), (100, 4), (400, 16)];

/// The delay at the 99th percentile up to which a load counts as kept up with.
const DELAY_MS_MAX: f64 = 1_000.0;

/// The simulated seconds of each attempt to find the largest load.
const SEARCH_SECONDS: f64 = 120.0;

/// The runs that arrive at least in each attempt: with few, those that are not settled at the end count too much.
const SEARCH_RUNS_MIN: f64 = 3_000.0;

/// The attempts after the load is known within a factor of two.
const SEARCH_STEPS: u32 = 6;

const USAGE: &str = "usage: scale-model PARAMETERS.toml [--runs-per-day N] [--seed N] [--seconds N]";

struct Arguments {
    file: String,
    runs_per_day: f64,
    seed: u64,
    seconds: f64,
}

impl Arguments {
    fn read(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut read = Self { file: String::new(), runs_per_day: 1e6, seed: 1, seconds: 3_600.0 };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let mut number = || -> Result<f64, String> {
                let text = arguments.next().unwrap_or_default();
                let number = text.parse::<f64>().ok().filter(|number| (1.0..=1e9).contains(number));
                number.ok_or_else(|| {
                    format!("{argument}: expected a number from 1 to 10^9, found {text:?}\n{USAGE}")
                })
            };
            match argument.as_str() {
                "--runs-per-day" => read.runs_per_day = number()?,
                "--seconds" => read.seconds = number()?,
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
                "--seed" => read.seed = number()? as u64,
                file if read.file.is_empty() && !file.starts_with('-') => file.clone_into(&mut read.file),
                _ => return Err(format!("{argument}: not an argument\n{USAGE}")),
            }
        }
        if read.file.is_empty() { Err(USAGE.to_owned()) } else { Ok(read) }
    }
}

#[allow(clippy::print_stdout, clippy::print_stderr, reason = "the table is the output")]
fn main() -> ExitCode {
    match report(std::env::args().skip(1)) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn report(arguments: impl Iterator<Item = String>) -> Result<String, String> {
    let arguments = Arguments::read(arguments)?;
    let text =
        std::fs::read_to_string(&arguments.file).map_err(|error| format!("{}: {error}", arguments.file))?;
    let parameters = Parameters::read(&text).map_err(|error| format!("{}: {error}", arguments.file))?;
    let mut table = format!(
        "{} runs a day, {} s simulated, seed {}\n\n\
         | workers | databases | slots | worker cores | database cores | log | queue row | delay p50 | delay p99 | kept up with | most runs a day | what is full then |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|\n",
        arguments.runs_per_day, arguments.seconds, arguments.seed
    );
    for (workers, databases) in ROWS {
        let load = Load {
            runs_per_day: arguments.runs_per_day,
            workers,
            databases,
            seconds: arguments.seconds,
            seed: arguments.seed,
        };
        let outcome = simulate(&parameters, load);
        let (most, full) = most_runs_a_day(&parameters, load);
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let _ = writeln!(
            table,
            "| {workers} | {databases} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {full} |",
            percent(outcome.slots),
            percent(outcome.worker_cores),
            percent(outcome.database_cores),
            percent(outcome.log),
            percent(outcome.queue_row),
            delay(outcome.delay_p50_ms),
            delay(outcome.delay_p99_ms),
            if outcome.keeps_up(DELAY_MS_MAX) { "yes" } else { "no" },
            millions(most),
        );
    }
    Ok(table)
}

fn delay(ms: f64) -> String {
    if ms >= 10_000.0 { format!("{:.0} s", ms / 1e3) } else { format!("{ms:.1} ms") }
}

fn millions(runs: f64) -> String {
    format!("{:.2} M", runs / 1e6)
}

/// Finds the largest load that is kept up with, within a few percent, and what is used most at it.
fn most_runs_a_day(parameters: &Parameters, load: Load) -> (f64, &'static str) {
    let at = |runs_per_day: f64| {
        let seconds = SEARCH_SECONDS.max(SEARCH_RUNS_MIN / runs_per_day * 86_400.0);
        simulate(parameters, Load { runs_per_day, seconds, ..load })
    };
    let mut low = 1e4;
    let mut best = at(low);
    if !best.keeps_up(DELAY_MS_MAX) {
        return (0.0, fullest(&best));
    }
    let mut high = low * 2.0;
    loop {
        let outcome = at(high);
        if !outcome.keeps_up(DELAY_MS_MAX) {
            break;
        }
        (low, best, high) = (high, outcome, high * 2.0);
    }
    for _ in 0..SEARCH_STEPS {
        let middle = f64::midpoint(low, high);
        let outcome = at(middle);
        if outcome.keeps_up(DELAY_MS_MAX) {
            (low, best) = (middle, outcome);
        } else {
            high = middle;
        }
    }
    (low, fullest(&best))
}

fn fullest(outcome: &Outcome) -> &'static str {
    let shares = [
        (outcome.slots, "slots of the workers"),
        (outcome.worker_cores, "cores of a worker"),
        (outcome.database_cores, "cores of a database"),
        // The log is busy whenever somebody waits for it, and takes more at once then; it is full last.
        (outcome.queue_row, "the row of the queue"),
    ];
    shares.into_iter().max_by(|left, right| left.0.total_cmp(&right.0)).map_or("", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters() -> Parameters {
        Parameters {
            slots_per_worker: 8,
            steps_per_run: 10,
            call_us: 200_000.0,
            step_us: 300.0,
            worker_cores: 2,
            database_cores: 2,
            append_us: 100.0,
            create_us: 300.0,
            queue_us: 300.0,
            sync_us: 1_000.0,
            round_trip_us: 100.0,
        }
    }

    fn load(runs_per_day: f64, workers: u32) -> Load {
        Load { runs_per_day, workers, databases: 1, seconds: 600.0, seed: 7 }
    }

    #[test]
    fn the_same_seed_gives_the_same_outcome_and_another_seed_another() {
        let first = simulate(&parameters(), load(2e5, 1));
        assert_eq!(first, simulate(&parameters(), load(2e5, 1)));
        assert_ne!(first, simulate(&parameters(), Load { seed: 8, ..load(2e5, 1) }));
    }

    /// With one slot, one step and no other cost, the model is the textbook's M/M/1 queue: the mean wait is known.
    #[test]
    fn a_single_slot_waits_as_long_as_theory_says() {
        let mean = 1e6_f64;
        let bare = Parameters {
            slots_per_worker: 1,
            steps_per_run: 1,
            call_us: mean,
            step_us: 0.0,
            append_us: 0.0,
            create_us: 0.0,
            queue_us: 0.0,
            sync_us: 0.0,
            round_trip_us: 0.0,
            ..parameters()
        };
        for share in [0.3, 0.6] {
            let rate = 86_400.0 * share;
            let seconds = 2e6;
            let outcome = simulate(&bare, Load { seconds, ..load(rate, 1) });
            // The share of runs that do not wait is 1 - share, so the median of the wait follows from the distribution
            // P(wait > t) = share * exp(-(1 - share) t).
            let expected = |tail: f64| (share / tail).ln().max(0.0) / (1.0 - share) * 1e3;
            let close = |found: f64, expected: f64| (found - expected).abs() <= 0.05 * expected.max(20.0);
            assert!(close(outcome.delay_p50_ms, expected(0.5)), "{share}: {outcome:?}");
            assert!(close(outcome.delay_p99_ms, expected(0.01)), "{share}: {outcome:?}");
            assert!((outcome.slots - share).abs() < 0.02, "{share}: {outcome:?}");
        }
    }

    #[test]
    fn a_load_beyond_the_slots_is_not_kept_up_with_and_more_workers_keep_up() {
        // One worker drives 8 runs of 2 s each: 4 a second, 345 600 a day.
        let beyond = simulate(&parameters(), load(1e6, 1));
        assert!(!beyond.keeps_up(DELAY_MS_MAX) && beyond.slots > 0.95, "{beyond:?}");
        let enough = simulate(&parameters(), load(1e6, 10));
        assert!(enough.keeps_up(DELAY_MS_MAX), "{enough:?}");
    }

    #[test]
    fn the_row_of_the_queue_is_the_end_of_one_database_and_more_databases_move_it() {
        let parameters = Parameters { steps_per_run: 1, call_us: 1_000.0, ..parameters() };
        let (one, full) = most_runs_a_day(&parameters, load(1.0, 16));
        assert_eq!(full, "the row of the queue");
        // Each of the three changes of a run holds the row for the statement and a sync at least.
        let bound = 86_400e6 / (3.0 * (parameters.queue_us + parameters.sync_us));
        assert!(one < bound, "{one} {bound}");
        let (four, _) = most_runs_a_day(&parameters, Load { databases: 4, ..load(1.0, 16) });
        assert!(four > 3.0 * one, "{one} {four}");
    }

    #[test]
    fn wrong_arguments_and_parameters_are_refused() {
        let read = |words: &[&str]| report(words.iter().map(|word| (*word).to_owned())).unwrap_err();
        assert!(read(&[]).contains("usage"));
        assert!(read(&["p.toml", "--seed", "x"]).contains("--seed: expected a number"));
        assert!(read(&["p.toml", "more"]).contains("not an argument"));
        assert!(read(&["/nowhere.toml"]).contains("/nowhere.toml"));
        let measured = include_str!("../measured.toml");
        assert!(Parameters::read(measured).is_ok(), "{:?}", Parameters::read(measured));
        assert!(Parameters::read(&measured.replace("sync_us = ", "sync_us = -")).is_err());
        assert!(Parameters::read(&format!("{measured}\nother = 1\n")).is_err());
        assert!(Parameters::read("").is_err());
    }
}
