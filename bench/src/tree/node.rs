//! The tree that all sum: one box for each node, laid out in the order in which it is read.

pub struct Node {
    pub value: u64,
    /// The subtree that everyone descends into first; it follows its parent in memory.
    pub near: Option<Box<Node>>,
    /// The subtree that may be stolen; it follows the near one.
    pub far: Option<Box<Node>>,
}

impl Node {
    /// A balanced tree of exactly `nodes` nodes.
    pub fn tree(nodes: usize) -> Box<Node> {
        assert!(nodes > 0, "a tree has a root");
        // The parent is allocated before its children, so that memory order is the order of the visit.
        let mut node = Box::new(Node { value: nodes as u64, near: None, far: None });
        let far = (nodes - 1) / 2;
        let near = nodes - 1 - far;
        node.near = (near > 0).then(|| Node::tree(near));
        node.far = (far > 0).then(|| Node::tree(far));
        node
    }
}
