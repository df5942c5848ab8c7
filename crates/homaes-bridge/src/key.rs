//! The bridge key: the BGV secret under an LWE key.
//!
//! Let R' = Z\[ζ_{m/17}\], a subring of R = Z\[ζ_m\] of degree n/16. An LWE key z of n/16 bits is read as the
//! polynomial s' = Σ z_i ζ^(e_i) of R' in its normal basis. The bridge key holds pairs (b_l, a_l) over R modulo one
//! prime q with
//!
//! ```text
//! b_l + a_l s' = e_l + g_l s      g_l = 2^(low + l·base), l = 0 … levels - 1
//! ```
//!
//! R is free of rank 16 over R', so such a pair is as hard as 16 independent ones over R': ring-LWE of degree n/16 with
//! a binary secret modulo q.
//!
//! **Ring switch.** With c1 = Σ d_l g_l + low part, (c0 + Σ d_l b_l, Σ d_l a_l) decrypts under s' as (c0, c1) does
//! under s, up to the noise Σ d_l e_l and the low part times s. This is the ring switch of Gentry, Halevi, Peikert and
//! Smart (SCN 2012) without the trace, because each functional read afterwards is a trace.

use crate::error::{Error, Result};
use crate::fitness::Fitness;
use crate::numbers::bytes_level;
use crate::target::{Other, Target};
use homaes_aes::KeySize;
use homaes_bgv::{ByteLift, Params, SecretKey};
use homaes_math::sample::{self, Seed};
use homaes_math::{Modulus, Ring, Transform};
use homaes_rns::secret::{self, lots, lots_mut};
use homaes_rns::{Poly, SecretPoly};
use homaes_tfhe::PackingKey;
use homaes_wire::KeyId;
use rand_core::CryptoRng;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Switching key from a BGV secret to an LWE key: public, made by the client, who has both secrets.
pub struct BridgeKey {
    pub(crate) params: Arc<Params>,
    pub(crate) id: KeyId,
    pub(crate) target: Target,
    pub(crate) ring: Ring,
    pub(crate) transform: Transform,
    pub(crate) pairs: Vec<[Poly; 2]>,
    /// of a bridge to a link key
    pub(crate) packing: Option<PackingKey>,
    pub(crate) seed: Seed,
    pub(crate) fitness: Option<Fitness>,
}

impl BridgeKey {
    /// Makes a bridge key from `secret` to the key of results of a TFHE secret key, whose set must be on bits. Errors:
    /// [`Error::NoEnd`], and those of [`generate`](Self::generate).
    pub fn to_tfhe(
        secret: &SecretKey,
        other: &homaes_tfhe::SecretKey,
        rng: &mut impl CryptoRng,
    ) -> Result<Self> {
        let set = other.params().set();
        let name = set.name.as_str();
        if !matches!(set.variant, homaes_tfhe::Variant::Bits(_)) {
            return Err(Error::NoEnd { set: name });
        }
        let target = Target {
            id: other.id(),
            other: Other::Set(name),
        };
        Self::generate(secret, other.glwe(), target, rng)
    }

    /// [`generate`](Self::generate) without a bound on wrong readings.
    pub(crate) fn unchecked(
        secret: &SecretKey,
        bits: &[u64],
        target: Target,
        rng: &mut impl CryptoRng,
    ) -> Result<Self> {
        let params = secret.params();
        let (ring, transform) = rings_to(params, &target.other)?;
        if bits.len() != ring.n() {
            return Err(Error::Dimension {
                found: bits.len(),
                expected: ring.n(),
                set: params.set().name.as_str(),
            });
        }
        let full = params.descent_transform();
        let m = full.modulus();
        let s = in_evaluation(full, secret.coefficients());
        let subring = Zeroizing::new(bits.iter().map(|&b| (b & 1) as i64).collect::<Vec<_>>());
        let row = in_evaluation(&transform, &subring);
        let mut rows = SecretPoly(Poly::scratch(s.limbs[0].len(), 1));
        for out in rows.limbs[0].chunks_exact_mut(ring.n()) {
            out.copy_from_slice(&row.limbs[0]);
        }
        let mut seed = Seed::default();
        rng.fill_bytes(&mut seed);
        let digits = target.other.digits();
        let mut pairs = masks(m, &seed, digits.levels, s.limbs[0].len());
        for (level, [b, a]) in pairs.iter_mut().enumerate() {
            let [b, a] = [b, a].map(|half| &mut half.limbs[0]);
            let n = b.len();
            let mut e = Zeroizing::new(vec![0i64; n]);
            sample::gaussian(rng, &mut e);
            let e = in_evaluation(full, &e);
            let mut own = SecretPoly(Poly::scratch(n, 1));
            let unit = m.shoup(1 << (digits.low + level as u32 * digits.base));
            for (x, s) in own.limbs[0].iter_mut().zip(s.limbs[0].iter()) {
                *x = m.scale(*s, unit);
            }
            b.copy_from_slice(&e.limbs[0]);
            let factors = lots(a).iter().zip(lots(&rows.limbs[0]));
            let all = lots_mut(b).iter_mut().zip(factors).zip(lots(&own.limbs[0]));
            for ((x, (a, s)), extra) in all {
                secret::mask(m, [a, s, extra], x);
            }
        }
        let packing = match target.other {
            Other::Link { .. } => Some(PackingKey::generate(params.id(), &seed, bits, rng)),
            Other::Set(_) | Other::User { .. } => None,
        };
        Ok(Self {
            params: params.clone(),
            id: secret.id(),
            packing,
            target,
            ring,
            transform,
            pairs,
            seed,
            fitness: None,
        })
    }

    /// How often a crossing is wrong; `None` for a key read from a file.
    pub fn fitness(&self) -> Option<Fitness> {
        self.fitness
    }

    /// The parameters of the BGV key.
    pub fn params(&self) -> &Arc<Params> {
        &self.params
    }

    /// Id of the BGV secret key.
    pub fn key_id(&self) -> KeyId {
        self.id
    }

    /// The key that results are under.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Bits of the target LWE key.
    pub fn dimension(&self) -> usize {
        self.ring.n()
    }
}

impl core::fmt::Debug for BridgeKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("BridgeKey")
            .field("set", &self.params.set().name)
            .field("id", &self.id)
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

pub(crate) fn rings(params: &Params) -> Result<(Ring, Transform)> {
    let set = params.set().name.as_str();
    let ring = params.bridge_ring().ok_or(Error::NoBridge { set })?;
    let p = params.descent_transform().modulus().p();
    let transform = Transform::new(&ring, p).ok_or(Error::NoBridge { set })?;
    Ok((ring, transform))
}

/// As [`rings`], unless no such bridge leads there.
pub(crate) fn rings_to(params: &Params, other: &Other) -> Result<(Ring, Transform)> {
    if let Other::Link { log2_t } = *other {
        check_link(params, log2_t)?;
    }
    rings(params)
}

/// Checks that bridges lead from a set to link keys for bytes modulo 2^`log2_t`.
///
/// # Errors
/// Why they do not.
pub fn check_link(params: &Params, log2_t: u32) -> Result<()> {
    let (ring, _) = rings(params)?;
    let set = params.set().name.as_str();
    if !Other::LINK_BITS.contains(&log2_t) {
        return Err(Error::LinkBits { found: log2_t });
    }
    if !PackingKey::exists(ring.n()) {
        let degree = ring.n();
        return Err(Error::NoPacking { set, degree });
    }
    let layouts = params.set().layouts.iter();
    let left = layouts.filter_map(|&layout| params.levels_left(layout, KeySize::Aes128));
    let (found, needed) = (left.max().unwrap_or(0), bytes_level(log2_t) - 1);
    if found < needed {
        return Err(Error::LinkLevels {
            set,
            log2_t,
            found,
            needed,
        });
    }
    ByteLift::new(params, bytes_level(log2_t), log2_t)?;
    Ok(())
}

/// Secret coefficients in evaluation form, stored and canonical.
fn in_evaluation(transform: &Transform, coefficients: &[i64]) -> SecretPoly {
    let m = transform.modulus();
    let (p, r) = (m.p() as i64, m.shoup(m.r()));
    let mut out = SecretPoly(Poly::scratch(coefficients.len(), 1));
    let limb = &mut out.limbs[0];
    for (x, &c) in limb.iter_mut().zip(coefficients) {
        // |c| < p; the sign is handled without a branch or a division
        *x = m.scale(((c >> 63) & p).wrapping_add(c) as u64, r);
    }
    transform.forward(limb);
    limb.iter_mut().for_each(|x| *x = m.canonical(*x));
    out
}

/// Pairs with the masks of `seed`; the bodies are arbitrary.
pub(crate) fn masks(m: &Modulus, seed: &Seed, levels: usize, n: usize) -> Vec<[Poly; 2]> {
    (0..levels)
        .map(|level| {
            let [b, mut a] = [(); 2].map(|()| Poly::scratch(n, 1));
            sample::uniform(seed, level as u64, m, &mut a.limbs[0]);
            [b, a]
        })
        .collect()
}
