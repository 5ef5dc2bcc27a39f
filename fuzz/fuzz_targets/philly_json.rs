#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| schedlab_fuzz::history(Some("philly-json"), bytes));
