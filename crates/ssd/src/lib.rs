//! The simulated SSD.
