//! The allocator's free memory, given back to the system.

/// Gives free memory of the allocator back to the system. With the GNU C library these are the free pages of all arenas, with other libraries none.
/// The call takes the allocator's locks, and some milliseconds for hundreds of megabytes.
pub fn trim_allocator() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    // SAFETY: malloc_trim may be called at any time and from any thread, and changes no memory that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}
