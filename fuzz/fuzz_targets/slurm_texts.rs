//! What `schedlab import slurm` reads beside the dump.
#![no_main]

use schedlab::form::{Faults, SourceText};
use schedlab::import::{Conf, assoc, kind_of, policy, scontrol, sinfo, sshare};
use std::sync::Arc;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let source = Arc::new(SourceText { name: "input".into(), text: text.to_owned() });
    let mut faults = Faults::new();
    let _ = kind_of(text);
    let conf = Conf::read(&source, &mut faults);
    let _ = policy(&conf, Some(17), &mut faults);
    let _ = scontrol(&source, &mut faults);
    let _ = sinfo(&source, &mut faults);
    for tree in [sshare(&source, &mut faults), assoc(&source, &mut faults)] {
        let _ = tree.compared();
        (0..tree.rows.len()).for_each(|row| drop(tree.path(row)));
    }
});
