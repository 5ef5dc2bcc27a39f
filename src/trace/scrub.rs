//! Names replaced by pseudonyms: the same name by the same pseudonym wherever it stands and whenever it is done with the same key, and none that
//! tells the name to whoever lacks the key.

use crate::workload::{Catalog, Names, Table, Workload};

/// Replaces names of users, accounts (each part of a path) and jobs. Classes, models and pools stay: they say what work is, not whose.
pub fn scrub(workload: &mut Workload, catalog: &mut Catalog, key: &str) {
    // A key of its own for each kind of name, so that a user who is called as an account is not known by it.
    let keyed = |kind: &str| blake3::derive_key(&format!("schedlab scrub 2026 {kind}"), key.as_bytes());
    let (users, accounts, jobs) = (keyed("user"), keyed("account"), keyed("job"));
    catalog.users =
        renamed(&catalog.users, |name| if name == Catalog::USER { name.to_owned() } else { pseudonym(&users, 'u', name) });
    catalog.accounts = renamed(&catalog.accounts, |path| {
        if path == Catalog::ACCOUNT {
            return path.to_owned();
        }
        let parts: Vec<String> = path.split('/').map(|part| pseudonym(&accounts, 'a', part)).collect();
        parts.join("/")
    });
    let mut names = Names::default();
    for row in 0..workload.names.len() as u32 {
        names.push(&pseudonym(&jobs, 'j', workload.names.get(row)));
    }
    workload.names = names;
}

/// Sixty-four bits of a keyed hash, as text.
fn pseudonym(key: &[u8; 32], letter: char, name: &str) -> String {
    let hash = blake3::keyed_hash(key, name.as_bytes());
    format!("{letter}{}", &hash.to_hex()[..16])
}

/// The same rows under other names.
fn renamed(table: &Table<String>, name: impl Fn(&str) -> String) -> Table<String> {
    let mut fresh = Table::default();
    for row in table.rows() {
        fresh.intern(&name(row));
    }
    assert_eq!(fresh.len(), table.len(), "two names have one pseudonym");
    fresh
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_pseudonym_for_each_key() {
        let key = |text: &str| blake3::derive_key("test", text.as_bytes());
        let (a, b) = (pseudonym(&key("one"), 'u', "ann"), pseudonym(&key("one"), 'u', "ann"));
        assert!(a == b && a.len() == 17 && a.starts_with('u') && !a.contains("ann"));
        assert_ne!(a, pseudonym(&key("two"), 'u', "ann"));
        assert_ne!(a, pseudonym(&key("one"), 'u', "bob"));
    }
}
