//! `Cell`: one combination of transport, mechanism, binding side and form of the calls.

use std::fmt;
use std::sync::LazyLock;

use hairstreak_socket::{
    Context, Message, Options, Outgoing, Pattern, Receives, RecvError, SendError, Sends, Socket,
};
use hairstreak_testkit::until;
use hairstreak_wire::zmtp::SocketType;

use crate::LONG;
use crate::endpoints::endpoint;
use crate::executor::block_on;
use crate::roles::{MECHANISMS, Roles};

/// Which calls send and receive.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    Blocking,
    Timed,
    Try,
    Async,
    Batch,
}

#[derive(Clone, Copy)]
pub struct Cell {
    pub transport: &'static str,
    pub form: Form,
    pub first_binds: bool,
    mechanism: &'static str,
    roles: &'static Roles,
}

/// The mechanisms, each with its keys.
static ROLES: LazyLock<[(&str, Roles); 3]> =
    LazyLock::new(|| MECHANISMS.map(|mechanism| (mechanism, Roles::new(mechanism))));

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cell { transport, form, first_binds, mechanism, .. } = self;
        write!(f, "{transport}, {mechanism}, {form:?}, the first binds: {first_binds}")
    }
}

/// Every form of a call without a mechanism to speak of, and each facade under each of the others. Inproc has none:
/// nobody could listen there who has no access to the process.
fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for transport in ["tcp", "ipc", "shm", "vortex", "inproc"] {
        for (mechanism, roles) in &*ROLES {
            let forms: &[Form] = match (*mechanism, transport) {
                ("null", _) => &[Form::Blocking, Form::Timed, Form::Try, Form::Async, Form::Batch],
                (_, "inproc") => &[],
                _ => &[Form::Blocking, Form::Async],
            };
            for &form in forms {
                for first_binds in [true, false] {
                    cells.push(Cell { transport, form, first_binds, mechanism, roles });
                }
            }
        }
    }
    cells
}

/// Runs `case` in every cell.
pub fn check(case: impl Fn(Cell)) {
    for cell in cells() {
        println!("{cell:?}");
        case(cell);
    }
}

/// Runs `case` in every cell that a plain stream of bytes can be in.
pub fn check_plain(case: impl Fn(Cell)) {
    for cell in cells() {
        if cell.mechanism == "null" && matches!(cell.transport, "tcp" | "ipc" | "vortex") {
            println!("{cell:?}");
            case(cell);
        }
    }
}

impl Cell {
    /// A socket with these options in a context of its own: the mechanism's server or client, as its type has to be
    /// for others that are opened like this.
    pub fn open<P: Pattern>(&self, options: Options) -> Socket<P> {
        match P::SOCKET_TYPE {
            SocketType::Pull | SocketType::Pub | SocketType::XPub | SocketType::Rep | SocketType::Router => {
                self.server(options)
            }
            _ => self.client(options),
        }
    }

    pub fn server<P: Pattern>(&self, options: Options) -> Socket<P> {
        let security = self.roles.server().security;
        Socket::with_options(&Context::new(), Options { security, ..options }).unwrap()
    }

    pub fn client<P: Pattern>(&self, options: Options) -> Socket<P> {
        let security = self.roles.client().security;
        Socket::with_options(&Context::new(), Options { security, ..options }).unwrap()
    }

    /// Two sockets with the default options, joined. The first is the mechanism's server.
    pub fn pair<A: Pattern, B: Pattern>(&self) -> (Socket<A>, Socket<B>) {
        let (a, b) = (self.server(Options::default()), self.client(Options::default()));
        self.join(&a, &b);
        (a, b)
    }

    /// Joins two sockets and waits until both have one peer more.
    pub fn join<A: Pattern, B: Pattern>(&self, a: &Socket<A>, b: &Socket<B>) {
        let (a_count, b_count) = (a.peers().len(), b.peers().len());
        self.join_only(a, b);
        assert!(a.wait_for_peers(a_count + 1, LONG) && b.wait_for_peers(b_count + 1, LONG), "{self:?}");
    }

    pub fn join_only<A: Pattern, B: Pattern>(&self, a: &Socket<A>, b: &Socket<B>) {
        if self.first_binds {
            b.connect(&a.bind(&endpoint(self.transport)).unwrap().to_string()).unwrap();
        } else {
            a.connect(&b.bind(&endpoint(self.transport)).unwrap().to_string()).unwrap();
        }
    }

    pub fn try_to_send<'a, P: Sends>(
        &self,
        socket: &Socket<P>,
        message: impl Into<Outgoing<'a>>,
    ) -> Result<(), SendError> {
        let message = message.into();
        let sent = match self.form {
            Form::Blocking => socket.send(message),
            Form::Timed => socket.send_timeout(message, LONG),
            Form::Try => until("room", || match socket.try_send(message) {
                Err(SendError::WouldBlock) => None,
                result => Some(result),
            }),
            Form::Async => block_on(socket.send_async(message)),
            Form::Batch => {
                let sent = socket.send_all([message]).map(|count| assert_eq!(count, 1));
                sent.map_err(|error| error.source)
            }
        };
        socket.flush();
        sent
    }

    pub fn send<'a, P: Sends>(&self, socket: &Socket<P>, message: impl Into<Outgoing<'a>>) {
        self.try_to_send(socket, message).unwrap_or_else(|e| panic!("{self:?}: {e}"));
    }

    pub fn try_to_recv<P: Receives>(&self, socket: &Socket<P>) -> Result<Message, RecvError> {
        match self.form {
            Form::Blocking => socket.recv(),
            Form::Timed => socket.recv_timeout(LONG),
            Form::Try => until("a message", || match socket.try_recv() {
                Err(RecvError::WouldBlock) => None,
                result => Some(result),
            }),
            Form::Async => block_on(socket.recv_async()),
            Form::Batch => {
                let mut batch = Vec::new();
                socket.recv_many(&mut batch, 1)?;
                assert_eq!(batch.len(), 1);
                Ok(batch.remove(0))
            }
        }
    }

    pub fn recv<P: Receives>(&self, socket: &Socket<P>) -> Message {
        self.try_to_recv(socket).unwrap_or_else(|e| panic!("{self:?}: {e}"))
    }

    /// Receives a message of one frame.
    pub fn recv_text<P: Receives>(&self, socket: &Socket<P>) -> String {
        let message = self.recv(socket);
        assert_eq!(message.frame_count(), 1, "{self:?}: {message:?}");
        String::from_utf8(message.body().to_vec()).unwrap()
    }
}

/// A message of these frames.
pub fn frames<const N: usize>(frames: [&str; N]) -> Message {
    Message::from_frames(frames)
}
