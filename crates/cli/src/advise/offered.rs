//! What a workload offers, and promises that no arrangement could keep for want of it.

use crate::failure::Failure;
use crate::run::Scenario;
use crate::sweep::Promise;
use tailcut_base::Op;
use tailcut_workload::SyntheticConfig;

/// Refuses a promise about requests of a kind that the synthetic workload does not have. Of others it is not
/// known before they are run.
///
/// # Errors
/// The term and the kind, and the keys that decide it.
pub(super) fn check_kinds(promise: &Promise, base: &Scenario) -> Result<(), Failure> {
    if !base.is_synthetic() {
        return Ok(());
    }
    let beside = base.beside.enabled.then_some(&base.beside.source);
    let sources: Vec<&SyntheticConfig> = [&base.workload].into_iter().chain(beside).collect();
    for term in &promise.terms {
        let kind = term.quantity.kind();
        if !sources.iter().any(|source| has(source, kind)) {
            return Err(refusal(&term.to_string(), &plural_of(kind), remedy(kind)));
        }
        if let Some(class) = kind.strip_prefix(CLASS) {
            let of = |source: &&SyntheticConfig| source.read > 0 && source.read_class.to_string() == class;
            let readers = sources.iter().filter(|source| source.read > 0);
            if readers.clone().all(of) {
                // Reports have figures by class where there are several classes.
                return Err(refusal(&term.to_string(), "reads of another class", "write (read)"));
            }
            if !readers.clone().any(of) {
                let remedy = "set workload.read_class or beside.read_class";
                return Err(refusal(&term.to_string(), &format!("reads of class {class}"), remedy));
            }
        }
    }
    Ok(())
}

fn refusal(term: &str, what: &str, remedy: &str) -> Failure {
    Failure::Input(format!(
        "the promise is {term}, and the workload has no {what}: {remedy}, or leave that term out"
    ))
}

/// Whether a source has requests of the kind that reports call `kind`.
fn has(source: &SyntheticConfig, kind: &str) -> bool {
    let has_writes = source.read.saturating_add(source.trim) < 1_000_000;
    match kind {
        "read" => source.read > 0,
        "write" => has_writes,
        "trim" => source.trim > 0,
        "flush" => has_writes && source.flush_every > 0,
        _ => true,
    }
}

fn plural_of(kind: &str) -> String {
    if kind == "flush" { String::from("flushes") } else { format!("{kind}s") }
}

fn remedy(kind: &str) -> &'static str {
    match kind {
        "read" => "raise workload.read",
        "write" => "lower workload.read",
        "trim" => "raise workload.trim",
        _ => "set workload.flush_every",
    }
}

/// How reports begin the names of classes of reads.
const CLASS: &str = "read class ";

/// Refuses a promised rate above the offered load of an open loop, which no arrangement can reach.
///
/// # Errors
/// The term and what is offered.
pub(super) fn check_rates(promise: &Promise, base: &Scenario, sectors: u64) -> Result<(), Failure> {
    if !base.is_synthetic() || base.beside.enabled {
        return Ok(());
    }
    let Ok(recipe) = base.workload.recipe(sectors) else { return Ok(()) };
    for term in &promise.terms {
        let op = match term.quantity.kind() {
            "all" => None,
            "read" => Some(Op::Read),
            "write" => Some(Op::Write),
            "trim" => Some(Op::Trim),
            _ => continue,
        };
        let Some(offered) = recipe.offered(op).and_then(|offered| term.quantity.of_offered(offered)) else {
            continue;
        };
        if term.bound > offered {
            return Err(Failure::Input(format!(
                "the promise is {term}, and the workload offers only {}: raise workload.rate, set \
                 workload.pace = \"closed\", or promise less",
                term.quantity.unit().show(offered)
            )));
        }
    }
    Ok(())
}
