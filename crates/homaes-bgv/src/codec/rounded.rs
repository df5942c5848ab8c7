//! Final results: byte layouts at level 1, rounded, and two ciphertexts in one where keys leave room for it.
//!
//! Let q be the prime of level 1 and ν = c0 + c1·s, whose parity is the message. 2^-1·(c0, c1) has the phase
//! q·(message/2 + ν/2q), so decryption is right while the deviation ν/2q stays within 1/4. A record has each
//! coefficient of 2^-1·c1 over q in [`MASK_BITS`] bits, and of 2^-1·c0 in [`BODY_BITS`].
//!
//! *Joining.* Conjugation of ζ = ζ_257 fixes plaintexts of bytes, so two of them, a and b, come back from a + ζb
//! ([`joined::split`]). The ciphertexts' sum c + ζ·c' holds two bytes in each slot, with the deviation of both.
//!
//! [`Rounding`] derives what rounding adds, and key generation tests that AES leaves room for it. Readers make a
//! ciphertext modulo q again, 2·⌊q·x/2^bits⌉, which decrypts as any other.

use crate::aes::state::{Form, State};
use crate::ciphertext::{Ciphertext, History, MODE_SUMMANDS};
use crate::codec::{NOISE_BYTES, exactly, put_head, take_head};
use crate::error::Result;
use crate::noise::Noise;
use crate::noise::runaway::{BODY_BITS, MASK_BITS, Rounding};
use crate::params::Params;
use homaes_aes::Layout;
use homaes_math::{Modulus, Words, joined};
use homaes_rns::Poly;
use homaes_scheme::Owner;
use homaes_wire::{Decoder, Encoder, packed_len};
use rayon::prelude::*;

/// Bytes of a batch's record in a form other than [`Form::Whole`].
pub(super) fn rounded_bytes(params: &Params, layout: Layout, form: Form) -> u64 {
    let half = |bits: u32| packed_len(params.ring().n(), bits) as u64;
    let one = NOISE_BYTES as u64 + half(MASK_BITS) + half(BODY_BITS);
    (layout.ciphertexts() / form.members()) as u64 * one
}

/// The form of results at level 1 in files that are written.
pub(super) fn form_at_level_1(params: &Params, layout: Layout, room: bool) -> Form {
    match layout {
        Layout::Bits => Form::Whole,
        Layout::Sliced if room && params.ring().cols() > 1 => Form::Joined,
        Layout::Sliced | Layout::Packed => Form::Rounded,
    }
}

/// The form in which a finished state goes to a file.
///
/// # Errors
/// [`Error::TooNoisy`](crate::Error::TooNoisy) if a circuit's result leaves too little room.
pub(super) fn form_of(params: &Params, state: &State) -> Result<Form> {
    if state.level() != 1 || state.form != Form::Whole {
        return Ok(state.form);
    }
    let known = |c: &&Ciphertext| matches!(c.history, History::Known(_));
    let from_aes = !state.ciphertexts.iter().any(|c| known(&c));
    let form = form_at_level_1(params, state.layout, !from_aes || params.set().joins);
    // with coefficients below q/8 those of a sum are below q/4, and rounding has the other q/4
    for c in state.ciphertexts.iter().filter(known) {
        c.checked_less(params, f64::from(form.members().ilog2()), "final result")?;
    }
    Ok(form)
}

/// The record of a state in a form other than [`Form::Whole`].
pub(super) fn encode(params: &Params, state: &State, form: Form) -> Result<Vec<u8>> {
    for c in &state.ciphertexts {
        c.fetch()?;
    }
    let one = |members: &[Ciphertext]| {
        let noise = match state.form {
            Form::Whole => written_noise(params, members),
            Form::Rounded | Form::Joined => members[0].noise,
        };
        let head = put_head(1, noise, Encoder::new());
        let [mask, body] = [(1, MASK_BITS), (0, BODY_BITS)].map(|(part, bits)| {
            let mut all = members.iter().map(|c| coefficients(params, &c.parts[part]));
            let mut sum = all.next().expect("chunks are not empty");
            for other in all {
                joined::add_turned(params.ring(), last(params).p(), &mut sum, &other);
            }
            round(last(params), bits, &mut sum);
            (1 << bits, sum)
        });
        head.residues(mask.0, &mask.1)
            .residues(body.0, &body.1)
            .finish()
    };
    // a state that was read holds its pairs as one
    let members = form.members() / state.form.members();
    let all = state.ciphertexts.par_chunks(members).with_max_len(1);
    let all: Vec<Vec<u8>> = all.map(one).collect();
    Ok(all.concat())
}

/// The noise of the worst ciphertext in the record of a state.
///
/// # Errors
/// As for the record.
pub(crate) fn noise_in_record(params: &Params, state: &State) -> Result<Noise> {
    let form = form_of(params, state)?;
    let noises = state
        .ciphertexts
        .chunks(form.members() / state.form.members());
    let noises = noises.map(|members| match form == state.form {
        true => members[0].noise,
        false => written_noise(params, members),
    });
    let worse = |a: Noise, b: Noise| {
        if a.bound_log2() < b.bound_log2() {
            b
        } else {
            a
        }
    };
    Ok(noises.reduce(worse).expect("a state has ciphertexts"))
}

/// The estimate for a rounded sum: its coefficients are those of a noise of this size. At embeddings, independent
/// errors of coefficients are up to 1.5 bits larger, which the tail covers.
fn written_noise(params: &Params, members: &[Ciphertext]) -> Noise {
    let sum = members.iter().map(|c| c.noise).reduce(Noise::plus);
    let rounding = Rounding::typical(params.ring(), params.set().weight);
    // a deviation d is a noise of 2 q d
    let coefficient = 0.5 * rounding.variance().log2() + 1.0 + params.log2_modulus(1);
    let rms = coefficient - params.noise().coefficients_log2(0.0);
    sum.expect("chunks are not empty").with(rms)
}

/// The state in a record of the given form; the ciphertexts are those of the key of `owner`.
pub(super) fn decode(
    params: &Params,
    owner: Owner,
    (layout, form): (Layout, Form),
    body: &[u8],
) -> Result<State> {
    let mut input = Decoder::new(body);
    let n = params.ring().n();
    let ciphertexts = (0..layout.ciphertexts() / form.members()).map(|_| {
        let (_, noise) = take_head(exactly(1), &mut input)?;
        let mut half = |bits: u32| -> Result<Poly> {
            let words = input.residues("ciphertext", 1 << bits, n)?;
            let signed = scaled(last(params), bits, words);
            Ok(Poly::from_signed(params.rns(), params.basis(1), &signed))
        };
        let (c1, c0) = (half(MASK_BITS)?, half(BODY_BITS)?);
        Ok(Ciphertext {
            owner,
            level: 1,
            parts: [c0, c1],
            noise,
            history: History::Aes {
                output: true,
                summands: MODE_SUMMANDS,
            },
        })
    });
    let ciphertexts = ciphertexts.collect::<Result<_>>()?;
    input.finish("ciphertexts")?;
    Ok(State::finished(layout, ciphertexts, form))
}

/// The prime of level 1.
fn last(params: &Params) -> &Modulus {
    params.modulus(params.basis(1)[0])
}

/// Coefficients at level 1, from 0.
fn coefficients(params: &Params, poly: &Poly) -> Words {
    let t = params.transform(params.basis(1)[0]);
    let mut out = Words::scratch(params.ring().n());
    out.copy_from_slice(&poly.limbs[0]);
    t.inverse(&mut out);
    out.iter_mut()
        .for_each(|x| *x = t.modulus().from_stored(*x));
    out
}

/// ⌊2^bits · 2^-1·x/q⌉ modulo 2^bits.
fn round(q: &Modulus, bits: u32, all: &mut [u64]) {
    let q = q.p();
    for x in all {
        let half = (*x + (*x & 1) * q) / 2;
        *x = (((half << bits) + q / 2) / q) % (1 << bits);
    }
}

/// 2·⌊q·x/2^bits⌉ modulo q, centred.
fn scaled(q: &Modulus, bits: u32, all: Vec<u64>) -> Vec<i64> {
    let q = q.p();
    let one = |x: u64| {
        let double = 2 * ((x * q + (1 << (bits - 1))) >> bits) % q;
        double as i64 - if double > q / 2 { q as i64 } else { 0 }
    };
    all.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets;

    #[test]
    fn rounding_twice_is_rounding_once() {
        let params = Params::new(&sets::TOY_255).unwrap();
        let q = last(&params);
        for bits in [MASK_BITS, BODY_BITS] {
            let mut once: Vec<u64> = (0..1000)
                .map(|i| i * (q.p() / 1000) + i % 7)
                .chain([q.p() - 1])
                .collect();
            let exact = once.clone();
            round(q, bits, &mut once);
            let back = scaled(q, bits, once.clone());
            for (x, back) in exact.iter().zip(&back) {
                // twice half a unit of 2^bits
                let off = (*x as i64 - back).rem_euclid(q.p() as i64);
                let off = off.min(q.p() as i64 - off);
                assert!(
                    off as f64 <= q.p() as f64 / f64::from(1 << bits) + 2.0,
                    "{x} {back}"
                );
            }
            let mut again: Vec<u64> = back
                .iter()
                .map(|&x| x.rem_euclid(q.p() as i64) as u64)
                .collect();
            round(q, bits, &mut again);
            assert_eq!(again, once);
        }
    }
}
