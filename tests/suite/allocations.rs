//! A pass allocates nothing on the steady path: once buffers have grown, deciding costs no memory.

use super::reference::scenario;
use schedlab::engine::{Case, Decisions, Policy, Unwatched, View, run};
use schedlab::facts::Fact;
use schedlab::policy::{PolicySpec, Stage};
use schedlab::units::SimTime;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which counts what each thread asks for.
struct Counting;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator unchanged; counting touches only a thread-local number.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that is ending may have lost its counter; its requests do not matter here.
        let _ = ASKED.try_with(|asked| asked.set(asked.get() + 1));
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Counts what a policy allocates while it decides, in the second half of the history.
struct Counted {
    policy: Box<dyn Policy>,
    from: SimTime,
    passes: u64,
    asked: u64,
}

impl Policy for Counted {
    fn observe(&mut self, at: SimTime, fact: &Fact) {
        self.policy.observe(at, fact);
    }
    fn decide(&mut self, view: &View<'_>, out: &mut Decisions) {
        let before = ASKED.get();
        self.policy.decide(view, out);
        if self.from <= view.now() {
            self.passes += 1;
            self.asked += ASKED.get() - before;
        }
    }
}

#[test]
fn a_pass_on_the_steady_path_allocates_nothing() {
    let case: Case = scenario("million", &["workload.synth.jobs=20000", "cluster.node.0.count=128", "workload.load=0.85"])
        .case(1)
        .expect("a case");
    let last = case.workload.jobs.last().expect("jobs").submit;
    for fill in ["strict", "greedy", "easy"] {
        for place in ["first-fit", "best-fit", "worst-fit"] {
            let spec = PolicySpec::named("test").with(Stage::Fill, fill).with(Stage::Place, place);
            let policy = spec.build(&case).expect("the stages go together");
            let mut counted = Counted { policy, from: SimTime::from_millis(last.as_millis() / 2), passes: 0, asked: 0 };
            run(&case, case.source(), &mut counted, &mut Unwatched);
            let Counted { passes, asked, .. } = counted;
            // A new longest queue still grows a list now and then.
            assert!(10_000 < passes && asked < passes / 200, "{fill} {place}: {asked} allocations in {passes} passes");
        }
    }
}
