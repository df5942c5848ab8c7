//! Work in layers, without a barrier between them: an item starts as soon as what it needs of the layer before is there.
//!
//! A block of AES has 16 look-ups per round, each a fair share of the round's time. Threads that waited for each other
//! after every round would lose what their speeds differ by, ten times over.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// By layer and item: numbers of items of the layer before, or after.
type Links = Vec<Vec<Vec<usize>>>;

/// An item whose needs are met.
pub(crate) struct Item<T> {
    /// counted from 0
    pub(crate) layer: usize,
    /// its number in the layer
    pub(crate) number: usize,
    /// results, in the order in which the needs were declared
    pub(crate) needs: Vec<Arc<T>>,
}

/// Runs all layers with the current thread pool and this thread; the results of the last one.
///
/// `needs[l][i]` are the numbers of the items that item i of layer l needs: of layer l - 1 or, for layer 0, of `given`.
/// `work` takes at most `most` items at once, of any layers; each yields a result for others and something to show.
/// `show` is called on this thread with the latter of all items of a layer, in the order of layers.
pub(crate) fn run<T: Send + Sync, S: Send>(
    needs: &Links,
    given: Vec<T>,
    most: usize,
    work: impl Fn(&[Item<T>]) -> Vec<(T, S)> + Sync,
    mut show: impl FnMut(usize, Vec<S>),
) -> Vec<Arc<T>> {
    let users = reversed(needs, given.len());
    let flow = Flow {
        needs,
        users: &users,
        most,
        state: Mutex::new(State::new(needs, given)),
        changed: Condvar::new(),
    };
    rayon::in_place_scope(|scope| {
        for _ in 1..rayon::current_num_threads() {
            scope.spawn(|_| flow.serve(&work, None));
        }
        flow.serve(&work, Some(&mut show));
    });
    let last = flow.lock().results.pop();
    last.into_iter().flatten().flatten().collect()
}

/// For the given items and those of every layer: which items of the next layer need them.
fn reversed(needs: &Links, given: usize) -> Links {
    let mut users = vec![vec![Vec::new(); given]];
    for layer in needs {
        let before = users.last_mut().expect("the given ones at least");
        for (number, needs) in layer.iter().enumerate() {
            needs.iter().for_each(|&need| before[need].push(number));
        }
        users.push(vec![Vec::new(); layer.len()]);
    }
    users
}

/// What the threads share.
struct Flow<'n, T, S> {
    needs: &'n Links,
    users: &'n Links,
    most: usize,
    state: Mutex<State<T, S>>,
    changed: Condvar,
}

/// By layer, `results` and `uses` starting with the given items.
struct State<T, S> {
    /// layer and number of items whose needs are met
    ready: VecDeque<(usize, usize)>,
    /// needs of every item that are not
    open: Vec<Vec<usize>>,
    /// how often each was taken
    uses: Vec<Vec<usize>>,
    /// until the last use
    results: Vec<Vec<Option<Arc<T>>>>,
    /// until shown
    to_show: Vec<Vec<Option<S>>>,
    /// layers shown
    shown: usize,
    /// items in work or to come
    left: usize,
    /// threads that wait
    idle: usize,
    /// a thread panicked
    broken: bool,
}

impl<T, S> State<T, S> {
    fn new(needs: &Links, given: Vec<T>) -> Self {
        let mut uses = vec![vec![0; given.len()]];
        uses.extend(needs.iter().map(|layer| vec![0; layer.len()]));
        let mut results = vec![given.into_iter().map(|x| Some(Arc::new(x))).collect()];
        results.extend(needs.iter().map(|layer| none(layer.len())));
        let first = needs.first().map_or(0, Vec::len);
        let count = |layer: &Vec<Vec<usize>>| layer.iter().map(Vec::len).collect();
        Self {
            ready: (0..first).map(|number| (0, number)).collect(),
            open: needs.iter().map(count).collect(),
            uses,
            results,
            to_show: needs.iter().map(|layer| none(layer.len())).collect(),
            shown: 0,
            left: needs.iter().map(Vec::len).sum(),
            idle: 0,
            broken: false,
        }
    }

    /// The next layer to show, if it is complete.
    fn complete(&mut self) -> Option<(usize, Vec<S>)> {
        let layer = self.to_show.get_mut(self.shown)?;
        if !layer.iter().all(Option::is_some) {
            return None;
        }
        self.shown += 1;
        let shows = core::mem::take(layer).into_iter().flatten();
        Some((self.shown - 1, shows.collect()))
    }
}

fn none<T>(len: usize) -> Vec<Option<T>> {
    (0..len).map(|_| None).collect()
}

impl<T: Send + Sync, S: Send> Flow<'_, T, S> {
    fn lock(&self) -> MutexGuard<'_, State<T, S>> {
        // nothing panics while it holds the lock
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One thread's share; the one that shows stays until all is shown.
    fn serve(
        &self,
        work: &impl Fn(&[Item<T>]) -> Vec<(T, S)>,
        mut show: Option<&mut dyn FnMut(usize, Vec<S>)>,
    ) {
        let _guard = Guard(self);
        let mut state = self.lock();
        while !state.broken {
            if let Some(show) = &mut show
                && let Some((layer, all)) = state.complete()
            {
                drop(state);
                show(layer, all);
                state = self.lock();
                continue;
            }
            if state.left == 0 {
                break;
            }
            // what is ready is shared with those who wait
            let count = state.ready.len().div_ceil(1 + state.idle).min(self.most);
            if count == 0 {
                state.idle += 1;
                let woken = self.changed.wait(state);
                state = woken.unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                continue;
            }
            let items = self.take(&mut state, count);
            drop(state);
            let done = work(&items);
            state = self.lock();
            for (item, (result, show)) in items.into_iter().zip(done) {
                self.put(&mut state, (item.layer, item.number), result, show);
            }
            self.changed.notify_all();
        }
    }

    fn take(&self, state: &mut State<T, S>, count: usize) -> Vec<Item<T>> {
        let taken: Vec<(usize, usize)> = state.ready.drain(..count).collect();
        let items = taken.into_iter().map(|(layer, number)| {
            let needs = self.needs[layer][number].iter().map(|&need| {
                let result = &mut state.results[layer][need];
                state.uses[layer][need] += 1;
                let last = state.uses[layer][need] == self.users[layer][need].len();
                let taken = if last { result.take() } else { result.clone() };
                taken.expect("held until its last use")
            });
            let needs = needs.collect();
            Item {
                layer,
                number,
                needs,
            }
        });
        items.collect()
    }

    fn put(&self, state: &mut State<T, S>, (layer, number): (usize, usize), result: T, show: S) {
        state.results[layer + 1][number] = Some(Arc::new(result));
        state.to_show[layer][number] = Some(show);
        state.left -= 1;
        for &user in &self.users[layer + 1][number] {
            let open = &mut state.open[layer + 1][user];
            *open -= 1;
            if *open == 0 {
                state.ready.push_back((layer + 1, user));
            }
        }
    }
}

/// Sends the others home if this thread's work panics.
struct Guard<'f, 'n, T: Send + Sync, S: Send>(&'f Flow<'n, T, S>);

impl<T: Send + Sync, S: Send> Drop for Guard<'_, '_, T, S> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().broken = true;
            self.0.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every item adds what it needs, and its own place.
    fn sums(
        needs: &Links,
        given: &[u64],
        most: usize,
        threads: usize,
    ) -> (Vec<u64>, Vec<Vec<u64>>) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let mut shown = Vec::new();
        let out = pool.build().unwrap().install(|| {
            let work = |items: &[Item<u64>]| {
                assert!((1..=most).contains(&items.len()));
                let each = items.iter().map(|item| {
                    let sum: u64 = item.needs.iter().map(|x| **x).sum();
                    let sum = 3 * sum + (100 * item.layer + item.number) as u64;
                    (sum, sum + 1)
                });
                each.collect()
            };
            let show = |layer, all| {
                assert_eq!(layer, shown.len());
                shown.push(all);
            };
            run(needs, given.to_vec(), most, work, show)
        });
        (out.iter().map(|x| **x).collect(), shown)
    }

    #[test]
    fn layers_give_what_they_give_one_by_one() {
        let needs: Links = (0..6)
            .map(|l| {
                (0..16)
                    .map(|i| (0..4).map(|j| (i + 5 * j + l) % 16).collect())
                    .collect()
            })
            .collect();
        let given: Vec<u64> = (0..16).map(|x| x * x).collect();
        let mut layers = vec![given.clone()];
        for (l, layer) in needs.iter().enumerate() {
            let before = &layers[l];
            let next = layer.iter().enumerate().map(|(i, needs)| {
                3 * needs.iter().map(|&n| before[n]).sum::<u64>() + (100 * l + i) as u64
            });
            let next = next.collect();
            layers.push(next);
        }
        for (most, threads) in [(1, 1), (2, 1), (2, 3), (5, 2), (100, 4)] {
            let (out, shown) = sums(&needs, &given, most, threads);
            assert_eq!(&out, layers.last().unwrap());
            let shown: Vec<Vec<u64>> = shown
                .iter()
                .map(|layer| layer.iter().map(|x| x - 1).collect())
                .collect();
            assert_eq!(shown, layers[1..]);
        }
    }

    #[test]
    fn nothing_to_do() {
        assert_eq!(sums(&vec![], &[7], 2, 2), (vec![7], vec![]));
        assert_eq!(sums(&vec![vec![]; 2], &[], 2, 2), (vec![], vec![vec![]; 2]));
    }

    #[test]
    #[should_panic(expected = "item 3")]
    fn a_panic_ends_all_threads() {
        let needs = vec![
            (0..8).map(|i| vec![i]).collect(),
            (0..8).map(|i| vec![i]).collect(),
        ];
        let work = |items: &[Item<u64>]| {
            let item = &items[0];
            assert!((item.layer, item.number) != (0, 3), "item 3");
            vec![(0, ())]
        };
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(3)
            .build()
            .unwrap();
        pool.install(|| run(&needs, vec![0; 8], 1, work, |_, _| {}));
    }
}
