//! What only the demonstration of the command `heist live --demo` has: work that is steered from the page. Not for users.

use crate::frame::DemoNow;

/// What the page can ask of a demonstration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Go on.
    Start,
    /// Stop after the pieces that are under way.
    Pause,
    /// Begin again with other work.
    Reseed,
}

impl Order {
    pub(crate) fn of(path: &str) -> Option<Self> {
        match path {
            "/demo/start" => Some(Self::Start),
            "/demo/pause" => Some(Self::Pause),
            "/demo/reseed" => Some(Self::Reseed),
            _ => None,
        }
    }
}

/// A demonstration that is steered from the page.
pub trait Demo: Send + Sync {
    /// Does what the page asks for. Must not block.
    fn order(&self, order: Order);

    /// What the page says of it.
    fn now(&self) -> DemoNow;

    /// Whether its pieces of work only wait, and are to be shown as work all the same.
    fn only_waits(&self) -> bool;
}
