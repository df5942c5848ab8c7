//! Tables of costs as `tools/estimate` writes them.

use super::Estimate;

/// Cost model of one lattice reduction of the columns that are not named after another one, and shape of the reduced
/// basis; the tool that computed the tables; the day.
pub(super) const WORDS: [&str; 3] = [
    "MATZOV, GSA, classical",
    "tools/estimate, formulas of malb/lattice-estimator 27a581b",
    "2026-11-22",
];

/// Columns of costs, in the order of [`Estimate`].
const COSTS: usize = 7;

/// One line: the instance and its costs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row<const K: usize> {
    pub(crate) key: [f64; K],
    pub(super) costs: [f64; COSTS],
    /// attack, model, tool and day
    words: [&'static str; 4],
}

impl<const K: usize> Row<K> {
    /// The lines of a table with a head.
    ///
    /// # Panics
    /// If it is not of this form; the tables are part of this crate.
    pub(crate) fn table(csv: &'static str, [model, tool, day]: [&'static str; 3]) -> Vec<Self> {
        let number = |cell: &str| cell.parse().expect("tables hold numbers");
        let row = |line: &'static str| {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells.len(), K + COSTS + 1, "{line}");
            Self {
                key: core::array::from_fn(|i| number(cells[i])),
                costs: core::array::from_fn(|i| number(cells[K + i])),
                words: [cells[K + COSTS], model, tool, day],
            }
        };
        csv.lines().skip(1).map(row).collect()
    }

    /// The estimate of this line.
    pub(crate) fn estimate(&self) -> Estimate {
        Estimate::new(self.costs, self.words)
    }

    /// Costs at `ahead` before this line, on the straight line through it and `next`, which lies `step` after it.
    pub(crate) fn before(&self, ahead: f64, next: &Self, step: f64) -> Estimate {
        let costs = core::array::from_fn(|i| {
            let (here, there) = (self.costs[i], next.costs[i]);
            here + (here - there) / step * ahead
        });
        Estimate::new(costs, self.words)
    }
}
