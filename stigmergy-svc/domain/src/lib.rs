//! The rules of stigmergy: how marks fade, who may touch them, how often, and what they may carry.
//! Knows neither a clock nor a database: time and what is stored come as arguments.

mod author;
mod category;
mod decay;
mod error;
mod intensity;
mod marker;
mod marker_type;
pub mod payload;
pub mod rate;
mod region;

pub use author::Author;
pub use category::Category;
pub use decay::{HalfLife, decay, lifetime};
pub use error::Error;
pub use intensity::{Asked, FAINTEST, Intensity};
pub use marker::{Marker, Placement};
pub use marker_type::MarkerType;
pub use region::Region;
