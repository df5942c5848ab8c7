//! The key schedule of AES-128 under encryption, for wrapped keys of many AES keys: slot b holds the key of block b.
//!
//! Round keys are states of sixteen ciphertexts, byte i of every block's key in ciphertext i. A round key has to be
//! there when the cipher adds it, so the schedule runs one round ahead. With w_j the words of round key r - 1 and w'_j
//! those of round key r (FIPS-197 section 5.2),
//!
//! ```text
//! b    = x^127 of the bytes of RotWord(w_3)             level 3k -> 3k - 2
//! w'_0 = S(b) + 0x63 + rcon_r + w_0                     level 3k - 2, four sums of images
//! w'_j = w'_(j-1) + w_j                                 level 3k - 2, then all sixteen -> 3k - 3
//! ```
//!
//! where S is the linear part of SubBytes ([`crate::aes::sliced`]). All sums come before the switch, which divides
//! their noise too, so every byte leaves a step with the noise of one switch, like a byte of a state. Sums of words after
//! the switch would have up to five such noises, and the next S-box would square them ([`crate::noise::runaway`]).
//!
//! | round key | leaves its step at | used at |
//! |---|---|---|
//! | 0 | s + 3, as sent | s, the start of the cipher |
//! | r | s + 3 - 3r | s + 1 - 3r, [`LevelPlan::key_level`] |
//!
//! A modulus switch lowers them to the level of use, where their noise is that of rounding. From r = 1 on, they also are
//! the words w_i of the next step there; round key 0 is at level s + 1 for that.

use crate::aes::level_plan::LevelPlan;
use crate::aes::sliced::SlicedAes;
use crate::ciphertext::Ciphertext;
use crate::circuit::add_constant;
use crate::circuit::evaluate::Evaluator;
use crate::error::Result;
use crate::keys::EvalKey;
use homaes_aes::{Direction, gf256};
use homaes_scheme::Cancel;
use rayon::prelude::*;

/// Levels from a round key as it leaves its step to the words of the next one: those of x^127.
const LEVELS: usize = 2;

/// The round keys that the cipher adds under `plan`, from the bytes of the AES keys at the start of the key schedule.
///
/// Cost: 160 products and 40 sums of images, a fourth of those of a batch, and 352 modulus switches.
///
/// # Errors
/// If it is cancelled.
pub(crate) fn round_keys(
    key: &EvalKey,
    plan: LevelPlan,
    sent: &[Ciphertext],
    cancel: &Cancel,
) -> Result<Vec<Vec<Ciphertext>>> {
    let params = &key.params;
    let circuit = SlicedAes::new(key, Direction::Encrypt, cancel)?;
    let eval = Evaluator::new(key).until(cancel);
    let lowered = |bytes: &[Ciphertext], level| -> Result<Vec<Ciphertext>> {
        let bytes = bytes.par_iter().with_max_len(1);
        bytes.map(|c| eval.lowered(c, level)).collect()
    };
    let affine = params.slots().constant(gf256::AFFINE_CONSTANT);
    let mut bytes = sent.to_vec();
    let mut rcon = 1;
    let mut words = lowered(&bytes, bytes[0].level - LEVELS)?;
    let mut rounds = vec![lowered(&words, plan.key_level(0))?];
    for _ in 0..plan.size.rounds() {
        bytes = step(&eval, &circuit, &bytes, &words, rcon)?;
        rcon = gf256::mul(rcon, 2);
        words = lowered(&bytes, bytes[0].level - LEVELS)?;
        // the cipher adds 0x63 with its round keys
        let mut used = words.clone();
        used.iter_mut()
            .for_each(|c| add_constant(params, c, &affine));
        rounds.push(used);
    }
    Ok(rounds)
}

/// The next round key from `bytes` and from the same round key at the level of x^127, `words`.
pub(crate) fn step(
    eval: &Evaluator<'_>,
    circuit: &SlicedAes<'_>,
    bytes: &[Ciphertext],
    words: &[Ciphertext],
    rcon: u8,
) -> Result<Vec<Ciphertext>> {
    let rotated = [13, 14, 15, 12].map(|i| &bytes[i]);
    let inverted = eval.power_127(&rotated)?;
    let inverted: Vec<&Ciphertext> = inverted.iter().collect();
    let mut first = words[..4].to_vec();
    for (row, c) in first.iter_mut().enumerate() {
        let constant = gf256::AFFINE_CONSTANT ^ if row == 0 { rcon } else { 0 };
        add_constant(eval.params(), c, &eval.params().slots().constant(constant));
    }
    let first: Vec<&Ciphertext> = first.iter().collect();
    let mut sums = circuit.substituted(eval, &inverted, &first)?;
    for (i, word) in words.iter().enumerate().skip(4) {
        sums.push(eval.sum(&sums[i - 4], word)?);
    }
    eval.mod_switch_all(&sums.iter().collect::<Vec<_>>())
}
