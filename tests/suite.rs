//! One binary for the tests that run whole cases, so that the library is linked once.

#[path = "suite/ai2.rs"]
mod ai2;
#[path = "suite/allocations.rs"]
mod allocations;
#[path = "suite/aryl.rs"]
mod aryl;
#[path = "suite/bench.rs"]
mod bench;
#[path = "suite/budgets.rs"]
mod budgets;
#[path = "suite/cases.rs"]
mod cases;
#[path = "suite/complaints.rs"]
mod complaints;
#[path = "suite/deschedule.rs"]
mod deschedule;
#[path = "suite/drives.rs"]
mod drives;
#[path = "suite/evolve.rs"]
mod evolve;
#[path = "suite/experiments.rs"]
mod experiments;
#[path = "suite/explain.rs"]
mod explain;
#[path = "suite/failures.rs"]
mod failures;
#[path = "suite/fgd.rs"]
mod fgd;
#[path = "suite/gfgd.rs"]
mod gfgd;
#[path = "suite/growth.rs"]
mod growth;
#[path = "suite/inflation.rs"]
mod inflation;
#[path = "suite/lend.rs"]
mod lend;
#[path = "suite/orders.rs"]
mod orders;
#[path = "suite/predict.rs"]
mod predict;
#[path = "suite/properties.rs"]
mod properties;
#[path = "suite/public.rs"]
mod public;
#[path = "suite/reference.rs"]
mod reference;
#[path = "suite/scale.rs"]
mod scale;
#[path = "suite/slurm.rs"]
mod slurm;
#[path = "suite/sweep.rs"]
mod sweep;
#[path = "suite/timeline.rs"]
mod timeline;
#[path = "suite/users.rs"]
mod users;
