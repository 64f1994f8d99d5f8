import AgentModel
import FoundationEssentials
import Glibc

public enum SpareStation: String, Sendable, CaseIterable {
    /// The spare interface is on the same radio, which uses two channels at a time.
    case sameRadio
    case otherRadio
    /// The spare interface is on the same radio, which uses one channel at a time.
    case sameChannel
}

/// Access points, a station and the air between them, on simulated radios of this machine's kernel.
///
/// A scenario reads like this:
///
///     try await Lab.run("home's power cut", accessPoints: 2) { lab in
///         let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 1, signal: -50)
///         try await home.powerOn()
///         ...
///         try await home.powerOff()
///         try await lab.pinger(to: backup.gateway).reply(within: .seconds(10))
///     }
public actor Lab {
    /// Address of every access point. A station reaches the one that it has joined.
    public static let everywhere = IPv4Address(10, 99, 0, 1)

    public static let checkout = #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" }

    /// Folder of the scenario's logs, on a file system in memory.
    public nonisolated let directory: String
    public nonisolated let station: Station
    /// The device's radio if it has separate firmware; else nil.
    public nonisolated let fullMAC: FullMACRadio?

    /// Whether an agent was started that records.
    public private(set) var isRecorded = false

    private nonisolated let name: String
    private let namespaces: [NetworkNamespace]
    private var freeRadios: [Radio]
    private let kernelLog: KernelLog
    private let capture: Program
    private let lock: FileDescriptor
    private nonisolated var commandLog: String { "\(directory)/commands.log" }
    private var accessPoints: [AccessPoint] = []
    private var greetings: [GatewayGreeting] = []
    private var echoes: [EchoServer] = []
    private var pingers: [Pinger] = []
    private var programs: [Program] = []

    // MARK: Scenario

    /// Starts a lab, runs `scenario`, and ends the lab in any case.
    ///
    /// Logs and an air capture are kept in `$LAB_RESULTS` if the scenario throws or calls `keepRecords`, or if the
    /// kernel reports a defect.
    /// - Parameters:
    ///   - name: name of the scenario's folder in the results.
    ///   - accessPoints: maximum number of access points, at most 90. Unused radios stay idle at the device.
    ///   - spare: second station interface of the device; nil for none.
    ///   - country: regulatory domain, which determines the time of a full scan: CN 2 s, DE 5 s, US 14 s.
    /// - Throws: errors of the scenario, and `LabError`.
    public static func run<Value: Sendable>(
        _ name: String, accessPoints: Int, country: String = "CN", spare: SpareStation? = nil,
        isolation: isolated (any Actor)? = #isolation, scenario: (Lab) async throws -> Value
    ) async throws -> Value {
        if let obstacle { throw LabError.unavailable(reason: obstacle) }
        let lab = try await Lab(
            name, accessPoints: accessPoints, country: country, spare: spare, lock: lock())
        let value: Value
        do {
            value = try await scenario(lab)
        } catch {
            // Throw the first error.
            try? await lab.end(failed: true)
            throw error
        }
        try await lab.end(failed: false)
        return value
    }

    /// Reason why a lab cannot run here; nil if it can.
    public static let obstacle: String? = {
        guard geteuid() == 0 else { return "only root may load mac80211_hwsim and make network namespaces" }
        let log = "/dev/null"
        guard (try? Program.run("modprobe", ["--dry-run", "mac80211_hwsim"], log: log)) != nil else {
            return "this kernel has no mac80211_hwsim, use board/lab/run, which starts one with it"
        }
        guard RadioKind.wanted != nil else { return "unknown radio in LAB_RADIO, use hwsim or fullmac" }
        return nil
    }()

    /// The device's kind of radio (`$LAB_RADIO`).
    public static let radioKind = RadioKind.wanted ?? .softMAC

    /// Kernel release, such as `6.1.0-56-amd64`.
    public static let kernel = (try? String(contentsOfFile: "/proc/sys/kernel/osrelease", encoding: .utf8)) ?? ""

    func noteRecord() { isRecorded = true }

    // MARK: Parts

    /// Sets up an access point, which stays off until `powerOn`.
    /// - Parameters:
    ///   - signal: exact signal at the station in dBm, -100 to -1. The kernel treats 0 as unknown.
    ///   - channel: 1 to 14 on 2.4 GHz, 36 and above on 5 GHz.
    ///   - hidden: whether beacons omit the SSID.
    ///   - settings: further lines of hostapd.conf, such as more networks (`bss=`).
    ///   - other: access point whose IP network this one extends, so that stations keep their addresses.
    public func accessPoint(
        _ ssid: SSID, security: NetworkSecurity, channel: Int, signal: Int = -50, hidden: Bool = false,
        settings: [String] = [], extending other: AccessPoint? = nil
    ) throws -> AccessPoint {
        let place = accessPoints.count + wirelessPhones.count
        guard place < namespaces.count, let radio = freeRadios.popLast() else {
            throw LabError.noRadioLeft(accessPoints: namespaces.count)
        }
        let settings = AccessPointSettings(
            ssid: ssid, security: security, channel: channel, hidden: hidden, more: settings)
        let namespace = namespaces[accessPoints.count]
        // Transmit with 0 dBm: the radio's `rx_rssi` is then the exact signal at the receiver.
        try Program.run("iw", ["phy", radio.phy, "set", "txpower", "fixed", "0"], log: commandLog)
        try Program.run("iw", ["phy", radio.phy, "set", "netns", "name", namespace.name], log: commandLog)
        let accessPoint = try AccessPoint(
            number: accessPoints.count + 1, extending: other?.networkNumber, radio: radio, namespace: namespace,
            directory: directory,
            settings: settings, signal: signal)
        accessPoints.append(accessPoint)
        greetings.append(try namespace.enter { () throws(LabError) in try GatewayGreeting(ssid.bytes) })
        echoes.append(try namespace.enter { () throws(LabError) in try EchoServer() })
        return accessPoint
    }

    public func accessPoint(
        _ name: String, security: NetworkSecurity, channel: Int, signal: Int = -50, hidden: Bool = false,
        settings: [String] = [], extending other: AccessPoint? = nil
    ) throws -> AccessPoint {
        try accessPoint(
            SSID(name), security: security, channel: channel, signal: signal, hidden: hidden, settings: settings,
            extending: other)
    }

    /// Connects and bridges two access points of one network. Call this before `powerOn`.
    ///
    /// The network uses the first one's gateway. The access points can forward requests of stations to each other (IEEE
    /// 802.11-2020, 13.10).
    public func wire(_ first: AccessPoint, to second: AccessPoint) async throws {
        let names = [first, second].map { "wire\($0.number)" }
        try Self.batch(
            [
                "link add \(names[0]) netns \(first.namespace.name) type veth peer name \(names[1]) netns \(second.namespace.name)"
            ], directory: directory)
        try await first.bridge(with: names[0], isGateway: true)
        try await second.bridge(with: names[1], isGateway: false)
    }

    /// Creates a phone on the radio of one of the scenario's access points. The phone has not joined a network.
    public func wirelessPhone() throws -> WirelessPhone {
        let place = accessPoints.count + wirelessPhones.count
        guard place < namespaces.count, let radio = freeRadios.popLast() else {
            throw LabError.noRadioLeft(accessPoints: namespaces.count)
        }
        // Take namespaces from the end, because access points take them from the beginning.
        let namespace = namespaces[namespaces.count - 1 - wirelessPhones.count]
        try Program.run("iw", ["phy", radio.phy, "set", "txpower", "fixed", "0"], log: commandLog)
        try Program.run("iw", ["phy", radio.phy, "set", "netns", "name", namespace.name], log: commandLog)
        let phone = try WirelessPhone(
            number: wirelessPhones.count + 1, radio: radio, namespace: namespace, directory: directory)
        wirelessPhones.append(phone)
        return phone
    }
    private var wirelessPhones: [WirelessPhone] = []

    /// Sets the regulatory domain of all radios: a country code (ISO 3166-1 alpha-2), or 00 for the world domain.
    public func setRegulatoryDomain(_ country: String) throws {
        try Program.run("iw", ["reg", "set", country], log: commandLog)
    }

    /// Starts the internet and its servers. Access points can then connect to it.
    public func upstream() async throws -> Upstream {
        if let upstream { return upstream }
        try Self.batch(["netns add \(Self.internet.name)"], directory: directory)
        let upstream = try Upstream(namespace: Self.internet, directory: directory)
        self.upstream = upstream
        try await upstream.start()
        return upstream
    }
    private var upstream: Upstream?

    /// Pings `address` from the station until the end of the scenario.
    public func pinger(to address: IPv4Address = everywhere, every interval: Duration = Pinger.interval) throws
        -> Pinger
    {
        let pinger = try Pinger(
            target: address, identifier: UInt16(truncatingIfNeeded: 0xa17 + pingers.count), every: interval)
        pingers.append(pinger)
        return pinger
    }

    /// Starts a program for the scenario, such as the agent. The lab's end also ends the program. The output goes to
    /// `<name>.log` in `directory`.
    /// - Parameters:
    ///   - path: path of the program, or the name of a system program.
    ///   - log: name of the log file instead of the program's name.
    public func start(
        _ path: String, _ arguments: [String] = [], environment: [String: String] = [:], log: String? = nil
    ) throws -> Program {
        let name = log ?? path.split(separator: "/").last.map(String.init) ?? path
        let program = try Program(path, arguments, environment: environment, log: "\(directory)/\(name).log")
        programs.append(program)
        return program
    }

    /// Prints a measured time and appends it to `measurements.txt` in the results.
    public nonisolated func report(_ what: String, _ duration: Duration) {
        let isVirtual = ProcessInfo.processInfo.environment["LAB_TIME"] == "virtual"
        report(what, "\(duration.milliseconds) ms (\(isVirtual ? "virtual" : "clock") time)")
    }

    /// Waits until this tenth of a second (0 to 9). The kernel checks for missing beacons on whole seconds, so this
    /// offset affects the time until it detects a loss.
    public nonisolated func wait(untilTenth tenth: Int) async throws {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        try await Task.sleep(for: .milliseconds((tenth * 100 - now.tv_nsec / 1_000_000 + 1000) % 1000))
    }

    /// Prints a measurement and appends it to `measurements.txt` in the results.
    public nonisolated func report(_ what: String, _ value: String) {
        let line = "measured: \(name): \(what): \(value)\n"
        print(line, terminator: "")
        guard let results = ProcessInfo.processInfo.environment["LAB_RESULTS"] else { return }
        try? Self.write(line, to: "\(results)/measurements.txt", O_APPEND)
    }

    public func keepRecords() { recordsAreWanted = true }
    private var recordsAreWanted = false

    /// Reads new messages of the kernel.
    /// - Throws: `LabError.kernelComplained` if they show a defect.
    public func checkKernel() throws {
        let lines = kernelLog.read()
        kernelLines += lines
        let complaints = KernelLog.complaints(in: lines)
        guard complaints.isEmpty else { throw LabError.kernelComplained(complaints) }
    }
    private var kernelLines: [String] = []

    public func kernelSaid(_ text: String) throws -> [String] {
        try checkKernel()
        return kernelLines.filter { $0.contains(text) }
    }

    // MARK: Start and end

    private init(
        _ name: String, accessPoints: Int, country: String, spare: SpareStation?, lock: FileDescriptor
    ) async throws {
        self.name = name
        self.lock = lock
        directory = try Self.freshDirectory(for: name)
        let log = "\(directory)/commands.log"
        kernelLog = try KernelLog()
        try Self.removeLeftovers(log: log)
        let own = spare == .otherRadio ? 2 : 1
        let channels = spare == .sameRadio ? ["channels=2"] : []
        try Program.run("modprobe", ["mac80211_hwsim", "radios=\(accessPoints + own)"] + channels, log: log)
        try Program.run("iw", ["reg", "set", country], log: log)
        try (Self.radioKind == .fullMAC ? LossDetection.firmwares : .kernels).apply()
        let radios = try Radio.all()
        guard radios.count == accessPoints + own else {
            throw LabError.unavailable(reason: "\(accessPoints + own) radios needed, \(radios.count) created")
        }
        namespaces = (1...accessPoints).map { NetworkNamespace(name: "ap\($0)") }
        try Self.batch(namespaces.map { "netns add \($0.name)" }, directory: directory, log: log)
        freeRadios = radios.dropFirst(own).reversed()
        var spareInterface = spare == .otherRadio ? radios[1].interface : nil
        if spare == .sameRadio || spare == .sameChannel {
            guard Self.radioKind == .softMAC else {
                throw LabError.unavailable(reason: "brcmfmac has one station interface")
            }
            let name = radios[0].interface + "b"
            try Program.run("iw", ["phy", radios[0].phy, "interface", "add", name, "type", "managed"], log: log)
            spareInterface = name
        }
        fullMAC = Self.radioKind == .fullMAC ? try FullMACRadio(over: radios[0], directory: directory) : nil
        station = try Station(
            radio: try await fullMAC?.plugIn() ?? radios[0], spareInterface: spareInterface, directory: directory,
            country: country)
        // Interface hwsim0 receives all frames of all simulated radios.
        try NamespaceInterface("hwsim0").setUp(true)
        capture = try Program(
            "tcpdump", ["-i", "hwsim0", "-U", "-Z", "root", "-w", "\(directory)/air.pcap"],
            log: "\(directory)/tcpdump.log")
    }

    /// Ends all programs, unloads the radios and checks the kernel log.
    func end(failed: Bool) async throws {
        pingers.forEach { $0.end() }
        greetings.forEach { $0.end() }
        echoes.forEach { $0.end() }
        // Unplug the dongle before any link ends. At the end of a link, the kernel restores the regulatory domain, and
        // version 6.1 crashes if a driver disappears meanwhile.
        let unplugged: Result<Void, any Error>
        do { unplugged = .success(try await fullMAC?.unplug() ?? ()) } catch { unplugged = .failure(error) }
        for program in programs { await program.terminate() }
        await station.end()
        for accessPoint in accessPoints { await accessPoint.end() }
        for phone in wirelessPhones { await phone.end() }
        await upstream?.end()
        await capture.terminate()
        let complaint = Result { try checkKernel() }
        try? Self.write(kernelLines.map { $0 + "\n" }.joined(), to: "\(directory)/kernel.log")
        let cleared = Result { try Self.removeLeftovers(log: commandLog) }
        let isKept = ProcessInfo.processInfo.environment["LAB_KEEP"] != nil
        if failed || recordsAreWanted || isKept || (try? complaint.get()) == nil { keepDirectory() }
        try? FileManager.default.removeItem(atPath: directory)
        try complaint.get()
        try unplugged.get()
        try cleared.get()
    }

    private func keepDirectory() {
        guard let results = ProcessInfo.processInfo.environment["LAB_RESULTS"] else { return }
        let kept = "\(results)/\(Self.slug(name))"
        let files = FileManager.default
        try? files.removeItem(atPath: kept)
        try? files.createDirectory(atPath: kept, withIntermediateDirectories: true)
        // Copy each file separately, so that one failure, as for a socket, does not prevent the others.
        for file in (try? files.subpathsOfDirectory(atPath: directory)) ?? [] {
            var isFolder = false
            guard files.fileExists(atPath: "\(directory)/\(file)", isDirectory: &isFolder) else { continue }
            if isFolder {
                try? files.createDirectory(atPath: "\(kept)/\(file)", withIntermediateDirectories: true)
            } else {
                try? files.copyItem(atPath: "\(directory)/\(file)", toPath: "\(kept)/\(file)")
            }
        }
    }
}
