//! The cost of an arrangement.
//!
//! A drive costs a fixed sum, and its raw flash by the gigabyte (10⁹ bytes), over-provisioning included. No
//! market is known here: unless the user names prices, the unit is a gigabyte of raw MLC flash, drives beyond
//! their flash cost nothing, and a cell costs the same whatever it holds, so that a gigabyte of SLC costs
//! twice as much and one of QLC half.

use crate::sweep::Misread;
use tailcut_ssd::SsdConfig;
use tailcut_ssd::flash::timing::CellKind;

/// Prices, in a unit of the user's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Of a gigabyte of raw flash of one, two, three, four bits per cell.
    gigabyte: [f64; 4],
    /// Price of a drive without its flash.
    drive: f64,
    /// Whether the user has named any.
    named: bool,
}

const NAMES: [&str; 4] = ["slc", "mlc", "tlc", "qlc"];

impl Default for Prices {
    fn default() -> Prices {
        // Two bits per cell are the unit.
        Prices { gigabyte: [1.0, 2.0, 3.0, 4.0].map(|bits| 2.0 / bits), drive: 0.0, named: false }
    }
}

impl Prices {
    /// Reads prices such as `tlc=0.06,drive=15` over the default ones.
    ///
    /// # Errors
    /// The first place that is wrong, and what would be right.
    pub fn parse(text: &str) -> Result<Prices, Misread> {
        let mut prices = Prices { named: true, ..Prices::default() };
        let mut at = 0;
        for piece in text.split(',') {
            let span = at..at + piece.len();
            at += piece.len() + 1;
            let wrong = |message: String| Misread::new(span.clone(), message);
            let (name, value) = piece
                .split_once('=')
                .ok_or_else(|| wrong(format!("'{piece}' is no price; write it like tlc=0.06,drive=15")))?;
            let price = value.trim().parse::<f64>().ok().filter(|price| price.is_finite() && *price >= 0.0);
            let price =
                price.ok_or_else(|| wrong(format!("'{value}' is no price; write a number from 0 on")))?;
            match (name.trim(), NAMES.iter().position(|cell| *cell == name.trim())) {
                ("drive", _) => prices.drive = price,
                (_, Some(cell)) => prices.gigabyte[cell] = price,
                (other, None) => {
                    return Err(wrong(format!("'{other}' has no price; name slc, mlc, tlc, qlc or drive")));
                }
            }
        }
        Ok(prices)
    }

    /// The cost of `drives` drives.
    pub fn cost(&self, device: &SsdConfig, drives: u32) -> f64 {
        let cell = match device.timing.cell {
            CellKind::Slc => 0,
            CellKind::Mlc => 1,
            CellKind::Tlc => 2,
            CellKind::Qlc => 3,
        };
        let gigabytes = device.geometry.raw_bytes() as f64 / 1e9;
        f64::from(drives) * (gigabytes * self.gigabyte[cell] + self.drive)
    }

    /// The unit of costs in words: that of the given prices, or GB of raw MLC flash.
    pub fn unit(&self) -> &'static str {
        if self.named { "in the unit of the prices" } else { "GB of raw MLC flash" }
    }

    /// The price assumptions, in a sentence.
    pub fn assumption(&self) -> String {
        let each: Vec<String> =
            NAMES.iter().zip(self.gigabyte).map(|(name, price)| format!("{name} {price:.2}")).collect();
        let made = if self.named { "prices" } else { "prices are not known here, so cells cost the same" };
        format!("{made}: a GB of raw flash {}, a drive beside that {:.2}", each.join(", "), self.drive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_ssd::Preset;

    #[test]
    fn drives_cost_their_raw_flash() {
        let device = Preset::M.config();
        let gigabytes = (32u64 << 30) as f64 / 1e9;
        assert!((Prices::default().cost(&device, 3) - 3.0 * gigabytes).abs() < 1e-9);
        let prices = Prices::parse("mlc=0.5, drive=10").expect("good");
        assert!((prices.cost(&device, 2) - 2.0 * (gigabytes * 0.5 + 10.0)).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for (text, span) in [("mlc", 0..3), ("mlc=1,plc=2", 6..11), ("mlc=-1", 0..6), ("drive=much", 0..10)] {
            assert_eq!(Prices::parse(text).expect_err(text).span, span, "{text}");
        }
    }
}
