//! A dump of `sacct` of any length, made as it is read: arrays, steps left out, requeued jobs, users and accounts in their hundreds.

use std::io::{self, Read, Write};

/// The columns, as a site would ask for them.
pub const HEADER: &str = "JobID|JobIDRaw|JobName|Cluster|Account|User|Partition|QOS|Submit|Eligible|Start|End|Elapsed|State|ExitCode|Timelimit|\
                          NNodes|NCPUS|ReqMem|ReqTRES|AllocTRES|NodeList\n";

/// The text of `rows` rows, one after another.
pub struct Dump {
    rows: u64,
    next: u64,
    text: Vec<u8>,
    at: usize,
}

impl Dump {
    pub fn new(rows: u64) -> Dump {
        Dump { rows, next: 0, text: HEADER.as_bytes().to_vec(), at: 0 }
    }
    fn row(&mut self) {
        let n = self.next;
        self.next += 1;
        // A fixed mix of bits: the same file each time.
        let mut bits = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (n << 7);
        bits ^= bits >> 31;
        bits = bits.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits ^= bits >> 29;
        let pick = |shift: u32, of: u64| (bits >> shift) % of;
        let submit = n * 3;
        let start = submit + pick(3, 5000);
        let run = 60 + pick(17, 90_000);
        let gpus = 1 << pick(29, 5);
        let nodes = if 8 < gpus { gpus / 8 } else { 1 };
        let cpus = gpus * 8;
        let state = ["COMPLETED", "FAILED", "CANCELLED by 1042", "TIMEOUT", "COMPLETED"][pick(41, 5) as usize];
        let (account, user, part) = (pick(5, 300), pick(11, 2000), ["gpu", "short", "long"][pick(21, 3) as usize]);
        let text = &mut self.text;
        text.clear();
        self.at = 0;
        let when = |text: &mut Vec<u8>, at: u64| {
            let (day, second) = (at / 86_400, at % 86_400);
            let (month, day, year) = (day / 28 % 12 + 1, day % 28 + 1, 2023 + day / 336);
            let (hour, minute) = (second / 3600, second / 60 % 60);
            let _ = write!(text, "{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}|", second % 60);
        };
        // Every third row is a task of an array of ten.
        let _ = match n % 3 {
            0 => write!(text, "{}_{}|", 1_000_000 + n / 30, n / 3 % 10),
            _ => write!(text, "{}|", 2_000_000_000 + n),
        };
        let _ = write!(text, "{}|train|alpha|acc{account:03}|user{user:04}|{part}|normal|", 2_000_000_000 + n);
        when(text, submit);
        when(text, submit);
        when(text, start);
        when(text, start + run);
        let (days, hours, rest) = (run / 86_400, run / 3600 % 24, run % 3600);
        if days != 0 {
            let _ = write!(text, "{days}-");
        }
        let _ =
            write!(text, "{hours:02}:{:02}:{:02}|{state}|0:0|2-00:00:00|{nodes}|{cpus}|{}G|", rest / 60, rest % 60, gpus * 64);
        for given in [false, true] {
            let _ = write!(text, "billing={cpus},cpu={cpus},gres/gpu={gpus},");
            if given {
                let _ = write!(text, "gres/gpu:a100={gpus},");
            }
            let _ = write!(text, "mem={}G,node={nodes}|", gpus * 64);
        }
        let _ = writeln!(text, "gpu[{:03}-{:03}]", pick(13, 500), pick(13, 500) + nodes);
    }
}

impl Read for Dump {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < out.len() {
            if self.at == self.text.len() {
                if self.next == self.rows {
                    break;
                }
                self.row();
            }
            let n = (out.len() - done).min(self.text.len() - self.at);
            out[done..done + n].copy_from_slice(&self.text[self.at..self.at + n]);
            (self.at, done) = (self.at + n, done + n);
        }
        Ok(done)
    }
}
