//! libzmq's C API, loaded at run time: the only place that knows it, and safe to use from outside.
//!
//! Only the functions that the benchmark calls are bound. The library stays loaded as long as a context or socket of it
//! lives.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_short, c_void};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
#[cfg(feature = "rivals")]
use libloading::Library;

use super::contract::failed;

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

/// The functions, valid while the library is loaded.
#[cfg_attr(not(feature = "rivals"), allow(dead_code))]
struct Api {
    ctx_new: unsafe extern "C" fn() -> Handle,
    ctx_term: unsafe extern "C" fn(Handle) -> c_int,
    socket: unsafe extern "C" fn(Handle, c_int) -> Handle,
    close: unsafe extern "C" fn(Handle) -> c_int,
    bind: unsafe extern "C" fn(Handle, *const c_char) -> c_int,
    connect: unsafe extern "C" fn(Handle, *const c_char) -> c_int,
    getsockopt: unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut usize) -> c_int,
    setsockopt: unsafe extern "C" fn(Handle, c_int, *const c_void, usize) -> c_int,
    send: unsafe extern "C" fn(Handle, *const c_void, usize, c_int) -> c_int,
    msg_init: unsafe extern "C" fn(*mut RawMessage) -> c_int,
    msg_init_size: unsafe extern "C" fn(*mut RawMessage, usize) -> c_int,
    msg_data: unsafe extern "C" fn(*mut RawMessage) -> *mut c_void,
    msg_size: unsafe extern "C" fn(*const RawMessage) -> usize,
    msg_more: unsafe extern "C" fn(*const RawMessage) -> c_int,
    msg_copy: unsafe extern "C" fn(*mut RawMessage, *mut RawMessage) -> c_int,
    msg_send: unsafe extern "C" fn(*mut RawMessage, Handle, c_int) -> c_int,
    msg_recv: unsafe extern "C" fn(*mut RawMessage, Handle, c_int) -> c_int,
    msg_close: unsafe extern "C" fn(*mut RawMessage) -> c_int,
    poll: unsafe extern "C" fn(*mut PollItem, c_int, c_long) -> c_int,
    proxy: unsafe extern "C" fn(Handle, Handle, Handle) -> c_int,
    version: unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int),
    errno: unsafe extern "C" fn() -> c_int,
    strerror: unsafe extern "C" fn(c_int) -> *const c_char,
    #[cfg(feature = "rivals")]
    _library: Library,
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
    #[cfg(not(feature = "rivals"))]
    fn load(_: &str) -> Result<Self> {
        anyhow::bail!("this program was built without the feature `rivals`")
    }

    #[cfg(feature = "rivals")]
    fn load(name: &str) -> Result<Self, libloading::Error> {
        // SAFETY: loading libzmq runs its initialisers, which have no preconditions. Each symbol is given the type
        // that zmq.h of version 4 declares for it.
        unsafe {
            let library = Library::new(name)?;
            Ok(Self {
                ctx_new: *library.get(b"zmq_ctx_new\0")?,
                ctx_term: *library.get(b"zmq_ctx_term\0")?,
                socket: *library.get(b"zmq_socket\0")?,
                close: *library.get(b"zmq_close\0")?,
                bind: *library.get(b"zmq_bind\0")?,
                connect: *library.get(b"zmq_connect\0")?,
                getsockopt: *library.get(b"zmq_getsockopt\0")?,
                setsockopt: *library.get(b"zmq_setsockopt\0")?,
                send: *library.get(b"zmq_send\0")?,
                msg_init: *library.get(b"zmq_msg_init\0")?,
                msg_init_size: *library.get(b"zmq_msg_init_size\0")?,
                msg_data: *library.get(b"zmq_msg_data\0")?,
                msg_size: *library.get(b"zmq_msg_size\0")?,
                msg_more: *library.get(b"zmq_msg_more\0")?,
                msg_copy: *library.get(b"zmq_msg_copy\0")?,
                msg_send: *library.get(b"zmq_msg_send\0")?,
                msg_recv: *library.get(b"zmq_msg_recv\0")?,
                msg_close: *library.get(b"zmq_msg_close\0")?,
                poll: *library.get(b"zmq_poll\0")?,
                proxy: *library.get(b"zmq_proxy\0")?,
                version: *library.get(b"zmq_version\0")?,
                errno: *library.get(b"zmq_errno\0")?,
                strerror: *library.get(b"zmq_strerror\0")?,
                _library: library,
            })
        }
    }

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
        let api = Api::load(name).with_context(|| format!("cannot load {name}"))?;
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
        let mut message = Box::new(RawMessage([0; 64]));
        // SAFETY: the box is writable, 64 bytes, and is not moved out of until it is closed.
        unsafe { (api.msg_init)(&mut *message) };
        let mut name = Box::new(RawMessage([0; 64]));
        // SAFETY: as above.
        unsafe { (api.msg_init)(&mut *name) };
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
        let on: c_int = 1;
        self.set(switch as c_int, &on.to_ne_bytes())
    }

    /// zmq_setsockopt of a text.
    pub fn set_text(&self, option: Text, value: &str) -> Result<()> {
        self.set(option as c_int, value.as_bytes())
    }

    /// ZMQ_RCVTIMEO: the timeout of a receiving call.
    pub fn set_patience(&self, patience: Duration) -> Result<()> {
        let patience_ms = c_int::try_from(patience.as_millis()).unwrap_or(c_int::MAX);
        self.set(RCVTIMEO, &patience_ms.to_ne_bytes())
    }

    /// ZMQ_SNDHWM and ZMQ_RCVHWM of 0: no marks.
    pub fn turn_off_marks(&self) -> Result<()> {
        let none: c_int = 0;
        self.set(SNDHWM, &none.to_ne_bytes())?;
        self.set(RCVHWM, &none.to_ne_bytes())
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
        let api = &self.context.api;
        // SAFETY: the socket is open and the body is readable for its length.
        api.check(unsafe { (api.send)(self.handle, body.as_ptr().cast(), body.len(), 0) }, "zmq_send")
    }

    /// zmq_send of each frame, which copies it.
    pub fn send_frames(&self, frames: &[&[u8]]) -> Result<()> {
        let api = &self.context.api;
        for (index, frame) in frames.iter().enumerate() {
            let flags = if index + 1 < frames.len() { SNDMORE } else { 0 };
            // SAFETY: the socket is open and the frame is readable for its length.
            let outcome = unsafe { (api.send)(self.handle, frame.as_ptr().cast(), frame.len(), flags) };
            api.check(outcome, "zmq_send")?;
        }
        Ok(())
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
        let api = &self.context.api;
        // SAFETY: the socket is open and the message is initialised; sending leaves it empty and valid.
        api.check(unsafe { (api.msg_send)(&mut *self.message, self.handle, 0) }, "zmq_msg_send")
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
        match unsafe { (api.poll)(&mut item, 1, patience_ms) } {
            count if count < 0 => Err(api.error("zmq_poll")),
            _ => Ok(item.revents & POLLIN != 0),
        }
    }

    /// zmq_proxy between this socket and another. It runs as long as their context.
    pub fn proxy(&self, other: &Socket) -> anyhow::Error {
        let api = &self.context.api;
        // SAFETY: both sockets are open, and this thread's; there is no third.
        unsafe { (api.proxy)(self.handle, other.handle, ptr::null_mut()) };
        api.error("zmq_proxy")
    }

    /// A message of `body`, then `count` times zmq_msg_copy, which counts a reference, and zmq_msg_send.
    pub fn send_copies(&self, body: &[u8], count: u64) -> Result<()> {
        let api = &self.context.api;
        let (mut original, mut copy) = (RawMessage([0; 64]), RawMessage([0; 64]));
        // SAFETY: both messages stay where they are until they are closed; the first has room for the body.
        unsafe {
            if (api.msg_init_size)(&mut original, body.len()) != 0 {
                return Err(api.error("zmq_msg_init_size"));
            }
            ptr::copy_nonoverlapping(body.as_ptr(), (api.msg_data)(&mut original).cast(), body.len());
            (api.msg_init)(&mut copy);
            let outcome = (0..count).try_for_each(|_| {
                if (api.msg_copy)(&mut copy, &mut original) != 0
                    || (api.msg_send)(&mut copy, self.handle, 0) < 0
                {
                    return Err(api.error("zmq_msg_copy or zmq_msg_send"));
                }
                Ok(())
            });
            (api.msg_close)(&mut copy);
            (api.msg_close)(&mut original);
            outcome
        }
    }

    /// zmq_msg_recv into this socket's message, and its size; the message before it is released by libzmq.
    #[inline]
    pub fn receive(&mut self) -> Result<usize> {
        let api = &self.context.api;
        // SAFETY: the socket is open and the message is initialised.
        let size = unsafe { (api.msg_recv)(&mut *self.message, self.handle, 0) };
        usize::try_from(size).map_err(|_| api.error("zmq_msg_recv"))
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
        let api = &self.context.api;
        // SAFETY: the other socket is open and the message is initialised; sending leaves it empty and valid.
        api.check(unsafe { (api.msg_send)(&mut *self.message, other.handle, 0) }, "zmq_msg_send")
    }

    /// A ROUTER's zmq_msg_recv of a name and a body, then zmq_msg_send of both; gives the size of the body.
    #[inline]
    pub fn echo(&mut self) -> Result<usize> {
        let api = &self.context.api;
        // SAFETY: the socket is open and both messages are initialised; sending leaves them empty and valid.
        unsafe {
            if (api.msg_recv)(&mut *self.name, self.handle, 0) < 0 {
                return Err(api.error("zmq_msg_recv"));
            }
            let size = (api.msg_recv)(&mut *self.message, self.handle, 0);
            let size = usize::try_from(size).map_err(|_| api.error("zmq_msg_recv"))?;
            if (api.msg_send)(&mut *self.name, self.handle, SNDMORE) < 0
                || (api.msg_send)(&mut *self.message, self.handle, 0) < 0
            {
                return Err(api.error("zmq_msg_send"));
            }
            Ok(size)
        }
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
