//! With a free `join`: rayon and heist.

use super::Node;
use crate::peers::Backend;

pub fn sum<B: Backend>(node: &Node) -> u64 {
    let (near, far) =
        B::join(|| node.near.as_deref().map_or(0, sum::<B>), || node.far.as_deref().map_or(0, sum::<B>));
    node.value + near + far
}
