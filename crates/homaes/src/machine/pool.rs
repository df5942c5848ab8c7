//! Worker threads: as many as the system lets start.

use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use std::io;
use std::thread::{self, JoinHandle};

/// A pool of threads, or the calling thread alone where no other one can be started: for programs that compute on results.
///
/// All parallel work of this crate runs in one: the global pool of rayon panics where it cannot start its threads.
pub struct Pool {
    workers: Option<Workers>,
}

struct Workers {
    /// `None` only while it is dropped.
    pool: Option<ThreadPool>,
    threads: usize,
    handles: Vec<JoinHandle<()>>,
}

impl Drop for Workers {
    fn drop(&mut self) {
        drop(self.pool.take());
        // So that the next pool finds the threads of this one gone.
        join(&mut self.handles);
    }
}

fn join(handles: &mut Vec<JoinHandle<()>>) {
    for handle in handles.drain(..) {
        // A panic was passed on to whoever gave the work.
        let _ = handle.join();
    }
}

impl core::fmt::Debug for Pool {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Pool").field(&self.threads()).finish()
    }
}

impl Pool {
    /// At most `threads` workers; for 0 one for each core, or as the environment variable `RAYON_NUM_THREADS` says.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        Self::with(threads, |worker| {
            thread::Builder::new().spawn(|| worker.run())
        })
    }

    /// Calls `spawn` for each worker. If it fails, those started before it are the workers.
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

    /// Number of threads that work.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.workers.as_ref().map_or(1, |workers| workers.threads)
    }

    /// The workers, if there are any beside the calling thread.
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

/// Makes the calling thread a pool of its own, unless it belongs to one. It stays that for ever.
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
            // its own thread: one without workers stays a pool for ever
            let run = thread::spawn(move || {
                // gone with a thread that ends, as in the system
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
