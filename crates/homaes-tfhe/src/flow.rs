//! Work in layers without barriers: an item starts when the items that it needs are done.
//!
//! A block of AES has 16 look-ups per round; a barrier would let the slowest thread delay every round.

use rayon::prelude::*;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// By layer and item: the numbers of the items of the previous layer that it needs.
type Links = Vec<Vec<Vec<usize>>>;

/// For `given` and each layer, by item: the items of the next layer that need it, and as which of their needs.
type Users = Vec<Vec<Vec<(usize, usize)>>>;

/// Layer and number of an item.
type Place = (usize, usize);

/// Items whose needs are all met, with the results that they need.
type Opened<T> = Vec<(Place, Vec<Arc<T>>)>;

pub(crate) struct Item<I> {
    pub(crate) layer: usize,
    pub(crate) number: usize,
    /// what `prepare` made of the needed results
    pub(crate) input: Arc<I>,
}

/// Observer of a layer: its number, and the inputs of all its items.
pub(crate) type Show<'s, I> = &'s mut dyn FnMut(usize, Vec<Arc<I>>);

/// Runs all layers on the current thread pool and this thread, and returns the results of the last one.
///
/// Item i of layer l needs the items `needs[l][i]`, at least one, of layer l - 1, or of `given` for layer 0. `prepare`
/// turns these results, in this order, into the item's input as soon as they exist, and should be quick. `work`
/// processes up to `most` inputs at once, of any layers; fewer while threads are idle. `show` sees the inputs of whole
/// layers in order, on this thread.
///
/// `prepare` and `work` must not use the thread pool: a thread waiting in them could pick up another share of this
/// flow and wait for itself.
pub(crate) fn run<T: Send + Sync, I: Send + Sync>(
    needs: &Links,
    given: Vec<T>,
    most: usize,
    prepare: impl Fn(Place, &[Arc<T>]) -> I + Sync,
    work: impl Fn(&[Item<I>]) -> Vec<T> + Sync,
    show: Option<Show<'_, I>>,
) -> Vec<Arc<T>> {
    assert!(needs.iter().flatten().all(|needs| !needs.is_empty()));
    let threads = rayon::current_num_threads();
    let last = needs.last().map_or(given.len(), Vec::len);
    let waiting = |layer: &Vec<Vec<usize>>| layer.iter().map(|needs| none(needs.len())).collect();
    let flow = Flow {
        users: reversed(needs, given.len()),
        most,
        shown: show.is_some(),
        state: Mutex::new(State {
            ready: VecDeque::new(),
            waiting: needs.iter().map(waiting).collect(),
            last: none(last),
            to_show: needs.iter().map(|layer| none(layer.len())).collect(),
            shown: 0,
            left: needs.iter().map(Vec::len).sum(),
            idle: threads,
            broken: false,
        }),
        changed: Condvar::new(),
    };
    let given = given.into_iter().enumerate();
    let first = given.flat_map(|(number, x)| flow.lock().put((0, number), x, &flow.users));
    let first: Opened<T> = first.collect();
    let first: Vec<Item<I>> = first
        .into_par_iter()
        .map(|opened| Item::prepare(&prepare, opened))
        .collect();
    flow.make_ready(&mut flow.lock(), first);
    rayon::in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| flow.serve(&prepare, &work, None));
        }
        flow.serve(&prepare, &work, show);
    });
    let last = core::mem::take(&mut flow.lock().last);
    last.into_iter().flatten().collect()
}

impl<I> Item<I> {
    fn prepare<T>(
        prepare: &impl Fn(Place, &[Arc<T>]) -> I,
        (place, needs): (Place, Vec<Arc<T>>),
    ) -> Self {
        Self {
            layer: place.0,
            number: place.1,
            input: Arc::new(prepare(place, &needs)),
        }
    }
}

fn reversed(needs: &Links, given: usize) -> Users {
    let mut users = vec![vec![Vec::new(); given]];
    for layer in needs {
        let before = users.last_mut().expect("the given ones at least");
        for (number, needs) in layer.iter().enumerate() {
            for (place, &need) in needs.iter().enumerate() {
                before[need].push((number, place));
            }
        }
        users.push(vec![Vec::new(); layer.len()]);
    }
    users
}

struct Flow<T, I> {
    users: Users,
    most: usize,
    /// whether inputs are kept for `show`
    shown: bool,
    state: Mutex<State<T, I>>,
    changed: Condvar,
}

struct State<T, I> {
    ready: VecDeque<Item<I>>,
    /// by layer and item: what it needs, as far as it exists
    waiting: Vec<Vec<Vec<Option<Arc<T>>>>>,
    /// results of the last layer
    last: Vec<Option<Arc<T>>>,
    /// by layer and item: inputs not shown yet
    to_show: Vec<Vec<Option<Arc<I>>>>,
    shown: usize,
    /// items without a result
    left: usize,
    /// threads that wait or have not started
    idle: usize,
    broken: bool,
}

impl<T, I> State<T, I> {
    /// Hands a result to the items that need it, and opens those that waited only for it. Layer 0 is `given`.
    fn put(&mut self, (layer, number): Place, result: T, users: &Users) -> Opened<T> {
        let result = Arc::new(result);
        let Some(next) = self.waiting.get_mut(layer) else {
            self.last[number] = Some(result);
            return Vec::new();
        };
        let mut opened = Vec::new();
        for &(user, place) in &users[layer][number] {
            let needs = &mut next[user];
            needs[place] = Some(result.clone());
            if needs.iter().all(Option::is_some) {
                let needs = core::mem::take(needs).into_iter().flatten();
                opened.push(((layer, user), needs.collect()));
            }
        }
        opened
    }

    /// The next layer to show, if it is complete.
    fn complete(&mut self) -> Option<(usize, Vec<Arc<I>>)> {
        let layer = self.to_show.get_mut(self.shown)?;
        if !layer.iter().all(Option::is_some) {
            return None;
        }
        self.shown += 1;
        let inputs = core::mem::take(layer).into_iter().flatten();
        Some((self.shown - 1, inputs.collect()))
    }
}

fn none<T>(len: usize) -> Vec<Option<T>> {
    (0..len).map(|_| None).collect()
}

impl<T: Send + Sync, I: Send + Sync> Flow<T, I> {
    fn lock(&self) -> MutexGuard<'_, State<T, I>> {
        // the thread that panicked reports it
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One thread's share. The thread with `show` stays until all layers are shown.
    fn serve(
        &self,
        prepare: &impl Fn(Place, &[Arc<T>]) -> I,
        work: &impl Fn(&[Item<I>]) -> Vec<T>,
        mut show: Option<Show<'_, I>>,
    ) {
        let _guard = Guard(self);
        let mut state = self.lock();
        state.idle -= 1;
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
            let count = state.ready.len().div_ceil(1 + state.idle).min(self.most);
            if count == 0 {
                state.idle += 1;
                let woken = self.changed.wait(state);
                state = woken.unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                continue;
            }
            let items: Vec<Item<I>> = state.ready.drain(..count).collect();
            drop(state);
            let results = work(&items);
            assert_eq!(results.len(), items.len());
            state = self.lock();
            let mut opened = Vec::new();
            for (item, result) in items.into_iter().zip(results) {
                state.left -= 1;
                let place = (item.layer + 1, item.number);
                opened.extend(state.put(place, result, &self.users));
            }
            drop(state);
            let each = opened.into_iter();
            let next = each.map(|opened| Item::prepare(prepare, opened)).collect();
            state = self.lock();
            self.make_ready(&mut state, next);
            self.changed.notify_all();
        }
    }

    fn make_ready(&self, state: &mut State<T, I>, items: Vec<Item<I>>) {
        for item in items {
            if self.shown {
                state.to_show[item.layer][item.number] = Some(item.input.clone());
            }
            state.ready.push_back(item);
        }
    }
}

/// Stops the other threads if this one panics.
struct Guard<'f, T: Send + Sync, I: Send + Sync>(&'f Flow<T, I>);

impl<T: Send + Sync, I: Send + Sync> Drop for Guard<'_, T, I> {
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
    use core::hint::black_box;
    use rayon::{ThreadPool, ThreadPoolBuilder};

    fn pool(threads: usize) -> ThreadPool {
        let pool = ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap()
    }

    /// Layers of 16 items that each need four of the previous layer.
    fn sixteens() -> Links {
        let needs = |l: usize, i: usize| (0..4).map(|j| (i + 5 * j + l) % 16).collect();
        (0..6)
            .map(|l| (0..16).map(|i| needs(l, i)).collect())
            .collect()
    }

    fn value((layer, number): Place, needs: impl Iterator<Item = u64>) -> u64 {
        3 * needs.sum::<u64>() + (100 * layer + number) as u64
    }

    /// Each item triples the sum of its needs and adds its place. Items take different times.
    fn sums(needs: &Links, given: &[u64], most: usize) -> (Vec<u64>, Vec<Vec<u64>>) {
        let mut shown = Vec::new();
        let mut show = |layer, all: Vec<Arc<u64>>| {
            assert_eq!(layer, shown.len());
            shown.push(all.iter().map(|x| **x).collect());
        };
        let prepare = |place, needs: &[Arc<u64>]| value(place, needs.iter().map(|x| **x));
        let work = |items: &[Item<u64>]| {
            assert!((1..=most).contains(&items.len()));
            let work = items.iter().map(|item| {
                for x in 0..(item.number % 5) * 10_000 {
                    black_box(x);
                }
                *item.input + 1
            });
            work.collect()
        };
        let out = run(needs, given.to_vec(), most, prepare, work, Some(&mut show));
        (out.iter().map(|x| **x).collect(), shown)
    }

    fn layers(needs: &Links, given: &[u64]) -> (Vec<u64>, Vec<Vec<u64>>) {
        let mut results = given.to_vec();
        let mut inputs = Vec::new();
        for (l, layer) in needs.iter().enumerate() {
            let input =
                |(i, needs): (usize, &Vec<usize>)| value((l, i), needs.iter().map(|&n| results[n]));
            let next: Vec<u64> = layer.iter().enumerate().map(input).collect();
            results = next.iter().map(|x| x + 1).collect();
            inputs.push(next);
        }
        (results, inputs)
    }

    #[test]
    fn results_equal_those_of_layers_with_barriers() {
        let needs = sixteens();
        let given: Vec<u64> = (0..16).map(|x| x * x).collect();
        let want = layers(&needs, &given);
        for (most, threads) in [(1, 1), (2, 1), (2, 3), (5, 2), (100, 4)] {
            let found = pool(threads).install(|| sums(&needs, &given, most));
            assert_eq!(found, want);
        }
        // on a thread outside a pool
        assert_eq!(sums(&needs, &given, 2), want);
    }

    #[test]
    fn flows_side_by_side_in_one_pool() {
        let needs = sixteens();
        let found: Vec<_> = pool(3).install(|| {
            let each = (0..20u64).into_par_iter();
            each.map(|x| sums(&needs, &[x; 16], 2)).collect()
        });
        for (x, found) in (0..20).zip(found) {
            assert_eq!(found, layers(&needs, &[x; 16]));
        }
    }

    #[test]
    fn nothing_to_do() {
        assert_eq!(sums(&vec![], &[7], 2), (vec![7], vec![]));
        assert_eq!(sums(&vec![vec![]; 2], &[], 2), (vec![], vec![vec![]; 2]));
    }

    /// Two layers of eight; each item needs the item of the same number.
    fn panics(work: impl Fn(&Item<()>) + Sync, show: impl Fn(usize) + Sync) {
        let line: Vec<Vec<usize>> = (0..8).map(|i| vec![i]).collect();
        let work = |items: &[Item<()>]| items.iter().map(&work).collect();
        let mut show = |layer, _: Vec<Arc<()>>| show(layer);
        pool(3).install(|| {
            run(
                &vec![line; 2],
                vec![(); 8],
                1,
                |_, _| (),
                work,
                Some(&mut show),
            )
        });
    }

    #[test]
    #[should_panic(expected = "item 3")]
    fn a_panic_at_work_ends_all_threads() {
        panics(
            |item| assert!((item.layer, item.number) != (0, 3), "item 3"),
            |_| {},
        );
    }

    #[test]
    #[should_panic(expected = "layer 1")]
    fn a_panic_in_the_observer_ends_all_threads() {
        panics(|_| {}, |layer| assert!(layer != 1, "layer 1"));
    }
}
