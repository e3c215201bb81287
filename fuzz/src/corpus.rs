//! Seeds with a few bytes changed by fixed numbers: the same corpus on every machine.

/// A generator of fixed numbers.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below.max(1) as u64).unwrap()
    }
}

/// Changes a seed in up to three places; `telling` are the bytes that mean something to who reads it.
pub(crate) fn variant(seed: &[u8], telling: &[u8], numbers: &mut Numbers) -> Vec<u8> {
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
