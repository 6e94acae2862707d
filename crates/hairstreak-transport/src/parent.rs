//! Child processes that do not outlive the process that started them.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has the kernel kill what `command` starts as soon as the thread that starts it is gone, and so the process, however that ends.
/// What it starts itself is its own concern.
pub fn end_with_parent(command: &mut Command) {
    let parent = std::process::id();
    let follow = move || {
        // SAFETY: two system calls on numbers, which may be made between fork and exec.
        let is_orphan = unsafe {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == -1 {
                return Err(io::Error::last_os_error());
            }
            u32::try_from(libc::getppid()) != Ok(parent)
        };
        // It was gone before the kernel was told.
        if is_orphan { Err(io::Error::from_raw_os_error(libc::ESRCH)) } else { Ok(()) }
    };
    // SAFETY: as above; nothing is allocated, locked or shared.
    unsafe { command.pre_exec(follow) };
}
