//! What a file of a folder is, told by what stands in it.

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `slurm.conf`.
    Conf,
    /// `scontrol show node`.
    Scontrol,
    /// `sinfo -N`.
    Sinfo,
    /// `sshare -a -P`, with `-l` or without.
    Sshare,
    /// `sacctmgr show assoc -P`.
    Assoc,
    /// `sacct -P`.
    Sacct,
}

impl Kind {
    /// The command that prints it, or its name.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Conf => "slurm.conf",
            Kind::Scontrol => "scontrol show node",
            Kind::Sinfo => "sinfo -N",
            Kind::Sshare => "sshare -a -l -P",
            Kind::Assoc => "sacctmgr show assoc -P",
            Kind::Sacct => "sacct -a -P -o ALL",
        }
    }
}

/// What the beginning of a file says it is; `None` if it is none of these.
pub fn kind_of(head: &str) -> Option<Kind> {
    let mut lines = head.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let first = lines.next()?.to_lowercase();
    let has = |words: &[&str]| {
        let fields: Vec<&str> = first.split(['|', ',', ';', '^', '\t']).map(str::trim).collect();
        words.iter().all(|word| fields.contains(word))
    };
    if has(&["account", "rawshares"]) {
        return Some(Kind::Sshare);
    }
    if has(&["submit", "start"]) {
        return Some(Kind::Sacct);
    }
    if has(&["account", "user", "share"]) || has(&["account", "user", "fairshare"]) {
        return Some(Kind::Assoc);
    }
    if first.starts_with("nodename=") && head.to_lowercase().contains("cputot=") {
        return Some(Kind::Scontrol);
    }
    if first.split_whitespace().next() == Some("nodelist") {
        return Some(Kind::Sinfo);
    }
    let lower = head.to_lowercase();
    let setting = |key: &str| lower.lines().any(|line| line.trim_start().starts_with(key));
    (setting("clustername=") || setting("slurmctldhost=") || setting("nodename=") || setting("schedulertype="))
        .then_some(Kind::Conf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_what_stands_in_them() {
        for (head, kind) in [
            ("# a comment\nClusterName=lab\n", Some(Kind::Conf)),
            ("NodeName=n1 Arch=x86_64\n   CPUAlloc=0 CPUTot=64\n", Some(Kind::Scontrol)),
            ("NODELIST   NODES PARTITION STATE \nn1  1 debug* idle\n", Some(Kind::Sinfo)),
            ("Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare\n", Some(Kind::Sshare)),
            ("Cluster|Account|User|Partition|Share|Priority\n", Some(Kind::Assoc)),
            ("JobID|Submit|Start|End|State\n", Some(Kind::Sacct)),
            ("hello\n", None),
            ("", None),
        ] {
            assert_eq!(kind_of(head), kind, "{head}");
        }
    }
}
