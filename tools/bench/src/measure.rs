//! Timing two things turn by turn.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// The number of times each side is measured at least. Odd, so that the median is a measurement.
const TURNS_MIN: usize = 11;
/// The number of times each side is measured at most.
const TURNS_MAX: usize = 201;
/// The time a comparison may take, unless that leaves too few turns.
const TIME_MAX: Duration = Duration::from_secs(3);

/// Two things timed in alternation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compared {
    /// The median time of the subject.
    pub(crate) subject: Duration,
    /// The median time of the baseline.
    pub(crate) baseline: Duration,
    /// The median of subject over baseline, turn by turn: what disturbs one turn disturbs both its sides.
    pub(crate) ratio: f64,
}

/// Times `subject` against `baseline`; each is given what `prepare` makes, outside the timing.
pub(crate) fn compare<P, A, B>(
    mut prepare: impl FnMut() -> P,
    mut subject: impl FnMut(P) -> A,
    mut baseline: impl FnMut() -> B,
) -> Compared {
    let mut turn = || {
        let prepared = prepare();
        (time(|| subject(prepared)), time(&mut baseline))
    };
    // One turn that does not count fills caches and branch predictors.
    turn();
    let start = Instant::now();
    let mut turns: Vec<(Duration, Duration)> = Vec::new();
    while turns.len() < TURNS_MIN || (turns.len() < TURNS_MAX && start.elapsed() < TIME_MAX) {
        turns.push(turn());
    }
    Compared {
        subject: median(turns.iter().map(|(subject, _)| *subject)),
        baseline: median(turns.iter().map(|(_, baseline)| *baseline)),
        ratio: median_ratio(turns.iter().map(|(subject, baseline)| subject.div_duration_f64(*baseline))),
    }
}

/// Returns the median time of `subject` over `turns` turns.
pub(crate) fn time_of<A>(turns: usize, mut subject: impl FnMut() -> A) -> Duration {
    median((0..turns).map(|_| time(&mut subject)))
}

fn time<A>(subject: impl FnOnce() -> A) -> Duration {
    let start = Instant::now();
    let made = black_box(subject());
    let elapsed = start.elapsed();
    // Letting go of what was made is not the work.
    drop(made);
    elapsed
}

fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn median_ratio(ratios: impl Iterator<Item = f64>) -> f64 {
    let mut ratios: Vec<f64> = ratios.collect();
    ratios.sort_unstable_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Fits `time = c · size^k` by least squares over the logarithms and returns `k`: 1 is linear, 2 is quadratic.
pub(crate) fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(size, time)| (size.ln(), time.ln())).collect();
    slope(&logs)
}

/// Fits a line by least squares and returns its slope.
pub(crate) fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.iter().map(|_| 1.0).sum::<f64>();
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let covariance: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let variance: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    covariance / variance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponent_of_a_power_is_found() {
        let points = [1.0, 2.0, 5.0, 10.0].map(|size: f64| (size, 3.0 * size.powi(2)));
        assert!((exponent(&points) - 2.0).abs() < 1e-9);
        assert!((slope(&[(1.0, 5.0), (2.0, 7.0), (3.0, 9.0)]) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_median_ignores_what_disturbs_a_few_turns() {
        let times = [1, 1, 900, 1, 1].map(Duration::from_millis);
        assert_eq!(median(times.into_iter()), Duration::from_millis(1));
        assert!((median_ratio([9.0, 1.0, 1.0].into_iter()) - 1.0).abs() < 1e-9);
    }
}
