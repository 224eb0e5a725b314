//! The generated workloads match their configuration.

mod address;
mod cachebench;
mod datacenter;
mod fio;
mod lsm;
mod plain_device;
mod stores;
mod synthetic;
mod ycsb;
