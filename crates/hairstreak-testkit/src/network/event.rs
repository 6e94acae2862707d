//! `NetworkEvent`: what the network has to say to an end of a link.

/// Something happens at an end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkEvent {
    /// A piece has arrived; it may be gone if the link was cut since.
    Arrive {
        /// The index of the link.
        link: usize,
        /// The end that receives.
        end: usize,
    },
    /// The end hears that the link is over. An end that has closed the link meanwhile ignores it.
    Over {
        /// The index of the link.
        link: usize,
        /// The end that hears.
        end: usize,
    },
}

impl NetworkEvent {
    /// The link and the end.
    pub fn place(self) -> (usize, usize) {
        match self {
            NetworkEvent::Arrive { link, end } | NetworkEvent::Over { link, end } => (link, end),
        }
    }
}
