use super::*;

/// bgv/aes128+8's ring at weight `h`.
fn model(h: f64) -> BoundModel {
    let ring = Ring::new(65535).unwrap();
    BoundModel::new(&ring, 0.5 * (32768.0 * (1.0 + h) / 3.0).log2())
}

const DROPS: [f64; 3] = [13.5, 19.24, 13.5];

fn modulus(level: usize) -> f64 {
    let (rounds, tail) = ((level - 1) / 3, (level - 1) % 3);
    46.24 * rounds as f64 + [28.32, 41.82, 55.32][tail]
}

fn fresh(id: u64) -> Fresh {
    Fresh {
        key_switch_log2: NOTHING,
        digits: vec![],
        rounding: Some(id),
    }
}

fn product(a: &Bound, b: &Bound, level: usize, model: &BoundModel) -> Bound {
    let id = hash(&(format!("{:?}{:?}", a.atoms, b.atoms), level));
    a.times(b, model)
        .divided(DROPS[level % 3], &fresh(id), model)
}

fn report(what: &str, b: &Bound, level: usize, model: &BoundModel) {
    println!(
        "{what} level {level}: largest 2^{:.1} rho, failure 2^{:.1}, events {}",
        b.largest_log2(model) - model.rho_log2,
        b.failure_log2(model, modulus(level)),
        b.events
    );
}

#[test]
fn eight_products_of_independent_factors_fit_nine_levels() {
    for h in [256.0, 320.0, 512.0] {
        let model = model(h);
        let leaf = |id| Bound::rounded(&model, id, NOTHING);
        let mut tree: Vec<Bound> = (0..256).map(leaf).collect();
        let mut chain = leaf(0);
        for level in (2..=9).rev() {
            let pairs = tree.chunks(2);
            tree = pairs
                .map(|c| product(&c[0], &c[1], level, &model))
                .collect();
            chain = product(&chain, &leaf(1000 + level as u64), level, &model);
            report("tree", &tree[0], level - 1, &model);
            report("chain", &chain, level - 1, &model);
        }
        if h < 300.0 {
            assert!(tree[0].failure_log2(&model, modulus(1)) < -64.0);
        }
        assert!(chain.failure_log2(&model, modulus(1)) < -64.0);
    }
}

/// x^255, as masks.rs has it.
fn nonzero(x: &Bound, mut level: usize, model: &BoundModel) -> Bound {
    let mut x = x.clone();
    for k in [2, 4, 16] {
        x = product(&x, &x.moved(k, model), level, model);
        level -= 1;
    }
    x
}

#[test]
fn comparisons_of_a_block_take_seven_levels() {
    for h in [256.0, 320.0, 512.0] {
        let model = model(h);
        for carried in [NOTHING, model.rho_log2 - 1.0] {
            let masks = (0..16).map(|i| nonzero(&Bound::rounded(&model, i, carried), 8, &model));
            let mut row: Vec<Bound> = masks.collect();
            report("mask", &row[0], 5, &model);
            for level in (2..=5).rev() {
                row = row
                    .chunks(2)
                    .map(|c| product(&c[0], &c[1], level, &model))
                    .collect();
                report("all", &row[0], level - 1, &model);
            }
            if h < 300.0 {
                assert!(row[0].failure_log2(&model, modulus(1)) < -64.0);
            }
        }
    }
}

#[test]
fn squarings_run_away() {
    let model = model(256.0);
    let mut x = Bound::rounded(&model, 1, NOTHING);
    for level in (2..=9).rev() {
        x = product(&x, &x, level, &model);
        report("square", &x, level - 1, &model);
    }
    assert!(x.failure_log2(&model, modulus(1)) > -64.0);
}

/// Outputs of AES: 256 multiplied in a tree, and nine one after the other with public blocks added to them.
#[test]
fn eight_products_of_outputs_of_aes_fit_nine_levels() {
    let model = model(256.0);
    let leaf = |id: u64, summands| Bound::of_aes(&model, hash(&id), true, summands);
    let mut tree: Vec<Bound> = (0..256).map(|id| leaf(id, 0)).collect();
    let mut chain = leaf(0, 2);
    for level in (2..=9).rev() {
        let pairs = tree.chunks(2);
        tree = pairs
            .map(|c| product(&c[0], &c[1], level, &model))
            .collect();
        chain = product(&chain, &leaf(1000 + level as u64, 2), level, &model);
        report("tree", &tree[0], level - 1, &model);
        report("chain", &chain, level - 1, &model);
    }
    assert!(tree[0].failure_log2(&model, modulus(1)) < -64.0);
    assert!(chain.failure_log2(&model, modulus(1)) < -64.0);
}

#[test]
fn what_aes_hands_on_counts_once() {
    let model = model(256.0);
    let [x, y] = [1, 2].map(|id: u64| Bound::of_aes(&model, hash(&id), true, 0));
    let product = |a: &Bound, b: &Bound| a.times(b, &model).events;
    assert_eq!(product(&x, &y), x.events + y.events);
    // its values at other embeddings depend on each other: one factor is truncated
    assert_eq!(product(&x, &x.moved(2, &model)), 2.0 * x.events + 1.0);
    let fresh = Bound::encrypted(&model, hash(&3));
    assert_eq!(product(&fresh, &fresh.moved(2, &model)), 0.0);
    // between rounds nothing is known but a limit
    let between = Bound::of_aes(&model, hash(&1), false, 0);
    assert!(between.atoms.is_empty() && between.largest_log2(&model) > x.norm(ORDERS - 1));
    // orders beyond those of `runaway`: between the last known one and the limit
    let norm = |q: usize| x.rest[q - 1] - model.rho_log2;
    assert!((norm(32) - (32.0f64 / 5.0).log2()).abs() < 1e-9);
    assert!((33..=ORDERS).all(|q| norm(q) > norm(q - 1) && norm(q) < 5.0));
}
