//! Worker threads, as many as the system starts.

use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use std::io;
use std::thread::{self, JoinHandle};

/// A thread pool for programs that compute on results; without further threads, the calling thread alone.
///
/// All parallel work of this crate runs in such a pool, because rayon's global pool panics if its threads do not start.
#[derive(Debug)]
pub struct Pool {
    workers: Option<Workers>,
}

#[derive(Debug)]
struct Workers {
    /// `None` only during drop.
    pool: Option<ThreadPool>,
    threads: usize,
    handles: Vec<JoinHandle<()>>,
}

impl Drop for Workers {
    fn drop(&mut self) {
        drop(self.pool.take());
        // the next pool then finds these threads gone
        join(&mut self.handles);
    }
}

fn join(handles: &mut Vec<JoinHandle<()>>) {
    for handle in handles.drain(..) {
        // the caller of the work has already received a panic
        let _ = handle.join();
    }
}

impl Pool {
    /// At most `threads` workers; 0 means one per core, or the environment variable `RAYON_NUM_THREADS`.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        Self::with(threads, |worker| {
            thread::Builder::new().spawn(|| worker.run())
        })
    }

    /// Calls `spawn` for each worker. If one fails, those before it are the workers.
    fn with(
        mut threads: usize,
        mut spawn: impl FnMut(ThreadBuilder) -> io::Result<JoinHandle<()>>,
    ) -> Self {
        loop {
            let mut handles = Vec::new();
            let pool = ThreadPoolBuilder::new()
                .num_threads(threads)
                .spawn_handler(|worker| {
                    handles.push(spawn(worker)?);
                    Ok(())
                })
                .build();
            let started = handles.len();
            if let Ok(pool) = pool {
                return Self {
                    workers: Some(Workers {
                        pool: Some(pool),
                        threads: started,
                        handles,
                    }),
                };
            }
            join(&mut handles);
            if started == 0 {
                return Self { workers: None };
            }
            threads = started;
        }
    }

    /// Number of working threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.workers.as_ref().map_or(1, |workers| workers.threads)
    }

    /// `None` if the calling thread works alone.
    pub(crate) fn workers(&self) -> Option<&ThreadPool> {
        self.workers.as_ref()?.pool.as_ref()
    }

    /// Runs `work`, and all parallel work within it, on these threads.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match self.workers() {
            Some(pool) => pool.install(work),
            None => {
                enrol();
                work()
            }
        }
    }
}

/// Makes the calling thread a pool of its own for the rest of its life, unless it belongs to one.
fn enrol() {
    let alone = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    if let Ok(pool) = alone.build() {
        std::mem::forget(pool);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    fn sum(pool: &Pool) -> (usize, usize) {
        pool.install(|| {
            let sum = (0..1000usize).into_par_iter().sum();
            (sum, rayon::current_num_threads())
        })
    }

    #[test]
    fn as_many_threads_as_asked_for_work() {
        let pool = Pool::new(3);
        assert_eq!((pool.threads(), sum(&pool)), (3, (499_500, 3)));
        assert!(Pool::new(0).threads() > 0);
    }

    #[test]
    fn where_threads_cannot_be_started_fewer_work() {
        for most in 0..4usize {
            // a separate thread, which stays a pool for ever if it has no workers
            let run = thread::spawn(move || {
                // freed when a thread ends
                let alive = std::sync::Arc::new(());
                let pool = Pool::with(8, |worker| {
                    if std::sync::Arc::strong_count(&alive) > most {
                        return Err(io::ErrorKind::WouldBlock.into());
                    }
                    let alive = alive.clone();
                    thread::Builder::new().spawn(move || {
                        worker.run();
                        drop(alive);
                    })
                });
                assert_eq!(pool.threads(), most.max(1));
                for _ in 0..2 {
                    assert_eq!(sum(&pool), (499_500, most.max(1)));
                }
            });
            run.join().unwrap();
        }
    }
}
