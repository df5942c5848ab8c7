//! The runs that `bench all` makes in the given time.
//!
//! A single measurement reveals no noise, so every run is made twice, in two passes. The first pass takes at most half
//! of the time. The rest goes to runs that did not fit, then to repetitions, fewest first. The caller orders the runs.

/// Fraction of the time for the first pass.
const FIRST_PASS: f64 = 0.5;

const LEAST_COST: f64 = 0.5;

/// Runs with their expected times, and the given time.
#[derive(Debug, Clone)]
pub struct Schedule {
    seconds: f64,
    cases: Vec<Case>,
}

#[derive(Debug, Clone, Copy)]
struct Case {
    /// expected seconds
    cost: f64,
    /// whether the cost was measured on this machine
    measured: bool,
    samples: usize,
    given_up: bool,
}

impl Schedule {
    /// For runs of expected `costs` seconds within `seconds` from now.
    #[must_use]
    pub fn new(seconds: f64, costs: &[f64]) -> Self {
        let case = |&cost: &f64| Case {
            cost: cost.max(LEAST_COST),
            measured: false,
            samples: 0,
            given_up: false,
        };
        Self {
            seconds,
            cases: costs.iter().map(case).collect(),
        }
    }

    /// The run to make now, `elapsed` seconds after the start; `None` if none fits.
    #[must_use]
    pub fn next(&self, elapsed: f64) -> Option<usize> {
        let first = |wanted: &dyn Fn(&Case) -> bool, end: f64| {
            let fits = |case: &Case| !case.given_up && elapsed + case.cost <= end;
            self.cases
                .iter()
                .position(|case| fits(case) && wanted(case))
        };
        let end = self.seconds;
        let new = |case: &Case| case.samples == 0;
        let repeated = || {
            let most = self.cases.iter().map(|case| case.samples).max()?;
            (2..=most).find_map(|samples| first(&|case| case.samples == samples, end))
        };
        first(&new, end * FIRST_PASS)
            .or_else(|| first(&|case| case.samples == 1, end))
            .or_else(|| first(&new, end))
            .or_else(repeated)
    }

    /// Records that run `index` took `seconds`.
    pub fn done(&mut self, index: usize, seconds: f64) {
        let case = &mut self.cases[index];
        let ratio = seconds / case.cost;
        let known = case.measured;
        case.samples += 1;
        case.measured = true;
        case.cost = case.cost.max(seconds).min(2.0 * seconds).max(LEAST_COST);
        // other estimates are probably off by the same factor, so each measured run corrects them a little
        if !known {
            let step = ratio.clamp(0.25, 4.0).powf(0.25);
            let others = self.cases.iter_mut().filter(|case| !case.measured);
            others.for_each(|case| case.cost = (case.cost * step).max(LEAST_COST));
        }
    }

    /// Run `index` failed or took too long; it is not made again.
    pub fn give_up(&mut self, index: usize) {
        self.cases[index].given_up = true;
    }

    /// Expected time of run `index`, seconds.
    #[must_use]
    pub fn cost(&self, index: usize) -> f64 {
        self.cases[index].cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates runs of `factor` times the expected time; returns their indices and the end.
    fn simulate(seconds: f64, costs: &[f64], factor: f64) -> (Vec<usize>, f64) {
        let mut schedule = Schedule::new(seconds, costs);
        let (mut elapsed, mut made) = (0.0, Vec::new());
        while let Some(index) = schedule.next(elapsed) {
            let took = costs[index] * factor;
            elapsed += took;
            schedule.done(index, took);
            made.push(index);
        }
        (made, elapsed)
    }

    #[test]
    fn runs_that_fit_are_made_twice_and_fill_the_time() {
        let costs = [20.0, 1.0, 5.0, 30.0, 200.0, 2.0];
        let (made, end) = simulate(120.0, &costs, 1.0);
        assert_eq!(made[..8], [0, 1, 2, 3, 5, 0, 1, 2]);
        for index in [0, 1, 2, 3, 5] {
            assert!(
                made.iter().filter(|&&i| i == index).count() >= 2,
                "{made:?}"
            );
        }
        assert!(!made.contains(&4));
        assert!((108.0..=120.0).contains(&end), "{end}");
    }

    #[test]
    fn a_slower_machine_keeps_the_time() {
        let costs: Vec<f64> = (1..40).map(f64::from).collect();
        for factor in [0.4, 1.0, 1.5, 3.0] {
            let (made, end) = simulate(600.0, &costs, factor);
            assert!((540.0..=660.0).contains(&end), "{factor} {end}");
            // the first ones are repeated
            for index in 0..4 {
                assert!(
                    made.iter().filter(|&&i| i == index).count() >= 2,
                    "{factor}"
                );
            }
        }
    }

    #[test]
    fn a_run_that_fails_is_given_up() {
        let mut schedule = Schedule::new(10.0, &[1.0, 1.0]);
        assert_eq!(schedule.next(0.0), Some(0));
        schedule.give_up(0);
        assert_eq!(schedule.next(1.0), Some(1));
        schedule.done(1, 1.0);
        assert_eq!(
            (schedule.next(2.0), schedule.cases[1].samples),
            (Some(1), 1)
        );
        assert_eq!(schedule.next(9.5), None);
        assert_eq!(Schedule::new(1.0, &[]).next(0.0), None);
    }
}
