//! The recursion of the noise, sampled.

use crate::noise::{CIPHERTEXTS, Circuit, INPUTS, Pairs};
use homaes_aes::Direction;
use homaes_aes::state::{byte_index, shift_source};
use rand_core::Rng;

pub(super) type Complex = (f64, f64);

/// A circular normal of the given variance.
pub(super) fn normal(rng: &mut impl Rng, variance: f64) -> Complex {
    let [u, v] = [(); 2].map(|()| (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64);
    let (radius, angle) = (
        (-variance * (1.0 - u).ln()).sqrt(),
        2.0 * std::f64::consts::PI * v,
    );
    (radius * angle.cos(), radius * angle.sin())
}

/// The value of a sum of products over D, given the values of all atoms.
pub(super) fn value(pairs: &Pairs, ratios: &[f64], atoms: &[Complex]) -> Complex {
    let mut sum = (0.0, 0.0);
    for (&(i, j), c) in &pairs.coefficients {
        let (x, y) = (atoms[i], atoms[j]);
        sum.0 += c * (x.0 * y.0 - x.1 * y.1);
        sum.1 += c * (x.0 * y.1 + x.1 * y.0);
    }
    let ratio = ratios[pairs.place];
    (sum.0 / ratio, sum.1 / ratio)
}

impl Circuit {
    /// Carried parts of all state bits after every round of one direction at one embedding. The circuit must have the
    /// outputs of all four bytes of a column; `fresh` is the variance of an atom's fresh part, `ratios` the D.
    pub(super) fn follow(
        &self,
        (rounds, dir): (usize, Direction),
        fresh: impl Fn(usize) -> f64,
        ratios: &[f64],
        rng: &mut impl Rng,
    ) -> Vec<f64> {
        let (encryption, decryption) = self.outputs.split_at(INPUTS);
        let outputs = match dir {
            Direction::Encrypt => encryption,
            Direction::Decrypt => decryption,
        };
        let mut state = vec![(0.0, 0.0); CIPHERTEXTS];
        let mut seen = Vec::new();
        for _ in 0..rounds {
            let mut next = Vec::with_capacity(CIPHERTEXTS);
            for column in 0..4 {
                let inputs = (0..INPUTS).map(|i| {
                    let byte = shift_source(dir, byte_index(i / 8, column));
                    state[8 * byte + i % 8]
                });
                let mut inputs = inputs.collect::<Vec<Complex>>().into_iter();
                let mut atoms: Vec<Complex> = Vec::with_capacity(self.atoms.len());
                for atom in 0..self.atoms.len() {
                    let carried = match self.carried(atom) {
                        Some(pairs) => value(pairs, ratios, &atoms),
                        None if self.is_state(atom) => inputs.next().expect("as many as inputs"),
                        None => (0.0, 0.0),
                    };
                    let fresh = normal(rng, fresh(atom));
                    atoms.push((fresh.0 + carried.0, fresh.1 + carried.1));
                }
                next.extend(outputs.iter().map(|pairs| value(pairs, ratios, &atoms)));
            }
            state = next;
            seen.extend(state.iter().map(|z| z.0.hypot(z.1)));
        }
        seen
    }
}
