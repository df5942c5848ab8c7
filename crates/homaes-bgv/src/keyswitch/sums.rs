//! Sums of polynomials: images of pieces times keys, and addends times constants.

use super::pass::{Group, Work, pairs};
use super::{Pass, SwitchKey};
use homaes_math::kernel::{self, RowTerm, Term};
use homaes_math::transform::Source;
use homaes_math::{GaloisMap, Words};
use homaes_rns::{Axes, Fault, Poly, Stage};

/// Sums over the source basis of a plan.
#[derive(Clone, Copy)]
pub struct Sums<'a> {
    /// The common shape of the sums.
    pub shape: &'a Shape<'a>,
    /// The polynomials of each sum.
    pub outputs: &'a [Summands<'a>],
    /// Applied to the sums before the division.
    pub post: Post<'a>,
}

/// The common shape of a pass's sums: the keys that pieces meet, and how addends enter.
pub struct Shape<'a> {
    /// Per piece d, each (σ, key) of `Σ σ(d)·key`.
    pub uses: Vec<Vec<(&'a GaloisMap, &'a SwitchKey)>>,
    /// The addends' maps and constants.
    pub addends: Vec<Addend<'a>>,
    /// Whether pieces must still be multiplied by the plan's `scale`.
    pub unscaled: bool,
}

/// How a polynomial is added without a key: its image under `map` times a constant of Z\[ζ_17\]. It is 0 modulo special
/// primes, because the constants contain P_l.
#[derive(Clone, Copy)]
pub struct Addend<'a> {
    /// The automorphism.
    pub map: &'a GaloisMap,
    /// Stored constants per row, per prime of the source basis.
    pub by_row: &'a [Vec<u64>],
    /// Whether it is added to the second polynomial of the output.
    pub second: bool,
}

/// The polynomials of one sum, over the plan's source basis.
pub struct Summands<'a> {
    /// Key-switched; already multiplied by the plan's `scale` unless the shape says otherwise.
    pub pieces: Vec<&'a Poly>,
    /// Added, times their constants.
    pub addends: Vec<&'a Poly>,
}

/// Last step on the sums of a pass, before the division.
#[derive(Clone, Copy)]
pub enum Post<'a> {
    /// Nothing.
    None,
    /// P_l times a ciphertext of the source level is added to each output.
    Keys(&'a [&'a [Poly; 2]]),
    /// Each four outputs go through MixColumns, where these exponents of ζ_17 sum to "2"; then as `Keys`.
    MixKeys(&'a [u8], &'a [&'a [Poly; 2]]),
}

impl Sums<'_> {
    pub(crate) fn fetch(&self) -> Result<(), Fault> {
        let own = self
            .outputs
            .iter()
            .flat_map(|o| o.pieces.iter().chain(&o.addends));
        own.copied().try_for_each(|p| p.limbs.fetch())?;
        let (Post::Keys(keys) | Post::MixKeys(_, keys)) = self.post else {
            return Ok(());
        };
        let keys = keys.iter().copied().flatten();
        keys.into_iter().try_for_each(|p| p.limbs.fetch())
    }

    pub(crate) fn run(&self, pass: &Pass<'_>) -> Vec<[Poly; 2]> {
        if let Post::MixKeys(two, keys) = self.post
            && self.outputs.len() > 4
        {
            let columns = self.outputs.chunks(4).zip(keys.chunks(4));
            let columns = columns.flat_map(|(outputs, keys)| {
                let post = Post::MixKeys(two, keys);
                let column = Sums {
                    outputs,
                    post,
                    ..*self
                };
                column.run(pass)
            });
            return columns.collect();
        }
        let spread = pass.spread && rayon::current_num_threads() > 1;
        if !self.shape.unscaled || pass.plan.all_special {
            return Group {
                pass,
                work: self,
                spread,
            }
            .run();
        }
        let scaled: Vec<Vec<Poly>> = self.outputs.iter().map(|o| o.scaled(pass)).collect();
        let outputs = self.outputs.iter().zip(&scaled);
        let outputs = outputs.map(|(output, scaled)| Summands {
            pieces: scaled.iter().collect(),
            addends: output.addends.clone(),
        });
        let outputs: Vec<Summands<'_>> = outputs.collect();
        let work = &Sums {
            outputs: &outputs,
            ..*self
        };
        Group { pass, work, spread }.run()
    }

    fn inner_product(
        &self,
        pass: &Pass<'_>,
        at: usize,
        digits_of: &[Vec<Words>],
        out: &mut [[&mut [u64]; 2]],
    ) {
        let (plan, shape) = (pass.plan, self.shape);
        let i = plan.extended[at];
        let digits = plan.digits.len();
        // per piece and digit: that limb of every output
        let sources: Vec<Vec<&[u64]>> = (0..shape.uses.len() * digits)
            .map(|k| {
                let own = plan.digits[k % digits].owns(at);
                let outputs = self.outputs.iter().zip(digits_of);
                let limbs = outputs.map(|(output, digit)| match own {
                    true => &*output.pieces[k / digits].limbs[at],
                    false => &*digit[k],
                });
                limbs.collect()
            })
            .collect();
        let terms: Vec<Term<'_>> = sources
            .iter()
            .enumerate()
            .flat_map(|(k, sources)| {
                let number = plan.digits[k % digits].number;
                shape.uses[k / digits].iter().map(move |&(map, key)| Term {
                    sources,
                    map,
                    key: key.digits(plan)[number].each_ref().map(|p| &p.limbs()[i]),
                })
            })
            .collect();
        let count = if at < plan.from.len() {
            shape.addends.len()
        } else {
            0
        };
        let added: Vec<Vec<&[u64]>> = (0..count)
            .map(|k| {
                let outputs = self.outputs.iter();
                outputs.map(|o| &*o.addends[k].limbs[at]).collect()
            })
            .collect();
        let rows: Vec<RowTerm<'_>> = added
            .iter()
            .zip(&shape.addends)
            .map(|(sources, a)| RowTerm {
                sources,
                map: a.map,
                by_row: &a.by_row[at],
                second: a.second,
            })
            .collect();
        let readings = kernel::key_readings(self.outputs.len());
        pass.meter.reads_keys(2 * terms.len() * readings);
        let (ring, m) = (pass.params.ring(), pass.params.modulus(i));
        let (first, rest) = terms.split_at(terms.len().min(kernel::MAX_TERMS - rows.len()));
        kernel::inner_product(ring, m, first, &rows, out);
        // keys of many digits exceed one reduction
        for terms in rest.chunks(kernel::MAX_TERMS) {
            let mut more = Poly::scratch(ring.n(), 2 * out.len()).limbs;
            let mut sums = pairs(&mut more);
            kernel::inner_product(ring, m, terms, &[], &mut sums);
            for (out, sum) in out.iter_mut().flatten().zip(sums.iter().flatten()) {
                kernel::scale_add(ring, m, sum, m.shoup(1), out);
            }
        }
    }
}

impl Summands<'_> {
    fn scaled(&self, pass: &Pass<'_>) -> Vec<Poly> {
        let (params, plan) = (pass.params, pass.plan);
        let scaled = |piece: &&Poly| {
            let mut out = Poly::clone(piece);
            for ((limb, &i), &c) in out.limbs.iter_mut().zip(&plan.from).zip(&plan.scale) {
                pass.meter.time(Stage::Elementwise, || {
                    kernel::scale_canonical(params.ring(), params.modulus(i), c, limb);
                });
            }
            out
        };
        self.pieces.iter().map(scaled).collect()
    }
}

impl Work for Sums<'_> {
    const AXES: Axes = Axes::All;

    fn outputs(&self) -> usize {
        self.outputs.len()
    }

    fn pieces(&self) -> usize {
        self.shape.uses.len()
    }

    fn words(&self, pass: &Pass<'_>, output: usize, piece: usize, at: usize) -> Words {
        let limb = &self.outputs[output].pieces[piece].limbs[at];
        pass.words(at, Source::Limb(limb))
    }

    fn sums(
        &self,
        pass: &Pass<'_>,
        at: usize,
        digits: &mut [Vec<Words>],
        out: &mut [[&mut [u64]; 2]],
    ) {
        pass.meter.time(Stage::InnerProduct, || {
            self.inner_product(pass, at, digits, out)
        });
        if let Post::MixKeys(two, _) = self.post {
            mix(pass, at, out, two);
        }
        if let Post::Keys(keys) | Post::MixKeys(_, keys) = self.post {
            add_keys(pass, at, out, keys);
        }
    }
}

fn mix(pass: &Pass<'_>, at: usize, sums: &mut [[&mut [u64]; 2]], two: &[u8]) {
    let [s0, s1, s2, s3] = sums else { return };
    let t = pass.params.transform(pass.plan.extended[at]);
    let m = t.modulus();
    let two: Vec<_> = t.row_values(two).into_iter().map(|v| m.shoup(v)).collect();
    for part in 0..2 {
        let column = [&mut *s0, &mut *s1, &mut *s2, &mut *s3].map(|s| &mut *s[part]);
        pass.meter.time(Stage::Elementwise, || {
            kernel::mix_column(pass.params.ring(), m, &two, column);
        });
    }
}

/// Adds P_l times `keys` modulo a prime of the source basis.
fn add_keys(pass: &Pass<'_>, at: usize, sums: &mut [[&mut [u64]; 2]], keys: &[&[Poly; 2]]) {
    let (params, plan) = (pass.params, pass.plan);
    if at >= plan.from.len() {
        return;
    }
    let i = plan.from[at];
    let m = params.modulus(i);
    let p = m.shoup(params.special_product(plan.special(), i));
    for (sum, key) in sums.iter_mut().zip(keys) {
        for (s, k) in sum.iter_mut().zip(*key) {
            pass.meter.time(Stage::Elementwise, || {
                kernel::scale_add(params.ring(), m, &k.limbs[at], p, s);
            });
        }
    }
}
