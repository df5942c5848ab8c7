//! The work on results: bytes lifted to integers, and sums of these.

use super::places::Lane;
use super::total::{DOT_BITS, Total};
use crate::programs::columns::{Check, Condition};
use homaes_bgv::{Ciphertext, Error as Bgv, Evaluator, Integers, Lifting, State};
use std::collections::{BTreeMap, HashMap};

/// Least bits of lifted masks.
const MASK_BITS: u32 = 3;

/// The lanes of a task. Their order is that of the work.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TaskPlace {
    /// the last one
    pub(super) batch: u64,
    pub(super) conditions: Vec<Lane>,
    pub(super) total: usize,
    /// of a sum without conditions
    pub(super) digit: usize,
    pub(super) own: Vec<Lane>,
}

impl TaskPlace {
    pub(super) fn lanes(&self) -> impl Iterator<Item = &Lane> {
        self.conditions.iter().chain(&self.own)
    }
}

/// Lanes whose chosen slots hold the bytes of records.
pub(super) struct Task {
    pub(super) place: TaskPlace,
    pub(super) chosen: Vec<u8>,
}

/// A sum of integers, and the largest number that a slot can hold.
struct Open {
    x: Integers,
    most: u64,
}

/// A total, a weight and chosen slots.
type Target = (usize, u64, Vec<u8>);

pub(super) struct Run<'r> {
    totals: &'r [Total],
    conditions: &'r [Condition],
    /// and whether a condition is the opposite
    checks: Vec<(Check, bool)>,
    eval: Evaluator<'r>,
    tasks: u64,
    pub(super) states: BTreeMap<u64, State>,
    /// by whether of masks, level, and bits wanted
    lifts: HashMap<(bool, usize, u32), Lifting<'r>>,
    /// bytes lifted for the last batch, by whether 128 was added and bits wanted
    pub(super) lifted: HashMap<(Lane, bool, u32), Integers>,
    /// the last mask, with the lanes of its conditions
    mask: Option<(Vec<Lane>, Ciphertext)>,
    open: BTreeMap<Target, Open>,
    /// of each total: weight, integers and chosen slots
    pub(super) sums: Vec<Vec<(u64, Integers, Vec<u8>)>>,
}

impl<'r> Run<'r> {
    pub(super) fn new(
        (totals, conditions): (&'r [Total], &'r [Condition]),
        checks: Vec<(Check, bool)>,
        eval: Evaluator<'r>,
        tasks: usize,
    ) -> Self {
        Self {
            totals,
            conditions,
            checks,
            eval,
            tasks: tasks as u64,
            states: BTreeMap::new(),
            lifts: HashMap::new(),
            lifted: HashMap::new(),
            mask: None,
            open: BTreeMap::new(),
            sums: vec![Vec::new(); totals.len()],
        }
    }

    pub(super) fn take(&mut self, task: &Task) -> homaes_bgv::Result<()> {
        let TaskPlace {
            conditions,
            total,
            digit,
            own,
            ..
        } = &task.place;
        let mask = match conditions.is_empty() {
            true => None,
            false => Some(self.mask(conditions)?),
        };
        let target = |weight: u64| (*total, weight, task.chosen.clone());
        let weight = |digit: usize| 1u64 << (8 * digit);
        match &self.totals[*total] {
            Total::Sum(column) => {
                for (digit, lane) in (*digit..).zip(own) {
                    let is_signed = column.signed && digit + 1 == usize::from(column.bytes);
                    let bits = [8, self.bits(255)];
                    let x = self.digit(*lane, is_signed, mask.as_ref(), bits)?;
                    self.add(target(weight(digit)), x, 255)?;
                }
                if let Some(mask) = mask.filter(|_| column.signed) {
                    let x = self.lift(&mask, true, [MASK_BITS, self.bits(1)])?;
                    self.add(target(column.offset_weight()), x, 1)?;
                }
            }
            Total::Count => {
                if let Some(mask) = mask {
                    let x = self.lift(&mask, true, [MASK_BITS, self.bits(1)])?;
                    self.add(target(1), x, 1)?;
                }
            }
            Total::Dot(x, _) => {
                let (x, y) = own.split_at(x.bytes.into());
                let lowest = |all: &[Lane]| -> Vec<Lane> { all.iter().take(2).copied().collect() };
                let [x, y] = [lowest(x), lowest(y)];
                let mut left = Vec::new();
                for lane in x {
                    left.push(self.digit(lane, false, mask.as_ref(), [DOT_BITS; 2])?);
                }
                for (j, lane) in y.into_iter().enumerate() {
                    let right = self.digit(lane, false, None, [DOT_BITS; 2])?;
                    // higher digits are 0 modulo 2^16
                    for (i, left) in left.iter().enumerate().filter(|(i, _)| i + j < 2) {
                        let product = left.multiply(&self.eval, &right)?;
                        self.add(target(weight(i + j)), product, 0)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The bytes of a lane as integers: 128 added to those of a highest digit with a sign, then times a mask.
    fn digit(
        &mut self,
        lane: Lane,
        is_signed: bool,
        mask: Option<&Ciphertext>,
        bits: [u32; 2],
    ) -> homaes_bgv::Result<Integers> {
        let key = (lane, is_signed, bits[1]);
        if let (Some(x), None) = (self.lifted.get(&key), mask) {
            return Ok(x.clone());
        }
        let mut c = self.lane(lane);
        if is_signed {
            c = self.eval.add_byte(&c, 0x80)?;
        }
        if let Some(mask) = mask {
            c = self.eval.multiply(&c, mask)?;
        }
        let x = self.lift(&c, false, bits)?;
        if mask.is_none() {
            self.lifted.insert(key, x.clone());
        }
        Ok(x)
    }

    fn lane(&self, (batch, byte): Lane) -> Ciphertext {
        self.states[&batch].ciphertexts()[byte].clone()
    }

    /// The records that meet all conditions, whose bytes are in these lanes.
    fn mask(&mut self, lanes: &[Lane]) -> homaes_bgv::Result<Ciphertext> {
        if let Some((of, mask)) = &self.mask
            && of == lanes
        {
            return Ok(mask.clone());
        }
        let eval = &self.eval;
        let mut masks = Vec::new();
        let mut rest = lanes;
        for ((check, opposite), condition) in self.checks.iter().zip(self.conditions) {
            let (own, others) = rest.split_at(condition.column.bytes.into());
            rest = others;
            let mask = match check {
                Check::Equal(bytes) => {
                    let digits = own.iter().zip(bytes);
                    let equal = digits.map(|(lane, b)| eval.equals_byte(&self.lane(*lane), *b));
                    let equal: Vec<_> = equal.collect::<homaes_bgv::Result<_>>()?;
                    eval.all(&equal.iter().collect::<Vec<_>>())?
                }
                Check::Below(bound) => {
                    let mut x = self.lane(own[0]);
                    if condition.column.signed {
                        x = eval.add_byte(&x, 0x80)?;
                    }
                    eval.below_byte(&x, *bound)?
                }
            };
            masks.push(if *opposite { eval.not(&mask)? } else { mask });
        }
        let mask = eval.all(&masks.iter().collect::<Vec<_>>())?;
        self.mask = Some((lanes.to_vec(), mask.clone()));
        Ok(mask)
    }

    /// Bits that hold a sum of `most` of every task.
    fn bits(&self, most: u64) -> u32 {
        64 - (most.saturating_mul(self.tasks)).leading_zeros()
    }

    /// Integers from bytes or masks: of as many bits up to `wanted` as leave most room for sums, at least `least`.
    fn lift(
        &mut self,
        c: &Ciphertext,
        masks: bool,
        [least, wanted]: [u32; 2],
    ) -> homaes_bgv::Result<Integers> {
        let level = c.level();
        let key = (masks, level, wanted);
        if !self.lifts.contains_key(&key) {
            let of = |bits| match masks {
                true => self.eval.mask_lifting(level, bits),
                false => self.eval.lifting(level, bits),
            };
            // additions that it leaves, as their logarithm
            let additions =
                |lifting: &Lifting<'_>, bits: u32| lifting.room_bits().min(f64::from(bits - least));
            let mut best = of(least)?;
            let mut most = additions(&best, least);
            for bits in least + 1..=wanted.max(least) {
                match of(bits) {
                    Ok(lifting) if additions(&lifting, bits) > most => {
                        most = additions(&lifting, bits);
                        best = lifting;
                    }
                    Ok(_) | Err(Bgv::LiftBits { .. }) => (),
                    Err(error) => return Err(error),
                }
            }
            self.lifts.insert(key, best);
        }
        match self.lifts[&key].lift(c) {
            // sums of masks: a switch divides their noise
            Err(Bgv::PlaneNoise { .. }) if level > 1 => {
                let down = self.eval.mod_switch(c)?;
                self.lift(&down, masks, [least, wanted])
            }
            lifted => lifted,
        }
    }

    /// Adds integers up to `most` to the sum for `target`, or begins another if they do not fit.
    fn add(&mut self, target: Target, x: Integers, most: u64) -> homaes_bgv::Result<()> {
        let Some(open) = self.open.remove(&target) else {
            self.open.insert(target, Open { x, most });
            return Ok(());
        };
        let sum = open.most + most;
        let fits = sum >> open.x.bits() == 0;
        let added = fits.then(|| open.x.add(&self.eval, &x)).transpose();
        let next = match added {
            Ok(Some(x)) => Open { x, most: sum },
            Ok(None) | Err(Bgv::TooNoisy { .. }) => {
                self.close(&target, &open.x)?;
                Open { x, most }
            }
            Err(error) => return Err(error),
        };
        self.open.insert(target, next);
        Ok(())
    }

    fn close(&mut self, (total, weight, chosen): &Target, x: &Integers) -> homaes_bgv::Result<()> {
        let x = x.finish(&self.eval)?;
        self.sums[*total].push((*weight, x, chosen.clone()));
        Ok(())
    }

    pub(super) fn close_all(&mut self) -> homaes_bgv::Result<()> {
        while let Some((target, open)) = self.open.pop_first() {
            self.close(&target, &open.x)?;
        }
        Ok(())
    }
}
