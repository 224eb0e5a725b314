use super::*;
use crate::run::Scenario;
use crate::scenario;
use crate::terminal::ColorMode;
use proptest::prelude::*;
use tailcut_ssd::config::ChipPolicy;

/// A device with these elements in `Device_Parameter_Set`, and these in `Flash_Parameter_Set`.
fn device(elements: &str, flash: &str) -> String {
    format!(
        "<Execution_Parameter_Set>\n<Host_Parameter_Set>\n<PCIe_Lane_Bandwidth>1.0</PCIe_Lane_Bandwidth>\n\
         </Host_Parameter_Set>\n<Device_Parameter_Set>\n{elements}\n<Flash_Parameter_Set>\n{flash}\n\
         </Flash_Parameter_Set>\n</Device_Parameter_Set>\n</Execution_Parameter_Set>\n"
    )
}

/// A synthetic flow with these elements beside those that it needs.
fn flow(elements: &str) -> String {
    let mut text = String::from("<IO_Flow_Parameter_Set_Synthetic>\n");
    for (name, value) in [
        ("Synthetic_Generator_Type", "QUEUE_DEPTH"),
        ("Read_Percentage", "50"),
        ("Address_Distribution", "RANDOM_UNIFORM"),
        ("Request_Size_Distribution", "FIXED"),
        ("Average_Request_Size", "16"),
        ("Average_No_of_Reqs_in_Queue", "8"),
        ("Generated_Aligned_Addresses", "true"),
        ("Address_Alignment_Unit", "16"),
        ("Stop_Time", "1000000000"),
    ] {
        text += &format!("<{name}>{value}</{name}>\n");
    }
    text + elements + "\n</IO_Flow_Parameter_Set_Synthetic>\n"
}

fn workload(flows: &[String]) -> String {
    format!("<MQSim_IO_Scenarios>\n<IO_Scenario>\n{}</IO_Scenario>\n</MQSim_IO_Scenarios>\n", flows.concat())
}

fn drafted(device: &str, workload: &str, number: usize) -> Result<Draft, Failure> {
    draft(&[Source::file("d.xml", device), Source::file("w.xml", workload)], None, number)
}

/// The scenario and the notes of a translation.
fn imported(device: &str, workload: &str) -> (Scenario, String) {
    let fail = |failure: Failure| -> ! { panic!("{}", failure.render(ColorMode::Plain)) };
    let draft = drafted(device, workload, 1).unwrap_or_else(|failure| fail(failure));
    let text = draft.scenario().unwrap_or_else(|failure| fail(failure));
    let mut scenario = Scenario::default();
    scenario::read(&mut scenario, Some(Source::file("s.toml", text)), &[]).expect("it is accepted again");
    (scenario, draft.notes(ColorMode::Plain))
}

fn refused(device: &str, workload: &str) -> String {
    drafted(device, workload, 1).map(|_| ()).expect_err("refused").render(ColorMode::Plain)
}

#[test]
fn a_device_without_parameters_has_the_defaults_of_the_program() {
    let (scenario, notes) = imported(&device("", ""), &workload(&[flow("")]));
    let geometry = &scenario.device.geometry;
    assert_eq!((geometry.channels, geometry.chips, geometry.dies, geometry.planes), (8, 4, 2, 2));
    assert_eq!((geometry.blocks, geometry.pages, geometry.page_bytes), (2048, 256, 8192));
    assert_eq!(scenario.device.timing.read, [tailcut_base::Nanos::micros(75)]);
    assert_eq!(scenario.device.schedule.chip, ChipPolicy::ReadsFirst);
    assert_eq!(scenario.device.gc.victim, VictimPolicy::DChoices);
    assert_eq!(scenario.device.gc.choices, 11, "log2 of 2048");
    assert_eq!(scenario.seed, 123);
    assert!(notes.contains("Channel_Transfer_Rate = 300: MQSim rounds"), "{notes}");
    assert!(notes.contains("CMT_Capacity = 2097152"), "{notes}");
}

#[test]
fn every_parameter_reaches_its_key() {
    let elements = "<Seed>7</Seed><HostInterface_Type>nvme</HostInterface_Type>\
        <Queue_Fetch_Size>64</Queue_Fetch_Size>\
        <Ideal_Mapping_Table>true</Ideal_Mapping_Table>\
        <Plane_Allocation_Scheme>PWCD</Plane_Allocation_Scheme>\
        <Overprovisioning_Ratio>0.2</Overprovisioning_Ratio><GC_Exec_Threshold>0.1</GC_Exec_Threshold>\
        <GC_Block_Selection_Policy>FIFO</GC_Block_Selection_Policy>\
        <Preemptible_GC_Enabled>false</Preemptible_GC_Enabled>\
        <Flash_Channel_Count>4</Flash_Channel_Count><Chip_No_Per_Channel>2</Chip_No_Per_Channel>\
        <Channel_Transfer_Rate>200</Channel_Transfer_Rate>\
        <Enabled_Preconditioning>true</Enabled_Preconditioning>";
    let flash = "<Flash_Technology>TLC</Flash_Technology>\
        <Page_Read_Latency_LSB>45000</Page_Read_Latency_LSB>\
        <Page_Read_Latency_CSB>60000</Page_Read_Latency_CSB>\
        <Page_Read_Latency_MSB>90000</Page_Read_Latency_MSB>\
        <Die_No_Per_Chip>1</Die_No_Per_Chip><Block_No_Per_Plane>512</Block_No_Per_Plane>\
        <Page_No_Per_Block>64</Page_No_Per_Block><Page_Capacity>4096</Page_Capacity>\
        <Block_Erase_Latency>3000000</Block_Erase_Latency>";
    let load = "<Initial_Occupancy_Percentage>80</Initial_Occupancy_Percentage><Seed>3</Seed>\
        <Working_Set_Percentage>50</Working_Set_Percentage>\
        <Device_Level_Data_Caching_Mode>TURNED_OFF</Device_Level_Data_Caching_Mode>";
    let (scenario, notes) = imported(&device(elements, flash), &workload(&[flow(load)]));
    let device = &scenario.device;
    assert_eq!(scenario.seed, 7);
    assert_eq!((device.geometry.channels, device.geometry.chips, device.geometry.dies), (4, 2, 1));
    assert_eq!((device.geometry.blocks, device.geometry.pages, device.geometry.page_bytes), (512, 64, 4096));
    assert_eq!(device.timing.cell, CellKind::Tlc);
    assert_eq!(device.timing.read.iter().map(|time| time.0).collect::<Vec<_>>(), [45_000, 60_000, 90_000]);
    assert_eq!((device.timing.erase.0, device.timing.bus), (3_000_000, 200_000_000));
    assert_eq!((device.ftl.order, device.ftl.spare), (Order::Pwcd, 200_000));
    assert_eq!((device.gc.victim, device.gc.low, device.gc.preemptible), (VictimPolicy::Fifo, 22, false));
    assert_eq!((device.queue.depth, device.buffer.size), (64, 0));
    assert_eq!(scenario.precondition.fill, 800_000);
    let half = device.ftl.logical_pages(&device.geometry) / 2 * 4096;
    assert_eq!((scenario.workload.region_size, scenario.workload.read), (half, 500_000));
    assert_eq!(scenario.run.duration.0, 1_000_000_000);
    assert!(!notes.contains("CMT_Capacity"), "{notes}");
}

#[test]
fn requests_for_a_part_of_each_page_make_pages_smaller() {
    let half = "<Average_Request_Size>8</Average_Request_Size>";
    let (scenario, notes) = imported(&device("", ""), &workload(&[flow(half)]));
    assert_eq!(scenario.device.geometry.page_bytes, 4096);
    assert_eq!((scenario.workload.read_size.as_str(), scenario.workload.align), ("4KiB", 4096));
    assert!(notes.contains("Page_Capacity = 8192"), "{notes}");
}

#[test]
fn eight_flows_are_eight_sources() {
    let flows: Vec<String> = (1..=8)
        .map(|depth| flow(&format!("<Average_No_of_Reqs_in_Queue>{depth}</Average_No_of_Reqs_in_Queue>")))
        .collect();
    let (scenario, _) = imported(&device("", ""), &workload(&flows));
    let sources: Vec<(&str, u32)> = scenario.synthetic().map(|(name, source)| (name, source.depth)).collect();
    assert_eq!(sources.len(), 8);
    assert_eq!((sources[0], sources[1], sources[7]), (("workload", 1), ("beside", 2), ("beside_8", 8)));
    assert_eq!(scenario.device.ftl.streams, 8);
    let nine: Vec<String> = (0..9).map(|_| flow("")).collect();
    assert!(refused(&device("", ""), &workload(&nine)).contains("1 to 8 flows, and this one 9"));
}

#[test]
fn channels_that_no_flow_uses_are_left_out() {
    let on = |channels: &str| flow(&format!("<Channel_IDs>{channels}</Channel_IDs>"));
    let (scenario, notes) = imported(&device("", ""), &workload(&[on("2,5")]));
    assert_eq!(scenario.device.geometry.channels, 2);
    assert!(notes.contains("no flow uses the other parts"), "{notes}");
    let (scenario, notes) = imported(&device("", ""), &workload(&[on("0,1,2,3"), on("4,5,6,7")]));
    assert_eq!(scenario.device.geometry.channels, 8);
    assert!(notes.contains("all flows share the whole device"), "{notes}");
}

#[test]
fn a_cache_for_writes_is_a_buffer_behind_its_dram() {
    let cached = flow("<Device_Level_Data_Caching_Mode>WRITE_CACHE</Device_Level_Data_Caching_Mode>");
    let elements = "<Data_Cache_DRAM_Data_Rate>100</Data_Cache_DRAM_Data_Rate>\
        <Data_Cache_DRAM_Data_Busrt_Size>1</Data_Cache_DRAM_Data_Busrt_Size>";
    let (scenario, _) = imported(&device(elements, ""), &workload(std::slice::from_ref(&cached)));
    assert_eq!(scenario.device.buffer.size, 128 * 8192, "a page for each plane");
    assert_eq!(scenario.device.buffer.dram.time(4096).0, 26 + 20_480);
    let through = flow("<Device_Level_Data_Caching_Mode>TURNED_OFF</Device_Level_Data_Caching_Mode>");
    let (scenario, notes) = imported(&device("", ""), &workload(&[cached, through]));
    assert!(notes.contains("the buffer is one for all flows"), "{notes}");
    assert_eq!(scenario.device.buffer.size, 128 * 8192);
}

#[test]
fn what_mqsim_does_not_do_is_listed() {
    let elements =
        "<Use_Copyback_for_GC>true</Use_Copyback_for_GC><Ideal_Mapping_Table>true</Ideal_Mapping_Table>";
    let flash = "<CMD_Suspension_Support>PROGRAM_ERASE</CMD_Suspension_Support>";
    let (_, notes) = imported(&device(elements, flash), &workload(&[flow("<Intensity>32768</Intensity>")]));
    for note in [
        "Use_Copyback_for_GC = true: ",
        "CMD_Suspension_Support: ",
        "Intensity = 32768: ",
        "Page_Metadat_Capacity",
    ] {
        assert!(notes.contains(note), "{note}\n{notes}");
    }
}

#[test]
fn a_trace_flow_names_its_file() {
    let trace = "<IO_Flow_Parameter_Set_Trace_Based>\n<File_Path>traces/none.trace</File_Path>\n\
        <Percentage_To_Be_Executed>50</Percentage_To_Be_Executed><Relay_Count>1</Relay_Count>\n\
        <Time_Unit>MICROSECOND</Time_Unit></IO_Flow_Parameter_Set_Trace_Based>\n";
    let draft = drafted(&device("", ""), &workload(&[trace.to_string()]), 1).expect("a trace");
    let (text, notes) = (draft.scenario().expect("a scenario"), draft.notes(ColorMode::Plain));
    assert!(text.contains("file = \"traces/none.trace\""), "{text}");
    for note in ["the trace cannot be read now", "set trace.requests", "trace.stretch_ppm=1000000000"] {
        assert!(notes.contains(note), "{note}\n{notes}");
    }
}

#[test]
fn all_problems_of_both_files_are_reported_with_their_lines() {
    let bad = device(
        "<Sed>1</Sed>\n<HostInterface_Type>SCSI</HostInterface_Type>",
        "<Page_Capacity>5000</Page_Capacity>",
    );
    let shown = refused(&bad, &workload(&[flow("<Read_Percentage>150</Read_Percentage>")]));
    for part in [
        "no parameter Sed",
        "did you mean Seed?",
        "cannot be 'SCSI'",
        "no power of two",
        "--> w.xml:13",
        "4 problems",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
}

#[test]
fn files_in_the_wrong_order_are_recognised() {
    let shown = refused(&workload(&[flow("")]), &device("", ""));
    assert!(shown.contains("not <Execution_Parameter_Set>") && shown.contains("first"), "{shown}");
}

#[test]
fn elements_nested_without_end_are_refused_and_overflow_no_stack() {
    let deep = "<a>".repeat(200_000);
    let report = refused(&deep, &workload(&[flow("")]));
    assert!(report.contains("nested too deeply"), "{report}");
    let report = refused(&device("", ""), &(deep + &"</a>".repeat(200_000)));
    assert!(report.contains("nested too deeply"), "{report}");
}

#[test]
fn a_scenario_that_is_not_there_is_refused() {
    let shown = drafted(&device("", ""), &workload(&[flow("")]), 2).map(|_| ()).expect_err("one scenario");
    assert!(shown.render(ColorMode::Plain).contains("no IO_Scenario 2: this file has 1"));
}

#[test]
fn a_flow_without_its_load_is_refused() {
    let open = flow("<Synthetic_Generator_Type>BANDWIDTH</Synthetic_Generator_Type>");
    assert!(refused(&device("", ""), &workload(&[open])).contains("Bandwidth is missing"));
    let endless = flow("<Stop_Time>0</Stop_Time>");
    assert!(refused(&device("", ""), &workload(&[endless])).contains("has no end"));
}

/// Replaces a part of a valid file: every kind of damage that an editor can do.
fn damaged(text: &str, at: usize, length: usize, by: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let at = at % chars.len();
    let end = (at + length).min(chars.len());
    chars[..at].iter().collect::<String>() + by + &chars[end..].iter().collect::<String>()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_text_makes_it_panic(device_text in "\\PC{0,200}", load_text in "\\PC{0,200}") {
        if let Ok(draft) = drafted(&device_text, &load_text, 1) {
            let _ = draft.scenario().map_err(|failure| failure.render(ColorMode::Plain));
        }
    }

    #[test]
    fn no_damage_makes_it_panic(
        at in any::<usize>(),
        length in 0_usize..40,
        by in "[<>/&0-9a-zA-Z_.,\\-\"]{0,12}",
        which: bool,
    ) {
        let mut drive = device("<Seed>1</Seed>", "<Die_No_Per_Chip>2</Die_No_Per_Chip>");
        let mut load = workload(&[flow("")]);
        match which {
            true => drive = damaged(&drive, at, length, &by),
            false => load = damaged(&load, at, length, &by),
        }
        match drafted(&drive, &load, 1) {
            Ok(draft) => { let _ = draft.scenario().map_err(|failure| failure.render(ColorMode::Plain)); }
            Err(failure) => prop_assert_eq!(failure.exit_code(), 2),
        }
    }

    #[test]
    fn no_numbers_make_it_panic(values in prop::collection::vec(0_u64..20_000, 8), share in 0.0_f64..0.9) {
        let elements = format!(
            "<Flash_Channel_Count>{}</Flash_Channel_Count>\
        <Overprovisioning_Ratio>{share}</Overprovisioning_Ratio>\
             <Data_Cache_Capacity>{}</Data_Cache_Capacity><GC_Exec_Threshold>{}</GC_Exec_Threshold>\
             <CMT_Capacity>{}</CMT_Capacity>",
            values[0] % 256 + 1, values[1], share, values[2]
        );
        let flash = format!(
            "<Block_No_Per_Plane>{}</Block_No_Per_Plane><Page_No_Per_Block>{}</Page_No_Per_Block>",
            values[3] + 4, values[4] % 1000 + 1
        );
        let load = format!(
            "<Average_Request_Size>{}</Average_Request_Size>\
        <Variance_Request_Size>{}</Variance_Request_Size>\
             <Request_Size_Distribution>NORMAL</Request_Size_Distribution>\
             <Address_Alignment_Unit>{}</Address_Alignment_Unit>",
            values[5] + 1, values[6], values[7] + 1
        );
        match drafted(&device(&elements, &flash), &workload(&[flow(&load)]), 1) {
            Ok(draft) => { let _ = draft.scenario().map_err(|failure| failure.render(ColorMode::Plain)); }
            Err(failure) => prop_assert_eq!(failure.exit_code(), 2),
        }
    }
}
