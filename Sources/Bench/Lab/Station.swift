import AgentModel
import Dongle
import FoundationEssentials
import Glibc

/// The device: one simulated radio with the real wpa_supplicant, in the lab's own namespace.
///
/// Nothing runs until it is started here. wpa_supplicant starts the way altnet needs it: no networks, nothing saved,
/// its control socket in a private folder.
public actor Station {
    /// The network interface, usually `wlan0`.
    public nonisolated let interface: String
    /// A second interface, if it has one.
    public nonisolated let spareInterface: String?
    /// The folder with wpa_supplicant's control socket, as in its `ctrl_interface`.
    public nonisolated let controlDirectory: String

    /// The radio's address.
    public nonisolated let radioAddress: BSSID
    private let radio: Radio
    private let addressOfSpare: BSSID?
    private var link: NetworkInterface
    private let directory: String
    private let country: String
    private var supplicant: Program?
    private var spareSupplicant: Program?
    /// wpa_supplicant where it is an access point of the device's own, and on which interface.
    private var ownAccessPoint: (program: Program, interface: String)?
    private var dhcpcd: Program?
    private var rescueSupplicant: Task<Void, Never>?

    init(radio: Radio, spareInterface: String?, directory: String, country: String) throws(LabError) {
        self.radio = radio
        self.spareInterface = spareInterface
        addressOfSpare = spareInterface.flatMap { name in
            (try? String(contentsOfFile: "/sys/class/net/\(name)/address", encoding: .utf8))
                .flatMap { BSSID($0.trimmingLine) }
        }
        radioAddress = radio.address
        interface = radio.interface
        controlDirectory = "\(directory)/wpa_supplicant"
        link = try NetworkInterface(radio.interface)
        self.directory = directory
        self.country = country
    }

    /// The radio's interface, by the name that it has now.
    public nonisolated var currentInterface: String? { currentRadio?.currentInterface }

    /// The radio as it is now: one with firmware of its own has another number each time it appears.
    private nonisolated var currentRadio: Radio? {
        guard Lab.radioKind == .softMAC else { return FullMACRadio.present }
        return radio.isThere ? radio : Radio.present(radioAddress)
    }

    /// Pulls the radio out, as a stick is: its interface disappears. For one with firmware of its own `lab.fullMAC` has the
    /// words.
    public func unplug() throws { try Self.unplug(currentRadio) }

    /// Plugs it in again: another radio of the same address, whose interface is down.
    public func plug() async throws { try await Self.plug(radioAddress) }

    /// The same of the radio that the second interface is of.
    public func unplugSpare() throws { try Self.unplug(Radio.present(spareAddress())) }
    public func plugSpare() async throws { try await Self.plug(spareAddress()) }

    /// The address of the second interface.
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

    /// Starts wpa_supplicant and returns once its control socket answers.
    ///
    /// - Parameter networks: The networks that it chooses from by itself: altnet wants none, the peer to compare with
    ///   wants all.
    public func startSupplicant(knowing networks: [KnownNetwork] = []) async throws {
        let path = "\(directory)/wpa_supplicant.conf"
        let configuration = """
            ctrl_interface=\(controlDirectory)
            update_config=0
            country=\(country)
            pmf=1
            sae_pwe=2

            """
        // As in the package's file. The peer is as Debian has it: with Wi-Fi Direct.
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

    /// Has wpa_supplicant open an access point of the device's own (WPA2), and returns once it is there.
    /// - Parameters:
    ///   - channel: on 2.4 GHz.
    ///   - name: of an interface that is made for it beside the station; nil for the station's own, in its place.
    ///   - address: of the device in its network, whose prefix has 24 bits.
    public func openAccessPoint(
        _ ssid: SSID, password: String, channel: Int, on name: String? = nil, address: IPv4Address
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
        try NetworkInterface(interface).add(address, prefix: 24)
    }

    /// Closes it, and takes its interface away where it has one of its own.
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

    /// Has a wpa_supplicant run on this interface whenever it is there, as systemd does on a board.
    public func startSupplicant(whereverThereIs interface: String) throws {
        let path = "\(directory)/wpa_supplicant.rescue.conf"
        try Lab.write("ctrl_interface=\(controlDirectory)\nupdate_config=0\np2p_disabled=1\n", to: path)
        let log = "\(directory)/wpa_supplicant.rescue.log"
        // No program that looks: starting one so often is what costs.
        rescueSupplicant = Task {
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

    /// Ends wpa_supplicant without warning (SIGKILL), the one of the first interface.
    public func killSupplicant() {
        supplicant?.kill()
        supplicant = nil
    }

    /// One request on wpa_supplicant's control interface (wpa_cli's commands) and its reply.
    @discardableResult
    public func ask(_ command: String) throws -> String { try control.ask(command) }

    /// The network that wpa_supplicant has completed joining.
    public func joined() -> BSSID? {
        guard let status = try? control.ask("STATUS"), status.contains("\nwpa_state=COMPLETED\n"),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("bssid=") })
        else { return nil }
        return BSSID(line.dropFirst("bssid=".count))
    }

    /// The signal of the last frame received from the access point in use, in dBm (NL80211_STA_INFO_SIGNAL).
    public func signal() throws -> Int? {
        try control.value(of: "RSSI", in: "SIGNAL_POLL").flatMap { Int($0) }
    }

    // MARK: dhcpcd

    /// Starts dhcpcd for good, where the agent is not to get the address: it notices by itself when the link comes and goes.
    ///
    /// - Parameter ipv6: whether it looks after IPv6, too; otherwise the kernel does, which learns of no name servers.
    public func startDHCPClient(ipv6: Bool = false) throws {
        // An absolute path: dhcpcd reads it again on every change, from another directory.
        let path = "\(directory)/dhcpcd.conf"
        try Lab.write((ipv6 ? "" : "ipv4only\n") + Self.quickestDHCP, to: path)
        dhcpcd = try Program("dhcpcd", ["-B", "-d", "-f", path, interface], log: "\(directory)/dhcpcd.log")
    }

    /// Ends dhcpcd without warning (SIGKILL); the address stays.
    public func killDHCPClient() {
        dhcpcd?.kill()
        dhcpcd = nil
    }

    /// The settings with which dhcpcd gives the right address soonest after a join, each line measured
    /// (Docs/contributor/testing.md).
    private static let quickestDHCP = """
        noipv4ll
        noarp
        nodelay
        option rapid_commit
        option subnet_mask, routers, domain_name_servers, interface_mtu
        script /bin/true

        """

    /// Of wpa_supplicant and dhcpcd, those that were started here.
    public var programs: [Program] { [supplicant, dhcpcd].compactMap(\.self) }

    // MARK: The link

    /// As after a boot: the interface is there, is down and has no address.
    public func clear() throws {
        if !FileManager.default.fileExists(atPath: "/sys/class/net/\(interface)") { try addInterface() }
        try setInterface(up: false)
        try Program.run("ip", ["address", "flush", "dev", link.name], log: "\(directory)/commands.log")
    }

    /// Sets the interface administratively up or down.
    public func setInterface(up: Bool) throws { try link.setUp(up) }

    /// Takes an interface from the radio, as a driver that gives up does: the first if nothing else is said.
    public func removeInterface(_ name: String? = nil) throws { try iw("dev", name ?? link.name, "del") }

    /// Gives the radio an interface, which is down: the one it had if nothing else is said, or one more.
    public func addInterface(_ name: String? = nil) throws {
        try iw("phy", currentRadio?.phy ?? radio.phy, "interface", "add", name ?? interface, "type", "managed")
    }

    /// Blocks the radio as a person or a program does (rfkill, soft), or lets it go again.
    public func block(_ isBlocked: Bool) throws(LabError) {
        let folder = "/sys/class/ieee80211/\(radio.phy)"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        guard let name = names.first(where: { $0.hasPrefix("rfkill") }) else {
            throw .unexpected("\(radio.phy) has no rfkill switch")
        }
        try Lab.write(isBlocked ? "1" : "0", to: "\(folder)/\(name)/soft")
    }

    /// Renames the interface, which has to be down. Later calls are about the interface of the new name.
    public func renameInterface(to name: String) throws { link = try link.rename(to: name) }

    /// The IPv4 address that the station has.
    public var address: IPv4Address? { link.address }

    /// Output of `ip` about the device's routes or rules, such as `["rule"]` or `["route", "show", "table", "all"]`.
    public func ip(_ arguments: [String]) throws -> String { try output(of: "ip", arguments) }

    /// Whether the radio may sleep between beacons.
    public func mayRadioSleep() throws -> Bool {
        try output(of: "iw", ["dev", interface, "get", "power_save"]).contains("Power save: on")
    }

    private func output(of program: String, _ arguments: [String]) throws -> String {
        let log = "\(directory)/\(program).log"
        unlink(log)
        try Program.run(program, arguments, log: log)
        return try String(contentsOfFile: log, encoding: .utf8)
    }

    /// The SSID of the network through which `address` is reached: what its access point says on TCP port 7.
    public nonisolated func network(
        behind address: IPv4Address = Lab.everywhere, within limit: Duration = .seconds(1)
    ) async throws -> SSID? {
        try await GatewayGreeting.fetch(from: address, limit: limit).flatMap { try? SSID(bytes: $0) }
    }

    /// Asks a server with curl, as any program on the device would.
    ///
    /// - Parameters:
    ///   - options: more of curl's.
    ///   - limit: whole seconds; the start of curl alone can take one on an emulated processor.
    /// - Returns: curl's exit status (0 for an answer, 7 for a connection that was refused, 28 for one that timed out)
    ///   and what it wrote.
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

    /// Waits until a server in the internet sees this as the address of the device.
    public func seen(as address: String, within limit: Duration) async throws {
        let mirror = address.contains(":") ? "[\(Upstream.mirror6)]" : "\(Upstream.mirror)"
        try await eventually(within: limit, every: .milliseconds(200), "the device to be seen as \(address)") {
            try await curl("http://\(mirror)/address", within: .seconds(2)).text == "\(address)\n"
        }
    }

    // MARK: Inside

    private func iw(_ arguments: String...) throws(LabError) {
        try Program.run("iw", arguments, log: "\(directory)/commands.log")
    }

    func end() async {
        // In order, so that it takes its helper processes, its address and its routes with it.
        await dhcpcd?.terminate()
        supplicant?.kill()
        spareSupplicant?.kill()
        ownAccessPoint?.program.kill()
        rescueSupplicant?.cancel()
        await rescueSupplicant?.value
    }

    private var control: ControlSocket { ControlSocket(path: "\(controlDirectory)/\(interface)", directory: directory) }
}

/// A network that wpa_supplicant is told of when it starts, to choose by itself.
public struct KnownNetwork: Sendable {
    public let ssid: SSID
    public let security: NetworkSecurity
    /// The higher one is preferred.
    public let priority: Int
    public let hidden: Bool

    public init(_ ssid: SSID, security: NetworkSecurity, priority: Int = 0, hidden: Bool = false) {
        self.ssid = ssid
        self.security = security
        self.priority = priority
        self.hidden = hidden
    }

    /// The network block of wpa_supplicant.conf.
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

/// How soon mac80211 notices that an access point is gone: some of its parameters, which it reads when a network is
/// joined.
struct LossDetection {
    private let values: [String: Substring]

    /// As the kernel has them by itself.
    static let kernels = Self(values: ["beacon_loss_count": "7", "max_nullfunc_tries": "2", "probe_wait_ms": "500"])

    /// For the hidden radio of one with firmware of its own, which counts beacons itself.
    static let firmwares = Self(values: [
        "beacon_loss_count": "1000", "max_nullfunc_tries": "2", "probe_wait_ms": "500",
    ])

    /// The values that a board has while altnet has its interface, from the sources that this was built from.
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

    /// Read once, because a scenario's time goes on meanwhile.
    private static let options = try? String(contentsOfFile: optionsPath, encoding: .utf8)
    private static let optionsPath = Lab.checkout + "/board/modprobe/mac80211.conf"

    /// Counts for what is joined from now on.
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
