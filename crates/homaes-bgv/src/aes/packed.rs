//! Packed AES (GHS12 §4.1): whole blocks in one ciphertext, bytes moved by automorphisms.
//!
//! ShiftRows is free: the reading of the slots changes instead of the bytes, and the four bytes of a column stay one
//! step of an automorphism τ_t apart ([`crate::aes::placement`]; t counts the ShiftRows so far). With c127 = x^127 at
//! level S2 ([`crate::aes::sliced`]), a round is two hoisted sums without masks:
//!
//! ```text
//! encrypting    S   = Σ_k γ_k σ^(k+1)(c127)       S2           seven key switches
//!               out = Σ_j c_j τ_t^j(S) + key      S2 -> S0     three key switches
//! decrypting    M   = Σ_j c'_j τ_t^j(c127)        S2           three key switches
//!               out = Σ_k λ_k σ^(k+1)(M) + key    S2 -> S0     seven key switches
//! ```
//!
//! These are the three levels of the byte-sliced circuit: round keys are placed like the state and added before the
//! switch that ends the round. GHS12 permute bytes by masked rotations, which take a fourth level and add more noise.

use crate::aes::maps::{byte_map, column_maps};
use crate::aes::state::{State, check_level};
use crate::ciphertext::Ciphertext;
use crate::circuit::evaluate::Evaluator;
use crate::circuit::images::Image;
use crate::error::Result;
use crate::keys::{EvalKey, Target};
use crate::keyswitch::Post;
use crate::linear::LinearLayer;
use homaes_aes::Direction;
use homaes_scheme::Cancel;

#[derive(Clone)]
pub(crate) struct PackedAes<'k> {
    pub(crate) eval: Evaluator<'k>,
    linear: LinearLayer,
    /// Σ γ_k σ^(k+1)
    bytes: Vec<Image>,
    /// Σ c_j τ_t^j for each slope t
    columns: [Vec<Image>; 4],
    /// σ, all that the last decrypting round applies to x^127
    square: [Image; 1],
}

impl<'k> PackedAes<'k> {
    /// Folds the constants into keys, which takes the memory of 10 keys encrypting and of 19 decrypting.
    pub(crate) fn new(key: &'k EvalKey, direction: Direction, cancel: &Cancel) -> Result<Self> {
        let linear = LinearLayer::new(key.params.slots(), direction);
        Ok(Self {
            eval: Evaluator::new(key),
            bytes: byte_map(key, &linear, cancel)?,
            columns: column_maps(key, &linear, cancel)?,
            square: [Image::new(key, Target::Frobenius(1), vec![0], cancel)?],
            linear,
        })
    }
}

impl PackedAes<'_> {
    /// One round or its inverse, with MixColumns if `mix`; the key is added before the division that ends the round.
    pub(crate) fn fused_round(
        &self,
        dir: Direction,
        s: &State,
        key: &[Ciphertext],
        mix: bool,
    ) -> Result<State> {
        let eval = &self.eval;
        let c127 = eval.power_127(&[&s.ciphertexts[0]])?;
        let level = c127[0].level;
        let keys: Vec<&Ciphertext> = key.iter().collect();
        check_level(level, &keys)?;
        let slope = match dir {
            Direction::Encrypt => s.slope + 1,
            Direction::Decrypt => s.slope + 3,
        } % 4;
        let [bytes, columns, _] = self.linear.mean_powers();
        let (bytes, columns) = (
            (&self.bytes[..], bytes),
            (&self.columns[slope][..], columns),
        );
        let (first, last) = match (dir, mix) {
            (Direction::Encrypt, true) => (Some(bytes), columns),
            (Direction::Encrypt, false) => (None, bytes),
            (Direction::Decrypt, true) => (Some(columns), bytes),
            (Direction::Decrypt, false) => (None, (&self.square[..], 1.0)),
        };
        let input = match first {
            Some((images, power)) => {
                let plan = eval.params().staying(level);
                eval.sum_of_images(plan, images, &[&c127[0]], power, Post::None)?
            }
            None => c127,
        };
        let plan = eval.params().switching(level);
        let (images, power) = last;
        let keys: Vec<_> = keys.iter().map(|c| &c.parts).collect();
        let post = Post::Keys(&keys);
        let ciphertexts = eval.sum_of_images(plan, images, &[&input[0]], power, post)?;
        Ok(State {
            slope,
            ..s.with(ciphertexts)
        })
    }
}
