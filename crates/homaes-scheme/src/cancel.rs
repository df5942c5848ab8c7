//! Ending a run from outside: another thread, a signal handler.

use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A switch that ends the runs it was given to. Clones are the same switch.
///
/// A run looks at it several times a second, then returns [`Cancelled`] and leaves nothing behind.
///
/// ```
/// let cancel = homaes_scheme::Cancel::new();
/// assert!(cancel.check().is_ok());
/// cancel.clone().cancel();
/// assert!(cancel.check().is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

/// A run was ended by [`Cancel::cancel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

impl Cancel {
    /// A switch that is not thrown.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends all runs that have this switch, for good.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was thrown.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error if it was thrown.
    ///
    /// # Errors
    /// [`Cancelled`].
    pub fn check(&self) -> Result<(), Cancelled> {
        match self.is_cancelled() {
            false => Ok(()),
            true => Err(Cancelled),
        }
    }

    /// Runs `task` on all items, on the current thread pool, as long as the switch is not thrown.
    ///
    /// # Errors
    /// [`Cancelled`], or the first error of a task.
    pub fn each<S: Send, T: Send, E: From<Cancelled> + Send>(
        &self,
        items: Vec<S>,
        task: impl Fn(S) -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, E> {
        let tasks = items.into_par_iter().with_max_len(1);
        tasks
            .map(|item| {
                self.check()?;
                task(item)
            })
            .collect()
    }
}
