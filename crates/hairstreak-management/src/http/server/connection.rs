//! One connection: requests come one after the other, each is answered before the next is read.

use std::cell::Cell;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::rc::Rc;

use hairstreak_transport::tls::TlsServer;
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::CONNECTION;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio_rustls::TlsAcceptor;

use super::idle::{Busy, Idle, Keeping};
use super::service::{First, Service, race};
use super::timed_stream::TimedStream;
use crate::http::bounds::Bounds;
use crate::http::options::HttpOptions;
use crate::http::request::Request;
use crate::http::response::{Response, StreamedBody};

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
    let mut connection = std::pin::pin!(
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
    // A connection ends in an error when its client breaks the protocol or goes away, which concerns nobody else.
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
        return response.with_header(CONNECTION, "close").into_hyper(busy);
    }
    let mut request = Request::new(request, peer, &serving.options, &serving.bounds);
    let response = serving.service.answer(&mut request).await;
    request.body.discard().await;
    response.into_hyper(busy)
}

/// The bytes of a request header, as clients send it.
fn header_size(request: &hyper::Request<Incoming>) -> usize {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let line = request.method().as_str().len() + target + " ".len() + " HTTP/1.1\r\n".len();
    let fields = request.headers().iter();
    let fields = fields.map(|(name, value)| name.as_str().len() + ": ".len() + value.len() + "\r\n".len());
    line + fields.sum::<usize>() + "\r\n".len()
}
