//! schedlab backtests a GPU cluster's scheduling policy: it replays a submission history, or a generated one, against a policy
//! in a discrete-event engine, and says who waited, who was preempted, what each budget received and where capacity was lost.
//!
//! ```text
//!   traces/    -> trace    -> workload (Source) --+
//!   scenarios/ -> scenario -----------------------+--> engine --Fact--> ledger --> metrics --> report --> reports/
//!   policies/  -> policy   <==view, facts==       |      |
//!                         ==decisions==>---------+------+
//! ```

pub mod accounts;
pub mod audit;
pub mod cli;
pub mod cluster;
pub mod compare;
pub mod drive;
pub mod engine;
pub mod error;
pub mod evolve;
pub mod explain;
pub mod facts;
pub mod form;
pub mod fragment;
pub mod gate;
pub mod ids;
pub mod import;
pub mod ledger;
pub mod metrics;
pub mod policy;
pub mod predict;
pub mod registry;
pub mod report;
pub mod scenario;
pub mod seed;
pub mod sweep;
pub mod trace;
pub mod units;
pub mod usage;
pub mod workload;
