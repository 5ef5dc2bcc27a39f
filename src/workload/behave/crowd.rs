//! The source of users who react: what they have asked for, what they wait for, and when they act next.

use super::draw_name;
use super::layout::Users;
use super::spec::Conduct;
use super::squat::{Act, Desk, PAUSE};
use crate::facts::{Amendment, Fact};
use crate::ids::JobId;
use crate::units::SimTime;
use crate::workload::{Arrival, Job, Source, Workload};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// What a user means to do at an instant. Variant order is the order within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// Withdraw a job, if it still waits.
    Withdraw { job: u32, stay: u32 },
    /// Raise a job, if it still waits.
    Raise { job: u32, stay: u32 },
    /// Submit job `n`.
    Submit { stream: u32, n: u32 },
    /// Ask for a placeholder.
    Hold { stream: u32, n: u32 },
    /// A squatter's next task comes due.
    Due { stream: u32, turn: u32 },
}

/// A job that was submitted.
#[derive(Clone, Copy, Debug)]
struct Ticket {
    stream: u32,
    /// Counts its stays in the queue and elsewhere.
    stay: u32,
    priority: i32,
    hold: bool,
    waits: bool,
    ran: bool,
}

/// One stream.
#[derive(Clone, Debug)]
struct Lane {
    /// The next job to be thought about.
    next: u32,
    /// The highest priority at which the last job started.
    worked: Option<i32>,
    holds: u32,
    desk: Option<Desk>,
}

/// Users who react, as a source.
pub struct Crowd {
    users: Arc<Users>,
    work: Workload,
    tickets: Vec<Ticket>,
    lanes: Vec<Lane>,
    timers: BinaryHeap<Reverse<(SimTime, Timer)>>,
    name: String,
}

impl Crowd {
    /// The users at time 0, with nothing submitted.
    pub fn new(users: Arc<Users>) -> Crowd {
        let mut crowd = Crowd {
            work: Workload::default(),
            tickets: Vec::new(),
            lanes: Vec::with_capacity(users.streams.len()),
            timers: BinaryHeap::new(),
            name: String::new(),
            users: users.clone(),
        };
        for stream in 0..users.streams.len() as u32 {
            let plan = &users.class(stream).plan;
            let squats = users.behave && matches!(plan.conduct, Conduct::Squat(_));
            let desk = squats.then(|| Desk::new(&users, stream));
            crowd.lanes.push(Lane { next: plan.outstanding, worked: None, holds: 0, desk });
            if squats {
                crowd.plan_desk(stream);
                let first = users.due(stream, 0, SimTime::ZERO);
                crowd.plan(first, Timer::Hold { stream, n: 0 });
            } else {
                for n in 0..plan.outstanding {
                    crowd.plan(users.due(stream, n, SimTime::ZERO), Timer::Submit { stream, n });
                }
            }
        }
        crowd
    }

    /// Means to do something at `at`. Nothing is submitted past the users' last instant; what was is seen to.
    fn plan(&mut self, at: SimTime, timer: Timer) {
        let last = match timer {
            Timer::Withdraw { .. } | Timer::Raise { .. } => SimTime::LIMIT,
            Timer::Submit { .. } | Timer::Hold { .. } | Timer::Due { .. } => self.users.last,
        };
        if at <= last {
            self.timers.push(Reverse((at, timer)));
        }
    }
    fn plan_desk(&mut self, stream: u32) {
        if let Some(desk) = &self.lanes[stream as usize].desk
            && let Some(at) = desk.next_due(&self.users)
        {
            let turn = desk.turn;
            self.plan(at, Timer::Due { stream, turn });
        }
    }
    fn is_stale(&self, timer: Timer) -> bool {
        match timer {
            Timer::Withdraw { job, stay } | Timer::Raise { job, stay } => {
                let ticket = &self.tickets[job as usize];
                !ticket.waits || ticket.stay != stay
            }
            Timer::Due { stream, turn } => self.lanes[stream as usize].desk.as_ref().is_none_or(|desk| desk.turn != turn),
            Timer::Submit { .. } | Timer::Hold { .. } => false,
        }
    }
    /// What is no longer meant must not move time on.
    fn prune(&mut self) {
        while let Some(Reverse((_, timer))) = self.timers.peek()
            && self.is_stale(*timer)
        {
            self.timers.pop();
        }
    }

    /// Does what `timer` says; `None` if that is nothing the engine hears of.
    fn act(&mut self, at: SimTime, timer: Timer) -> Option<Arrival> {
        match timer {
            Timer::Withdraw { job, .. } => Some(Arrival::Cancel(JobId(job))),
            Timer::Raise { job, stay } => {
                let ticket = self.tickets[job as usize];
                let Conduct::Inflate(inflate) = &self.users.class(ticket.stream).plan.conduct else { return None };
                let level = inflate.above(ticket.priority)?;
                let again = inflate.above(level).map(|_| at.after(inflate.patience));
                self.tickets[job as usize].priority = level;
                if let Some(again) = again {
                    self.plan(again, Timer::Raise { job, stay });
                }
                Some(Arrival::Amend(JobId(job), Amendment::Priority(level)))
            }
            Timer::Submit { stream, n } => Some(self.submit(at, stream, n)),
            Timer::Hold { stream, n } => self.hold(at, stream, n),
            Timer::Due { stream, .. } => {
                let users = self.users.clone();
                let desk = self.lanes[stream as usize].desk.as_mut()?;
                let act = desk.due(&users, at);
                let n = desk.number();
                self.plan_desk(stream);
                match act {
                    Act::Submit => Some(self.submit(at, stream, n)),
                    Act::Rest | Act::Withdraw(_) => None,
                }
            }
        }
    }
    fn submit(&mut self, at: SimTime, stream: u32, n: u32) -> Arrival {
        draw_name(&mut self.name, &self.users.streams[stream as usize].label, n);
        let name = self.work.names.push(&self.name);
        let (mut job, extra) = self.users.job(stream, n, name);
        if let Some(worked) = self.lanes[stream as usize].worked {
            job.priority = job.priority.max(worked);
        }
        self.record(at, stream, job, extra, false)
    }
    fn hold(&mut self, at: SimTime, stream: u32, n: u32) -> Option<Arrival> {
        let users = self.users.clone();
        let hold = users.class(stream).hold.as_ref()?;
        self.name.clear();
        self.name.push_str(&users.streams[stream as usize].label);
        self.name.push_str(".hold");
        let label = self.name.clone();
        draw_name(&mut self.name, &label, n);
        let name = self.work.names.push(&self.name);
        let (job, extra) = users.placeholder(stream, hold, name);
        Some(self.record(at, stream, job, Some(extra), true))
    }
    fn record(&mut self, at: SimTime, stream: u32, mut job: Job, extra: Option<crate::workload::Extra>, hold: bool) -> Arrival {
        (job.submit, job.not_before) = (at, at);
        self.tickets.push(Ticket { stream, stay: 0, priority: job.priority, hold, waits: false, ran: false });
        if let Some(extra) = &extra {
            job.extra = self.work.extras.len() as u32;
            self.work.extras.push(extra.clone());
        }
        self.work.jobs.push(job);
        Arrival::Submit(job, extra)
    }

    fn hear(&mut self, at: SimTime, job: JobId, fact: &Fact) {
        let Some(&Ticket { stream, hold, .. }) = self.tickets.get(job.index()) else { return };
        self.turn(at, job, fact);
        let lane = &mut self.lanes[stream as usize];
        if let Some(desk) = &mut lane.desk {
            let class = self.work.jobs[job.index()].class;
            let act = desk.hear(&self.users, at, fact, class);
            let n = desk.number();
            self.plan_desk(stream);
            match act {
                Act::Rest => {}
                Act::Submit => self.plan(at, Timer::Submit { stream, n }),
                Act::Withdraw(job) => self.plan(at, Timer::Withdraw { job: job.0, stay: self.tickets[job.index()].stay }),
            }
            if hold && matches!(fact, Fact::Ended { .. }) {
                let lane = &mut self.lanes[stream as usize];
                lane.holds += 1;
                let n = lane.holds;
                self.plan(at.after(PAUSE), Timer::Hold { stream, n });
            }
        } else if matches!(fact, Fact::Ended { .. } | Fact::Rejected { .. }) {
            let n = lane.next;
            lane.next += 1;
            let due = self.users.due(stream, n, at);
            self.plan(due, Timer::Submit { stream, n });
        }
    }
    /// Keeps a job's ticket up to date, and what its user means to do about it.
    fn turn(&mut self, at: SimTime, job: JobId, fact: &Fact) {
        let ticket = &mut self.tickets[job.index()];
        if matches!(fact, Fact::Submitted { .. }) {
            return;
        }
        ticket.stay += 1;
        ticket.waits = matches!(fact, Fact::Queued { .. });
        let Ticket { stream, stay, priority, hold, ran, .. } = *ticket;
        if matches!(fact, Fact::Started { .. }) {
            ticket.ran = true;
        }
        if hold {
            return;
        }
        let users = self.users.clone();
        let plan = &users.class(stream).plan;
        let inflate = match &plan.conduct {
            Conduct::Inflate(inflate) if users.behave => Some(inflate),
            _ => None,
        };
        if matches!(fact, Fact::Queued { .. }) {
            if let Some(patience) = plan.gives_up.filter(|_| !ran) {
                self.plan(at.after(patience), Timer::Withdraw { job: job.0, stay });
            }
            if let Some(inflate) = inflate.filter(|it| it.above(priority).is_some()) {
                self.plan(at.after(inflate.patience), Timer::Raise { job: job.0, stay });
            }
        }
        if inflate.is_some() && matches!(fact, Fact::Started { .. }) {
            self.lanes[stream as usize].worked = Some(priority);
        }
    }
}

impl Source for Crowd {
    fn peek(&self) -> Option<SimTime> {
        self.timers.peek().map(|Reverse((at, _))| *at)
    }
    fn next(&mut self) -> Option<Arrival> {
        let now = self.peek()?;
        let mut arrival = None;
        while arrival.is_none() && self.peek() == Some(now) {
            let Reverse((at, timer)) = self.timers.pop()?;
            if !self.is_stale(timer) {
                arrival = self.act(at, timer);
            }
        }
        self.prune();
        arrival
    }
    fn listens(&self) -> bool {
        true
    }
    fn observe(&mut self, at: SimTime, fact: &Fact) {
        match *fact {
            Fact::Submitted { job }
            | Fact::Rejected { job, .. }
            | Fact::Queued { job, .. }
            | Fact::Started { job, .. }
            | Fact::Preempted { job, .. }
            | Fact::Broken { job, .. }
            | Fact::Ended { job, .. } => {
                self.hear(at, job, fact);
                self.prune();
            }
            Fact::Amended { .. }
            | Fact::Claimed { .. }
            | Fact::Released { .. }
            | Fact::Ready { .. }
            | Fact::Scaled { .. }
            | Fact::Migrated { .. }
            | Fact::Granting { .. }
            | Fact::CalledOff { .. }
            | Fact::Evicting { .. }
            | Fact::NodeChanged { .. }
            | Fact::Cordoned { .. }
            | Fact::GpuChanged { .. }
            | Fact::Moved { .. }
            | Fact::ShareChanged { .. }
            | Fact::DemandChanged { .. }
            | Fact::WindowEdge { .. }
            | Fact::Reserved { .. }
            | Fact::Unreserved { .. }
            | Fact::Refused { .. }
            | Fact::Weighed { .. }
            | Fact::Noted { .. }
            | Fact::PassLimit
            | Fact::Cut => {}
        }
    }
    fn submitted(&mut self) -> Arc<Workload> {
        Arc::new(std::mem::take(&mut self.work))
    }
    fn jobs(&self) -> Option<usize> {
        None
    }
}
