//! A server under systemd.

use crate::block::server::Server;
use crate::support::Place;
use crate::support::service_manager::ServiceManager;

#[test]
fn its_supervisor_is_told_when_it_serves_lives_and_ends() {
    let place = Place::new();
    let service_manager = ServiceManager::at(&place);
    let path = place.path("notify");
    let server = Server::start_as(place, &["small.toml", "--drives", "2"], |command| {
        command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "300000").env_remove("WATCHDOG_PID");
    });
    let said = service_manager.hear("READY=1");
    assert!(!said.contains(&String::from("WATCHDOG=1")), "{said:?}");
    // The acceptor and both drives have reported progress before the next round.
    let said: Vec<String> = (0..3).flat_map(|_| service_manager.hear("WATCHDOG=1")).collect();
    assert!(said.iter().any(|line| line.starts_with("STATUS=") && line.contains("connections")), "{said:?}");
    let (_, code) = server.stop();
    assert_eq!(code, Some(0));
    service_manager.hear("STOPPING=1");
}
