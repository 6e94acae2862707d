//! `Call`: a request that has a route and a user that may use the route.

use std::pin::Pin;
use std::sync::Arc;

use hairstreak_node::access::{Identity, Rights, Tags};
use hairstreak_node::definitions::Fields;
use hairstreak_node::node::{Commit, Node, SharedHost};
use hairstreak_node::operator::Done;
use hyper::StatusCode;
use hyper::header::HeaderName;
use serde::Serialize;

use super::authorization::Requirement;
use super::error::ApiError;
use super::fields::{parse_object, require};
use super::list::{self, Columns, ListQuery, Ranges, Rows};
use super::request::Request;
use super::response::Response;
use super::state::State;
use super::worker::Owner;

/// The header that stands for a virtual host in the path.
const VHOST_HEADER: HeaderName = HeaderName::from_static("x-vhost");

/// Bytes of a body that the HTTP thread itself parses.
const PARSED_SIZE_MAX: usize = 64 * 1024;

/// The answer to a call.
pub(crate) type Answer = Result<Response, ApiError>;

/// A function that answers calls.
pub(crate) type Handler = for<'a> fn(&'a mut Call<'_>) -> Pin<Box<dyn Future<Output = Answer> + 'a>>;

/// The segments of a path that stand for names.
pub(crate) type Names = Vec<(&'static str, Vec<u8>)>;

/// A request on its way to a handler.
pub(crate) struct Call<'a> {
    pub(crate) state: &'a Arc<State>,
    pub(crate) request: &'a mut Request,
    pub(crate) names: Names,
    pub(crate) requirement: Requirement,
    /// `None`: the route asks for no credentials.
    pub(crate) identity: Option<Arc<Identity>>,
}

impl Call<'_> {
    pub(crate) fn node(&self) -> &Node {
        &self.state.node
    }

    /// The user.
    ///
    /// # Errors
    ///
    /// 401: the route asks for no credentials, and so there is no user.
    pub(crate) fn identity(&self) -> Result<&Arc<Identity>, ApiError> {
        self.identity.as_ref().ok_or_else(ApiError::wrong_credentials)
    }

    /// The rights of the user in a virtual host, as over AMQP.
    ///
    /// # Errors
    ///
    /// 401: the user has none there.
    pub(crate) fn rights(&self, host: &SharedHost) -> Result<Rights, ApiError> {
        let rights = Rights::open(Arc::clone(self.identity()?), host.name());
        rights.ok_or_else(|| ApiError::not_authorised("Access refused."))
    }

    /// A name of the path. `None`: the path of the route has none of that kind.
    pub(crate) fn name(&self, name: &str) -> Option<&[u8]> {
        self.names.iter().find(|(other, _)| *other == name).map(|(_, segment)| &**segment)
    }

    /// A name of the path; empty if the route has none of that kind.
    pub(crate) fn bytes(&self, name: &str) -> &[u8] {
        self.name(name).unwrap_or_default()
    }

    /// A name of the path as text.
    ///
    /// # Errors
    ///
    /// 404: the name is no UTF-8, and so there is no such object.
    pub(crate) fn text(&self, name: &str) -> Result<&str, ApiError> {
        std::str::from_utf8(self.bytes(name)).map_err(|_| ApiError::not_found())
    }

    /// The virtual host of the path or of the header. `None`: neither names one.
    pub(crate) fn vhost_name(&self) -> Option<&str> {
        let in_path = self.name("vhost").map(|name| std::str::from_utf8(name).unwrap_or_default());
        let in_header = || self.request.header(VHOST_HEADER);
        in_path.or_else(in_header).filter(|name| !name.is_empty())
    }

    /// The virtual host of the path.
    ///
    /// # Errors
    ///
    /// 404: there is no such host.
    pub(crate) fn vhost(&self) -> Result<Arc<SharedHost>, ApiError> {
        let name = self.text("vhost")?;
        self.node().hosts.find(name).ok_or_else(ApiError::not_found)
    }

    /// The virtual hosts whose objects a list has: that of the path or the header, or those where the user has permissions. An administrator sees all.
    ///
    /// # Errors
    ///
    /// 404: there is no such host.
    pub(crate) fn hosts(&self) -> Result<Vec<Arc<SharedHost>>, ApiError> {
        if self.name("vhost").is_some() {
            return Ok(vec![self.vhost()?]);
        }
        let mut hosts = self.node().hosts.all();
        let identity = self.identity()?;
        match self.vhost_name() {
            Some(name) => hosts.retain(|host| host.name() == name),
            None if identity.tags().may_administer() => {}
            None => hosts.retain(|host| identity.may_access(host.name())),
        }
        Ok(hosts)
    }

    /// Fails unless a user with these tags meets the requirement of the route now. The route itself reports a virtual
    /// host that does not exist.
    ///
    /// # Errors
    ///
    /// 401 with RabbitMQ's words.
    pub(crate) fn check(&self, identity: &Identity, tags: &Tags) -> Result<(), ApiError> {
        self.requirement.check(tags, || match self.vhost_name() {
            Some(name) => self.node().hosts.find(name).is_none() || identity.may_access(name),
            None => true,
        })
    }

    /// Reads the body. A client may take minutes to send one, so that its rights are checked again behind the body.
    ///
    /// # Errors
    ///
    /// 400, 408: see the body. 401: the user is gone, or has lost its tags or its access to the virtual host.
    pub(crate) async fn bytes_of_body(&mut self, size_max: usize) -> Result<Vec<u8>, ApiError> {
        let bytes = self.request.body.read(size_max).await?;
        if let Some(identity) = &self.identity {
            let tags = identity.tags_of_now().ok_or_else(ApiError::wrong_credentials)?;
            self.check(identity, &tags)?;
        }
        Ok(bytes)
    }

    /// Reads the body as an object.
    ///
    /// # Errors
    ///
    /// As [`Call::bytes_of_body`], and 400: see [`parse_object`].
    pub(crate) async fn body(&mut self) -> Result<Fields, ApiError> {
        let bytes = self.bytes_of_body(self.state.options.body_size_max).await?;
        if bytes.len() <= PARSED_SIZE_MAX {
            return parse_object(&bytes);
        }
        self.work(None, move || parse_object(&bytes)).await?
    }

    /// Has a thread beside the HTTP thread work, behind earlier work of the user and of a virtual host.
    ///
    /// # Errors
    ///
    /// See [`Workers::run`](super::worker::Workers::run).
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        virtual_host: Option<&str>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let user = self.identity.as_ref().map(|identity| Owner::User((**identity.user()).into()));
        let host = virtual_host.map(|name| Owner::Host(name.into()));
        self.state.workers.run(user.into_iter().chain(host).collect(), work).await
    }

    /// Reads the body and fails unless the fields are there.
    ///
    /// # Errors
    ///
    /// As [`Call::body`], and 400 for missing fields.
    pub(crate) async fn body_with(&mut self, names: &[&str]) -> Result<Fields, ApiError> {
        let body = self.body().await?;
        require(&body, names)?;
        Ok(body)
    }

    /// The ranges of samples that the client asks for.
    ///
    /// # Errors
    ///
    /// 400: a range makes no sense.
    pub(crate) fn ranges(&self) -> Result<Ranges, ApiError> {
        Ranges::parse(&self.request.query)
    }

    /// Answers with a list.
    ///
    /// # Errors
    ///
    /// 400: the query makes no sense. 503: too many lists are being sent.
    pub(crate) async fn list<R: Rows + 'static>(&self, rows: R) -> Answer
    where
        R::Key: 'static,
    {
        let query = ListQuery::parse(&self.request.query)?;
        list::answer(rows, &query, &self.request.bounds).await
    }

    /// Answers with an object, or with the columns of it that the client asks for.
    pub(crate) fn object(&self, object: &impl Serialize) -> Answer {
        match self.request.query.get("columns") {
            None => Ok(Response::json(object)),
            Some(columns) => {
                let value = serde_json::to_value(object).unwrap_or_default();
                Ok(Response::json(&Columns::parse(columns).cut(value)))
            }
        }
    }
}

/// Returns 201 for a new object and 204 for a changed object, when the change is on disk.
pub(crate) async fn put(done: Done) -> Answer {
    kept(done.commit).await?;
    Ok(Response::empty(if done.is_new { StatusCode::CREATED } else { StatusCode::NO_CONTENT }))
}

/// 204, when the change is on disk.
pub(crate) async fn deleted(commit: Commit) -> Answer {
    kept(commit).await?;
    Ok(Response::empty(StatusCode::NO_CONTENT))
}

/// Waits until a change is on disk.
///
/// # Errors
///
/// 503: the change cannot be written. The change was taken back, unless it is a deletion.
pub(crate) async fn kept(commit: Commit) -> Result<(), ApiError> {
    Ok(commit.await?)
}

/// 204.
pub(crate) fn nothing() -> Answer {
    Ok(Response::empty(StatusCode::NO_CONTENT))
}
