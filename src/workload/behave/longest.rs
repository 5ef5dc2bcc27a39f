//! Users who declare the longest min runtime they may, whatever their work needs: their protection lasts longer, and while it does
//! their account is committed to pay for it.

use crate::registry::Knobs;
use crate::units::SimSpan;
use crate::workload::Job;

/// What they declare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Longest {
    span: SimSpan,
}

impl Longest {
    pub(super) fn read(knobs: &Knobs) -> Longest {
        Longest { span: knobs.span("longest") }
    }
    /// What it declares.
    pub(super) fn span(&self) -> SimSpan {
        self.span
    }
    /// Declares it for `job`.
    pub(super) fn declare(&self, job: &mut Job) {
        job.min_runtime = Some(self.span);
    }
}
