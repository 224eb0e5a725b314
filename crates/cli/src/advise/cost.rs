//! The cost of an arrangement.
//!
//! A drive costs a fixed sum, and its raw flash by the gigabyte (10⁹ bytes), over-provisioning included. No
//! market is known here: unless the user names prices, the unit is a gigabyte of raw MLC flash, drives beyond
//! their flash cost nothing, and a cell costs the same whatever it holds, so that a gigabyte of SLC costs
//! twice as much and one of QLC half.

use crate::sweep::Misread;
use crate::value_parsers::preset;
use std::collections::BTreeMap;
use tailcut_base::BadValue;
use tailcut_base::config::Choice;
use tailcut_ssd::SsdConfig;
use tailcut_ssd::flash::timing::CellKind;
use toml::de::{DeTable, DeValue};

/// Prices, in a unit of the user's.
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    /// Of a gigabyte of raw flash of one, two, three, four bits per cell.
    gigabyte: [f64; 4],
    /// Price of a drive without its flash.
    drive: f64,
    /// Prices of whole drives with their flash, by preset.
    drives: BTreeMap<&'static str, f64>,
    /// The unit, if the user has named one.
    unit: Option<String>,
    /// Whether the user has named any price.
    named: bool,
}

const NAMES: [&str; 4] = ["slc", "mlc", "tlc", "qlc"];

impl Default for Prices {
    fn default() -> Prices {
        // Two bits per cell are the unit.
        Prices {
            gigabyte: [1.0, 2.0, 3.0, 4.0].map(|bits| 2.0 / bits),
            drive: 0.0,
            drives: BTreeMap::new(),
            unit: None,
            named: false,
        }
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

    /// Reads prices from a file in TOML: the keys of [`Prices::parse`], `unit` in words, and in `[drives]`
    /// the price of a whole drive, flash included, by the name of its preset.
    ///
    /// # Errors
    /// What is wrong with the file, with the key.
    pub fn read(text: &str) -> Result<Prices, BadValue> {
        let table = DeTable::parse(text)
            .map_err(|error| BadValue::new(format!("it is not TOML: {}", error.message())))?;
        let mut prices = Prices { named: true, ..Prices::default() };
        for (key, value) in table.get_ref() {
            let (key, value) = (key.get_ref().as_ref(), value.get_ref());
            match (key, NAMES.iter().position(|cell| *cell == key)) {
                ("unit", _) => {
                    let unit =
                        value.as_str().filter(|unit| !unit.is_empty() && !unit.contains(char::is_control));
                    let unit = unit.ok_or_else(|| BadValue::new("unit: write it like unit = \"EUR\""))?;
                    prices.unit = Some(unit.to_owned());
                }
                ("drives", _) => prices.drives = of_drives(value)?,
                ("drive", _) => prices.drive = price(key, value)?,
                (_, Some(cell)) => prices.gigabyte[cell] = price(key, value)?,
                (other, None) => {
                    return Err(BadValue::new(format!(
                        "'{other}' has no price; name slc, mlc, tlc, qlc, drive, unit or [drives]"
                    )));
                }
            }
        }
        Ok(prices)
    }

    /// The cost of `drives` drives.
    pub fn cost(&self, device: &SsdConfig, drives: u32) -> f64 {
        if let Some(price) = self.drives.get(device.preset.name()) {
            return f64::from(drives) * price;
        }
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
    pub fn unit(&self) -> &str {
        match &self.unit {
            Some(unit) => unit,
            None if self.named => "in the unit of the prices",
            None => "GB of raw MLC flash",
        }
    }

    /// The price assumptions, in a sentence.
    pub fn assumption(&self) -> String {
        let each: Vec<String> =
            NAMES.iter().zip(self.gigabyte).map(|(name, price)| format!("{name} {price:.2}")).collect();
        let made = if self.named { "prices" } else { "prices are not known here, so cells cost the same" };
        let whole = self.drives.iter().map(|(name, price)| format!("; a {name} {price:.2}"));
        format!(
            "{made}: a GB of raw flash {}, a drive beside that {:.2}{}",
            each.join(", "),
            self.drive,
            whole.collect::<String>()
        )
    }
}

/// A price in a file.
fn price(key: &str, value: &DeValue<'_>) -> Result<f64, BadValue> {
    let number = match value {
        DeValue::Integer(whole) if whole.radix() == 10 => whole.as_str().parse::<f64>().ok(),
        DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
        _ => None,
    };
    number
        .filter(|price| price.is_finite() && *price >= 0.0)
        .ok_or_else(|| BadValue::new(format!("{key}: this is no price; write a number from 0 on")))
}

/// The section `[drives]` of a file.
fn of_drives(value: &DeValue<'_>) -> Result<BTreeMap<&'static str, f64>, BadValue> {
    let DeValue::Table(table) = value else {
        return Err(BadValue::new("drives: write a section [drives] with lines like tlc-nvme = 120"));
    };
    let mut prices = BTreeMap::new();
    for (name, value) in table {
        let name = name.get_ref().as_ref();
        let drive =
            preset(name).map_err(|bad| BadValue::new(format!("[drives]: {name}: {}", bad.message)))?;
        prices.insert(drive.name(), price(name, value.get_ref())?);
    }
    Ok(prices)
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
    #[test]
    fn a_file_names_prices_of_cells_and_of_whole_drives() {
        let text = "unit = \"EUR\"\nmlc = 0.5\ndrive = 10\n[drives]\ntlc-nvme = 120.5\n";
        let prices = Prices::read(text).expect("good");
        assert_eq!(prices.unit(), "EUR");
        assert_eq!(prices.cost(&Preset::by_name("tlc-nvme").expect("it exists").config(), 2), 241.0);
        let of_cells = Prices::parse("mlc=0.5,drive=10").expect("good").cost(&Preset::M.config(), 2);
        assert_eq!(prices.cost(&Preset::M.config(), 2), of_cells);
        assert!(prices.assumption().ends_with("a drive beside that 10.00; a tlc-nvme 120.50"));
    }

    #[test]
    fn a_wrong_file_names_the_key_and_the_remedy() {
        let wrong = |text: &str| Prices::read(text).expect_err(text).message;
        assert!(wrong("plc = 1").contains("'plc' has no price; name slc"));
        assert!(wrong("tlc = -1").contains("tlc: this is no price"));
        assert!(wrong("tlc = \"cheap\"").contains("tlc: this is no price"));
        assert!(wrong("drives = 3").contains("write a section [drives]"));
        assert!(wrong("[drives]\ntlc-nvm = 3").contains("did you mean 'tlc-nvme'?"));
        assert!(wrong("tlc 3").contains("it is not TOML"));
    }
}
