//! Relinearisation merged with the modulus switch: `c ↦ Σ_j d_j(c) ζ_j`, divided by P and the dropped primes.
//!
//! With ζ_j = h s_j + 2e_j + P G_j f and Σ d_j(c) G_j = c, the sum decrypts under f to P f² c and an even error. Prime
//! by prime, dropped ones first, so that every other sum becomes final while it is in the cache.
//!
//! Cost with L source, K special and L' target primes, D digits, and d dropped primes: D(L + K) + K + L' + d
//! transforms. `groups` is faster for sets whose digits are single primes.

use super::{Residues, Rns};
use crate::rns::limb::Limb;
use homaes_math::transform::Source;
use homaes_math::{Words, kernel};
use homaes_rns::{Axes, Coefficients, Meter, ScaledRemainder, Stage, SwitchPlan};

/// Digits extended together: their words and the sum stay in the second-level cache.
const GROUP: usize = 2;

struct Job<'a> {
    rns: &'a Rns,
    meter: &'a Meter,
    key: &'a [&'a Residues],
    plan: &'a SwitchPlan,
    /// the product times (P/P_l)⁻¹
    limbs: Vec<Words>,
    coefficients: Coefficients,
}

impl Rns {
    pub(super) fn relinearize_one(
        &self,
        meter: &Meter,
        key: &[&Residues],
        level: usize,
        product: Residues,
    ) -> Residues {
        let (plan, ring) = (self.plan(level), self.context.ring());
        let limbs = product.limbs.into_iter().map(|l| l.into_words(ring));
        let mut limbs: Vec<Words> = limbs.collect();
        if !plan.all_special {
            for ((limb, &c), &i) in limbs.iter_mut().zip(&plan.scale).zip(&plan.from) {
                kernel::scale_canonical(ring, self.context.modulus(i), c, limb);
            }
        }
        let words = limbs.iter().zip(&plan.from).enumerate();
        let words = words.map(|(at, (limb, &i))| {
            let (from, mut words) = (Source::Limb(limb), Words::scratch(ring.n()));
            Coefficients::words_of(
                &self.context,
                meter,
                &plan.digits,
                (at, i),
                from,
                &mut words,
            );
            words
        });
        let coefficients = Coefficients::new(&self.context, meter, words.collect(), &plan.digits);
        let job = Job {
            rns: self,
            meter,
            key,
            plan,
            limbs,
            coefficients,
        };
        job.run()
    }
}

impl Job<'_> {
    fn run(&self) -> Residues {
        let (context, meter, down) = (&self.rns.context, self.meter, &self.plan.down);
        let n = context.ring().n();
        let mut buffers = [(); GROUP].map(|()| Words::scratch(n));
        let dropped = down.dropped().iter().enumerate().map(|(k, &at)| {
            let mut limb = Words::scratch(n);
            self.sum(at, &mut buffers, &mut limb);
            down.start(context, meter, k, &mut limb);
            limb
        });
        let dropped = dropped.collect();
        let division = ScaledRemainder::new(context, meter, down, dropped);
        let mut sum = Words::scratch(n);
        let limbs = down.to().iter().enumerate().map(|(j, &i)| {
            if let Some(at) = down.source(j) {
                self.sum(at, &mut buffers, &mut sum);
            }
            let mut out = Words::scratch(n);
            division.remainders(context, meter, down, j..j + 1, &mut [&mut out[..]]);
            down.finish(context, meter, j, &sum, &mut out);
            Limb::of(self.rns.variant, context.ring(), context.modulus(i), out)
        });
        limbs.collect()
    }

    /// Σ d_j ζ_j modulo the `at`-th prime of the extended basis.
    fn sum(&self, at: usize, buffers: &mut [Words; GROUP], out: &mut Words) {
        let (context, plan) = (&self.rns.context, self.plan);
        let prime = plan.extended[at];
        let digits: Vec<usize> = (0..plan.digits.len()).collect();
        for (group, numbers) in digits.chunks(GROUP).enumerate() {
            for (buffer, &number) in buffers.iter_mut().zip(numbers) {
                let digit = &plan.digits[number];
                if !digit.owns(at) {
                    let places = [(at, prime)];
                    let out = &mut [&mut buffer[..]];
                    let places = (&places[..], Axes::All);
                    digit.extend(context, self.meter, places, &self.coefficients, number, out);
                }
            }
            let terms = buffers.iter().zip(numbers).map(|(buffer, &number)| {
                let digit = &plan.digits[number];
                // a digit modulo its own prime is the element's limb
                let own = digit.owns(at);
                let x: &[u64] = if own { &self.limbs[at] } else { buffer };
                (x, &self.key[digit.number].limbs[prime])
            });
            let terms: Vec<(&[u64], &Limb)> = terms.collect();
            let m = context.modulus(prime);
            self.meter.time(Stage::InnerProduct, || {
                Limb::dot(context.ring(), m, &terms, group > 0, out);
            });
        }
    }
}
