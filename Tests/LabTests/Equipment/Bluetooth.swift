import Glibc
import Synchronization

@testable import Lab

/// BlueZ on a private bus, with two virtual controllers that reach each other: `hci0` for the device, `hci1` for a
/// phone.
final class Bluetooth: Sendable {
    private let programs: [Program]
    private let bluez: Mutex<Program>
    private let directory: String
    /// Address of the bus in the format of `DBUS_SYSTEM_BUS_ADDRESS`.
    let bus: String

    private static let daemon = "/usr/libexec/bluetooth/bluetoothd"

    /// Why Bluetooth is unavailable; nil if it is available.
    static var obstacle: String? {
        for program in [daemon, "/usr/bin/btvirt", "/usr/bin/dbus-daemon"] where access(program, X_OK) != 0 {
            return "\(program) is missing: install bluez, bluez-test-tools and dbus-daemon"
        }
        return nil
    }

    init(directory: String) async throws {
        let log = "\(directory)/commands.log"
        bus = "unix:path=\(directory)/bluetooth-bus"
        try Program.run("modprobe", ["hci_vhci"], log: log)
        let settings = "\(directory)/bluetooth-bus.conf"
        try Lab.write(
            """
            <busconfig>
              <type>system</type> <listen>\(bus)</listen> <auth>EXTERNAL</auth>
              <policy context="default">
                <allow send_destination="*"/> <allow receive_sender="*"/> <allow own="*"/>
              </policy>
            </busconfig>
            """, to: settings)
        // Leave the phone's controller to the phone. The device switches on its own.
        try Lab.write("[Policy]\nAutoEnable=false\n", to: "\(directory)/bluetooth.conf")
        let daemon = try Program("dbus-daemon", ["--config-file=" + settings, "--nofork", "--nopidfile"], log: log)
        try await eventually(within: .seconds(30), "the bus to be there") {
            access("\(directory)/bluetooth-bus", F_OK) == 0
        }
        let controllers = try Program("/usr/bin/btvirt", ["-L", "-l2"], log: "\(directory)/btvirt.log")
        try await eventually(within: .seconds(30), "two controllers") {
            access("/sys/class/bluetooth/hci1", F_OK) == 0
        }
        programs = [controllers, daemon]
        self.directory = directory
        bluez = Mutex(try Self.start(bus: bus, directory: directory))
    }

    private static func start(bus: String, directory: String) throws -> Program {
        try Program(
            daemon, ["-n", "-f", "\(directory)/bluetooth.conf"], environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus],
            log: "\(directory)/bluetoothd.log")
    }

    func restart() throws {
        try bluez.withLock { bluez in
            bluez.kill()
            bluez = try Self.start(bus: bus, directory: directory)
        }
    }

    func end() {
        bluez.withLock { $0.kill() }
        programs.forEach { $0.kill() }
    }
}

extension Lab {
    /// Starts BlueZ and its controllers. The scenario must end it.
    func bluetooth() async throws -> Bluetooth { try await Bluetooth(directory: directory) }
}
