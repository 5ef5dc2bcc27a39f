//! Lists of hosts as Slurm writes them: `gpu[01-03,7],login1` is gpu01, gpu02, gpu03, gpu7 and login1.
//!
//! A list is counted before it is written out, so that `n[1-999999999]` costs nothing.

/// What is wrong with a list of hosts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostsFault {
    /// It is not of that form.
    #[error("expected {expected} at byte {at} of the list of hosts")]
    Form {
        /// Where, in bytes from 0.
        at: usize,
        /// What should stand there.
        expected: &'static str,
    },
    /// It names more hosts than the caller can use.
    #[error("the list names {count} hosts, expected at most {most}")]
    TooMany {
        /// How many.
        count: u64,
        /// The bound.
        most: u64,
    },
}

/// Part of a host's name.
enum Part<'a> {
    /// As it stands.
    Text(&'a str),
    /// One of several numbers.
    Ranges(Vec<Range>),
}

/// Numbers from `low` to `high`, with zeros before them up to `width` digits.
struct Range {
    low: u64,
    high: u64,
    width: usize,
}

/// The hosts of a list, in its order.
///
/// - Errors: it is not of that form, or names more than `most` hosts.
/// - Source: slurm.conf(5), "NodeName": ranges in brackets, separated by commas, zeros kept as the first number has them.
pub fn expand_hosts(text: &str, most: u64) -> Result<Vec<String>, HostsFault> {
    let list = parse(text)?;
    let count = counted(&list);
    if most < count {
        return Err(HostsFault::TooMany { count, most });
    }
    let mut out = Vec::new();
    for host in &list {
        let mut names = vec![String::new()];
        for part in host {
            match part {
                Part::Text(text) => names.iter_mut().for_each(|name| name.push_str(text)),
                Part::Ranges(ranges) => {
                    let numbers = || ranges.iter().flat_map(|range| (range.low..=range.high).map(|n| (n, range.width)));
                    names = names.iter().flat_map(|name| numbers().map(move |(n, width)| format!("{name}{n:0width$}"))).collect();
                }
            }
        }
        out.append(&mut names);
    }
    Ok(out)
}

/// How many hosts a list names, without writing them out.
///
/// - Errors: it is not of that form.
pub fn count_hosts(text: &str) -> Result<u64, HostsFault> {
    parse(text).map(|list| counted(&list))
}

fn counted(list: &[Vec<Part<'_>>]) -> u64 {
    let numbers = |part: &Part<'_>| match part {
        Part::Text(_) => 1,
        Part::Ranges(ranges) => ranges.iter().fold(0_u64, |sum, it| sum.saturating_add((it.high - it.low).saturating_add(1))),
    };
    list.iter().map(|host| host.iter().map(numbers).fold(1_u64, u64::saturating_mul)).fold(0, u64::saturating_add)
}

fn parse(text: &str) -> Result<Vec<Vec<Part<'_>>>, HostsFault> {
    let mut list = Vec::new();
    let mut host = Vec::new();
    let mut at = 0;
    loop {
        let end = text[at..].find([',', '[', ']']).map_or(text.len(), |len| at + len);
        if at < end {
            host.push(Part::Text(&text[at..end]));
        }
        at = end + 1;
        match text.as_bytes().get(end) {
            Some(b'[') => {
                let Some(len) = text[at..].find(']') else {
                    return Err(HostsFault::Form { at: end, expected: "a `]` for this `[`" });
                };
                host.push(Part::Ranges(ranges(&text[at..at + len], at)?));
                at += len + 1;
                if at < text.len() {
                    continue;
                }
            }
            Some(b']') => return Err(HostsFault::Form { at: end, expected: "a `[` before this `]`" }),
            Some(_) => {
                if host.is_empty() {
                    return Err(HostsFault::Form { at: end, expected: "the name of a host" });
                }
                list.push(std::mem::take(&mut host));
                continue;
            }
            None => {}
        }
        if host.is_empty() {
            return Err(HostsFault::Form { at: text.len(), expected: "the name of a host" });
        }
        list.push(host);
        return Ok(list);
    }
}

/// The numbers between brackets, which begin at byte `at`.
fn ranges(text: &str, mut at: usize) -> Result<Vec<Range>, HostsFault> {
    let mut out = Vec::new();
    for part in text.split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let number =
            |digits: &str| (digits.bytes().all(|b| b.is_ascii_digit()) && digits.len() <= 18).then(|| digits.parse().ok())?;
        match (number(low), number(high)) {
            (Some(from), Some(to)) if from <= to => out.push(Range { low: from, high: to, width: low.len() }),
            _ => return Err(HostsFault::Form { at, expected: "numbers such as `3` or `01-16`, the smaller one first" }),
        }
        at += part.len() + 1;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_are_written_out_in_their_order() {
        let expand = |text: &str| expand_hosts(text, 100).map(|hosts| hosts.join(" "));
        for (text, hosts) in [
            ("gpu[01-03,7],login1", "gpu01 gpu02 gpu03 gpu7 login1"),
            ("cpn-f13-03-[01-02],cpn-f13-04-01", "cpn-f13-03-01 cpn-f13-03-02 cpn-f13-04-01"),
            ("r[1-2]n[08-10]x", "r1n08x r1n09x r1n10x r2n08x r2n09x r2n10x"),
            ("n", "n"),
            ("n[5]", "n5"),
        ] {
            assert_eq!(expand(text).as_deref(), Ok(hosts), "{text}");
            assert_eq!(count_hosts(text), Ok(hosts.split(' ').count() as u64), "{text}");
        }
        let faults: Vec<String> = [
            "",
            "a,",
            ",a",
            "a[1-3",
            "a]",
            "a[3-1]",
            "a[]",
            "a[x]",
            "a[1,]",
            "a[1-2-3]",
            "n[1-999999999]",
            "n[9999999999999999999]",
        ]
        .iter()
        .map(|text| format!("{text}: {}", expand(text).unwrap_err()))
        .collect();
        insta::assert_snapshot!(faults.join("\n"), @r"
        : expected the name of a host at byte 0 of the list of hosts
        a,: expected the name of a host at byte 2 of the list of hosts
        ,a: expected the name of a host at byte 0 of the list of hosts
        a[1-3: expected a `]` for this `[` at byte 1 of the list of hosts
        a]: expected a `[` before this `]` at byte 1 of the list of hosts
        a[3-1]: expected numbers such as `3` or `01-16`, the smaller one first at byte 2 of the list of hosts
        a[]: expected numbers such as `3` or `01-16`, the smaller one first at byte 2 of the list of hosts
        a[x]: expected numbers such as `3` or `01-16`, the smaller one first at byte 2 of the list of hosts
        a[1,]: expected numbers such as `3` or `01-16`, the smaller one first at byte 4 of the list of hosts
        a[1-2-3]: expected numbers such as `3` or `01-16`, the smaller one first at byte 2 of the list of hosts
        n[1-999999999]: the list names 999999999 hosts, expected at most 100
        n[9999999999999999999]: expected numbers such as `3` or `01-16`, the smaller one first at byte 2 of the list of hosts
        ");
        assert_eq!(count_hosts("n[1-999999999][1-999999999][1-999999999]"), Ok(u64::MAX));
    }

    proptest! {
        /// What a list is made of comes back out of it, one host at a time.
        #[test]
        fn lists_give_what_they_were_written_from(
            hosts in prop::collection::vec(("[a-z][a-z-]{0,5}", prop::collection::vec((0..200_u64, 0..9_u64, 1..5_usize), 0..4)), 1..5),
        ) {
            let (mut text, mut naive) = (Vec::new(), Vec::new());
            for (name, ranges) in &hosts {
                let mut parts = Vec::new();
                for &(low, more, width) in ranges {
                    let first = format!("{low:0width$}");
                    let digits = first.len();
                    parts.push(if more == 0 { first } else { format!("{first}-{}", low + more) });
                    for n in low..=low + more {
                        naive.push(format!("{name}{}{n}", "0".repeat(digits.saturating_sub(n.to_string().len()))));
                    }
                }
                text.push(if parts.is_empty() { name.clone() } else { format!("{name}[{}]", parts.join(",")) });
                if parts.is_empty() {
                    naive.push(name.clone());
                }
            }
            let text = text.join(",");
            prop_assert_eq!(count_hosts(&text), Ok(naive.len() as u64));
            prop_assert_eq!(expand_hosts(&text, naive.len() as u64), Ok(naive.clone()));
            let most = naive.len() as u64 - 1;
            prop_assert_eq!(expand_hosts(&text, most), Err(HostsFault::TooMany { count: naive.len() as u64, most }));
        }

        /// Any text at all is written out or refused.
        #[test]
        fn any_list_is_written_out_or_refused(text in "[a-z0-9,\\[\\]é-]{0,30}") {
            if let Ok(hosts) = expand_hosts(&text, 1000) {
                prop_assert_eq!(count_hosts(&text), Ok(hosts.len() as u64));
            }
        }
    }
}
