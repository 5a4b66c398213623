//! The rules of immune.
