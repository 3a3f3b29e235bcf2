//! chili runs its second closure first, so the near subtree is the second.

use chili::Scope;

use super::Node;

pub fn sum(scope: &mut Scope<'_>, node: &Node) -> u64 {
    let (far, near) = scope.join(
        |scope| node.far.as_deref().map_or(0, |far| sum(scope, far)),
        |scope| node.near.as_deref().map_or(0, |near| sum(scope, near)),
    );
    node.value + near + far
}
