//! Someone who stays inside a pool and takes a sample when it is their turn.
//!
//! The pools must take turns, yet each sample must come from a thread that has been inside its pool all the
//! time: every pool gets one long `install` that waits for its turns on a channel.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use crate::visit::Visit;

type Sample = Visit<(u64, u64)>;

/// The caller's end.
pub struct Resident {
    ask: Sender<u64>,
    reply: Receiver<Sample>,
}

/// The end inside the pool.
pub struct Turns {
    ask: Receiver<u64>,
    reply: Sender<Sample>,
}

impl Resident {
    /// Starts a thread that runs `host`, which is to serve the turns inside its pool. It ends when the resident
    /// is dropped.
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        host: impl FnOnce(Turns) + Send + 'scope,
    ) -> Resident {
        let (ask, asked) = channel();
        let (replied, reply) = channel();
        scope.spawn(move || host(Turns { ask: asked, reply: replied }));
        Resident { ask, reply }
    }

    /// One turn with halves of `steps`.
    pub fn turn(&self, steps: u64) -> Sample {
        self.ask.send(steps).expect("the resident serves until it is dropped");
        self.reply.recv().expect("the resident answers each turn")
    }
}

impl Turns {
    /// Takes a sample for each turn until the resident is dropped.
    pub fn serve(self, mut sample: impl FnMut(u64) -> Sample) {
        for steps in self.ask {
            if self.reply.send(sample(steps)).is_err() {
                return;
            }
        }
    }
}
