//! A page and its frame: what is in short, sections, a foot.

use super::block::Block;
use super::{chart, palette};
use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use serde::Serialize;

/// A page, ready to be set.
#[derive(Debug, Serialize)]
pub(crate) struct Sheet {
    /// What it is of.
    pub title: String,
    /// What a busy person reads first.
    pub findings: Vec<Finding>,
    /// The sections, in order.
    pub sections: Vec<Set>,
    /// What a reader must know of how it was made.
    pub foot: String,
}

/// A sentence or two, and the section that shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Finding {
    /// The sentences.
    pub text: String,
    /// The section, by its id.
    pub section: &'static str,
}

/// A section.
#[derive(Debug, Serialize)]
pub(crate) struct Set {
    /// By what it is linked to.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What is in it.
    pub blocks: Vec<Block>,
}

impl Sheet {
    /// The page as HTML.
    pub(crate) fn html(&self) -> String {
        let mut pages = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        pages.set_syntax(syntax.expect("these are the delimiters of Jinja"));
        for (name, text) in [
            ("page.html", include_str!("page.html")),
            ("blocks.html", include_str!("blocks.html")),
            ("style.css", include_str!("style.css")),
            ("script.js", include_str!("script.js")),
        ] {
            pages.add_template(name, text).expect("the templates are part of the program");
        }
        pages.add_filter("prose", |text: String| Value::from_safe_string(prose(&text)));
        pages.add_global("colours", palette::rules());
        let page = pages.get_template("page.html").expect("it was just added");
        page.render(Serde(self)).expect("the template asks for what it is given")
    }
}

/// A sentence as HTML: what stands between grave accents is a name or a command.
fn prose(text: &str) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    // Without a partner the last one is a mere accent.
    let pairs = (pieces.len() - 1) / 2 * 2;
    let mut html = String::new();
    for (row, piece) in pieces.iter().enumerate() {
        if 0 < row {
            html += match (row <= pairs, row % 2) {
                (false, _) => "`",
                (true, 1) => "<code>",
                (true, _) => "</code>",
            };
        }
        html += &chart::escaped(piece);
    }
    html
}
