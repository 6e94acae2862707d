//! Process exit: a place to wait for what is still to be sent.

/// Has `handler` run when the process exits by returning from `main` or calling `exit`, not when it
/// is killed.
pub fn at_exit(handler: extern "C" fn()) {
    // SAFETY: the handler is a function without arguments that lives as long as the process. A
    // failure (no memory) means that exit does not wait.
    unsafe { libc::atexit(handler) };
}
