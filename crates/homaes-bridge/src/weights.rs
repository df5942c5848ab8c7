//! Functionals that read a slot with as little noise as possible.
//!
//! A plane of bits is a polynomial ν whose slots are numbers modulo t = 2^k: ν = Σ b_i ε_i modulo t with the
//! idempotents ε_i of the slots. So λ(ν) = b for every integer functional λ with λ(ε_i) = 1 at one slot and 0 at the
//! others, modulo t. One such λ takes coefficient c of ε·ν over that of ε, where ε is the slot's idempotent.
//!
//! Many others have less noise. ν is fixed by Frobenius modulo t, so only the sums of weights over Frobenius orbits
//! matter, modulo t. The noise of a reading is Σ_j D_j μ_j over the embeddings, with D the dual embedding of the
//! weights: Σ_i w_i x_i = Σ_j D_j x(ω_j). Its energy Σ|D_j|² is w·G⁻¹w with G⁻¹ = ⊗_r (I + J)/r over the primes r of m
//! (J: all ones): a sum, over all subsets of the axes, of squared sums along them. [`settle`] spreads the weights over
//! each orbit, then moves units within orbits and ±t over whole ones as long as the energy falls. It ends near the
//! least energy that single weights allow, where all sums along axes nearly vanish.

use homaes_bgv::{Descent, Params};
use homaes_math::embed::squared_magnitudes;
use homaes_math::{GaloisMap, Modulus, Ring, Transform, Words};
use homaes_rns::Poly;

/// Most passes over all orbits.
const PASSES: usize = 6;
/// Most moves within an orbit in one pass.
const MOVES: usize = 64;

/// A functional that reads the first slot of a class modulo t; translations of it read the others.
pub(crate) struct Functional {
    /// D, canonical and plain: its products with stored residues are plain
    pub(crate) dual: Poly,
    /// |D_j| at all embeddings
    pub(crate) magnitudes: Vec<f64>,
    /// variance of a reading over that of the noise at an embedding, for noise that consists of products of two
    /// polynomials with independent coefficients
    pub(crate) of_products: f64,
    /// the same for squares of such products
    pub(crate) of_squares: f64,
}

impl Functional {
    /// The functional of slot (class, 0, 0, 0) modulo 2^`log2_t`, for numbers times the odd `factor`.
    pub(crate) fn new(
        params: &Params,
        descent: &Descent<'_>,
        class: usize,
        log2_t: u32,
        factor: u64,
    ) -> Self {
        let (ring, transform) = (params.ring(), descent.transform());
        let t = 1 << log2_t;
        let mut w = raw(params, transform, class, log2_t);
        let inverse = inverse((factor % (t as u64)) as i64, t);
        w.iter_mut().for_each(|w| *w = wrap(*w * inverse, t));
        settle(ring, &mut w, t);
        let m = transform.modulus();
        let mut dual = words(m, &w);
        transform.inverse(&mut dual);
        for d in dual.iter_mut() {
            *d = m.from_stored(m.canonical(*d));
        }
        let sums = Sums::new(ring, &w);
        let gradient: Vec<i64> = (0..w.len()).map(|i| sums.gradient(i)).collect();
        let unit = ring.m() as f64;
        let balanced: Vec<f64> = gradient.iter().map(|&g| g as f64 / unit).collect();
        let squares = squared_magnitudes(ring, &balanced);
        let sums = Sums::new(ring, &gradient);
        Self {
            dual: Poly {
                limbs: vec![dual].into(),
            },
            magnitudes: squares.iter().map(|x| x.sqrt()).collect(),
            of_products: sums.correlated(2) / (unit * unit),
            of_squares: sums.correlated(4) / (unit * unit),
        }
    }
}

fn words(m: &Modulus, x: &[i64]) -> Words {
    let mut out = Words::scratch(x.len());
    for (o, &x) in out.iter_mut().zip(x) {
        *o = m.to_stored(m.from_signed(x));
    }
    out
}

/// x modulo t, from -t/2 to t/2 - 1.
fn wrap(x: i64, t: i64) -> i64 {
    (x + t / 2).rem_euclid(t) - t / 2
}

/// The inverse of an odd number modulo `t`.
fn inverse(x: i64, t: i64) -> i64 {
    let mut odd = (1..t).step_by(2);
    odd.find(|u| (u * x).rem_euclid(t) == 1).unwrap_or(1)
}

/// Centred integer of a canonical plain residue.
fn centred(m: &Modulus, x: u64) -> i64 {
    match x > m.p() / 2 {
        true => x as i64 - m.p() as i64,
        false => x as i64,
    }
}

/// Centred integers modulo t from stored lazy residues of integers below p/2.
fn integers(m: &Modulus, x: &[u64], t: i64) -> Vec<i64> {
    let integer = |&x| wrap(centred(m, m.from_stored(m.canonical(x))), t);
    x.iter().map(integer).collect()
}

/// The idempotent of a slot modulo 2^`log2_t`: modulo 2 from the encoding of 1, then by squarings, as bits are lifted.
fn idempotent(params: &Params, transform: &Transform, class: usize, log2_t: u32) -> Vec<i64> {
    let (slots, m) = (params.slots(), transform.modulus());
    let mut bytes = vec![0; slots.count()];
    bytes[slots.slot(class, [0; 3])] = 1;
    let mut bits = vec![0; params.ring().n()];
    slots.encode(&bytes, &mut bits);
    let mut out: Vec<i64> = bits.iter().map(|&b| b as i64).collect();
    for _ in 1..log2_t {
        let mut values = words(m, &out);
        transform.forward(&mut values);
        for v in values.iter_mut() {
            let x = m.canonical(*v);
            *v = m.mul_stored(x, x);
        }
        transform.inverse(&mut values);
        out = integers(m, &values, 1 << log2_t);
    }
    out
}

/// The functional "coefficient c of ε·ν over that of ε", for the first odd coefficient of ε.
fn raw(params: &Params, transform: &Transform, class: usize, log2_t: u32) -> Vec<i64> {
    let (n, m, t) = (params.ring().n(), transform.modulus(), 1i64 << log2_t);
    let e = idempotent(params, transform, class, log2_t);
    let c = e.iter().position(|x| x % 2 != 0).unwrap_or(0);
    let inverse = inverse(e[c], t);
    let mut values = words(m, &e);
    transform.forward(&mut values);
    // the dual embedding of coefficient c is its inverse transform, as the transform is symmetric
    let mut w = Words::zeroed(n);
    w[c] = m.to_stored(1);
    transform.inverse(&mut w);
    for (w, v) in w.iter_mut().zip(values.iter()) {
        *w = m.mul_stored(m.canonical(*w), m.canonical(*v));
    }
    transform.forward(&mut w);
    let w = integers(m, &w, t);
    w.iter().map(|w| wrap(w * inverse, t)).collect()
}

/// Orbits of coefficients under Frobenius.
fn orbits(ring: &Ring) -> Vec<Vec<usize>> {
    let sigma: GaloisMap = ring.frobenius(1);
    let mut seen = vec![false; ring.n()];
    let mut out = Vec::new();
    for start in 0..ring.n() {
        let mut orbit = Vec::new();
        let mut at = start;
        while !seen[at] {
            seen[at] = true;
            orbit.push(at);
            at = sigma.coefficient_source(ring, at);
        }
        if !orbit.is_empty() {
            out.push(orbit);
        }
    }
    out
}

struct Sums<'r> {
    ring: &'r Ring,
    /// axes longer than one
    axes: Vec<usize>,
    /// per subset of `axes`: the sum at every position, stored where the summed coordinates are 0
    subsets: Vec<Vec<i64>>,
}

impl<'r> Sums<'r> {
    fn new(ring: &'r Ring, w: &[i64]) -> Self {
        let lens = ring.lens();
        let axes: Vec<usize> = (0..lens.len()).filter(|&a| lens[a] > 1).collect();
        let mut out = Self {
            ring,
            subsets: vec![vec![0; w.len()]; 1 << axes.len()],
            axes,
        };
        for (i, &w) in w.iter().enumerate().filter(|t| *t.1 != 0) {
            out.add(i, w);
        }
        out
    }

    /// Positions of coefficient `i` in the sums of all subsets.
    fn places(&self, i: usize) -> [usize; 16] {
        let e = self.ring.coordinates(i);
        let [_, cols, n3, n5] = self.ring.lens();
        let strides = [cols * n3 * n5, n3 * n5, n5, 1];
        let mut out = [i; 16];
        for subset in 1..self.subsets.len() {
            // from the subset without its highest axis
            let highest = subset.ilog2() as usize;
            let axis = self.axes[highest];
            out[subset] = out[subset - (1 << highest)] - e[axis] * strides[axis];
        }
        out
    }

    fn add(&mut self, i: usize, by: i64) {
        let places = self.places(i);
        for (sums, place) in self.subsets.iter_mut().zip(places) {
            sums[place] += by;
        }
    }

    /// Σ_jk D_j D̄_k C_jk^`power` for even `power`, with D_j = Σ_i u_i ω_i(j) for the weights u of these sums. C_jk is
    /// the correlation of values at embeddings j and k of polynomials with independent coefficients: Π -1/(r - 1) over
    /// the primes r modulo which these differ.
    ///
    /// Along an axis C^power = (1 - ε)I + εJ with ε = (r - 1)^-power, Σ_j |D_j|² is r·Σu² - (Σu)², and |Σ_j D_j|² is
    /// (Σu)².
    fn correlated(&self, power: i32) -> f64 {
        let lens = self.ring.lens();
        let terms = self.subsets.iter().enumerate().map(|(subset, sums)| {
            let factors = self.axes.iter().enumerate().map(|(bit, &axis)| {
                let r = (lens[axis] + 1) as f64;
                let epsilon = (r - 1.0).powi(-power);
                match subset >> bit & 1 {
                    0 => (1.0 - epsilon) * r,
                    _ => 2.0 * epsilon - 1.0,
                }
            });
            let square: f64 = sums.iter().map(|&x| (x as f64).powi(2)).sum();
            factors.product::<f64>() * square
        });
        terms.sum()
    }

    /// m·(G⁻¹w)_i.
    fn gradient(&self, i: usize) -> i64 {
        let places = self.places(i);
        let sums = self.subsets.iter().zip(places);
        sums.map(|(sums, place)| sums[place]).sum()
    }

    /// m·G⁻¹_ij.
    fn between(&self, i: usize, j: usize) -> i64 {
        let (a, b) = (self.ring.coordinates(i), self.ring.coordinates(j));
        let axes = self.axes.iter();
        axes.map(|&x| if a[x] == b[x] { 2 } else { 1 }).product()
    }
}

/// Lowers the energy of the weights; they read the same modulo `t`.
fn settle(ring: &Ring, w: &mut [i64], t: i64) {
    let orbits = orbits(ring);
    for orbit in &orbits {
        let sum = wrap(orbit.iter().map(|&i| w[i]).sum::<i64>(), t);
        let len = orbit.len() as i64;
        let (each, more) = (sum / len, sum % len);
        for (k, &i) in orbit.iter().enumerate() {
            w[i] = each + more.signum() * i64::from((k as i64) < more.abs());
        }
    }
    let mut sums = Sums::new(ring, w);
    for _ in 0..PASSES {
        let moves: usize = orbits
            .iter()
            .map(|orbit| shift(&mut sums, w, orbit, t) + exchange(&mut sums, w, orbit))
            .sum();
        if moves == 0 {
            break;
        }
    }
}

/// Adds ±t to the sum of an orbit where this lowers the energy: evenly, or to one weight if the orbit's length does not
/// divide t. Returns the number of moves.
fn shift(sums: &mut Sums<'_>, w: &mut [i64], orbit: &[usize], t: i64) -> usize {
    let len = orbit.len() as i64;
    let (parts, unit): (Vec<&[usize]>, i64) = match t % len {
        0 => (vec![orbit], t / len),
        _ => (orbit.chunks(1).collect(), t),
    };
    let mut moves = 0;
    for part in parts {
        let gradient: i64 = part.iter().map(|&i| sums.gradient(i)).sum();
        let pairs = part.iter().flat_map(|&i| part.iter().map(move |&j| (i, j)));
        let own: i64 = pairs.map(|(i, j)| sums.between(i, j)).sum();
        let lower = |by: &i64| 2 * by * gradient + by * by * own < 0;
        if let Some(by) = [-unit, unit].into_iter().find(lower) {
            for &i in part {
                sums.add(i, by);
                w[i] += by;
            }
            moves += 1;
        }
    }
    moves
}

/// Moves units between weights of an orbit as long as this lowers the energy. Returns the number of moves.
fn exchange(sums: &mut Sums<'_>, w: &mut [i64], orbit: &[usize]) -> usize {
    for done in 0..MOVES {
        let gradient: Vec<i64> = orbit.iter().map(|&i| sums.gradient(i)).collect();
        let mut best = (0, 0, 0);
        for (a, &i) in orbit.iter().enumerate() {
            for (b, &j) in orbit.iter().enumerate().filter(|t| t.0 != a) {
                let own = sums.between(i, i) + sums.between(j, j) - 2 * sums.between(i, j);
                let change = 2 * (gradient[b] - gradient[a]) + own;
                if change < best.0 {
                    best = (change, i, j);
                }
            }
        }
        let (change, from, to) = best;
        if change == 0 {
            return done;
        }
        for (i, by) in [(from, -1), (to, 1)] {
            sums.add(i, by);
            w[i] += by;
        }
    }
    MOVES
}

#[cfg(test)]
mod tests {
    use super::*;
    use homaes_bgv::sets;
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    #[test]
    #[ignore = "nightly: two seconds"]
    fn nightly_weights_settle_at_full_size() {
        let params = Params::new(&sets::AES192).unwrap();
        let transform = params.descent_transform();
        let ring = params.ring();
        let energy = |w: &[i64]| {
            let sums = Sums::new(ring, w);
            let products = w.iter().enumerate().map(|(i, w)| w * sums.gradient(i));
            0.5 * (products.sum::<i64>() as f64 / ring.m() as f64).log2()
        };
        for log2_t in [1, 5] {
            let t = 1 << log2_t;
            for class in 0..2 {
                let mut w = raw(&params, transform, class, log2_t);
                let mut single = vec![0; w.len()];
                for orbit in orbits(ring) {
                    single[orbit[0]] = wrap(orbit.iter().map(|&i| w[i]).sum(), t);
                }
                settle(ring, &mut w, t);
                let found = [&single, &w].map(|w| energy(w));
                println!("t = {t}, class {class}: 2^ {found:.2?}");
                assert!(found[1] < 0.9 && found[1] < found[0] - 1.0);
                let f = Functional::new(&params, &Descent::new(&params, 2), class, log2_t, 1);
                let independent = (2.0 * found[1]).exp2();
                let factors = [f.of_products, f.of_squares].map(|x| x / independent);
                println!("correlation of products and squares: {factors:.3?}");
                assert!(factors.iter().all(|x| (1.0..1.5).contains(x)));
            }
        }
    }

    /// Readings of products of random polynomials have the derived variance.
    #[test]
    fn the_energy_is_the_noise() {
        for set in [&sets::TOY_255, &sets::TOY_4369] {
            let params = Params::new(set).unwrap();
            let descent = Descent::new(&params, 2);
            let (ring, transform) = (params.ring(), descent.transform());
            let (n, m) = (ring.n(), transform.modulus());
            for log2_t in [1, 5] {
                let f = Functional::new(&params, &descent, 0, log2_t, 1);
                let mut rng = ChaCha20Rng::from_seed([7; 32]);
                let mut draw = || {
                    let small = |_| i64::from(rng.next_u32() % 65) - 32;
                    let mut x = words(m, &(0..n).map(small).collect::<Vec<i64>>());
                    transform.forward(&mut x);
                    x.iter_mut().for_each(|x| *x = m.canonical(*x));
                    x
                };
                let trials = 200;
                let mut sum = 0.0;
                for _ in 0..trials {
                    let (a, b) = (draw(), draw());
                    let read = (0..n).fold(0, |sum, k| {
                        m.add(
                            sum,
                            m.mul_stored(f.dual.limbs[0][k], m.mul_stored(a[k], b[k])),
                        )
                    });
                    let read = centred(m, read) as f64;
                    sum += read * read;
                }
                let variance = (65.0 * 65.0 - 1.0) / 12.0;
                let embedding = (n as f64 * variance).powi(2);
                let measured = 0.5 * (sum / f64::from(trials) / embedding).log2();
                let energy = 0.5 * f.of_products.log2();
                println!(
                    "{log2_t} {}: measured 2^{measured:.2}, energy 2^{energy:.2}",
                    ring.m()
                );
                assert!((measured - energy).abs() < 0.15);
                // without `settle` it is 2^2.8
                assert!(energy < 1.2, "{energy}");
            }
        }
    }
}
