//! How an evaluation runs.

use crate::Cancel;

/// Sees the number of a round and the state after it.
pub type Observe<'o, S> = &'o mut dyn FnMut(usize, &S);

/// How an evaluation runs: what ends it, and who sees its states.
pub struct RunOptions<'o, S: ?Sized> {
    /// Ends it when thrown.
    pub cancel: Cancel,
    /// Sees the state after every round, 0 being that after the first AddRoundKey.
    pub observe: Option<Observe<'o, S>>,
}

impl<'o, S: ?Sized> RunOptions<'o, S> {
    /// Both.
    pub fn new(cancel: &Cancel, observe: Observe<'o, S>) -> Self {
        Self {
            cancel: cancel.clone(),
            observe: Some(observe),
        }
    }

    /// Shows a state to who observes.
    pub fn show(&mut self, round: usize, state: &S) {
        if let Some(observe) = &mut self.observe {
            observe(round, state);
        }
    }
}

/// Nothing ends it, and nobody sees the states.
impl<S: ?Sized> Default for RunOptions<'_, S> {
    fn default() -> Self {
        Self {
            cancel: Cancel::new(),
            observe: None,
        }
    }
}
