//! One connection: requests come one after the other, each is answered before the next is read.
//!
//! - `Service`: the part of the server that answers requests
//! - `Idle`: the connections without a request. They give way to new connections where all places or descriptors are taken
//! - `TimedStream`: a TCP stream whose writes have a timeout. A peer that takes no bytes for the write timeout gets an
//!   error, so that a client that never reads its response cannot keep the response in memory. Reads have no timeout
//!   here: hyper limits the time of a request header, and `Body` the time of a body

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use hairstreak_transport::tls::TlsServer;
use hyper::StatusCode;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::CONNECTION;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{Notify, OwnedSemaphorePermit, watch};
use tokio::time::Sleep;
use tokio_rustls::TlsAcceptor;

use crate::http::options::HttpOptions;
use crate::http::request::{Bounds, Request};
use crate::http::response::{Response, ResponseBody};

/// Answers requests, each in a task of its own on the HTTP thread. A call must not block that thread: work that waits for a lock or
/// a disk runs on another thread, and the task awaits its result.
pub(crate) trait Service: Send + 'static {
    /// The answer to a request. Errors are answers, too.
    fn answer(&self, request: &mut Request) -> impl Future<Output = Response>;

    /// Work besides the requests, on the same thread, until the server stops.
    fn run(&self) -> impl Future<Output = ()> {
        std::future::pending()
    }
}

/// Bytes of a request header, and of a response that waits in hyper's buffer.
const BUFFER_SIZE_MAX: usize = 32 * 1024;

/// The state that all connections share.
pub(super) struct Serving<S> {
    pub(super) service: S,
    pub(super) options: HttpOptions,
    pub(super) bounds: Bounds,
    pub(super) idle: Rc<Idle>,
}

/// A connection that was accepted.
pub(super) struct Accepted {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    pub(super) tls: Option<TlsServer>,
}

/// Serves one connection until either side closes it, or the server stops. The permit is the connection's place.
pub(super) async fn serve<S: Service>(
    serving: Rc<Serving<S>>,
    Accepted { stream, peer, tls }: Accepted,
    mut stops: watch::Receiver<bool>,
    keeping: Rc<Keeping>,
    _place: OwnedSemaphorePermit,
) {
    // Small responses leave at once. A socket that refuses is served all the same.
    let _ = stream.set_nodelay(true);
    let stream = TimedStream::new(stream, serving.options.write_timeout);
    let Some(tls) = tls else { return serve_stream(serving, stream, peer, stops, keeping).await };
    // The handshake has the time of the first request header.
    let handshake = TlsAcceptor::from(tls.config()).accept(stream);
    let handshake = tokio::time::timeout(serving.options.first_header_timeout, handshake);
    // A failed handshake ends this connection alone.
    let ends = race(stops.wait_for(|stops| *stops), keeping.gives_way());
    let stream = match race(handshake, ends).await {
        First::Left(Ok(Ok(stream))) => Some(stream),
        _ => None,
    };
    if let Some(stream) = stream {
        serve_stream(serving, stream, peer, stops, keeping).await;
    }
}

async fn serve_stream<S: Service>(
    serving: Rc<Serving<S>>,
    stream: impl AsyncRead + AsyncWrite + Unpin,
    peer: SocketAddr,
    mut stops: watch::Receiver<bool>,
    keeping: Rc<Keeping>,
) {
    let HttpOptions { first_header_timeout, header_timeout, .. } = serving.options;
    let has_asked = Rc::new(Cell::new(false));
    let asks = Rc::clone(&has_asked);
    let kept = Rc::clone(&keeping);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        asks.set(true);
        let (serving, busy) = (Rc::clone(&serving), kept.begin());
        async move { Ok::<_, Infallible>(respond(&serving, request, peer, busy).await) }
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(header_timeout)
            .max_buf_size(BUFFER_SIZE_MAX)
            .serve_connection(TokioIo::new(stream), service)
    );
    let stopped = stops.wait_for(|stops| *stops);
    let is_late = async {
        tokio::time::sleep(first_header_timeout).await;
        if has_asked.get() {
            std::future::pending::<()>().await;
        }
    };
    let ends = race(stopped, race(is_late, keeping.gives_way()));
    // A connection ends in an error when its client breaks the protocol or goes away, which concerns no other connection.
    if let First::Right(First::Left(_)) = race(connection.as_mut(), ends).await {
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

async fn respond<S: Service>(
    serving: &Serving<S>,
    request: hyper::Request<Incoming>,
    peer: SocketAddr,
    busy: Busy,
) -> hyper::Response<StreamedBody> {
    // hyper takes a longer header that comes in one piece.
    if header_size(&request) > BUFFER_SIZE_MAX {
        let response = Response::empty(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
        return into_hyper(response.with_header(CONNECTION, "close"), busy);
    }
    let mut request = Request::new(request, peer, &serving.options, &serving.bounds);
    let response = serving.service.answer(&mut request).await;
    request.body.discard().await;
    into_hyper(response, busy)
}

/// The response as hyper takes it. The request is in progress until the body has been sent.
fn into_hyper(Response { status, headers, body }: Response, busy: Busy) -> hyper::Response<StreamedBody> {
    let mut response = hyper::Response::new(StreamedBody { rest: Some(body), has_rested: true, _busy: busy });
    (*response.status_mut(), *response.headers_mut()) = (status, headers);
    response
}

/// A body as hyper takes it.
struct StreamedBody {
    rest: Option<ResponseBody>,
    /// Other tasks have had their turns since the last chunk.
    has_rested: bool,
    _busy: Busy,
}

impl Body for StreamedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if !std::mem::replace(&mut self.has_rested, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let data = match self.rest.take() {
            None => return Poll::Ready(None),
            Some(ResponseBody::Whole(bytes)) if bytes.is_empty() => return Poll::Ready(None),
            Some(ResponseBody::Whole(bytes)) => bytes,
            Some(ResponseBody::Chunks(mut chunks)) => {
                let Some(bytes) = chunks.next() else { return Poll::Ready(None) };
                self.rest = Some(ResponseBody::Chunks(chunks));
                self.has_rested = false;
                bytes.into()
            }
        };
        Poll::Ready(Some(Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.rest {
            None => true,
            Some(ResponseBody::Whole(bytes)) => bytes.is_empty(),
            Some(ResponseBody::Chunks(_)) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.rest {
            None => SizeHint::with_exact(0),
            Some(ResponseBody::Whole(bytes)) => SizeHint::with_exact(bytes.len() as u64),
            Some(ResponseBody::Chunks(_)) => SizeHint::default(),
        }
    }
}

/// The bytes of a request header, as clients send it.
fn header_size(request: &hyper::Request<Incoming>) -> usize {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let line = request.method().as_str().len() + target + " ".len() + " HTTP/1.1\r\n".len();
    let fields = request.headers().iter();
    let fields = fields.map(|(name, value)| name.as_str().len() + ": ".len() + value.len() + "\r\n".len());
    line + fields.sum::<usize>() + "\r\n".len()
}

/// The result of the future that was ready first.
pub(super) enum First<A, B> {
    Left(A),
    Right(B),
}

/// Polls both until one is ready. The other is dropped.
pub(super) async fn race<A, B>(left: impl Future<Output = A>, right: impl Future<Output = B>) -> First<A, B> {
    let (mut left, mut right) = (pin!(left), pin!(right));
    poll_fn(|cx| match left.as_mut().poll(cx) {
        Poll::Ready(result) => Poll::Ready(First::Left(result)),
        Poll::Pending => right.as_mut().poll(cx).map(First::Right),
    })
    .await
}

/// A stream with a write timeout.
#[derive(Debug)]
struct TimedStream {
    stream: TcpStream,
    write_timeout: Duration,
    /// Runs while a write waits.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl TimedStream {
    fn new(stream: TcpStream, write_timeout: Duration) -> TimedStream {
        TimedStream { stream, write_timeout, deadline: None }
    }

    /// Returns the result of a write, or an error if the write has waited too long.
    fn limit<T>(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.deadline = None;
            return result;
        }
        let timeout = self.write_timeout;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        match deadline.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.limit(cx, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.limit(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The place of a waiting connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    has_asked: bool,
    number: u64,
}

/// The waiting connections of a server: connections without any request come first, and among them the longest waiting.
#[derive(Debug, Default)]
pub(super) struct Idle {
    waiting: RefCell<BTreeMap<Place, Rc<Notify>>>,
    last: Cell<u64>,
}

/// One connection, which waits or has a request.
#[derive(Debug)]
pub(super) struct Keeping {
    idle: Rc<Idle>,
    place: Cell<Option<Place>>,
    closes: Rc<Notify>,
}

/// A request in progress, up to the end of its response's body.
#[derive(Debug)]
struct Busy(Rc<Keeping>);

impl Idle {
    /// Has the first connection close. Returns false if none waits.
    pub(super) fn close_one(&self) -> bool {
        let first = self.waiting.borrow_mut().pop_first();
        first.map(|(_, closes)| closes.notify_one()).is_some()
    }
}

impl Keeping {
    /// A connection that has never asked.
    pub(super) fn new(idle: &Rc<Idle>) -> Rc<Keeping> {
        let keeping = Keeping { idle: Rc::clone(idle), place: Cell::default(), closes: Rc::default() };
        keeping.wait(false);
        Rc::new(keeping)
    }

    /// A request has come.
    fn begin(self: &Rc<Keeping>) -> Busy {
        self.forget();
        Busy(Rc::clone(self))
    }

    /// Waits until the connection has to give way.
    pub(super) async fn gives_way(&self) {
        self.closes.notified().await;
    }

    fn wait(&self, has_asked: bool) {
        let number = self.idle.last.get() + 1;
        self.idle.last.set(number);
        let place = Place { has_asked, number };
        self.idle.waiting.borrow_mut().insert(place, Rc::clone(&self.closes));
        self.place.set(Some(place));
    }

    fn forget(&self) {
        if let Some(place) = self.place.take() {
            self.idle.waiting.borrow_mut().remove(&place);
        }
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        self.forget();
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.wait(true);
    }
}
