//! Who holds what on which loaned server, and how that changes as servers are taken.

use super::Rule;

/// What a job holds on one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The server, by row.
    pub server: usize,
    /// Workers there.
    pub workers: u32,
    /// GPUs there.
    pub gpus: u32,
}

/// A job with workers on loaned servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// Workers that it can lose, wherever they are, before it is preempted.
    pub spare: u32,
    /// GPUs that it holds in all, on loan or not.
    pub gpus: u32,
    /// What it holds, one entry a server.
    pub holds: Vec<Hold>,
}

/// The loaned servers of an instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaned {
    /// How many servers.
    pub servers: usize,
    /// Who is on them.
    pub tenants: Vec<Tenant>,
}

/// What goes back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// Servers, by row, in the order in which they were chosen.
    pub servers: Vec<usize>,
    /// Tenants, by row, that are preempted.
    pub preempted: Vec<usize>,
    /// Tenants that lose workers on a server and go on.
    pub scaled: Vec<(usize, usize)>,
    /// Servers and holds looked at.
    pub looks: u64,
}

/// One preemption, divisible by any number of servers up to 16 without rounding.
const WHOLE: u64 = 720_720;

/// The state while servers are taken.
#[derive(Clone)]
pub(super) struct State<'a> {
    pub(super) loaned: &'a Loaned,
    /// Who is on each server: rows of a tenant and of its hold.
    on: Vec<Vec<(usize, usize)>>,
    /// Jobs that run on each server, those that would be preempted with it, its preemption cost, its GPUs in use.
    pub(super) jobs: Vec<u32>,
    pub(super) deaths: Vec<u32>,
    pub(super) cost: Vec<u64>,
    pub(super) gpus: Vec<u32>,
    spare: Vec<u32>,
    alive: Vec<bool>,
    /// Holds that are gone, by tenant.
    gone: Vec<Vec<bool>>,
    shares: Vec<Vec<u64>>,
    pub(super) taken: Vec<bool>,
    pub(super) result: Reclaimed,
}

impl<'a> State<'a> {
    pub(super) fn new(loaned: &'a Loaned, rule: Rule) -> State<'a> {
        let mut on = vec![Vec::new(); loaned.servers];
        for (row, tenant) in loaned.tenants.iter().enumerate() {
            for (at, hold) in tenant.holds.iter().enumerate() {
                on[hold.server].push((row, at));
            }
        }
        // A share is computed once, when the servers are called back.
        let share = |tenant: &Tenant, hold: &Hold| match rule {
            Rule::CostGpu => WHOLE * u64::from(hold.gpus) / u64::from(tenant.gpus.max(1)),
            _ => WHOLE / tenant.holds.len() as u64,
        };
        let shares = loaned.tenants.iter().map(|tenant| tenant.holds.iter().map(|hold| share(tenant, hold)).collect());
        let mut state = State {
            loaned,
            on,
            jobs: vec![0; loaned.servers],
            deaths: vec![0; loaned.servers],
            cost: vec![0; loaned.servers],
            gpus: vec![0; loaned.servers],
            spare: loaned.tenants.iter().map(|tenant| tenant.spare).collect(),
            alive: vec![true; loaned.tenants.len()],
            gone: loaned.tenants.iter().map(|tenant| vec![false; tenant.holds.len()]).collect(),
            shares: shares.collect(),
            taken: vec![false; loaned.servers],
            result: Reclaimed::default(),
        };
        for row in 0..loaned.tenants.len() {
            for at in 0..loaned.tenants[row].holds.len() {
                state.count(row, at, true);
            }
        }
        state
    }
    /// Adds what a tenant holds on a server to the server's figures, or takes it off.
    fn count(&mut self, row: usize, at: usize, add: bool) {
        self.result.looks += 1;
        let hold = self.loaned.tenants[row].holds[at];
        let dies = u32::from(self.spare[row] < hold.workers);
        let cost = u64::from(dies) * self.shares[row][at];
        let server = hold.server;
        if add {
            self.jobs[server] += 1;
            self.gpus[server] += hold.gpus;
            self.deaths[server] += dies;
            self.cost[server] += cost;
        } else {
            self.jobs[server] -= 1;
            self.gpus[server] -= hold.gpus;
            self.deaths[server] -= dies;
            self.cost[server] -= cost;
        }
    }
    /// Takes a server: who cannot do without it is preempted and leaves all others, too.
    pub(super) fn take(&mut self, server: usize) {
        self.taken[server] = true;
        self.result.servers.push(server);
        for at in 0..self.on[server].len() {
            let (row, hold) = self.on[server][at];
            if !self.alive[row] {
                continue;
            }
            let workers = self.loaned.tenants[row].holds[hold].workers;
            let dies = self.spare[row] < workers;
            let holds = 0..self.loaned.tenants[row].holds.len();
            for hold in holds.clone().filter(|&hold| !self.gone[row][hold]).collect::<Vec<_>>() {
                self.count(row, hold, false);
            }
            if dies {
                self.alive[row] = false;
                self.result.preempted.push(row);
                continue;
            }
            self.gone[row][hold] = true;
            self.spare[row] -= workers;
            self.result.scaled.push((row, server));
            for hold in holds.filter(|&hold| !self.gone[row][hold]).collect::<Vec<_>>() {
                self.count(row, hold, true);
            }
        }
    }
    /// The servers that are still there.
    pub(super) fn left(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.loaned.servers).filter(|&server| !self.taken[server])
    }
    /// Workers on a server of jobs that still run.
    pub(super) fn workers(&self, server: usize) -> u32 {
        let here = self.on[server].iter().filter(|(row, hold)| self.alive[*row] && !self.gone[*row][*hold]);
        here.map(|&(row, hold)| self.loaned.tenants[row].holds[hold].workers).sum()
    }
    /// The server with the least preemption cost; of equal ones that with the fewest jobs, then GPUs in use, then the lowest.
    pub(super) fn cheapest(&self) -> Option<usize> {
        self.left().min_by_key(|&server| (self.cost[server], self.jobs[server], self.gpus[server], server))
    }
}
