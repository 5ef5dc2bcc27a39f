//! Tests of the search as a whole, on costs that need no run.
