//! The generated workloads match their configuration.

#![allow(missing_docs)]

mod address;
mod datacenter;
mod fio;
mod lsm;
mod plain_device;
mod synthetic;
mod ycsb;
