//! The program: parses, calls the library, prints the error, sets the exit code.

fn main() -> std::process::ExitCode {
    schedlab::cli::main()
}
