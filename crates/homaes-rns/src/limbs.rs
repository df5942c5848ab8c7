//! The limbs of a ring element, in memory or on a device.

use core::any::Any;
use core::fmt;
use core::ops::{Deref, DerefMut};
use homaes_math::Words;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Why a device failed: one clause without a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(pub String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Fault {}

/// All limbs of a ring element in the memory of a device.
pub trait Resident: Any + Send + Sync {
    /// Copies the limbs to memory. Called under a lock of their [`Limbs`]: implementations must not access these, nor
    /// wait for a thread that might. Fails if the device does.
    fn download(&self) -> Result<Vec<Words>, Fault>;
}

/// Copies of the same limbs, at most one per device.
#[derive(Clone, Default)]
pub struct Copies(Vec<Arc<dyn Resident>>);

impl Copies {
    /// The copy of type `R` that satisfies `own`; if there is none, `upload` makes it or returns its error.
    pub fn own<R: Resident + Clone, E>(
        &mut self,
        own: impl Fn(&R) -> bool,
        upload: impl FnOnce(&Self) -> Result<R, E>,
    ) -> Result<R, E> {
        let there = |r: &Arc<dyn Resident>| (&**r as &dyn Any).downcast_ref::<R>().cloned();
        if let Some(found) = self.0.iter().filter_map(there).find(own) {
            return Ok(found);
        }
        let made = upload(self)?;
        self.0.push(Arc::new(made.clone()));
        Ok(made)
    }

    fn any(&self) -> Option<&dyn Resident> {
        self.0.first().map(|resident| &**resident)
    }
}

/// Zeros that occupy no memory yet.
struct Zero {
    n: usize,
    count: usize,
}

impl Resident for Zero {
    fn download(&self) -> Result<Vec<Words>, Fault> {
        Ok((0..self.count).map(|_| Words::zeroed(self.n)).collect())
    }
}

/// The limbs of a ring element. Limbs that a device computed come to memory on [`fetch`](Self::fetch) or on first
/// access. Limbs in memory can have a copy on each device; a mutable access drops these copies.
///
/// # Panics
/// On access to limbs that only a device has, if the device fails. Call `fetch` first where an error can be returned.
pub struct Limbs {
    words: OnceLock<Vec<Words>>,
    /// locked during copies to and from devices, so that each happens once
    resident: Mutex<Copies>,
}

impl Limbs {
    /// Limbs that are on a device only.
    pub fn on_device(resident: Arc<dyn Resident>) -> Self {
        Self {
            words: OnceLock::new(),
            resident: Mutex::new(Copies(vec![resident])),
        }
    }

    /// `count` limbs of `n` zeros, allocated on first access.
    pub fn zero(n: usize, count: usize) -> Self {
        Self::on_device(Arc::new(Zero { n, count }))
    }

    /// Whether these are untouched limbs of [`zero`](Self::zero).
    pub fn is_zero(&self) -> bool {
        self.words.get().is_none()
            && (self.lock().any()).is_some_and(|r| (r as &dyn Any).is::<Zero>())
    }

    fn lock(&self) -> MutexGuard<'_, Copies> {
        self.resident.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The device copy of type `R` that satisfies `own`; if there is none, `upload` makes it. Both run under a lock, as
    /// [`Resident::download`] does. Fails if `upload` does, or if another device holds the only copy and fails.
    pub fn resident<R: Resident + Clone, E: From<Fault>>(
        &self,
        own: impl Fn(&R) -> bool,
        upload: impl FnOnce(&[Words]) -> Result<R, E>,
    ) -> Result<R, E> {
        self.lock()
            .own(own, |there| upload(self.words_of(there.any())?))
    }

    /// Brings the limbs to memory; later accesses cannot fail. If the device fails, the call can be repeated.
    pub fn fetch(&self) -> Result<(), Fault> {
        self.words().map(drop)
    }

    fn words(&self) -> Result<&Vec<Words>, Fault> {
        if let Some(words) = self.words.get() {
            return Ok(words);
        }
        let resident = self.lock();
        self.words_of(resident.any())
    }

    /// The words, given the locked copies.
    fn words_of(&self, resident: Option<&dyn Resident>) -> Result<&Vec<Words>, Fault> {
        if let Some(words) = self.words.get() {
            return Ok(words);
        }
        let words = resident.map_or(Ok(Vec::new()), Resident::download)?;
        Ok(self.words.get_or_init(|| words))
    }

    /// All limbs, brought to memory.
    pub fn into_words(mut self) -> Vec<Words> {
        core::mem::take(&mut *self)
    }
}

impl Clone for Limbs {
    fn clone(&self) -> Self {
        Self {
            words: self.words.clone(),
            resident: Mutex::new(self.lock().clone()),
        }
    }
}

impl Deref for Limbs {
    type Target = Vec<Words>;
    fn deref(&self) -> &Vec<Words> {
        match self.words() {
            Ok(words) => words,
            #[expect(
                clippy::panic,
                reason = "whoever can return an error fetches the limbs first"
            )]
            Err(fault) => panic!("{fault}"),
        }
    }
}

impl DerefMut for Limbs {
    fn deref_mut(&mut self) -> &mut Vec<Words> {
        let _ = Self::deref(self);
        self.resident = Mutex::default();
        self.words.get_mut().expect("in memory by now")
    }
}

impl From<Vec<Words>> for Limbs {
    fn from(words: Vec<Words>) -> Self {
        Self {
            words: OnceLock::from(words),
            resident: Mutex::default(),
        }
    }
}

impl FromIterator<Words> for Limbs {
    fn from_iter<T: IntoIterator<Item = Words>>(words: T) -> Self {
        Vec::from_iter(words).into()
    }
}

impl IntoIterator for Limbs {
    type Item = Words;
    type IntoIter = std::vec::IntoIter<Words>;
    fn into_iter(self) -> Self::IntoIter {
        self.into_words().into_iter()
    }
}

impl<'a> IntoIterator for &'a Limbs {
    type Item = &'a Words;
    type IntoIter = core::slice::Iter<'a, Words>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Limbs {
    type Item = &'a mut Words;
    type IntoIter = core::slice::IterMut<'a, Words>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl fmt::Debug for Limbs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limbs").finish_non_exhaustive()
    }
}
