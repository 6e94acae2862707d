//! Letters between two event loops: the cost of a letter in batches of several sizes.
//!
//! One connection of each of two loops hands letters to the other. A round is a batch of letters and one letter back, as
//! a protocol with a window does: with a batch of 1 a round is a round trip between two threads, both of which sleep.

use std::net::TcpListener;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use hairstreak_transport::Stream;
use hairstreak_transport::event_loop::{Address, Context, EventLoops, LoopOptions, Protocol};

use crate::frame::{Row, Spread, Value};

/// Letters of a batch.
const BATCH_SIZES: [u32; 3] = [1, 16, 1024];
/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(70);

/// A message between the two connections.
enum Mail {
    /// The partner is there; from the benchmark.
    Partner(Address),
    /// An order of the benchmark: send `batch_count` batches of `batch_size` letters.
    Run { batch_size: u32, batch_count: u32 },
    /// One of a batch; the last one wants an answer.
    Letter { is_last: bool },
    /// A whole batch came.
    Answer,
}

/// One of the two connections. Its bytes are not used.
struct Party {
    /// Takes the address of this connection: when there is one, and after each run.
    tell: SyncSender<Address>,
    partner: Option<Address>,
    batch_size: u32,
    batches_left: u32,
}

/// The benchmark is gone.
type Alone = TrySendError<Address>;

impl Party {
    fn send(&self, mail: Mail, context: &mut Context<'_, Party, Mail>) {
        if let Some(partner) = self.partner {
            context.send(partner, mail);
        }
    }

    fn send_batch(&mut self, context: &mut Context<'_, Party, Mail>) -> Result<(), Alone> {
        if self.batches_left == 0 {
            return self.tell.try_send(context.address());
        }
        self.batches_left -= 1;
        for number in 1..=self.batch_size {
            self.send(Mail::Letter { is_last: number == self.batch_size }, context);
        }
        Ok(())
    }
}

impl Protocol for Party {
    type Mail = Mail;
    type Error = Alone;

    fn handle_start(&mut self, context: &mut Context<'_, Party, Mail>) -> Result<(), Alone> {
        self.tell.try_send(context.address())
    }

    fn handle_bytes(&mut self, _context: &mut Context<'_, Party, Mail>) -> Result<(), Alone> {
        Ok(())
    }

    fn handle_mail(&mut self, mail: Mail, context: &mut Context<'_, Party, Mail>) -> Result<(), Alone> {
        match mail {
            Mail::Partner(partner) => self.partner = Some(partner),
            Mail::Run { batch_size, batch_count } => {
                (self.batch_size, self.batches_left) = (batch_size, batch_count);
                return self.send_batch(context);
            }
            Mail::Letter { is_last: false } => {}
            Mail::Letter { is_last: true } => self.send(Mail::Answer, context),
            Mail::Answer => return self.send_batch(context),
        }
        Ok(())
    }
}

/// Measures each size of batch, `window_count` times about `window` each.
pub(super) fn measure(window_count: u32, window: Duration) -> Result<Vec<Row>> {
    let loops = EventLoops::start(LoopOptions { loop_count: 2, ..LoopOptions::default() })?;
    let handle = loops.handle();
    let (tell, told) = sync_channel(4);
    let next = || told.recv_timeout(PATIENCE).context("no answer between two event loops in time");
    // A connection needs a stream. The other ends wait in the listener's queue: nothing is written to them.
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let there = listener.local_addr()?;
    let mut parties = Vec::new();
    for loop_index in 0..2 {
        let party = Party { tell: tell.clone(), partner: None, batch_size: 0, batches_left: 0 };
        handle.add(Some(loop_index), Stream::connect_tcp(there)?, party);
        parties.push(next()?);
    }
    handle.send(parties[0], Mail::Partner(parties[1]));
    handle.send(parties[1], Mail::Partner(parties[0]));

    let mut rows = Vec::new();
    for batch_size in BATCH_SIZES {
        // Returns the time until the last batch was answered.
        let run = |batch_count| {
            let start = Instant::now();
            handle.send(parties[0], Mail::Run { batch_size, batch_count });
            next().map(|_| start.elapsed())
        };
        // A shorter run finds the number of batches that take about as long as a window.
        let mut batch_count = 100;
        let mut time = run(batch_count)?;
        while time < window / 10 {
            batch_count *= 2;
            time = run(batch_count)?;
        }
        let batch_count = (f64::from(batch_count) * window.as_secs_f64() / time.as_secs_f64()) as u32;
        let times = (0..window_count).map(|_| run(batch_count)).collect::<Result<Vec<Duration>>>();
        let letter_count = f64::from(batch_count) * f64::from(batch_size);
        let each = times?.into_iter().map(|time| time.as_secs_f64() * 1e9 / letter_count);
        let each = Value::spread(Spread::of(each), |ns| format!("{ns:.1}"));
        let row = Row::default().show("batch_size", "batch", Value::count(batch_size));
        rows.push(row.show("ns_per_letter", "ns a letter", each));
    }
    // The other ends go, so that the loops do not wait for further bytes.
    drop(listener);
    loops.stop()?;
    Ok(rows)
}
