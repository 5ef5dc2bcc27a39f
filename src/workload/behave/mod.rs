//! Users who react: a closed-loop [`Source`](super::Source) that hears what became of its jobs, and submits, amends and withdraws.
//!
//! Work comes in *streams*. A stream belongs to a user of a leaf account and to a class; it keeps at most so many jobs outstanding,
//! and when one is over, however it ended, its user thinks for a while and submits the next. The n-th job of a stream is a fixed
//! function of (seed, class, user, stream, n), and so is the think time before it: two policies see the same jobs in the same order,
//! and only the times and the number of them differ, by what the policies did. Offered load is an outcome here, not a setting.
//!
//! A class may have a [`Behaviour`]. Users who game the scheduler are people of their own, so that what they gained, and what it cost
//! those they share an account with, can be told apart; with `behave = false` the same people have the same work and act honestly.
//!
//! It knows the account tree and the capacity of the cluster, and hears facts; it does not know the cluster's state or any policy.

mod burst;
mod crowd;
mod draw;
mod hours;
mod inflate;
mod knobs;
mod layout;
mod longest;
mod season;
mod session;
mod spec;
pub mod squat;

pub use crowd::Crowd;
pub use knobs::{CLASS_KNOBS, KNOBS};
pub use layout::{Ground, Users};
pub use spec::{Spec, accounts_in};

/// Writes the name of job `n` of what is called `label` into `name`.
fn draw_name(name: &mut String, label: &str, n: u32) {
    use std::fmt::Write as _;
    name.clear();
    let _ = write!(name, "{label}.{n}");
}

/// What users of a class do beyond waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Behaviour {
    /// Submit, wait, think.
    #[default]
    Honest,
    /// Debug in bursts: several short jobs in a row, then away.
    Burst,
    /// Work in a session that is busy and idle by turns.
    Session,
    /// Raise the priority of jobs that wait.
    Inflate,
    /// Declare the longest min runtime they may.
    Longest,
    /// Park placeholders, and run their tasks inside.
    Squat,
}

impl Behaviour {
    /// All of them, in the order of reports.
    pub const ALL: [Behaviour; 6] =
        [Behaviour::Honest, Behaviour::Burst, Behaviour::Session, Behaviour::Inflate, Behaviour::Longest, Behaviour::Squat];

    /// Its name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Behaviour::Honest => "honest",
            Behaviour::Burst => "burst",
            Behaviour::Session => "session",
            Behaviour::Inflate => "inflate",
            Behaviour::Longest => "longest",
            Behaviour::Squat => "squat",
        }
    }
    /// The behaviour of that name.
    pub fn named(name: &str) -> Option<Behaviour> {
        Behaviour::ALL.into_iter().find(|it| it.name() == name)
    }
    /// Whether it is meant to get more than others get: such users are people of their own, and `behave = false` makes them honest.
    pub const fn is_gaming(self) -> bool {
        match self {
            Behaviour::Honest | Behaviour::Burst | Behaviour::Session => false,
            Behaviour::Inflate | Behaviour::Longest | Behaviour::Squat => true,
        }
    }
}
