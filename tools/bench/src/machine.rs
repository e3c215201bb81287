//! The machine in a few words: enough to judge a figure, nothing that names a host.

use std::num::NonZeroUsize;

/// Returns the processor, the number of cores in use and whether SHA instructions are there.
pub(crate) fn describe() -> String {
    let cores = threads().get();
    format!("{}, {cores} cores, {} instructions for SHA-256", processor(), sha_instructions())
}

/// Returns how many threads run at once here.
pub(crate) fn threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or(std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

fn sha_instructions() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("sha") {
        return "with";
    }
    #[cfg(target_arch = "aarch64")]
    if std::arch::is_aarch64_feature_detected!("sha2") {
        return "with";
    }
    "without"
}
