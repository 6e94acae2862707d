//! `ApiError`: an answer that is an error, with RabbitMQ's status codes and texts.

use std::borrow::Cow;

use hairstreak_broker::Refusal;
use hairstreak_node::definitions::FieldError;
use hairstreak_node::node::JournalError;
use hairstreak_node::operator::OperatorError;
use hairstreak_wire::amqp::ReplyCode;
use hyper::{StatusCode, header};
use serde_json::{Value, json};

use super::response::Response;

/// The realm of clients without credentials, and of wrong ones.
const REALM: &str = "Basic realm=\"RabbitMQ Management\"";

/// An error as clients see it: `{"error": ..., "reason": ...}`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApiError {
    status: StatusCode,
    error: Cow<'static, str>,
    reason: Value,
    /// The client is asked for credentials.
    asks: bool,
}

impl ApiError {
    fn new(status: StatusCode, error: &'static str, reason: impl Into<Value>) -> ApiError {
        ApiError { status, error: error.into(), reason: reason.into(), asks: false }
    }

    /// 400 with the error `bad_request`.
    pub(crate) fn bad_request(reason: impl Into<Value>) -> ApiError {
        ApiError::new(StatusCode::BAD_REQUEST, "bad_request", reason)
    }

    /// 400 with another error.
    pub(crate) fn bad_parameters(error: &'static str, reason: impl Into<Value>) -> ApiError {
        ApiError::new(StatusCode::BAD_REQUEST, error, reason)
    }

    /// 400: a field has a value of a wrong type. RabbitMQ's reason is a pair.
    pub(crate) fn wrong_field(problem: &str, value: impl Into<Value>) -> ApiError {
        ApiError::bad_request(json!([problem, value.into()]))
    }

    /// 404: the path means nothing, or an object that does not exist.
    pub(crate) fn not_found() -> ApiError {
        ApiError::new(StatusCode::NOT_FOUND, "Object Not Found", "Not Found")
    }

    /// 404: the body or an operation names an object that does not exist.
    pub(crate) fn missing(reason: impl Into<Value>) -> ApiError {
        ApiError::new(StatusCode::NOT_FOUND, "not_found", reason)
    }

    /// 401: the user is known, and may not do this. RabbitMQ has no 403.
    pub(crate) fn not_authorised(reason: impl Into<Value>) -> ApiError {
        ApiError::new(StatusCode::UNAUTHORIZED, "not_authorised", reason)
    }

    /// 401: the credentials are wrong.
    pub(crate) fn wrong_credentials() -> ApiError {
        let error = ApiError::new(StatusCode::UNAUTHORIZED, "not_authorized", "Not_Authorized");
        ApiError { asks: true, ..error }
    }

    /// 405. A header of the answer lists the methods.
    pub(crate) fn method_not_allowed() -> ApiError {
        ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "Method Not Allowed")
    }

    /// 408: the body did not come in time.
    pub(crate) fn too_slow() -> ApiError {
        let reason = "The request body did not come in time";
        ApiError::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", reason)
    }

    /// 412: a protected object cannot be deleted.
    pub(crate) fn precondition_failed(reason: impl Into<Value>) -> ApiError {
        ApiError::new(StatusCode::PRECONDITION_FAILED, "precondition_failed", reason)
    }

    /// 500: the node cannot do this, such as a disk that is full.
    pub(crate) fn internal(reason: impl Into<Value>) -> ApiError {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_server_error", reason)
    }

    /// 503: the node is busy, or cannot write its definitions.
    pub(crate) fn unavailable(reason: impl Into<Value>) -> ApiError {
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "service_unavailable", reason)
    }

    /// The refusal of a declaration, a binding or a deletion.
    pub(crate) fn of_declaration(refusal: Refusal) -> ApiError {
        match refusal.code {
            ReplyCode::NotFound => ApiError::missing(refusal.text),
            ReplyCode::AccessRefused | ReplyCode::NotAllowed => ApiError::not_authorised("Access refused."),
            _ => ApiError::bad_request(refusal.text),
        }
    }

    /// The refusal of an operation on a channel: fetching messages.
    pub(crate) fn of_channel(refusal: Refusal) -> ApiError {
        match refusal.code {
            ReplyCode::NotFound => ApiError::missing(refusal.to_string()),
            ReplyCode::AccessRefused => ApiError::not_authorised(refusal.to_string()),
            _ => ApiError::of_publish(refusal),
        }
    }

    /// The refusal of a message.
    pub(crate) fn of_publish(refusal: Refusal) -> ApiError {
        ApiError::bad_request(format!("{} {refusal}", refusal.code.number()))
    }

    /// The reason in words. Empty: it is none.
    pub(crate) fn reason(&self) -> &str {
        self.reason.as_str().unwrap_or_default()
    }

    pub(crate) fn into_response(self) -> Response {
        let body = json!({"error": self.error, "reason": self.reason});
        let response = Response::json_with(self.status, &body);
        if self.asks { response.with_header(header::WWW_AUTHENTICATE, REALM) } else { response }
    }

    /// 401 for a client that came without credentials. RabbitMQ adds no reason.
    pub(crate) fn credentials_wanted() -> Response {
        Response::empty(StatusCode::UNAUTHORIZED).with_header(header::WWW_AUTHENTICATE, REALM)
    }
}

impl From<OperatorError> for ApiError {
    fn from(error: OperatorError) -> ApiError {
        match error {
            OperatorError::NotFound => ApiError::not_found(),
            OperatorError::Bad(text) => ApiError::bad_request(text),
            OperatorError::Protected(text) => ApiError::precondition_failed(text),
            error @ OperatorError::ProtectedUser => ApiError::not_authorised(error.to_string()),
            OperatorError::Unwritten(reason) => ApiError::unavailable(reason),
            OperatorError::Refused(refusal) => ApiError::of_declaration(refusal),
        }
    }
}

impl From<JournalError> for ApiError {
    fn from(error: JournalError) -> ApiError {
        ApiError::unavailable(error.to_string())
    }
}

impl From<FieldError> for ApiError {
    fn from(FieldError { problem, value, .. }: FieldError) -> ApiError {
        ApiError::wrong_field(problem, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(error: ApiError, status: u16, body: &str) {
        let response = error.into_response();
        let super::super::response::ResponseBody::Whole(bytes) = response.body else {
            panic!("no whole body")
        };
        assert_eq!((response.status.as_u16(), &*bytes), (status, body.as_bytes()));
    }

    /// The answers of RabbitMQ 3.10.8.
    #[test]
    fn refusals_have_the_statuses_and_texts_of_rabbitmq() {
        let refusal = |code, text: &str| Refusal::new(code, text);
        let text =
            "inequivalent arg 'durable' for queue 'q1' in vhost '/': received 'true' but current is 'false'";
        check(
            ApiError::of_declaration(refusal(ReplyCode::PreconditionFailed, text)),
            400,
            &format!("{{\"error\":\"bad_request\",\"reason\":\"{text}\"}}"),
        );
        check(
            ApiError::of_declaration(refusal(ReplyCode::NotFound, "no queue 'nope' in vhost '/'")),
            404,
            r#"{"error":"not_found","reason":"no queue 'nope' in vhost '/'"}"#,
        );
        check(
            ApiError::of_declaration(refusal(ReplyCode::AccessRefused, "queue name 'amq.foo' ...")),
            401,
            r#"{"error":"not_authorised","reason":"Access refused."}"#,
        );
        check(
            ApiError::of_channel(refusal(ReplyCode::NotFound, "no queue 'nope' in vhost '/'")),
            404,
            r#"{"error":"not_found","reason":"NOT_FOUND - no queue 'nope' in vhost '/'"}"#,
        );
        let text = "access to queue 'q1' in vhost '/' refused for user 'mgmt'";
        check(
            ApiError::of_channel(refusal(ReplyCode::AccessRefused, text)),
            401,
            &format!("{{\"error\":\"not_authorised\",\"reason\":\"ACCESS_REFUSED - {text}\"}}"),
        );
        check(
            ApiError::of_publish(refusal(ReplyCode::NotFound, "no exchange 'nope' in vhost '/'")),
            400,
            r#"{"error":"bad_request","reason":"404 NOT_FOUND - no exchange 'nope' in vhost '/'"}"#,
        );
    }

    #[test]
    fn only_wrong_credentials_ask_for_others() {
        let asks = |error: ApiError| error.into_response().headers.contains_key(header::WWW_AUTHENTICATE);
        assert!(asks(ApiError::wrong_credentials()));
        assert!(!asks(ApiError::not_authorised("Not management user")));
        check(ApiError::not_found(), 404, r#"{"error":"Object Not Found","reason":"Not Found"}"#);
        check(
            ApiError::wrong_field("not_boolean", "1"),
            400,
            r#"{"error":"bad_request","reason":["not_boolean","1"]}"#,
        );
    }
}
