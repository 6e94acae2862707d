//! Child processes that do not outlive their parent, and that get its first limit of open files.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Limit that this process was started with. Set once the limit was raised.
static FIRST_LIMIT: OnceLock<Rlimit> = OnceLock::new();

/// Raises the soft limit of open files to the hard one. Commands that [`end_with_parent`] prepares get the earlier
/// limit: a program may use `select`, which supports 1,024 descriptors.
pub fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    if setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).is_ok() {
        FIRST_LIMIT.get_or_init(|| limit);
    }
}

/// Has the kernel kill the process of `command` when the thread that starts it exits. This covers every way in which
/// this process can end. The children of that process are not covered.
pub fn end_with_parent(command: &mut Command) {
    let parent = std::process::id();
    let limit = FIRST_LIMIT.get().copied();
    let follow = move || {
        // SAFETY: two system calls on numbers, which may be made between fork and exec.
        let is_orphan = unsafe {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == -1 {
                return Err(io::Error::last_os_error());
            }
            u32::try_from(libc::getppid()) != Ok(parent)
        };
        if let Some(limit) = &limit {
            // This is one more system call. A limit below the number of open descriptors is allowed.
            setrlimit(Resource::Nofile, *limit)?;
        }
        // The parent exited before the kernel had the request.
        if is_orphan { Err(io::Error::from_raw_os_error(libc::ESRCH)) } else { Ok(()) }
    };
    // SAFETY: as above; nothing is allocated, locked or shared.
    unsafe { command.pre_exec(follow) };
}
