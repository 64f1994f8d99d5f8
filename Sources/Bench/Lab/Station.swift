import AgentModel
import Dongle
import FoundationEssentials
import Glibc

/// The device: a simulated radio with the real wpa_supplicant, in the lab's namespace.
///
/// The station starts programs only on request. wpa_supplicant then runs as altnet needs it: without networks and
/// stored changes, and with a control socket in a private folder.
public actor Station {
    public nonisolated let interface: String
    public nonisolated let spareInterface: String?
    /// Folder of wpa_supplicant's control socket, as in its `ctrl_interface`.
    public nonisolated let controlDirectory: String

    public nonisolated let radioAddress: BSSID
    private let radio: Radio
    private let addressOfSpare: BSSID?
    private var link: NamespaceInterface
    private let directory: String
    private let country: String
    private var supplicant: Program?
    private var spareSupplicant: Program?
    /// Access point of the device: its wpa_supplicant and interface; nil if closed.
    private var ownAccessPoint: (program: Program, interface: String)?
    private var dhcpcd: Program?
    private var setupAccessPointSupplicant: Task<Void, Never>?

    init(radio: Radio, spareInterface: String?, directory: String, country: String) throws(LabError) {
        self.radio = radio
        self.spareInterface = spareInterface
        addressOfSpare = spareInterface.flatMap { BSSID(ofInterface: $0) }
        radioAddress = radio.address
        interface = radio.interface
        controlDirectory = "\(directory)/wpa_supplicant"
        link = try NamespaceInterface(radio.interface)
        self.directory = directory
        self.country = country
    }

    public nonisolated var currentInterface: String? { currentRadio?.currentInterface }

    /// The radio at present. A radio with separate firmware gets a new number at each plug.
    private nonisolated var currentRadio: Radio? {
        guard Lab.radioKind == .softMAC else { return FullMACRadio.present }
        return radio.isThere ? radio : Radio.present(radioAddress)
    }

    /// Unplugs the radio like a USB stick: its interface disappears. For a radio with separate firmware, use
    /// `lab.fullMAC`.
    public func unplug() throws { try Self.unplug(currentRadio) }

    /// Plugs a radio with the earlier address in. Its interface is down.
    public func plug() async throws { try await Self.plug(radioAddress) }

    public func unplugSpare() throws { try Self.unplug(Radio.present(spareAddress())) }
    public func plugSpare() async throws { try await Self.plug(spareAddress()) }

    public func spareAddress() throws(LabError) -> BSSID {
        guard let addressOfSpare else { throw .unavailable(reason: "the device has one interface") }
        return addressOfSpare
    }

    private static func unplug(_ radio: Radio?) throws {
        guard let radio else { return }
        do throws(DongleError) { try SimulatedRadio.remove(radio.phy) } catch { throw LabError.unexpected("\(error)") }
    }

    private static func plug(_ address: BSSID) async throws {
        do throws(DongleError) {
            try SimulatedRadio.make(address: address)
        } catch {
            throw LabError.unexpected("\(error)")
        }
        try await eventually(within: .seconds(5), "the radio to be there again") {
            Radio.present(address)?.currentInterface != nil
        }
    }

    // MARK: wpa_supplicant

    /// Starts wpa_supplicant and returns when its control socket answers.
    /// - Parameter networks: networks that wpa_supplicant joins automatically. altnet needs none, other stacks need
    ///   all.
    public func startSupplicant(knowing networks: [ConfiguredNetwork] = []) async throws {
        let path = "\(directory)/wpa_supplicant.conf"
        let configuration = """
            ctrl_interface=\(controlDirectory)
            update_config=0
            country=\(country)
            pmf=1
            sae_pwe=2

            """
        // altnet's package disables Wi-Fi Direct. Other stacks use Debian's default, which enables it.
        let choice = networks.isEmpty ? "p2p_disabled=1\n" : networks.map(\.supplicantBlock).joined()
        try Lab.write(configuration + choice, to: path)
        if spareSupplicant == nil, let spareInterface {
            spareSupplicant = try start(spareInterface, path, log: "\(directory)/wpa_supplicant.spare.log")
        }
        let supplicant = try start(interface, path, log: "\(directory)/wpa_supplicant.log")
        self.supplicant = supplicant
        try await eventually(within: .seconds(10), "wpa_supplicant to answer") {
            guard supplicant.isRunning else {
                throw LabError.ended(program: "wpa_supplicant", said: supplicant.lastLines)
            }
            return (try? ask("PING")) == "PONG\n"
        }
    }

    /// Opens an access point of the device (WPA2) with wpa_supplicant. Returns when the access point is ready.
    /// - Parameters:
    ///   - channel: channel on 2.4 GHz, 1 to 13.
    ///   - name: interface to create next to the station's; nil to use the station's interface.
    ///   - address: address of the device in the access point's network, with a prefix of 24 bits.
    public func openAccessPoint(
        _ ssid: SSID, password: String, channel: Int, on name: String?, address: IPv4Address
    ) async throws {
        if let name { try iw("phy", currentRadio?.phy ?? radio.phy, "interface", "add", name, "type", "__ap") }
        let interface = name ?? interface
        let path = "\(directory)/wpa_supplicant.\(interface).ap.conf"
        try Lab.write(
            """
            ctrl_interface=\(controlDirectory)
            country=\(country)
            p2p_disabled=1
            ap_scan=2
            network={
             ssid=\(ssid.hex)
             mode=2
             frequency=\(2407 + 5 * channel)
             key_mgmt=WPA-PSK
             proto=RSN
             pairwise=CCMP
             psk="\(password)"
            }

            """, to: path)
        let program = try start(interface, path, log: "\(directory)/wpa_supplicant.ap.log")
        ownAccessPoint = (program, interface)
        let control = ControlSocket(path: "\(controlDirectory)/\(interface)", directory: directory)
        try await eventually(within: .seconds(15), "wpa_supplicant to open an access point") {
            guard program.isRunning else { throw LabError.ended(program: "wpa_supplicant", said: program.lastLines) }
            return (try? control.value(of: "wpa_state", in: "STATUS")) == "COMPLETED"
        }
        try NamespaceInterface(interface).add(address, prefix: 24)
    }

    /// Closes the access point. Removes its interface unless it is the station's.
    public func closeAccessPoint() async throws {
        guard let (program, name) = ownAccessPoint else { return }
        ownAccessPoint = nil
        await program.terminate()
        if name != interface { try removeInterface(name) }
    }

    private func start(_ interface: String, _ configuration: String, log: String) throws(LabError) -> Program {
        try Program(
            "wpa_supplicant", ["-t", "-f", log, "-Dnl80211", "-i\(interface)", "-c\(configuration)"], log: log)
    }

    /// Runs wpa_supplicant on this interface whenever the interface exists, like systemd on a board.
    public func startSupplicant(whereverThereIs interface: String) throws {
        let path = "\(directory)/wpa_supplicant.setup-ap.conf"
        try Lab.write("ctrl_interface=\(controlDirectory)\nupdate_config=0\np2p_disabled=1\n", to: path)
        let log = "\(directory)/wpa_supplicant.setup-ap.log"
        // Poll in this process, because starting a program is slow.
        setupAccessPointSupplicant = Task {
            var running: (index: UInt32, program: Program)?
            while !Task.isCancelled {
                let index = if_nametoindex(interface)
                if let (known, program) = running, known != index || !program.isRunning {
                    await program.terminate()
                    running = nil
                }
                if running == nil, index != 0 {
                    running = (try? start(interface, path, log: log)).map { (index, $0) }
                }
                try? await Task.sleep(for: .milliseconds(50))
            }
            running?.program.kill()
        }
    }

    public func killSupplicant() {
        supplicant?.kill()
        supplicant = nil
    }

    /// Sends a request to wpa_supplicant's control interface (see wpa_cli) and returns the reply.
    @discardableResult
    public func ask(_ command: String) throws -> String { try control.ask(command) }

    /// BSSID of the joined network; nil if wpa_supplicant has not completed a join.
    public func joined() -> BSSID? {
        guard let status = try? control.ask("STATUS"), status.contains("\nwpa_state=COMPLETED\n"),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("bssid=") })
        else { return nil }
        return BSSID(line.dropFirst("bssid=".count))
    }

    /// Signal of the last frame from the access point, in dBm (NL80211_STA_INFO_SIGNAL).
    public func signal() throws -> Int? {
        try control.value(of: "RSSI", in: "SIGNAL_POLL").flatMap { Int($0) }
    }

    // MARK: dhcpcd

    /// Starts dhcpcd, for scenarios in which the agent does not configure the address. dhcpcd follows the link's state.
    /// - Parameter ipv6: whether dhcpcd also handles IPv6. Otherwise the kernel handles it, without name servers.
    public func startDHCPClient(ipv6: Bool = false) throws {
        // Use an absolute path, because dhcpcd rereads the file from another directory at each change.
        let path = "\(directory)/dhcpcd.conf"
        try Lab.write((ipv6 ? "" : "ipv4only\n") + Self.quickestDHCP, to: path)
        dhcpcd = try Program("dhcpcd", ["-B", "-d", "-f", path, interface], log: "\(directory)/dhcpcd.log")
    }

    public func killDHCPClient() {
        dhcpcd?.kill()
        dhcpcd = nil
    }

    /// Settings that give a correct address fastest after a join. The effect of each line was measured
    /// (Docs/contributor/testing.md).
    private static let quickestDHCP = """
        noipv4ll
        noarp
        nodelay
        option rapid_commit
        option subnet_mask, routers, domain_name_servers, interface_mtu
        script /bin/true

        """

    public var programs: [Program] { [supplicant, dhcpcd].compactMap(\.self) }

    // MARK: Link

    /// Resets the interface to its state after a boot: it exists, is down and has no address.
    public func clear() throws {
        if !FileManager.default.fileExists(atPath: "/sys/class/net/\(interface)") { try addInterface() }
        try setInterface(up: false)
        try Program.run("ip", ["address", "flush", "dev", link.name], log: "\(directory)/commands.log")
    }

    public func setInterface(up: Bool) throws { try link.setUp(up) }

    /// Removes an interface of the radio, as a failing driver does. Default: the first interface.
    public func removeInterface(_ name: String? = nil) throws { try iw("dev", name ?? link.name, "del") }

    /// Adds an interface to the radio, which is down at first. Default: the first interface's name.
    public func addInterface(_ name: String? = nil) throws {
        try iw("phy", currentRadio?.phy ?? radio.phy, "interface", "add", name ?? interface, "type", "managed")
    }

    /// Separates the radio from the air without a last frame: other radios do not receive its frames, nor it theirs.
    public func separate(_ isSeparate: Bool) throws(LabError) { try radio.setGroup(isSeparate ? 2 : 1) }

    public func block(_ isBlocked: Bool) throws(LabError) {
        let folder = "/sys/class/ieee80211/\(radio.phy)"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        guard let name = names.first(where: { $0.hasPrefix("rfkill") }) else {
            throw .unexpected("\(radio.phy) has no rfkill switch")
        }
        try Lab.write(isBlocked ? "1" : "0", to: "\(folder)/\(name)/soft")
    }

    /// Renames the interface, which must be down. Later calls use the new name.
    public func renameInterface(to name: String) throws { link = try link.rename(to: name) }

    /// Gives the two radios each other's names, as a kernel may at its next start, with wpa_supplicant on both again.
    /// The agent must not run.
    public func swapRadioNames() async throws {
        guard let spareInterface else { throw LabError.unavailable(reason: "the device has one interface") }
        await supplicant?.terminate()
        await spareSupplicant?.terminate()
        (supplicant, spareSupplicant) = (nil, nil)
        let links = [try NamespaceInterface(interface), try NamespaceInterface(spareInterface)]
        for link in links { try link.setUp(false) }
        let first = try links[0].rename(to: "swapped0")
        link = try links[1].rename(to: interface)
        _ = try first.rename(to: spareInterface)
        try await startSupplicant()
    }

    public var address: IPv4Address? { link.address }

    /// Returns the output of `ip` with these arguments, such as `["rule"]` or `["route", "show", "table", "all"]`.
    public func ip(_ arguments: [String]) throws -> String { try output(of: "ip", arguments) }

    /// Whether the radio has power save on.
    public func mayRadioSleep() throws -> Bool {
        try output(of: "iw", ["dev", interface, "get", "power_save"]).contains("Power save: on")
    }

    private func output(of program: String, _ arguments: [String]) throws -> String {
        let log = "\(directory)/\(program).log"
        unlink(log)
        try Program.run(program, arguments, log: log)
        return try String(contentsOfFile: log, encoding: .utf8)
    }

    /// Returns the SSID that the access point at `address` sends on TCP port 7.
    public nonisolated func network(
        behind address: IPv4Address = Lab.everywhere, within limit: Duration = .seconds(1)
    ) async throws -> SSID? {
        try await GatewayGreeting.fetch(from: address, limit: limit).flatMap { try? SSID(bytes: $0) }
    }

    /// Sends a request with curl, like any program on the device.
    /// - Parameters:
    ///   - options: further options of curl.
    ///   - limit: time limit in whole seconds. On an emulated processor, curl can take 1 s to start.
    /// - Returns: curl's output and exit status: 0 for an answer, 7 for a refused connection, 28 for a timeout.
    public func curl(
        _ url: String, _ options: [String] = [], within limit: Duration = .seconds(5)
    ) async throws -> (status: Int32, text: String) {
        let log = "\(directory)/curl.log"
        unlink(log)
        let arguments = ["-sS", "-g", "--max-time", "\(limit.components.seconds)"] + options + [url]
        let curl = try Program("curl", arguments, log: log)
        while curl.isRunning { try await Task.sleep(for: .milliseconds(10)) }
        return (curl.waitForEnd(), try String(contentsOfFile: log, encoding: .utf8))
    }

    /// Waits until a server in the internet sees the device with this address.
    public func seen(as address: String, within limit: Duration) async throws {
        let mirror = address.contains(":") ? "[\(Upstream.mirror6)]" : "\(Upstream.mirror)"
        try await eventually(within: limit, every: .milliseconds(200), "the device to be seen as \(address)") {
            try await curl("http://\(mirror)/address", within: .seconds(2)).text == "\(address)\n"
        }
    }

    // MARK: Internals

    private func iw(_ arguments: String...) throws(LabError) {
        try Program.run("iw", arguments, log: "\(directory)/commands.log")
    }

    func end() async {
        // Terminate dhcpcd instead of killing it, so that it removes its helper processes, its address and its routes.
        await dhcpcd?.terminate()
        supplicant?.kill()
        spareSupplicant?.kill()
        ownAccessPoint?.program.kill()
        setupAccessPointSupplicant?.cancel()
        await setupAccessPointSupplicant?.value
    }

    private var control: ControlSocket { ControlSocket(path: "\(controlDirectory)/\(interface)", directory: directory) }
}

/// A network that wpa_supplicant joins automatically.
public struct ConfiguredNetwork: Sendable {
    public let ssid: SSID
    public let security: NetworkSecurity
    public let priority: Int
    public let hidden: Bool

    public init(_ ssid: SSID, security: NetworkSecurity, priority: Int = 0, hidden: Bool = false) {
        self.ssid = ssid
        self.security = security
        self.priority = priority
        self.hidden = hidden
    }

    var supplicantBlock: String {
        let authentication =
            switch security {
            case .open: "key_mgmt=NONE"
            case .wpa2(let password): "key_mgmt=WPA-PSK\n psk=\"\(password)\""
            case .wpa3(let password): "key_mgmt=SAE\n ieee80211w=2\n sae_password=\"\(password)\""
            case .transition(let password): "key_mgmt=WPA-PSK SAE\n ieee80211w=1\n psk=\"\(password)\""
            }
        return """
            network={
             ssid=\(ssid.hex)
             scan_ssid=\(hidden ? 1 : 0)
             priority=\(priority)
             \(authentication)
            }

            """
    }
}

/// Parameters of mac80211 for detecting a lost access point. The kernel reads them at each join.
struct LossDetection {
    private let values: [String: Substring]

    /// The kernel's default values.
    static let kernels = Self(values: ["beacon_loss_count": "7", "max_nullfunc_tries": "2", "probe_wait_ms": "500"])

    /// Values for the radio behind a dongle. The dongle's firmware counts beacons, so the kernel must not report a
    /// loss.
    static let firmwares = Self(values: [
        "beacon_loss_count": "1000", "max_nullfunc_tries": "2", "probe_wait_ms": "500",
    ])

    /// Returns the values of a board with altnet, from the sources of this build.
    static func boards() throws(LabError) -> Self {
        guard let options else { throw LabError.lastCall("read \(optionsPath)") }
        // options mac80211 NAME=VALUE...
        let line = options.split(separator: "\n").first { $0.hasPrefix("options mac80211 ") }
        let settings = (line ?? "").split(separator: " ").compactMap { text in
            let words = text.split(separator: "=", omittingEmptySubsequences: false)
            return words.count == 2 ? (String(words[0]), words[1]) : nil
        }
        return Self(values: Dictionary(settings) { $1 })
    }

    /// Content of the file with the values. It is read only once, because a scenario's time continues while reading.
    private static let options = try? String(contentsOfFile: optionsPath, encoding: .utf8)
    private static let optionsPath = Lab.checkout + "/board/modprobe/mac80211.conf"

    /// Sets the parameters for later joins.
    func apply() throws(LabError) {
        for (name, value) in values {
            let path = "/sys/module/mac80211/parameters/\(name)"
            let file = try FileDescriptor.open(path, O_WRONLY)
            guard write(file.number, String(value), value.utf8.count) == value.utf8.count else {
                throw .lastCall("set \(name) to \(value)")
            }
        }
    }
}

extension BSSID {
    /// Hardware address of an interface; nil if there is none.
    public init?(ofInterface name: String) {
        guard let text = try? String(contentsOfFile: "/sys/class/net/\(name)/address", encoding: .utf8) else {
            return nil
        }
        self.init(text.trimmingLine)
    }
}
