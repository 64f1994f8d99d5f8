/// The D-Bus of the system, for the stacks that cannot do without, as few rules as possible: everybody may do everything,
/// and nothing is started by it.
actor SystemBus {
    private let lab: Lab
    private(set) var program: Program?

    private static let socket = "/run/dbus/system_bus_socket"

    init(in lab: Lab) { self.lab = lab }

    /// Returns once it listens.
    func start() async throws {
        let file = ConfigurationFile("\(lab.directory)/dbus.conf", Self.configuration)
        try file.write()
        try ConfigurationFile.clear("/run/dbus")
        let arguments = ["--config-file=\(file.path)", "--nofork", "--nopidfile", "--nosyslog"]
        let program = try await lab.start("dbus-daemon", arguments)
        self.program = program
        try await eventually(within: .seconds(20), "the system's D-Bus to listen") {
            ConfigurationFile.exists(Self.socket)
        }
    }

    /// The wpa_supplicant that others drive over D-Bus, with the options of Debian's wpa_supplicant.service.
    static func supplicant(in lab: Lab) async throws -> Program {
        try await lab.start("wpa_supplicant", ["-u", "-s", "-O", "DIR=/run/wpa_supplicant"])
    }

    static let configuration = """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
          "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>system</type>
          <listen>unix:path=\(socket)</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow send_destination="*" eavesdrop="true"/>
            <allow eavesdrop="true"/>
            <allow own="*"/>
          </policy>
        </busconfig>

        """
}
