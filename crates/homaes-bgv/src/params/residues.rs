//! Polynomials in files: the canonical residues of each prime in turn, packed at that prime's length.

use crate::error::Result;
use crate::params::Params;
use homaes_math::Words;
use homaes_rns::Poly;
use homaes_wire::{Decoder, Encoder, packed_len};
use rayon::prelude::*;

pub(crate) fn poly_bytes(params: &Params, basis: &[usize]) -> u64 {
    words_bytes(params, basis, params.ring().n())
}

/// Bytes of limbs of `len` words.
pub(crate) fn words_bytes(params: &Params, basis: &[usize], len: usize) -> u64 {
    let limbs = basis.iter();
    limbs
        .map(|&i| packed_len(len, params.modulus(i).bits()) as u64)
        .sum()
}

pub(crate) fn put_poly(params: &Params, basis: &[usize], poly: &Poly, mut out: Encoder) -> Encoder {
    let mut canonical = Words::scratch(poly.limbs.first().map_or(0, |limb| limb.len()));
    for (limb, &i) in poly.limbs.iter().zip(basis) {
        let m = params.modulus(i);
        for (c, &x) in canonical.iter_mut().zip(limb.iter()) {
            *c = m.canonical(x);
        }
        out = out.residues(m.p(), &canonical);
    }
    out
}

pub(crate) fn take_poly(
    params: &Params,
    basis: &[usize],
    what: &'static str,
    input: &mut Decoder<'_>,
) -> Result<Poly> {
    take_words(params, basis, params.ring().n(), what, input)
}

/// Limbs of `len` words.
pub(crate) fn take_words(
    params: &Params,
    basis: &[usize],
    len: usize,
    what: &'static str,
    input: &mut Decoder<'_>,
) -> Result<Poly> {
    let limbs = basis.iter().map(|&i| {
        let mut limb = Words::scratch(len);
        input.residues_into(what, params.modulus(i).p(), &mut limb)?;
        Ok(limb)
    });
    Ok(Poly {
        limbs: limbs.collect::<Result<_>>()?,
    })
}

/// [`Device::pack`](crate::device::Device::pack) on the processor.
pub(crate) fn pack(
    params: &Params,
    basis: &[usize],
    all: &[&Poly],
    out: &mut [&mut [u8]],
) -> Result<()> {
    let each = all.par_iter().zip(out).with_max_len(1);
    each.try_for_each(|(poly, out)| {
        poly.limbs.fetch()?;
        let packed = put_poly(params, basis, poly, Encoder::with_capacity(out.len()));
        out.copy_from_slice(&packed.finish());
        Ok(())
    })
}
