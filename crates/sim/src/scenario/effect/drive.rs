//! Keys of a drive that have no effect, because of other keys of it.

use super::{Ineffective, add};
use tailcut_base::Nanos;
use tailcut_ssd::config::{
    Allocation, ChipPolicy, CommitPolicy, Handling, MappingLevel, PacingMode, SsdConfig, VictimPolicy,
};

/// Keys of parts that the drive does not have.
pub(super) fn add_idle_parts(found: &mut Vec<Ineffective>, drive: &SsdConfig) {
    if drive.ftl.mapping == MappingLevel::Block {
        let because = "a drive that maps by block merges blocks and has no victims (device.ftl.mapping)";
        let keys = &["victim", "choices", "low", "high", "background", "merge", "copies"];
        add(found, "device.gc", keys, because);
        let because = "a drive that maps by block writes a block where its stripe is (device.ftl.mapping)";
        add(found, "device.ftl", &["streams"], because);
        add(found, "device.schedule", &["level_queues"], because);
        add(found, "device.preempt", &["place_programs", "time_erases"], because);
        add(found, "device.wear", &["levelling", "spread"], because);
    } else {
        let because = "a drive that maps by page has no stripes of blocks (device.ftl.mapping)";
        add(found, "device.ftl", &["stripe"], because);
        if drive.ftl.allocation == Allocation::Static {
            let because = "each page has its plane: set device.ftl.allocation = \"dynamic\"";
            add(found, "device.schedule", &["level_queues"], because);
        }
        if !drive.wear.levelling {
            add(found, "device.wear", &["spread"], "device.wear.levelling is false");
        }
        let victim = drive.gc.victim;
        // Policies that a user adds may have a use for it.
        use VictimPolicy::{CostBenefit, Fifo, Greedy, Random};
        if matches!(victim, Greedy | CostBenefit | Fifo | Random) {
            let because = format!("device.gc.victim is \"{victim}\": set it to \"d-choices\"");
            add(found, "device.gc", &["choices"], &because);
        }
    }
    add_idle_parts_of_today(found, drive);
    if drive.buffer.size == 0 {
        let because = "there is no write-back buffer (device.buffer.size)";
        add(found, "device.buffer", &["flush_above", "capacitor", "rate", "access"], because);
    }
    if drive.cache.size == 0 {
        add(found, "device.cache", &["streams"], "there is no read cache (device.cache.size)");
    }
    if drive.sets.count == 1 {
        add(found, "device.sets", &["by"], "the drive is one set (device.sets.count)");
    }
}

/// Keys of superblocks, submission queues and write pacing.
fn add_idle_parts_of_today(found: &mut Vec<Ineffective>, drive: &SsdConfig) {
    if drive.maps_by_superblock() {
        let because = "a drive that maps by superblock takes dies in turn (device.ftl.mapping)";
        add(found, "device.ftl", &["allocation", "order"], because);
        let because = "a drive that maps by superblock collects below device.gc.low alone";
        add(found, "device.gc", &["high"], because);
        let because = "a drive that maps by superblock does not level wear (device.ftl.mapping)";
        add(found, "device.wear", &["levelling", "spread"], because);
    } else {
        let because = "device.ftl.mapping is not \"superblock\"";
        add(found, "device.superblock", &["program", "sense", "pace", "erases", "firmware"], because);
    }
    let queue = &drive.queue;
    if queue.commands == 0 {
        let because = "the controller works on all commands: set device.queue.commands";
        add(found, "device.queue", &["arbitration"], because);
    }
    match drive.pacing.mode {
        PacingMode::None => {
            let keys = &["most", "growth", "window", "burst"];
            add(found, "device.pacing", keys, "device.pacing.mode is \"none\"");
        }
        PacingMode::Window => {
            let because = "device.pacing.mode is \"window\": a window's share may come in at once";
            add(found, "device.pacing", &["burst"], because);
        }
        PacingMode::Even if drive.pacing.growth == 1_000_000 => {
            let because = "the pace is constant: device.pacing.growth is 100 %";
            add(found, "device.pacing", &["window"], because);
        }
        PacingMode::Even => {}
    }
}

/// Times and types of pages that no operation distinguishes.
pub(super) fn add_idle_times(found: &mut Vec<Ineffective>, drive: &SsdConfig) {
    let is_even = |times: &[Nanos]| times.windows(2).all(|pair| pair[0] == pair[1]);
    let timing = &drive.timing;
    // A reset spoils the pages of a word line, of which a cell's type decides how many there are.
    let resets = drive.preempt.program == Handling::Reset;
    if is_even(&timing.read) && is_even(&timing.program) && !resets && !drive.maps_by_superblock() {
        let because = "all pages take equally long to read and to program: set device.timing.read or \
                       device.timing.program to a time for each page type";
        add(found, "device.timing", &["cell"], because);
    }
    if drive.geometry.dies == 1 {
        let because = "a chip has one die: raise device.geometry.dies";
        add(found, "device.geometry", &["ready_busy"], because);
    }
}

/// Keys of scheduling that the schedulers, or the dies, leave without effect.
pub(super) fn add_idle_scheduling(found: &mut Vec<Ineffective>, drive: &SsdConfig) {
    let (path, schedule, geometry) = ("device.schedule", &drive.schedule, &drive.geometry);
    let commit = schedule.commit;
    let lays_out = !matches!(commit, CommitPolicy::Vas | CommitPolicy::Pas | CommitPolicy::Sos);
    if commit != CommitPolicy::Pas {
        let because = format!("device.schedule.commit is \"{commit}\": set it to \"pas\"");
        add(found, path, &["whole_requests"], &because);
    }
    let passes_over = match commit {
        CommitPolicy::Faro | CommitPolicy::Sprinkler => true,
        CommitPolicy::Pas => schedule.whole_requests,
        CommitPolicy::Vas | CommitPolicy::Rios | CommitPolicy::Sos => false,
    };
    if !passes_over {
        let because = format!("device.schedule.commit is \"{commit}\": set it to \"faro\" or \"sprinkler\"");
        add(found, path, &["passes"], &because);
    }
    if !lays_out {
        let because =
            format!("device.schedule.commit is \"{commit}\": set it to \"faro\", \"rios\" or \"sprinkler\"");
        add(found, path, &["readdressing"], &because);
    }
    if schedule.chip == ChipPolicy::Fifo {
        let because = "device.schedule.chip is \"fifo\": set it to \"reads-first\"";
        add(found, path, &["write_patience"], because);
    }
    if geometry.dies_per_lun() == 1 {
        let because = match geometry.dies {
            1 => "a chip has one die: raise device.geometry.dies",
            _ => "each die has a ready/busy line of its own: set device.geometry.ready_busy = \"chip\"",
        };
        add(found, path, &["die_interleaving", "match_cell_times"], because);
    } else if !schedule.die_interleaving {
        let because = "dies share no transaction: set device.schedule.die_interleaving = true";
        add(found, path, &["match_cell_times"], because);
    } else if drive.timing.program.windows(2).all(|pair| pair[0] == pair[1]) {
        let because =
            "all pages take equally long to program: set device.timing.program to a time for each page type";
        add(found, path, &["match_cell_times"], because);
    }
}
