//! NVMe structures as bytes.

pub mod fdp;
pub mod plm;
