//! immune.
