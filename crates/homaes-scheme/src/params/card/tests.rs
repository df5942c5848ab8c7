use super::*;
use crate::params::rlwe;

fn secure() -> SetCard {
    let weight = SecretWeight::Hamming(256);
    let line = |(what, modulus_bits): (&'static str, f64)| Published {
        what: what.into(),
        dimension: 32768,
        log2_sigma: 3.2f64.log2() - modulus_bits,
        ring_degree: 32768,
        weight: None,
        modulus_bits,
        estimate: rlwe::estimate(32768, weight, modulus_bits, 3.2),
    };
    SetCard {
        name: SetName::from_static("bgv/test"),
        paper: "GHS12",
        purpose: Purpose::Secure,
        security_bits_claimed: Some(128),
        log2_p_fail: -80.0,
        slots: 2048,
        blocks_per_batch: 2048,
        eval_key_bytes: 1 << 30,
        wrapped_key_bytes: 1 << 24,
        ciphertext_bytes_per_batch: 1 << 20,
        secret_key_bytes: 9000,
        ring: Some(Ring { m: 65535, n: 32768 }),
        secret_weight: Some(weight),
        sigma: Some(3.2),
        log2_qp: Some(790.0),
        published: [("public key", 700.0), ("relinearisation key", 790.0)]
            .map(line)
            .into(),
        assumptions: Vec::new(),
    }
}

#[test]
fn a_sound_card_passes() {
    let card = secure();
    assert_eq!(card.check(), Ok(()));
    assert_eq!(card.security_bits_estimated(), Some(134.4));
    assert_eq!(card.security_bits_with_rotations(), Some(128.01));
    assert_eq!(card.least(|estimate| estimate.quantum), Some(120.46));
}

/// One broken rule each, with the message a reader sees.
#[test]
fn broken_secure_cards_are_named() {
    type Break = fn(&mut SetCard);
    let cases: [(Break, &str); 9] = [
        (
            |c| c.security_bits_claimed = Some(127),
            " claims 127 bits, a secure set needs at least 128",
        ),
        (
            |c| c.security_bits_claimed = None,
            " claims 0 bits, a secure set needs at least 128",
        ),
        (
            |c| c.published.clear(),
            " lists nothing published, so nothing supports its claim",
        ),
        (
            |c| c.published[1].estimate = None,
            ": relinearisation key has no usable estimate",
        ),
        (
            |c| c.published[0].estimate.as_mut().unwrap().with_rotations = f64::NAN,
            ": public key has no usable estimate",
        ),
        (
            |c| c.published[0].modulus_bits = 811.5,
            ": public key has 811.5 modulus bits, the card says at most 790",
        ),
        (
            |c| c.security_bits_claimed = Some(129),
            ": relinearisation key is estimated at 128.0 bits, below the claim of 129",
        ),
        (
            |c| c.log2_p_fail = -63.5,
            ": log2 of the failure probability is -63.5, a secure set needs at most -64",
        ),
        (
            |c| c.log2_p_fail = f64::NAN,
            ": log2 of the failure probability is NaN, a secure set needs at most -64",
        ),
    ];
    for (damage, message) in cases {
        let mut card = secure();
        damage(&mut card);
        let found = card.check().unwrap_err();
        assert_eq!(found, format!("set bgv/test{message}"));
    }
}

#[test]
fn toys_claim_nothing_and_papers_may_fall_short() {
    let mut card = secure();
    card.purpose = Purpose::Toy;
    let message = card.check().unwrap_err();
    assert_eq!(message, "set bgv/test is a toy but claims 128 bits");
    card.security_bits_claimed = None;
    card.log2_p_fail = 0.0;
    card.published[0].estimate = None;
    assert_eq!(card.check(), Ok(()));
    assert_eq!(card.security_bits_estimated(), None);
    card.purpose = Purpose::Paper;
    card.security_bits_claimed = Some(192);
    assert_eq!(card.check(), Ok(()));
    card.published.clear();
    assert_eq!(card.security_bits_estimated(), None);
}
