//! libzmq's C API, loaded at run time: the only place that knows it, and safe to use from outside.
//!
//! Only the functions that the benchmark calls are bound. The library stays loaded as long as a context or socket of it
//! lives.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_short, c_void};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::contract::{Echoing, End, Receiving, Sending, failed};

type Handle = *mut c_void;

const SNDHWM: c_int = 23;
const RCVHWM: c_int = 24;
const RCVTIMEO: c_int = 27;
const LAST_ENDPOINT: c_int = 32;
const SNDMORE: c_int = 2;
const POLLIN: c_short = 1;
const ENDPOINT_SIZE_MAX: usize = 256;

/// Socket types by libzmq's numbers.
#[derive(Clone, Copy, Debug)]
pub enum SocketType {
    /// ZMQ_SUB.
    Sub = 2,
    /// ZMQ_REQ.
    Req = 3,
    /// ZMQ_REP.
    Rep = 4,
    /// ZMQ_DEALER.
    Dealer = 5,
    /// ZMQ_ROUTER.
    Router = 6,
    /// ZMQ_PULL.
    Pull = 7,
    /// ZMQ_PUSH.
    Push = 8,
    /// ZMQ_XPUB.
    XPub = 9,
}

/// Socket options that are switches, by libzmq's numbers.
#[derive(Clone, Copy, Debug)]
pub enum Switch {
    /// ZMQ_ROUTER_MANDATORY: wait instead of dropping.
    RouterMandatory = 33,
    /// ZMQ_XPUB_VERBOSE: show every subscription.
    XPubVerbose = 40,
    /// ZMQ_CURVE_SERVER.
    CurveServer = 47,
    /// ZMQ_XPUB_NODROP: wait instead of dropping.
    XPubNoDrop = 69,
}

/// Socket options that are texts, by libzmq's numbers.
#[derive(Clone, Copy, Debug)]
pub enum Text {
    /// ZMQ_SUBSCRIBE.
    Subscribe = 6,
    /// ZMQ_CURVE_PUBLICKEY.
    CurvePublicKey = 48,
    /// ZMQ_CURVE_SECRETKEY.
    CurveSecretKey = 49,
    /// ZMQ_CURVE_SERVERKEY.
    CurveServerKey = 50,
}

/// Declares [`Api`], and loads each function of the table by its name behind `zmq_`.
macro_rules! api {
    ($($function:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions, valid while the library is loaded.
        #[cfg_attr(not(feature = "rivals"), allow(dead_code))]
        struct Api {
            $($function: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            #[cfg(feature = "rivals")]
            _library: libloading::Library,
        }

        #[cfg(feature = "rivals")]
        fn load(name: &str) -> Result<Api> {
            // SAFETY: loading libzmq runs its initialisers, which have no preconditions. Each symbol is given the type
            // that zmq.h of version 4 declares for it.
            unsafe {
                let library = libloading::Library::new(name)?;
                Ok(Api {
                    $($function: *library.get(concat!("zmq_", stringify!($function), "\0").as_bytes())?,)*
                    _library: library,
                })
            }
        }
    };
}

api! {
    ctx_new() -> Handle;
    ctx_term(Handle) -> c_int;
    socket(Handle, c_int) -> Handle;
    close(Handle) -> c_int;
    bind(Handle, *const c_char) -> c_int;
    connect(Handle, *const c_char) -> c_int;
    getsockopt(Handle, c_int, *mut c_void, *mut usize) -> c_int;
    setsockopt(Handle, c_int, *const c_void, usize) -> c_int;
    send(Handle, *const c_void, usize, c_int) -> c_int;
    msg_init(*mut RawMessage) -> c_int;
    msg_init_size(*mut RawMessage, usize) -> c_int;
    msg_data(*mut RawMessage) -> *mut c_void;
    msg_size(*const RawMessage) -> usize;
    msg_more(*const RawMessage) -> c_int;
    msg_copy(*mut RawMessage, *mut RawMessage) -> c_int;
    msg_send(*mut RawMessage, Handle, c_int) -> c_int;
    msg_recv(*mut RawMessage, Handle, c_int) -> c_int;
    msg_close(*mut RawMessage) -> c_int;
    poll(*mut PollItem, c_int, c_long) -> c_int;
    proxy(Handle, Handle, Handle) -> c_int;
    version(*mut c_int, *mut c_int, *mut c_int);
    errno() -> c_int;
    strerror(c_int) -> *const c_char;
}

#[cfg(not(feature = "rivals"))]
fn load(_: &str) -> Result<Api> {
    anyhow::bail!("this program was built without the feature `rivals`")
}

/// zmq_msg_t of libzmq 4: 64 bytes, aligned like a pointer.
#[repr(C, align(8))]
struct RawMessage([u8; 64]);

/// zmq_pollitem_t where descriptors are integers.
#[repr(C)]
struct PollItem {
    socket: Handle,
    fd: c_int,
    events: c_short,
    revents: c_short,
}

impl Api {
    /// Checks the return value of a function: a failure is negative.
    #[inline]
    fn check(&self, outcome: c_int, call: &'static str) -> Result<()> {
        if outcome < 0 { Err(self.error(call)) } else { Ok(()) }
    }

    /// The error of the calling thread's last failed call.
    fn error(&self, call: &'static str) -> anyhow::Error {
        // SAFETY: both functions may be called at any time; the text is static and ends with a zero.
        let reason = unsafe { CStr::from_ptr((self.strerror)((self.errno)())) };
        failed(call)(reason.to_string_lossy())
    }

    /// An empty message.
    fn message(&self) -> Box<RawMessage> {
        let mut message = Box::new(RawMessage([0; 64]));
        // SAFETY: the box is writable, 64 bytes, and is not moved out of until it is closed.
        unsafe { (self.msg_init)(&mut *message) };
        message
    }

    /// zmq_msg_recv from an open socket: the size of the frame.
    #[inline]
    fn receive_message(&self, socket: Handle, message: &mut RawMessage) -> Result<usize> {
        // SAFETY: the socket is open and the message is initialised.
        let size = unsafe { (self.msg_recv)(message, socket, 0) };
        usize::try_from(size).map_err(|_| self.error("zmq_msg_recv"))
    }

    /// zmq_msg_send over an open socket.
    #[inline]
    fn send_message(&self, socket: Handle, message: &mut RawMessage, flags: c_int) -> Result<()> {
        // SAFETY: the socket is open and the message is initialised; sending leaves it empty and valid.
        self.check(unsafe { (self.msg_send)(message, socket, flags) }, "zmq_msg_send")
    }
}

/// A zmq context; clones share it, and the last one terminates it after the last socket was closed.
#[derive(Clone)]
pub struct Context {
    inner: Arc<ContextInner>,
}

struct ContextInner {
    api: Api,
    handle: Handle,
}

// SAFETY: libzmq documents contexts as thread-safe, and the API holds only addresses of functions.
unsafe impl Send for ContextInner {}
// SAFETY: as above.
unsafe impl Sync for ContextInner {}

impl Context {
    /// Loads the library `name` and makes a context with default options.
    pub fn new(name: &str) -> Result<Self> {
        let api = load(name).with_context(|| format!("cannot load {name}"))?;
        // SAFETY: no preconditions.
        let handle = unsafe { (api.ctx_new)() };
        if handle.is_null() {
            return Err(api.error("zmq_ctx_new"));
        }
        Ok(Self { inner: Arc::new(ContextInner { api, handle }) })
    }

    /// The library's version, such as `4.3.4`.
    pub fn version(&self) -> String {
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        // SAFETY: three valid places to write to.
        unsafe { (self.inner.api.version)(&mut major, &mut minor, &mut patch) };
        format!("{major}.{minor}.{patch}")
    }

    /// A socket with default options.
    pub fn socket(&self, socket_type: SocketType) -> Result<Socket> {
        let api = &self.inner.api;
        // SAFETY: the context lives as long as `inner`.
        let handle = unsafe { (api.socket)(self.inner.handle, socket_type as c_int) };
        if handle.is_null() {
            return Err(api.error("zmq_socket"));
        }
        let (message, name) = (api.message(), api.message());
        Ok(Socket { handle, message, name, context: Arc::clone(&self.inner) })
    }
}

impl Drop for ContextInner {
    fn drop(&mut self) {
        // SAFETY: every socket holds this context, so all are closed by now; the handle is not used afterwards.
        unsafe { (self.api.ctx_term)(self.handle) };
    }
}

/// A zmq socket, used by one thread at a time (it is not Send), with a message to receive into.
pub struct Socket {
    handle: Handle,
    message: Box<RawMessage>,
    /// The first frame of a message that a ROUTER receives.
    name: Box<RawMessage>,
    context: Arc<ContextInner>,
}

impl Socket {
    /// zmq_setsockopt of a switch, to on.
    pub fn turn_on(&self, switch: Switch) -> Result<()> {
        self.set_number(switch as c_int, 1)
    }

    /// zmq_setsockopt of a text.
    pub fn set_text(&self, option: Text, value: &str) -> Result<()> {
        self.set(option as c_int, value.as_bytes())
    }

    /// ZMQ_RCVTIMEO: the timeout of a receiving call.
    pub fn set_patience(&self, patience: Duration) -> Result<()> {
        let patience_ms = c_int::try_from(patience.as_millis()).unwrap_or(c_int::MAX);
        self.set_number(RCVTIMEO, patience_ms)
    }

    /// ZMQ_SNDHWM and ZMQ_RCVHWM of 0: no marks.
    pub fn turn_off_marks(&self) -> Result<()> {
        self.set_number(SNDHWM, 0)?;
        self.set_number(RCVHWM, 0)
    }

    fn set_number(&self, option: c_int, value: c_int) -> Result<()> {
        self.set(option, &value.to_ne_bytes())
    }

    fn set(&self, option: c_int, value: &[u8]) -> Result<()> {
        let api = &self.context.api;
        // SAFETY: the socket is open and the value is readable for its length.
        let outcome = unsafe { (api.setsockopt)(self.handle, option, value.as_ptr().cast(), value.len()) };
        api.check(outcome, "zmq_setsockopt")
    }

    /// zmq_bind, then the endpoint with its real port.
    pub fn bind(&self, endpoint: &str) -> Result<String> {
        let api = &self.context.api;
        let text = CString::new(endpoint).map_err(failed("zmq_bind"))?;
        // SAFETY: the socket is open and the text ends with a zero.
        api.check(unsafe { (api.bind)(self.handle, text.as_ptr()) }, "zmq_bind")?;
        let mut bound = [0_u8; ENDPOINT_SIZE_MAX];
        let mut size = bound.len();
        // SAFETY: `size` is the number of bytes of `bound` that may be written.
        let outcome =
            unsafe { (api.getsockopt)(self.handle, LAST_ENDPOINT, bound.as_mut_ptr().cast(), &mut size) };
        api.check(outcome, "zmq_getsockopt")?;
        let bound = CStr::from_bytes_until_nul(&bound).map_err(failed("zmq_getsockopt"))?;
        Ok(bound.to_string_lossy().into_owned())
    }

    /// zmq_connect.
    pub fn connect(&self, endpoint: &str) -> Result<()> {
        let api = &self.context.api;
        let text = CString::new(endpoint).map_err(failed("zmq_connect"))?;
        // SAFETY: the socket is open and the text ends with a zero.
        api.check(unsafe { (api.connect)(self.handle, text.as_ptr()) }, "zmq_connect")
    }

    /// zmq_send, which copies `body` and blocks while there is no room.
    #[inline]
    pub fn send(&self, body: &[u8]) -> Result<()> {
        self.send_frame(body, 0)
    }

    /// zmq_send of each frame, which copies it.
    pub fn send_frames(&self, frames: &[&[u8]]) -> Result<()> {
        let Some((last, first)) = frames.split_last() else { return Ok(()) };
        first.iter().try_for_each(|frame| self.send_frame(frame, SNDMORE))?;
        self.send_frame(last, 0)
    }

    #[inline]
    fn send_frame(&self, frame: &[u8], flags: c_int) -> Result<()> {
        let api = &self.context.api;
        // SAFETY: the socket is open and the frame is readable for its length.
        let outcome = unsafe { (api.send)(self.handle, frame.as_ptr().cast(), frame.len(), flags) };
        api.check(outcome, "zmq_send")
    }

    /// Returns the last received frame.
    pub fn frame(&mut self) -> &[u8] {
        let api = &self.context.api;
        // SAFETY: the message is initialised; its data are readable for its size until it is received into again.
        unsafe {
            let (data, size) = ((api.msg_data)(&mut *self.message), (api.msg_size)(&*self.message));
            std::slice::from_raw_parts(data.cast_const().cast::<u8>(), size)
        }
    }

    /// zmq_msg_send of the last received message to its sender. The message of this socket is empty then.
    pub fn send_back(&mut self) -> Result<()> {
        self.context.api.send_message(self.handle, &mut self.message, 0)
    }

    /// zmq_msg_recv of each frame of a message, and a copy of it.
    pub fn receive_frames(&mut self) -> Result<Vec<Vec<u8>>> {
        let mut frames = Vec::new();
        loop {
            self.receive()?;
            frames.push(self.frame().to_vec());
            // SAFETY: the message has been received.
            if unsafe { (self.context.api.msg_more)(&*self.message) } == 0 {
                return Ok(frames);
            }
        }
    }

    /// zmq_poll of this socket alone: whether there is something to receive.
    pub fn poll(&self, patience: Duration) -> Result<bool> {
        let api = &self.context.api;
        let patience_ms = c_long::try_from(patience.as_millis()).unwrap_or(c_long::MAX);
        let mut item = PollItem { socket: self.handle, fd: 0, events: POLLIN, revents: 0 };
        // SAFETY: one item, of an open socket.
        api.check(unsafe { (api.poll)(&mut item, 1, patience_ms) }, "zmq_poll")?;
        Ok(item.revents & POLLIN != 0)
    }

    /// zmq_proxy between this socket and another. It runs as long as their context.
    pub fn proxy(&self, other: &Socket) -> anyhow::Error {
        let api = &self.context.api;
        // SAFETY: both sockets are open, and this thread's; there is no third.
        unsafe { (api.proxy)(self.handle, other.handle, ptr::null_mut()) };
        api.error("zmq_proxy")
    }

    /// zmq_msg_recv into this socket's message, and its size; the message before it is released by libzmq.
    #[inline]
    pub fn receive(&mut self) -> Result<usize> {
        self.context.api.receive_message(self.handle, &mut self.message)
    }

    /// Receives as [`Self::receive`] does; `None` if no message came within the socket's timeout.
    #[inline]
    pub fn receive_in_time(&mut self) -> Result<Option<usize>> {
        let api = &self.context.api;
        // SAFETY: the socket is open and the message is initialised.
        let size = unsafe { (api.msg_recv)(&mut *self.message, self.handle, 0) };
        match usize::try_from(size) {
            Ok(size) => Ok(Some(size)),
            // SAFETY: it may be called at any time.
            Err(_) if unsafe { (api.errno)() } == libc::EAGAIN => Ok(None),
            Err(_) => Err(api.error("zmq_msg_recv")),
        }
    }

    /// zmq_msg_send over `other` of the message that was received last, which leaves this socket's empty.
    #[inline]
    pub fn pass_on(&mut self, other: &Socket) -> Result<()> {
        self.context.api.send_message(other.handle, &mut self.message, 0)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // SAFETY: messages and socket are valid and are not used afterwards.
        unsafe {
            (self.context.api.msg_close)(&mut *self.message);
            (self.context.api.msg_close)(&mut *self.name);
            (self.context.api.close)(self.handle);
        }
    }
}

/// libzmq does not tell when a peer is there; its first send blocks until then.
impl End for Socket {}

impl Sending for Socket {
    #[inline]
    fn send(&mut self, body: &[u8]) -> Result<()> {
        Socket::send(self, body)
    }

    /// A message of `body`, then `count` times zmq_msg_copy, which counts a reference, and zmq_msg_send.
    fn send_handles(&mut self, body: &[u8], count: u64) -> Result<()> {
        let api = &self.context.api;
        let (mut original, mut copy) = (RawMessage([0; 64]), api.message());
        // SAFETY: both messages stay where they are until they are closed; the first has room for the body.
        unsafe {
            api.check((api.msg_init_size)(&mut original, body.len()), "zmq_msg_init_size")?;
            ptr::copy_nonoverlapping(body.as_ptr(), (api.msg_data)(&mut original).cast(), body.len());
            let outcome = (0..count).try_for_each(|_| {
                api.check((api.msg_copy)(&mut *copy, &mut original), "zmq_msg_copy")?;
                api.send_message(self.handle, &mut copy, 0)
            });
            (api.msg_close)(&mut *copy);
            (api.msg_close)(&mut original);
            outcome
        }
    }
}

impl Receiving for Socket {
    #[inline]
    fn receive(&mut self) -> Result<usize> {
        Socket::receive(self)
    }
}

impl Echoing for Socket {
    /// A ROUTER's zmq_msg_recv of a name and a body, then zmq_msg_send of both; gives the size of the body.
    #[inline]
    fn echo(&mut self) -> Result<usize> {
        let api = &self.context.api;
        api.receive_message(self.handle, &mut self.name)?;
        let size = api.receive_message(self.handle, &mut self.message)?;
        api.send_message(self.handle, &mut self.name, SNDMORE)?;
        api.send_message(self.handle, &mut self.message, 0)?;
        Ok(size)
    }
}
