//! Seeds, and seeds with a few bytes changed by fixed numbers: the same corpus on every machine.

/// Gives a target every seed and `variants` changed copies of it. `telling` are the bytes with a meaning for the target.
///
/// With `FUZZ_CORPUS` in the environment the seeds are also written to that folder, where `cargo fuzz` finds them.
pub(crate) fn run<S: AsRef<[u8]>>(
    name: &str,
    target: fn(&[u8]),
    seeds: impl IntoIterator<Item = S>,
    telling: &[u8],
    variants: u64,
) {
    let folder = std::env::var_os("FUZZ_CORPUS").map(|folder| std::path::PathBuf::from(folder).join(name));
    folder.iter().for_each(|folder| std::fs::create_dir_all(folder).unwrap());
    let mut numbers = Numbers::new();
    for (index, seed) in seeds.into_iter().enumerate() {
        let seed = seed.as_ref();
        folder.iter().for_each(|folder| std::fs::write(folder.join(format!("seed-{index}")), seed).unwrap());
        target(seed);
        (0..variants).for_each(|_| target(&variant(seed, telling, &mut numbers)));
    }
}

/// A generator of fixed numbers.
struct Numbers(u64);

impl Numbers {
    fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below.max(1) as u64).unwrap()
    }
}

/// Changes a seed in up to three places.
fn variant(seed: &[u8], telling: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=numbers.next(3) {
        let at = numbers.next(bytes.len() + 1);
        let byte = telling[numbers.next(telling.len())];
        match numbers.next(5) {
            0 => bytes.insert(at, byte),
            1 => bytes.truncate(at),
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 if at < bytes.len() => bytes[at] = byte,
            _ => {
                let other = numbers.next(bytes.len() + 1);
                let piece = bytes[at.min(other)..at.max(other)].to_vec();
                bytes.splice(at..at, piece.into_iter().take(64));
            }
        }
    }
    bytes
}
