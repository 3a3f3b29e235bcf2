//! Who looks at the program at present, and what each of them has seen.

use crate::frame::MOST_BYTES;
use heist_async::task::AbortHandle;
use heist_sync::{Mutex, StdArc as Arc, lock};
use hyper::body::Bytes;
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};

/// So many may look at once.
pub const MOST: usize = 8;

/// Who has taken nothing for so many frames (10 s) is gone, whatever its connection says.
const MOST_SKIPPED: u64 = 200;

/// How to end a connection from outside of it. It is there a moment after the connection.
pub type End = Arc<OnceLock<AbortHandle>>;

/// See the module.
#[derive(Default)]
pub struct Viewers {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The number of the last frame, and that frame as JSON.
    seq: u64,
    frame: Bytes,
    list: Vec<Viewer>,
    next_id: u64,
    is_sampling: bool,
}

struct Viewer {
    id: u64,
    /// The last frame that it has taken.
    seen: u64,
    waker: Option<Waker>,
    end: End,
}

/// One who looks; dropped when its connection ends.
pub struct Watching {
    viewers: Arc<Viewers>,
    id: u64,
}

impl Viewers {
    /// One more looks. `None` if there are enough. The flag says whether the caller has to start sampling.
    pub fn join(self: &Arc<Self>, end: &End) -> Option<(Watching, bool)> {
        let mut state = lock(&self.state);
        if state.list.len() >= MOST {
            return None;
        }
        let (id, seen) = (state.next_id, state.seq);
        state.next_id += 1;
        state.list.push(Viewer { id, seen, waker: None, end: Arc::clone(end) });
        let is_first = !std::mem::replace(&mut state.is_sampling, true);
        Some((Watching { viewers: Arc::clone(self), id }, is_first))
    }

    /// Whether somebody looks. If not, whoever comes next has to start sampling again.
    pub fn is_watched(&self) -> bool {
        let mut state = lock(&self.state);
        state.is_sampling = !state.list.is_empty();
        state.is_sampling
    }

    /// The last frame, while frames are made.
    pub fn latest(&self) -> Option<Bytes> {
        let state = lock(&self.state);
        (state.is_sampling && state.seq > 0).then(|| state.frame.clone())
    }

    /// A new frame is there. Those who have not taken one for too long are sent away.
    pub fn publish(&self, frame: String) {
        let mut state = lock(&self.state);
        state.seq += 1;
        state.frame = Bytes::from(frame);
        let seq = state.seq;
        let wakers: Vec<Waker> = state.list.iter_mut().filter_map(|viewer| viewer.waker.take()).collect();
        let is_gone = |viewer: &&Viewer| seq - viewer.seen > MOST_SKIPPED;
        let gone: Vec<End> =
            state.list.iter().filter(is_gone).map(|viewer| Arc::clone(&viewer.end)).collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        // An aborted connection drops its `Watching`, which needs the lock.
        gone.iter().filter_map(|end| end.get()).for_each(AbortHandle::abort);
    }
}

impl Watching {
    /// The next event: the newest frame, and before it, if some were skipped, how many.
    pub fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Bytes> {
        let mut guard = lock(&self.viewers.state);
        let state = &mut *guard;
        let (seq, frame) = (state.seq, state.frame.clone());
        let Some(viewer) = state.list.iter_mut().find(|viewer| viewer.id == self.id) else {
            return Poll::Pending;
        };
        if viewer.seen == seq {
            viewer.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let skipped = seq - viewer.seen - 1;
        viewer.seen = seq;
        drop(guard);
        Poll::Ready(event(seq, &frame, skipped))
    }
}

/// A frame as a server-sent event.
fn event(seq: u64, frame: &[u8], skipped: u64) -> Bytes {
    debug_assert!(frame.len() <= MOST_BYTES);
    let mut text = Vec::with_capacity(frame.len() + 64);
    if skipped > 0 {
        text.extend_from_slice(format!("event: skipped\ndata: {skipped}\n\n").as_bytes());
    }
    text.extend_from_slice(format!("id: {seq}\ndata: ").as_bytes());
    text.extend_from_slice(frame);
    text.extend_from_slice(b"\n\n");
    text.into()
}

impl Drop for Watching {
    fn drop(&mut self) {
        lock(&self.viewers.state).list.retain(|viewer| viewer.id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(watching: &Watching) -> Option<String> {
        match watching.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(bytes) => Some(String::from_utf8(bytes.to_vec()).unwrap()),
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_slow_viewer_skips_and_is_told_how_many() {
        let viewers = Arc::new(Viewers::default());
        let (fast, is_first) = viewers.join(&End::default()).unwrap();
        let (slow, is_second_first) = viewers.join(&End::default()).unwrap();
        assert!(is_first && !is_second_first);
        assert_eq!((next(&fast), next(&slow)), (None, None));
        for n in 1..=5 {
            viewers.publish(format!("{{\"n\":{n}}}"));
            assert_eq!(next(&fast).unwrap(), format!("id: {n}\ndata: {{\"n\":{n}}}\n\n"));
        }
        assert_eq!(next(&slow).unwrap(), "event: skipped\ndata: 4\n\nid: 5\ndata: {\"n\":5}\n\n");
        assert_eq!(next(&slow), None);
    }

    #[test]
    fn the_ninth_is_refused_until_one_leaves() {
        let viewers = Arc::new(Viewers::default());
        let mut all: Vec<_> = (0..MOST).map(|_| viewers.join(&End::default()).unwrap().0).collect();
        assert!(viewers.join(&End::default()).is_none());
        all.pop();
        assert!(viewers.is_watched());
        let (last, is_first) = viewers.join(&End::default()).unwrap();
        assert!(!is_first);
        all.clear();
        drop(last);
        assert!(!viewers.is_watched());
        assert!(viewers.join(&End::default()).unwrap().1);
    }
}
