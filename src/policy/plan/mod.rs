//! Reservations in time: where and when those who wait should be able to start, by the estimates, and what is free beside them.

mod free;
mod nodes;
mod profile;
mod shadow;
mod spot;
mod steps;

pub use free::Free;
pub use nodes::take_spot;
pub use profile::Profile;
pub use shadow::{Reservation, Shadow};
pub use spot::{Spot, Use};
