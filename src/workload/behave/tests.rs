//! Users who react, on cases small enough to follow.
