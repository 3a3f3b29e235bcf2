//! Sleeps, time-outs and intervals: never early, never lost, cancelled for good.

use crate::rig::watchdog::watch;
use heist_async::block_on;
use heist_async::task::{JoinHandle, spawn};
use heist_async::time::{
    Elapsed, MissedTickBehavior, interval, interval_at, sleep, sleep_until, timeout, timeout_at,
};
use std::future::{pending, poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// So far away that the machine cannot stall for as long between two lines of a test.
const FAR: Duration = Duration::from_secs(3600);

/// Counts wake-ups, and wakes whoever waits for them.
#[derive(Default)]
struct Count {
    woken: AtomicUsize,
    next: Mutex<Option<Waker>>,
}

impl Count {
    fn new() -> (Arc<Self>, Waker) {
        let count = Arc::new(Self::default());
        (count.clone(), Waker::from(count))
    }

    fn woken(&self) -> usize {
        self.woken.load(Ordering::SeqCst)
    }

    async fn wait_for(&self, wanted: usize) {
        std::future::poll_fn(|cx| {
            *self.next.lock().unwrap() = Some(cx.waker().clone());
            if self.woken() >= wanted { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, Ordering::SeqCst);
        let next = self.next.lock().unwrap().take();
        next.into_iter().for_each(Waker::wake);
    }
}

fn poll_once<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

#[test]
fn never_early() {
    let _watch = watch!();
    block_on(async {
        for us in [0, 1, 15, 16, 17, 100, 999, 1000, 1001, 1049, 5000, 20_000, 70_000] {
            let duration = Duration::from_micros(us);
            let begin = Instant::now();
            sleep(duration).await;
            assert!(begin.elapsed() >= duration, "{us} us");
        }
        let deadline = Instant::now() + ms(3);
        sleep_until(deadline).await;
        assert!(Instant::now() >= deadline);
    });
}

#[test]
fn many_at_once_and_none_early() {
    let _watch = watch!();
    block_on(async {
        let sleeps: Vec<JoinHandle<bool>> = (0..5000_u64)
            .map(|i| {
                let duration = Duration::from_micros(i * 7919 % 50_000);
                spawn(async move {
                    let begin = Instant::now();
                    sleep(duration).await;
                    begin.elapsed() >= duration
                })
            })
            .collect();
        for sleep in sleeps {
            assert!(sleep.await.unwrap());
        }
    });
}

#[test]
fn the_order_is_that_of_the_deadlines() {
    let _watch = watch!();
    block_on(async {
        let begin = Instant::now() + ms(5);
        let order = Arc::new(Mutex::new(Vec::new()));
        let sleeps: Vec<JoinHandle<()>> = [4, 1, 3, 0, 2]
            .map(|i| {
                let order = order.clone();
                spawn(async move {
                    sleep_until(begin + ms(50) * i).await;
                    order.lock().unwrap().push(i);
                })
            })
            .into();
        for sleep in sleeps {
            sleep.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
    });
}

#[test]
fn zero_and_past_are_ready_at_once() {
    let _watch = watch!();
    let (count, waker) = Count::new();
    assert!(poll_once(&mut sleep(Duration::ZERO), &waker).is_ready());
    let mut past = sleep_until(Instant::now());
    assert!(!past.is_elapsed());
    assert!(poll_once(&mut past, &waker).is_ready());
    assert!(past.is_elapsed());
    // And stays so.
    assert!(poll_once(&mut past, &waker).is_ready());
    assert_eq!(count.woken(), 0);
}

#[test]
fn far_away_deadlines_do_not_overflow() {
    let _watch = watch!();
    let (count, waker) = Count::new();
    let year = Duration::from_secs(365 * 86400);
    for duration in [year, year * 100, year * 1_000_000, Duration::from_secs(u64::MAX), Duration::MAX] {
        let mut far = sleep(duration);
        assert!(poll_once(&mut far, &waker).is_pending());
        assert!(far.deadline() > Instant::now() + year / 2);
        far.reset(far.deadline());
        assert!(poll_once(&mut far, &waker).is_pending());
        drop(far);
    }
    block_on(async {
        assert_eq!(timeout(Duration::MAX, ready(1)).await, Ok(1));
        let mut rare = interval(Duration::MAX);
        rare.tick().await;
        assert!(timeout(ms(1), rare.tick()).await.is_err());
        // Timers that are far away do not keep near ones from firing.
        let mut far = pin!(timeout(Duration::MAX, pending::<()>()));
        assert!(timeout(ms(1), &mut far).await.is_err());
    });
    assert_eq!(count.woken(), 0);
}

#[test]
fn a_dropped_sleep_wakes_nobody() {
    let _watch = watch!();
    let (count, waker) = Count::new();
    let mut dropped: Vec<_> = (0..100).map(|i| sleep(ms(10 + i % 7))).collect();
    for sleep in &mut dropped {
        // Ready if the machine has stalled; then it wakes nobody either.
        let _ = poll_once(sleep, &waker);
    }
    drop(dropped);
    let before = count.woken();
    drop(waker);
    assert_eq!(Arc::strong_count(&count), 1, "a cancelled timer keeps its waker");
    block_on(sleep(ms(30)));
    assert_eq!(count.woken(), before);
}

#[test]
fn a_sleep_wakes_whoever_polled_it_last() {
    let _watch = watch!();
    let ((first, first_waker), (second, second_waker)) = (Count::new(), Count::new());
    let mut moved = sleep(FAR);
    assert!(poll_once(&mut moved, &first_waker).is_pending());
    // The same task again, and then another.
    assert!(poll_once(&mut moved, &first_waker).is_pending());
    assert!(poll_once(&mut moved, &second_waker).is_pending());
    moved.reset(Instant::now() + ms(2));
    block_on(second.wait_for(1));
    assert!(poll_once(&mut moved, &second_waker).is_ready());
    assert_eq!((first.woken(), second.woken()), (0, 1));
}

#[test]
fn reset_to_earlier_wakes_earlier() {
    let _watch = watch!();
    let (count, waker) = Count::new();
    let mut moved = sleep(FAR);
    assert!(poll_once(&mut moved, &waker).is_pending());
    let soon = Instant::now() + ms(5);
    moved.reset(soon);
    assert_eq!(moved.deadline(), soon);
    block_on(count.wait_for(1));
    assert!(Instant::now() >= soon);
    assert!(poll_once(&mut moved, &waker).is_ready());
    // To a time that has passed: at once.
    moved.reset(Instant::now() + FAR);
    assert!(!moved.is_elapsed());
    assert!(poll_once(&mut moved, &waker).is_pending());
    moved.reset(Instant::now() - ms(1));
    block_on(count.wait_for(2));
    assert!(poll_once(&mut moved, &waker).is_ready());
}

#[test]
fn reset_to_later_wakes_later_and_once() {
    let _watch = watch!();
    let (count, waker) = Count::new();
    let mut moved = sleep(ms(200));
    assert!(poll_once(&mut moved, &waker).is_pending());
    let mut later = Instant::now();
    for by in [210, 230, 250] {
        later = Instant::now() + ms(by);
        moved.reset(later);
    }
    block_on(count.wait_for(1));
    assert!(Instant::now() >= later);
    assert_eq!(count.woken(), 1);
    assert!(poll_once(&mut moved, &waker).is_ready());
    block_on(sleep(ms(5)));
    assert_eq!(count.woken(), 1);
}

#[test]
fn reset_after_firing_starts_again() {
    let _watch = watch!();
    let (count, waker) = Count::new();
    let mut again = sleep(FAR);
    for round in 1..=6 {
        assert!(poll_once(&mut again, &waker).is_pending());
        again.reset(Instant::now() + ms(1));
        block_on(count.wait_for(round));
        // In odd rounds without having been polled.
        if round % 2 == 0 {
            assert!(poll_once(&mut again, &waker).is_ready());
        }
        again.reset(Instant::now() + FAR);
    }
    assert_eq!(count.woken(), 6);
}

#[test]
fn timeouts() {
    let _watch = watch!();
    block_on(async {
        assert_eq!(timeout(ms(1000), ready(7)).await, Ok(7));
        // The future goes first, even when time is up.
        assert_eq!(timeout(Duration::ZERO, ready(7)).await, Ok(7));
        let begin = Instant::now();
        let elapsed: Elapsed = timeout(ms(5), pending::<()>()).await.unwrap_err();
        assert!(begin.elapsed() >= ms(5));
        assert_eq!(std::io::Error::from(elapsed).kind(), std::io::ErrorKind::TimedOut);
        assert!(timeout_at(Instant::now() + ms(1), pending::<()>()).await.is_err());
        assert_eq!(timeout(ms(1000), sleep(ms(2))).await, Ok(()));
    });
}

/// A future that is always ready for another step must not outlive its time.
#[test]
fn a_busy_future_times_out() {
    let _watch = watch!();
    block_on(async {
        let busy = async {
            loop {
                sleep(Duration::ZERO).await;
                heist_async::task::yield_now().await;
            }
        };
        let handle = spawn(async move { timeout(ms(20), busy).await.map(|never: ()| never) });
        assert!(handle.await.unwrap().is_err());
        // Nothing of the budget is left for the time-out.
        let busier = async {
            loop {
                sleep(Duration::ZERO).await;
            }
        };
        let handle = spawn(async move { timeout(ms(20), busier).await.map(|never: ()| never) });
        assert!(handle.await.unwrap().is_err());
    });
}

#[test]
fn timeouts_that_are_over_at_once_give_way() {
    let _watch = watch!();
    let elapses = || timeout(Duration::ZERO, pending::<()>());
    let in_one_poll = spawn(poll_fn(move |cx| {
        Poll::Ready((0..1000).filter(|_| pin!(elapses()).poll(cx).is_ready()).count())
    }));
    let count = block_on(in_one_poll).unwrap();
    assert!(0 < count && count < 1000, "{count}");
    let (begin, begun) = mpsc::channel();
    let endless = spawn(async move {
        begin.send(()).unwrap();
        loop {
            assert!(elapses().await.is_err());
        }
    });
    begun.recv().unwrap();
    endless.abort();
    assert!(block_on(endless).unwrap_err().is_cancelled());
}

/// More than a task's budget: those at the end must be set too, however often the first are polled.
#[test]
fn a_task_that_polls_them_all() {
    let _watch = watch!();
    let all = spawn(async {
        let mut sleeps: Vec<_> = (0..1000).map(|i| sleep(ms(5 + i % 20))).collect();
        poll_fn(|cx| {
            sleeps.retain_mut(|sleep| Pin::new(sleep).poll(cx).is_pending());
            if sleeps.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    });
    block_on(all).unwrap();
}

#[test]
fn an_interval_keeps_its_schedule() {
    let _watch = watch!();
    block_on(async {
        let begin = Instant::now();
        let mut ticks = interval_at(begin, ms(3));
        assert_eq!(ticks.period(), ms(3));
        for i in 0..10 {
            let due = ticks.tick().await;
            assert_eq!(due, begin + ms(3) * i);
            assert!(Instant::now() >= due);
        }
    });
}

#[test]
fn an_interval_that_fell_behind() {
    let _watch = watch!();
    block_on(async {
        for behaviour in [MissedTickBehavior::Burst, MissedTickBehavior::Delay, MissedTickBehavior::Skip] {
            let begin = Instant::now();
            let period = ms(20);
            let mut ticks = interval_at(begin, period);
            ticks.set_missed_tick_behavior(behaviour);
            assert_eq!(ticks.tick().await, begin);
            sleep_until(begin + period * 3 + ms(10)).await;
            // The tick that was missed is returned first in any case.
            assert_eq!(ticks.tick().await, begin + period, "{behaviour:?}");
            let seen = Instant::now();
            let next = ticks.tick().await;
            match behaviour {
                MissedTickBehavior::Burst => assert_eq!(next, begin + period * 2),
                MissedTickBehavior::Delay => {
                    assert!(next >= begin + period * 4 + ms(10) && next <= seen + period)
                }
                MissedTickBehavior::Skip => {
                    assert!(next >= begin + period * 4);
                    assert_eq!((next - begin).as_nanos() % period.as_nanos(), 0);
                }
            }
        }
    });
}

#[test]
fn an_interval_is_reset() {
    let _watch = watch!();
    block_on(async {
        let mut ticks = interval(ms(10));
        ticks.tick().await;
        let begin = Instant::now();
        ticks.reset();
        assert!(ticks.tick().await >= begin + ms(10));
        ticks.reset_at(begin + ms(25));
        assert_eq!(ticks.tick().await, begin + ms(25));
        ticks.reset_immediately();
        ticks.tick().await;
        let begin = Instant::now();
        ticks.reset_after(ms(3));
        let tick = ticks.tick().await;
        assert!(tick >= begin + ms(3));
        // The period is as it was.
        assert!(ticks.tick().await >= tick + ms(10));
        ticks.reset_after(Duration::MAX);
        assert!(timeout(ms(1), ticks.tick()).await.is_err());
    });
}

#[test]
#[should_panic(expected = "must not be zero")]
fn an_interval_without_a_period() {
    let _ = interval(Duration::ZERO);
}

/// Wakers of others may do anything.
#[test]
fn a_waker_that_panics_costs_only_itself() {
    let _watch = watch!();
    struct Bad;
    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            panic!("a waker that panics, as the test asks");
        }
    }
    let bad = Waker::from(Arc::new(Bad));
    let (count, waker) = Count::new();
    let mut sleeps: Vec<_> = (0..10).map(|_| sleep(FAR)).collect();
    for (i, sleep) in sleeps.iter_mut().enumerate() {
        assert!(poll_once(sleep, if i % 2 == 0 { &bad } else { &waker }).is_pending());
    }
    // Far enough to fire in one turn.
    let deadline = Instant::now() + ms(5);
    sleeps.iter_mut().for_each(|sleep| sleep.reset(deadline));
    block_on(count.wait_for(5));
    block_on(sleep(ms(1)));
}

/// Set, polled once and dropped, from several threads: nothing is left behind, nothing fires.
#[test]
fn set_and_cancel_from_many_threads() {
    let _watch = watch!();
    let (count, waker) = Count::new();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let waker = waker.clone();
            scope.spawn(move || {
                for i in 0..5000 {
                    let mut short = sleep(FAR + ms((i * 7 + thread) % 50));
                    assert!(poll_once(&mut short, &waker).is_pending());
                    if i % 3 == 0 {
                        short.reset(Instant::now() + FAR / 2);
                    }
                }
            });
        }
    });
    drop(waker);
    assert_eq!(Arc::strong_count(&count), 1);
    assert_eq!(count.woken(), 0);
}
