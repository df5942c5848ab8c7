//! Encrypted runs on toy sets.
use super::*;
use homaes_aes::{Block, RoundKeys, clear};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::sync::Arc;

pub(crate) struct Fixture {
    pub(crate) params: Arc<Params>,
    pub(crate) secret: SecretKey,
    pub(crate) eval: EvalKey,
    pub(crate) rng: ChaCha20Rng,
}

pub(crate) fn fixture(set: &ParamSet, seed: u8) -> Fixture {
    let mut rng = ChaCha20Rng::from_seed([seed; 32]);
    let params = Params::new(set).unwrap();
    let secret = SecretKey::generate(&params, &mut rng).unwrap();
    let eval = EvalKey::generate(&secret, &mut rng);
    Fixture {
        params,
        secret,
        eval,
        rng,
    }
}

fn random_bytes(rng: &mut impl Rng, n: usize) -> Vec<u8> {
    let mut out = vec![0; n];
    rng.fill_bytes(&mut out);
    out
}

/// Every round of AES-128 on random blocks, decrypted and compared with the oracle, with the measured
/// noise below the carried bound.
fn aes_round_by_round(set: &ParamSet, measure: bool) {
    let mut f = fixture(set, 1);
    let slots = f.params.blocks_per_batch();
    let key: [u8; 16] = random_bytes(&mut f.rng, 16).try_into().unwrap();
    let keys = RoundKeys::expand(&key).unwrap();
    let wrapped = WrappedKey::encrypt(&f.secret, &keys, &mut f.rng).unwrap();
    let blocks: Vec<Block> = (0..slots)
        .map(|_| random_bytes(&mut f.rng, 16).try_into().unwrap())
        .collect();
    let traces: Vec<Vec<Block>> = blocks
        .iter()
        .map(|&b| clear::trace(homaes_aes::Direction::Encrypt, b, &keys))
        .collect();
    let aes = SlicedAes::new(&f.eval, &wrapped).unwrap();
    let start = std::time::Instant::now();
    let mut rounds = 0;
    aes.encrypt_blocks_observed(&blocks, |round, state| {
        println!("round {round} at {:?}", start.elapsed());
        let got = f.secret.decrypt_blocks(state).unwrap();
        let want: Vec<Block> = traces.iter().map(|t| t[round]).collect();
        // the constant of SubBytes is inside the round keys, so states agree exactly
        assert!(got.blocks == want, "round {round} differs");
        assert!(
            got.margin_bits > 2.0,
            "round {round}: margin {}",
            got.margin_bits
        );
        if measure {
            for c in &state[..2] {
                let (rms, max) = f.secret.measure_noise(c);
                println!(
                    "  level {} rms {rms:.2} max {max:.2} carried {:?}",
                    c.level(),
                    c.noise()
                );
                assert!(
                    max <= c.noise_bits(),
                    "round {round}: {max} > {}",
                    c.noise_bits()
                );
                assert!(rms < c.noise().rms_log2 + 1.0 && rms > c.noise().rms_log2 - 3.0);
            }
        }
        rounds += 1;
    })
    .unwrap();
    println!("{:?}", aes.meter());
    assert_eq!(rounds, 11);
}

#[test]
fn aes_on_toy_255() {
    aes_round_by_round(&sets::TOY_255, true);
}

#[test]
fn aes_on_toy_4369() {
    aes_round_by_round(&sets::TOY_4369, true);
}

#[test]
#[ignore = "about a minute; run with --ignored"]
fn aes_at_full_size() {
    aes_round_by_round(&sets::AES128, true);
}
