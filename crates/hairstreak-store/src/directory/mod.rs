//! The data directory: owned by one node and open in one process.

mod data_directory;
mod directory_copy;
mod directory_reader;
mod error;
mod lock;
mod lock_holder;
mod node_file;
mod node_id;

pub use data_directory::DataDirectory;
pub use directory_reader::DirectoryReader;
pub use error::DataDirectoryError;
pub use lock_holder::LockHolder;
pub use node_id::NodeId;

pub(crate) use directory_copy::DirectoryCopy;
pub(crate) use lock::DirectoryLock;
