//! The limbs of a ring element, in memory or on a device.

use core::any::Any;
use core::fmt;
use core::ops::{Deref, DerefMut};
use homaes_math::Words;
use std::sync::{Arc, OnceLock};

/// All limbs of a ring element in the memory of a device.
pub trait Resident: Any + Send + Sync {
    /// A copy of the limbs.
    fn download(&self) -> Vec<Words>;
}

/// A list of limbs. Those that a device made come to memory when they are first looked at; those in memory can have a copy on a device, which the
/// first change drops.
#[derive(Clone)]
pub struct Limbs {
    words: OnceLock<Vec<Words>>,
    resident: OnceLock<Arc<dyn Resident>>,
}

impl Limbs {
    /// Those that a device holds.
    pub fn on_device(resident: Arc<dyn Resident>) -> Self {
        Self {
            words: OnceLock::new(),
            resident: OnceLock::from(resident),
        }
    }

    /// The copy on a device, which `upload` makes if there is none.
    pub fn resident(
        &self,
        upload: impl FnOnce(&[Words]) -> Arc<dyn Resident>,
    ) -> &Arc<dyn Resident> {
        self.resident.get_or_init(|| upload(self))
    }

    /// All limbs.
    pub fn into_words(mut self) -> Vec<Words> {
        core::mem::take(&mut *self)
    }
}

impl Deref for Limbs {
    type Target = Vec<Words>;
    fn deref(&self) -> &Vec<Words> {
        let download = || self.resident.get().map_or_else(Vec::new, |r| r.download());
        self.words.get_or_init(download)
    }
}

impl DerefMut for Limbs {
    fn deref_mut(&mut self) -> &mut Vec<Words> {
        // brings them to memory
        let _ = Self::deref(self);
        self.resident = OnceLock::new();
        self.words.get_mut().expect("in memory by now")
    }
}

impl From<Vec<Words>> for Limbs {
    fn from(words: Vec<Words>) -> Self {
        Self {
            words: OnceLock::from(words),
            resident: OnceLock::new(),
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
