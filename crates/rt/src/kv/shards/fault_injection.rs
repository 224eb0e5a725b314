//! Broken invariants for tests: keys at which this crate panics where its feature `fault-injection` is on.

use tailcut_host::kv::session::shard_request::ShardRequest;

/// Key prefix that panics in the session of the requester.
pub(super) const SESSION: &[u8] = b"inject:session";
/// Key prefix that panics in the shard that owns the key.
pub(super) const SHARD: &[u8] = b"inject:shard";

/// Panics if the request begins with this key.
#[inline(always)]
pub(super) fn check(request: &ShardRequest<'_>, prefix: &[u8]) {
    if cfg!(feature = "fault-injection")
        && let ShardRequest::Item { key, .. } = request
    {
        assert!(!key.as_bytes().starts_with(prefix), "fault injected");
    }
}
