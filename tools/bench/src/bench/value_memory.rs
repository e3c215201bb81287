//! Large values: how much memory the binary takes to write and to read one, against its size.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Error;
use crate::table::{Budget, Row, Table};

/// The memory of a process that holds a small value.
const SMALL_BYTES: usize = 10;
/// The sizes that are measured. Below a megabyte the process itself is larger than its value.
const SIZES: [usize; 3] = [1_000_000, 10_000_000, 100_000_000];

pub(crate) fn run(table: &mut Table) -> Result<(), Error> {
    let here = std::env::current_exe()?;
    let binary = here.with_file_name(format!("hence{}", std::env::consts::EXE_SUFFIX));
    if !binary.is_file() || !Path::new("/proc/self/status").is_file() {
        let detail = "needs the binary (`cargo build --release`) and /proc".to_owned();
        let path = "variables: peak memory / value".to_owned();
        table.push(Row { path, figure: None, unit: "×", budget: Some(Budget::AtMost(3.0)), detail });
        return Ok(());
    }
    let folder = std::env::temp_dir().join(format!("hence-bench-values-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let measured = measure(&binary, &folder, table);
    std::fs::remove_dir_all(&folder)?;
    measured
}

fn measure(binary: &Path, folder: &Path, table: &mut Table) -> Result<(), Error> {
    let world = World { binary, folder };
    world.peak(&["vars", "init", "bench", "measure"])?;
    let (small_set, small_get) = world.both(SMALL_BYTES)?;
    for size in SIZES {
        let (set, get) = world.both(size)?;
        for (what, peak, base) in [("set", set, small_set), ("get", get, small_get)] {
            let extra = peak.saturating_sub(base);
            table.push(Row {
                path: format!(
                    "variables: {what} of {} MB, peak memory beyond a small one's / value",
                    size / 1_000_000
                ),
                figure: Some(extra as f64 / size as f64),
                unit: "×",
                budget: Some(Budget::AtMost(3.0)),
                detail: format!("{} KiB against {} KiB", peak / 1024, base / 1024),
            });
        }
    }
    Ok(())
}

struct World<'a> {
    binary: &'a Path,
    folder: &'a Path,
}

impl World<'_> {
    /// Returns the peak memory of writing a value of `size` bytes, and of reading it.
    fn both(&self, size: usize) -> Result<(u64, u64), Error> {
        let file: PathBuf = self.folder.join("value.txt");
        // Different bytes at every place, so that nothing can share pages.
        let text: Vec<u8> = (0..size).map(|at| b'a' + u8::try_from(at % 23).unwrap_or(0)).collect();
        std::fs::write(&file, text)?;
        let given = format!("@{}", file.display());
        let set = self.peak(&["vars", "set", "bench", "value", &given])?;
        let get = self.peak(&["vars", "get", "bench", "value"])?;
        Ok((set, get))
    }

    fn peak(&self, words: &[&str]) -> Result<u64, Error> {
        let mut command = Command::new(self.binary);
        command.args(words).current_dir(self.folder).stdout(Stdio::null()).stderr(Stdio::null());
        peak_of(&mut command)
    }
}

/// Runs a command and returns the most memory its process had, as the kernel tells while it runs.
pub(super) fn peak_of(command: &mut Command) -> Result<u64, Error> {
    let mut child = command.spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        peak = peak.max(high_water(&text).unwrap_or(0));
        if let Some(ended) = child.try_wait()? {
            return if ended.success() { Ok(peak) } else { Err(format!("{command:?} failed").into()) };
        }
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
}

/// Reads the high-water mark of resident memory, in bytes.
fn high_water(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_high_water_mark_is_read() {
        assert_eq!(high_water("Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t 1 kB\n"), Some(2 * 1024 * 1024));
        assert_eq!(high_water("Name:\tx\n"), None);
    }
}
