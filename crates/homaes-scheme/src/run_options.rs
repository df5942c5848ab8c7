//! How an evaluation runs.

use crate::Cancel;

/// Sees the number of a round and the state after it.
pub type Observe<'o, S> = &'o mut dyn FnMut(usize, &S);

/// How an evaluation is cancelled and observed.
pub struct RunOptions<'o, S: ?Sized> {
    /// Ends the evaluation when thrown.
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

    /// Shows a state to the observer.
    pub fn show(&mut self, round: usize, state: &S) {
        if let Some(observe) = &mut self.observe {
            observe(round, state);
        }
    }
}

/// Without cancelling and without an observer.
impl<S: ?Sized> Default for RunOptions<'_, S> {
    fn default() -> Self {
        Self {
            cancel: Cancel::new(),
            observe: None,
        }
    }
}
