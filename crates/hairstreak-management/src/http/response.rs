//! `Response`: a status, headers, and a body that is there or that is made while it is sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::StatusCode;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;

use super::server::Busy;

/// The type of all bodies.
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The parts of a body that is made while it is sent.
pub(crate) trait Chunks {
    /// The next bytes; `None`: the end. Called when the client has taken most of those before.
    fn next(&mut self) -> Option<Vec<u8>>;
}

/// A response.
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: ResponseBody,
}

/// The body of a response.
pub(crate) enum ResponseBody {
    Whole(Bytes),
    Chunks(Box<dyn Chunks>),
}

impl Response {
    /// A response without a body.
    pub(crate) fn empty(status: StatusCode) -> Response {
        Response { status, headers: HeaderMap::new(), body: ResponseBody::Whole(Bytes::new()) }
    }

    /// 200 with a value.
    pub(crate) fn json(value: &impl Serialize) -> Response {
        Response::json_with(StatusCode::OK, value)
    }

    /// A value with another status.
    pub(crate) fn json_with(status: StatusCode, value: &impl Serialize) -> Response {
        // Only a map whose keys are no strings has no form in JSON; the answers have none.
        let bytes = serde_json::to_vec(value).unwrap_or_default();
        Response::of_body(status, ResponseBody::Whole(bytes.into()))
    }

    /// 200 with JSON that is there.
    pub(crate) fn whole(json: Vec<u8>) -> Response {
        Response::of_body(StatusCode::OK, ResponseBody::Whole(json.into()))
    }

    /// 200 with JSON that is made while it is sent.
    pub(crate) fn stream(chunks: Box<dyn Chunks>) -> Response {
        Response::of_body(StatusCode::OK, ResponseBody::Chunks(chunks))
    }

    fn of_body(status: StatusCode, body: ResponseBody) -> Response {
        let mut response = Response { status, headers: HeaderMap::new(), body };
        response.headers.insert(header::CONTENT_TYPE, JSON);
        response
    }

    /// The same with a header. A value that no header can have is left out.
    pub(crate) fn with_header(mut self, name: HeaderName, value: &str) -> Response {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// The response as hyper takes it. The request is in progress until the body has been sent.
    pub(super) fn into_hyper(self, busy: Busy) -> hyper::Response<StreamedBody> {
        let mut response =
            hyper::Response::new(StreamedBody { rest: Some(self.body), has_rested: true, _busy: busy });
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

/// A body as hyper takes it.
pub(super) struct StreamedBody {
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
