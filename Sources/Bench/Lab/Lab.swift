import AgentModel
import FoundationEssentials
import Glibc

/// A second station interface of the device's.
public enum SpareStation: String, Sendable, CaseIterable {
    /// Of its radio, which is on two channels at a time.
    case sameRadio
    /// Of another radio.
    case otherRadio
    /// Of its radio, which is on one channel at a time.
    case sameChannel
}

/// Access points, a station and the air between them, on this machine's kernel with simulated radios.
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
    /// Every access point answers at this address, so it is reached through whichever is joined.
    public static let everywhere = IPv4Address(10, 99, 0, 1)

    /// The folder of the sources that this was built from.
    public static let checkout = #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" }

    /// The folder of the scenario's notes and logs, on a file system in memory.
    public nonisolated let directory: String
    public nonisolated let station: Station
    /// The device's radio, where it is one with firmware of its own.
    public nonisolated let fullMAC: FullMACRadio?

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

    // MARK: A scenario

    /// Starts a lab, runs `scenario` in it and ends it, whatever happens.
    ///
    /// If the scenario throws, or calls `keepRecords`, or the kernel complained meanwhile, the logs of all daemons and
    /// a capture of the air are kept under `$LAB_RESULTS`.
    ///
    /// - Parameters:
    ///   - name: For the folder of the records.
    ///   - accessPoints: How many access points the scenario will set up, at most 90. Until one is, its radio is an
    ///     idle one of the device's.
    ///   - spare: Whether the device has a second station interface.
    ///   - country: The regulatory domain, which decides how long a full scan takes: CN 2 s, DE 5 s, US 14 s.
    /// - Throws: The error of the scenario, and `LabError`.
    public static func run<Value: Sendable>(
        _ name: String, accessPoints: Int, country: String = "CN", spare: SpareStation? = nil,
        isolation: isolated (any Actor)? = #isolation, scenario: (Lab) async throws -> Value
    ) async throws -> Value {
        if let obstacle { throw LabError.unavailable(reason: obstacle) }
        let lab = try await Lab(
            name, accessPoints: accessPoints, country: country, spare: spare, lock: takeTurn())
        let value: Value
        do {
            value = try await scenario(lab)
        } catch {
            // The first error is the one to tell.
            try? await lab.end(failed: true)
            throw error
        }
        try await lab.end(failed: false)
        return value
    }

    /// Why there can be no lab here, or nil where there can be.
    public static let obstacle: String? = {
        guard geteuid() == 0 else { return "only root may load mac80211_hwsim and make network namespaces" }
        let log = "/dev/null"
        guard (try? Program.run("modprobe", ["--dry-run", "mac80211_hwsim"], log: log)) != nil else {
            return "this kernel has no mac80211_hwsim; board/lab/run starts one that has"
        }
        guard RadioKind.wanted != nil else { return "LAB_RADIO is neither hwsim nor fullmac" }
        return nil
    }()

    /// The kind of radio that the device has (`$LAB_RADIO`).
    public static let radioKind = RadioKind.wanted ?? .softMAC

    /// The kernel's release, such as `6.1.0-56-amd64`.
    public static let kernel = (try? String(contentsOfFile: "/proc/sys/kernel/osrelease", encoding: .utf8)) ?? ""

    // MARK: Its parts

    /// Sets up an access point; it is off until `powerOn`.
    ///
    /// - Parameters:
    ///   - signal: The strength at which the station receives it, in dBm, exactly (`AccessPoint.signalRange`).
    ///   - channel: 1 to 14 are on 2.4 GHz, 36 and above on 5 GHz.
    ///   - hidden: Its beacons do not carry the SSID.
    ///   - settings: More lines of hostapd.conf, such as further networks that it has (`bss=`).
    ///   - other: Another access point of the same network, whose addresses are good here too: from one to the other a
    ///     station keeps its address.
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
        // With 0 dBm sent, what the radio is told to be received with is what is received.
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

    /// An access point whose SSID is text.
    public func accessPoint(
        _ name: String, security: NetworkSecurity, channel: Int, signal: Int = -50, hidden: Bool = false,
        settings: [String] = [], extending other: AccessPoint? = nil
    ) throws -> AccessPoint {
        try accessPoint(
            SSID(name), security: security, channel: channel, signal: signal, hidden: hidden, settings: settings,
            extending: other)
    }

    /// Lays a wire between two access points of one network: what bridges it, so that both have one gateway, the first one's, and
    /// they can pass on what stations ask of them (IEEE 802.11-2020, 13.10). Before both are switched on.
    public func wire(_ first: AccessPoint, to second: AccessPoint) async throws {
        let names = [first, second].map { "wire\($0.number)" }
        try Self.batch(
            [
                "link add \(names[0]) netns \(first.namespace.name) type veth peer name \(names[1]) netns \(second.namespace.name)"
            ], directory: directory)
        try await first.bridge(with: names[0], isGateway: true)
        try await second.bridge(with: names[1], isGateway: false)
    }

    /// A phone without a network yet; it takes the place of one of the scenario's access points.
    /// - Parameter signal: what others receive of it, in dBm.
    public func wirelessPhone(signal: Int = -45) throws -> WirelessPhone {
        let place = accessPoints.count + wirelessPhones.count
        guard place < namespaces.count, let radio = freeRadios.popLast() else {
            throw LabError.noRadioLeft(accessPoints: namespaces.count)
        }
        // The last ones: access points take theirs from the first on.
        let namespace = namespaces[namespaces.count - 1 - wirelessPhones.count]
        try Program.run("iw", ["phy", radio.phy, "set", "txpower", "fixed", "0"], log: commandLog)
        try Program.run("iw", ["phy", radio.phy, "set", "netns", "name", namespace.name], log: commandLog)
        let phone = try WirelessPhone(
            number: wirelessPhones.count + 1, radio: radio, namespace: namespace, signal: signal, directory: directory)
        wirelessPhones.append(phone)
        return phone
    }
    private var wirelessPhones: [WirelessPhone] = []

    /// Puts all radios into another regulatory domain: a country (ISO 3166-1 alpha-2), or 00 for the world's.
    public func setRegulatoryDomain(_ country: String) throws {
        try Program.run("iw", ["reg", "set", country], log: commandLog)
    }

    /// The internet, with its servers running: what access points are connected to.
    public func upstream() async throws -> Upstream {
        if let upstream { return upstream }
        try Self.batch(["netns add \(Self.internet.name)"], directory: directory)
        let upstream = try Upstream(namespace: Self.internet, directory: directory)
        self.upstream = upstream
        try await upstream.start()
        return upstream
    }
    private var upstream: Upstream?

    /// Plugs a cable into the device, which carries its traffic from then on. The scenario pulls it out again.
    ///
    /// - Parameter upstream: what is behind it; nothing if nil.
    public func cable(to upstream: Upstream? = nil) throws -> Cable {
        try Cable(to: upstream?.namespace, directory: directory)
    }

    /// Connects a VPN through this access point, which carries the device's traffic from then on.
    public func tunnel(to upstream: Upstream, through accessPoint: AccessPoint) throws -> Tunnel {
        try Tunnel(
            to: upstream.namespace, over: station.interface, gateway: accessPoint.gateway, directory: directory)
    }

    /// Connects a modem to the device, which carries its traffic from then on. The scenario takes it away again.
    /// - Parameter metric: of its default route.
    public func modem(metric: Int = 10) throws -> Modem { try Modem(metric: metric, log: commandLog) }

    /// Starts a simulated ModemManager, and root's helper. The scenario ends it.
    /// - Parameters:
    ///   - program: the simulated ModemManager.
    ///   - helper: the package's helper.
    public func modemManager(_ program: String, helper: String) async throws -> ModemManager {
        try await ModemManager(program: program, helper: helper, directory: directory)
    }

    /// Starts root's helper for radios. The scenario ends it.
    /// - Parameter path: the package's helper.
    public func radioHelper(_ path: String) throws -> RadioHelper {
        try RadioHelper(path, interface: station.interface, log: commandLog)
    }

    /// Pings `address` from the station, from now to the end of the scenario.
    public func pinger(to address: IPv4Address = everywhere, every interval: Duration = Pinger.interval) throws
        -> Pinger
    {
        let pinger = try Pinger(
            target: address, identifier: UInt16(truncatingIfNeeded: 0xa17 + pingers.count), every: interval)
        pingers.append(pinger)
        return pinger
    }

    /// Connects a program on the device to an access point, over whichever network is in use now.
    public nonisolated func echoConnection(with accessPoint: AccessPoint) async throws -> EchoConnection {
        try await EchoConnection(with: accessPoint.gateway)
    }

    /// Starts a program of the scenario's own, such as the agent; it is ended with the lab at the latest.
    ///
    /// Its output goes to `<its name>.log` in `directory`.
    ///
    /// - Parameters:
    ///   - path: A path, or the name of a system program.
    ///   - log: Another name for the log.
    public func start(
        _ path: String, _ arguments: [String] = [], environment: [String: String] = [:], log: String? = nil
    ) throws -> Program {
        let name = log ?? path.split(separator: "/").last.map(String.init) ?? path
        let program = try Program(path, arguments, environment: environment, log: "\(directory)/\(name).log")
        programs.append(program)
        return program
    }

    /// A time measured, for the reader of the run: it is printed, and added to `measurements.txt` among the results.
    public nonisolated func report(_ what: String, _ duration: Duration) {
        let isVirtual = ProcessInfo.processInfo.environment["LAB_TIME"] == "virtual"
        report(what, "\(duration.milliseconds) ms (\(isVirtual ? "virtual" : "clock") time)")
    }

    /// Waits until the clock is so many tenths into a second: the kernel looks for missing beacons on whole seconds, so
    /// what it takes to call a link lost depends on when in a second it broke.
    public nonisolated func wait(untilTenth tenth: Int) async throws {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        try await Task.sleep(for: .milliseconds((tenth * 100 - now.tv_nsec / 1_000_000 + 1000) % 1000))
    }

    /// Any other measurement.
    public nonisolated func report(_ what: String, _ value: String) {
        let line = "measured: \(name): \(what): \(value)\n"
        print(line, terminator: "")
        guard let results = ProcessInfo.processInfo.environment["LAB_RESULTS"] else { return }
        try? Self.write(line, to: "\(results)/measurements.txt", O_APPEND)
    }

    /// Asks for the records of this scenario to be kept although it may not throw.
    public func keepRecords() { recordsAreWanted = true }
    private var recordsAreWanted = false

    /// The kernel's messages since the last call or the beginning.
    ///
    /// - Throws: `LabError.kernelComplained` if a defect is among them.
    public func checkKernel() throws {
        let lines = kernelLog.read()
        kernelLines += lines
        let complaints = KernelLog.complaints(in: lines)
        guard complaints.isEmpty else { throw LabError.kernelComplained(complaints) }
    }
    private var kernelLines: [String] = []

    /// Those of the kernel's messages since the beginning that have this in them.
    public func kernelSaid(_ text: String) throws -> [String] {
        try checkKernel()
        return kernelLines.filter { $0.contains(text) }
    }

    // MARK: Beginning and end

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
            throw LabError.unavailable(reason: "\(accessPoints + own) radios asked for, \(radios.count) there")
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
        // hwsim0 hears everything that is sent on any simulated radio.
        try NetworkInterface("hwsim0").setUp(true)
        capture = try Program(
            "tcpdump", ["-i", "hwsim0", "-U", "-Z", "root", "-w", "\(directory)/air.pcap"],
            log: "\(directory)/tcpdump.log")
    }

    /// Ends everything that was started, unloads the radios and says what the kernel has to say.
    func end(failed: Bool) async throws {
        pingers.forEach { $0.end() }
        greetings.forEach { $0.end() }
        echoes.forEach { $0.end() }
        // Before anything ends a link: the kernel then restores the regulatory domain, and a driver that goes in the middle
        // of it takes the kernel along (6.1).
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
        // File by file: what cannot be copied, such as a socket, must not keep the rest from being kept.
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
