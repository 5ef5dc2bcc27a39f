//! What people and programs read of a run: the summary, tables for the terminal and for files, and the files of a result.
//!
//! A report never runs anything and reads no ledger but to copy it; its figures come from `metrics`.

mod behaviour;
mod columns;
mod compared;
mod comparison;
mod content;
mod differences;
mod error;
mod export;
mod failures;
mod fidelity;
mod figures;
mod fragments;
pub(crate) mod html;
mod humane;
mod inflation;
mod inputs;
mod keys;
mod loans;
mod numbers;
mod origin;
mod parquet;
mod plot;
mod render;
mod sections;
mod side;
mod summarize;
mod summary;
mod timing;
mod users;
mod why;
mod writer;

#[cfg(test)]
mod tests;

pub use behaviour::{BehaviourSummary, OthersSummary, TopLevelSummary};
pub use columns::{Column, DataType, TABLES, TableDoc, outputs_md};
pub use compared::{BlocksSummary, ComparisonSummary};
pub use comparison::{Comparisons, Seen, seen, shown};
pub use content::{Part, Reader};
pub use error::ReportError;
pub use export::{EXPORTS, Export, Make, Stay, stays};
pub use fidelity::ranking;
pub use figures::{Figure, FigureInfo, Unit, completions, figure, figures, resolve, value};
pub use fragments::{InflationEndSummary, InflationSummary};
pub use html::{Drawn, Suspects, report_html};
pub use humane::duration;
pub use inputs::inputs;
pub use keys::{
    AccountSummary, ClassSummary, DeadlinesSummary, DeliveredBySummary, DrainsSummary, ElasticSummary, EnergySummary,
    EngineSummary, FailureSummary, FidelityRankSummary, FidelitySummary, FragmentClasses, FragmentationSummary, JobsSummary,
    LevelsSummary, LoansSummary, ModelFailureSummary, PerJobSummary, PreemptionSummary, PromisesSummary, SessionsSummary,
    SpreadSummary, TierSummary, WindowCliffSummary,
};
pub use numbers::round;
pub use origin::Origin;
pub use parquet::{Values as TableColumn, write_frame, write_tables};
pub use plot::{Plotted, plot};
pub use render::{set_markdown, set_terminal, summary_md, terminal};
pub use summary::{Run, RunSummary, Summary, Waits};
pub use timing::{Decisions, RunTiming, Timing};
pub use why::{Causes, Life, LongWait, NOBODY, Owed, Reasons, gpu_hours};
pub use writer::{PAGE, RunFiles, Writer, write};
