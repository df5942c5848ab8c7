//! The linear layer of AES as sums of automorphic images, for bytes and for packed columns.

use crate::circuit::images::Image;
use crate::error::Result;
use crate::keys::{EvalKey, Target};
use crate::linear::LinearLayer;
use homaes_scheme::Cancel;
use rayon::prelude::*;

/// Images Σ_j c_j τ_t^j of packed columns for the slopes t = 0 … 3, folded in parallel.
pub(crate) fn column_maps(
    key: &EvalKey,
    linear: &LinearLayer,
    cancel: &Cancel,
) -> Result<[Vec<Image>; 4]> {
    let params = &key.params;
    let step = |slope, j| params.column_step(slope, j);
    let mut steps: Vec<(usize, [usize; 3])> = (0..4)
        .flat_map(|slope| (1..4).map(move |j| (j, step(slope, j))))
        .collect();
    steps.sort_unstable();
    steps.dedup();
    let images: Vec<Image> = steps
        .par_iter()
        .map(|&(j, step)| Image::new(key, Target::Translate(step), linear.mix[j].clone(), cancel))
        .collect::<Result<_>>()?;
    let find = |slope, j: usize| match j {
        0 => Image::identity(params, linear.mix[0].clone()),
        _ => {
            let at = steps.binary_search(&(j, step(slope, j)));
            images[at.expect("every step was listed")].clone()
        }
    };
    Ok(core::array::from_fn(|slope| {
        (0..4).map(|j| find(slope, j)).collect()
    }))
}

/// Images Σ_k γ_k σ^(k+1) of the byte-wise linear map; γ_7 belongs to σ^8, the identity on bytes.
pub(crate) fn byte_map(key: &EvalKey, linear: &LinearLayer, cancel: &Cancel) -> Result<Vec<Image>> {
    let mut out: Vec<Image> = (1..8usize)
        .into_par_iter()
        .map(|k| {
            Image::new(
                key,
                Target::Frobenius(k),
                linear.gamma[k - 1].clone(),
                cancel,
            )
        })
        .collect::<Result<_>>()?;
    out.push(Image::identity(&key.params, linear.gamma[7].clone()));
    Ok(out)
}
