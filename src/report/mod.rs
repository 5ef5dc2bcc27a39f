//! What people and programs read of a run: the summary, tables for the terminal and for files, and the files of a result.
//!
//! A report never runs anything and reads no ledger but to copy it; its figures come from `metrics`.

mod behaviour;
mod columns;
mod content;
mod error;
mod estimate;
mod humane;
mod inputs;
mod parquet;
mod render;
mod summary;
mod timing;
mod writer;

#[cfg(test)]
mod tests;

pub use behaviour::{BehaviourSummary, OthersSummary, TopLevelSummary};
pub use columns::{Column, DataType, TABLES, TableDoc, outputs_md};
pub use error::ReportError;
pub use estimate::Estimate;
pub use humane::duration;
pub use inputs::inputs;
pub use parquet::write_tables;
pub use render::{summary_md, terminal};
pub use summary::{
    AccountSummary, ClassSummary, DeliveredBySummary, EngineSummary, FailureSummary, FidelitySummary, FragmentationSummary,
    JobsSummary, PreemptionSummary, Run, RunSummary, SpreadSummary, Summary,
};
pub use timing::{Decisions, RunTiming, Timing};
pub use writer::{RunFiles, Writer, write};
