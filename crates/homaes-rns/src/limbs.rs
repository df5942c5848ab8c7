//! The limbs of a ring element, in memory or on a device.

use core::any::Any;
use core::fmt;
use core::ops::{Deref, DerefMut};
use homaes_math::Words;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Why a device did not do what it was asked for: one clause without a full stop.
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
    /// A copy of the limbs. Called under a lock of the [`Limbs`] they are of, which it must not look at, nor wait for other threads that may.
    ///
    /// # Errors
    /// If the device fails.
    fn download(&self) -> Result<Vec<Words>, Fault>;
}

/// Copies of the same limbs, one on each of several devices.
#[derive(Clone, Default)]
pub struct Copies(Vec<Arc<dyn Resident>>);

impl Copies {
    /// The copy that is of this kind and `own`, made by `upload` if there is none.
    ///
    /// # Errors
    /// That of `upload`.
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

    /// Any of them.
    fn any(&self) -> Option<&dyn Resident> {
        self.0.first().map(|resident| &**resident)
    }
}

/// Zeros that are nowhere.
struct Zero {
    n: usize,
    count: usize,
}

impl Resident for Zero {
    fn download(&self) -> Result<Vec<Words>, Fault> {
        Ok((0..self.count).map(|_| Words::zeroed(self.n)).collect())
    }
}

/// A list of limbs. Those that a device made come to memory by [`fetch`](Self::fetch), or when they are first looked at; those in memory can
/// have a copy on each device, which the first change drops.
///
/// # Panics
/// Looking at limbs that only a device has, if it fails to give them. Who can return an error fetches them first.
pub struct Limbs {
    words: OnceLock<Vec<Words>>,
    /// held while limbs are copied to or from the device, so that this happens once
    resident: Mutex<Copies>,
}

impl Limbs {
    /// Those that a device holds.
    pub fn on_device(resident: Arc<dyn Resident>) -> Self {
        Self {
            words: OnceLock::new(),
            resident: Mutex::new(Copies(vec![resident])),
        }
    }

    /// `count` limbs of `n` zeros, which are written when they are first looked at.
    pub fn zero(n: usize, count: usize) -> Self {
        Self::on_device(Arc::new(Zero { n, count }))
    }

    /// Whether they are known to be zeros: from [`zero`](Self::zero), unless they were looked at.
    pub fn is_zero(&self) -> bool {
        self.words.get().is_none()
            && (self.lock().any()).is_some_and(|r| (r as &dyn Any).is::<Zero>())
    }

    fn lock(&self) -> MutexGuard<'_, Copies> {
        self.resident.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The copy on the device that is of this kind and `own`; `upload` makes one if there is none. Both are called
    /// under a lock, as [`Resident::download`] is.
    ///
    /// # Errors
    /// That of `upload`, and if another device has the limbs and fails.
    pub fn resident<R: Resident + Clone, E: From<Fault>>(
        &self,
        own: impl Fn(&R) -> bool,
        upload: impl FnOnce(&[Words]) -> Result<R, E>,
    ) -> Result<R, E> {
        self.lock()
            .own(own, |there| upload(self.words_of(there.any())?))
    }

    /// Brings the limbs to memory, where they are looked at without errors from then on.
    ///
    /// # Errors
    /// If a device has them and fails; it can be asked again.
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

    /// The words, with the lock held on what a device has.
    fn words_of(&self, resident: Option<&dyn Resident>) -> Result<&Vec<Words>, Fault> {
        if let Some(words) = self.words.get() {
            return Ok(words);
        }
        let words = resident.map_or(Ok(Vec::new()), Resident::download)?;
        Ok(self.words.get_or_init(|| words))
    }

    /// All limbs.
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
        // brings them to memory
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
