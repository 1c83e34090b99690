//! The clean room.
