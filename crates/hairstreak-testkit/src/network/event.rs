//! `NetworkEvent`: an event that the network reports to an end of a link.

/// Something happens at an end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkEvent {
    /// A piece has arrived. It may be lost if the link was cut since.
    Arrive {
        /// The index of the link.
        link: usize,
        /// The end that receives.
        end: usize,
    },
    /// The end learns that the link is over. An end that has closed the link before ignores the event.
    Over {
        /// The index of the link.
        link: usize,
        /// The notified end.
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
