//! The load, the machines and the measured service times of a model.

use serde::Deserialize;

/// Everything that a simulation depends on. Times are in microseconds.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameters {
    /// Runs that one worker process drives at the same time.
    pub(crate) slots_per_worker: u32,
    /// Steps of a run. Each is a call and an append.
    pub(crate) steps_per_run: u32,
    /// The mean time of a call: a model, a service, a program. It uses nothing of the database.
    pub(crate) call_us: f64,
    /// The time of a worker's processor for one step, on `worker_cores` of its own.
    pub(crate) step_us: f64,
    /// The cores of a worker's machine.
    pub(crate) worker_cores: u32,
    /// The cores of a database.
    pub(crate) database_cores: u32,
    /// The time of the database's processor for one statement that appends one record.
    pub(crate) append_us: f64,
    /// The same for the statement that creates a run.
    pub(crate) create_us: f64,
    /// The time for which a change of the queue holds the queue's row, without the sync. A run is submitted, claimed and settled.
    pub(crate) queue_us: f64,
    /// The time of one sync of the log. All commits that wait when it begins are durable when it ends.
    pub(crate) sync_us: f64,
    /// The time of a message to the database and back, without the work.
    pub(crate) round_trip_us: f64,
}

/// A load on a number of workers and databases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) runs_per_day: f64,
    pub(crate) workers: u32,
    /// Databases among which the runs are divided by their ids, each with its own queue.
    pub(crate) databases: u32,
    pub(crate) seconds: f64,
    pub(crate) seed: u64,
}

impl Parameters {
    /// Reads a file of parameters, or says what is wrong with it.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let read: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        let times = [
            read.call_us,
            read.step_us,
            read.append_us,
            read.create_us,
            read.queue_us,
            read.sync_us,
            read.round_trip_us,
        ];
        if times.iter().any(|time| !time.is_finite() || *time < 0.0 || *time > 1e12) {
            return Err("a time is negative, not a number or longer than 10^12 microseconds".to_owned());
        }
        let counts = [read.slots_per_worker, read.steps_per_run, read.worker_cores, read.database_cores];
        if counts.iter().any(|count| !(1..=100_000).contains(count)) {
            return Err("a number of slots, steps or cores is not between 1 and 100000".to_owned());
        }
        Ok(read)
    }
}
