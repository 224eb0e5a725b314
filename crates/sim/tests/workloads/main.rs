//! The generated workloads: what is configured is what comes out.

#![allow(missing_docs)]

mod address;
mod datacenter;
mod fio;
mod lsm;
mod plain_device;
mod synthetic;
mod ycsb;
