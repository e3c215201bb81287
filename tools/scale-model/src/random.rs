//! Random numbers that are the same for the same seed, on every machine.

/// A generator of random numbers (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number above 0 and at most 1.
    fn unit(&mut self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "53 bits fit")]
        let bits = (self.next() >> 11) as f64;
        (bits + 1.0) / 9_007_199_254_740_992.0
    }

    /// Returns a time with an exponential distribution of this mean.
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }
}
