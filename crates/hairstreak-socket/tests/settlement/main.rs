//! Settlement between PUSH and PULL: what is not settled is sent again, what is settled is not, and nothing grows
//! beyond its window; over every transport and mechanism.

#[path = "../workbench/endpoints.rs"]
mod endpoints;
#[allow(dead_code, reason = "shared with the tests of pollers, which use more of it")]
#[path = "../workbench/executor.rs"]
mod executor;
#[allow(dead_code, reason = "shared with the tests of mechanisms, which use more of it")]
#[path = "../security/roles.rs"]
mod roles;

mod again;
mod deadlines;
mod ends;
mod letters;
mod limits;
mod passing;
mod reports;
mod rules;
mod shapes;
mod stages;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

use hairstreak_socket::settlement::{Delivery, Settlement, Settling, TaskId};
use hairstreak_socket::{Context, Options, Pull, Push};

use endpoints::endpoint;
use roles::{MECHANISMS, Roles};

/// Longer than anything here takes: who waits this long waits in vain.
const LONG: Duration = Duration::from_secs(60);

/// Where the ends meet.
#[derive(Clone, Copy)]
struct Cell {
    transport: &'static str,
    mechanism: &'static str,
    roles: &'static Roles,
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.transport, self.mechanism)
    }
}

static ROLES: LazyLock<[(&str, Roles); 3]> =
    LazyLock::new(|| MECHANISMS.map(|mechanism| (mechanism, Roles::new(mechanism))));

/// Runs `case` over every transport and with every mechanism.
fn check(case: impl Fn(Cell)) {
    for transport in ["tcp", "ipc", "shm", "inproc"] {
        for (mechanism, roles) in &*ROLES {
            if transport != "inproc" || *mechanism == "null" {
                let cell = Cell { transport, mechanism, roles };
                println!("{cell:?}");
                case(cell);
            }
        }
    }
}

impl Cell {
    /// A PUSH that binds, and where.
    fn push(&self, settlement: Settlement) -> (Push, String) {
        let security = self.roles.server().security;
        let options = Options { security, settlement: Some(settlement), ..Options::default() };
        let push = Push::with_options(&Context::new(), options).unwrap();
        let place = push.bind(&endpoint(self.transport)).unwrap().to_string();
        (push, place)
    }

    /// Two PUSHes of one engine that bind, and where.
    fn two_pushes(
        &self,
        context: &Context,
        first: Settlement,
        second: Settlement,
    ) -> (Push, Push, [String; 2]) {
        let open = |settlement| {
            let security = self.roles.server().security;
            let options = Options { security, settlement: Some(settlement), ..Options::default() };
            let push = Push::with_options(context, options).unwrap();
            let place = push.bind(&endpoint(self.transport)).unwrap().to_string();
            (push, place)
        };
        let ((first, place), (second, end)) = (open(first), open(second));
        (first, second, [place, end])
    }

    /// A PULL that connects there.
    fn pull(&self, place: &str, settlement: Settlement) -> Pull {
        let security = self.roles.client().security;
        let options = Options { security, settlement: Some(settlement), ..Options::default() };
        let pull = Pull::with_options(&Context::new(), options).unwrap();
        pull.connect(place).unwrap();
        pull
    }
}

/// A receiver that settles by hand, with credit for `credit_count`.
fn by_hand(credit_count: usize) -> Settlement {
    Settlement { settling: Settling::ByHand, credit_count, ..Settlement::default() }
}

/// A sender with this window.
fn window(unsettled_count_max: usize) -> Settlement {
    Settlement { unsettled_count_max, ..Settlement::default() }
}

/// Takes `count` messages that were sent so often.
fn take(pull: &Pull, count: usize, deliveries: u16) -> Vec<Delivery> {
    let take = |_| {
        let delivery = pull.recv_delivery(LONG).unwrap();
        assert_eq!(delivery.deliveries, deliveries, "{delivery:?}");
        delivery
    };
    (0..count).map(take).collect()
}

/// The bodies by task; each task comes once.
fn by_task<'a>(deliveries: impl IntoIterator<Item = &'a Delivery>) -> BTreeMap<TaskId, Vec<u8>> {
    let mut tasks = BTreeMap::new();
    for delivery in deliveries {
        let body = delivery.message.frames().collect::<Vec<_>>().concat();
        assert_eq!(tasks.insert(delivery.task.unwrap(), body), None, "twice");
    }
    tasks
}
