//! Integers modulo π = Π p_j² and their remainders, by a product tree. Branches and addresses depend on no secret but
//! the lengths of products of primes.

use crate::prime::{Prime, Secret};
use homaes_math::Backend;
use homaes_math::integer::{Convolution, Form, Reducer, Spectrum, product};
use homaes_math::natural::{self, bit_length, words_of};
use zeroize::{Zeroize, Zeroizing};

const LEAF: usize = 8;
/// Below this many words, schoolbook multiplication is faster.
const SHORT: usize = 200;

pub(crate) struct Crt {
    primes: Vec<Prime>,
    root: Node,
}

struct Node {
    reducer: Reducer,
    below: Below,
}

enum Below {
    Leaf {
        first: usize,
        /// products of the squares of the other primes of the leaf
        cofactors: Vec<Secret>,
        /// 2^(64·words) mod p, for the words of the leaf
        scales: Vec<Secret>,
    },
    Nodes {
        halves: Box<[Node; 2]>,
        /// transforms of the halves' products, for long ones
        spectra: Option<Box<(Convolution, [Spectrum; 2])>>,
    },
}

impl Crt {
    /// Builds the tree; fails with the index of a prime that is not coprime to another.
    pub(crate) fn new(primes: Vec<Prime>, backend: Backend) -> Result<Self, usize> {
        let leaves = primes.len().div_ceil(LEAF);
        let mut crt = Self {
            root: Node::new(&primes, 0, primes.len(), leaves, backend),
            primes,
        };
        let cofactors = crt.cofactors();
        for (number, (prime, cofactor)) in crt.primes.iter_mut().zip(&cofactors).enumerate() {
            prime.set_cofactor(cofactor).ok_or(number)?;
        }
        Ok(crt)
    }

    pub(crate) fn primes(&self) -> &[Prime] {
        &self.primes
    }

    pub(crate) fn modulus(&self) -> &Reducer {
        &self.root.reducer
    }

    /// π/p_j² modulo p_j², for every j.
    fn cofactors(&self) -> Vec<Secret> {
        // along the tree, which needs no numbers longer than its nodes
        let mut out = Vec::with_capacity(self.primes.len());
        let one = Zeroizing::new(vec![1]);
        self.root.cofactors(&self.primes, &one, &mut out);
        out
    }

    /// A number below ℓ·π that is `targets[j]`, below p_j², modulo each p_j².
    pub(crate) fn combine(&self, targets: &[Secret]) -> Secret {
        let parts = self.primes.iter().zip(targets);
        let parts: Vec<Secret> = parts.map(|(p, t)| p.times_inverse_cofactor(t)).collect();
        self.root.combine(&parts)
    }

    /// a mod p_j for every j; a < π.
    pub(crate) fn remainders(&self, a: &[u64]) -> Vec<Secret> {
        let mut out = Vec::with_capacity(self.primes.len());
        self.root.remainders(&self.primes, a, &mut out);
        out
    }

    /// a mod p_j² for every j; a < π. Slow.
    pub(crate) fn remainders_of_squares(&self, a: &[u64]) -> Vec<Vec<u64>> {
        let squares = self
            .primes
            .iter()
            .map(|p| Reducer::new(p.square(), Backend::Portable));
        squares.map(|square| square.reduce(a)).collect()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.reducer.zeroize();
        if let Below::Nodes {
            spectra: Some(spectra),
            ..
        } = &mut self.below
        {
            spectra.1.iter_mut().for_each(Zeroize::zeroize);
        }
    }
}

impl Node {
    fn new(primes: &[Prime], first: usize, end: usize, leaves: usize, backend: Backend) -> Self {
        if leaves <= 1 {
            return Self::leaf(primes, first, end, backend);
        }
        let middle = first + (end - first) / 2;
        let left = Self::new(primes, first, middle, leaves / 2, backend);
        let right = Self::new(primes, middle, end, leaves.div_ceil(2), backend);
        let [a, b] = [&left, &right].map(|node| node.reducer.modulus());
        let modulus = Zeroizing::new(product(a, b, backend));
        let spectra = (modulus.len() > SHORT).then(|| {
            // sums exceed the modulus by up to two words
            let bits = 64 * (modulus.len() + 4);
            let shorter = a.len().max(b.len()) + 2;
            let c = Convolution::new(bits, 2 * (64 * shorter / 52 + 1), backend);
            let spectra = [a, b].map(|m| c.forward(m, Form::Stored));
            Box::new((c, spectra))
        });
        Self {
            reducer: Reducer::new(&modulus, backend),
            below: Below::Nodes {
                halves: Box::new([left, right]),
                spectra,
            },
        }
    }

    fn leaf(primes: &[Prime], first: usize, end: usize, backend: Backend) -> Self {
        let own = &primes[first..end];
        let all_but = |without: Option<usize>| {
            let others = own.iter().enumerate().filter(|(i, _)| Some(*i) != without);
            others.fold(Zeroizing::new(vec![1]), |all: Secret, (_, p)| {
                Zeroizing::new(product(&all, p.square(), backend))
            })
        };
        let reducer = Reducer::new(&all_but(None), backend);
        let words = reducer.modulus().len();
        Self {
            below: Below::Leaf {
                first,
                cofactors: (0..own.len()).map(|i| all_but(Some(i))).collect(),
                scales: own.iter().map(|p| p.scale_of_words(words)).collect(),
            },
            reducer,
        }
    }

    fn cofactors(&self, primes: &[Prime], outside: &[u64], out: &mut Vec<Secret>) {
        match &self.below {
            Below::Leaf {
                first, cofactors, ..
            } => {
                for (prime, own) in primes[*first..].iter().zip(cofactors) {
                    let square = Reducer::new(prime.square(), Backend::Portable);
                    let [own, outside] = [own, outside].map(|x| Zeroizing::new(square.reduce(x)));
                    let all = Zeroizing::new(product(&own, &outside, Backend::Portable));
                    out.push(Zeroizing::new(square.reduce(&all)));
                    drop(Zeroizing::new(square));
                }
            }
            Below::Nodes { halves, .. } => {
                let [left, right] = &**halves;
                for (node, other) in [(left, right), (right, left)] {
                    // reduced modulo the node, which all squares below divide
                    let other = Zeroizing::new(node.reducer.reduce(other.reducer.modulus()));
                    let outside = Zeroizing::new(node.reducer.reduce(outside));
                    let both = Zeroizing::new(product(&other, &outside, node.reducer.backend()));
                    let both = Zeroizing::new(node.reducer.reduce(&both));
                    node.cofactors(primes, &both, out);
                }
            }
        }
    }

    fn combine(&self, parts: &[Secret]) -> Secret {
        let words = self.reducer.modulus().len() + 2;
        match &self.below {
            Below::Leaf {
                first, cofactors, ..
            } => {
                let mut out = Zeroizing::new(vec![0; words]);
                for (part, cofactor) in parts[*first..].iter().zip(cofactors) {
                    natural::add_products(&mut out, cofactor, part);
                }
                out
            }
            Below::Nodes { halves, spectra } => {
                let [left, right] = halves.each_ref().map(|half| half.combine(parts));
                let mut out = Zeroizing::new(vec![0; words]);
                match spectra.as_deref() {
                    None => {
                        natural::add_products(&mut out, &left, halves[1].reducer.modulus());
                        natural::add_products(&mut out, &right, halves[0].reducer.modulus());
                    }
                    Some((c, [of_left, of_right])) => {
                        let mut sum = c.forward(&left, Form::Plain);
                        c.multiply_assign(&mut sum, of_right);
                        let mut other = c.forward(&right, Form::Plain);
                        c.multiply_add(&other, of_left, &mut sum);
                        other.zeroize();
                        c.inverse(sum, 0, &mut out);
                    }
                }
                out
            }
        }
    }

    fn remainders(&self, primes: &[Prime], a: &[u64], out: &mut Vec<Secret>) {
        match &self.below {
            Below::Leaf { first, scales, .. } => {
                for (prime, scale) in primes[*first..].iter().zip(scales) {
                    out.push(prime.remainder(a, scale));
                }
            }
            Below::Nodes { halves, .. } => {
                for half in halves.iter() {
                    let own = Zeroizing::new(half.reducer.reduce(a));
                    half.remainders(primes, &own, out);
                }
            }
        }
    }
}

pub(crate) fn has_bits(a: &[u64], bits: usize) -> bool {
    bit_length(a) == bits && a.len() == words_of(bits)
}
