//! The README and the pages of `docs/`: what they show is what the program prints, what they point at is there, and what they tell a reader to type
//! is understood.
//!
//! - A block ```` ```console ```` has commands after `$ ` and what they print; with `exit=2` the last ends so, with `lines=9` only so many lines of each are shown.
//! - A block with `file=NAME` is a file that later commands of its page may use, besides the folders `scenarios` and `policies`.
//! - Commands in blocks ```` ```sh ```` are too long to be run; they are parsed.
//!
//! `SCHEDLAB_UPDATE=1 cargo test --release --test cli book` writes printed outputs and generated pages anew.

use super::messages::Desk;
use clap::Parser;
use schedlab::cli::Args;
use schedlab::form::{Faults, Place, SourceText};
use schedlab::policy::Stage;
use schedlab::scenario::policies::{SHIPPED, check_policies};
use schedlab::scenario::{Folders, find_policy};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A fenced block: the words after the fence, and what stands inside.
pub struct Block<'a> {
    pub info: &'a str,
    pub body: &'a str,
}

impl<'a> Block<'a> {
    pub fn value(&self, key: &str) -> Option<&'a str> {
        self.info.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }
    fn is(&self, kind: &str) -> bool {
        self.info.split(' ').next() == Some(kind)
    }
}

/// The blocks of a page, and the text before each and after the last.
pub fn blocks(page: &str) -> (Vec<(&str, Block<'_>)>, &str) {
    let (mut found, mut rest) = (Vec::new(), page);
    while let Some(start) = rest.find("\n```").map(|at| at + 1) {
        let (info, _) = rest[start + 3..].split_once('\n').unwrap();
        let body = start + 3 + info.len() + 1;
        let end = body + rest[body..].find("```\n").expect("a block is closed");
        found.push((&rest[..start], Block { info, body: &rest[body..end] }));
        rest = &rest[end + 4..];
    }
    (found, rest)
}

/// A desk with the files that a page shows, and the scenarios and policies that ship.
pub fn desk(blocks: &[(&str, Block<'_>)]) -> Desk {
    let shown = blocks.iter().filter_map(|(_, it)| Some((it.value("file")?, it.body)));
    let desk = Desk::new(&shown.collect::<Vec<_>>());
    for folder in ["scenarios", "policies"] {
        copy(&root().join(folder), &desk.path().join(folder));
    }
    desk
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() { copy(&entry.path(), &target) } else { fs::copy(entry.path(), target).map(drop).unwrap() }
    }
}

/// The words of a command, as a shell parts them; `None` if it is none of ours.
fn words(command: &str) -> Option<Vec<String>> {
    let rest = command.strip_prefix("schedlab ").or_else(|| command.strip_prefix("cargo run --release -- "))?;
    let (mut words, mut quote, mut open) = (Vec::new(), None, false);
    for sign in rest.chars() {
        match (quote, sign) {
            (None, '\'' | '"') => (quote, open) = (Some(sign), true),
            (Some(with), _) if with == sign => quote = None,
            (None, ' ') => {
                if std::mem::take(&mut open) {
                    words.push(String::new());
                }
                continue;
            }
            _ => open = true,
        }
        if words.is_empty() {
            words.push(String::new());
        }
        if quote != Some(sign) && !(quote.is_none() && matches!(sign, '\'' | '"')) {
            words.last_mut().unwrap().push(sign);
        }
    }
    words.retain(|word| !word.is_empty());
    Some(words)
}

/// A block of commands with what they print now.
fn rerun(desk: &Desk, block: &Block<'_>) -> String {
    let commands: Vec<&str> = block.body.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert!(!commands.is_empty(), "a command after `$ `: {}", block.body);
    let mut text = String::new();
    for (row, command) in commands.iter().enumerate() {
        let args = words(command).unwrap_or_else(|| panic!("a command of ours: {command}"));
        let output = desk.schedlab(&args.iter().map(String::as_str).collect::<Vec<_>>());
        let wanted: i32 = if row + 1 == commands.len() { block.value("exit").map_or(0, |code| code.parse().unwrap()) } else { 0 };
        let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(wanted), "{command}: {err}");
        let printed = if wanted == 0 { out } else { err };
        let lines: Vec<&str> = printed.trim_matches('\n').lines().map(str::trim_end).collect();
        let shown = block.value("lines").map_or(lines.len(), |lines| lines.parse().unwrap()).min(lines.len());
        text += &format!("$ {command}\n");
        lines[..shown].iter().for_each(|line| text += &format!("{line}\n"));
        if shown < lines.len() {
            text += "…\n";
        }
    }
    text
}

/// The README and the pages of `docs/`, by path from the root.
fn pages() -> Vec<String> {
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut pages: Vec<String> = docs.filter(|name| name.ends_with(".md")).map(|name| format!("docs/{name}")).collect();
    pages.sort();
    pages.insert(0, "README.md".into());
    pages
}

fn read(page: &str) -> String {
    fs::read_to_string(root().join(page)).unwrap()
}

/// Writes what is new, if asked to; else what is there must be that.
pub fn settle(page: &str, fresh: &str) {
    if std::env::var_os("SCHEDLAB_UPDATE").is_some() {
        fs::write(root().join(page), fresh).unwrap();
        return;
    }
    let there = read(page);
    // Line by line, so that a failure shows the line and not the page.
    for (row, (new, old)) in fresh.lines().zip(there.lines()).enumerate() {
        assert_eq!(new, old, "{page}:{}: SCHEDLAB_UPDATE=1 updates it", row + 1);
    }
    assert_eq!(fresh.len(), there.len(), "{page}");
}

fn shows_what_is_printed(page: &str) {
    let text = read(page);
    let (blocks, tail) = blocks(&text);
    if !blocks.iter().any(|(_, it)| it.is("console")) {
        return;
    }
    let desk = desk(&blocks);
    let mut fresh = String::new();
    for (before, block) in &blocks {
        let body = if block.is("console") { rerun(&desk, block) } else { block.body.to_owned() };
        fresh += &format!("{before}```{}\n{body}```\n", block.info);
    }
    fresh += tail;
    settle(page, &fresh);
}

#[test]
fn the_readme_shows_what_is_printed() {
    shows_what_is_printed("README.md");
}

#[test]
fn pages_show_what_is_printed() {
    let shown = pages().into_iter().skip(1).filter(|page| read(page).contains("\n```console"));
    let count = shown.inspect(|page| shows_what_is_printed(page)).count();
    assert!(4 <= count, "the quickstart and three tutorials");
}

/// Commands that are not run are at least understood: a renamed option is found.
#[test]
fn commands_that_are_not_run_are_parsed() {
    let mut parsed = 0;
    for page in pages() {
        let text = read(&page);
        for (_, block) in blocks(&text).0.iter().filter(|(_, it)| it.is("sh")) {
            let body = block.body.replace("\\\n", " ");
            for line in body.lines() {
                let line = line.split("  #").next().unwrap_or(line).trim();
                // What stands for something else, or goes on elsewhere, is no command to be typed.
                if line.contains(['…', '|', '$', '>', '&']) {
                    continue;
                }
                let Some(words) = words(line) else { continue };
                let args = std::iter::once("schedlab".to_owned()).chain(words);
                if let Err(error) = Args::try_parse_from(args) {
                    panic!("{page}: {line}\n{error}");
                }
                parsed += 1;
            }
        }
    }
    assert!(25 < parsed, "{parsed}");
}

/// The name by which a heading is linked to, as GitHub and mdBook make it.
fn anchor(heading: &str) -> String {
    let plain = heading.trim().to_lowercase();
    plain.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it)).map(|it| if it == ' ' { '-' } else { it }).collect()
}

fn headings(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        inside ^= line.starts_with("```");
        if !inside && line.starts_with('#') {
            found.push(anchor(line.trim_start_matches('#')));
        }
    }
    found
}

#[test]
fn every_link_has_a_target() {
    let mut wrong = Vec::new();
    for page in pages().into_iter().chain(["ARCHITECTURE.md", "traces/README.md", "CHANGELOG.md"].map(String::from)) {
        let text = read(&page);
        let folder = root().join(&page).parent().unwrap().to_path_buf();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
        for link in links.filter(|it| !it.starts_with("http") && !it.contains(char::is_whitespace)) {
            let (file, target) = link.split_once('#').unwrap_or((link, ""));
            let file = if file.is_empty() { root().join(&page) } else { folder.join(file) };
            let is_page = file.extension().is_some_and(|it| it == "md");
            if !file.exists() || (!target.is_empty() && is_page && !headings(&file).iter().any(|it| it == target)) {
                wrong.push(format!("{page}: {link}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_page_is_in_the_book() {
    let summary = read("docs/SUMMARY.md");
    let missing: Vec<String> = pages()
        .into_iter()
        .filter_map(|page| page.strip_prefix("docs/").map(str::to_owned))
        .filter(|name| name != "SUMMARY.md" && !summary.contains(&format!("({name})")))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}

/// `docs/policies.md` is made of the policy files and the registry.
#[test]
fn the_page_of_policies_is_up_to_date() {
    let mut text = String::from(POLICIES);
    for (name, source) in SHIPPED {
        let about = source.lines().find_map(|line| line.strip_prefix("about = \"")?.strip_suffix('"')).unwrap_or("");
        let mut faults = Faults::default();
        let place = Place { source: Arc::new(SourceText { name: "the book".into(), text: (*name).into() }), start: 0, end: 0 };
        let folders = Folders::of(&root().join("scenarios/quickstart.toml"));
        let draft = find_policy(name, &place, &folders, &mut faults).unwrap_or_else(|| panic!("{name}: {faults:?}"));
        let spec =
            check_policies(vec![draft], &[], &mut Vec::new()).unwrap_or_else(|error| panic!("{name}: {error:?}")).remove(0);
        text += &format!("\n## {name}\n\n{about}.\n\n| stage | implementation | source |\n|---|---|---|\n");
        for stage in Stage::ALL {
            let chosen = spec.stages[stage as usize].entry;
            let info = stage.infos().into_iter().find(|it| it.name == chosen).unwrap();
            text += &format!("| {} | `{chosen}`: {} | {} |\n", stage.key(), info.about.replace('|', "\\|"), info.source);
        }
        // What the file itself says of its choices, up to the first line that is neither.
        let notes: Vec<&str> = source.lines().skip(1).filter_map(|line| line.strip_prefix("# ")).take(6).collect();
        if !notes.is_empty() && !notes[0].starts_with("Evolved by") {
            text += &format!("\n{}\n", notes.join(" "));
        }
    }
    settle("docs/policies.md", &text);
}

const POLICIES: &str = "# Policies that ship

<!-- Made from the policy files and the registry by tests/cli/book.rs; a test compares. -->

A policy is a file in `policies/` that names one implementation a stage, with its knobs: [policy.md](policy.md) lists all of them, and
[adding-a-policy.md](adding-a-policy.md) says how to write one's own. `schedlab run SCENARIO --policy NAME` runs any of these; `--policy FILE` any other.
Sources are of the idea; where this program departs from them the code says `Differs:`.
";
