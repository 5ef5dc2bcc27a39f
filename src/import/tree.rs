//! The account tree, as `sshare` and `sacctmgr show assoc` tell it, and whether our Fair Tree ranks its users as Slurm does.

use super::Lines;
use crate::form::{Fault, Faults, SourceText};
use crate::policy::order::fair_tree::{Ties, factors};
use crate::policy::order::share_tree::{Node, ShareTree};
use std::sync::Arc;

/// An account or a user.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeRow {
    /// Its name.
    pub name: String,
    /// The account above it; `None` of those at the top.
    pub parent: Option<usize>,
    /// Whether it is a user.
    pub user: bool,
    /// Its share among its siblings; `None` if it counts as its account does (`parent`).
    pub share: Option<f64>,
    /// What it used, as `sshare` says.
    pub usage: Option<f64>,
    /// Its Fair Tree factor, as `sshare` says.
    pub fairshare: Option<f64>,
}

/// The tree; the root itself is no row. Accounts stand before what is below them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    /// Its rows.
    pub rows: Vec<TreeRow>,
}

/// A user whose factor is another: its path, ours, and what `sshare` says.
pub type Differs = (String, f64, f64);

impl Tree {
    /// The path of a row. Names are cut where a path would take them for more than one.
    pub fn path(&self, row: usize) -> String {
        let own = self.rows[row].name.replace('/', "_");
        self.rows[row].parent.map_or_else(|| own.clone(), |parent| format!("{}/{own}", self.path(parent)))
    }
    /// The row of an account, if there is one.
    pub fn account(&self, name: &str) -> Option<usize> {
        self.rows.iter().position(|row| !row.user && row.name.eq_ignore_ascii_case(name))
    }
    /// The row of a user of an account.
    pub fn user(&self, account: usize, name: &str) -> Option<usize> {
        self.rows.iter().position(|row| row.user && row.parent == Some(account) && row.name == name)
    }
    /// Users that count as their account does.
    pub fn with_parent(&self) -> usize {
        self.rows.iter().filter(|row| row.share.is_none()).count()
    }
    /// Of how many users `sshare` told usage and factor, and those whose factor is another by our Fair Tree, each with both.
    ///
    /// `None` if it did not tell usage and factors.
    pub fn compared(&self) -> Option<(usize, Vec<Differs>)> {
        let told = |row: &TreeRow| row.usage.is_some() && (!row.user || row.fairshare.is_some());
        if self.rows.is_empty() || !self.rows.iter().all(told) {
            return None;
        }
        let mut nodes = vec![Node { parent: 0, share: 1.0, user: false }];
        nodes.extend(self.rows.iter().map(|row| Node {
            parent: row.parent.map_or(0, |parent| parent as u32 + 1),
            share: row.share.unwrap_or(1.0),
            user: row.user,
        }));
        let top = self.rows.iter().filter(|row| row.parent.is_none()).filter_map(|row| row.usage).sum();
        let mut usage: Vec<f64> = vec![top];
        usage.extend(self.rows.iter().map(|row| row.usage.unwrap_or(0.0)));
        let found = factors(&ShareTree::new(nodes), &usage, Ties::Merged);
        let users = self.rows.iter().enumerate().filter(|(_, row)| row.user);
        let differ = users.clone().filter_map(|(at, row)| {
            let (ours, theirs) = (found[at + 1], row.fairshare?);
            // Slurm prints six decimals.
            ((ours - theirs).abs() > 1e-6).then(|| (self.path(at), ours, theirs))
        });
        Some((users.clone().count(), differ.collect()))
    }
}

/// The fields of a head in small letters, and the rows below with theirs.
fn rows<'s>(lines: &Lines<'s>, faults: &mut Faults) -> (Vec<String>, Vec<Vec<&'s str>>) {
    let mut all = lines.iter().filter(|(_, line)| !line.trim().is_empty());
    let Some((_, head)) = all.next() else { return (Vec::new(), Vec::new()) };
    let head: Vec<String> = head.split('|').map(|it| it.trim().to_lowercase()).collect();
    let mut found = Vec::new();
    for (_, line) in all {
        let fields: Vec<&str> = line.split('|').collect();
        if fields.len() == head.len() {
            found.push(fields);
        } else {
            let expected = format!("expected {} fields, as the head has", head.len());
            faults.push(Fault::new(format!("a row of {} fields", fields.len())).at(&lines.place(line), expected));
        }
    }
    (head, found)
}

fn number(lines: &Lines<'_>, text: &str, what: &str, faults: &mut Faults) -> Option<f64> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    let found = text.parse::<f64>().ok().filter(|it| 0.0 <= *it);
    if found.is_none() {
        faults.push(Fault::new(format!("{what} is `{text}`")).at(&lines.place(text), "expected a number from 0"));
    }
    found
}

fn share(lines: &Lines<'_>, text: &str, faults: &mut Faults) -> Option<f64> {
    if text.trim().eq_ignore_ascii_case("parent") { None } else { Some(number(lines, text, "the share", faults).unwrap_or(1.0)) }
}

/// Reads `sshare -a -P`, with `-l` or without: accounts are indented by how deep they are.
pub fn sshare(source: &Arc<SourceText>, faults: &mut Faults) -> Tree {
    let lines = Lines::new(source);
    let (head, found) = rows(&lines, faults);
    let column = |name: &str| head.iter().position(|it| it == name);
    let (Some(account), Some(user), Some(shares)) = (column("account"), column("user"), column("rawshares")) else {
        return Tree::default();
    };
    let (usage, fairshare) = (column("rawusage"), column("fairshare"));
    let mut tree = Tree::default();
    // The account at each depth, the root being at none.
    let mut above: Vec<Option<usize>> = Vec::new();
    for fields in found {
        let indented = fields[account];
        let depth = indented.len() - indented.trim_start().len();
        let (name, who) = (indented.trim(), fields[user].trim());
        if depth == 0 && who.is_empty() {
            // The root.
            above = vec![None];
            continue;
        }
        let Some(parent) = above.get(depth.saturating_sub(1)).copied().filter(|_| 0 < depth) else {
            faults.push(Fault::new(format!("`{name}` stands under no account")).at(
                &lines.place(indented.trim()),
                "expected it one blank deeper than the account above it, as `sshare -a -P` prints it",
            ));
            continue;
        };
        let row = TreeRow {
            name: if who.is_empty() { name.to_owned() } else { who.to_owned() },
            parent,
            user: !who.is_empty(),
            share: share(&lines, fields[shares], faults),
            usage: usage.and_then(|column| number(&lines, fields[column], "the usage", faults)),
            fairshare: fairshare.and_then(|column| number(&lines, fields[column], "the factor", faults)),
        };
        if who.is_empty() {
            above.truncate(depth);
            above.push(Some(tree.rows.len()));
        }
        tree.rows.push(row);
    }
    tree
}

/// Reads `sacctmgr show assoc -P`. Without a column `ParentName` (or `Par Name`) all accounts stand at the top.
pub fn assoc(source: &Arc<SourceText>, faults: &mut Faults) -> Tree {
    let lines = Lines::new(source);
    let (head, found) = rows(&lines, faults);
    let column = |names: &[&str]| head.iter().position(|it| names.contains(&it.as_str()));
    let (Some(account), Some(user), Some(shares)) = (column(&["account"]), column(&["user"]), column(&["share", "fairshare"]))
    else {
        return Tree::default();
    };
    let (parent, partition) = (column(&["parentname", "par name", "parent"]), column(&["partition"]));
    let mut tree = Tree::default();
    let mut parents: Vec<(usize, &str)> = Vec::new();
    for fields in found.iter().filter(|fields| fields[user].trim().is_empty() && fields[account].trim() != "root") {
        let share = share(&lines, fields[shares], faults);
        parents.push((tree.rows.len(), parent.map_or("", |column| fields[column].trim())));
        let name = fields[account].trim().to_owned();
        tree.rows.push(TreeRow { name, parent: None, user: false, share, usage: None, fairshare: None });
    }
    for (row, parent) in parents {
        tree.rows[row].parent = tree.account(parent).filter(|above| *above != row);
    }
    for row in 0..tree.rows.len() {
        // A circle would have no path.
        let mut at = tree.rows[row].parent;
        for _ in 0..=tree.rows.len() {
            at = at.and_then(|above| tree.rows[above].parent);
        }
        if at.is_some() {
            faults.push(Fault::new(format!("account `{}` lies under itself", tree.rows[row].name)).in_source(source));
            tree.rows[row].parent = None;
        }
    }
    for fields in found.iter().filter(|fields| !fields[user].trim().is_empty()) {
        // An association with a partition is one more of the same user.
        if partition.is_some_and(|column| !fields[column].trim().is_empty()) {
            continue;
        }
        let name = fields[user].trim().to_owned();
        let parent = tree.account(fields[account].trim());
        let share = share(&lines, fields[shares], faults);
        if parent.is_some() || fields[account].trim() == "root" {
            tree.rows.push(TreeRow { name, parent, user: true, share, usage: None, fairshare: None });
        }
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Arc<SourceText> {
        Arc::new(SourceText { name: "sshare".into(), text: text.into() })
    }

    /// What a Slurm 22.05 printed of a tree of four accounts while jobs ran.
    const SSHARE: &str =
        "Account|User|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare|LevelFS|GrpTRESMins|TRESRunMins
root|||0.000000|17842||1.000000||||cpu=0
 root|root|1|0.009901|0|0.000000|0.000000|1.000000|inf||cpu=0
 alpha||40|0.396040|7070|0.396251|0.396251||0.999467||cpu=0
  alpha|al1|1|0.500000|3011|0.168755|0.425880|0.428571|1.174040||cpu=0
  alpha|al2|1|0.500000|4059|0.227496|0.574120|0.285714|0.870898||cpu=0
 beta||30|0.297030|4741|0.265751|0.265751||1.117698||cpu=0
  beta|be1|1|1.000000|4741|0.265751|1.000000|0.571429|1.000000||cpu=0
 delta||10|0.099010|3017|0.169105|0.169105||0.585494||cpu=0
  delta|de1|1|1.000000|3017|0.169105|1.000000|0.142857|1.000000||cpu=0
 gamma||20|0.198020|3012|0.168893|0.168893||1.172448||cpu=0
  gamma|ga1|1|0.500000|1506|0.084446|0.500000|0.857143|1.000000||cpu=0
  gamma|ga2|1|0.500000|1506|0.084446|0.500000|0.857143|1.000000||cpu=0
";

    #[test]
    fn fair_tree_ranks_the_users_of_a_real_slurm_as_it_does() {
        let mut faults = Faults::new();
        let tree = sshare(&source(SSHARE), &mut faults);
        assert!(faults.is_empty());
        assert_eq!(tree.path(tree.user(tree.account("alpha").unwrap(), "al2").unwrap()), "alpha/al2");
        assert_eq!(tree.compared(), Some((7, Vec::new())));
        let mut other = tree;
        let row = other.rows.iter().position(|row| row.name == "al1").unwrap();
        other.rows[row].usage = Some(6000.0);
        assert!(!other.compared().unwrap().1.is_empty(), "a check that can fail");
    }

    #[test]
    fn associations_make_a_tree_where_parents_are_told() {
        let text = "Cluster|Account|Par Name|User|Partition|Share\nlab|root|||| 1\nlab|sci|root|||60\nlab|bio|sci|||parent\nlab|bio||ann||3\nlab|bio||ann|gpu|3\n";
        let mut faults = Faults::new();
        let tree = assoc(&source(text), &mut faults);
        assert!(faults.is_empty(), "{faults:?}");
        let paths: Vec<String> = (0..tree.rows.len()).map(|row| tree.path(row)).collect();
        assert_eq!(paths, ["sci", "sci/bio", "sci/bio/ann"]);
        assert_eq!((tree.rows[2].share, tree.with_parent(), tree.compared()), (Some(3.0), 1, None));
    }

    #[test]
    fn circles_and_orphans_are_faults() {
        let mut faults = Faults::new();
        assoc(&source("Account|ParentName|User|Share\na|b||1\nb|a||1\n"), &mut faults);
        assert!(!faults.is_empty());
        let mut faults = Faults::new();
        sshare(&source("Account|User|RawShares\nroot||\n   deep||1\n"), &mut faults);
        assert_eq!(faults.len(), 1);
    }
}
