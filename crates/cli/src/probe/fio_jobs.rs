//! The job file with which fio measures a drive for `tailcut calibrate`.

use super::arguments::ProbeArguments;
use crate::failure::Failure;
use crate::output;
use std::io::Write;
use std::path::Path;
use tailcut_base::Nanos;

/// Jobs that bring the drive into a state in which it is measured have names that begin so; `calibrate`
/// leaves them out.
pub(crate) const PREPARES: &str = "prepare";

/// Share of reads in per cent, and requests in flight: what a drive does at random while it keeps itself in
/// order, from writes alone to reads alone.
const MIXES: [(u32, u32); 9] =
    [(0, 32), (0, 1), (50, 16), (50, 1), (90, 16), (90, 1), (100, 64), (100, 16), (100, 1)];

/// How long it takes: overwriting at random, each measurement, and how long that runs in before.
struct Times {
    overwrite: Nanos,
    measure: Nanos,
    ramp: Nanos,
}

/// Writes the job file, and to `out` the commands that use it.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(
    device: &Path,
    file: &Path,
    arguments: &ProbeArguments,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let times = match arguments.quick {
        true => Times { overwrite: Nanos::secs(60), measure: Nanos::secs(20), ramp: Nanos::secs(2) },
        false => Times { overwrite: Nanos::secs(1200), measure: Nanos::secs(180), ramp: Nanos::secs(10) },
    };
    output::write_file(file, jobs(device, &times).as_bytes())?;
    let results = file.with_extension("json");
    let (device, file, results) = (device.display(), file.display(), results.display());
    let all = times.overwrite + (times.measure + times.ramp) * MIXES.len() as u64;
    writeln!(
        out,
        "{file}: {:.0} minutes of fio on {device}, and as long as it takes to fill it once\n\
         all that {device} holds will be lost:\n  \
         fio --output-format=json --output={results} {file}\n\
         then\n  \
         tailcut calibrate {results} --data-sheet sheet.csv -o mine.toml",
        all.as_secs_f64() / 60.0
    )?;
    Ok(out.flush()?)
}

fn jobs(device: &Path, times: &Times) -> String {
    let seconds = |time: Nanos| time.0 / 1_000_000_000;
    // fio takes a colon for the end of a name.
    let name = device.display().to_string().replace(':', "\\:");
    let mut text = format!(
        "# What 'tailcut calibrate' needs to know of a drive. All that it holds will be lost.\n\
         #   fio --output-format=json --output=FILE.json THIS_FILE\n\n\
         [global]\nfilename={name}\nioengine=io_uring\ndirect=1\nbs=4k\nrandrepeat=0\nnorandommap=1\n\
         group_reporting=1\nlat_percentiles=1\nclat_percentiles=0\n\
         percentile_list=10:50:90:95:99:99.5:99.9:99.99:99.999\n\n\
         # All of it in order, then at random, until collection is at work.\n\
         [{PREPARES}-fill]\nstonewall\nrw=write\nbs=512k\niodepth=32\n\n\
         [{PREPARES}-overwrite]\nstonewall\nrw=randwrite\niodepth=64\ntime_based=1\nruntime={}\n",
        seconds(times.overwrite)
    );
    for (reads, depth) in MIXES {
        let rw = match reads {
            0 => "rw=randwrite".to_string(),
            100 => "rw=randread".to_string(),
            reads => format!("rw=randrw\nrwmixread={reads}"),
        };
        text += &format!(
            "\n[reads{reads}-depth{depth}]\nstonewall\n{rw}\niodepth={depth}\ntime_based=1\n\
             ramp_time={}\nruntime={}\n",
            seconds(times.ramp),
            seconds(times.measure)
        );
    }
    text
}
