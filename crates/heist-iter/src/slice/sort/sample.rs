//! Samples of a slice.

/// Fills `sample` with indices below `len`, one from each of as many equal stretches, in no regular pattern.
///
/// They ascend, so that no two are the same. There must be as many elements as samples at least.
pub(super) fn draw(sample: &mut [usize], len: usize) {
    let stretch = len / sample.len();
    // Marsaglia's xorshift, whose state must not be zero.
    let mut random = len as u64 | 1;
    for (i, index) in sample.iter_mut().enumerate() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        *index = i * stretch + random as usize % stretch;
    }
}
