//! Tests of the whole deque with narrow indices (12 bits), so that they run round the index space all the time.

mod drops;
mod limits;
mod model;
mod stress;
