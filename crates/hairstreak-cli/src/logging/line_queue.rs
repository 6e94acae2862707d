//! `LineQueue`: lines on their way to standard error, and the thread that writes them.
//!
//! Invariants: the queue holds at most [`WAITING_BYTES_MAX`] bytes. Lines come out in the order in which they went in. A dropped line is counted, and the
//! number is a line as soon as there is room.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The largest number of bytes that wait for a reader of standard error.
const WAITING_BYTES_MAX: usize = 1 << 20;

/// Lines on their way, shared by all threads that write lines.
pub(super) struct LineQueue {
    inside: Mutex<Inside>,
    /// Signalled when a line arrives.
    has_come: Condvar,
    /// Signalled when all lines are written.
    is_written: Condvar,
    tell_dropped: TellDropped,
}

/// Makes the line that reports a number of dropped lines.
type TellDropped = Box<dyn Fn(u64) -> String + Send + Sync>;

#[derive(Default)]
struct Inside {
    waiting: Vec<u8>,
    dropped_count: u64,
    is_writing: bool,
}

impl LineQueue {
    /// Starts the thread, which writes to `output` until the process ends.
    ///
    /// Errors: the system cannot start a thread.
    pub fn start(
        mut output: impl Write + Send + 'static,
        tell_dropped: TellDropped,
    ) -> io::Result<Arc<LineQueue>> {
        let queue = Arc::new(LineQueue {
            inside: Mutex::default(),
            has_come: Condvar::new(),
            is_written: Condvar::new(),
            tell_dropped,
        });
        let own = Arc::clone(&queue);
        let run = move || {
            let mut lines = Vec::new();
            loop {
                own.take(&mut lines);
                // An error cannot be reported, because the log itself failed.
                let _ = output.write_all(&lines).and_then(|()| output.flush());
            }
        };
        std::thread::Builder::new().name("log".into()).spawn(run)?;
        Ok(queue)
    }

    /// Appends a line, if there is room. Never waits for the reader of the output.
    pub fn put(&self, line: &str) {
        let mut inside = self.inside();
        if inside.dropped_count > 0 {
            let told = (self.tell_dropped)(inside.dropped_count);
            if inside.waiting.len() + told.len() + line.len() <= WAITING_BYTES_MAX {
                inside.waiting.extend_from_slice(told.as_bytes());
                inside.dropped_count = 0;
            }
        }
        if inside.dropped_count > 0 || inside.waiting.len() + line.len() > WAITING_BYTES_MAX {
            inside.dropped_count += 1;
            return;
        }
        inside.waiting.extend_from_slice(line.as_bytes());
        self.has_come.notify_one();
    }

    /// Waits until all lines are written, or until the time is over.
    pub fn flush(&self, time: Duration) {
        let deadline = Instant::now() + time;
        let mut inside = self.inside();
        while inside.is_writing || !inside.waiting.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.is_written.wait_timeout(inside, left);
            inside = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Moves all waiting bytes into `lines`, to be written.
    fn take(&self, lines: &mut Vec<u8>) {
        lines.clear();
        let mut inside = self.inside();
        inside.is_writing = false;
        self.is_written.notify_all();
        while inside.waiting.is_empty() {
            inside = self.has_come.wait(inside).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::swap(&mut inside.waiting, lines);
        inside.is_writing = true;
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        // A panic under the lock leaves at worst half a line.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// An output that waits for permission before each write, and reports the written bytes.
    struct Gate {
        go_on: Receiver<()>,
        written: Sender<Vec<u8>>,
    }

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.go_on.recv().map_err(io::Error::other)?;
            self.written.send(bytes.to_vec()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn gated() -> (Arc<LineQueue>, Sender<()>, Receiver<Vec<u8>>) {
        let (open, go_on) = channel();
        let (written, seen) = channel();
        let tell_dropped = Box::new(|count| format!("dropped {count}\n"));
        let queue = LineQueue::start(Gate { go_on, written }, tell_dropped).unwrap();
        (queue, open, seen)
    }

    #[test]
    fn lines_come_out_in_order_and_a_flush_waits_for_them() {
        let (queue, open, seen) = gated();
        for number in 0..100 {
            queue.put(&format!("{number}\n"));
        }
        for _ in 0..100 {
            open.send(()).unwrap();
        }
        queue.flush(Duration::from_secs(60));
        let text: Vec<u8> = seen.try_iter().flatten().collect();
        let expected: String = (0..100).map(|number| format!("{number}\n")).collect();
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn lines_that_nobody_reads_are_dropped_at_the_bound_and_counted() {
        let (queue, open, seen) = gated();
        // The thread takes only the first line, and waits with it.
        queue.put("first\n");
        while !queue.inside().is_writing {
            std::thread::yield_now();
        }
        let line = "x".repeat(1023) + "\n";
        for _ in 0..1024 {
            queue.put(&line);
        }
        assert_eq!(queue.inside().waiting.len(), WAITING_BYTES_MAX);
        queue.put("a");
        queue.put(&line);
        let kept = {
            let inside = queue.inside();
            (inside.waiting.len(), inside.dropped_count)
        };
        assert_eq!(kept, (WAITING_BYTES_MAX, 2));
        queue.flush(Duration::ZERO);
        open.send(()).unwrap();
        assert_eq!(seen.recv().unwrap(), b"first\n");
        open.send(()).unwrap();
        assert_eq!(seen.recv().unwrap(), line.repeat(1024).as_bytes());
        queue.put("last\n");
        open.send(()).unwrap();
        assert_eq!(seen.recv().unwrap(), b"dropped 2\nlast\n");
    }
}
