//! `Shape`: the size of a switch, and its ports.

/// The largest number of heights.
pub const HEIGHTS_MAX: u32 = 1 << 16;
/// The largest number of angles.
pub const ANGLES_MAX: u32 = 1 << 12;

/// Heights and angles of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    heights: u32,
    angles: u32,
}

/// A port: where packets enter, and where they leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Port {
    /// From 0 on.
    pub angle: u32,
    /// From 0 on.
    pub height: u32,
}

/// Sizes that no switch can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// Each cylinder decides one bit of the height.
    #[error("{0} heights: a power of two from 2 to {HEIGHTS_MAX} is needed")]
    Heights(u32),
    /// A ring needs an angle.
    #[error("{0} angles: 1 to {ANGLES_MAX} are needed")]
    Angles(u32),
}

impl Shape {
    /// A switch of `heights` (a power of two) and `angles`.
    ///
    /// ```
    /// use hairstreak_fabric::vortex::{Shape, ShapeError};
    ///
    /// let shape = Shape::new(16, 5)?;
    /// assert_eq!((shape.port_count(), shape.cylinders(), shape.node_count()), (80, 5, 400));
    /// assert_eq!(Shape::new(12, 5), Err(ShapeError::Heights(12)));
    /// # Ok::<(), ShapeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ShapeError`] names the number that cannot be.
    pub fn new(heights: u32, angles: u32) -> Result<Shape, ShapeError> {
        if !heights.is_power_of_two() || !(2..=HEIGHTS_MAX).contains(&heights) {
            return Err(ShapeError::Heights(heights));
        }
        if !(1..=ANGLES_MAX).contains(&angles) {
            return Err(ShapeError::Angles(angles));
        }
        Ok(Shape { heights, angles })
    }

    /// Heights of each cylinder.
    pub fn heights(self) -> u32 {
        self.heights
    }

    /// Angles of each cylinder.
    pub fn angles(self) -> u32 {
        self.angles
    }

    /// Bits of a height.
    pub fn height_bits(self) -> u32 {
        self.heights.trailing_zeros()
    }

    /// Cylinders: one for each bit of a height, and the innermost one.
    pub fn cylinders(self) -> u32 {
        self.height_bits() + 1
    }

    /// Ports, each of which sends and receives.
    pub fn port_count(self) -> u32 {
        self.heights * self.angles
    }

    /// Nodes of all cylinders.
    pub fn node_count(self) -> u32 {
        self.port_count() * self.cylinders()
    }

    /// All ports, angle by angle.
    pub fn ports(self) -> impl Iterator<Item = Port> {
        (0..self.angles).flat_map(move |angle| (0..self.heights).map(move |height| Port { angle, height }))
    }

    /// The place of a port among [`Shape::ports`].
    pub fn index_of(self, port: Port) -> u32 {
        port.angle * self.heights + port.height
    }

    /// The port of this place.
    pub fn port(self, index: u32) -> Port {
        Port { angle: index / self.heights, height: index % self.heights }
    }
}
