use super::*;

/// The model of bgv/aes128+8's ring at weight `h`.
fn model(h: f64) -> BoundModel {
    let ring = Ring::new(65535).unwrap();
    BoundModel::new(&ring, 0.5 * (32768.0 * (1.0 + h) / 3.0).log2(), -64.0)
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

/// Products of neighbours, level by level, from `level` down to the last.
fn tree(mut row: Vec<Bound>, level: usize, model: &BoundModel) -> Bound {
    for level in (2..=level).rev() {
        let pairs = row.chunks(2);
        row = pairs.map(|c| product(&c[0], &c[1], level, model)).collect();
    }
    row.remove(0)
}

/// Whether a result at level 1 fails with a probability below 2^-64.
fn fits(b: &Bound, model: &BoundModel) -> bool {
    b.failure_log2(model, modulus(1)) < -64.0
}

/// Whether 256 factors in a tree over nine levels fit, and nine in sequence.
fn eight_products(
    model: &BoundModel,
    leaf: &dyn Fn(u64) -> Bound,
    link: &dyn Fn(u64) -> Bound,
) -> [bool; 2] {
    let whole = tree((0..256).map(leaf).collect(), 9, model);
    let links = (2..=9).rev();
    let chain = links.fold(link(0), |chain, level| {
        product(&chain, &link(1000 + level as u64), level, model)
    });
    [whole, chain].map(|b| fits(&b, model))
}

#[test]
fn eight_products_of_independent_factors_fit_nine_levels() {
    for h in [256.0, 320.0, 512.0] {
        let model = model(h);
        let leaf = |id| Bound::rounded(&model, id, NOTHING);
        let [tree, chain] = eight_products(&model, &leaf, &leaf);
        assert!(chain && (tree || h > 300.0), "{h}");
    }
}

/// Outputs of AES: 256 multiplied in a tree, and nine in sequence with public blocks added.
#[test]
fn eight_products_of_outputs_of_aes_fit_nine_levels() {
    let model = model(256.0);
    let leaf = |id, summands| Bound::of_aes(&model, hash(&id), true, summands);
    let found = eight_products(&model, &|id| leaf(id, 0), &|id| leaf(id, 2));
    assert_eq!(found, [true; 2]);
}

/// x^255, as in masks.rs.
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
    let model = model(256.0);
    for carried in [NOTHING, model.rho_log2 - 1.0] {
        let mask = |i| nonzero(&Bound::rounded(&model, i, carried), 8, &model);
        let all = tree((0..16).map(mask).collect(), 5, &model);
        assert!(fits(&all, &model), "{carried}");
    }
}

#[test]
fn squarings_run_away() {
    let model = model(256.0);
    let x = Bound::rounded(&model, 1, NOTHING);
    let levels = (2..=9).rev();
    let x = levels.fold(x, |x, level| product(&x, &x, level, &model));
    assert!(!fits(&x, &model));
}

#[test]
fn what_aes_hands_on_counts_once() {
    let model = model(256.0);
    let [x, y] = [1, 2].map(|id: u64| Bound::of_aes(&model, hash(&id), true, 0));
    let product = |a: &Bound, b: &Bound| a.times(b, &model).events;
    assert_eq!(product(&x, &y), x.events + y.events);
    // values at different embeddings depend on each other, so one factor is truncated
    assert_eq!(product(&x, &x.moved(2, &model)), 2.0 * x.events + 1.0);
    let fresh = Bound::encrypted(&model, hash(&3));
    assert_eq!(product(&fresh, &fresh.moved(2, &model)), 0.0);
    // between rounds only a limit is known
    let between = Bound::of_aes(&model, hash(&1), false, 0);
    assert!(between.atoms.is_empty() && between.largest_log2(&model) > x.norm(ORDERS - 1));
    // orders beyond those of `runaway` lie between the last known one and the limit
    let norm = |q: usize| x.rest[q - 1] - model.rho_log2;
    assert!((norm(32) - (32.0f64 / 5.0).log2()).abs() < 1e-9);
    assert!((33..=ORDERS).all(|q| norm(q) > norm(q - 1) && norm(q) < 5.0));
}
