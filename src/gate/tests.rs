//! The gate on figures worked by hand.
