//! A standard output that was closed when the program was started (`>&-`) stays closed.
//!
//! Rust's runtime opens /dev/null in its place, before `main`, so that no file that is opened later has its number. What is
//! written there is lost without a word. Something that cannot be written to does as well, and says so.

use std::ffi::c_int;

/// The number of the standard output.
const STANDARD_OUTPUT: c_int = 1;

/// In a program: has [`keep_standard_output_closed`](fn@keep_standard_output_closed) called before its runtime starts.
#[macro_export]
macro_rules! keep_standard_output_closed {
    () => {
        const _: () = {
            #[used]
            #[unsafe(link_section = ".init_array")]
            static BEFORE_MAIN: extern "C" fn() = $crate::keep_standard_output_closed;
        };
    };
}

/// If the standard output is closed, whoever writes there from now on is told so: a bad file descriptor. Through
/// [`std::io::Stdout`] it is not, which takes that for success.
pub extern "C" fn keep_standard_output_closed() {
    // SAFETY: numbers and a constant text. The descriptor that is closed is the one that was opened here.
    unsafe {
        if libc::fcntl(STANDARD_OUTPUT, libc::F_GETFD) != -1 {
            return;
        }
        let unwritable = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY);
        // The standard input may be closed too: then it has that number.
        if unwritable != -1 && unwritable != STANDARD_OUTPUT {
            libc::dup2(unwritable, STANDARD_OUTPUT);
            libc::close(unwritable);
        }
    }
}
