//! The program's entry: hands the command line to `cli`, and is the only place that exits.

fn main() {
    let code = redgreen::cli::main();
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    std::process::exit(code);
}
