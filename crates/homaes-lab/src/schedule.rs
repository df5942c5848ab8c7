//! Which runs fit the time given.
//!
//! One measurement says nothing about its own noise, so runs are made at least twice, the second time in a second pass over all of them, when the machine may
//! be in another mood. The first pass takes at most half of the time. What is left goes to runs that did not fit into that half, and then to repetitions,
//! those with the fewest first. Runs are taken in the order given, so the caller puts what matters first.

/// Share of the time for the first pass.
const FIRST_PASS: f64 = 0.5;

/// Of runs whose cost nobody knows, at least: seconds.
const LEAST_COST: f64 = 0.5;

/// Which runs fit the time given, as it goes on.
#[derive(Debug, Clone)]
pub struct Schedule {
    seconds: f64,
    cases: Vec<Case>,
}

#[derive(Debug, Clone, Copy)]
struct Case {
    /// Seconds that it is expected to take.
    cost: f64,
    /// Whether that was measured here.
    measured: bool,
    samples: usize,
    given_up: bool,
}

impl Schedule {
    /// For runs that are expected to take `costs` seconds, within `seconds` from now.
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

    /// The run to make now, `elapsed` seconds after the start; `None` when none fits.
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

    /// Run `index` took `seconds`.
    pub fn done(&mut self, index: usize, seconds: f64) {
        let case = &mut self.cases[index];
        let ratio = seconds / case.cost;
        let known = case.measured;
        case.samples += 1;
        case.measured = true;
        case.cost = case.cost.max(seconds).min(2.0 * seconds).max(LEAST_COST);
        // what is not known yet is likely to be off by as much, on another machine or a busy one: learn a part of it each time
        if !known {
            let step = ratio.clamp(0.25, 4.0).powf(0.25);
            let others = self.cases.iter_mut().filter(|case| !case.measured);
            others.for_each(|case| case.cost = (case.cost * step).max(LEAST_COST));
        }
    }

    /// Run `index` failed or took too long: it is not made again.
    pub fn give_up(&mut self, index: usize) {
        self.cases[index].given_up = true;
    }

    /// What run `index` is expected to take, seconds.
    #[must_use]
    pub fn cost(&self, index: usize) -> f64 {
        self.cases[index].cost
    }

    /// How often run `index` was made.
    #[must_use]
    pub fn samples(&self, index: usize) -> usize {
        self.cases[index].samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs that take `factor` of what is expected: their numbers, and the end.
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
    fn what_fits_is_made_twice_and_the_time_is_used() {
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
            // those at the front are repeated
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
        assert_eq!((schedule.next(2.0), schedule.samples(1)), (Some(1), 1));
        assert_eq!(schedule.next(9.5), None);
        assert_eq!(Schedule::new(1.0, &[]).next(0.0), None);
    }
}
