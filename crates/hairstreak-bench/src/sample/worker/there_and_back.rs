//! Messages that come back: one at a time over two PUSH/PULL pairs, and many under way between a DEALER and a ROUTER.

use std::time::Instant;

use anyhow::Result;

use super::calls::{Announce, Orders, batch_count, keep_apart, metered, receive_some};
use crate::sample::contender::{
    Contender, DealerPattern, Echoing, End, Opens, Pair, PullPattern, PushPattern, Receiving, RouterPattern,
    Sending, check_size,
};
use crate::sample::task::{Calls, Measurement, Subject, Task};

/// One in this many round trips is a warm-up.
const WARM_UP_SHARE: u64 = 20;

/// The measurer: sends, waits for the answer, and again.
pub fn measure_one<C: Contender>(contender: &C, task: &Task, announce: &Announce) -> Result<Measurement> {
    keep_apart(task, 0, false);
    let Subject { message_count, size, .. } = task.subject;
    let (receiver, endpoint) = Opens::<PullPattern>::bind(contender, 0)?;
    let (sender, back) = Opens::<PushPattern>::bind(contender, 1)?;
    announce(vec![endpoint, back])?;
    let mut client = Pair::new(sender, receiver, size);
    client.wait_ready()?;
    let body = vec![b'h'; size];
    let warm_up_count = message_count / WARM_UP_SHARE;
    metered(|| {
        let mut start = Instant::now();
        for index in 0..message_count {
            if index == warm_up_count {
                start = Instant::now();
            }
            client.send(&body).and_then(|()| client.flush())?;
            check_size(client.receive()?, size)?;
        }
        Ok((message_count - warm_up_count, start.elapsed().as_secs_f64()))
    })
}

/// The measurer: keeps the task's number of messages under way.
pub fn measure_many<C: Contender>(contender: &C, task: &Task, announce: &Announce) -> Result<Measurement> {
    keep_apart(task, 0, false);
    let subject = &task.subject;
    let (mut client, endpoint) = Opens::<DealerPattern>::bind(contender, 0)?;
    announce(vec![endpoint])?;
    client.wait_ready()?;
    let body = vec![b'h'; subject.size];
    let warm_up_count = subject.message_count / WARM_UP_SHARE;
    metered(|| {
        let (mut sent, mut received) = (subject.outstanding_count(), 0);
        send(&mut client, subject, &body, sent)?;
        let mut start = (0, Instant::now());
        while received < subject.message_count {
            let count = receive_some(&mut client, subject, received)?;
            received += count;
            let next = count.min(subject.message_count - sent);
            send(&mut client, subject, &body, next)?;
            sent += next;
            if start.0 < warm_up_count && received >= warm_up_count {
                start = (received, Instant::now());
            }
        }
        Ok((received - start.0, start.1.elapsed().as_secs_f64()))
    })
}

fn send<S: Sending>(client: &mut S, subject: &Subject, body: &[u8], count: u64) -> Result<()> {
    match subject.calls {
        Calls::Batch if count > 0 => client.send_batch(body, count as usize),
        _ => (0..count).try_for_each(|_| client.send(body)),
    }
}

/// The peer of [`measure_one`].
pub fn serve_one<C: Contender>(contender: &C, task: &Task, orders: &Orders) -> Result<Measurement> {
    keep_apart(task, 0, true);
    let sender = Opens::<PushPattern>::connect(contender, &task.endpoints[..1])?;
    let receiver = Opens::<PullPattern>::connect(contender, &task.endpoints[1..])?;
    serve(Pair::new(sender, receiver, task.subject.size), &task.subject, orders)
}

/// The peer of [`measure_many`].
pub fn serve_many<C: Contender>(contender: &C, task: &Task, orders: &Orders) -> Result<Measurement> {
    keep_apart(task, 0, true);
    serve(Opens::<RouterPattern>::connect(contender, &task.endpoints)?, &task.subject, orders)
}

/// Returns the messages that the server gets.
fn serve<E: Echoing>(mut server: E, subject: &Subject, orders: &Orders) -> Result<Measurement> {
    server.wait_ready()?;
    metered(|| {
        let mut count = 0;
        while count < subject.message_count {
            if subject.calls == Calls::Batch {
                count += server.echo_batch(subject.size, batch_count(subject, count))? as u64;
            } else {
                check_size(server.echo()?, subject.size)?;
                count += 1;
            }
        }
        server.flush()?;
        let _ = orders.recv();
        Ok((0, 0.0))
    })
}
