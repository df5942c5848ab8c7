//! First look at the bridge from BGV to TFHE: bit planes, lifted from modulo 2 to modulo 32 by four squarings, and read as LWE ciphertexts under a key of a
//! ring of degree n/16, with the noise of every step printed. A prototype, in plain loops.
//!
//! A ciphertext modulo t = 2^k is kept as its (t/2)^-1 multiple. Then the keys and the switches of t = 2 serve every t, because they add 2e and round to even
//! multiples, which are t·e and multiples of t of the ciphertext itself. A squaring takes t to 2t, and μ, the noise in these units, to μ²·t/4.
//!
//! A slot is read by a functional of the coefficients modulo t. Its weights may be spread over each orbit of Frobenius, and shifted by t: the noise is the
//! norm of the functional at the embeddings, which is least where the sums over axes vanish.
#![allow(
    clippy::too_many_lines,
    clippy::needless_range_loop,
    clippy::unnecessary_cast,
    reason = "a prototype"
)]

use super::*;
use crate::ciphertext::{Ciphertext, History};
use crate::keys::Target;
use crate::keyswitch::{Pass, Summands};
use crate::params::SwitchPlan;
use homaes_leveled::{Lowering, Meter, Poly};
use homaes_math::{Modulus, Ring, Transform, sample};

/// Dual basis of 1, x, …, x^7 under the trace of GF(2^8).
fn dual_basis() -> [u8; 8] {
    let trace = |x: u8| (0..8).fold(0, |s, k| s ^ gf256::frobenius(x, k)) & 1;
    core::array::from_fn(|j| {
        (1..=255u8)
            .find(|&b| (0..8).all(|i| trace(gf256::mul(b, 1 << i)) == u8::from(i == j)))
            .unwrap()
    })
}

struct Lifted {
    c: Ciphertext,
    /// log2 t
    t: u32,
}

fn planes(eval: &Evaluator<'_>, x: &Ciphertext) -> Vec<Ciphertext> {
    let params = eval.params();
    let circuit = Circuit::new(eval);
    let x = eval.entered(x).unwrap();
    let level = x.level();
    let plan = params.staying(level);
    let mut images = vec![x.clone()];
    for k in 1..8 {
        images.push(eval.image(&x, Target::Frobenius(k), plan).unwrap());
    }
    dual_basis()
        .map(|b| {
            let terms: Vec<(&Ciphertext, u8)> = images
                .iter()
                .enumerate()
                .map(|(k, c)| (c, gf256::frobenius(b, k as u32)))
                .collect();
            eval.mod_switch(&circuit.combine(&terms).unwrap()).unwrap()
        })
        .into()
}

fn square(f: &Fixture, eval: &Evaluator<'_>, x: &Lifted, plan: &SwitchPlan) -> Lifted {
    let params = &f.params;
    let mut y = x.c.clone();
    y.history = History::AES;
    let mut left = y.clone();
    let basis = params.basis(y.level);
    for part in &mut left.parts {
        for (limb, &i) in part.limbs.iter_mut().zip(basis) {
            let m = params.modulus(i);
            let u = match x.t {
                1 => m.inv(2),
                t => 1 << (t - 2),
            };
            let u = m.shoup(u);
            limb.iter_mut().for_each(|x| *x = m.scale(*x, u));
        }
    }
    let p = eval.tensor(&left, &y, 0, plan);
    let special = eval.special_constants(plan.special(), &plan.from, &[0]);
    let shape = eval.product_shape(0, plan, p.level, &special).unwrap();
    let mut pieces: Vec<&Poly> = p.parts.iter().collect();
    let addends = pieces.drain(..2).collect();
    let output = [Summands::Stored { pieces, addends }];
    let pass = eval.pass(plan, &shape, &output);
    let pass = Pass {
        spread: false,
        ..pass
    };
    let mut out = eval.finish(plan, pass.run(|_, _| ()), &[p.noise], 1);
    Lifted {
        c: out.pop().unwrap(),
        t: x.t + 1,
    }
}

/// The centred coefficients of ν modulo the level, as i128, of a normalised ciphertext: times t/2.
fn nu(f: &Fixture, x: &Lifted) -> Vec<f64> {
    let params = &f.params;
    let mut phase = f.secret.phase_for_tests(&x.c);
    for (limb, &i) in phase.limbs.iter_mut().zip(params.basis(x.c.level)) {
        let m = params.modulus(i);
        for v in limb.iter_mut() {
            *v = m.mul(*v, 1 << (x.t - 1));
        }
    }
    homaes_leveled::centred(params.pool(), params.basis(x.c.level), &phase).to_vec()
}

fn centre(m: &Modulus, x: u64) -> i64 {
    let x = m.canonical(m.canonical(x));
    if x > m.p() / 2 {
        x as i64 - m.p() as i64
    } else {
        x as i64
    }
}

fn wrap(x: i64, t: i64) -> i64 {
    (x + t / 2).rem_euclid(t) - t / 2
}

/// Weights in the normal basis of the functional that reads slot (class, 0, 0, 0) modulo 2^log2_t.
fn weights(params: &Params, class: usize, log2_t: u32, spread: bool) -> Vec<i64> {
    let ring = params.ring();
    let n = ring.n();
    let t = 1i64 << log2_t;
    let tr = params.transform(params.prime_count() - 1);
    let m = tr.modulus();
    let mut bytes = vec![0u8; params.slots().count()];
    bytes[params.slots().slot(class, [0, 0, 0])] = 1;
    let mut bits = vec![0u64; n];
    params.slots().encode(&bytes, &mut bits);
    let mut e: Vec<i64> = bits.iter().map(|&b| b as i64).collect();
    let evaluate = |e: &[i64]| {
        let mut v: Vec<u64> = e.iter().map(|&x| m.to_stored(m.from_signed(x))).collect();
        let mut w = homaes_math::Words::scratch(n);
        w.copy_from_slice(&v);
        tr.forward(&mut w);
        v.copy_from_slice(&w);
        v.iter_mut().for_each(|x| *x = m.canonical(*x));
        v
    };
    for _ in 1..log2_t {
        let v = evaluate(&e);
        let mut w = homaes_math::Words::scratch(n);
        for (w, v) in w.iter_mut().zip(&v) {
            *w = m.mul_stored(*v, *v);
        }
        tr.inverse(&mut w);
        for (e, w) in e.iter_mut().zip(w.iter()) {
            *e = wrap(centre(m, m.from_stored(*w)), t);
        }
    }
    // idempotent: e² = e
    let v = evaluate(&e);
    let i = e.iter().position(|x| x % 2 != 0).unwrap();
    let mut w = homaes_math::Words::zeroed(n);
    w[i] = m.to_stored(1);
    tr.inverse(&mut w);
    for (w, v) in w.iter_mut().zip(&v) {
        *w = m.mul_stored(m.canonical(*w), *v);
    }
    tr.forward(&mut w);
    // inverse of e[i] modulo t
    let u = (1..t)
        .step_by(2)
        .find(|u| (u * e[i]).rem_euclid(t) == 1)
        .unwrap();
    let w: Vec<i64> = w
        .iter()
        .map(|&x| wrap(centre(m, m.from_stored(x)) % t * u, t))
        .collect();
    // sums over orbits
    let sigma = ring.frobenius(1);
    let mut out = vec![0i64; n];
    let mut seen = vec![false; n];
    for start in 0..n {
        if seen[start] {
            continue;
        }
        let mut orbit = vec![];
        let mut at = start;
        while !seen[at] {
            seen[at] = true;
            orbit.push(at);
            at = sigma.coefficient_source(ring, at);
        }
        let sum = wrap(orbit.iter().map(|&i| w[i]).sum::<i64>(), t);
        if spread {
            let d = orbit.len() as i64;
            let (each, more) = (sum / d, sum % d);
            for (k, &i) in orbit.iter().enumerate() {
                out[i] = each
                    + if (k as i64) < more.abs() {
                        more.signum()
                    } else {
                        0
                    };
            }
        } else {
            out[orbit[0]] = sum;
        }
    }
    if spread {
        let before = energy(ring, &out);
        let start = std::time::Instant::now();
        settle(ring, &mut out, t);
        let sums = Sums::new(ring, &out);
        for (mask, s) in &sums.subsets {
            let e: f64 = s.iter().map(|&x| (x * x) as f64).sum();
            println!(
                "        subset {mask:04b}: 2^{:.2} in {} cells",
                e.log2(),
                s.iter().filter(|&&x| x != 0).count()
            );
        }
        println!("      total {}", out.iter().sum::<i64>());
        println!(
            "      gain 2^{:.2} -> 2^{:.2} per unit of embedding, {:?}",
            0.5 * before.log2(),
            0.5 * energy(ring, &out).log2(),
            start.elapsed()
        );
    }
    out
}

fn lens(ring: &Ring) -> [usize; 4] {
    let l = ring.lanes();
    let (n3, n5) = match l {
        8 => (2, 4),
        4 => (1, 4),
        2 => (2, 1),
        _ => (1, 1),
    };
    [ring.rows(), ring.cols(), n3, n5]
}

fn coordinates(lens: [usize; 4], mut i: usize) -> [usize; 4] {
    let mut e = [0; 4];
    for a in (0..4).rev() {
        e[a] = i % lens[a];
        i /= lens[a];
    }
    e
}

/// Sums over every subset of the axes.
struct Sums {
    lens: [usize; 4],
    subsets: Vec<(usize, Vec<i64>)>,
}

impl Sums {
    fn new(ring: &Ring, w: &[i64]) -> Self {
        let lens = lens(ring);
        let axes: Vec<usize> = (0..4).filter(|&a| lens[a] > 1).collect();
        let mut out = Self {
            lens,
            subsets: vec![],
        };
        for mask in 0..16usize {
            if (0..4).any(|a| mask >> a & 1 == 1 && !axes.contains(&a)) {
                continue;
            }
            out.subsets.push((mask, vec![0; w.len()]));
        }
        for (i, &w) in w.iter().enumerate() {
            if w != 0 {
                out.add(i, w);
            }
        }
        out
    }
    fn place(&self, mask: usize, i: usize) -> usize {
        let e = coordinates(self.lens, i);
        (0..4).fold(0, |acc, a| {
            acc * self.lens[a] + if mask >> a & 1 == 1 { 0 } else { e[a] }
        })
    }
    fn add(&mut self, i: usize, delta: i64) {
        for k in 0..self.subsets.len() {
            let at = self.place(self.subsets[k].0, i);
            self.subsets[k].1[at] += delta;
        }
    }
    fn gradient(&self, i: usize) -> i64 {
        self.subsets
            .iter()
            .map(|(mask, s)| s[self.place(*mask, i)])
            .sum()
    }
}

/// Σ|D_k|², by which the noise of a reading is larger than that of an embedding.
fn energy(ring: &Ring, w: &[i64]) -> f64 {
    let sums = Sums::new(ring, w);
    let e: i64 = w
        .iter()
        .enumerate()
        .map(|(i, w)| w * sums.gradient(i))
        .sum();
    e as f64 / ring.m() as f64
}

fn settle(ring: &Ring, w: &mut [i64], t: i64) {
    let mut sums = Sums::new(ring, w);
    let sigma = ring.frobenius(1);
    let lens = lens(ring);
    let between = |i: usize, j: usize| {
        let (a, b) = (coordinates(lens, i), coordinates(lens, j));
        (0..4)
            .filter(|&x| lens[x] > 1)
            .map(|x| if a[x] == b[x] { 2 } else { 1 })
            .product::<i64>()
    };
    let n = w.len();
    for pass in 0..6 {
        let mut seen = vec![false; n];
        let mut moves = 0;
        for start in 0..n {
            if seen[start] {
                continue;
            }
            let mut orbit = vec![];
            let mut at = start;
            while !seen[at] {
                seen[at] = true;
                orbit.push(at);
                at = sigma.coefficient_source(ring, at);
            }
            // the sum of an orbit counts modulo t
            let d = orbit.len() as i64;
            let unit = t / d;
            if t % d == 0 {
                let g: i64 = orbit.iter().map(|&i| sums.gradient(i)).sum();
                let own: i64 = orbit
                    .iter()
                    .map(|&i| orbit.iter().map(|&j| between(i, j)).sum::<i64>())
                    .sum();
                for by in [-unit, unit] {
                    if 2 * by * g + by * by * own < 0 {
                        for &i in &orbit {
                            sums.add(i, by);
                            w[i] += by;
                        }
                        moves += 1;
                        break;
                    }
                }
            }
            for _ in 0..64 {
                let g: Vec<i64> = orbit.iter().map(|&i| sums.gradient(i)).collect();
                let mut best = (0, 0, 0);
                for a in 0..orbit.len() {
                    for b in 0..orbit.len() {
                        if a == b {
                            continue;
                        }
                        let d = 2 * (g[b] - g[a])
                            + between(orbit[a], orbit[a])
                            + between(orbit[b], orbit[b])
                            - 2 * between(orbit[a], orbit[b]);
                        if d < best.0 {
                            best = (d, a, b);
                        }
                    }
                }
                if best.0 == 0 {
                    break;
                }
                let (a, b) = (orbit[best.1], orbit[best.2]);
                sums.add(a, -1);
                w[a] -= 1;
                sums.add(b, 1);
                w[b] += 1;
                moves += 1;
            }
        }
        println!("      pass {pass}: {moves} moves");
        if moves == 0 {
            break;
        }
    }
}

/// λ_0 after the translation that brings a slot to the first of its class.
fn read(params: &Params, w: &[i64], z: &[f64], step: [usize; 3]) -> f64 {
    let ring = params.ring();
    let map = ring.translation(step);
    // image of z in coefficients
    w.iter()
        .enumerate()
        .map(|(i, &w)| w as f64 * z[map.coefficient_source(ring, i)])
        .sum()
}

fn rms(x: impl Iterator<Item = f64>) -> f64 {
    let (mut s, mut n) = (0.0, 0.0);
    for x in x {
        s += x * x;
        n += 1.0;
    }
    0.5 * (s / n as f64).log2()
}

fn run(set: &'static ParamSet, seed: u8, level: usize) {
    let f = &mut fixture(Params::new(set).unwrap(), seed);
    let params = f.params.clone();
    let eval = Evaluator::new(&f.eval);
    let slots = params.slots().count();
    let bytes = random_bytes(&mut f.rng, slots);
    let x = f.secret.encrypt(&bytes, &mut f.rng).unwrap();
    let x = eval.lowered(&eval.entered(&x).unwrap(), level);
    let start = std::time::Instant::now();
    let planes = planes(&eval, &x);
    println!("planes: {:?}", start.elapsed());
    for (j, p) in planes.iter().enumerate() {
        let got = f.secret.decrypt(p).unwrap().0;
        assert!(
            got.iter().zip(&bytes).all(|(g, b)| *g == b >> j & 1),
            "plane {j}"
        );
    }
    println!(
        "level {} noise {:?}",
        planes[0].level(),
        f.secret.measure_noise(&planes[0])
    );
    let start = std::time::Instant::now();
    let mut x = Lifted {
        c: planes[3].clone(),
        t: 1,
    };
    let slot_of = |class: usize, step: [usize; 3]| params.slots().slot(class, step);
    while x.t < 5 {
        let plan = if x.t == 4 {
            params.staying(x.c.level)
        } else {
            params.switching(x.c.level)
        };
        x = square(f, &eval, &x, plan);
        println!(
            "special {} excess {:.2} digits {} predicted 2^{:.2} scale {} all {}",
            plan.special(),
            plan.log2_digit_excess(),
            plan.digits.len(),
            x.c.noise.rms_log2,
            plan.scale.len(),
            plan.all_special
        );
        let t = f64::from(1u32 << x.t);
        let nu = nu(f, &x);
        let e = homaes_math::embed::squared_magnitudes(params.ring(), &nu);
        let mean = e.iter().sum::<f64>() / e.len() as f64;
        println!(
            "t = {t}, level {} ({:.1} bits): embedding 2^{:.2} (of 2ν/t), coefficients 2^{:.2}, drop {:.2}",
            x.c.level,
            params.log2_modulus(x.c.level),
            0.5 * mean.log2() + 1.0 - f64::from(x.t),
            rms(nu.iter().copied()),
            plan.log2_drop()
        );
        for class in 0..2 {
            for spread in [false, true] {
                let w = weights(&params, class, x.t, spread);
                let norm = rms(w.iter().map(|&w| w as f64)) + 0.5 * (w.len() as f64).log2();
                let [n3, n5, n257] = params.slots().axes();
                let mut wrong = 0;
                let mut noise = vec![];
                for (e3, e5, e257) in [(0, 0, 0), (1, 2, 5), (1, 3, 77), (0, 1, 100), (1, 1, 1)] {
                    let step = [e3 % n3, e5 % n5, e257 % n257];
                    let v = read(&params, &w, &nu, step);
                    let want = bytes[slot_of(class, step)] >> 3 & 1;
                    let got = v.rem_euclid(t);
                    if got as u8 != want {
                        wrong += 1;
                    }
                    noise.push((v - f64::from(want)) / t);
                }
                println!(
                    "   class {class} spread {spread}: wrong {wrong}, weights 2^{norm:.2}, noise/t 2^{:.2} -> 2^{:.2} of the torus",
                    rms(noise.iter().copied()),
                    rms(noise.iter().copied()) - params.log2_modulus(x.c.level)
                );
            }
        }
    }
    println!("lift: {:?}", start.elapsed());
    // ring switch
    cross(f, &x, &bytes, 3);
}

/// To one prime, to a secret of the subring, and to LWE.
fn cross(f: &mut Fixture, x: &Lifted, bytes: &[u8], bit: u32) {
    let params = f.params.clone();
    let ring = params.ring();
    let n = ring.n();
    let sub = Ring::new(ring.m() / 17).unwrap();
    let n1 = sub.n();
    let q = params.special_from();
    let tr = params.transform(q);
    let m = tr.modulus();
    let tr1 = Transform::new(&sub, m.p()).unwrap();
    let meter = Meter::default();
    let down = Lowering::new(params.pool(), params.basis(x.c.level), &[q]);
    let half = m.shoup(m.inv(2));
    let c: Vec<Vec<u64>> =
        x.c.parts
            .iter()
            .map(|p| {
                let p = down.apply(params.pool(), &meter, p);
                p.limbs[0].iter().map(|&v| m.scale(v, half)).collect()
            })
            .collect();
    // user's key
    let z: Vec<u64> = (0..n1).map(|_| u64::from(f.rng.next_u32() & 1)).collect();
    let mut s1 = homaes_math::Words::scratch(n1);
    for (s, z) in s1.iter_mut().zip(&z) {
        *s = m.to_stored(*z);
    }
    tr1.forward(&mut s1);
    let s1: Vec<u64> = s1.iter().map(|&x| m.canonical(m.canonical(x))).collect();
    let s = &f.secret.poly().limbs[q];
    let (levels, base) = (4usize, 9u32);
    let low = 47 - levels as u32 * base;
    let mut keys = vec![];
    for l in 0..levels {
        let a: Vec<u64> = (0..n).map(|_| f.rng.next_u64() % m.p()).collect();
        let mut e = vec![0i64; n];
        sample::gaussian(&mut f.rng, &mut e);
        let e = Poly::from_signed(params.pool(), &[q], &e);
        let g = m.to_stored(1 << (low + l as u32 * base));
        let b: Vec<u64> = (0..n)
            .map(|i| {
                let t = m.mul_stored(a[i], s1[i % n1]);
                let gs = m.mul_stored(g, s[i]);
                m.add(m.sub(m.canonical(e.limbs[0][i]), t), gs)
            })
            .collect();
        keys.push([b, a]);
    }
    // digits of c1
    let mut c1 = homaes_math::Words::scratch(n);
    c1.copy_from_slice(&c[1]);
    tr.inverse(&mut c1);
    let c1: Vec<i64> = c1.iter().map(|&x| centre(m, m.from_stored(x))).collect();
    let mut rest: Vec<i64> = c1.iter().map(|&x| (x + (1 << (low - 1))) >> low).collect();
    let mut out = [c[0].clone(), vec![0u64; n]];
    for l in 0..levels {
        let digit: Vec<i64> = rest
            .iter_mut()
            .map(|x| {
                let d = if l + 1 == levels {
                    *x
                } else {
                    wrap(*x, 1 << base)
                };
                *x = (*x - d) >> base;
                d
            })
            .collect();
        let d = Poly::from_signed(params.pool(), &[q], &digit);
        for (o, k) in out.iter_mut().zip(&keys[l]) {
            for i in 0..n {
                o[i] = m.add(
                    m.canonical(o[i]),
                    m.mul_stored(m.canonical(d.limbs[0][i]), k[i]),
                );
            }
        }
    }
    let t = x.t;
    let mut noise = vec![];
    let mut noise0 = vec![];
    for class in 0..2 {
        let w = weights(&params, class, t, true);
        let mut d = homaes_math::Words::scratch(n);
        for (d, w) in d.iter_mut().zip(&w) {
            *d = m.to_stored(m.from_signed(*w));
        }
        tr.inverse(&mut d);
        let d: Vec<u64> = d.iter().map(|&x| m.canonical(m.canonical(x))).collect();
        let [n3, n5, n257] = params.slots().axes();
        for trial in 0..40usize {
            let step = [trial % n3, trial / 2 % n5, trial * 37 % n257];
            let map = ring.translation(step);
            // λ(z) = Σ_f d_f z(source f)
            let mut fold = homaes_math::Words::zeroed(n1);
            let mut body = 0;
            for k in 0..n {
                let at = map.source(k);
                fold[at % n1] = m.add(fold[at % n1], m.mul_stored(d[k], m.canonical(out[1][at])));
                body = m.add(body, m.mul_stored(d[k], m.canonical(out[0][at])));
            }
            tr1.forward(&mut fold);
            let mask: Vec<u64> = fold
                .iter()
                .map(|&x| m.from_stored(m.canonical(x)))
                .collect();
            let mut phase = m.from_stored(body);
            for (a, z) in mask.iter().zip(&z) {
                phase = m.add(phase, m.mul(*a, *z));
            }
            let phase = centre(m, phase) as f64 / m.p() as f64;
            let want = f64::from(bytes[params.slots().slot(class, step)] >> bit & 1)
                / f64::from(1u32 << t);
            let diff = phase + want;
            let diff = diff - diff.round();
            assert!(
                diff.abs() < 0.4 / f64::from(1u32 << t),
                "{class} {step:?}: {phase} {want}"
            );
            noise.push(diff);
            // before the ring switch
            let mut body = 0;
            for k in 0..n {
                let at = map.source(k);
                let v = m.add(
                    m.canonical(c[0][at]),
                    m.mul_stored(m.canonical(c[1][at]), s[at]),
                );
                body = m.add(body, m.mul_stored(d[k], v));
            }
            let p0 = centre(m, m.from_stored(body)) as f64 / m.p() as f64;
            let diff = p0 + want;
            noise0.push(diff - diff.round());
        }
    }
    println!(
        "LWE noise 2^{:.2}, before the ring switch 2^{:.2}",
        rms(noise.iter().copied()),
        rms(noise0.iter().copied())
    );
}

#[test]
fn lift_toy_255() {
    run(&sets::TOY_255, 3, 6);
}

#[test]
fn lift_toy_4369() {
    run(&sets::TOY_4369, 3, 6);
}

#[test]
#[ignore = "half a minute"]
fn lift_full() {
    run(&sets::AES192, 3, 6);
}
