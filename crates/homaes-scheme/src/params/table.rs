//! Tables of costs as `tools/estimate` writes them.

use super::Estimate;

/// Day the tables were computed.
const DATE: &str = "2026-11-22";
/// Cost model of one lattice reduction of the columns that are not named after another one, and shape of the reduced
/// basis.
const MODEL: &str = "MATZOV, GSA, classical";
/// The tool that computed them.
const TOOL: &str = "tools/estimate, formulas of malb/lattice-estimator 27a581b";

/// Columns of costs, in the order of [`Estimate`].
const COSTS: usize = 7;

/// One line: the instance and its costs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row<const K: usize> {
    pub(crate) key: [f64; K],
    costs: [f64; COSTS],
    attack: &'static str,
}

impl<const K: usize> Row<K> {
    /// The lines of a table with a head.
    ///
    /// # Panics
    /// If it is not of this form; the tables are part of this crate.
    pub(crate) fn table(csv: &'static str) -> Vec<Self> {
        let number = |cell: &str| cell.parse().expect("tables hold numbers");
        let row = |line: &'static str| {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells.len(), K + COSTS + 1, "{line}");
            Self {
                key: core::array::from_fn(|i| number(cells[i])),
                costs: core::array::from_fn(|i| number(cells[K + i])),
                attack: cells[K + COSTS],
            }
        };
        csv.lines().skip(1).map(row).collect()
    }

    /// The estimate of this line.
    pub(crate) fn estimate(&self) -> Estimate {
        self.with(self.costs)
    }

    /// Costs at `ahead` before this line, on the straight line through it and `next`, which lies `step` after it.
    pub(crate) fn before(&self, ahead: f64, next: &Self, step: f64) -> Estimate {
        self.with(core::array::from_fn(|i| {
            let (here, there) = (self.costs[i], next.costs[i]);
            here + (here - there) / step * ahead
        }))
    }

    fn with(&self, costs: [f64; COSTS]) -> Estimate {
        let [
            bits,
            without_tables,
            with_rotations,
            with_rotations_without_tables,
            core_svp,
            core_svp_quantum,
            quantum,
        ] = costs;
        Estimate {
            bits,
            without_tables,
            with_rotations,
            with_rotations_without_tables,
            core_svp,
            core_svp_quantum,
            quantum,
            order_of_magnitude: false,
            attack: self.attack,
            model: MODEL,
            tool: TOOL,
            date: DATE,
        }
    }
}
