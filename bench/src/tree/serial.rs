//! What the others are compared with: two calls, near first.

use super::Node;

pub fn sum(node: &Node) -> u64 {
    let near = node.near.as_deref().map_or(0, sum);
    let far = node.far.as_deref().map_or(0, sum);
    node.value + near + far
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts by adding one for each node, apart from the values.
    fn count(node: &Node) -> usize {
        1 + node.near.as_deref().map_or(0, count) + node.far.as_deref().map_or(0, count)
    }

    #[test]
    fn trees_have_the_size_asked_for() {
        for nodes in [1, 2, 3, 4, 1023, 100_000] {
            assert_eq!(count(&Node::tree(nodes)), nodes);
        }
    }

    #[test]
    fn a_full_tree_sums_the_sizes_of_its_subtrees() {
        // 4 leaves of size 1, 2 inner nodes of size 3, the root of size 7.
        assert_eq!(sum(&Node::tree(7)), 4 + 2 * 3 + 7);
    }
}
