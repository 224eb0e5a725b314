//! How many of a paper's claims hold.

use super::{Row, Table};
use serde::{Deserialize, Serialize};

/// A paper whose claims the studies hold the model against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Paper {
    /// Jung and Kandemir, HPCA 2014.
    Sprinkler,
    /// Lee, Seoul National University 2018.
    #[serde(rename = "PAReset")]
    PaReset,
    /// Kim et al., ATC 2019.
    #[serde(rename = "SWAN")]
    Swan,
    /// Shin's dissertation of 2017, and the slides of HotStorage 2016 (Unblinding) about its chapter 4.
    #[serde(rename = "Shin, Unblinding")]
    Shin,
}

impl Paper {
    /// Every paper whose claims are counted.
    pub const ALL: [Paper; 4] = [Paper::Sprinkler, Paper::PaReset, Paper::Swan, Paper::Shin];

    /// The paper that a study of this name reproduces; `None` for studies that go beyond the papers.
    pub fn of(study: &str) -> Option<Paper> {
        Paper::ALL.into_iter().find(|paper| study.starts_with(paper.prefix()))
    }

    /// Short name of the paper, as reports print it.
    pub fn name(self) -> &'static str {
        match self {
            Paper::Sprinkler => "Sprinkler",
            Paper::PaReset => "PAReset",
            Paper::Swan => "SWAN",
            Paper::Shin => "Shin, Unblinding",
        }
    }

    /// How the names of its studies begin.
    fn prefix(self) -> &'static str {
        match self {
            Paper::Sprinkler => "sprinkler-",
            Paper::PaReset => "pareset-",
            Paper::Swan => "swan-",
            Paper::Shin => "shin-",
        }
    }
}

/// Claims that are counted, and how many of them hold. A claim that could not be measured does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Those that hold.
    hold: usize,
    /// All of them.
    counted: usize,
}

impl Claims {
    /// The claims of some tables: their rows that are counted.
    pub fn of<'t>(tables: impl IntoIterator<Item = &'t Table>) -> Claims {
        let rows = tables.into_iter().flat_map(|table| &table.rows).filter(|row| row.is_counted());
        Claims::count(rows.map(Row::holds))
    }

    /// Claims with these verdicts: whether each holds, or `None` if it could not be measured, which counts
    /// as not holding.
    pub fn count(verdicts: impl IntoIterator<Item = Option<bool>>) -> Claims {
        verdicts.into_iter().fold(Claims::default(), |so_far, holds| Claims {
            hold: so_far.hold + usize::from(holds == Some(true)),
            counted: so_far.counted + 1,
        })
    }

    /// Number of claims that hold.
    pub fn hold(self) -> usize {
        self.hold
    }

    /// Number of claims, held or not.
    pub fn counted(self) -> usize {
        self.counted
    }

    /// The sum of both counts of claims.
    pub fn and(self, others: Claims) -> Claims {
        Claims { hold: self.hold + others.hold, counted: self.counted + others.counted }
    }

    /// Share of the claims that hold, 0 … 1; `None` without a claim.
    pub fn share(self) -> Option<f64> {
        (self.counted > 0).then(|| self.hold as f64 / self.counted as f64)
    }
}

/// The claims of one paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfPaper {
    /// The paper.
    paper: Paper,
    /// Its claims.
    #[serde(flatten)]
    claims: Claims,
}

/// The claims of the papers whose studies were run, per paper and in all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// By paper; papers without a study among the tables are left out.
    papers: Vec<OfPaper>,
    /// Of all papers.
    all: Claims,
}

impl OfPaper {
    /// The paper that the claims are of.
    pub fn paper(self) -> Paper {
        self.paper
    }

    /// How many claims of the paper were counted, and how many of them hold.
    pub fn claims(self) -> Claims {
        self.claims
    }
}

impl Summary {
    /// The claims of each paper.
    pub fn papers(&self) -> &[OfPaper] {
        &self.papers
    }

    /// The claims of all papers.
    pub fn all(&self) -> Claims {
        self.all
    }

    /// What the tables of papers come to; those of other studies do not count.
    pub fn of(tables: &[Table]) -> Summary {
        let of = |paper: Paper| tables.iter().filter(move |table| Paper::of(&table.study) == Some(paper));
        Summary::new(|paper| Claims::of(of(paper)))
    }

    /// The summary of the claims of each paper, by `of`.
    pub fn new(of: impl Fn(Paper) -> Claims) -> Summary {
        let papers = Paper::ALL.into_iter().map(|paper| OfPaper { paper, claims: of(paper) });
        let papers: Vec<OfPaper> = papers.filter(|of| of.claims.counted > 0).collect();
        let all = papers.iter().fold(Claims::default(), |all, of| all.and(of.claims));
        Summary { papers, all }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Basis;
    use super::*;

    fn row(measured: impl Into<Option<f64>>) -> Row {
        Row::new("a", "b", "x", measured)
    }

    #[test]
    fn every_study_of_a_paper_has_its_paper() {
        let known = super::super::all().iter().map(|study| study.id());
        let papers: Vec<(&str, Option<Paper>)> = known.map(|id| (id, Paper::of(id))).collect();
        for paper in Paper::ALL {
            assert!(papers.iter().any(|(_, of)| *of == Some(paper)), "{}", paper.name());
        }
        for (id, of) in papers {
            let is_beyond = id.starts_with("beyond-") || ["epoch-writes", "whole-path"].contains(&id);
            assert_eq!(of.is_none(), is_beyond, "{id}");
        }
    }

    #[test]
    fn inputs_other_readings_and_figures_without_a_claim_do_not_count() {
        let rows = vec![
            row(1.0).paper(1.0),
            row(2.0).paper(1.0),
            row(None).paper(1.0),
            row(1.0).paper(1.0).basis(Basis::Derived, "a middle"),
            row(1.0).paper(1.0).basis(Basis::Input, "an input"),
            row(1.0).paper(1.0).of_reading("another"),
            row(1.0),
        ];
        let tables = [Table::new("swan-0", 1, true, rows.clone()), Table::new("beyond-0", 1, true, rows)];
        let summary = Summary::of(&tables);
        assert_eq!(summary.all, Claims { hold: 2, counted: 4 });
        assert_eq!(summary.all.share(), Some(0.5));
        let of_swan = OfPaper { paper: Paper::Swan, claims: summary.all };
        assert_eq!(summary.papers, [of_swan], "papers that were not run are left out");
        let json = serde_json::to_value(of_swan).expect("plain data");
        assert_eq!(json, serde_json::json!({ "paper": "SWAN", "hold": 2, "counted": 4 }));
    }
}
