//! `hairstreak bench`: executes the program `hairstreak-bench` in the same folder. The product
//! itself links no rival.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::arguments::BenchArguments;
use crate::failure::Failure;

/// Replaces this process. Returns only if the program cannot be started.
pub fn bench(arguments: &BenchArguments) -> Result<(), Failure> {
    let own = std::env::current_exe().map_err(Failure::failed)?;
    let program = own.with_file_name("hairstreak-bench");
    let error = Command::new(&program).args(&arguments.arguments).exec();
    Err(Failure::failed(format!(
        "cannot start {}: {error}; cargo build --release -p hairstreak-bench builds it",
        program.display()
    )))
}
