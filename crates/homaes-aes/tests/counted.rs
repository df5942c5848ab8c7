//! The view in the clear, which counts operations and live items, and knows the depth of each item.

use homaes_aes::{BitEval, Depth, EvalError};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What happened so far. An evaluator is a reference to it.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    /// levels; products of depth above that fail
    pub(crate) levels: Depth,
    pub(crate) live: AtomicUsize,
    pub(crate) most: AtomicUsize,
    /// products by depth
    pub(crate) products: Mutex<Vec<usize>>,
    /// sums of products of different depths
    pub(crate) uneven: AtomicUsize,
    /// products that each pass relinearises
    pub(crate) passes: Mutex<Vec<usize>>,
    /// depths passed to `refresh`
    pub(crate) refreshes: Mutex<Vec<Depth>>,
}

impl Counted {
    pub(crate) fn new(levels: Depth) -> Self {
        Self {
            levels,
            ..Self::default()
        }
    }

    pub(crate) fn products(&self) -> Vec<usize> {
        self.products.lock().unwrap().clone()
    }

    pub(crate) fn passes(&self) -> Vec<usize> {
        self.passes.lock().unwrap().clone()
    }
}

/// A bit or a product of bits, with its depth.
#[derive(Debug)]
pub(crate) struct Item<'e> {
    of: &'e Counted,
    pub(crate) value: bool,
    pub(crate) depth: Depth,
}

impl<'e> Item<'e> {
    pub(crate) fn new(of: &'e Counted, value: bool, depth: Depth) -> Self {
        let live = of.live.fetch_add(1, Relaxed) + 1;
        of.most.fetch_max(live, Relaxed);
        Self { of, value, depth }
    }
}

impl Clone for Item<'_> {
    fn clone(&self) -> Self {
        Self::new(self.of, self.value, self.depth)
    }
}

impl Drop for Item<'_> {
    fn drop(&mut self) {
        self.of.live.fetch_sub(1, Relaxed);
    }
}

impl<'e> BitEval for &'e Counted {
    type Error = EvalError;
    type Bit = Item<'e>;
    type Product = Item<'e>;

    fn slots(&self) -> usize {
        1
    }

    fn public(&self, v: &[bool]) -> Item<'e> {
        Item::new(self, v.first() == Some(&true), 0)
    }

    fn xor(&self, a: &Item<'e>, b: &Item<'e>) -> Item<'e> {
        Item::new(self, a.value ^ b.value, a.depth.max(b.depth))
    }

    fn xor_assign(&self, a: &mut Item<'e>, b: &Item<'e>) {
        a.value ^= b.value;
        a.depth = a.depth.max(b.depth);
    }

    fn and(&self, a: &Item<'e>, b: &Item<'e>) -> Result<Item<'e>, EvalError> {
        let depth = a.depth.max(b.depth);
        if depth >= self.levels {
            return Err(EvalError::OutOfDepth { needed: 1, left: 0 });
        }
        let mut products = self.products.lock().unwrap();
        if products.len() <= depth as usize {
            products.resize(depth as usize + 1, 0);
        }
        products[depth as usize] += 1;
        Ok(Item::new(self, a.value & b.value, depth + 1))
    }

    fn xor_product(&self, mut a: Item<'e>, b: &Item<'e>) -> Item<'e> {
        self.uneven
            .fetch_add(usize::from(a.depth != b.depth), Relaxed);
        self.xor_assign(&mut a, b);
        a
    }

    fn relinearize(&self, p: Item<'e>) -> Result<Item<'e>, EvalError> {
        Ok(p)
    }

    fn relinearize_all(&self, products: Vec<Item<'e>>) -> Result<Vec<Item<'e>>, EvalError> {
        self.passes.lock().unwrap().push(products.len());
        Ok(products)
    }

    fn refresh(&self, _: &mut [Item<'e>], depth: Depth) -> Result<(), EvalError> {
        self.refreshes.lock().unwrap().push(depth);
        Ok(())
    }
}
