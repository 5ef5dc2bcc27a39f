//! Rules on nodes made by hand.
