//! Key-value loads of CacheBench, the load generator of CacheLib: operations, popularity of keys and sizes of
//! production caches, in its JSON files.
//!
//! A configuration has `test_config` with the shares of operations (`getRatio`, `loneGetRatio`, `setRatio`,
//! `loneSetRatio`, `delRatio`), `numKeys`, `keySizeRange`, and either the distributions themselves or the
//! names of files beside it that have them (`popDistFile`, `valSizeDistFile`); one pool may be described in
//! `poolDistributions` instead. Chained items are not supported.
//!
//! Popularity is given by buckets: numbers of keys, and the weight of all of a bucket's keys together. The
//! keys are spread over as many as are wanted, so that a smaller number has a distribution of the same shape,
//! as CacheBench does it (`FastDiscrete.h`); CacheBench rounds the buckets to 2048 of equal weight.

use serde::Deserialize;
use std::path::{Path, PathBuf};
use tailcut_base::random::{Stream, mix64};

/// A load of CacheBench.
#[derive(Clone, Debug)]
pub struct CacheBench {
    operations: Weights,
    popularity: Weights,
    /// The first key of each bucket of the file, and behind them their number.
    bounds: Vec<f64>,
    value_sizes: Vec<u32>,
    value_weights: Weights,
    /// Bounds of the lengths of keys, in bytes.
    key_sizes: Vec<f64>,
    key_weights: Weights,
    keys: u64,
}

/// An operation of a key-value load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KvOperation {
    /// Gets the value of a key that is drawn.
    Get,
    /// Gets the value of a key that nothing else names.
    LoneGet,
    /// Sets a key that is drawn.
    Set,
    /// Sets a key that nothing else names.
    LoneSet,
    /// Deletes a key that is drawn.
    Delete,
}

impl KvOperation {
    /// All operations.
    pub const ALL: [KvOperation; 5] =
        [KvOperation::Get, KvOperation::LoneGet, KvOperation::Set, KvOperation::LoneSet, KvOperation::Delete];
}

/// A configuration of CacheBench that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {message}", file = file.display())]
pub struct CacheBenchError {
    file: PathBuf,
    message: String,
}

#[derive(Deserialize)]
struct File {
    test_config: TestConfig,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TestConfig {
    num_keys: u64,
    #[serde(default)]
    pool_distributions: Vec<Distributions>,
    #[serde(flatten)]
    own: Distributions,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Distributions {
    get_ratio: f64,
    lone_get_ratio: f64,
    set_ratio: f64,
    lone_set_ratio: f64,
    del_ratio: f64,
    add_chained_ratio: f64,
    update_ratio: f64,
    could_exist_ratio: f64,
    key_size_range: Vec<f64>,
    key_size_range_probability: Vec<f64>,
    pop_dist_file: Option<String>,
    val_size_dist_file: Option<String>,
    popularity_buckets: Vec<f64>,
    popularity_weights: Vec<f64>,
    val_size_range: Vec<f64>,
    val_size_range_probability: Vec<f64>,
}

impl CacheBench {
    /// The load of a configuration, and of the files that it names, over `keys` keys; over as many as it has
    /// (`numKeys`), but no more than 2^31 - 1, if they are not given.
    ///
    /// # Errors
    /// A file that cannot be read, or a distribution that is missing or no distribution.
    pub fn read(path: &Path, keys: Option<u32>) -> Result<CacheBench, CacheBenchError> {
        let wrong = |message: String| CacheBenchError { file: path.into(), message };
        let TestConfig { num_keys, mut pool_distributions, own } = read::<File>(path)?.test_config;
        let mut d = match pool_distributions.len() {
            0 => own,
            1 => pool_distributions.remove(0),
            pools => return Err(wrong(format!("it has {pools} pools, of which only one is supported"))),
        };
        for (name, ratio) in [
            ("addChainedRatio", d.add_chained_ratio),
            ("updateRatio", d.update_ratio),
            ("couldExistRatio", d.could_exist_ratio),
        ] {
            if ratio != 0.0 {
                return Err(wrong(format!("{name}: this operation is not supported; leave it out")));
            }
        }
        let beside = |name: &str| path.with_file_name(name);
        if let Some(name) = &d.pop_dist_file {
            let file: Distributions = read(&beside(name))?;
            (d.popularity_buckets, d.popularity_weights) = (file.popularity_buckets, file.popularity_weights);
        }
        if let Some(name) = &d.val_size_dist_file {
            let file: Distributions = read(&beside(name))?;
            (d.val_size_range, d.val_size_range_probability) =
                (file.val_size_range, file.val_size_range_probability);
        }
        let weights = |name: &str, weights: &[f64]| match weights {
            [] => Err(wrong(format!("{name}: it is missing, or empty"))),
            _ => Weights::new(weights)
                .ok_or_else(|| wrong(format!("{name}: weights are 0 or more, and not all of them 0"))),
        };
        let paired = |name: &str, of: usize, weights: usize| {
            let message = format!("{name}: {of} values and {weights} weights, where one belongs to each");
            if of == weights { Ok(()) } else { Err(wrong(message)) }
        };
        paired("popularityBuckets", d.popularity_buckets.len(), d.popularity_weights.len())?;
        paired("valSizeRange", d.val_size_range.len(), d.val_size_range_probability.len())?;
        paired("keySizeRange", d.key_size_range.len().max(1) - 1, d.key_size_range_probability.len())?;
        let most = u32::MAX >> 1;
        let keys = keys.unwrap_or(num_keys.min(u64::from(most)) as u32);
        if keys == 0 || keys > most {
            return Err(wrong(format!("numKeys: {keys} keys, where 1 to {most} are possible")));
        }
        let sized = d.val_size_range.iter().all(|size| (0.0..=LARGEST_VALUE).contains(size));
        let is_count = |count: &f64| (0.0..=MOST_KEYS).contains(count) && count.fract() == 0.0;
        let counted = d.popularity_buckets.iter().all(is_count);
        let has_keys = d.popularity_buckets.is_empty() || d.popularity_buckets.iter().sum::<f64>() > 0.0;
        let rising = d.key_size_range.is_sorted()
            && d.key_size_range.iter().all(|size| (1.0..=LONGEST_KEY).contains(size));
        for (is_good, message) in [
            (sized, "valSizeRange: values have 0 to 1073741824 bytes"),
            (counted, "popularityBuckets: numbers of keys are whole, and at most 10^15"),
            (has_keys, "popularityBuckets: there are no keys"),
            (rising, "keySizeRange: bounds of lengths rise, from 1 to 255 bytes"),
        ] {
            if !is_good {
                return Err(wrong(message.into()));
            }
        }
        let ratios = [d.get_ratio, d.lone_get_ratio, d.set_ratio, d.lone_set_ratio, d.del_ratio];
        let mut bounds = vec![0.0];
        bounds.extend(d.popularity_buckets.iter().scan(0.0, |sum, count| {
            *sum += count;
            Some(*sum)
        }));
        Ok(CacheBench {
            operations: weights("getRatio, setRatio …", &ratios)?,
            popularity: weights("popularityWeights", &d.popularity_weights)?,
            bounds,
            value_sizes: d.val_size_range.iter().map(|&size| size as u32).collect(),
            value_weights: weights("valSizeRangeProbability", &d.val_size_range_probability)?,
            key_sizes: d.key_size_range,
            key_weights: weights("keySizeRangeProbability", &d.key_size_range_probability)?,
            keys: keys.into(),
        })
    }

    /// Number of keys; they are numbered from 0.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// The next operation.
    pub fn operation(&self, random: &mut Stream) -> KvOperation {
        KvOperation::ALL[self.operations.draw(random.unit())]
    }

    /// The key that the next operation names, unless that is a lone one.
    pub fn key(&self, random: &mut Stream) -> u64 {
        let bucket = self.popularity.draw(random.unit());
        let (first, end) = (self.bounds[bucket], self.bounds[bucket + 1]);
        let all = self.bounds[self.bounds.len() - 1];
        let place = first + (random.unit() * (end - first)).floor();
        ((place / all * self.keys as f64) as u64).min(self.keys - 1)
    }

    /// Bytes of the value of a key: always the same.
    pub fn value_bytes(&self, key: u64) -> u32 {
        self.value_sizes[self.value_weights.draw(unit(mix64(key)))]
    }

    /// Bytes of a key: always the same, and at most 250, as memcached has it.
    pub fn key_bytes(&self, key: u64) -> u32 {
        let random = mix64(!key);
        let range = self.key_weights.draw(unit(random));
        let (from, to) = (self.key_sizes[range], self.key_sizes[range + 1]);
        (from + unit(mix64(random)) * (to - from)).min(250.0) as u32
    }

    /// Bytes of the largest value.
    pub fn largest_value(&self) -> u32 {
        self.value_sizes.iter().copied().max().unwrap_or(0)
    }
}

/// The largest value and longest key, in bytes, and the most keys of a bucket.
const LARGEST_VALUE: f64 = (1u64 << 30) as f64;
const LONGEST_KEY: f64 = 255.0;
const MOST_KEYS: f64 = 1e15;

/// A number from 0 to below 1, of random bits.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T, CacheBenchError> {
    let wrong = |message: String| CacheBenchError { file: path.into(), message };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    // Of a key that comes twice, as in some of CacheBench's own files, the last counts.
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_value(value).map_err(|error| wrong(error.to_string()))
}

/// Draws from things of different weights.
#[derive(Clone, Debug)]
struct Weights {
    /// The sum of the weights up to and with each.
    sums: Vec<f64>,
}

impl Weights {
    /// `None` if these are no weights.
    fn new(weights: &[f64]) -> Option<Weights> {
        let mut sum = 0.0;
        let sums: Vec<f64> = weights
            .iter()
            .map(|&weight| {
                sum += weight;
                sum
            })
            .collect();
        let are_good = weights.iter().all(|&weight| weight >= 0.0) && sum > 0.0 && sum.is_finite();
        are_good.then_some(Weights { sums })
    }

    /// The place of what `unit`, from 0 to below 1, draws.
    fn draw(&self, unit: f64) -> usize {
        let at = unit * self.sums[self.sums.len() - 1];
        self.sums.partition_point(|&sum| sum <= at).min(self.sums.len() - 1)
    }
}
